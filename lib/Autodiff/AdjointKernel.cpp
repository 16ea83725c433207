//===- AdjointKernel.cpp - Adjoint kernels of structured operations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AdjointKernel.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

AdjointKernel::AdjointKernel(linalg::LinalgOp op)
    : op(op), builder(op.getContext()) {
  builder.setInsertionPointToEnd(&block);
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument source = op.getMatchingBlockArgument(&operand);
    primals.map(source,
                addInput(operand.get(), op.getMatchingIndexingMap(&operand)));
    // A tensor of one constant is that constant: nothing is read for it. But a
    // product stays one.
    if (isProduct(op))
      continue;
    Value value = lookThroughBorders(operand.get());
    Attribute constant;
    if (auto fill = value.getDefiningOp<linalg::FillOp>())
      matchPattern(lookThroughBorders(fill.getInputs()[0]),
                   m_Constant(&constant));
    else if (DenseElementsAttr splat;
             matchPattern(value, m_Constant(&splat)) && splat.isSplat())
      constant = splat.getSplatValue<Attribute>();
    else
      matchPattern(value, m_Constant(&constant));
    if (auto typed = dyn_cast_or_null<TypedAttr>(constant);
        typed && typed.getType() == source.getType())
      primals.map(
          source,
          arith::ConstantOp::create(builder, op.getLoc(), typed).getResult());
  }
}

/// The same map without symbols, if it reads none.
static AffineMap dropUnusedSymbols(AffineMap map) {
  for (AffineExpr result : map.getResults())
    for (unsigned symbol = 0; symbol < map.getNumSymbols(); ++symbol)
      if (result.isFunctionOfSymbol(symbol))
        return map;
  return AffineMap::get(map.getNumDims(), 0, map.getResults(),
                        map.getContext());
}

BlockArgument AdjointKernel::addInput(Value tensor, AffineMap map) {
  BlockArgument argument =
      addDeferredInput(getElementTypeOrSelf(tensor.getType()), map);
  setInput(argument, tensor);
  return argument;
}

BlockArgument AdjointKernel::addDeferredInput(Type type, AffineMap map) {
  BlockArgument argument = block.addArgument(type, op.getLoc());
  inputs[argument] = {Value(), dropUnusedSymbols(map)};
  return argument;
}

void AdjointKernel::setInput(BlockArgument argument, Value tensor) {
  inputs[argument].tensor = tensor;
}

BlockArgument AdjointKernel::addAccumulator(Type type) {
  return block.addArgument(type, op.getLoc());
}

Value AdjointKernel::tensorOf(Value argument) const {
  return inputs.lookup(argument).tensor;
}

AffineMap AdjointKernel::mapOf(Value argument) const {
  return inputs.lookup(argument).map;
}

AffineMap AdjointKernel::identity() const {
  return AffineMap::getMultiDimIdentityMap(
      static_cast<linalg::LinalgOp>(op).getNumLoops(), op->getContext());
}

AffineMap AdjointKernel::reversal(ArrayRef<unsigned> loops) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<AffineExpr> results(identity().getResults());
  for (unsigned loop : loops) {
    AffineExpr last = ShapedType::isDynamic(ranges[loop])
                          ? builder.getAffineSymbolExpr(loop)
                          : builder.getAffineConstantExpr(ranges[loop] - 1);
    results[loop] = last - results[loop];
  }
  return AffineMap::get(op.getNumLoops(), op.getNumLoops(), results,
                        op->getContext());
}

void AdjointKernel::reverse(OpBuilder &b, ArrayRef<unsigned> loops) {
  AffineMap map = reversal(loops);
  for (BlockArgument argument : block.getArguments())
    if (auto input = inputs.find(argument); input != inputs.end())
      input->second.map = dropUnusedSymbols(input->second.map.compose(map));
  op.getBlock()->walk([&](linalg::IndexOp index) {
    if (!llvm::is_contained(loops, index.getDim()))
      return;
    Value last = lastIndex(b, index.getDim());
    Value forward =
        linalg::IndexOp::create(builder, op.getLoc(), index.getDim());
    primals.map(
        index.getResult(),
        arith::SubIOp::create(builder, op.getLoc(), last, forward).getResult());
  });
}

/// The operations of the block that `values` need, in no particular order.
llvm::SetVector<Operation *>
AdjointKernel::slice(ArrayRef<Value> values) const {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> worklist(values);
  while (!worklist.empty()) {
    Operation *producer = worklist.pop_back_val().getDefiningOp();
    if (!producer || producer->getBlock() != &block || !needed.insert(producer))
      continue;
    producer->walk([&](Operation *inner) {
      llvm::append_range(worklist, inner->getOperands());
    });
  }
  return needed;
}

llvm::SetVector<Value> AdjointKernel::inputsRead(ArrayRef<Value> values) const {
  llvm::SetVector<Value> read;
  auto note = [&](Value value) {
    if (inputs.contains(value))
      read.insert(value);
  };
  llvm::for_each(values, note);
  for (Operation *needed : slice(values))
    needed->walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), note); });
  return read;
}

/// Loops that are in no map by themselves, so that their sizes are unknown.
static SmallVector<unsigned> loopsWithoutSize(ArrayRef<AffineMap> maps,
                                              unsigned numLoops) {
  llvm::SmallBitVector sized(numLoops);
  for (AffineMap map : maps)
    for (AffineExpr result : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        sized.set(dim.getPosition());
  SmallVector<unsigned> loops;
  for (unsigned dim = 0; dim < numLoops; ++dim)
    if (!sized.test(dim))
      loops.push_back(dim);
  return loops;
}

/// A loop is parallel if each of its iterations writes elements of its own.
static SmallVector<utils::IteratorType>
iteratorTypes(ArrayRef<AffineMap> outputMaps, unsigned numLoops) {
  SmallVector<utils::IteratorType> types(numLoops,
                                         utils::IteratorType::parallel);
  for (AffineMap map : outputMaps) {
    llvm::SmallBitVector plain(numLoops), mixed(numLoops);
    for (AffineExpr result : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        plain.set(dim.getPosition());
      else
        result.walk([&](AffineExpr expr) {
          if (auto dim = dyn_cast<AffineDimExpr>(expr))
            mixed.set(dim.getPosition());
        });
    }
    for (unsigned dim = 0; dim < numLoops; ++dim)
      if (!plain.test(dim) || mixed.test(dim))
        types[dim] = utils::IteratorType::reduction;
  }
  return types;
}

SmallVector<Value> AdjointKernel::cut(OpBuilder &b,
                                      ArrayRef<Output> outputs) const {
  Location loc = static_cast<linalg::LinalgOp>(op).getLoc();
  SmallVector<Value> values, inits, ins;
  SmallVector<AffineMap> maps, outputMaps;
  for (const Output &output : outputs) {
    values.push_back(output.value);
    inits.push_back(output.init);
    outputMaps.push_back(output.map);
  }
  // In the order of the block's arguments, whatever the slice's order is.
  llvm::SetVector<Value> read = inputsRead(values);
  SmallVector<Value> arguments, readByPosition;
  for (BlockArgument argument : const_cast<Block &>(block).getArguments())
    if (read.contains(argument)) {
      if (mapOf(argument).getNumSymbols()) {
        readByPosition.push_back(argument);
        continue;
      }
      arguments.push_back(argument);
      ins.push_back(tensorOf(argument));
      maps.push_back(mapOf(argument));
    }
  SmallVector<AffineMap> sized = maps;
  llvm::append_range(sized, outputMaps);
  unsigned numLoops = identity().getNumDims();
  for (unsigned dim : loopsWithoutSize(sized, numLoops)) {
    // As in linalg's poolings: an operand that is never read carries the size.
    OpFoldResult size = const_cast<AdjointKernel *>(this)->loopSize(b, dim);
    ins.push_back(tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>(size),
                                          b.getI8Type()));
    maps.push_back(AffineMap::get(numLoops, 0, b.getAffineDimExpr(dim)));
  }
  llvm::append_range(maps, outputMaps);
  SmallVector<Value> lastIndices(numLoops);
  for (Value argument : readByPosition)
    for (AffineExpr result : mapOf(argument).getResults())
      for (unsigned dim = 0; dim < numLoops; ++dim)
        if (!lastIndices[dim] && result.isFunctionOfSymbol(dim))
          lastIndices[dim] =
              const_cast<AdjointKernel *>(this)->lastIndex(b, dim);

  llvm::SetVector<Operation *> needed = slice(values);
  auto body = [&](OpBuilder &inner, Location, ValueRange newArguments) {
    IRMapping mapping;
    for (auto [argument, value] : llvm::zip(arguments, newArguments))
      mapping.map(argument, value);
    for (auto [output, value] :
         llvm::zip(outputs, newArguments.take_back(outputs.size())))
      if (output.accumulator)
        mapping.map(output.accumulator, value);
    SmallVector<Value> loops;
    for (unsigned dim = 0; dim < numLoops && !readByPosition.empty(); ++dim)
      loops.push_back(linalg::IndexOp::create(inner, loc, dim));
    for (Value argument : readByPosition) {
      SmallVector<Value> position;
      for (AffineExpr result : mapOf(argument).getResults())
        position.push_back(
            affine::expandAffineExpr(inner, loc, result, loops, lastIndices));
      mapping.map(argument, tensor::ExtractOp::create(
                                inner, loc, tensorOf(argument), position));
    }
    for (Operation &scratch : const_cast<Block &>(block))
      if (needed.contains(&scratch))
        inner.clone(scratch, mapping);
    SmallVector<Value> yields;
    for (Value value : values)
      yields.push_back(mapping.lookupOrDefault(value));
    linalg::YieldOp::create(inner, loc, yields);
  };
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto generic =
      linalg::GenericOp::create(b, loc, types, ins, inits, maps,
                                iteratorTypes(outputMaps, numLoops), body);
  return SmallVector<Value>(generic.getResults());
}

void AdjointKernel::addShapeSource(Value tensor, AffineMap map) {
  shapeSources.push_back({tensor, map});
}

OpFoldResult AdjointKernel::loopSize(OpBuilder &b, unsigned dim) {
  int64_t size = op.getStaticLoopRanges()[dim];
  if (!ShapedType::isDynamic(size))
    return b.getIndexAttr(size);
  SmallVector<Input> candidates = shapeSources;
  for (OpOperand &operand : op->getOpOperands())
    candidates.push_back({operand.get(), op.getMatchingIndexingMap(&operand)});
  for (auto [tensor, map] : candidates)
    for (auto [position, result] : llvm::enumerate(map.getResults()))
      if (result == b.getAffineDimExpr(dim))
        return tensor::getMixedSize(b, op.getLoc(), tensor, position);
  llvm_unreachable("linalg verifies that each loop's size is some dimension");
}

Value AdjointKernel::lastIndex(OpBuilder &b, unsigned dim) {
  Value size =
      getValueOrCreateConstantIndexOp(b, op.getLoc(), loopSize(b, dim));
  Value one = arith::ConstantIndexOp::create(b, op.getLoc(), 1);
  return arith::SubIOp::create(b, op.getLoc(), size, one);
}

Value AdjointKernel::emptyOverLoops(OpBuilder &b, Type elementType) {
  SmallVector<OpFoldResult> sizes;
  for (unsigned dim = 0, end = op.getNumLoops(); dim < end; ++dim)
    sizes.push_back(loopSize(b, dim));
  return tensor::EmptyOp::create(b, op.getLoc(), sizes, elementType);
}

Value AdjointKernel::emptyLike(OpBuilder &b, unsigned index, Type elementType,
                               ArrayRef<unsigned> dropped) {
  Value operand = op->getOperand(index);
  AffineMap map = op.getMatchingIndexingMap(&op->getOpOperand(index));
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  SmallVector<OpFoldResult> sizes;
  for (unsigned i = 0, end = type ? type.getRank() : 0; i < end; ++i) {
    if (llvm::is_contained(dropped, i))
      continue;
    if (!type.isDynamicDim(i))
      sizes.push_back(b.getIndexAttr(type.getDimSize(i)));
    else if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(i)))
      sizes.push_back(loopSize(b, dim.getPosition()));
    else
      sizes.push_back(tensor::getMixedSize(b, op.getLoc(), operand, i));
  }
  return tensor::EmptyOp::create(b, op.getLoc(), sizes, elementType);
}

Type mlir::remat::accumulationType(Type type) {
  if (type.isBF16() || type.isF16())
    return Float32Type::get(type.getContext());
  return type;
}

Value mlir::remat::fillZeros(OpBuilder &b, Location loc, Value tensor) {
  Type type = getElementTypeOrSelf(tensor.getType());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return linalg::FillOp::create(b, loc, zero, tensor).getResult(0);
}
