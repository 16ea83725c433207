//===- ElementwiseFusion.cpp - Fuse a kernel into its user --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's fuseElementwiseOps takes generics only, clones a producer for
// each operand that reads it, and repeats inputs: quadratic bodies on real
// chains. This one merges all reads of a producer and equal inputs at once.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Fuse/ElementwiseFusion.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns true if each result of `map` is one loop or a constant.
static bool selectsLoops(AffineMap map) {
  return map.getNumSymbols() == 0 &&
         llvm::all_of(map.getResults(), [](AffineExpr expr) {
           return isa<AffineDimExpr, AffineConstantExpr>(expr);
         });
}

bool remat::isLibraryKernel(LinalgOp op) {
  if (op->hasAttr("remat.conv"))
    return true;
  // Neither adds anything up, as most operations do not.
  if (isParallel(op))
    return false;
  if (isaConvolutionOpInterface(op))
    return true;
  if (!isaContractionOpInterface(op))
    return false;
  FailureOr<ContractionDimensions> dims = inferContractionDims(op);
  return failed(dims) || !isa<GenericOp>(op) || !dims->m.empty() ||
         !dims->n.empty();
}

bool remat::readsTensorsInBody(LinalgOp op) {
  bool readsTensors = false;
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
    readsTensors |= isa<ShapedType>(operand->get().getType());
  });
  return readsTensors;
}

bool remat::isFusableProducer(LinalgOp op) {
  if (!isElementwiseKernel(op) || isLibraryKernel(op) ||
      op->getNumResults() == 0)
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!selectsLoops(op.getMatchingIndexingMap(input)))
      return false;
  for (Operation &inner : *op.getBlock())
    if (!isMemoryEffectFree(&inner))
      return false;
  return !readsTensorsInBody(op);
}

bool remat::isFusableConsumer(LinalgOp op) {
  if (!op.hasPureTensorSemantics() || isLibraryKernel(op) ||
      op->getNumResults() == 0)
    return false;
  if (!isParallel(op) && !isa<GenericOp, ReduceOp>(op))
    return false;
  return llvm::all_of(op.getIndexingMapsArray(), selectsLoops);
}

/// The map from the loops of `consumer` to those of `producer` for the result
/// that `use` reads.
static AffineMap getLoopMap(LinalgOp producer, LinalgOp consumer,
                            OpOperand *use) {
  AffineMap resultMap =
      producer.getIndexingMapMatchingResult(cast<OpResult>(use->get()));
  return inversePermutation(resultMap).compose(
      consumer.getMatchingIndexingMap(use));
}

static SmallVector<OpOperand *> getReads(LinalgOp producer, LinalgOp consumer) {
  SmallVector<OpOperand *> reads;
  for (OpOperand *input : consumer.getDpsInputOperands())
    if (input->get().getDefiningOp() == producer)
      reads.push_back(input);
  return reads;
}

/// Returns true if the maps tell how often each of `numLoops` loops iterates,
/// as inversePermutation() of all of them would find. A kernel of many inputs
/// is asked for each, so that nothing is built here.
static bool haveInvertibleMaps(ArrayRef<AffineMap> maps, unsigned numLoops) {
  if (llvm::any_of(maps, [](AffineMap map) { return map.isPermutation(); }))
    return true;
  llvm::SmallBitVector known(numLoops);
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        known.set(loop.getPosition());
  return known.all();
}

/// Returns true if the bodies of both together are a product and a sum, and the
/// inputs of the fusion each have a loop of their own: the library would take
/// it, and add in another order than the reduction does.
static bool wouldBecomeLibraryKernel(LinalgOp producer, LinalgOp consumer,
                                     ArrayRef<AffineMap> inputs) {
  if (isParallel(consumer) || inputs.size() != 2)
    return false;
  unsigned numProducts = 0, numSums = 0, numOthers = 0;
  for (LinalgOp op : {producer, consumer})
    for (Operation &inner : op.getBlock()->without_terminator()) {
      numProducts += isa<arith::MulFOp, arith::MulIOp>(inner);
      numSums += isa<arith::AddFOp, arith::AddIOp>(inner);
      numOthers += !isa<arith::MulFOp, arith::MulIOp, arith::AddFOp,
                        arith::AddIOp, arith::ConstantOp>(inner);
    }
  if (numProducts != 1 || numSums != 1 || numOthers != 0)
    return false;
  auto hasOwnLoop = [&](AffineMap map, AffineMap other) {
    for (unsigned loop = 0; loop < consumer.getNumLoops(); ++loop)
      if (map.isFunctionOfDim(loop) && !other.isFunctionOfDim(loop))
        return true;
    return false;
  };
  return hasOwnLoop(inputs[0], inputs[1]) && hasOwnLoop(inputs[1], inputs[0]);
}

bool remat::canFuse(LinalgOp producer, LinalgOp consumer) {
  for (Value init : consumer.getDpsInits())
    if (init.getDefiningOp() == producer)
      return false;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : consumer.getDpsInputOperands())
    if (input->get().getDefiningOp() != producer)
      maps.push_back(consumer.getMatchingIndexingMap(input));
  for (OpOperand *read : getReads(producer, consumer)) {
    AffineMap loopMap = getLoopMap(producer, consumer, read);
    for (OpOperand *input : producer.getDpsInputOperands())
      maps.push_back(producer.getMatchingIndexingMap(input).compose(loopMap));
  }
  if (wouldBecomeLibraryKernel(producer, consumer, maps))
    return false;
  for (OpOperand &init : consumer.getDpsInitsMutable())
    maps.push_back(consumer.getMatchingIndexingMap(&init));
  return haveInvertibleMaps(maps, consumer.getNumLoops());
}

bool remat::isBroadcast(LinalgOp producer, LinalgOp consumer) {
  // All operands are looked at for them, which are many in a large kernel.
  SmallVector<int64_t> sizes;
  return llvm::any_of(getReads(producer, consumer), [&](OpOperand *read) {
    AffineMap map = consumer.getMatchingIndexingMap(read);
    for (unsigned loop = 0; loop < consumer.getNumLoops(); ++loop) {
      if (map.isFunctionOfDim(loop))
        continue;
      if (sizes.empty())
        sizes = consumer.getStaticLoopRanges();
      if (sizes[loop] != 1)
        return true;
    }
    return false;
  });
}

std::optional<AffineMap> remat::getOnlyLoopMap(LinalgOp producer,
                                               LinalgOp consumer) {
  SmallVector<OpOperand *> reads = getReads(producer, consumer);
  if (reads.empty())
    return std::nullopt;
  AffineMap loopMap = getLoopMap(producer, consumer, reads.front());
  if (llvm::any_of(reads, [&](OpOperand *read) {
        return getLoopMap(producer, consumer, read) != loopMap;
      }))
    return std::nullopt;
  return loopMap;
}

bool remat::haveSameIterationSpace(LinalgOp producer, LinalgOp consumer) {
  std::optional<AffineMap> loopMap = getOnlyLoopMap(producer, consumer);
  return isParallel(consumer) && loopMap && loopMap->isPermutation();
}

//===----------------------------------------------------------------------===//
// The fused operation
//===----------------------------------------------------------------------===//

namespace {
/// Collects the operands of an operation to be built, each once.
class KernelBuilder {
public:
  KernelBuilder(RewriterBase &rewriter, Location loc, bool mergesInputs)
      : rewriter(rewriter), loc(loc), mergesInputs(mergesInputs),
        block(new Block()) {}

  /// The scalar that the body sees for `value` read through `map`.
  Value addInput(Value value, AffineMap map) {
    for (auto [index, input] : llvm::enumerate(inputs))
      if (input == value && maps[index] == map &&
          (mergesInputs || !isa<FloatType>(getElementTypeOrSelf(value))))
        return block->getArgument(index);
    inputs.push_back(value);
    maps.push_back(map);
    return block->addArgument(getElementTypeOrSelf(value), value.getLoc());
  }

  /// A scalar constant is known inside the body, without being an operand.
  Value addInputOrConstant(Value value, AffineMap map) {
    TypedAttr constant;
    if (isa<ShapedType>(value.getType()) ||
        !matchPattern(value, m_Constant(&constant)))
      return addInput(value, map);
    return addConstant(constant);
  }

  Value addConstant(TypedAttr constant) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(block);
    return arith::ConstantOp::create(rewriter, loc, constant);
  }

  /// Must follow all inputs.
  Value addInit(Value value, AffineMap map) {
    inits.push_back(value);
    initMaps.push_back(map);
    return block->addArgument(getElementTypeOrSelf(value), value.getLoc());
  }

  Block *getBlock() { return block; }

  GenericOp create(ArrayRef<utils::IteratorType> iterators,
                   ValueRange yielded) {
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToEnd(block);
      linalg::YieldOp::create(rewriter, loc, yielded);
    }
    llvm::append_range(maps, initMaps);
    auto op = GenericOp::create(rewriter, loc, ValueRange(inits).getTypes(),
                                inputs, inits, maps, iterators);
    op.getRegion().push_back(block);
    block = nullptr;
    return op;
  }

private:
  RewriterBase &rewriter;
  Location loc;
  bool mergesInputs;
  Block *block;
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps, initMaps;
};
} // namespace

/// Clones the body of `producer` to the end of the builder's block, with its
/// loops replaced by `loopMap` of the loops there, and returns what it yields.
static SmallVector<Value> cloneBody(RewriterBase &rewriter, LinalgOp producer,
                                    AffineMap loopMap, IRMapping &mapping,
                                    Block *block) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(block);
  for (Operation &inner : producer.getBlock()->without_terminator()) {
    auto index = dyn_cast<IndexOp>(inner);
    if (!index) {
      rewriter.clone(inner, mapping);
      continue;
    }
    AffineExpr expr = loopMap.getResult(index.getDim());
    Value position;
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      position = IndexOp::create(rewriter, index.getLoc(), dim.getPosition());
    else
      position = affine::expandAffineExpr(rewriter, index.getLoc(), expr,
                                          /*dimValues=*/{}, {});
    mapping.map(index.getResult(), position);
  }
  SmallVector<Value> yielded;
  for (Value value : producer.getBlock()->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

/// Moves the body of `consumer` to the insertion point and replaces it.
static GenericOp replaceConsumer(RewriterBase &rewriter, LinalgOp consumer,
                                 KernelBuilder &builder,
                                 ArrayRef<Value> arguments,
                                 SmallVector<Value> yielded) {
  unsigned numExtra = yielded.size();
  Operation *terminator = consumer.getBlock()->getTerminator();
  rewriter.inlineBlockBefore(consumer.getBlock(), builder.getBlock(),
                             builder.getBlock()->end(), arguments);
  llvm::append_range(yielded, terminator->getOperands());
  rewriter.eraseOp(terminator);
  GenericOp fused = builder.create(consumer.getIteratorTypesArray(), yielded);
  remat::copyAttributes(consumer, fused);
  rewriter.replaceOp(consumer, fused->getResults().drop_front(numExtra));
  // Has MLIR number it between its neighbours. Of two new operations side by
  // side it would number all of their block anew, for each pair.
  (void)fused->isBeforeInBlock(&fused->getBlock()->back());
  return fused;
}

GenericOp remat::fuse(RewriterBase &rewriter, LinalgOp producer,
                      LinalgOp consumer, bool keepResults, bool mergesInputs) {
  rewriter.setInsertionPoint(consumer);
  Location loc = rewriter.getFusedLoc({producer.getLoc(), consumer.getLoc()});
  KernelBuilder builder(rewriter, loc, mergesInputs);

  // One copy of the producer's body for each way in which it is read.
  SmallVector<AffineMap> loopMaps;
  SmallVector<IRMapping> copies;
  SmallVector<Value> arguments(consumer.getNumDpsInputs());
  SmallVector<OpOperand *> inputs = consumer.getDpsInputOperands();
  // In the order in which adjoints contribute to cotangents.
  if (!mergesInputs)
    std::stable_partition(inputs.begin(), inputs.end(), [&](OpOperand *input) {
      return input->get().getDefiningOp() != producer;
    });
  for (OpOperand *input : inputs) {
    if (input->get().getDefiningOp() != producer) {
      arguments[input->getOperandNumber()] = builder.addInput(
          input->get(), consumer.getMatchingIndexingMap(input));
      continue;
    }
    AffineMap loopMap = getLoopMap(producer, consumer, input);
    if (llvm::is_contained(loopMaps, loopMap))
      continue;
    loopMaps.push_back(loopMap);
    IRMapping &mapping = copies.emplace_back();
    for (OpOperand *operand : producer.getDpsInputOperands())
      mapping.map(
          producer.getMatchingBlockArgument(operand),
          builder.addInputOrConstant(
              operand->get(),
              producer.getMatchingIndexingMap(operand).compose(loopMap)));
  }

  // The destinations: the producer's where its value stays, then the user's.
  SmallVector<OpResult> kept;
  if (keepResults)
    for (OpResult result : producer->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return user != consumer; }))
        kept.push_back(result);
  for (OpResult result : kept) {
    OpOperand *init = producer.getDpsInitOperand(result.getResultNumber());
    builder.addInit(init->get(), producer.getMatchingIndexingMap(init).compose(
                                     loopMaps.front()));
  }
  for (OpOperand &init : consumer.getDpsInitsMutable())
    arguments.push_back(
        builder.addInit(init.get(), consumer.getMatchingIndexingMap(&init)));

  SmallVector<SmallVector<Value>> values;
  for (auto [loopMap, mapping] : llvm::zip_equal(loopMaps, copies))
    values.push_back(
        cloneBody(rewriter, producer, loopMap, mapping, builder.getBlock()));
  for (OpOperand *input : getReads(producer, consumer)) {
    size_t copy = llvm::find(loopMaps, getLoopMap(producer, consumer, input)) -
                  loopMaps.begin();
    unsigned result = cast<OpResult>(input->get()).getResultNumber();
    arguments[input->getOperandNumber()] = values[copy][result];
  }

  SmallVector<Value> yielded;
  for (OpResult result : kept)
    yielded.push_back(values.front()[result.getResultNumber()]);
  GenericOp fused =
      replaceConsumer(rewriter, consumer, builder, arguments, yielded);
  remat::copyAttributes(producer, fused, /*withPhase=*/false);
  // Listeners hear what has become of each result.
  SmallVector<Value> stays(producer->getResults());
  for (auto [index, result] : llvm::enumerate(kept))
    stays[result.getResultNumber()] = fused->getResult(index);
  if (keepResults)
    rewriter.replaceOp(producer, stays);
  else if (isOpTriviallyDead(producer))
    rewriter.eraseOp(producer);
  return fused;
}

static TypedAttr getSplatValue(Value value) {
  SplatElementsAttr splat;
  if (!isa<ShapedType>(value.getType()) ||
      !matchPattern(value, m_Constant(&splat)) ||
      !isa<IntegerType, IndexType, FloatType>(splat.getElementType()))
    return {};
  return cast<TypedAttr>(splat.getSplatValue<Attribute>());
}

GenericOp remat::foldInputs(RewriterBase &rewriter, LinalgOp op,
                            bool mergesInputs) {
  // Others than generics are what they are by name.
  mergesInputs &= isa<GenericOp>(op);
  SmallVector<AffineMap> maps;
  SetVector<std::pair<Value, AffineMap>> inputs;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (op.isDpsInput(&operand) &&
        (getSplatValue(operand.get()) ||
         (mergesInputs && !inputs.insert({operand.get(), map}))))
      continue;
    maps.push_back(map);
  }
  if (maps.size() == op->getNumOperands() ||
      !haveInvertibleMaps(maps, op.getNumLoops()))
    return {};

  rewriter.setInsertionPoint(op);
  KernelBuilder builder(rewriter, op.getLoc(), mergesInputs);
  SmallVector<Value> arguments;
  for (OpOperand *input : op.getDpsInputOperands()) {
    TypedAttr splat = getSplatValue(input->get());
    arguments.push_back(
        splat
            ? builder.addConstant(splat)
            : builder.addInput(input->get(), op.getMatchingIndexingMap(input)));
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    arguments.push_back(
        builder.addInit(init.get(), op.getMatchingIndexingMap(&init)));
  return replaceConsumer(rewriter, op, builder, arguments, {});
}
