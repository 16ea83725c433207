//===- DetachMaxima.cpp - Stop gradients of maxima ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponentials of large numbers overflow, so that a maximum is subtracted first
// and accounted for afterwards. Results do not depend on it, and its gradient
// is zero: without this pass the backward would compute a sum of terms that
// cancel, and locate the maximum once more for it.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Detach/Maxima.h"
#include "remat/Transforms/Detach/Passes.h"
#include "remat/Transforms/Match/Copies.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

namespace mlir::remat {
#define GEN_PASS_DEF_DETACHMAXIMAPASS
#include "remat/Transforms/Detach/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

namespace {
/// How a number changes if the maximum of its row grows by t.
struct Shift {
  enum Kind {
    /// It grows by `by` t; by 0: it stays the same.
    Added,
    /// It is multiplied by e^(by t).
    Scaled,
    Unknown
  };
  Kind kind = Added;
  double by = 0;

  bool isNone() const { return kind == Added && by == 0; }
  bool operator==(const Shift &other) const {
    return kind == other.kind && by == other.by;
  }
};
} // namespace

static const Shift kUnknown{Shift::Unknown, 0};

static std::optional<double> getConstant(Value value) {
  FloatAttr number;
  if (!matchPattern(value, m_Constant(&number)))
    return std::nullopt;
  return number.getValueAsDouble();
}

static Shift add(Shift a, Shift b, double sign) {
  if (a.kind == Shift::Added && b.kind == Shift::Added)
    return {Shift::Added, a.by + sign * b.by};
  return a == b ? a : kUnknown;
}

/// Returns the shift of a * b, or of a / b for `sign` -1.
static Shift multiply(Shift a, Shift b, double sign) {
  auto isFactor = [](Shift s) { return s.kind == Shift::Scaled || s.isNone(); };
  if (!isFactor(a) || !isFactor(b))
    return kUnknown;
  double by = a.by + sign * b.by;
  return by == 0 ? Shift() : Shift{Shift::Scaled, by};
}

/// Returns the shift of a choice between two numbers. Zero stays zero, and an
/// infinity stays one.
static Shift choose(Value a, Shift shiftOfA, Value b, Shift shiftOfB) {
  auto fits = [](Value value, Shift other) {
    std::optional<double> constant = getConstant(value);
    return constant &&
           (other.kind == Shift::Scaled
                ? *constant == 0
                : other.kind == Shift::Added && std::isinf(*constant));
  };
  if (shiftOfA == shiftOfB || fits(b, shiftOfA))
    return shiftOfA;
  return fits(a, shiftOfB) ? shiftOfB : kUnknown;
}

/// Returns the shift of the result of `op`, of which at least one operand is
/// shifted.
static Shift getShift(Operation *op, function_ref<Shift(Value)> of) {
  return llvm::TypeSwitch<Operation *, Shift>(op)
      .Case<arith::AddFOp>(
          [&](auto op) { return add(of(op.getLhs()), of(op.getRhs()), 1); })
      .Case<arith::SubFOp>(
          [&](auto op) { return add(of(op.getLhs()), of(op.getRhs()), -1); })
      .Case<arith::NegFOp>([&](auto op) {
        Shift shift = of(op.getOperand());
        return shift.kind == Shift::Added ? Shift{Shift::Added, -shift.by}
                                          : shift;
      })
      .Case<arith::MulFOp, arith::DivFOp>([&](auto op) {
        bool divides = isa<arith::DivFOp>(op);
        Shift a = of(op.getLhs()), b = of(op.getRhs());
        std::optional<double> left = getConstant(op.getLhs());
        std::optional<double> right = getConstant(op.getRhs());
        if (a.kind == Shift::Added && a.by != 0 && right)
          return Shift{Shift::Added, divides ? a.by / *right : a.by * *right};
        if (b.kind == Shift::Added && b.by != 0 && left && !divides)
          return Shift{Shift::Added, b.by * *left};
        return multiply(a, b, divides ? -1 : 1);
      })
      .Case<math::ExpOp>([&](auto op) {
        Shift shift = of(op.getOperand());
        return shift.kind == Shift::Added ? Shift{Shift::Scaled, shift.by}
                                          : kUnknown;
      })
      .Case<math::LogOp>([&](auto op) {
        Shift shift = of(op.getOperand());
        return shift.kind == Shift::Scaled ? Shift{Shift::Added, shift.by}
                                           : kUnknown;
      })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto op) { return of(op.getOperand()); })
      .Case<arith::CmpFOp>([&](auto op) {
        Shift a = of(op.getLhs());
        return a.kind == Shift::Added && a == of(op.getRhs()) ? Shift()
                                                              : kUnknown;
      })
      .Case<arith::SelectOp>([&](auto op) {
        if (!of(op.getCondition()).isNone())
          return kUnknown;
        return choose(op.getTrueValue(), of(op.getTrueValue()),
                      op.getFalseValue(), of(op.getFalseValue()));
      })
      .Default(kUnknown);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// The shift of a tensor's elements, and which dimension of it counts rows in
/// each dimension of the maximum (of more than one element).
struct ShiftedTensor {
  Shift shift;
  SmallVector<unsigned> rows;
};

/// Follows a maximum to all values computed from it.
class ShiftAnalysis {
public:
  /// Returns true if no result depends on `maximum`, except through operations
  /// that stop the gradient.
  bool isFreeOf(Value maximum);

private:
  struct BeforeInBlock {
    bool operator()(Operation *a, Operation *b) const {
      return a->isBeforeInBlock(b);
    }
  };

  void track(Value value, ShiftedTensor shifted) {
    if (!shifted.shift.isNone())
      tensors[value] = std::move(shifted);
  }
  bool followIn(Block *block);
  bool follow(Operation *op);
  bool followReshape(Operation *op);
  bool followKernel(LinalgOp op);
  bool followRegion(RegionOp op);

  DenseMap<Value, ShiftedTensor> tensors;
};
} // namespace

bool ShiftAnalysis::isFreeOf(Value maximum) {
  ShiftedTensor shifted{{Shift::Added, 1}, {}};
  auto type = cast<RankedTensorType>(maximum.getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size != 1)
      shifted.rows.push_back(dim);
  track(maximum, shifted);
  // A region's yielded values continue after it.
  for (Block *block = maximum.getParentBlock();;) {
    if (!followIn(block))
      return false;
    auto region = dyn_cast<RegionOp>(block->getParentOp());
    bool goesOn = false;
    for (OpOperand &operand : block->getTerminator()->getOpOperands())
      if (auto it = tensors.find(operand.get()); it != tensors.end()) {
        if (!region)
          return false;
        ShiftedTensor copy = it->second;
        track(region->getResult(operand.getOperandNumber()), copy);
        goesOn = true;
      }
    if (!goesOn)
      return true;
    block = region->getBlock();
  }
}

/// Computes the shifts of values in `block` that depend on tracked ones.
/// Returns false if one of them is unknown.
bool ShiftAnalysis::followIn(Block *block) {
  std::set<Operation *, BeforeInBlock> pending;
  auto addUsers = [&](Value value) {
    for (Operation *user : value.getUsers())
      if (Operation *op = block->findAncestorOpInBlock(*user))
        pending.insert(op);
  };
  for (Value value : llvm::to_vector(llvm::make_first_range(tensors)))
    if (value.getParentBlock() == block)
      addUsers(value);
  while (!pending.empty()) {
    Operation *op = *pending.begin();
    pending.erase(pending.begin());
    if (op->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (!follow(op))
      return false;
    for (Value result : op->getResults())
      if (tensors.contains(result))
        addUsers(result);
  }
  return true;
}

bool ShiftAnalysis::follow(Operation *op) {
  // No gradient flows back through it.
  if (isa<StopGradientOp>(op))
    return true;
  if (isa<NameOp>(op)) {
    ShiftedTensor shifted = tensors.lookup(op->getOperand(0));
    track(op->getResult(0), shifted);
    return true;
  }
  if (isTensorReshape(op))
    return followReshape(op);
  if (auto kernel = dyn_cast<LinalgOp>(op))
    return kernel.hasPureTensorSemantics() && followKernel(kernel);
  if (auto region = dyn_cast<RegionOp>(op))
    return followRegion(region);
  return false;
}

/// Returns false for a reshape that joins a dimension of rows with others than
/// those of size 1.
bool ShiftAnalysis::followReshape(Operation *op) {
  ShiftedTensor shifted = tensors.lookup(op->getOperand(0));
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  bool expands = isa<tensor::ExpandShapeOp>(op);
  SmallVector<ReassociationIndices> groups =
      expands ? cast<tensor::ExpandShapeOp>(op).getReassociationIndices()
              : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
  for (unsigned &row : shifted.rows) {
    bool found = false;
    for (auto [number, group] : llvm::enumerate(groups)) {
      if (expands ? number != row : !llvm::is_contained(group, row))
        continue;
      auto isLong = [&](int64_t dim) {
        return (expands ? to : from).getDimSize(dim) != 1;
      };
      if (llvm::count_if(group, isLong) != 1)
        return false;
      row = expands ? *llvm::find_if(group, isLong) : number;
      found = true;
      break;
    }
    if (!found)
      return false;
  }
  track(op->getResult(0), shifted);
  return true;
}

/// Returns false unless all shifted operands are shifted by the same rows, by
/// which the results are then shifted.
bool ShiftAnalysis::followKernel(LinalgOp op) {
  std::optional<SmallVector<unsigned>> loops;
  auto addLoops = [&](ArrayRef<unsigned> found) {
    if (!loops)
      loops = llvm::to_vector(found);
    return ArrayRef<unsigned>(*loops) == found;
  };
  // Scalars that are not in the map do not depend on t.
  DenseMap<Value, Shift> scalars;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = tensors.find(operand.get());
    if (it == tensors.end())
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<unsigned> found;
    for (unsigned row : it->second.rows) {
      auto dim = dyn_cast<AffineDimExpr>(map.getResult(row));
      if (!dim)
        return false;
      found.push_back(dim.getPosition());
    }
    if (op.isDpsInit(&operand) || !addLoops(found))
      return false;
    scalars[op.getMatchingBlockArgument(&operand)] = it->second.shift;
  }

  auto of = [&](Value value) { return scalars.lookup(value); };
  Block *body = op.getBlock();
  for (Operation &scalar : body->without_terminator()) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(scalar)) {
      auto it = tensors.find(extract.getTensor());
      if (it == tensors.end())
        continue;
      SmallVector<unsigned> found;
      for (unsigned row : it->second.rows) {
        auto index = extract.getIndices()[row].getDefiningOp<linalg::IndexOp>();
        if (!index)
          return false;
        found.push_back(index.getDim());
      }
      if (!addLoops(found))
        return false;
      scalars[extract] = it->second.shift;
      continue;
    }
    if (scalar.getNumRegions() != 0)
      return false;
    if (llvm::all_of(scalar.getOperands(),
                     [&](Value value) { return of(value).isNone(); }))
      continue;
    if (scalar.getNumResults() != 1)
      return false;
    if (Shift shift = getShift(&scalar, of); !shift.isNone())
      scalars[scalar.getResult(0)] = shift;
  }
  if (!loops)
    return false;

  bool reduces = !isParallel(op);
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    OpOperand *init = op.getDpsInitOperand(number);
    Value yielded = body->getTerminator()->getOperand(number);
    Shift shift = of(yielded);
    if (reduces) {
      Value sum = op.getMatchingBlockArgument(init);
      auto combiner = yielded.getDefiningOp<arith::AddFOp>();
      if (combiner && sum.hasOneUse() &&
          llvm::is_contained(combiner->getOperands(), sum)) {
        // Zero stays zero under any factor.
        Shift term = of(combiner.getOperand(combiner.getLhs() == sum));
        shift = term.isNone() || (term.kind == Shift::Scaled &&
                                  isZeroFilled(init->get()))
                    ? term
                    : kUnknown;
      } else if (!shift.isNone()) {
        return false;
      }
    }
    if (shift.kind == Shift::Unknown)
      return false;
    ShiftedTensor shifted{shift, {}};
    AffineMap map = op.getMatchingIndexingMap(init);
    for (unsigned loop : *loops) {
      std::optional<unsigned> dim =
          map.getResultPosition(getAffineDimExpr(loop, op.getContext()));
      if (!dim && !shift.isNone())
        return false;
      shifted.rows.push_back(dim.value_or(0));
    }
    track(result, shifted);
  }
  return true;
}

bool ShiftAnalysis::followRegion(RegionOp op) {
  Block *body = op.getBodyBlock();
  for (auto [input, argument] :
       llvm::zip_equal(op.getInputs(), body->getArguments()))
    if (tensors.contains(input)) {
      ShiftedTensor shifted = tensors.lookup(input);
      track(argument, shifted);
    }
  if (!followIn(body))
    return false;
  for (auto [yielded, output] :
       llvm::zip_equal(body->getTerminator()->getOperands(), op.getOutputs()))
    if (tensors.contains(yielded)) {
      ShiftedTensor shifted = tensors.lookup(yielded);
      track(output, shifted);
    }
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the results of `op` that are maxima along some dimensions.
static SmallVector<Value> getMaxima(LinalgOp op) {
  SmallVector<Value> maxima;
  if (!op.hasPureTensorSemantics() || isParallel(op))
    return maxima;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value result = op.getTiedOpResult(&init);
    Operation *combiner =
        op.getBlock()
            ->getTerminator()
            ->getOperand(cast<OpResult>(result).getResultNumber())
            .getDefiningOp();
    if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(combiner) &&
        llvm::is_contained(combiner->getOperands(),
                           op.getMatchingBlockArgument(&init)))
      maxima.push_back(result);
  }
  return maxima;
}

bool mlir::remat::detachMaxima(Operation *root) {
  SmallVector<Value> maxima;
  root->walk([&](LinalgOp op) { llvm::append_range(maxima, getMaxima(op)); });
  bool changed = false;
  for (Value maximum : maxima) {
    if (maximum.use_empty() ||
        llvm::all_of(maximum.getUsers(), llvm::IsaPred<StopGradientOp>) ||
        !ShiftAnalysis().isFreeOf(maximum))
      continue;
    OpBuilder builder(root->getContext());
    builder.setInsertionPointAfterValue(maximum);
    auto detached = StopGradientOp::create(builder, maximum.getLoc(), maximum);
    maximum.replaceAllUsesExcept(detached, detached);
    changed = true;
  }
  return changed;
}

namespace {
struct DetachMaximaPass
    : mlir::remat::impl::DetachMaximaPassBase<DetachMaximaPass> {
  void runOnOperation() override {
    if (!detachMaxima(getOperation()))
      markAllAnalysesPreserved();
  }
};
} // namespace
