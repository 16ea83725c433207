//===- AttentionBackwardKernels.cpp - Gradients of attention --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores are recomputed by each kernel: blocks that own queries, keys, or
// scores, add up the gradients of what they own, so that nothing is added to
// memory by two blocks (Dao, FlashAttention-2, 2023, section 3).
//===----------------------------------------------------------------------===//

#include "AttentionKernels.h"

#include "AttentionEmitter.h"

#include "remat/Dialect/Remat/IR/LogSum.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

namespace {

/// Common to all kernels of the backward.
class BackwardKernel : protected AttentionEmitter {
protected:
  BackwardKernel(OpBuilder &host, AttentionBackwardOp op,
                 const AttentionPlan &plan, ScoreTile tile, bool traffic)
      : AttentionEmitter(host, op, plan, tile, getIndexedOperands(op),
                         op.getBody().front(), traffic),
        op(op) {}

  /// The adjoint of the body for a thread's scores: their cotangents, weights,
  /// and cotangents of the elements of one operand.
  struct Changes {
    Values scores, weights, elements;
  };

  /// Blocks own rows that `map`, the gradient's, depends on; they sum over the
  /// others in order.
  void begin(AffineMap map, ArrayRef<Part> owned, ArrayRef<MemRefType> memory);
  void addOperands();
  /// Lets memory be filled for the next of the rows that a block sums over.
  void emitEndOfRows() {
    if (tile.usesMatrices && !isOnce(shared))
      emitWait();
  }
  void addBuffers(ValueRange workgroup);
  /// With memory for so many tiles of queries, and of keys.
  SmallVector<MemRefType> getBuffers(int64_t ofQueries, int64_t ofKeys);
  Operand addGradient(unsigned number, bool isZero) {
    std::optional<int64_t> accessed;
    if (visits && number < 3)
      accessed = visits->own * (number == 2 ? plan.columns : plan.depth);
    return addOperand(
        {op.getInits()[number], op.getMap(op.getMapOfInit(number))},
        isZero ? Access::Write : Access::ReadWrite, accessed);
  }
  /// Which positions the rows of scores are; the others are columns.
  enum class Rows { Queries, Keys };
  /// Sums and deltas of a thread's queries, and where factors are rounded
  /// what makes probabilities of scores.
  struct RowNumbers {
    Values logSums, deltas;
    SmallVector<std::pair<Value, Value>> exponents;
  };
  /// By tensor cores those of columns come by way of workgroup memory, where
  /// `copyRowNumbers` copies them.
  RowNumbers loadRowNumbers(Rows rows, Value firstQuery);
  void copyRowNumbers(Value firstQuery);
  void loadCopiedNumbers(RowNumbers &numbers);
  /// Sums of a tile's queries, and deltas after them.
  Value getNumbersStart() { return math.mul(stage, index(2 * tile.queries)); }
  Tile tileOf(const Operand &operand, Value buffer, bool isQuery,
              bool isColumns) {
    return {operand,
            buffer,
            isQuery ? plan.queryLoop : plan.dims.key,
            isQuery ? tile.queries : tile.keys,
            isColumns ? ArrayRef(plan.dims.columns) : ArrayRef(plan.dims.depth),
            isColumns ? columns : depth,
            isQuery != ownsQueries()
                ? getStageStart(isQuery ? tile.queries : tile.keys)
                : Value()};
  }
  Tile queries() { return tileOf(*query, queryMemory, true, false); }
  Tile keys() { return tileOf(*key, keyMemory, false, false); }
  Tile values() { return tileOf(*value, valueMemory, false, true); }
  Tile cotangents() { return tileOf(*cotangent, cotangentMemory, true, true); }
  /// Loops over rows that `map` does not depend on, or those that it does.
  SmallVector<unsigned> findShared(AffineMap map, bool isShared) {
    return llvm::filter_to_vector(plan.outer, [&](unsigned loop) {
      return map.isFunctionOfDim(loop) != isShared;
    });
  }
  bool isOnce(ArrayRef<unsigned> loops) {
    return llvm::all_of(loops,
                        [&](unsigned loop) { return knownSize(loop) == 1; });
  }
  /// From tiles in workgroup memory; `operand` is a number among those that are
  /// differentiated. Beyond the last query or key, scores and weights are zero.
  Changes computeChanges(Rows rows, Value firstQuery, Value firstKey,
                         const RowNumbers &numbers,
                         std::optional<unsigned> operand = std::nullopt);

  AttentionBackwardOp op;
  SmallVector<unsigned> shared;
  /// If accesses are counted.
  std::optional<Visits> visits;
  std::optional<Operand> query, key, value, cotangent, logSum, delta;
  Value queryMemory, keyMemory, valueMemory, cotangentMemory, numberMemory;
};

class QueryGradientKernel : BackwardKernel {
public:
  QueryGradientKernel(OpBuilder &host, AttentionBackwardOp op,
                      const AttentionPlan &plan, bool traffic)
      : BackwardKernel(host, op, plan, plan.byQueries, traffic) {}
  void run(KernelTable<gpu::GPUFuncOp> &table, bool isZero);
};

class KeyGradientKernel : BackwardKernel {
public:
  KeyGradientKernel(OpBuilder &host, AttentionBackwardOp op,
                    const AttentionPlan &plan, bool traffic)
      : BackwardKernel(host, op, plan, plan.byKeys, traffic) {}
  void run(KernelTable<gpu::GPUFuncOp> &table, ArrayRef<bool> isZero);
};

/// The gradient of an operand of scores that queries and keys index.
class OperandGradientKernel : BackwardKernel {
public:
  OperandGradientKernel(OpBuilder &host, AttentionBackwardOp op,
                        const AttentionPlan &plan, bool traffic)
      : BackwardKernel(host, op, plan, plan.byScores, traffic) {}
  void run(KernelTable<gpu::GPUFuncOp> &table, unsigned number, bool isZero);
};

} // namespace

void BackwardKernel::begin(AffineMap map, ArrayRef<Part> owned,
                           ArrayRef<MemRefType> memory) {
  shared = findShared(map, true);
  AttentionEmitter::begin(findShared(map, false), owned, memory);
}

void BackwardKernel::addOperands() {
  visits = countVisits();
  int64_t times = 1;
  for (unsigned loop : shared) {
    if (!knownSize(loop))
      visits.reset();
    else
      times *= *knownSize(loop);
  }
  auto count = [&](bool isQuery, int64_t elements) -> std::optional<int64_t> {
    if (!visits)
      return std::nullopt;
    // Keys that a block owns stay.
    if (isQuery == ownsQueries())
      return visits->own * elements * (ownsQueries() ? times : 1);
    return visits->others * elements * times;
  };
  // Each thread of a query's row, or column, loads them, if they are not
  // copied.
  std::optional<int64_t> numbers;
  if (visits) {
    int64_t threads = ownsQueries()       ? layout.lanes
                      : tile.usesMatrices ? 1
                                          : kAttentionThreads / layout.lanes;
    numbers = (ownsQueries() ? visits->ownTiles : visits->otherTiles) *
              threads * times * tile.queries;
  }
  int64_t depth = plan.depth, columns = plan.columns;
  unsigned last = indexed.size() - 1;
  query = addOperand(indexed[0], Access::Read, count(true, depth));
  key = addOperand(indexed[1], Access::Read, count(false, depth));
  value = addOperand(indexed[2], Access::Read, count(false, columns));
  cotangent = addOperand(indexed[last - 1], Access::Read, count(true, columns));
  logSum = addOperand(indexed[last], Access::Read, numbers);
  delta = addOperand({op.getDelta(), indexed[last].map}, Access::Read, numbers);
  addScoreOperands();
}

SmallVector<MemRefType> BackwardKernel::getBuffers(int64_t ofQueries,
                                                   int64_t ofKeys) {
  int64_t queries = ofQueries * tile.queries, keys = ofKeys * tile.keys;
  return {getMemory(queries * depth.stride), getMemory(keys * depth.stride),
          getMemory(keys * columns.stride),
          getMemory(queries * columns.stride)};
}

void BackwardKernel::addBuffers(ValueRange workgroup) {
  queryMemory = workgroup[0];
  keyMemory = workgroup[1];
  valueMemory = workgroup[2];
  cotangentMemory = workgroup[3];
}

BackwardKernel::RowNumbers BackwardKernel::loadRowNumbers(Rows rows,
                                                          Value firstQuery) {
  bool isRow = rows == Rows::Queries;
  RowNumbers numbers;
  if (tile.usesMatrices && !isRow) {
    loadCopiedNumbers(numbers);
  } else {
    int64_t count = isRow ? layout.countRows(tile.queries)
                          : layout.countScores(tile.queries);
    for (int64_t i : llvm::seq(count)) {
      Value query = isRow ? rowOf(firstQuery, i) : columnOf(firstQuery, i);
      query = clamp(query, plan.queryLoop, tile.queries);
      numbers.logSums.push_back(loadOfRow(*logSum, query));
      numbers.deltas.push_back(loadOfRow(*delta, query));
    }
  }
  if (tile.usesMatrices)
    for (Value logSum : numbers.logSums)
      numbers.exponents.push_back(createExponent(b, loc, logSum));
  return numbers;
}

/// Beyond the last query, the numbers are the last one's.
void BackwardKernel::copyRowNumbers(Value firstQuery) {
  emitIf(math.isBelow(thread, index(tile.queries)), [&] {
    Value query =
        clamp(math.add(firstQuery, thread), plan.queryLoop, tile.queries);
    Value to = math.add(getNumbersStart(), thread);
    for (const Operand *operand : {&*logSum, &*delta}) {
      nvgpu::DeviceAsyncCopyOp::create(
          b, loc, nvgpu::DeviceAsyncTokenType::get(b.getContext()),
          numberMemory, to, operand->memory, offsetOfRow(*operand, query),
          b.getIndexAttr(1), /*srcElements=*/Value(), /*bypassL1=*/UnitAttr());
      to = math.add(to, index(tile.queries));
    }
  });
}

void BackwardKernel::loadCopiedNumbers(RowNumbers &numbers) {
  auto loadPair = [&](int64_t column, int64_t offset, Values &to) {
    Value at = math.add(getNumbersStart(), columnOf(index(offset), column));
    Value pair = vector::LoadOp::create(
        b, loc, VectorType::get({layout.perScore}, type), numberMemory, at);
    for (int64_t i : llvm::seq(layout.perScore))
      to.push_back(vector::ExtractOp::create(b, loc, pair, i));
  };
  for (int64_t i = 0; i < layout.countScores(tile.queries);
       i += layout.perScore) {
    loadPair(i, 0, numbers.logSums);
    loadPair(i, tile.queries, numbers.deltas);
  }
}

BackwardKernel::Changes
BackwardKernel::computeChanges(Rows rows, Value firstQuery, Value firstKey,
                               const RowNumbers &numbers,
                               std::optional<unsigned> operand) {
  bool areQueries = rows == Rows::Queries;
  Values scores =
      areQueries ? multiply(queries(), keys()) : multiply(keys(), queries());
  Values products = areQueries ? multiply(cotangents(), values())
                               : multiply(values(), cotangents());
  Operation *probability = tile.usesMatrices ? findProbability(op) : nullptr;
  Value modifiedScore = findModifiedScore(op);
  Value zero = constant(0.0);
  int64_t perRow = layout.countScores(areQueries ? tile.keys : tile.queries);
  Values all = emitByPositions(firstQuery, firstKey, [&] {
    Changes changes;
    for (auto [number, score] : llvm::enumerate(scores)) {
      int64_t row = number / perRow, column = number % perRow;
      Value query = areQueries ? rowOf(firstQuery, row)
                               : columnOf(firstQuery, column),
            key =
                areQueries ? columnOf(firstKey, column) : rowOf(firstKey, row);
      int64_t mine = areQueries ? row : column;
      Value isThere = isInside(query, plan.queryLoop, tile.queries);
      if (Value isKey = isInside(key, plan.dims.key, tile.keys))
        isThere = isThere ? create<arith::AndIOp>(isThere, isKey) : isKey;
      auto replace = [&](Operation &inner, const IRMapping &values) -> Value {
        if (&inner != probability)
          return {};
        auto [factor, offset] = numbers.exponents[mine];
        return powerOfTwo(math::FmaOp::create(
            b, loc, values.lookupOrDefault(modifiedScore), factor, offset));
      };
      Values yielded = evaluate(
          score, clamp(query, plan.queryLoop, tile.queries),
          clamp(key, plan.dims.key, tile.keys),
          {numbers.logSums[mine], numbers.deltas[mine], products[number]},
          replace);
      if (isThere)
        for (Value &change : MutableArrayRef(yielded).take_front(2))
          change = arith::SelectOp::create(b, loc, isThere, change, zero);
      changes.scores.push_back(yielded[0]);
      changes.weights.push_back(yielded[1]);
      if (operand)
        changes.elements.push_back(convert(yielded[2 + *operand], type));
    }
    return llvm::to_vector(
        llvm::concat<Value>(changes.scores, changes.weights, changes.elements));
  });
  ValueRange values(all);
  size_t count = scores.size();
  return {Values(values.take_front(count)), Values(values.slice(count, count)),
          Values(values.drop_front(2 * count))};
}

/// A block owns queries: it reads tiles of keys.
void QueryGradientKernel::run(KernelTable<gpu::GPUFuncOp> &table, bool isZero) {
  SmallVector<MemRefType> memory = getBuffers(1, tile.getStages());
  ScoreBuffer changes;
  changes.stride = getScoreStride(tile.keys, perVector);
  if (!tile.usesMatrices)
    memory.push_back(getMemory(tile.queries * changes.stride));
  begin(op.getMap(0), {{plan.queryLoop, tile.queries}}, memory);
  addOperands();
  Operand gradient = addGradient(0, isZero);
  Values workgroup = beginCode();
  addBuffers(workgroup);
  if (!tile.usesMatrices)
    changes.buffer = workgroup[4];

  bool isSingle = isOnce(shared) && isOneTile(plan.dims.key, tile.keys);
  RowNumbers numbers;
  auto load = [&](Value firstKey) {
    loadTile(keys(), firstKey);
    loadTile(values(), firstKey);
  };
  auto emitTile = [&](Value firstKey, ValueRange sums) {
    Values scores =
        computeChanges(Rows::Queries, firstOfPart[0], firstKey, numbers).scores;
    share(changes, scores);
    emitShared();
    return accumulate(changes, scores, tile.keys, keys(), sums);
  };
  Values sums =
      emitInOrder(shared, zeros(tile.queries, depth), [&](ValueRange carried) {
        loadTile(queries(), firstOfPart[0]);
        loadTile(cotangents(), firstOfPart[0]);
        numbers = loadRowNumbers(Rows::Queries, firstOfPart[0]);
        auto [from, to] = findKeys(firstOfPart[0], tile);
        Values next =
            emitTiles(from, to, tile.keys, isSingle, carried, load, emitTile);
        emitEndOfRows();
        return next;
      });
  storeSums(tileOf(gradient, {}, true, false), firstOfPart[0], sums,
            isZero ? Initial::Zero : Initial::Memory);
  finish(table, "attention_backward_queries", sums.size());
}

/// A block owns keys and values: it reads tiles of the queries that see them,
/// one set of rows after the other.
void KeyGradientKernel::run(KernelTable<gpu::GPUFuncOp> &table,
                            ArrayRef<bool> isZero) {
  SmallVector<MemRefType> memory = getBuffers(tile.getStages(), 1);
  // A row for each key.
  ScoreBuffer changes, weights;
  changes.stride = weights.stride = getScoreStride(tile.queries, perVector);
  if (tile.usesMatrices)
    memory.push_back(getMemory(tile.getStages() * 2 * tile.queries, type));
  else
    memory.append(2, getMemory(tile.keys * changes.stride));
  begin(op.getMap(1), {{plan.dims.key, tile.keys}}, memory);
  addOperands();
  Operand ofKeys = addGradient(1, isZero[0]),
          ofValues = addGradient(2, isZero[1]);
  Values workgroup = beginCode();
  addBuffers(workgroup);
  if (tile.usesMatrices) {
    numberMemory = workgroup[4];
  } else {
    changes.buffer = workgroup[4];
    weights.buffer = workgroup[5];
  }

  bool isSingle = isOnce(shared) && isOneTile(plan.queryLoop, tile.queries);
  Values sums = zeros(tile.keys, depth);
  size_t numKeySums = sums.size();
  llvm::append_range(sums, zeros(tile.keys, columns));
  auto load = [&](Value firstQuery) {
    loadTile(queries(), firstQuery);
    loadTile(cotangents(), firstQuery);
    if (tile.usesMatrices)
      copyRowNumbers(firstQuery);
  };
  auto emitTile = [&](Value firstQuery, ValueRange sums) {
    Changes computed = computeChanges(Rows::Keys, firstQuery, firstOfPart[0],
                                      loadRowNumbers(Rows::Keys, firstQuery));
    share(changes, computed.scores);
    share(weights, computed.weights);
    emitShared();
    Values next = accumulate(changes, computed.scores, tile.queries, queries(),
                             sums.take_front(numKeySums));
    llvm::append_range(next,
                       accumulate(weights, computed.weights, tile.queries,
                                  cotangents(), sums.drop_front(numKeySums)));
    return next;
  };
  loadTile(keys(), firstOfPart[0]);
  loadTile(values(), firstOfPart[0]);
  sums = emitInOrder(shared, sums, [&](ValueRange carried) {
    auto [from, to] = findQueries(firstOfPart[0], tile);
    Values next =
        emitTiles(from, to, tile.queries, isSingle, carried, load, emitTile);
    emitEndOfRows();
    return next;
  });
  ValueRange all(sums);
  storeSums(tileOf(ofKeys, {}, false, false), firstOfPart[0],
            all.take_front(numKeySums),
            isZero[0] ? Initial::Zero : Initial::Memory);
  storeSums(tileOf(ofValues, {}, false, true), firstOfPart[0],
            all.drop_front(numKeySums),
            isZero[1] ? Initial::Zero : Initial::Memory);
  finish(table, "attention_backward_keys", sums.size());
}

/// A block owns a tile of scores: it adds up their cotangents over the rows
/// that share elements of the operand.
void OperandGradientKernel::run(KernelTable<gpu::GPUFuncOp> &table,
                                unsigned number, bool isZero) {
  begin(op.getMap(op.getMapOfInit(3 + number)),
        {{plan.queryLoop, tile.queries}, {plan.dims.key, tile.keys}},
        getBuffers(1, 1));
  addOperands();
  Operand gradient = addGradient(3 + number, isZero);
  addBuffers(beginCode());

  int64_t rows = layout.countRows(tile.queries),
          perRow = layout.countScores(tile.keys);
  Values sums = emitInOrder(
      shared, Values(rows * perRow, constant(0.0)), [&](ValueRange carried) {
        loadTile(queries(), firstOfPart[0]);
        loadTile(cotangents(), firstOfPart[0]);
        loadTile(keys(), firstOfPart[1]);
        loadTile(values(), firstOfPart[1]);
        emitBarrier();
        Values next(carried);
        Changes changes = computeChanges(
            Rows::Queries, firstOfPart[0], firstOfPart[1],
            loadRowNumbers(Rows::Queries, firstOfPart[0]), number);
        for (auto [sum, change] : llvm::zip_equal(next, changes.elements))
          sum = create<arith::AddFOp>(sum, change);
        if (!isOnce(shared))
          emitBarrier();
        return next;
      });
  for (int64_t i : llvm::seq(rows)) {
    Value query = rowOf(firstOfPart[0], i);
    emitIf(isInside(query, plan.queryLoop, tile.queries), [&] {
      for (int64_t j : llvm::seq(perRow)) {
        Value key = columnOf(firstOfPart[1], j);
        emitIf(isInside(key, plan.dims.key, tile.keys), [&] {
          position[plan.queryLoop] = query;
          position[plan.dims.key] = key;
          Value offset = offsetOf(gradient);
          Value old =
              isZero ? constant(0.0) : convert(load(gradient, offset, 1), type);
          store(gradient, offset,
                create<arith::AddFOp>(old, sums[i * perRow + j]));
        });
      }
    });
  }
  finish(table, "attention_backward_operand", sums.size());
}

void mlir::remat::launchAttentionBackward(OpBuilder &builder,
                                          KernelTable<gpu::GPUFuncOp> &table,
                                          AttentionBackwardOp op,
                                          const AttentionPlan &plan,
                                          ArrayRef<bool> isZero, bool traffic) {
  KeyGradientKernel(builder, op, plan, traffic).run(table, isZero.slice(1, 2));
  QueryGradientKernel(builder, op, plan, traffic).run(table, isZero.front());
  for (unsigned number : llvm::seq<unsigned>(op.getDifferentiated().size()))
    OperandGradientKernel(builder, op, plan, traffic)
        .run(table, number, isZero[3 + number]);
}
