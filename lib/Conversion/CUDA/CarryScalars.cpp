//===- CarryScalars.cpp - Scalars of loops and results, on the device -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of the losses of micro-batches is a scalar that a loop carries, and a
// loss may be a plain f32. The host would read each in the middle of the step,
// wait for the device, and end the captured graph there.
//===----------------------------------------------------------------------===//

#include "DeviceScalars.h"

#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CARRYSCALARS
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// A tensor that holds `scalar`.
static Value wrap(OpBuilder &builder, Location loc, Value scalar,
                  DeviceScalars &scalars) {
  auto type = RankedTensorType::get({}, scalar.getType());
  if (scalars.contains(scalar))
    return tensor::FromElementsOp::create(builder, loc, type, scalar);
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(),
                                        scalar.getType());
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

static Value unwrap(OpBuilder &builder, Location loc, Value tensor) {
  return tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Makes tensors of the scalars that each iteration computes from tensors.
static void carryInTensors(scf::ForOp loop) {
  DeviceScalars scalars;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<unsigned> carried;
  for (auto [index, next] : llvm::enumerate(yield.getOperands()))
    if (next.getType().isIntOrFloat() && scalars.contains(next))
      carried.push_back(index);
  if (carried.empty())
    return;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> inits(loop.getInitArgs());
  for (unsigned index : carried)
    inits[index] = wrap(builder, loc, inits[index], scalars);
  auto wide = scf::ForOp::create(builder, loc, loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  wide->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = wide.getBody();
  if (!body->empty())
    body->back().erase();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments(body->getArguments());
  for (unsigned index : carried)
    arguments[1 + index] = unwrap(builder, loc, arguments[1 + index]);
  for (auto [old, argument] :
       llvm::zip_equal(loop.getBody()->getArguments(), arguments))
    old.replaceAllUsesWith(argument);
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  builder.setInsertionPoint(yield);
  for (unsigned index : carried) {
    Value next = yield.getOperand(index);
    yield.setOperand(index, wrap(builder, loc, next, scalars));
  }
  builder.setInsertionPointAfter(wide);
  for (auto [index, result] : llvm::enumerate(wide.getResults()))
    loop.getResult(index).replaceAllUsesWith(llvm::is_contained(carried, index)
                                                 ? unwrap(builder, loc, result)
                                                 : Value(result));
  loop.erase();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The functions that only a program's `@main` will call.
static SmallVector<func::FuncOp> findCallees(ModuleOp module) {
  llvm::SetVector<func::FuncOp> callees;
  for (auto train : module.getOps<TrainStepOp>()) {
    if (auto step = module.lookupSymbol<func::FuncOp>(train.getStep()))
      callees.insert(step);
    if (train.getEval())
      if (auto eval = module.lookupSymbol<func::FuncOp>(*train.getEval()))
        callees.insert(eval);
  }
  return llvm::to_vector(
      llvm::make_filter_range(callees, [&](func::FuncOp function) {
        std::optional<SymbolTable::UseRange> uses =
            SymbolTable::getSymbolUses(function, module);
        return !function.isExternal() && uses &&
               llvm::all_of(*uses, [](SymbolTable::SymbolUse use) {
                 return isa<TrainStepOp>(use.getUser());
               });
      }));
}

/// Returns scalars that were computed from tensors as tensors. The next value
/// of a scalar argument stays what the argument is.
static void returnTensors(func::FuncOp function) {
  DeviceScalars scalars;
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  SmallVector<Type> types(function.getResultTypes());
  for (auto [index, result] : llvm::enumerate(terminator->getOperands())) {
    if (!types[index].isIntOrFloat() || !scalars.contains(result) ||
        function.getResultAttr(index, RematDialect::getUpdatesAttrName()))
      continue;
    Value tensor = wrap(builder, result.getLoc(), result, scalars);
    terminator->setOperand(index, tensor);
    types[index] = tensor.getType();
  }
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), types));
}

namespace {
struct CarryScalars : remat::impl::CarryScalarsBase<CarryScalars> {
  void runOnOperation() override {
    // Inner loops first: what they return are tensors then.
    getOperation()->walk([](scf::ForOp loop) { carryInTensors(loop); });
    llvm::for_each(findCallees(getOperation()), returnTensors);
  }
};
} // namespace
