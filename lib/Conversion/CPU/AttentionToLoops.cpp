//===- AttentionToLoops.cpp - Attention, a few rows at a time -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of scores (some rows, all keys) stays in the cache of the core that
// computes it: products, softmax and the next products follow each other
// there. Threads take whole tiles in the forward, and in the backward whatever
// adds to elements of its own, so that no bit depends on their number.
//===----------------------------------------------------------------------===//

#include "../KernelBody.h"
#include "../KernelTable.h"
#include "../Products.h"
#include "AttentionTiles.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/LogSum.h"
#include "remat/Transforms/PackMemory/Workspace.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Affine/Utils.h"
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
        operands(getIndexedOperands(op)),
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
    // Workers claim a tile whenever they have done one, since tiles and workers
    // take unequal times. The last is first: tiles further down see more keys
    // if the mask is causal.
    Type integer = b.getI64Type();
    auto left = memref::AllocaOp::create(b, loc, MemRefType::get({}, integer));
    Value all = arith::IndexCastOp::create(
        b, loc, integer, getValueOrCreateConstantIndexOp(b, loc, count));
    memref::StoreOp::create(b, loc, all, left);
    Value none = arith::ConstantIntOp::create(b, loc, integer, 0),
          oneLess = arith::ConstantIntOp::create(b, loc, integer, -1);
    auto parallel = scf::ParallelOp::create(
        b, loc, ValueRange{zero}, ValueRange{index(threads)}, ValueRange{one});
    b.setInsertionPointToStart(parallel.getBody());
    site.worker = parallel.getInductionVars()[0];
    auto loop = scf::WhileOp::create(b, loc, integer, ValueRange());
    b.createBlock(&loop.getBefore());
    Value claimed = memref::AtomicRMWOp::create(
        b, loc, arith::AtomicRMWKind::addi, oneLess, left, ValueRange());
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, claimed, none);
    scf::ConditionOp::create(b, loc, exists, claimed);
    Block *body = b.createBlock(&loop.getAfter(), {}, integer, loc);
    b.setInsertionPoint(scf::YieldOp::create(b, loc));
    Value iteration = arith::IndexCastOp::create(
        b, loc, b.getIndexType(),
        arith::AddIOp::create(b, loc, body->getArgument(0), oneLess));
    SmallVector<Value> position = *affine::delinearizeIndex(
        b, loc, iteration, ArrayRef<OpFoldResult>(shared));
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
    auto found = findLoop(operands, loop);
    return found ? memref::getMixedSize(b, loc, found->first, found->second)
                 : OpFoldResult(b.getIndexAttr(1));
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
    std::tie(site.firstKey, site.keys) = findKeyRange(
        b, loc, plan.visible, start, site.rows, sizes[dims.key], kRowMultiple);
    if (!isZeroInteger(site.firstKey))
      parts->setStart(dims.key,
                      getValueOrCreateConstantIndexOp(b, loc, site.firstKey));
    emitTile();
  }

  /// The part of a memref that the tile accesses, by the loops of the tile.
  Indexed slice(Indexed operand) {
    auto [value, map] = operand;
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

  Indexed sliceOperand(unsigned number) { return slice(operands[number]); }
  SmallVector<Indexed> sliceScoreOperands() {
    return llvm::map_to_vector(ArrayRef(operands).drop_front(3).drop_back(2),
                               [&](Indexed operand) { return slice(operand); });
  }
  void multiplyInto(Indexed x, Indexed y, Indexed result) {
    parts->fill(result.value, 0.0);
    parts->multiply(x, y, result);
  }

  Op op;
  TilePlan plan;
  OpBuilder b;
  Location loc;
  AttentionDims dims;
  Type type;
  SmallVector<Indexed> operands;
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
    unsigned last = operands.size() - 1;
    multiplyInto(sliceOperand(0), sliceOperand(1), scores);
    SmallVector<Indexed> inputs = sliceScoreOperands();
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
    parts->fill(maximum.value, -std::numeric_limits<double>::infinity());
    parts->emit({scores}, {maximum}, [&](OpBuilder &inner, ValueRange v) {
      return Results{arith::MaximumFOp::create(inner, loc, v[0], v[1])};
    });
    parts->emit({maximum}, {scores}, [&](OpBuilder &inner, ValueRange v) {
      Value difference = arith::SubFOp::create(inner, loc, v[1], v[0]);
      return Results{math::ExpOp::create(inner, loc, difference)};
    });
    parts->fill(sum.value, 0.0);
    parts->emit({scores}, {sum}, [&](OpBuilder &inner, ValueRange v) {
      return Results{arith::AddFOp::create(inner, loc, v[1], v[0])};
    });
    Indexed logSum = sliceOperand(last);
    parts->emit({maximum, sum}, {logSum}, [&](OpBuilder &inner, ValueRange v) {
      return Results{createLogSum(inner, loc, v[0], v[1])};
    });
    if (Value factor = op.getFactor())
      parts->emit(inputs, {scores}, [&](OpBuilder &inner, ValueRange v) {
        Value f = parts->inlineBody(inner, factor, elements(v));
        return Results{arith::MulFOp::create(inner, loc, v.back(), f)};
      });
    // Divided by the sum at the end: fewer columns than keys.
    Indexed result = sliceOperand(last - 1);
    multiplyInto(scores, sliceOperand(2), result);
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
    unsigned last = operands.size() - 1;
    Indexed scores = scratch(0), products = scratch(1);
    Indexed query = sliceOperand(0), key = sliceOperand(1),
            cotangent = sliceOperand(last - 1);
    multiplyInto(query, key, scores);
    multiplyInto(cotangent, sliceOperand(2), products);
    SmallVector<Indexed> inputs = sliceScoreOperands();
    inputs.push_back(sliceOperand(last));
    inputs.push_back(slice({op.getDelta(), op.getMap(last)}));
    SmallVector<Indexed> outputs{scores, products};
    for (unsigned number :
         llvm::seq<unsigned>(0, op.getDifferentiated().size()))
      outputs.push_back(scratch(2 + number));
    parts->emit(inputs, outputs, [&](OpBuilder &inner, ValueRange v) {
      SmallVector<Value> all{v[inputs.size()]};
      llvm::append_range(all, v.take_front(inputs.size()));
      all.push_back(v[inputs.size() + 1]);
      return parts->inlineBody(inner, op.getYielded(), all);
    });
    auto init = [&](unsigned number) {
      return slice({op.getInits()[number], op.getMap(op.getMapOfInit(number))});
    };
    parts->multiply(scores, key, init(0));
    parts->multiply(scores, query, init(1));
    parts->multiply(products, cotangent, init(2));
    for (unsigned number :
         llvm::seq<unsigned>(0, op.getDifferentiated().size()))
      parts->accumulate(outputs[2 + number], init(3 + number));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Memory for tiles of rows, by keys if there are any, one for each thread.
template <typename Op>
static void allocate(OpBuilder &b, Op op, const TilePlan &plan, Type element,
                     int64_t threads, bool hasKeys,
                     SmallVectorImpl<Value> &workspaces) {
  Location loc = op.getLoc();
  SmallVector<int64_t> shape{threads, plan.tileRows};
  SmallVector<Value> dynamic;
  if (hasKeys) {
    auto [value, dim] = *findLoop(getIndexedOperands(op), op.getDims().key);
    shape.push_back(cast<MemRefType>(value.getType()).getDimSize(dim));
    if (ShapedType::isDynamic(shape.back()))
      dynamic.push_back(memref::DimOp::create(b, loc, value, dim));
  }
  auto memory =
      memref::AllocOp::create(b, loc, MemRefType::get(shape, element), dynamic);
  memory->setAttr(kWorkspaceAttrName, b.getUnitAttr());
  workspaces.push_back(memory);
}

/// Factors of f16 or bf16 are multiplied in f32, as BLAS has no other product.
template <typename Op> static void widenFactors(OpBuilder &b, Op op) {
  Type type = op.getSumType();
  SmallVector<OpOperand *> factors;
  for (OpOperand &operand : op->getOpOperands().take_front(3))
    factors.push_back(&operand);
  if constexpr (std::is_same_v<Op, AttentionBackwardOp>)
    factors.push_back(&op.getCotangentMutable());
  for (OpOperand *factor : factors) {
    OpOperand &operand = *factor;
    Value value = operand.get();
    if (getElementTypeOrSelf(value) == type)
      continue;
    Value wide = allocateDense(b, op.getLoc(), value, type);
    convertElementsInto(b, op.getLoc(), value, wide);
    operand.set(wide);
  }
}

/// Results and gradients that are rounded to f16 or bf16 are so after all sums;
/// `op` goes on with sums in memory.
template <typename Op> static void roundAtTheEnd(OpBuilder &b, Op op) {
  Type type = op.getSumType();
  // Of query, key and value, or the result.
  constexpr unsigned kMost = 3;
  MutableOperandRange inits = op.getDpsInitsMutable();
  for (unsigned index : llvm::seq(std::min(kMost, inits.size()))) {
    OpOperand &init = inits[index];
    Value value = init.get();
    if (getElementTypeOrSelf(value) == type)
      continue;
    Value wide = allocateDense(b, op.getLoc(), value, type);
    if (isa<AttentionBackwardOp>(*op))
      convertElementsInto(b, op.getLoc(), value, wide);
    init.set(wide);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(op);
    convertElementsInto(b, op.getLoc(), wide, value);
  }
}

namespace {
struct ConvertAttentionToLoops
    : mlir::remat::impl::ConvertAttentionToLoopsBase<ConvertAttentionToLoops> {
  using Base::Base;

  void runOnOperation() override {
    if (threads < 1) {
      getOperation()->emitError("threads must be at least 1, but got ")
          << threads.getValue();
      return signalPassFailure();
    }
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
        lower<BackwardLowering>(table, backward, findModifiedScore(backward),
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
    roundAtTheEnd(b, op);
    TilePlan plan =
        planTiles(getIndexedOperands(op), op.getDims(), op.getBody().front(),
                  op.getSumType(), modifiedScore,
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
