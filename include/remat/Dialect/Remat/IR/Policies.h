//===- Policies.h - What a policy may ask about a value ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary in which policies are written, here and in other dialects
// (docs/add-a-rule.md), and what options and diagnostics say about them.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_POLICIES_H
#define REMAT_DIALECT_REMAT_IR_POLICIES_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {
/// Returns every value with the bits of `value` that a policy may know it by:
/// itself, its `remat.name`s, what nested regions, branches and called
/// functions yield for it, and the names of these.
SmallVector<Value> getAliases(Value value);

/// Returns the names of `value` and of its aliases.
SmallVector<StringAttr> getNamesOf(Value value);

/// Returns true if `value` has one of the `names`.
bool hasNameIn(Value value, ArrayRef<StringAttr> names);

/// Returns true if `test` holds for the operation that makes `value` or an
/// alias of it. `test` gets null for arguments of blocks.
bool isMadeBy(Value value, function_ref<bool(Operation *)> test);

/// Returns true if `policy` chooses among all values of a region instead of
/// judging each by itself.
bool selectsTogether(Attribute policy);

/// Verifies the parameter of a policy on names: one name or more, none of them
/// empty or twice.
LogicalResult verifyPolicyNames(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StringAttr> names);

/// A policy, for front ends.
struct PolicyDescription {
  enum class Parameters { None, Names, Other };

  StringRef mnemonic;
  Parameters parameters;
};

/// Returns all policies of this dialect.
SmallVector<PolicyDescription> describePolicies();

/// Returns all policies of this dialect, for diagnostics, as options take them:
/// "nothing_saveable, ..., any_of<...>".
std::string listPolicies();

/// Parses the value of a pass's option `policy=`: a policy as it stands in IR,
/// of any dialect that is registered; those of this one may leave out
/// `#remat.`. Reports anything else at `loc`, with the choices: `others` (each
/// with a comma after it), then this dialect's policies.
FailureOr<PolicyAttrInterface> parsePolicy(Location loc, StringRef text,
                                           StringRef others = "");
} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_POLICIES_H
