//===- AttentionProducts.cpp - Scores and sums of attention's kernels -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each sum of products is a chain of fused multiply-adds of one thread, so that
// its order does not depend on how threads share the work.
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"
#include "WarpShuffle.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The elements of vectors, those of the first one first.
static SmallVector<Value> unpack(OpBuilder &b, Location loc,
                                 ArrayRef<Value> vectors) {
  SmallVector<Value> elements;
  for (Value vector : vectors)
    for (int64_t i :
         llvm::seq(cast<VectorType>(vector.getType()).getNumElements()))
      elements.push_back(vector::ExtractOp::create(b, loc, vector, i));
  return elements;
}

AttentionEmitter::Values AttentionEmitter::multiply(const Tile &x,
                                                    const Tile &y) {
  if (tile.usesMatrices)
    return multiplyMatrices(x, y);
  int64_t mine = layout.countRows(x.rows), others = layout.countScores(y.rows);
  Values zero(mine * others, constant(0.0));
  return emitFor(
      index(0), index(x.width.padded), perVector, zero,
      [&](Value column, ValueRange carried) {
        auto loadRows = [&](const Tile &tile, ArrayRef<Value> rows) {
          return unpack(b, loc, llvm::map_to_vector(rows, [&](Value row) {
                          return loadShared(tile.buffer, row, tile.width.stride,
                                            column);
                        }));
        };
        Values rows, columns;
        for (int64_t i : llvm::seq(mine))
          rows.push_back(rowOf(index(0), i));
        for (int64_t j : llvm::seq(others))
          columns.push_back(columnOf(index(0), j));
        Values left = loadRows(x, rows), right = loadRows(y, columns);
        Values sums(carried);
        for (int64_t d : llvm::seq(perVector))
          for (int64_t i : llvm::seq(mine))
            for (int64_t j : llvm::seq(others)) {
              Value &sum = sums[i * others + j];
              sum = math::FmaOp::create(b, loc, left[i * perVector + d],
                                        right[j * perVector + d], sum);
            }
        return sums;
      });
}

void AttentionEmitter::share(ScoreBuffer buffer, ValueRange scores) {
  if (tile.usesMatrices)
    return;
  int64_t perRow = layout.countScores(buffer.stride - perVector);
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value row = rowOf(index(0), i / perRow),
          column = columnOf(index(0), i % perRow);
    memref::StoreOp::create(
        b, loc, score, buffer.buffer,
        math.add(math.mul(row, index(buffer.stride)), column));
  }
}

/// Where the thread's vector number `group` of a row is; where that does not
/// exist, the last one is computed instead.
Value AttentionEmitter::sumColumnOf(TileWidth width, int64_t group) {
  int64_t first = group * layout.lanes * perVector;
  Value column = math.add(math.mul(lane, index(perVector)), index(first));
  return first + layout.lanes * perVector <= width.padded
             ? column
             : math.min(column, index(width.padded - perVector));
}

AttentionEmitter::Values
AttentionEmitter::accumulate(ScoreBuffer shared, ValueRange scores,
                             int64_t count, const Tile &y, ValueRange sums) {
  if (tile.usesMatrices)
    return accumulateMatrices(scores, count, y, sums);
  int64_t perRow = layout.countSums(y.width.padded),
          rowsPerThread = sums.size() / perRow;
  Values columns;
  for (int64_t group : llvm::seq(perRow / perVector))
    columns.push_back(sumColumnOf(y.width, group));
  return emitFor(
      index(0), index(count), perVector, sums,
      [&](Value first, ValueRange carried) {
        Values vectors;
        for (int64_t i : llvm::seq(rowsPerThread))
          vectors.push_back(loadShared(shared.buffer, rowOf(index(0), i),
                                       shared.stride, first));
        Values left = unpack(b, loc, vectors);
        Values next(carried);
        for (int64_t k : llvm::seq(perVector)) {
          Values rows;
          for (Value column : columns)
            rows.push_back(loadShared(y.buffer, math.add(first, index(k)),
                                      y.width.stride, column));
          Values right = unpack(b, loc, rows);
          for (int64_t i : llvm::seq(rowsPerThread))
            for (int64_t j : llvm::seq(perRow)) {
              Value &sum = next[i * perRow + j];
              sum = math::FmaOp::create(b, loc, left[i * perVector + k],
                                        right[j], sum);
            }
        }
        return next;
      });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value AttentionEmitter::constant(double number) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, number));
}

Value AttentionEmitter::power(Value exponent) {
  if (!type.isF32())
    return math::ExpOp::create(b, loc, exponent);
  return powerOfTwo(
      create<arith::MulFOp>(exponent, constant(llvm::numbers::log2e)));
}

Value AttentionEmitter::isInside(Value position, unsigned loop, int64_t tile) {
  return hasRest(loop, tile) ? math.isBelow(position, deviceSize(loop))
                             : Value();
}

std::pair<Value, Value>
AttentionEmitter::toBounds(std::pair<OpFoldResult, OpFoldResult> range) {
  Value first = getValueOrCreateConstantIndexOp(b, loc, range.first);
  Value count = getValueOrCreateConstantIndexOp(b, loc, range.second);
  return {first, math.add(first, count)};
}

std::pair<Value, Value> AttentionEmitter::findKeys(Value firstQuery,
                                                   ScoreTile tile) {
  Value queries = math.min(index(tile.queries),
                           math.sub(deviceSize(plan.queryLoop), firstQuery));
  return toBounds(findKeyRange(b, loc, plan.visible, firstQuery, queries,
                               deviceSize(plan.dims.key), tile.keys));
}

std::pair<Value, Value> AttentionEmitter::findQueries(Value firstKey,
                                                      ScoreTile tile) {
  Value keys =
      math.min(index(tile.keys), math.sub(deviceSize(plan.dims.key), firstKey));
  return toBounds(findRowRange(b, loc, plan.visible, firstKey, keys,
                               deviceSize(plan.queryLoop), tile.queries));
}

Value AttentionEmitter::clamp(Value position, unsigned loop, int64_t tile) {
  return hasRest(loop, tile)
             ? math.min(position, math.sub(deviceSize(loop), index(1)))
             : position;
}

AttentionEmitter::Values AttentionEmitter::evaluate(Value score, Value query,
                                                    Value key, ValueRange more,
                                                    Replace replace) {
  IRMapping values(launch.map);
  position[plan.queryLoop] = query;
  position[plan.dims.key] = key;
  SmallVector<unsigned> loops = plan.dims.getScoreDims();
  unsigned next = 0;
  for (unsigned loop : loops)
    values.map(body.getArgument(next++), position[loop]);
  values.map(body.getArgument(next++), score);
  for (const Operand &operand : scoreOperands) {
    BlockArgument argument = body.getArgument(next++);
    if (argument.use_empty())
      continue;
    Value element = load(operand, offsetOf(operand), 1);
    if (operand.elementType.isInteger(1))
      element = arith::TruncIOp::create(b, loc, b.getI1Type(), element);
    values.map(argument, element);
  }
  for (Value value : more)
    values.map(body.getArgument(next++), value);
  position[plan.queryLoop] = position[plan.dims.key] = Value();
  if (isVisible)
    for (const PositionTest &test : plan.visible.tests)
      values.map(test.compare->getResult(0),
                 arith::ConstantOp::create(b, loc, b.getBoolAttr(test.holds)));
  for (Operation &inner : body.without_terminator()) {
    auto exp = dyn_cast<math::ExpOp>(inner);
    if (inner.getNumResults() == 1 && values.contains(inner.getResult(0)))
      continue;
    if (Value other = replace ? replace(inner, values) : Value())
      values.map(inner.getResult(0), other);
    else if (exp && exp.getType() == type)
      values.map(exp.getResult(),
                 power(values.lookupOrDefault(exp.getOperand())));
    else
      b.clone(inner, values);
  }
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return values.lookupOrDefault(value); });
}

AttentionEmitter::Values
AttentionEmitter::emitByPositions(Value firstQuery, Value firstKey,
                                  function_ref<Values()> emit) {
  Value areVisible = createIsVisible(b, loc, plan.visible, firstQuery,
                                     tile.queries, firstKey, tile.keys);
  if (!areVisible)
    return emit();
  auto emitBlock = [&](bool visible) {
    OpBuilder::InsertionGuard guard(b);
    Block *block = new Block;
    b.setInsertionPointToStart(block);
    isVisible = visible;
    scf::YieldOp::create(b, loc, emit());
    isVisible = false;
    return block;
  };
  Block *all = emitBlock(true), *some = emitBlock(false);
  auto branch = scf::IfOp::create(
      b, loc, all->getTerminator()->getOperandTypes(), areVisible,
      /*addThenBlock=*/false, /*addElseBlock=*/false);
  branch.getThenRegion().push_back(all);
  branch.getElseRegion().push_back(some);
  return llvm::to_vector_of<Value>(branch.getResults());
}

Value AttentionEmitter::reduceLanes(Value value,
                                    function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = layout.lanes / 2; distance > 0; distance /= 2)
    value = combine(value, createShuffle(b, loc, value, distance));
  return value;
}
