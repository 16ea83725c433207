//===- CheckTypes.cpp - What nothing lowers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Later passes leave what they do not know alone, or complain about what they
// made of it, far from where the model says it.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Transforms/Checks/Passes.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Resources.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CHECKTYPESPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// Returns advice on a type that has no lowering; empty if it has one.
static StringRef getWayOut(Type type) {
  if (sparse_tensor::getSparseTensorEncoding(type))
    return "keep it dense (sparse_tensor.convert)";
  type = getElementTypeOrSelf(type);
  if (isa<quant::QuantizedType>(type))
    return "run -lower-quant-ops and -strip-func-quant-types first";
  if (auto number = dyn_cast<FloatType>(type);
      number && !remat::isComputable(number))
    return "compute in f16, bf16 or f32";
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && !integer.isSignless())
    return "use signless integers (i8 for ui8); operations have the sign";
  return "";
}

/// Checks that the weights that `op` names are there.
static LogicalResult checkResources(Operation *op) {
  auto check = [&](Attribute value) {
    auto resource = dyn_cast_if_present<DenseResourceElementsAttr>(value);
    return resource ? remat::checkResource(op, resource) : success();
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return check(constant.getValue());
  if (auto global = dyn_cast<memref::GlobalOp>(op)) {
    // Of constants, remat-prepare-bufferization makes what the translation to
    // LLVM reads.
    auto resource = dyn_cast_if_present<DenseResourceElementsAttr>(
        global.getInitialValueAttr());
    if (resource && !resource.getElementType().isIntOrIndexOrFloat())
      return op->emitOpError()
             << "has elements of type " << resource.getElementType()
             << " in a resource, which have no lowering; write them as "
                "dense<...>";
    return check(global.getInitialValueAttr());
  }
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    for (unsigned i : llvm::seq(function.getNumArguments()))
      if (failed(check(
              function.getArgAttr(i, remat::RematDialect::getInitAttrName()))))
        return failure();
  return success();
}

/// linalg's named operations take integers for signed unless told otherwise,
/// and the only number but 0 that one bit has is then -1. Exporters that move a
/// conversion into a product forget this.
static void warnOfSignedBits(Operation *op) {
  auto kernel = dyn_cast<linalg::LinalgOp>(op);
  if (!kernel || isa<linalg::GenericOp>(op) ||
      llvm::none_of(op->getOperandTypes(), [](Type type) {
        return getElementTypeOrSelf(type).isInteger(1);
      }))
    return;
  for (Operation &inner : *kernel.getBlock())
    if (isa<arith::SIToFPOp, arith::ExtSIOp>(inner) &&
        inner.getOperand(0).getType().isInteger(1)) {
      op->emitWarning("takes true for -1: the cast of its operand of i1 is "
                      "signed; use arith.uitofp or arith.extui before, if it "
                      "is meant as 1 (iree-compile forgets that in products)");
      return;
    }
}

/// Refuses modules inside of `root` that have something to compile. Those of
/// other things, such as transform scripts, are no concern of the passes.
static LogicalResult checkModules(Operation *root) {
  WalkResult result = root->walk([&](ModuleOp module) {
    if (module == root)
      return WalkResult::advance();
    for (Operation &op : module.getOps())
      if (isa<func::FuncOp, opt::OptimizerOp, remat::TrainStepOp>(op)) {
        InFlightDiagnostic diag =
            module.emitError()
            << "a module inside of another one is not compiled; move its "
               "operations to the outer module";
        diag.attachNote(op.getLoc()) << "such as this one";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult mlir::remat::checkTypes(Operation *root) {
  if (failed(checkModules(root)))
    return failure();
  DenseMap<Type, StringRef> known;
  auto isLowered = [&](Value value) {
    auto [entry, isNew] = known.try_emplace(value.getType());
    if (isNew)
      entry->second = getWayOut(value.getType());
    if (entry->second.empty())
      return true;
    emitError(value.getLoc())
        << "a value of type " << value.getType()
        << " has no lowering to the CPU; " << entry->second;
    return false;
  };
  WalkResult result = root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults())
      if (!isLowered(value))
        return WalkResult::interrupt();
    if (failed(checkResources(op)))
      return WalkResult::interrupt();
    warnOfSignedBits(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (!isLowered(argument))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct CheckTypesPass : public remat::impl::CheckTypesPassBase<CheckTypesPass> {
  void runOnOperation() override {
    if (failed(mlir::remat::checkTypes(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
