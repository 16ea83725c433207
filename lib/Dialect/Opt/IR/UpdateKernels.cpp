//===- UpdateKernels.cpp - What update rules are built from ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::opt;

Value mlir::opt::convertFloat(OpBuilder &builder, Location loc, Value value,
                              Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(builder, loc, type, value);
  // f16 to bf16 or back.
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, wide);
}

//===----------------------------------------------------------------------===//
// Formula
//===----------------------------------------------------------------------===//

Value Formula::sign(Value a) {
  Value zero = number(0, a.getType());
  auto select = [&](arith::CmpFPredicate predicate, double then, Value or_) {
    Value condition = arith::CmpFOp::create(builder, loc, predicate, a, zero);
    return arith::SelectOp::create(builder, loc, condition,
                                   number(then, a.getType()), or_);
  };
  return select(arith::CmpFPredicate::OGT, 1,
                select(arith::CmpFPredicate::OLT, -1, a));
}

Value Formula::count(Value step) {
  Type f64 = builder.getF64Type();
  return add(arith::SIToFPOp::create(builder, loc, f64, step), number(1, f64));
}

Value Formula::biasCorrection(double base, Value step) {
  Type f64 = builder.getF64Type();
  Value steps = count(step);
  Value power = math::PowFOp::create(builder, loc, number(base, f64), steps);
  return sub(number(1, f64), power);
}

//===----------------------------------------------------------------------===//
// UpdateKernels
//===----------------------------------------------------------------------===//

/// How `input` is read by a kernel with `rank` loops.
static AffineMap getMap(const KernelInput &input, unsigned rank) {
  MLIRContext *context = input.value.getContext();
  if (input.loops) {
    SmallVector<AffineExpr> loops;
    for (unsigned loop : *input.loops)
      loops.push_back(getAffineDimExpr(loop, context));
    return AffineMap::get(rank, /*symbolCount=*/0, loops, context);
  }
  auto type = dyn_cast<RankedTensorType>(input.value.getType());
  if (!type || type.getRank() == 0)
    return AffineMap::get(rank, /*symbolCount=*/0, {}, context);
  return AffineMap::getMultiDimIdentityMap(rank, context);
}

/// A linalg.generic whose body yields what `body` makes of its arguments. The
/// body is built in place: what it refers to by symbols is looked up from
/// there.
static linalg::GenericOp createKernel(
    OpBuilder &builder, Location loc, ArrayRef<KernelInput> inputs,
    ValueRange inits, ArrayRef<AffineMap> initMaps,
    ArrayRef<utils::IteratorType> iterators,
    function_ref<SmallVector<Value>(Formula &, ArrayRef<BlockArgument>)> body) {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (const KernelInput &input : inputs) {
    operands.push_back(input.value);
    maps.push_back(getMap(input, iterators.size()));
  }
  llvm::append_range(maps, initMaps);
  auto kernel = linalg::GenericOp::create(builder, loc, TypeRange(inits),
                                          operands, inits, maps, iterators);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types;
  for (Value operand : kernel->getOperands())
    types.push_back(getElementTypeOrSelf(operand.getType()));
  Block *block = builder.createBlock(&kernel.getRegion(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  Formula formula{builder, loc};
  linalg::YieldOp::create(builder, loc, body(formula, block->getArguments()));
  return kernel;
}

/// `arguments` with all floating-point numbers in `type`.
static SmallVector<Value>
convertAll(Formula &formula, ArrayRef<BlockArgument> arguments, Type type) {
  return llvm::map_to_vector(arguments, [&](BlockArgument argument) -> Value {
    return isa<FloatType>(argument.getType())
               ? convertFloat(formula.builder, formula.loc, argument, type)
               : argument;
  });
}

SmallVector<Value> UpdateKernels::map(ArrayRef<KernelInput> inputs,
                                      ValueRange inits, Body body) {
  int64_t rank = cast<RankedTensorType>(inits.front().getType()).getRank();
  SmallVector<AffineMap> maps(inits.size(),
                              builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto kernel =
      createKernel(builder, loc, inputs, inits, maps, iterators,
                   [&](Formula &formula, ArrayRef<BlockArgument> arguments) {
                     SmallVector<Value> results =
                         body(formula, convertAll(formula, arguments, type));
                     for (auto [result, init] : llvm::zip_equal(results, inits))
                       result =
                           convertFloat(builder, loc, result,
                                        getElementTypeOrSelf(init.getType()));
                     return results;
                   });
  return llvm::to_vector_of<Value>(kernel.getResults());
}

Value UpdateKernels::sum(ArrayRef<KernelInput> inputs, Term term,
                         ArrayRef<unsigned> kept) {
  Value shape = inputs.front().value;
  int64_t rank = cast<RankedTensorType>(shape.getType()).getRank();
  Type f64 = builder.getF64Type();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::reduction);
  SmallVector<AffineExpr> loops;
  SmallVector<OpFoldResult> sizes;
  for (unsigned loop : kept) {
    iterators[loop] = utils::IteratorType::parallel;
    loops.push_back(builder.getAffineDimExpr(loop));
    sizes.push_back(tensor::getMixedSize(builder, loc, shape, loop));
  }
  Value zero = Formula{builder, loc}.number(0, f64);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, f64);
  Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  auto kernel = createKernel(
      builder, loc, inputs, init,
      AffineMap::get(rank, /*symbolCount=*/0, loops, builder.getContext()),
      iterators, [&](Formula &formula, ArrayRef<BlockArgument> arguments) {
        Value next =
            term(formula, convertAll(formula, arguments.drop_back(), type));
        next = convertFloat(builder, loc, next, f64);
        return SmallVector<Value>{formula.add(arguments.back(), next)};
      });
  if (!kept.empty())
    return kernel.getResult(0);
  return tensor::ExtractOp::create(builder, loc, kernel.getResult(0),
                                   ValueRange{});
}

Value UpdateKernels::count(Value tensor,
                           std::optional<ArrayRef<unsigned>> dims) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()));
  Formula formula{builder, loc};
  Type f64 = builder.getF64Type();
  double constant = 1;
  Value dynamic;
  for (unsigned dim : dims.value_or(all)) {
    if (!type.isDynamicDim(dim)) {
      constant *= static_cast<double>(type.getDimSize(dim));
      continue;
    }
    Value size = arith::IndexCastOp::create(
        builder, loc, builder.getI64Type(),
        tensor::DimOp::create(builder, loc, tensor, dim));
    size = arith::SIToFPOp::create(builder, loc, f64, size);
    dynamic = dynamic ? formula.mul(dynamic, size) : size;
  }
  Value number = formula.number(constant, f64);
  return dynamic ? formula.mul(dynamic, number) : number;
}
