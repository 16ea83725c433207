//===- Rebuild.cpp - Make cheap values again in the backward --------------===//
//
// Some values cost more memory until the backward than time to be made once
// more: a padded image is another tensor and constants around it, a mask or a
// shifted index is made of the model's inputs, and what an exporter computes in
// a wider type, to round it, is no value of the model at all.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Fuse/Passes.h"

#include "ElementwiseFusion.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_REBUILDPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Whether keeping the source instead of the result saves what a copy is worth:
/// the source is kept anyway, or an eighth of it is added.
static bool pays(tensor::PadOp pad) {
  if (isKeptAnyway(pad.getSource()))
    return true;
  RankedTensorType source = pad.getSourceType(), result = pad.getResultType();
  return source.hasStaticShape() && result.hasStaticShape() &&
         result.getNumElements() - source.getNumElements() >=
             source.getNumElements() / 8;
}

/// Whether `op` makes masks or indices, by a few operations for each.
static bool makesIntegers(LinalgOp op) {
  return isFusableProducer(op) && isCheap(op) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           return getElementTypeOrSelf(type).isIntOrIndex();
         });
}

/// Whether `op` makes floating-point numbers elementwise or as sums over rows.
static bool makesFloats(LinalgOp op) {
  return (isFusableProducer(op) ||
          (isFusableConsumer(op) && !readsTensorsInBody(op))) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           return isa<FloatType>(getElementTypeOrSelf(type));
         });
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// More operations are not cheap.
static constexpr unsigned kMaxOps = 8;

namespace {
/// What makes a value from others that are kept until the backward anyway.
class Slice {
public:
  /// None if that is not cheap, or nothing would be gained.
  static std::optional<Slice> get(Value value) {
    Slice slice;
    if (!slice.addProducer(value) || slice.sources.empty() || !slice.hasKernel)
      return std::nullopt;
    if (slice.floatWidth && slice.floatWidth <= slice.getWidestSource())
      return std::nullopt;
    return slice;
  }

  /// Makes the value again before `reader`, from what `reader` waits for.
  Value rebuild(Value value, Operation *reader) const {
    // Otherwise nothing would tell the copy from the original.
    SmallVector<Value, 1> after;
    for (Value operand : reader->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (!op || !isInBackward(op) || !isa<TensorType>(operand.getType()))
        continue;
      after.push_back(operand);
      break;
    }
    OpBuilder builder(reader);
    auto barrier = BarrierOp::create(builder, value.getLoc(),
                                     sources.getArrayRef(), after);
    setPhase(barrier, kBackwardPhase);
    IRMapping mapping;
    mapping.map(sources.getArrayRef(), barrier.getResults());
    for (Operation *op : ops)
      setPhase(builder.clone(*op, mapping), kBackwardPhase);
    return mapping.lookup(value);
  }

private:
  bool add(Value value) {
    if (!isa<TensorType>(value.getType()))
      return true;
    if (isKeptAnyway(value) || isInBackward(value.getDefiningOp())) {
      sources.insert(value);
      return true;
    }
    return addProducer(value);
  }

  bool addProducer(Value value) {
    Operation *op = value.getDefiningOp();
    if (ops.contains(op))
      return true;
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      if (!pad.getConstantPaddingValue() || !pays(pad))
        return false;
      sources.insert(pad.getSource());
      hasKernel = true;
    } else if (!canAdd(op) || !llvm::all_of(op->getOperands(),
                                            [&](Value v) { return add(v); })) {
      return false;
    }
    ops.insert(op);
    return ops.size() <= kMaxOps;
  }

  /// Whether `op` is cheap in itself.
  bool canAdd(Operation *op) {
    if (isa<tensor::EmptyOp, linalg::FillOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp>(op))
      return true;
    auto kernel = dyn_cast<LinalgOp>(op);
    if (!kernel)
      return false;
    hasKernel = true;
    if (makesIntegers(kernel))
      return true;
    if (!makesFloats(kernel))
      return false;
    for (Type type : op->getResultTypes()) {
      unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
      floatWidth = floatWidth ? std::min(floatWidth, width) : width;
    }
    numReductions += kernel.getNumReductionLoops() != 0;
    return numReductions <= 1;
  }

  unsigned getWidestSource() const {
    unsigned widest = 0;
    for (Value source : sources)
      if (auto type = dyn_cast<FloatType>(getElementTypeOrSelf(source)))
        widest = std::max(widest, type.getWidth());
    return widest;
  }

  /// Producers come before their readers.
  SetVector<Operation *> ops;
  SetVector<Value> sources;
  /// Of the narrowest floating-point number that a kernel makes; 0: none does.
  unsigned floatWidth = 0;
  unsigned numReductions = 0;
  bool hasKernel = false;
};
} // namespace

/// Gives the readers in the backward a copy of `value` of their own.
static bool rebuild(Value value) {
  Block *block = value.getParentBlock();
  Operation *first = nullptr;
  bool isReadBefore = false;
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!ancestor)
      return false;
    isReadBefore |= !isInBackward(user);
    if (isInBackward(user) && (!first || ancestor->isBeforeInBlock(first)))
      first = ancestor;
  }
  if (!first || !isReadBefore)
    return false;
  std::optional<Slice> slice = Slice::get(value);
  if (!slice)
    return false;
  Value copy = slice->rebuild(value, first);
  value.replaceUsesWithIf(
      copy, [](OpOperand &use) { return isInBackward(use.getOwner()); });
  return true;
}

namespace {
struct RebuildPass : remat::impl::RebuildPassBase<RebuildPass> {
  void runOnOperation() override {
    SmallVector<Value> values;
    getOperation()->walk([&](Operation *op) {
      if (isa<tensor::PadOp, LinalgOp, tensor::ExpandShapeOp,
              tensor::CollapseShapeOp>(op) &&
          !isInBackward(op))
        llvm::append_range(values, op->getResults());
    });
    for (Value value : values)
      numRebuilt += rebuild(value);
  }
};
} // namespace
