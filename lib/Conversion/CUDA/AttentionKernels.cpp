//===- AttentionKernels.cpp - Attention as one kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The largest score of each row so far, and sums relative to it (Milakov and
// Gimelshein, Online normalizer calculation for softmax, 2018).
//===----------------------------------------------------------------------===//

#include "AttentionKernels.h"

#include "AttentionEmitter.h"

#include "remat/Dialect/Remat/IR/LogSum.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

namespace {

class ForwardKernel : AttentionEmitter {
public:
  ForwardKernel(OpBuilder &host, AttentionOp op, const AttentionPlan &plan,
                bool traffic)
      : AttentionEmitter(host, op, plan, plan.forward, getIndexedOperands(op),
                         op.getBody().front(), traffic) {}

  void run(KernelTable<gpu::GPUFuncOp> &table);

private:
  /// The state of a thread from tile to tile: for each of its rows the largest
  /// score, the sum of its own powers, and the sums of values.
  struct State {
    Values maxima, powers, sums;
    Values pack() const {
      Values all(maxima);
      llvm::append_range(all, powers);
      llvm::append_range(all, sums);
      return all;
    }
    static State unpack(ValueRange all, int64_t rows) {
      return {Values(all.take_front(rows)), Values(all.slice(rows, rows)),
              Values(all.drop_front(2 * rows))};
    }
  };

  /// The power of a score t relative to a row's largest one is 2^(factor t +
  /// offset), in one multiply-add. Its rounding is that of the largest score,
  /// the same for all of a row.
  struct Exponent {
    Value factor, offset;
  };
  Exponent getExponent(Value reference);
  Tile keys() {
    return {*key,
            keyMemory,
            plan.dims.key,
            tile.keys,
            plan.dims.depth,
            depth,
            getStageStart(tile.keys)};
  }
  Tile values() {
    return {*value,
            valueMemory,
            plan.dims.key,
            tile.keys,
            plan.dims.columns,
            columns,
            getStageStart(tile.keys)};
  }
  State emitTile(Value firstKey, State state);
  void store(State state);

  std::optional<Operand> query, key, value, result, logSum;
  Value queryMemory, keyMemory, valueMemory;
  ScoreBuffer powers;
};

} // namespace

/// Scores whose neighbours are 4 and more apart have exact differences, and
/// powers of two instead of e.
ForwardKernel::Exponent ForwardKernel::getExponent(Value reference) {
  Value factor =
      arith::SelectOp::create(b, loc, createIsBeyond(b, loc, reference),
                              constant(1.0), constant(llvm::numbers::log2e));
  Value offset = create<arith::MulFOp>(
      arith::NegFOp::create(b, loc, reference).getResult(), factor);
  return {factor, offset};
}

ForwardKernel::State ForwardKernel::emitTile(Value firstKey, State state) {
  Tile queries{*query,          queryMemory, plan.queryLoop, tile.queries,
               plan.dims.depth, depth,       Value()};
  int64_t rows = layout.countRows(tile.queries),
          perRow = layout.countScores(tile.keys);
  Values scores = multiply(queries, keys());
  Value lowest = constant(-std::numeric_limits<double>::infinity());
  Values weights;
  Values evaluated = emitByPositions(firstOfPart[0], firstKey, [&] {
    Values modified, factors;
    for (auto [number, score] : llvm::enumerate(scores)) {
      Value row = rowOf(firstOfPart[0], number / perRow),
            position = columnOf(firstKey, number % perRow);
      Values yielded = evaluate(score, clamp(row, plan.queryLoop, tile.queries),
                                clamp(position, plan.dims.key, tile.keys), {});
      modified.push_back(yielded.front());
      if (yielded.size() > 1)
        factors.push_back(yielded.back());
    }
    llvm::append_range(modified, factors);
    return modified;
  });
  ValueRange factors = ValueRange(evaluated).drop_front(scores.size());
  for (int64_t i : llvm::seq(rows)) {
    Value largest;
    for (int64_t j : llvm::seq(perRow)) {
      Value &score = scores[i * perRow + j];
      score = evaluated[i * perRow + j];
      if (Value isKey =
              isInside(columnOf(firstKey, j), plan.dims.key, tile.keys))
        score = arith::SelectOp::create(b, loc, isKey, score, lowest);
      largest = largest ? larger(largest, score) : score;
    }
    largest =
        reduceLanes(largest, [&](Value x, Value y) { return larger(x, y); });
    largest = larger(state.maxima[i], largest);
    // Of a row of which all is masked so far, each power is zero.
    Value isMasked = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                           largest, lowest);
    Value reference =
        arith::SelectOp::create(b, loc, isMasked, constant(0.0), largest);
    Exponent exponent = getExponent(reference);
    auto powerOf = [&](Value score) {
      return tile.usesMatrices
                 ? powerOfTwo(math::FmaOp::create(
                       b, loc, score, exponent.factor, exponent.offset))
                 : power(create<arith::SubFOp>(score, reference));
    };
    Value scale = powerOf(state.maxima[i]);
    Value sum = create<arith::MulFOp>(state.powers[i], scale);
    for (int64_t j : llvm::seq(perRow)) {
      Value weight = powerOf(scores[i * perRow + j]);
      sum = create<arith::AddFOp>(sum, weight);
      if (!factors.empty())
        weight = create<arith::MulFOp>(weight, factors[i * perRow + j]);
      weights.push_back(weight);
    }
    state.maxima[i] = largest;
    state.powers[i] = sum;
    int64_t perSums = layout.countSums(columns.padded);
    for (Value &s : MutableArrayRef(state.sums).slice(i * perSums, perSums))
      s = create<arith::MulFOp>(s, scale);
  }
  share(powers, weights);
  if (!tile.usesMatrices) {
    // Values take the place of keys.
    emitBarrier();
    loadTile(values(), firstKey);
    emitBarrier();
  }
  state.sums = accumulate(powers, weights, tile.keys, values(), state.sums);
  return state;
}

void ForwardKernel::store(State state) {
  int64_t perRow = layout.countSums(columns.padded);
  Value none = constant(std::numeric_limits<double>::quiet_NaN());
  Value zero = constant(0.0);
  for (int64_t i : llvm::seq(layout.countRows(tile.queries))) {
    Value sum = reduceLanes(state.powers[i], [&](Value x, Value y) -> Value {
      return create<arith::AddFOp>(x, y);
    });
    // At least 1, or of no keys: a division takes as long as ten products.
    Value inverse = create<arith::DivFOp>(constant(1.0), sum);
    for (Value &s : MutableArrayRef(state.sums).slice(i * perRow, perRow))
      s = create<arith::MulFOp>(s, inverse);
    Value row = rowOf(firstOfPart[0], i);
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, index(0));
    if (Value isRow = isInside(row, plan.queryLoop, tile.queries))
      isFirst = create<arith::AndIOp>(isFirst, isRow);
    Value isMasked =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, zero);
    Value log = createLogSum(b, loc, state.maxima[i], sum);
    log = arith::SelectOp::create(b, loc, isMasked, none, log);
    emitIf(isFirst, [&] { storeOfRow(*logSum, row, log); });
  }
  storeSums({*result, Value(), plan.queryLoop, tile.queries, plan.dims.columns,
             columns, Value()},
            firstOfPart[0], state.sums);
}

void ForwardKernel::run(KernelTable<gpu::GPUFuncOp> &table) {
  powers.stride = getScoreStride(tile.keys, perVector);
  SmallVector<MemRefType> memory = {getMemory(tile.queries * depth.stride)};
  if (tile.usesMatrices)
    memory.append({getMemory(tile.getStages() * tile.keys * depth.stride),
                   getMemory(tile.getStages() * tile.keys * columns.stride)});
  else
    memory.append(
        {getMemory(tile.keys * std::max(depth.stride, columns.stride)),
         getMemory(tile.queries * powers.stride)});
  begin(plan.outer, {{plan.queryLoop, tile.queries}}, memory);
  unsigned last = indexed.size() - 1;
  std::optional<Visits> visits = countVisits();
  auto count = [&](int64_t Visits::*rows, int64_t elements) {
    return visits ? std::optional((*visits).*rows * elements) : std::nullopt;
  };
  query = addOperand(indexed[0], Access::Read, count(&Visits::own, plan.depth));
  key =
      addOperand(indexed[1], Access::Read, count(&Visits::others, plan.depth));
  value = addOperand(indexed[2], Access::Read,
                     count(&Visits::others, plan.columns));
  result = addOperand(indexed[last - 1], Access::Write,
                      count(&Visits::own, plan.columns));
  logSum = addOperand(indexed[last], Access::Write, count(&Visits::own, 1));
  addScoreOperands();
  Values workgroup = beginCode();
  queryMemory = workgroup[0];
  keyMemory = workgroup[1];
  valueMemory = tile.usesMatrices ? workgroup[2] : keyMemory;
  if (!tile.usesMatrices)
    powers.buffer = workgroup.back();

  loadTile({*query, queryMemory, plan.queryLoop, tile.queries, plan.dims.depth,
            depth, Value()},
           firstOfPart[0]);
  int64_t rows = layout.countRows(tile.queries);
  State state{Values(rows, constant(-std::numeric_limits<double>::infinity())),
              Values(rows, constant(0.0)), zeros(tile.queries, columns)};
  auto [from, to] = findKeys(firstOfPart[0], tile);
  Values all = emitTiles(
      from, to, tile.keys, isOneTile(plan.dims.key, tile.keys), state.pack(),
      [&](Value firstKey) {
        loadTile(keys(), firstKey);
        if (tile.usesMatrices)
          loadTile(values(), firstKey);
      },
      [&](Value firstKey, ValueRange carried) {
        return emitTile(firstKey, State::unpack(carried, rows)).pack();
      });
  store(State::unpack(all, rows));
  finish(table, "attention", state.sums.size());
}

void mlir::remat::launchAttention(OpBuilder &builder,
                                  KernelTable<gpu::GPUFuncOp> &table,
                                  AttentionOp op, const AttentionPlan &plan,
                                  bool traffic) {
  ForwardKernel(builder, op, plan, traffic).run(table);
}
