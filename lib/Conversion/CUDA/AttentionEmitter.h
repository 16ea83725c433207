//===- AttentionEmitter.h - Steps of attention's kernels --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of operands come to workgroup memory, threads multiply them into
// registers, and the attention's body is inlined for each score.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_ATTENTIONEMITTER_H
#define REMAT_LIB_CONVERSION_CUDA_ATTENTIONEMITTER_H

#include "../KernelTable.h"
#include "AttentionPlan.h"
#include "IndexMath.h"
#include "KernelLaunch.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::remat {

class AttentionEmitter {
public:
  using Values = SmallVector<Value>;
  using Access = KernelLaunch::Access;

  /// `operands`, of which the first three are queries, keys and values, are
  /// `op`'s with maps; `body` computes scores, of which blocks have `tile`.
  AttentionEmitter(OpBuilder &host, Operation *op, const AttentionPlan &plan,
                   ScoreTile tile, ArrayRef<Indexed> operands, Block &body,
                   bool countsTraffic);

protected:
  /// Memory that loops of the attention index.
  struct Operand {
    Value memory;
    /// Booleans are bytes in memory.
    Type elementType;
    /// By loop, null where it does not index the operand.
    Values strides;
    SmallVector<std::optional<int64_t>> knownStrides;
    /// From the start of its buffer, if known.
    std::optional<int64_t> offset;
  };
  /// A number of rows of an operand, at the block's position in other loops.
  struct Tile {
    const Operand &operand;
    Value buffer;
    unsigned rowLoop;
    int64_t rows;
    ArrayRef<unsigned> loops;
    TileWidth width;
    /// The row of the buffer that is the first; null for 0.
    Value start;
  };
  /// Scores, or a part of them, that threads exchange.
  struct ScoreBuffer {
    Value buffer;
    int64_t stride;
  };
  /// The values that are added to sums before they are stored.
  enum class Initial { None, Zero, Memory };
  using EmitLoop = function_ref<Values(Value iteration, ValueRange carried)>;

  //===--------------------------------------------------------------------===//
  // Arguments and the grid
  //===--------------------------------------------------------------------===//

  /// A number of iterations of a loop, which a block owns.
  struct Part {
    unsigned loop;
    int64_t size;
  };
  /// Blocks own an iteration of each of `loops`, and the parts.
  void begin(ArrayRef<unsigned> loops, ArrayRef<Part> parts,
             ArrayRef<MemRefType> workgroupTypes);
  /// Returns true if blocks own queries and iterate over keys, not vice versa.
  bool ownsQueries() const { return parts.front().loop == plan.queryLoop; }
  /// A buffer in workgroup memory; without a type, as tiles are there.
  MemRefType getMemory(int64_t elements, Type elementType = {}) const;
  /// Iterations of loops, over all blocks: a block's own queries, or keys, and
  /// for each of its tiles the others, with rests of tiles as they are.
  struct Visits {
    int64_t own = 0, ownTiles = 0, others = 0, otherTiles = 0;
  };
  /// None if sizes are not known, or scores read memory.
  std::optional<Visits> countVisits();
  /// `accessed` is how many elements all threads load, or store.
  Operand addOperand(Indexed indexed, Access access,
                     std::optional<int64_t> accessed = std::nullopt);
  /// Those of scores, and what the body reads from around.
  void addScoreOperands();
  /// Ends the arguments; finds the block's position. Returns the workgroup
  /// memory.
  Values beginCode();
  /// `sums` are those that a thread keeps.
  void finish(KernelTable<gpu::GPUFuncOp> &table, StringRef name, size_t sums);

  std::optional<int64_t> knownSize(unsigned loop) const {
    return getConstantIntValue(sizes[loop]);
  }
  Value deviceSize(unsigned loop) { return launch.addNumber(sizes[loop]); }
  /// Returns true if tiles of `rows` iterations have a rest.
  bool hasRest(unsigned loop, int64_t rows) const {
    std::optional<int64_t> size = knownSize(loop);
    return !size || *size % rows != 0;
  }
  bool isOneTile(unsigned loop, int64_t rows) const {
    std::optional<int64_t> size = knownSize(loop);
    return size && *size <= rows;
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  Values emitFor(Value from, Value to, int64_t step, ValueRange carried,
                 EmitLoop emitBody);
  /// A loop over tiles, from `from` to `to`, of what `load` copies to workgroup
  /// memory. With tensor cores the next tile comes while the body uses one:
  /// both have memory, at the rows that `getStageStart` says. The next loads
  /// need a barrier, which a loop of one tile at most (`isSingle`) has no use
  /// for.
  Values emitTiles(Value from, Value to, int64_t step, bool isSingle,
                   ValueRange carried, function_ref<void(Value first)> load,
                   EmitLoop emitBody);
  Value getStageStart(int64_t rows) {
    return stage ? math.mul(stage, index(rows)) : Value();
  }
  /// The loops in order, the position of which the steps below see.
  Values emitInOrder(ArrayRef<unsigned> loops, ValueRange carried,
                     function_ref<Values(ValueRange)> emitBody);
  /// Without a condition, always.
  void emitIf(Value condition, function_ref<void()> emitThen);
  Value emitOrZero(Value condition, Type type, function_ref<Value()> emitThen);
  /// e^x. Of f32 the processor's power of two: sums have an order of their own,
  /// so that these bits need not be those of other kernels either.
  Value power(Value exponent);
  Value powerOfTwo(Value exponent) {
    return math::Exp2Op::create(b, loc, exponent, arith::FastMathFlags::afn);
  }
  /// Of scores, of which the order of -0 and +0 says nothing.
  Value larger(Value x, Value y) {
    return arith::MaximumFOp::create(b, loc, x, y, arith::FastMathFlags::nsz);
  }
  void emitBarrier() { gpu::BarrierOp::create(b, loc); }
  /// Behind `share`.
  void emitShared() {
    if (!tile.usesMatrices)
      emitBarrier();
  }

  /// Where the buffer of a tile has the element.
  Value findInBuffer(const Tile &tile, Value row, Value column);
  /// Copies the rows from `first` on to workgroup memory, converted to the type
  /// there; rows and columns beyond the last are filled with zero. Where
  /// vectors need no conversion the copies are asynchronous: `emitWait` before
  /// others.
  void loadTile(const Tile &tile, Value first);
  /// Waits for copies, the thread's own and then all of them.
  void emitWait();
  /// Products of each row of `x` that is the thread's with each of its rows of
  /// `y`: row by row. By tensor cores, or in the order of their elements.
  Values multiply(const Tile &x, const Tile &y);
  /// Lets the threads of a row have all its scores, of which each thread has
  /// computed `scores`. Tensor cores take them from the
  /// thread that has them.
  void share(ScoreBuffer buffer, ValueRange scores);
  /// Adds the products of `scores`, rows of `count` elements, with the rows of
  /// `y` to `sums`: of those that were shared, or of the thread's own.
  Values accumulate(ScoreBuffer shared, ValueRange scores, int64_t count,
                    const Tile &y, ValueRange sums);
  Values zeros(int64_t rows, TileWidth width) {
    return Values(layout.countRows(rows) * layout.countSums(width.padded),
                  constant(0.0));
  }

  /// The thread's rows of a tile from `first` on, and its columns of scores.
  Value rowOf(Value first, int64_t number) {
    return at(first, slot, number * layout.rowStep);
  }
  Value columnOf(Value first, int64_t number) {
    return at(first, firstColumn, layout.getColumn(number));
  }
  /// A position that does not exist is the last one.
  Value clamp(Value position, unsigned loop, int64_t tile);
  /// Null if each tile is full.
  Value isInside(Value position, unsigned loop, int64_t tile);
  /// Returns the value for the result of an operation of the body, of which the
  /// values before it are mapped; null if the operation is to be cloned.
  using Replace = function_ref<Value(Operation &inner, const IRMapping &)>;
  /// Returns the values yielded for a score; `more` are the last arguments.
  Values evaluate(Value score, Value query, Value key, ValueRange more,
                  Replace replace = nullptr);
  /// `emit`, which evaluates the scores of a tile. Where positions mask none of
  /// them, what it emits compares none.
  Values emitByPositions(Value firstQuery, Value firstKey,
                         function_ref<Values()> emit);
  /// Of the block's position.
  Value offsetOf(const Operand &operand);
  /// An element, or a vector.
  Value load(const Operand &operand, Value offset, int64_t count);
  void store(const Operand &operand, Value offset, Value value);
  Value convert(Value value, Type elementType);
  Value offsetOfRow(const Operand &operand, Value query);
  /// A number of each row.
  Value loadOfRow(const Operand &operand, Value query);
  void storeOfRow(const Operand &operand, Value query, Value value);
  /// The first key of the first tile that some of a tile's queries see, and
  /// where the last one ends.
  std::pair<Value, Value> findKeys(Value firstQuery, ScoreTile tile);
  std::pair<Value, Value> findQueries(Value firstKey, ScoreTile tile);
  /// Combines what the threads of a row have.
  Value reduceLanes(Value value, function_ref<Value(Value, Value)> combine);

  /// Writes the thread's sums to its rows from `first` on.
  void storeSums(const Tile &to, Value first, ValueRange sums,
                 Initial initial = Initial::None);

  Value constant(double number);
  Value index(int64_t number) { return math.index(number); }
  Value at(Value first, Value mine, int64_t offset) {
    return math.add(first, math.add(mine, index(offset)));
  }
  template <typename Op> Value create(Value x, Value y) {
    return Op::create(b, loc, x, y);
  }

  OpBuilder &host;
  Operation *op;
  Location loc;
  const AttentionPlan &plan;
  ScoreTile tile;
  ThreadLayout layout;
  TileWidth depth, columns;
  /// Elements of `kVectorBytes` in workgroup memory.
  int64_t perVector;
  SmallVector<Indexed> indexed;
  Block &body;
  /// Of sums, and of tiles in workgroup memory.
  FloatType type, storedType;
  bool countsTraffic;
  KernelLaunch launch;
  SmallVector<OpFoldResult> sizes;
  SmallVector<unsigned> gridLoops;
  SmallVector<Part> parts;
  SmallVector<MemRefType> workgroupTypes;
  int64_t workgroupBytes = 0;
  OpFoldResult blocks;

  // In the kernel.
  OpBuilder &b = launch.device;
  IndexMath math{b, loc};
  Value thread, slot, lane;
  /// Of scores, of a thread's lane.
  Value firstColumn;
  /// The first iteration of each part.
  Values firstOfPart;
  /// Of the loops that do not run in tiles.
  Values position;
  SmallVector<Operand> scoreOperands;
  /// True if positions mask none of the tile.
  bool isVisible = false;
  /// The part of tiles' memory that is filled, or read, in turns; null if there
  /// is but one.
  Value stage;

private:
  std::optional<Traffic> countTraffic(const Operand &operand,
                                      std::optional<int64_t> accessed) const;
  bool readsMemoryInScores();
  Values createBuffers();
  void findPosition(ValueRange box);
  /// `offset` moved along `loops` by `column`, as their iterations are counted.
  Value moveAlong(const Operand &operand, ArrayRef<unsigned> loops,
                  Value offset, Value column);
  /// Elements of vectors in memory; 1 if there are none.
  bool hasVectors(const Tile &tile, int64_t count) const;
  Value loadShared(Value buffer, Value row, int64_t stride, Value column);
  Value sumColumnOf(TileWidth width, int64_t group);

  // Of tensor cores.
  Values multiplyMatrices(const Tile &x, const Tile &y);
  Values accumulateMatrices(ValueRange scores, int64_t count, const Tile &y,
                            ValueRange sums);
  /// Registers of a factor that is rounded; those of what that leaves of it, or
  /// none where it is exact or results are rounded as well.
  struct Factor {
    Values rounded, rest;

    void append(const Factor &more) {
      rounded.append(more.rounded);
      rest.append(more.rest);
    }
    Factor slice(size_t first, size_t count) const {
      auto of = [&](const Values &all) {
        return all.empty() ? Values()
                           : Values(ArrayRef(all).slice(first, count));
      };
      return {of(rounded), of(rest)};
    }
  };
  /// Two neighbours as a register.
  Value toRegister(Value pair);
  /// A pair of sums as a register.
  Factor splitPair(Value first, Value second);
  /// A number of f32 as a register.
  Factor splitNumber(Value number);
  Factor loadMatrices(const Tile &from, Value row, Value column,
                      bool transposed);
  /// Registers of a left factor: 16 of the warp's rows of `x`; or, of scores,
  /// the columns from `column` on, of as many in a row.
  Factor loadLeft(const Tile &x, int64_t part, Value column);
  Factor takeLeft(ValueRange scores, int64_t perRow, int64_t part,
                  int64_t column);
  /// Registers of the right factors of two products: 16 rows of `y` from `row`
  /// on, as columns; or, of as many rows as are added to a sum, from `row` on,
  /// 8 columns each.
  Factor loadRows(const Tile &y, int64_t row, Value column);
  Factor loadColumns(const Tile &y, int64_t row, int64_t column);
  /// Adds a product to the thread's sums `first`, `first` + 1 in two rows of
  /// `perRow`.
  void addProduct(ArrayRef<Value> left, ArrayRef<Value> right,
                  MutableArrayRef<Value> sums, int64_t first, int64_t perRow);
  /// The same of all that counts of two factors.
  void addProducts(const Factor &left, const Factor &right,
                   MutableArrayRef<Value> sums, int64_t first, int64_t perRow);
  std::pair<Value, Value> toBounds(std::pair<OpFoldResult, OpFoldResult> range);
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_ATTENTIONEMITTER_H
