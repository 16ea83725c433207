//===- AttentionToLoops.cpp - Attention, a few rows at a time -------------===//
//
// A tile of scores (some rows, all keys) stays in the cache of the core that
// computes it: products, softmax and the next products follow each other
// there. Threads take whole tiles in the forward, and in the backward whatever
// adds to elements of its own, so that no bit depends on their number.
//
//===----------------------------------------------------------------------===//

#include "../AttentionMask.h"
#include "../AttentionParts.h"
#include "../KernelBody.h"
#include "../KernelTable.h"
#include "../Products.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTATTENTIONTOLOOPS
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Of the tiles that a thread works on: about half of a core's second cache.
static constexpr int64_t kTileBytes = 1 << 19;
/// Products of fewer rows pack more than they compute; more than the most would
/// leave too few tiles for threads.
static constexpr int64_t kLeastRows = 32, kMostRows = 128;
/// Rows for an unknown number of keys, and the unit of all others.
static constexpr int64_t kDefaultRows = 64, kRowMultiple = 16;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The size of a loop by the static shapes of operands; dynamic if none knows.
template <typename Op> static int64_t getStaticSize(Op op, unsigned loop) {
  for (auto [index, value] : llvm::enumerate(op.getIndexedValues()))
    for (auto [dim, expr] : llvm::enumerate(op.getMap(index).getResults()))
      if (expr == getAffineDimExpr(loop, op.getContext()))
        if (int64_t size = cast<MemRefType>(value.getType()).getDimSize(dim);
            !ShapedType::isDynamic(size))
          return size;
  return ShapedType::kDynamic;
}

namespace {
/// Which loops are cut into tiles, given to threads, and run in order.
struct TilePlan {
  unsigned tileLoop = 0;
  int64_t tileRows = 0;
  /// Whether threads take single tiles.
  bool distributesTiles = false;
  SmallVector<unsigned> parallel, sequential;
  /// By the rows of the tile loop.
  VisibleKeys visible;
};
} // namespace

/// `numTiles`: buffers of a tile's scores that are in use at once. `outputs`:
/// maps of what is written; only loops that index all of them go to threads.
template <typename Op>
static TilePlan planTiles(Op op, Value modifiedScore, int64_t numTiles,
                          ArrayRef<AffineMap> outputs) {
  TilePlan plan;
  AttentionDims dims = op.getDims();
  // Rows of one set of keys make a product.
  int64_t best = -1;
  for (unsigned row : dims.rows) {
    bool isBatch =
        op.getMap(1).isFunctionOfDim(row) || op.getMap(2).isFunctionOfDim(row);
    int64_t size = getStaticSize(op, row);
    int64_t score = isBatch                       ? 0
                    : ShapedType::isDynamic(size) ? kSizeLimit
                                                  : size;
    if (score >= best) {
      best = score;
      plan.tileLoop = row;
    }
  }
  int64_t keys = getStaticSize(op, dims.key),
          rows = getStaticSize(op, plan.tileLoop);
  int64_t bytes = op.getSumType().getIntOrFloatBitWidth() / 8 * numTiles;
  plan.tileRows =
      ShapedType::isDynamic(keys)
          ? kDefaultRows
          : std::clamp(
                llvm::alignDown(kTileBytes / std::max<int64_t>(bytes * keys, 1),
                                kRowMultiple),
                uint64_t(kLeastRows), uint64_t(kMostRows));
  // Even tiles.
  if (!ShapedType::isDynamic(rows)) {
    int64_t count = std::max<int64_t>(1, llvm::divideCeil(rows, plan.tileRows));
    plan.tileRows = std::min<int64_t>(
        std::max<int64_t>(rows, 1),
        llvm::alignTo(llvm::divideCeil(rows, count), kRowMultiple));
  }
  auto isOwned = [&](unsigned loop) {
    return llvm::all_of(
        outputs, [&](AffineMap map) { return map.isFunctionOfDim(loop); });
  };
  plan.distributesTiles = isOwned(plan.tileLoop);
  SmallVector<unsigned> scoreDims = dims.getScoreDims();
  auto getIndex = [&](unsigned loop) -> Value {
    return op.getBody().getArgument(llvm::find(scoreDims, loop) -
                                    scoreDims.begin());
  };
  bool hasKeyOfRow = !ShapedType::isDynamic(rows) &&
                     !ShapedType::isDynamic(keys) && rows <= keys;
  if (modifiedScore)
    plan.visible = findVisibleKeys(
        modifiedScore, getIndex(plan.tileLoop), getIndex(dims.key),
        hasKeyOfRow && op.getScoreOperands().empty());
  for (unsigned row : dims.rows)
    if (row != plan.tileLoop)
      (isOwned(row) ? plan.parallel : plan.sequential).push_back(row);
  return plan;
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

namespace {
/// Where the loops of a tile are.
struct TileSite {
  /// Index of each loop that the tile does not run over; null for others.
  SmallVector<Value> fixed;
  Value start;
  OpFoldResult rows;
  /// The keys that some row of the tile sees.
  OpFoldResult firstKey, keys;
  Value worker;
};

/// Emits the loops of an attention and what a tile does.
template <typename Op> class Lowering {
public:
  using Results = AttentionParts::Results;

  Lowering(Op op, TilePlan plan, ValueRange workspaces, int64_t threads)
      : op(op), plan(std::move(plan)), b(op), loc(op.getLoc()),
        dims(op.getDims()), type(op.getSumType()),
        values(op.getIndexedValues()),
        workspaces(workspaces.begin(), workspaces.end()), threads(threads) {
    unsigned loops = op.getMap(0).getNumDims();
    for (unsigned loop : llvm::seq(loops))
      sizes.push_back(measure(loop));
    rowMap = mapOf({this->plan.tileLoop});
    scoreMap = mapOf({this->plan.tileLoop, dims.key});
  }

  void emit() {
    Value zero = index(0), one = index(1);
    // The iterations that threads share, the tiles' innermost.
    SmallVector<OpFoldResult> shared;
    for (unsigned loop : plan.parallel)
      shared.push_back(sizes[loop]);
    OpFoldResult tiles = apply(b.getAffineSymbolExpr(0).ceilDiv(plan.tileRows),
                               {sizes[plan.tileLoop]});
    if (plan.distributesTiles)
      shared.push_back(tiles);
    OpFoldResult count = b.getIndexAttr(1);
    for (OpFoldResult size : shared)
      count = apply(b.getAffineSymbolExpr(0) * b.getAffineSymbolExpr(1),
                    {count, size});
    // One iteration leaves the threads to its kernels.
    OpBuilder::InsertionGuard guard(b);
    TileSite site;
    site.fixed.resize(sizes.size());
    if (getConstantIntValue(count) == 1) {
      site.worker = zero;
      return emitShared(site, SmallVector<Value>(shared.size(), zero));
    }
    auto parallel = scf::ParallelOp::create(
        b, loc, ValueRange{zero}, ValueRange{index(threads)}, ValueRange{one});
    b.setInsertionPointToStart(parallel.getBody());
    site.worker = parallel.getInductionVars()[0];
    auto loop = scf::ForOp::create(
        b, loc, site.worker, getValueOrCreateConstantIndexOp(b, loc, count),
        index(threads));
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> position(shared.size());
    Value number = loop.getInductionVar();
    for (unsigned i = shared.size(); i-- > 0;) {
      Value size = getValueOrCreateConstantIndexOp(b, loc, shared[i]);
      position[i] =
          i == 0 ? number
                 : arith::RemUIOp::create(b, loc, number, size).getResult();
      if (i != 0)
        number = arith::DivUIOp::create(b, loc, number, size);
    }
    emitShared(site, position);
  }

protected:
  virtual ~Lowering() = default;
  virtual void emitTile() = 0;

  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> symbols) {
    return affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(0, symbols.size(), expr), symbols);
  }
  AffineMap mapOf(ArrayRef<unsigned> loops) {
    SmallVector<AffineExpr> results;
    for (unsigned loop : loops)
      results.push_back(b.getAffineDimExpr(loop));
    return AffineMap::get(op.getMap(0).getNumDims(), 0, results,
                          b.getContext());
  }
  OpFoldResult measure(unsigned loop) {
    for (auto [number, value] : llvm::enumerate(values))
      for (auto [dim, expr] : llvm::enumerate(op.getMap(number).getResults()))
        if (expr == b.getAffineDimExpr(loop))
          return memref::getMixedSize(b, loc, value, dim);
    return b.getIndexAttr(1);
  }

  void emitShared(TileSite site, ArrayRef<Value> position) {
    for (auto [loop, value] : llvm::zip(plan.parallel, position))
      site.fixed[loop] = value;
    if (plan.distributesTiles)
      return emitSequential(site, plan.sequential, position.back());
    emitSequential(site, plan.sequential, {});
  }

  /// Loops in order, then the tile of this number, or all.
  void emitSequential(TileSite site, ArrayRef<unsigned> loops, Value tile) {
    OpBuilder::InsertionGuard guard(b);
    if (loops.empty() && tile) {
      emitTileAt(site,
                 arith::MulIOp::create(b, loc, tile, index(plan.tileRows)));
      return;
    }
    unsigned loop = loops.empty() ? plan.tileLoop : loops.front();
    auto forOp = scf::ForOp::create(
        b, loc, index(0), getValueOrCreateConstantIndexOp(b, loc, sizes[loop]),
        index(loops.empty() ? plan.tileRows : 1));
    b.setInsertionPointToStart(forOp.getBody());
    if (loops.empty())
      return emitTileAt(site, forOp.getInductionVar());
    site.fixed[loop] = forOp.getInductionVar();
    emitSequential(site, loops.drop_front(), tile);
  }

  void emitTileAt(TileSite at, Value start) {
    site = std::move(at);
    site.start = start;
    std::optional<int64_t> size = getConstantIntValue(sizes[plan.tileLoop]);
    if (size && *size % plan.tileRows == 0)
      site.rows = b.getIndexAttr(plan.tileRows);
    else
      site.rows = affine::makeComposedFoldedAffineMin(
          b, loc,
          AffineMap::get(1, 1,
                         {b.getAffineConstantExpr(plan.tileRows),
                          b.getAffineSymbolExpr(0) - b.getAffineDimExpr(0)},
                         b.getContext()),
          {OpFoldResult(start), sizes[plan.tileLoop]});
    parts.emplace(b, loc, op.getBody().front(), dims);
    for (auto [loop, value] : llvm::enumerate(site.fixed))
      if (value)
        parts->setStart(loop, value);
    parts->setStart(plan.tileLoop, start);
    findKeys();
    emitTile();
  }

  /// The keys that rows of the tile see, in whole vectors.
  void findKeys() {
    OpFoldResult count = sizes[dims.key], zero = b.getIndexAttr(0);
    site.firstKey = zero;
    site.keys = count;
    if (plan.visible.lower.empty() && plan.visible.upper.empty())
      return;
    AffineExpr start = b.getAffineDimExpr(0), rows = b.getAffineSymbolExpr(0),
               all = b.getAffineSymbolExpr(1);
    SmallVector<AffineExpr> ends{all}, starts{b.getAffineConstantExpr(0)};
    for (KeyBound bound : plan.visible.upper)
      ends.push_back(((start + rows - 1) * bound.slope + bound.offset + 1)
                         .ceilDiv(kRowMultiple) *
                     kRowMultiple);
    for (KeyBound bound : plan.visible.lower)
      starts.push_back(
          (start * bound.slope + bound.offset).floorDiv(kRowMultiple) *
          kRowMultiple);
    SmallVector<OpFoldResult> operands{OpFoldResult(site.start), site.rows,
                                       count};
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(1, 2, exprs, b.getContext());
    };
    // At least no key, and none beyond the last.
    OpFoldResult end =
        affine::makeComposedFoldedAffineMin(b, loc, map(ends), operands);
    OpFoldResult first =
        affine::makeComposedFoldedAffineMax(b, loc, map(starts), operands);
    AffineExpr x = b.getAffineSymbolExpr(0), y = b.getAffineSymbolExpr(1);
    auto pairOf = [&](AffineExpr one, AffineExpr other) {
      return AffineMap::get(0, 2, {one, other}, b.getContext());
    };
    end = affine::makeComposedFoldedAffineMax(
        b, loc, pairOf(x, b.getAffineConstantExpr(0)), {end, zero});
    site.firstKey =
        affine::makeComposedFoldedAffineMin(b, loc, pairOf(x, y), {first, end});
    site.keys = apply(x - y, {end, site.firstKey});
    parts->setStart(dims.key,
                    getValueOrCreateConstantIndexOp(b, loc, site.firstKey));
  }

  /// The part of a memref that the tile accesses, by the loops of the tile.
  Indexed slice(Value value, AffineMap map) {
    SmallVector<OpFoldResult> offsets, lengths,
        strides(map.getNumResults(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> kept;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      Value fixed = loop ? site.fixed[loop.getPosition()] : Value();
      bool isTiled = loop && loop.getPosition() == plan.tileLoop;
      bool isKey = loop && loop.getPosition() == dims.key;
      offsets.push_back(isTiled ? OpFoldResult(site.start)
                        : isKey ? site.firstKey
                        : fixed ? OpFoldResult(fixed)
                                : b.getIndexAttr(0));
      bool isDropped = !loop || fixed;
      lengths.push_back(isDropped ? b.getIndexAttr(1)
                        : isTiled ? site.rows
                        : isKey   ? site.keys
                                  : memref::getMixedSize(b, loc, value, dim));
      if (isDropped)
        continue;
      kept.push_back(expr);
      shape.push_back(
          getConstantIntValue(lengths.back()).value_or(ShapedType::kDynamic));
    }
    return {cut(value, offsets, lengths, strides, shape),
            AffineMap::get(map.getNumDims(), 0, kept, b.getContext())};
  }

  Value cut(Value value, ArrayRef<OpFoldResult> offsets,
            ArrayRef<OpFoldResult> lengths, ArrayRef<OpFoldResult> strides,
            ArrayRef<int64_t> shape) {
    auto type = memref::SubViewOp::inferRankReducedResultType(
        shape, cast<MemRefType>(value.getType()), offsets, lengths, strides);
    return memref::SubViewOp::create(b, loc, type, value, offsets, lengths,
                                     strides);
  }

  /// The worker's part of a workspace: rows, or rows by keys.
  Indexed scratch(unsigned number) {
    Value memory = workspaces[number];
    auto memoryType = cast<MemRefType>(memory.getType());
    bool hasKeys = memoryType.getRank() == 3;
    SmallVector<OpFoldResult> offsets(memoryType.getRank(), b.getIndexAttr(0)),
        strides(memoryType.getRank(), b.getIndexAttr(1)),
        lengths{b.getIndexAttr(1), site.rows};
    offsets[0] = site.worker;
    if (hasKeys)
      lengths.push_back(site.keys);
    SmallVector<int64_t> shape;
    for (OpFoldResult length : ArrayRef(lengths).drop_front())
      shape.push_back(
          getConstantIntValue(length).value_or(ShapedType::kDynamic));
    return {cut(memory, offsets, lengths, strides, shape),
            hasKeys ? scoreMap : rowMap};
  }

  Indexed operand(unsigned number) {
    return slice(values[number], op.getMap(number));
  }
  SmallVector<Indexed> scoreOperands() {
    SmallVector<Indexed> result;
    for (unsigned number : llvm::seq<unsigned>(3, values.size() - 2))
      result.push_back(operand(number));
    return result;
  }
  void fill(Value memory, double number) {
    Value value = arith::ConstantOp::create(
        b, loc,
        FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(memory)), number));
    linalg::FillOp::create(b, loc, value, memory);
  }
  void multiplyInto(Indexed x, Indexed y, Indexed result) {
    fill(result.value, 0.0);
    parts->multiply(x, y, result);
  }

  Op op;
  TilePlan plan;
  OpBuilder b;
  Location loc;
  AttentionDims dims;
  Type type;
  SmallVector<Value> values;
  SmallVector<Value> workspaces;
  int64_t threads;
  SmallVector<OpFoldResult> sizes;
  AffineMap rowMap, scoreMap;
  TileSite site;
  std::optional<AttentionParts> parts;
};

/// Workspaces: scores; the maximum and the sum of each row.
struct ForwardLowering : Lowering<AttentionOp> {
  using Lowering::Lowering;

  void emitTile() override {
    Indexed scores = scratch(0), maximum = scratch(1), sum = scratch(2);
    unsigned last = values.size() - 1;
    multiplyInto(operand(0), operand(1), scores);
    SmallVector<Indexed> inputs = scoreOperands();
    unsigned count = inputs.size();
    auto elements = [&](ValueRange v) {
      // The score stands in the output.
      SmallVector<Value> all{v.back()};
      llvm::append_range(all, v.take_front(count));
      return all;
    };
    if (op.getModifiedScore() != op.getBody().getArgument(dims.rows.size() + 1))
      parts->emit(inputs, {scores}, [&](OpBuilder &inner, ValueRange v) {
        return Results{
            parts->inlineBody(inner, op.getModifiedScore(), elements(v))};
      });
    fill(maximum.value, -std::numeric_limits<double>::infinity());
    parts->emit({scores}, {maximum}, [&](OpBuilder &inner, ValueRange v) {
      return Results{arith::MaximumFOp::create(inner, loc, v[0], v[1])};
    });
    parts->emit({maximum}, {scores}, [&](OpBuilder &inner, ValueRange v) {
      Value difference = arith::SubFOp::create(inner, loc, v[1], v[0]);
      return Results{math::ExpOp::create(inner, loc, difference)};
    });
    fill(sum.value, 0.0);
    parts->emit({scores}, {sum}, [&](OpBuilder &inner, ValueRange v) {
      return Results{arith::AddFOp::create(inner, loc, v[1], v[0])};
    });
    Indexed logSum = operand(last);
    parts->emit({maximum, sum}, {logSum}, [&](OpBuilder &inner, ValueRange v) {
      Value log = math::LogOp::create(inner, loc, v[1]);
      return Results{arith::AddFOp::create(inner, loc, v[0], log)};
    });
    if (Value factor = op.getFactor())
      parts->emit(inputs, {scores}, [&](OpBuilder &inner, ValueRange v) {
        Value f = parts->inlineBody(inner, factor, elements(v));
        return Results{arith::MulFOp::create(inner, loc, v.back(), f)};
      });
    // Divided by the sum at the end: fewer columns than keys.
    Indexed result = operand(last - 1);
    multiplyInto(scores, operand(2), result);
    parts->emit({sum}, {result}, [&](OpBuilder &inner, ValueRange v) {
      return Results{arith::DivFOp::create(inner, loc, v[1], v[0])};
    });
  }
};

/// Workspaces: scores, then their cotangents; products of cotangent and value,
/// then weights; cotangents of operands of scores.
struct BackwardLowering : Lowering<AttentionBackwardOp> {
  using Lowering::Lowering;

  void emitTile() override {
    unsigned last = values.size() - 1;
    Indexed scores = scratch(0), products = scratch(1);
    Indexed query = operand(0), key = operand(1), cotangent = operand(last - 1);
    multiplyInto(query, key, scores);
    multiplyInto(cotangent, operand(2), products);
    SmallVector<Indexed> inputs = scoreOperands();
    inputs.push_back(operand(last));
    inputs.push_back(slice(op.getDelta(), op.getMap(last)));
    SmallVector<Indexed> outputs{scores, products};
    for (unsigned number :
         llvm::seq<unsigned>(0, op.getDifferentiated().size()))
      outputs.push_back(scratch(2 + number));
    parts->emit(inputs, outputs, [&](OpBuilder &inner, ValueRange v) {
      SmallVector<Value> all{v[inputs.size()]};
      llvm::append_range(all, v.take_front(inputs.size()));
      all.push_back(v[inputs.size() + 1]);
      Results elements;
      for (Value yielded : op.getYielded())
        elements.push_back(parts->inlineBody(inner, yielded, all));
      return elements;
    });
    auto init = [&](unsigned number) {
      return slice(op.getInits()[number], op.getMap(op.getMapOfInit(number)));
    };
    parts->multiply(scores, key, init(0));
    parts->multiply(scores, query, init(1));
    parts->multiply(products, cotangent, init(2));
    for (unsigned number :
         llvm::seq<unsigned>(0, op.getDifferentiated().size()))
      parts->emit({outputs[2 + number]}, {init(3 + number)},
                  [&](OpBuilder &inner, ValueRange v) {
                    Value term = convertFloat(inner, loc, v[0], v[1].getType());
                    return Results{
                        arith::AddFOp::create(inner, loc, v[1], term)};
                  });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The modified score t in exp(t - log_sum), which the backward multiplies by;
/// null if its body has no such.
static Value getModifiedScore(AttentionBackwardOp op) {
  Block &body = op.getBody().front();
  Value logSum = body.getArgument(body.getNumArguments() - 3);
  for (Operation *user : logSum.getUsers())
    if (auto difference = dyn_cast<arith::SubFOp>(user);
        difference && difference.getRhs() == logSum)
      return difference.getLhs();
  return {};
}

/// Memory for tiles of rows, by keys if there are any, one for each thread.
template <typename Op>
static void allocate(OpBuilder &b, Op op, const TilePlan &plan, Type element,
                     int64_t threads, bool hasKeys,
                     SmallVectorImpl<Value> &workspaces) {
  Location loc = op.getLoc();
  SmallVector<int64_t> shape{threads, plan.tileRows};
  SmallVector<Value> dynamic;
  if (hasKeys) {
    unsigned key = op.getDims().key;
    shape.push_back(getStaticSize(op, key));
    if (ShapedType::isDynamic(shape.back()))
      for (auto [dim, expr] : llvm::enumerate(op.getMap(1).getResults()))
        if (expr == getAffineDimExpr(key, op.getContext()))
          dynamic.push_back(
              memref::DimOp::create(b, loc, op.getKey(), dim).getResult());
  }
  workspaces.push_back(memref::AllocOp::create(
      b, loc, MemRefType::get(shape, element), dynamic));
}

/// Factors of f16 or bf16 are multiplied in f32, as BLAS has no other product.
template <typename Op> static void widenFactors(OpBuilder &b, Op op) {
  Type type = op.getSumType();
  for (OpOperand &operand : op->getOpOperands().take_front(3)) {
    Value value = operand.get();
    if (getElementTypeOrSelf(value) == type)
      continue;
    Value wide = allocateDense(b, op.getLoc(), value, type);
    unsigned rank = cast<MemRefType>(value.getType()).getRank();
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    linalg::GenericOp::create(
        b, op.getLoc(), TypeRange(), value, wide,
        ArrayRef<AffineMap>{identity, identity},
        SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
        [&](OpBuilder &inner, Location loc, ValueRange v) {
          linalg::YieldOp::create(inner, loc,
                                  convertFloat(inner, loc, v[0], type));
        });
    operand.set(wide);
  }
}

namespace {
struct ConvertAttentionToLoops
    : mlir::remat::impl::ConvertAttentionToLoopsBase<ConvertAttentionToLoops> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionBackwardOp>(op) &&
          cast<DestinationStyleOpInterface>(op).hasPureBufferSemantics())
        ops.push_back(op);
    });
    if (ops.empty())
      return markAllAnalysesPreserved();
    KernelTable<func::FuncOp> table(getOperation());
    for (Operation *op : ops) {
      if (auto forward = dyn_cast<AttentionOp>(op)) {
        unsigned last = forward.getIndexingMaps().size() - 1;
        lower<ForwardLowering>(table, forward, forward.getModifiedScore(),
                               {forward.getMap(last - 1), forward.getMap(last)},
                               {});
      } else {
        auto backward = cast<AttentionBackwardOp>(op);
        SmallVector<AffineMap> outputs;
        for (unsigned index : llvm::seq<unsigned>(backward.getInits().size()))
          outputs.push_back(backward.getMap(backward.getMapOfInit(index)));
        SmallVector<Type> cotangents(backward.getYielded().getTypes());
        lower<BackwardLowering>(table, backward, getModifiedScore(backward),
                                outputs, cotangents);
      }
    }
  }

  /// `tiles`: element types of the backward's workspaces.
  template <typename LoweringT, typename Op>
  void lower(KernelTable<func::FuncOp> &table, Op op, Value modifiedScore,
             ArrayRef<AffineMap> outputs, ArrayRef<Type> tiles) {
    PhaseListener listener(getPhase(op));
    OpBuilder b(op, &listener);
    Location loc = op.getLoc();
    bool isForward = tiles.empty();
    widenFactors(b, op);
    TilePlan plan =
        planTiles(op, modifiedScore,
                  isForward ? 1 : static_cast<int64_t>(tiles.size()), outputs);
    SmallVector<Value> workspaces;
    if (isForward) {
      allocate(b, op, plan, op.getSumType(), threads, true, workspaces);
      allocate(b, op, plan, op.getSumType(), threads, false, workspaces);
      allocate(b, op, plan, op.getSumType(), threads, false, workspaces);
    }
    for (Type type : tiles)
      allocate(b, op, plan, type, threads, true, workspaces);

    // A function of its own, so that layers that are alike share it.
    Captures captures = collectCaptures(op->getRegions());
    SmallVector<Value> arguments(op->getOperands());
    llvm::append_range(arguments, workspaces);
    llvm::append_range(arguments, captures.values);
    auto function = func::FuncOp::create(
        loc, isForward ? "attention" : "attention_backward",
        b.getFunctionType(TypeRange(ValueRange(arguments)), {}));
    function.setPrivate();
    Block *entry = function.addEntryBlock();
    OpBuilder inner = OpBuilder::atBlockEnd(entry);
    IRMapping mapping;
    for (Operation *constant : captures.constants)
      inner.clone(*constant, mapping);
    for (auto [from, to] : llvm::zip_equal(arguments, entry->getArguments()))
      mapping.map(from, to);
    // Operands that are the same value are different arguments.
    auto copy = cast<Op>(inner.clone(*op, mapping));
    for (auto [operand, argument] :
         llvm::zip(copy->getOpOperands(), entry->getArguments()))
      operand.set(argument);
    func::ReturnOp::create(inner, loc);
    LoweringT(
        copy, plan,
        entry->getArguments().slice(op->getNumOperands(), workspaces.size()),
        threads)
        .emit();
    copy->erase();
    function = table.getOrInsert(function);
    func::CallOp::create(b, loc, function, arguments);
    op->erase();
  }
};
} // namespace
