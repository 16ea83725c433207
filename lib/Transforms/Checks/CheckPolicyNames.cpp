//===- CheckPolicyNames.cpp - Names that policies mention -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A misspelled name would save nothing, in silence. No verifier can say so: a
// name dies with a value that has no users any more, and the policy stays.
// Therefore it is said at the start.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Checks/PolicyNames.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Callees.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

/// The names below `op` and in `functions`.
static SmallVector<NameOp>
collectNames(Operation *op, const SetVector<Operation *> &functions) {
  SmallVector<NameOp> names;
  op->walk([&](NameOp name) { names.push_back(name); });
  for (Operation *function : functions)
    function->walk([&](NameOp name) { names.push_back(name); });
  return names;
}

static LogicalResult checkNames(RegionOp region,
                                SymbolTableCollection &symbols) {
  SmallVector<StringAttr> mentioned;
  region.getPolicyOrDefault().collectNames(mentioned);
  if (mentioned.empty())
    return success();
  SetVector<Operation *> functions;
  collectCalled(region, symbols, functions);
  SmallVector<NameOp> present = collectNames(region, functions);
  for (StringAttr name : mentioned) {
    if (llvm::any_of(present, [&](NameOp candidate) {
          return candidate.getNameAttr() == name;
        }))
      continue;
    InFlightDiagnostic diagnostic =
        region.emitOpError()
        << "policy names " << name << ", but no remat.name in this region"
        << (functions.empty() ? "" : ", or in a function that it calls,")
        << " carries it";
    NameOp nearest;
    unsigned best = ~0u;
    for (NameOp candidate : present) {
      unsigned distance =
          name.getValue().edit_distance(candidate.getName(), true);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    if (nearest)
      diagnostic.attachNote(nearest.getLoc())
          << "the nearest name is " << nearest.getNameAttr();
    return diagnostic;
  }
  return success();
}

LogicalResult mlir::remat::checkPolicyNames(func::FuncOp function,
                                            SymbolTableCollection &symbols) {
  SetVector<Operation *> functions;
  functions.insert(function);
  collectCalled(function, symbols, functions);
  for (Operation *reached : functions) {
    WalkResult result = reached->walk([&](RegionOp region) {
      return failed(checkNames(region, symbols)) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}
