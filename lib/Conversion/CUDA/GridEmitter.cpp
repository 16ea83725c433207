//===- GridEmitter.cpp - What one thread of a kernel does -----------------===//
//
// A thread finds its point in the grid, and computes what is there: a vector of
// results, iterations in order, or a lane of a reduction, which the threads of
// the result then combine through workgroup memory.
//
//===----------------------------------------------------------------------===//

#include "GridEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

SmallVector<Type> mlir::remat::getWorkgroupTypes(const LoopNest &nest,
                                                 const GridPlan &plan) {
  auto space = gpu::AddressSpaceAttr::get(nest.op.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto getMemory = [&](int64_t size, Type element) -> Type {
    return MemRefType::get({size}, element, MemRefLayoutAttrInterface(), space);
  };
  if (plan.tile)
    return llvm::map_to_vector(plan.tile->inputs, [&](unsigned input) {
      Type element = nest.accesses[input].elementType;
      // A column more, so that the elements of one column are in different
      // banks. Booleans are bytes.
      return getMemory(TransposeTile::kSize * (TransposeTile::kSize + 1),
                       element.isInteger(1)
                           ? IntegerType::get(element.getContext(), 8)
                           : element);
    });
  return llvm::map_to_vector(plan.combiners, [&](const Combiner &combiner) {
    return getMemory(plan.blockSize, combiner.neutral.getType());
  });
}

OpFoldResult mlir::remat::countBlocks(OpBuilder &builder, const LoopNest &nest,
                                      const GridPlan &plan) {
  OpFoldResult count = builder.getIndexAttr(1);
  AffineExpr first = builder.getAffineSymbolExpr(0),
             second = builder.getAffineSymbolExpr(1);
  auto apply = [&](AffineExpr expr, ArrayRef<OpFoldResult> numbers) {
    return affine::makeComposedFoldedAffineApply(
        builder, nest.op.getLoc(), AffineMap::get(0, numbers.size(), expr),
        numbers);
  };
  for (unsigned loop : plan.gridLoops) {
    OpFoldResult size = nest.loops[loop].size;
    if (plan.tile && (loop == plan.tile->inLoop || loop == plan.tile->outLoop))
      size = apply(first.ceilDiv(TransposeTile::kSize), {size});
    count = apply(first * second, {count, size});
  }
  if (plan.tile)
    return count;
  OpFoldResult points = apply(first.floorDiv(plan.vector.count), {count});
  return apply(first.ceilDiv(plan.pointsPerBlock()), {points});
}

namespace {

class GridEmitter : LoopEmitter {
public:
  GridEmitter(OpBuilder &builder, const LoopNest &nest, const GridPlan &plan,
              KernelBody &body, ArrayRef<TypedAttr> initialValues,
              ValueRange workgroup)
      : LoopEmitter(builder, nest, body), plan(plan), workgroup(workgroup) {
    setInitialValues(initialValues);
  }

  void emit() {
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    if (!plan.combiners.empty())
      return emitLane(thread, block);
    Value number = add(mul(block, index(plan.blockSize)), thread);
    emitIf(isBelow(number, countPoints()), [&] {
      Point point = findPoint(number);
      if (!plan.isInOrder)
        return emitResults(point);
      SmallVector<unsigned> inner;
      for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
        if (!llvm::is_contained(plan.gridLoops, loop))
          inner.push_back(loop);
      emitInOrder(inner, point);
    });
  }

private:
  Value add(Value a, Value other) {
    return arith::AddIOp::create(b, loc, a, other);
  }
  Value mul(Value a, Value other) {
    return arith::MulIOp::create(b, loc, a, other);
  }
  Value div(Value a, Value other) {
    return arith::DivUIOp::create(b, loc, a, other);
  }
  Value rem(Value a, Value other) {
    return arith::RemUIOp::create(b, loc, a, other);
  }
  Value isBelow(Value a, Value limit) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, a, limit);
  }
  void emitIf(Value condition, function_ref<void()> emitThen) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitThen();
  }

  /// Iterations of a loop of the grid, as its points count them.
  Value countSteps(unsigned loop) {
    Value size = sizeOf(loop);
    return plan.vector.loop == loop ? div(size, index(plan.vector.count))
                                    : size;
  }
  Value product(ArrayRef<unsigned> loops,
                function_ref<Value(unsigned)> getSize) {
    Value count;
    for (unsigned loop : loops)
      count = count ? mul(count, getSize(loop)) : getSize(loop);
    return count ? count : index(1);
  }
  Value countPoints() {
    return product(plan.gridLoops,
                   [&](unsigned loop) { return countSteps(loop); });
  }

  /// `point` moved along `loops` to the iteration of this number, the last loop
  /// counting fastest.
  Point advanceTo(Point point, ArrayRef<unsigned> loops, Value number,
                  function_ref<Value(unsigned)> getSize) {
    for (unsigned loop : llvm::reverse(loops)) {
      bool isLast = loop == loops.front();
      Value iteration = isLast ? number : rem(number, getSize(loop));
      if (!isLast)
        number = div(number, getSize(loop));
      if (plan.vector.loop == loop)
        iteration = mul(iteration, index(plan.vector.count));
      point = advance(point, loop, iteration);
    }
    return point;
  }

  Point findPoint(Value number) {
    return advanceTo(getStart(), plan.gridLoops, number,
                     [&](unsigned loop) { return countSteps(loop); });
  }

  //===--------------------------------------------------------------------===//
  // Reductions in lanes
  //===--------------------------------------------------------------------===//

  void emitLane(Value thread, Value block) {
    Value lanes = index(plan.lanes), points = index(plan.pointsPerBlock());
    Value lane =
        plan.lanesAreNeighbours ? rem(thread, lanes) : div(thread, points);
    Value slot =
        plan.lanesAreNeighbours ? div(thread, lanes) : rem(thread, points);
    Value number = add(mul(block, points), slot);
    Value isResult = isBelow(number, countPoints());
    // Threads beyond the end meet the barriers, too: they compute the last
    // result once more.
    Value last = arith::SubIOp::create(b, loc, countPoints(), index(1));
    Point point = findPoint(arith::MinUIOp::create(b, loc, number, last));
    Values partial = emitPartialResults(point, lane);
    Value mine = add(mul(lane, points), slot);
    combineLanes(partial, lane, mine);
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, index(0));
    emitIf(arith::AndIOp::create(b, loc, isResult, isFirst), [&] {
      Values results;
      for (auto [i, combiner] : llvm::enumerate(plan.combiners))
        results.push_back(combine(
            combiner.op, loadInitial(i, point),
            memref::LoadOp::create(b, loc, workgroup[i], ValueRange{mine})));
      storeOutputs(results, point);
    });
  }

  /// Elements `lane`, `lane` + lanes, ... of the reduction.
  Values emitPartialResults(const Point &point, Value lane) {
    SmallVector<unsigned> loops;
    for (auto [number, loop] : llvm::enumerate(nest.loops))
      if (!loop.isParallel())
        loops.push_back(number);
    Values neutral;
    for (const Combiner &combiner : plan.combiners)
      neutral.push_back(arith::ConstantOp::create(b, loc, combiner.neutral));
    auto getSize = [&](unsigned loop) { return sizeOf(loop); };
    return emitFor(lane, product(loops, getSize), plan.lanes, neutral,
                   [&](Value number, ValueRange carried) {
                     return Values(body.compute(
                         b, advanceTo(point, loops, number, getSize), carried));
                   });
  }

  /// Halves the lanes until one is left: lane i takes in lane i + n/2. What a
  /// step reads was written before the barrier in front of it.
  void combineLanes(ValueRange partial, Value lane, Value mine) {
    for (auto [value, memory] : llvm::zip_equal(partial, workgroup))
      memref::StoreOp::create(b, loc, value, memory, ValueRange{mine});
    for (int64_t count = plan.lanes / 2; count > 0; count /= 2) {
      gpu::BarrierOp::create(b, loc);
      Value other = add(mine, index(count * plan.pointsPerBlock()));
      emitIf(isBelow(lane, index(count)), [&] {
        for (auto [combiner, memory] :
             llvm::zip_equal(plan.combiners, workgroup)) {
          Value a = memref::LoadOp::create(b, loc, memory, ValueRange{mine});
          Value c = memref::LoadOp::create(b, loc, memory, ValueRange{other});
          memref::StoreOp::create(b, loc, combine(combiner.op, a, c), memory,
                                  ValueRange{mine});
        }
      });
    }
  }

  const GridPlan &plan;
  ValueRange workgroup;
};

} // namespace

void mlir::remat::emitThread(OpBuilder &builder, const LoopNest &nest,
                             const GridPlan &plan, ArrayRef<Value> views,
                             IRMapping &map, ArrayRef<TypedAttr> initialValues,
                             ValueRange workgroup) {
  if (plan.tile)
    return emitTile(builder, nest, plan, views, map, workgroup);
  KernelBody body(nest, plan.vector, views, map);
  GridEmitter(builder, nest, plan, body, initialValues, workgroup).emit();
}
