//===- AttentionParts.cpp - Attention as structured operations ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionParts.h"

#include "remat/Analysis/Sources.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace mlir::remat;

std::optional<std::pair<Value, unsigned>>
remat::findLoop(ArrayRef<Indexed> operands, unsigned loop) {
  std::optional<std::pair<Value, unsigned>> found;
  for (const Indexed &operand : operands) {
    MLIRContext *context = operand.map.getContext();
    std::optional<unsigned> dim =
        operand.map.getResultPosition(getAffineDimExpr(loop, context));
    if (!dim)
      continue;
    if (!cast<ShapedType>(operand.value.getType()).isDynamicDim(*dim))
      return std::pair(operand.value, *dim);
    if (!found)
      found = {operand.value, *dim};
  }
  return found;
}

int64_t remat::getStaticSize(ArrayRef<Indexed> operands, unsigned loop) {
  auto found = findLoop(operands, loop);
  return found ? cast<ShapedType>(found->first.getType())
                     .getDimSize(found->second)
               : ShapedType::kDynamic;
}

static Value convertFloat(OpBuilder &b, Location loc, Value value, Type type) {
  return convertScalarToDtype(b, loc, value, type, /*isUnsignedCast=*/false);
}

AttentionParts::Results AttentionParts::emit(ArrayRef<Indexed> inputs,
                                             ArrayRef<Indexed> outputs,
                                             EmitBody emitBody) {
  unsigned numLoops = outputs.front().map.getNumDims();
  auto isUsed = [](ArrayRef<Indexed> operands, unsigned loop) {
    return llvm::any_of(operands, [&](const Indexed &operand) {
      return operand.map.isFunctionOfDim(loop);
    });
  };
  positions.clear();
  inlined.clear();
  SmallVector<AffineExpr> newDims(numLoops, b.getAffineConstantExpr(0));
  SmallVector<utils::IteratorType> iterators;
  for (unsigned loop : llvm::seq(numLoops)) {
    bool isParallel = isUsed(outputs, loop);
    if (!isParallel && !isUsed(inputs, loop))
      continue;
    positions[loop] = iterators.size();
    newDims[loop] = b.getAffineDimExpr(iterators.size());
    iterators.push_back(isParallel ? utils::IteratorType::parallel
                                   : utils::IteratorType::reduction);
  }
  SmallVector<AffineMap> maps;
  SmallVector<Value> ins, outs;
  SmallVector<Type> types;
  for (const Indexed &operand : inputs)
    ins.push_back(operand.value);
  for (const Indexed &operand : outputs) {
    outs.push_back(operand.value);
    if (isa<RankedTensorType>(operand.value.getType()))
      types.push_back(operand.value.getType());
  }
  for (const Indexed &operand : llvm::concat<const Indexed>(inputs, outputs))
    maps.push_back(
        operand.map.replaceDimsAndSymbols(newDims, {}, iterators.size(), 0));
  auto op = linalg::GenericOp::create(
      b, loc, types, ins, outs, maps, iterators,
      [&](OpBuilder &inner, Location, ValueRange elements) {
        linalg::YieldOp::create(inner, loc, emitBody(inner, elements));
      });
  return types.empty() ? Results(outs) : Results(op.getResults());
}

Value AttentionParts::multiply(Indexed a, Indexed other, Indexed sum) {
  Type type = getElementTypeOrSelf(sum.value);
  return emit({a, other}, {sum}, [&](OpBuilder &inner, ValueRange v) {
    Value product =
        arith::MulFOp::create(inner, loc, convertFloat(inner, loc, v[0], type),
                              convertFloat(inner, loc, v[1], type));
    return Results{arith::AddFOp::create(inner, loc, v[2], product)};
  })[0];
}

Value AttentionParts::accumulate(Indexed term, Indexed sum) {
  return emit({term}, {sum}, [&](OpBuilder &inner, ValueRange v) {
    // In the wider type.
    auto term = cast<FloatType>(v[0].getType()),
         sum = cast<FloatType>(v[1].getType());
    Type type = term.getWidth() > sum.getWidth() ? term : sum;
    Value total =
        arith::AddFOp::create(inner, loc, convertFloat(inner, loc, v[1], type),
                              convertFloat(inner, loc, v[0], type));
    return Results{convertFloat(inner, loc, total, sum)};
  })[0];
}

Value AttentionParts::fill(Value destination, double number) {
  Value scalar = arith::ConstantOp::create(
      b, loc,
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(destination)),
                     number));
  auto op = linalg::FillOp::create(b, loc, scalar, destination);
  return op->getNumResults() == 0 ? destination : op.getResult(0);
}

Value AttentionParts::getIndex(OpBuilder &builder, unsigned loop) {
  Value start = starts.lookup(loop);
  auto position = positions.find(loop);
  if (position == positions.end())
    return start ? start : arith::ConstantIndexOp::create(builder, loc, 0);
  Value index = linalg::IndexOp::create(builder, loc, position->second);
  return start ? arith::AddIOp::create(builder, loc, start, index) : index;
}

Value AttentionParts::inlineBody(OpBuilder &builder, Value value,
                                 ValueRange elements) {
  SmallVector<unsigned> scoreDims = dims.getScoreDims();
  // The values of one kernel share what they are computed from.
  for (auto [argument, element] : llvm::zip_equal(
           body.getArguments().drop_front(scoreDims.size()), elements))
    inlined.map(argument, element);
  auto isToInline = [&](Value scalar) {
    return scalar.getParentBlock() == &body && !inlined.contains(scalar);
  };
  walkSources(
      value,
      [&](Value scalar, SmallVectorImpl<Value> &sources) {
        if (Operation *op = scalar.getDefiningOp(); op && isToInline(scalar))
          llvm::append_range(sources, getInputs(op));
      },
      [&](Value scalar) {
        if (!isToInline(scalar))
          return;
        if (auto argument = dyn_cast<BlockArgument>(scalar))
          inlined.map(scalar,
                      getIndex(builder, scoreDims[argument.getArgNumber()]));
        else
          builder.clone(*scalar.getDefiningOp(), inlined);
      });
  return inlined.lookupOrDefault(value);
}

AttentionParts::Results AttentionParts::inlineBody(OpBuilder &builder,
                                                   ValueRange values,
                                                   ValueRange elements) {
  return llvm::map_to_vector(values, [&](Value value) {
    return inlineBody(builder, value, elements);
  });
}
