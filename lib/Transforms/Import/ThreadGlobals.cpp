//===- ThreadGlobals.cpp - ml_program.global to values --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recompute that loaded a global again would draw other numbers than the
// original did, and advance it twice. What is passed on as a value is replayed
// like any other.
//===----------------------------------------------------------------------===//

#include "Import.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Import/Passes.h"
#include "remat/Transforms/Utils/ThreadStates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_THREADGLOBALS
#include "remat/Transforms/Import/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using namespace mlir::ml_program;

/// The symbol that a load or a store refers to.
static StringAttr getGlobal(Operation *op) {
  if (auto load = dyn_cast<GlobalLoadOp>(op))
    return load.getGlobal().getLeafReference();
  if (auto load = dyn_cast<GlobalLoadConstOp>(op))
    return load.getGlobal().getLeafReference();
  if (auto store = dyn_cast<GlobalStoreOp>(op))
    return store.getGlobal().getLeafReference();
  return {};
}

/// The value that a global starts from.
static FailureOr<TypedAttr> getInitialValue(GlobalOp global) {
  auto value = dyn_cast_or_null<TypedAttr>(global.getValueAttr());
  if (!value || value.getType() != global.getType())
    return global.emitOpError()
           << "has no initial value of its type " << global.getType()
           << "; give it one, such as (dense<0> : tensor<i64>)";
  return value;
}

static LogicalResult checkOperations(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (isa<GlobalLoadGraphOp, GlobalStoreGraphOp, SubgraphOp,
            ml_program::FuncOp>(op)) {
      op->emitOpError() << "cannot be trained; use func.func, "
                           "ml_program.global_load and global_store";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult remat::threadGlobals(ModuleOp module) {
  llvm::MapVector<StringAttr, GlobalOp> globals;
  for (auto global : module.getOps<GlobalOp>())
    globals[global.getSymNameAttr()] = global;
  if (globals.empty())
    return success();
  if (failed(checkOperations(module)))
    return failure();

  SmallVector<Operation *> loads;
  llvm::SmallDenseSet<StringAttr> stored, used;
  module.walk([&](Operation *op) {
    StringAttr name = getGlobal(op);
    if (!name || !globals.contains(name))
      return;
    used.insert(name);
    if (isa<GlobalStoreOp>(op))
      stored.insert(name);
    else
      loads.push_back(op);
  });

  ThreadedStates info;
  llvm::DenseMap<StringAttr, unsigned> positions;
  llvm::DenseMap<StringAttr, TypedAttr> values;
  Builder builder(module.getContext());
  for (auto &[name, global] : globals) {
    if (!used.contains(name))
      continue;
    FailureOr<TypedAttr> value = getInitialValue(global);
    if (failed(value))
      return failure();
    values[name] = *value;
    if (!stored.contains(name))
      continue;
    positions[name] = info.states.size();
    NamedAttribute state =
        builder.getNamedAttr(RematDialect::getStateAttrName(), name);
    NamedAttribute init =
        builder.getNamedAttr(RematDialect::getInitAttrName(), *value);
    info.states.push_back({global.getType(),
                           builder.getDictionaryAttr({init, state}),
                           builder.getDictionaryAttr(state)});
  }

  auto find = [&](Operation *op) -> std::optional<unsigned> {
    auto it = positions.find(getGlobal(op));
    return it == positions.end() ? std::nullopt : std::optional(it->second);
  };
  auto getRead = [&](Operation *op) {
    return isa<GlobalLoadOp, GlobalLoadConstOp>(op) ? find(op) : std::nullopt;
  };
  auto getWritten = [&](Operation *op) {
    return isa<GlobalStoreOp>(op) ? find(op) : std::nullopt;
  };
  info.getRead = getRead;
  info.getWritten = getWritten;
  info.noun = "a global variable";
  info.parallelHint = info.otherHint =
      "load and store it outside of it, and pass its value as an operand";
  SmallVector<Operation *> constants;
  for (Operation *load : loads)
    if (!positions.contains(getGlobal(load)))
      constants.push_back(load);
  if (failed(threadStates(module, info)))
    return failure();

  for (Operation *load : constants) {
    OpBuilder constantBuilder(load);
    TypedAttr value = values.lookup(getGlobal(load));
    auto constant = arith::ConstantOp::create(
        constantBuilder, NameLoc::get(getGlobal(load), load->getLoc()), value);
    load->replaceAllUsesWith(constant->getResults());
    load->erase();
  }
  for (auto &[name, global] : globals)
    if (global.isPrivate() || used.contains(name))
      global.erase();
  return success();
}

namespace {
struct ThreadGlobalsPass
    : public remat::impl::ThreadGlobalsBase<ThreadGlobalsPass> {
  void runOnOperation() override {
    if (failed(threadGlobals(getOperation())))
      signalPassFailure();
  }
};
} // namespace
