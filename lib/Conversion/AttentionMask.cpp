//===- AttentionMask.cpp - Keys that a mask leaves ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionMask.h"

#include "remat/Analysis/AffineValues.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class MaskReader {
public:
  MaskReader(Value row, Value key, bool onlyPositionsMask)
      : positions({row, key}), onlyPositionsMask(onlyPositionsMask) {}

  VisibleKeys read(Value t) {
    collectMasks(t);
    // A row of which all is masked by a finite number has the same probability
    // for all keys: none may be left out unless a key remains.
    bool isExact = allInfinite || (!hasOtherMask && onlyPositionsMask &&
                                   llvm::all_of(visible, holdsOnDiagonal));
    VisibleKeys keys = isExact ? bounds() : VisibleKeys();
    keys.tests = std::move(visible);
    return keys;
  }

private:
  static bool holdsOnDiagonal(const PositionTest &test) {
    return test.rows + test.keys == 0 && test.constant <= 0;
  }

  /// Returns the constant `value` if it masks a score.
  static std::optional<APFloat> getMaskingNumber(Value value) {
    APFloat number(0.0);
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
        break;
      value = op->getOperand(0);
    }
    if (!matchPattern(value, m_ConstantFloat(&number)) || !number.isNegative())
      return std::nullopt;
    // So low that no score beside it is of the same order.
    bool lossy;
    APFloat wide = number;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    if (wide.convertToDouble() > -1e30)
      return std::nullopt;
    return number;
  }

  /// Looks through sums and selections for masks.
  void collectMasks(Value t) {
    DenseSet<Value> seen;
    SmallVector<Value> pending{t};
    while (!pending.empty()) {
      Value value = pending.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!seen.insert(value).second || !op)
        continue;
      if (isa<arith::AddFOp, arith::ExtFOp, arith::TruncFOp>(op))
        llvm::append_range(pending, llvm::reverse(op->getOperands()));
      else if (auto select = dyn_cast<arith::SelectOp>(op))
        collectMasks(select, pending);
    }
  }

  /// Appends what `select` does not mask to `pending`.
  void collectMasks(arith::SelectOp select, SmallVectorImpl<Value> &pending) {
    auto ifFalse = getMaskingNumber(select.getFalseValue()),
         ifTrue = getMaskingNumber(select.getTrueValue());
    if (ifFalse.has_value() == ifTrue.has_value()) {
      hasOtherMask = true;
      return;
    }
    allInfinite &= (ifFalse ? ifFalse : ifTrue)->isInfinity();
    addVisible(select.getCondition(), /*holds=*/ifFalse.has_value());
    pending.push_back(ifFalse ? select.getTrueValue() : select.getFalseValue());
  }

  /// Keys are visible only where `condition` has the value `holds`.
  void addVisible(Value condition, bool holds) {
    SmallVector<std::pair<Value, bool>> pending{{condition, holds}};
    while (!pending.empty()) {
      auto [condition, holds] = pending.pop_back_val();
      if (!conditions.insert({condition, holds}).second)
        continue;
      Operation *op = condition.getDefiningOp();
      APInt constant;
      if (auto invert = dyn_cast_or_null<arith::XOrIOp>(op);
          invert && matchPattern(invert.getRhs(), m_ConstantInt(&constant)) &&
          constant.isOne()) {
        pending.emplace_back(invert.getLhs(), !holds);
        continue;
      }
      if (holds ? isa_and_nonnull<arith::AndIOp>(op)
                : isa_and_nonnull<arith::OrIOp>(op)) {
        for (Value operand : llvm::reverse(op->getOperands()))
          pending.emplace_back(operand, holds);
        continue;
      }
      if (matchPattern(condition, m_ConstantInt(&constant)) &&
          constant.isOne() == holds)
        continue;
      auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
      if (!compare || !addComparison(compare, holds))
        hasOtherMask = true;
    }
  }

  bool addComparison(arith::CmpIOp compare, bool holds) {
    arith::CmpIPredicate predicate =
        holds ? compare.getPredicate()
              : arith::invertPredicate(compare.getPredicate());
    using P = arith::CmpIPredicate;
    if (predicate == P::eq || predicate == P::ne)
      return false;
    bool isUnsigned =
        llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
    bool isLess =
        llvm::is_contained({P::ult, P::ule, P::slt, P::sle}, predicate);
    bool isStrict =
        llvm::is_contained({P::ult, P::slt, P::ugt, P::sgt}, predicate);
    std::optional<AffineValue> lhs = positions.get(compare.getLhs()),
                               rhs = positions.get(compare.getRhs());
    if (!lhs || !rhs)
      return false;
    // Without a sign, what may be negative is compared as a large number.
    if (isUnsigned && (!lhs->isNeverNegative() || !rhs->isNeverNegative()))
      return false;
    if (!isLess)
      std::swap(lhs, rhs);
    std::optional<AffineValue> difference = subtract(*lhs, *rhs);
    if (!difference || !llvm::isInt<32>(difference->coefficients[0]) ||
        !llvm::isInt<32>(difference->coefficients[1]) ||
        !llvm::isInt<32>(*difference->constant))
      return false;
    visible.push_back({compare, holds, difference->coefficients[0],
                       difference->coefficients[1],
                       *difference->constant + isStrict});
    return true;
  }

  /// keys * n + rows * m + constant <= 0 as bounds of n.
  VisibleKeys bounds() const {
    VisibleKeys keys;
    for (const PositionTest &test : visible) {
      if (test.keys == 1 && test.rows <= 0)
        keys.upper.push_back({-test.rows, -test.constant});
      else if (test.keys == -1 && test.rows >= 0)
        keys.lower.push_back({test.rows, test.constant});
    }
    return keys;
  }

  AffineValues positions;
  bool onlyPositionsMask;
  bool hasOtherMask = false, allInfinite = true;
  /// Those that were looked at, with the values of which they were taken.
  DenseSet<std::pair<Value, unsigned>> conditions;
  /// A key is visible where each of these is at most 0.
  SmallVector<PositionTest, 2> visible;
};
} // namespace

VisibleKeys remat::findVisibleKeys(Value t, Value row, Value key,
                                   bool onlyPositionsMask) {
  return MaskReader(row, key, onlyPositionsMask).read(t);
}

/// From the largest of `starts` on, and how many up to the least of `ends`, but
/// at least none. The last of `operands`, s1, is how many there are.
static std::pair<OpFoldResult, OpFoldResult>
createRange(OpBuilder &b, Location loc, ArrayRef<AffineExpr> starts,
            ArrayRef<AffineExpr> ends, ArrayRef<OpFoldResult> operands) {
  auto mapTo = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(1, 2, exprs, b.getContext());
  };
  OpFoldResult zero = b.getIndexAttr(0);
  AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1);
  OpFoldResult end =
      affine::makeComposedFoldedAffineMin(b, loc, mapTo(ends), operands);
  OpFoldResult first =
      affine::makeComposedFoldedAffineMax(b, loc, mapTo(starts), operands);
  // At least none, and none beyond the last.
  AffineMap both = AffineMap::get(0, 2, {s0, s1}, b.getContext());
  end = affine::makeComposedFoldedAffineMax(b, loc, both, {end, zero});
  first = affine::makeComposedFoldedAffineMin(b, loc, both, {first, end});
  return {first,
          affine::makeComposedFoldedAffineApply(b, loc, s0 - s1, {end, first})};
}

std::pair<OpFoldResult, OpFoldResult>
remat::findKeyRange(OpBuilder &b, Location loc, const VisibleKeys &visible,
                    OpFoldResult start, OpFoldResult rows, OpFoldResult numKeys,
                    int64_t multiple) {
  OpFoldResult zero = b.getIndexAttr(0);
  if (visible.lower.empty() && visible.upper.empty())
    return {zero, numKeys};
  AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0),
             s1 = b.getAffineSymbolExpr(1);
  // Of the first row, the number of rows and of keys.
  SmallVector<AffineExpr> ends{s1}, starts{b.getAffineConstantExpr(0)};
  for (KeyBound bound : visible.upper)
    ends.push_back(
        ((d0 + s0 - 1) * bound.slope + bound.offset + 1).ceilDiv(multiple) *
        multiple);
  for (KeyBound bound : visible.lower)
    starts.push_back((d0 * bound.slope + bound.offset).floorDiv(multiple) *
                     multiple);
  return createRange(b, loc, starts, ends, {start, rows, numKeys});
}

std::pair<OpFoldResult, OpFoldResult>
remat::findRowRange(OpBuilder &b, Location loc, const VisibleKeys &visible,
                    OpFoldResult start, OpFoldResult keys, OpFoldResult numRows,
                    int64_t multiple) {
  OpFoldResult zero = b.getIndexAttr(0);
  AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0),
             s1 = b.getAffineSymbolExpr(1);
  // Of the first key, the number of keys and of rows. Bounds that are the same
  // for all rows are left to the mask.
  SmallVector<AffineExpr> ends{s1}, starts{b.getAffineConstantExpr(0)};
  for (KeyBound bound : visible.upper)
    if (bound.slope > 0)
      starts.push_back(
          (d0 - bound.offset).ceilDiv(bound.slope).floorDiv(multiple) *
          multiple);
  for (KeyBound bound : visible.lower)
    if (bound.slope > 0)
      ends.push_back((d0 + s0 - 1 - bound.offset).floorDiv(bound.slope) + 1);
  if (starts.size() == 1 && ends.size() == 1)
    return {zero, numRows};
  return createRange(b, loc, starts, ends, {start, keys, numRows});
}

Value remat::createIsVisible(OpBuilder &b, Location loc,
                             const VisibleKeys &visible, Value firstRow,
                             int64_t rows, Value firstKey, int64_t keys) {
  AffineExpr row = b.getAffineDimExpr(0), key = b.getAffineDimExpr(1);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0), all;
  for (const PositionTest &test : visible.tests) {
    // Where the sum is the largest.
    AffineExpr sum = (test.rows > 0 ? row + (rows - 1) : row) * test.rows +
                     (test.keys > 0 ? key + (keys - 1) : key) * test.keys +
                     test.constant;
    Value largest = affine::AffineApplyOp::create(
        b, loc, AffineMap::get(2, 0, sum), ValueRange{firstRow, firstKey});
    Value holds =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, largest, zero);
    all = all ? arith::AndIOp::create(b, loc, all, holds).getResult() : holds;
  }
  return all;
}

Value remat::findModifiedScore(AttentionBackwardOp op) {
  Block &body = op.getBody().front();
  Value logSum = body.getArgument(body.getNumArguments() - 3);
  for (Operation *user : logSum.getUsers())
    if (auto difference = dyn_cast<arith::SubFOp>(user);
        difference && difference.getRhs() == logSum)
      return difference.getLhs();
  return {};
}

Operation *remat::findProbability(AttentionBackwardOp op) {
  Value t = findModifiedScore(op);
  for (Operation &inner : op.getBody().front()) {
    auto select = dyn_cast<arith::SelectOp>(inner);
    auto isMasked =
        select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
    if (!t || !isMasked || isMasked.getLhs() != t ||
        isMasked.getPredicate() != arith::CmpFPredicate::OEQ ||
        !matchPattern(isMasked.getRhs(), m_NegInfFloat()) ||
        !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
      continue;
    auto power = select.getFalseValue().getDefiningOp<math::ExpOp>();
    auto exponent =
        power ? power.getOperand().getDefiningOp<arith::SelectOp>() : nullptr;
    auto difference =
        exponent ? exponent.getFalseValue().getDefiningOp<arith::SubFOp>()
                 : nullptr;
    if (difference && difference.getLhs() == t)
      return select;
  }
  return nullptr;
}
