//===- Policies.h - Which policies there are --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For options that take a policy, and diagnostics about those that do not
// exist.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_POLICIES_H
#define REMAT_DIALECT_REMAT_IR_POLICIES_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace mlir::remat {
inline constexpr llvm::StringLiteral kPolicyChoices =
    "nothing_saveable, everything_saveable, dots_saveable, "
    "dots_with_no_batch_dims_saveable, save_only_names<...>, "
    "save_any_names_but<...>, save_anything_except_names<...>, "
    "offload_names<...>, offload_dots, every_k<k>, any_of<...>";

/// The policy that the option `policy=` of a pass says: as in the IR, with or
/// without `#remat.`. Reports at `loc` what is none, and what to choose from:
/// `others` (with a comma each) besides policies.
FailureOr<PolicyAttrInterface> parsePolicy(Location loc, StringRef text,
                                           StringRef others = "");
} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_POLICIES_H
