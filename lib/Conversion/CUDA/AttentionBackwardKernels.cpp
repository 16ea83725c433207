//===- AttentionBackwardKernels.cpp - Gradients of attention --------------===//
//
// Scores are computed again by each kernel: blocks that own queries, keys, or
// scores, add up the gradients of what they own, so that nothing is added to
// memory by two blocks (Dao, FlashAttention-2, 2023, section 3).
//
//===----------------------------------------------------------------------===//

#include "AttentionKernels.h"

#include "AttentionEmitter.h"

using namespace mlir;
using namespace mlir::remat;

namespace {

/// Common to all kernels of the backward.
class BackwardKernel : protected AttentionEmitter {
protected:
  BackwardKernel(OpBuilder &host, AttentionBackwardOp op,
                 const AttentionPlan &plan, ScoreTile tile, bool traffic)
      : AttentionEmitter(host, op, plan, getIndexedOperands(op),
                         op.getBody().front(), op.getSumType(), traffic),
        op(op), tile(tile) {}

  /// What the body yields for a thread's scores: their cotangents, weights,
  /// and cotangents of the elements of one operand.
  struct Changes {
    Values scores, weights, elements;
  };

  /// Blocks own rows that `map`, the gradient's, depends on; they sum over the
  /// others in order.
  void begin(AffineMap map, ArrayRef<Part> owned, ArrayRef<Type> memory);
  void addOperands(bool ownsQueries);
  void addBuffers(ValueRange workgroup);
  SmallVector<Type> getBuffers();
  Operand addGradient(unsigned number, bool isZero) {
    std::optional<int64_t> accessed;
    if (visits && number < 3)
      accessed =
          visits->own * (number == 2 ? plan.columns : plan.depth).elements;
    return addOperand(
        {op.getInits()[number], op.getMap(op.getMapOfInit(number))},
        isZero ? Access::Write : Access::ReadWrite, accessed);
  }
  /// Sums and deltas of a thread's queries.
  struct RowNumbers {
    Values logSums, deltas;
  };
  RowNumbers loadRowNumbers(Value firstQuery);
  Tile tileOf(const Operand &operand, Value buffer, bool isQuery,
              bool isColumns) {
    return {operand,
            buffer,
            isQuery ? plan.queryLoop : plan.dims.key,
            isQuery ? tile.queries : tile.keys,
            isColumns ? ArrayRef(plan.dims.columns) : ArrayRef(plan.dims.depth),
            isColumns ? plan.columns : plan.depth};
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
  Changes computeChanges(Value firstQuery, Value firstKey,
                         const RowNumbers &numbers,
                         std::optional<unsigned> operand = std::nullopt);

  AttentionBackwardOp op;
  ScoreTile tile;
  SmallVector<unsigned> shared;
  /// If accesses are counted.
  std::optional<Visits> visits;
  std::optional<Operand> query, key, value, cotangent, logSum, delta;
  Value queryMemory, keyMemory, valueMemory, cotangentMemory;
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
      : BackwardKernel(host, op, plan, plan.byQueries, traffic) {}
  void run(KernelTable<gpu::GPUFuncOp> &table, unsigned number, bool isZero);
};

} // namespace

void BackwardKernel::begin(AffineMap map, ArrayRef<Part> owned,
                           ArrayRef<Type> memory) {
  shared = findShared(map, true);
  AttentionEmitter::begin(findShared(map, false), owned, memory);
}

void BackwardKernel::addOperands(bool ownsQueries) {
  visits = countVisits(ownsQueries, tile);
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
    if (isQuery == ownsQueries)
      return visits->own * elements * (ownsQueries ? times : 1);
    return visits->others * elements * times;
  };
  // Each thread of a row loads them.
  std::optional<int64_t> numbers;
  if (visits)
    numbers = (ownsQueries ? visits->ownTiles : visits->otherTiles) * times *
              tile.queries * kLanes;
  int64_t depth = plan.depth.elements, columns = plan.columns.elements;
  unsigned last = indexed.size() - 1;
  query = addOperand(indexed[0], Access::Read, count(true, depth));
  key = addOperand(indexed[1], Access::Read, count(false, depth));
  value = addOperand(indexed[2], Access::Read, count(false, columns));
  cotangent = addOperand(indexed[last - 1], Access::Read, count(true, columns));
  logSum = addOperand(indexed[last], Access::Read, numbers);
  delta = addOperand({op.getDelta(), indexed[last].map}, Access::Read, numbers);
  addScoreOperands();
}

SmallVector<Type> BackwardKernel::getBuffers() {
  return {getMemory(tile.queries * plan.depth.stride),
          getMemory(tile.keys * plan.depth.stride),
          getMemory(tile.keys * plan.columns.stride),
          getMemory(tile.queries * plan.columns.stride)};
}

void BackwardKernel::addBuffers(ValueRange workgroup) {
  queryMemory = workgroup[0];
  keyMemory = workgroup[1];
  valueMemory = workgroup[2];
  cotangentMemory = workgroup[3];
}

BackwardKernel::RowNumbers BackwardKernel::loadRowNumbers(Value firstQuery) {
  RowNumbers numbers;
  for (int64_t i : llvm::seq(tile.rowsPerThread())) {
    Value row = clamp(queryOf(firstQuery, i), plan.queryLoop, tile.queries);
    numbers.logSums.push_back(loadOfRow(*logSum, row));
    numbers.deltas.push_back(loadOfRow(*delta, row));
  }
  return numbers;
}

BackwardKernel::Changes
BackwardKernel::computeChanges(Value firstQuery, Value firstKey,
                               const RowNumbers &numbers,
                               std::optional<unsigned> operand) {
  Values scores = multiply(queries(), keys());
  Values products = multiply(cotangents(), values());
  Changes changes;
  Value zero = constant(0.0);
  int64_t columns = tile.keysPerThread();
  for (int64_t i : llvm::seq(tile.rowsPerThread())) {
    Value position = queryOf(firstQuery, i);
    Value row = clamp(position, plan.queryLoop, tile.queries);
    Value isRow = isInside(position, plan.queryLoop, tile.queries);
    for (int64_t j : llvm::seq(columns)) {
      Value keyPosition = keyOf(firstKey, j);
      Value isThere = isInside(keyPosition, plan.dims.key, tile.keys);
      if (isRow)
        isThere = isThere ? create<arith::AndIOp>(isRow, isThere) : isRow;
      Values yielded = evaluate(
          scores[i * columns + j], row,
          clamp(keyPosition, plan.dims.key, tile.keys),
          {numbers.logSums[i], numbers.deltas[i], products[i * columns + j]});
      if (isThere)
        for (Value &number : MutableArrayRef(yielded).take_front(2))
          number = arith::SelectOp::create(b, loc, isThere, number, zero);
      changes.scores.push_back(yielded[0]);
      changes.weights.push_back(yielded[1]);
      if (operand)
        changes.elements.push_back(convert(yielded[2 + *operand], type));
    }
  }
  return changes;
}

/// A block owns queries: it reads tiles of keys.
void QueryGradientKernel::run(KernelTable<gpu::GPUFuncOp> &table, bool isZero) {
  SmallVector<Type> memory = getBuffers();
  ScoreBuffer changes;
  changes.stride = getScoreStride(tile.keys, plan.perVector);
  memory.push_back(getMemory(tile.queries * changes.stride));
  begin(op.getMap(0), {{plan.queryLoop, tile.queries}}, memory);
  addOperands(/*ownsQueries=*/true);
  Operand gradient = addGradient(0, isZero);
  ValueRange workgroup = beginCode();
  addBuffers(workgroup);
  changes.buffer = workgroup[4];

  int64_t rows = tile.rowsPerThread(), columns = tile.keysPerThread();
  bool isSingle = isOnce(shared) && isOneTile(plan.dims.key, tile.keys);
  RowNumbers numbers;
  auto emitTile = [&](Value firstKey, ValueRange sums) {
    loadTile(keys(), firstKey);
    loadTile(values(), firstKey);
    emitBarrier();
    Values scores = computeChanges(firstOfPart[0], firstKey, numbers).scores;
    for (int64_t i : llvm::seq(rows))
      for (int64_t j : llvm::seq(columns))
        storeScore(changes, at(index(0), slot, i * kSlots),
                   at(index(0), lane, j * kLanes), scores[i * columns + j]);
    emitBarrier();
    Values next = accumulate(changes, tile.keys, keys(), sums, rows);
    if (!isSingle)
      emitBarrier();
    return next;
  };
  Values sums =
      emitInOrder(shared, zeros(rows, plan.depth), [&](ValueRange carried) {
        loadTile(queries(), firstOfPart[0]);
        loadTile(cotangents(), firstOfPart[0]);
        numbers = loadRowNumbers(firstOfPart[0]);
        auto [from, to] = findKeys(firstOfPart[0], tile);
        return emitFor(from, to, tile.keys, carried, emitTile);
      });
  storeSums(tileOf(gradient, {}, true, false), firstOfPart[0], sums,
            isZero ? Initial::Zero : Initial::Memory);
  finish(table, "attention_backward_queries");
}

/// A block owns keys and values: it reads tiles of the queries that see them,
/// one set of rows after the other.
void KeyGradientKernel::run(KernelTable<gpu::GPUFuncOp> &table,
                            ArrayRef<bool> isZero) {
  SmallVector<Type> memory = getBuffers();
  // Transposed: a row for each key.
  ScoreBuffer changes, weights;
  changes.stride = weights.stride =
      getScoreStride(tile.queries, plan.perVector);
  memory.append(2, getMemory(tile.keys * changes.stride));
  begin(op.getMap(1), {{plan.dims.key, tile.keys}}, memory);
  addOperands(/*ownsQueries=*/false);
  Operand ofKeys = addGradient(1, isZero[0]),
          ofValues = addGradient(2, isZero[1]);
  ValueRange workgroup = beginCode();
  addBuffers(workgroup);
  changes.buffer = workgroup[4];
  weights.buffer = workgroup[5];

  int64_t rows = tile.rowsPerThread(), columns = tile.keysPerThread(),
          owned = tile.keys / kSlots;
  bool isSingle = isOnce(shared) && isOneTile(plan.queryLoop, tile.queries);
  int64_t numKeySums = owned * sumsPerRow(plan.depth);
  auto emitTile = [&](Value firstQuery, ValueRange sums) {
    loadTile(queries(), firstQuery);
    loadTile(cotangents(), firstQuery);
    emitBarrier();
    Changes computed =
        computeChanges(firstQuery, firstOfPart[0], loadRowNumbers(firstQuery));
    for (int64_t i : llvm::seq(rows))
      for (int64_t j : llvm::seq(columns)) {
        Value row = at(index(0), lane, j * kLanes),
              column = at(index(0), slot, i * kSlots);
        storeScore(changes, row, column, computed.scores[i * columns + j]);
        storeScore(weights, row, column, computed.weights[i * columns + j]);
      }
    emitBarrier();
    Values next = accumulate(changes, tile.queries, queries(),
                             sums.take_front(numKeySums), owned);
    llvm::append_range(next, accumulate(weights, tile.queries, cotangents(),
                                        sums.drop_front(numKeySums), owned));
    if (!isSingle)
      emitBarrier();
    return next;
  };
  loadTile(keys(), firstOfPart[0]);
  loadTile(values(), firstOfPart[0]);
  Values sums = zeros(owned, plan.depth);
  llvm::append_range(sums, zeros(owned, plan.columns));
  sums = emitInOrder(shared, sums, [&](ValueRange carried) {
    auto [from, to] = findQueries(firstOfPart[0], tile);
    return emitFor(from, to, tile.queries, carried, emitTile);
  });
  ValueRange all(sums);
  storeSums(tileOf(ofKeys, {}, false, false), firstOfPart[0],
            all.take_front(numKeySums),
            isZero[0] ? Initial::Zero : Initial::Memory);
  storeSums(tileOf(ofValues, {}, false, true), firstOfPart[0],
            all.drop_front(numKeySums),
            isZero[1] ? Initial::Zero : Initial::Memory);
  finish(table, "attention_backward_keys");
}

/// A block owns a tile of scores: it adds up their cotangents over the rows
/// that share elements of the operand.
void OperandGradientKernel::run(KernelTable<gpu::GPUFuncOp> &table,
                                unsigned number, bool isZero) {
  begin(op.getMap(op.getMapOfInit(3 + number)),
        {{plan.queryLoop, tile.queries}, {plan.dims.key, tile.keys}},
        getBuffers());
  addOperands(/*ownsQueries=*/true);
  Operand gradient = addGradient(3 + number, isZero);
  addBuffers(beginCode());

  int64_t rows = tile.rowsPerThread(), columns = tile.keysPerThread();
  Values sums = emitInOrder(
      shared, Values(rows * columns, constant(0.0)), [&](ValueRange carried) {
        loadTile(queries(), firstOfPart[0]);
        loadTile(cotangents(), firstOfPart[0]);
        loadTile(keys(), firstOfPart[1]);
        loadTile(values(), firstOfPart[1]);
        emitBarrier();
        Values next(carried);
        Changes changes =
            computeChanges(firstOfPart[0], firstOfPart[1],
                           loadRowNumbers(firstOfPart[0]), number);
        for (auto [sum, change] : llvm::zip_equal(next, changes.elements))
          sum = create<arith::AddFOp>(sum, change);
        if (!isOnce(shared))
          emitBarrier();
        return next;
      });
  for (int64_t i : llvm::seq(rows)) {
    Value query = queryOf(firstOfPart[0], i);
    emitIf(isInside(query, plan.queryLoop, tile.queries), [&] {
      for (int64_t j : llvm::seq(columns)) {
        Value key = keyOf(firstOfPart[1], j);
        emitIf(isInside(key, plan.dims.key, tile.keys), [&] {
          position[plan.queryLoop] = query;
          position[plan.dims.key] = key;
          Value offset = offsetOf(gradient);
          Value old =
              isZero ? constant(0.0) : convert(load(gradient, offset, 1), type);
          store(gradient, offset,
                create<arith::AddFOp>(old, sums[i * columns + j]));
        });
      }
    });
  }
  finish(table, "attention_backward_operand");
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
