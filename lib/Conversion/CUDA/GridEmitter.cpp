//===- GridEmitter.cpp - What one thread of a kernel does -----------------===//
//
// A thread finds its point in the grid, and computes what is there: a vector of
// results, iterations in order, or partial results of a reduction, which the
// threads of the result then combine: those of a warp by shuffles, others
// through workgroup memory.
//
//===----------------------------------------------------------------------===//

#include "GridEmitter.h"
#include "DevicePointers.h"
#include "IndexMath.h"
#include "WarpShuffle.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

/// Whether the threads of a warp exchange partial results without memory.
static bool areShuffled(const GridPlan &plan) {
  return plan.lanesAreNeighbours &&
         llvm::all_of(plan.combiners, [](const Combiner &combiner) {
           return canShuffle(combiner.neutral.getType());
         });
}

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
  int64_t partials = plan.blockSize * plan.resultsPerThread();
  if (areShuffled(plan))
    partials = plan.lanes > kWarp ? plan.blockSize / kWarp : 0;
  if (partials == 0)
    return {};
  return llvm::map_to_vector(plan.combiners, [&](const Combiner &combiner) {
    return getMemory(partials, combiner.neutral.getType());
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
  OpFoldResult points = apply(first.floorDiv(plan.resultsPerThread()), {count});
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
    Value number = math.add(math.mul(block, index(plan.blockSize)), thread);
    emitIf(math.isBelow(number, countPoints()), [&] {
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
  void emitIf(Value condition, function_ref<void()> emitThen) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitThen();
  }

  Value isZero(Value number) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                                 index(0));
  }

  /// Iterations of `loops`, as the points of the grid or a thread count them.
  Values countSteps(ArrayRef<unsigned> loops) {
    return llvm::map_to_vector(loops, [&](unsigned loop) {
      Value size = sizeOf(loop);
      return plan.vector.loop == loop ? math.div(size, index(plan.vector.count))
                                      : size;
    });
  }
  Value countPoints() { return math.product(countSteps(plan.gridLoops)); }

  /// `point` moved along `loops` to the iteration of this number among `sizes`,
  /// the last loop counting fastest.
  Point advanceTo(Point point, ArrayRef<unsigned> loops, Value number,
                  ValueRange sizes) {
    for (auto [loop, at] :
         llvm::zip_equal(loops, math.delinearize(number, sizes))) {
      Value iteration = plan.vector.loop == loop
                            ? math.mul(at, index(plan.vector.count))
                            : at;
      point = advance(point, loop, iteration);
    }
    return point;
  }

  Point findPoint(Value number) {
    return advanceTo(getStart(), plan.gridLoops, number,
                     countSteps(plan.gridLoops));
  }

  //===--------------------------------------------------------------------===//
  // Reductions in lanes
  //===--------------------------------------------------------------------===//

  void emitLane(Value thread, Value block) {
    Value lanes = index(plan.lanes), points = index(plan.pointsPerBlock());
    Value lane = plan.lanesAreNeighbours ? math.rem(thread, lanes)
                                         : math.div(thread, points);
    Value slot = plan.lanesAreNeighbours ? math.div(thread, lanes)
                                         : math.rem(thread, points);
    Value number = math.add(math.mul(block, points), slot);
    Value isResult = math.isBelow(number, countPoints());
    // Threads beyond the end meet the barriers, too: they compute the last
    // result once more.
    Value last = math.sub(countPoints(), index(1));
    Point point = findPoint(math.min(number, last));
    Values partial = emitPartialResults(point, lane, isResult);
    if (areShuffled(plan))
      partial = shuffleLanes(partial, thread, lane, slot);
    else
      partial =
          combineLanes(partial, lane, math.add(math.mul(lane, points), slot));
    emitIf(arith::AndIOp::create(b, loc, isResult, isZero(lane)), [&] {
      Values results;
      for (auto [i, output] : llvm::enumerate(plan.reduced)) {
        Value initial = loadInitial(output, point);
        if (plan.resultsPerThread() > 1)
          initial = body.broadcast(b, initial);
        results.push_back(combine(plan.combiners[i].op, initial, partial[i]));
      }
      for (auto [output, result] : llvm::zip_equal(plan.reduced, results))
        body.store(b, outputAccess(output), result, point);
    });
  }

  /// Whether the last block, too, is full of results.
  bool areBlocksFull() {
    std::optional<int64_t> points = getConstantIntValue(countPoints());
    return points && *points % plan.pointsPerBlock() == 0;
  }

  /// The thread's elements of the reduction, or vectors of these: `lane`,
  /// `lane` + lanes, ... Where there is no result, none of them: what is mapped
  /// is stored once.
  Values emitPartialResults(const Point &point, Value lane, Value isResult) {
    SmallVector<unsigned> loops;
    for (auto [number, loop] : llvm::enumerate(nest.loops))
      if (!loop.isParallel())
        loops.push_back(number);
    Values neutral;
    for (const Combiner &combiner : plan.combiners)
      neutral.push_back(body.broadcast(
          b, arith::ConstantOp::create(b, loc, combiner.neutral)));
    Values sizes = countSteps(loops);
    Value end = math.product(sizes);
    auto emitElements = [&](ArrayRef<Value> numbers, ValueRange carried) {
      SmallVector<Point> elements;
      SmallVector<Values> inputs;
      for (Value number : numbers) {
        elements.push_back(advanceTo(point, loops, number, sizes));
        inputs.push_back(body.loadInputs(b, elements.back()));
      }
      Values next(carried);
      for (auto [element, input] : llvm::zip_equal(elements, inputs))
        next = emitElement(element, input, next);
      return next;
    };
    bool mayBeNone = !plan.mapped.empty() && !areBlocksFull();
    Values partial;
    // Of a number of iterations that is known, loads of several begin before
    // the first one has come, and before what that stores.
    if (std::optional<int64_t> steps = getConstantIntValue(end);
        steps && *steps % plan.lanes == 0 && !mayBeNone) {
      int64_t count = *steps / plan.lanes, atOnce = countAtOnce(count);
      partial = emitFor(index(0), index(count), atOnce, neutral,
                        [&](Value step, ValueRange carried) {
                          Values numbers;
                          for (int64_t i : llvm::seq(atOnce)) {
                            Value first = math.mul(math.add(step, index(i)),
                                                   index(plan.lanes));
                            numbers.push_back(math.add(first, lane));
                          }
                          return emitElements(numbers, carried);
                        });
    } else {
      if (mayBeNone)
        end = arith::SelectOp::create(b, loc, isResult, end, index(0));
      partial = emitFor(lane, end, plan.lanes, neutral,
                        [&](Value number, ValueRange carried) {
                          return emitElements(number, carried);
                        });
    }
    if (plan.vector.count > 1 && plan.resultsPerThread() == 1)
      for (auto [value, combiner] : llvm::zip_equal(partial, plan.combiners))
        value = combineElements(value, combiner);
    return partial;
  }

  /// One partial result of a vector of them.
  Value combineElements(Value vector, const Combiner &combiner) {
    Values parts;
    for (int64_t i = 0; i < plan.vector.count; ++i)
      parts.push_back(vector::ExtractOp::create(b, loc, vector, i));
    for (; parts.size() > 1; parts.truncate(parts.size() / 2))
      for (size_t i = 0; i < parts.size() / 2; ++i)
        parts[i] = combine(combiner.op, parts[2 * i], parts[2 * i + 1]);
    return parts.front();
  }

  /// Registers, of 4 bytes, of what a thread loads for one iteration of the
  /// reduction; what all of them share is loaded once.
  int64_t countLoadedRegisters() const {
    int64_t registers = 0;
    for (const Access &input :
         ArrayRef(nest.accesses).take_front(nest.numInputs))
      if (!input.isScalar() &&
          llvm::any_of(llvm::enumerate(nest.loops), [&](auto entry) {
            return !entry.value().isParallel() &&
                   !input.isInvariantIn(entry.index());
          })) {
        bool isVector =
            plan.vector.loop && !input.isInvariantIn(*plan.vector.loop);
        registers += llvm::divideCeil(getBytesInMemory(input.elementType) *
                                          (isVector ? plan.vector.count : 1),
                                      4);
      }
    return registers;
  }

  /// Iterations, a divisor of `count`, of which a thread loads inputs at once:
  /// few elements, and a quarter of the registers of a thread of large blocks.
  int64_t countAtOnce(int64_t count) const {
    constexpr int64_t kElements = 16, kRegisters = 40,
                      kRegistersOfBlock = int64_t(1) << 16;
    int64_t registers =
        std::min(kRegisters, kRegistersOfBlock / 4 / plan.blockSize);
    int64_t most =
        std::min(kElements / plan.vector.count,
                 registers / std::max<int64_t>(countLoadedRegisters(), 1));
    for (int64_t some = std::min(most, count); some > 1; --some)
      if (count % some == 0)
        return some;
    return 1;
  }

  /// Takes in the element at `point`, of which the inputs are `inputs`.
  Values emitElement(const Point &point, ArrayRef<Value> inputs,
                     ValueRange carried) {
    Values olds(numOutputs());
    for (auto [output, value] : llvm::zip_equal(plan.reduced, carried))
      olds[output] = value;
    for (unsigned output : plan.mapped)
      if (!nest.op.getRegionOutputArgs()[output].use_empty())
        olds[output] = body.load(b, outputAccess(output), point);
    Values next = body.compute(b, point, inputs, olds);
    for (unsigned output : plan.mapped)
      body.store(b, outputAccess(output), next[output], point);
    return llvm::map_to_vector(plan.reduced, [&](unsigned output) {
      return body.broadcast(b, next[output]);
    });
  }

  /// Through memory, until the first lane has what all have: lane i takes in
  /// lane i + 1, then i + 2, ... What a step reads was written before the
  /// barrier in front of it.
  Values combineLanes(ValueRange partial, Value lane, Value mine) {
    for (auto [i, value] : llvm::enumerate(partial))
      storeShared(i, value, mine);
    for (int64_t distance = 1; distance < plan.lanes; distance *= 2) {
      gpu::BarrierOp::create(b, loc);
      Value other = math.add(mine, index(distance * plan.pointsPerBlock()));
      emitIf(isZero(math.rem(lane, index(2 * distance))), [&] {
        for (auto [i, combiner] : llvm::enumerate(plan.combiners))
          storeShared(
              i,
              combine(combiner.op, loadShared(i, mine), loadShared(i, other)),
              mine);
      });
    }
    Values results;
    for (size_t i = 0; i < partial.size(); ++i)
      results.push_back(loadShared(i, mine));
    return results;
  }

  /// The same in the same order: by shuffles, and once more by shuffles of what
  /// each warp has then.
  Values shuffleLanes(Values partial, Value thread, Value lane, Value slot) {
    shuffleWarp(partial, std::min(plan.lanes, kWarp));
    int64_t warps = plan.lanes / kWarp;
    if (warps <= 1)
      return partial;
    emitIf(isZero(math.rem(thread, index(kWarp))), [&] {
      for (auto [i, value] : llvm::enumerate(partial))
        storeShared(i, value, math.div(thread, index(kWarp)));
    });
    gpu::BarrierOp::create(b, loc);
    Value position =
        math.add(math.mul(slot, index(warps)), math.rem(lane, index(warps)));
    for (auto [i, value] : llvm::enumerate(partial))
      value = loadShared(i, position);
    shuffleWarp(partial, warps);
    return partial;
  }

  /// Combines what each `count` neighbours of a warp have.
  void shuffleWarp(Values &values, int64_t count) {
    for (int64_t distance = 1; distance < count; distance *= 2)
      for (auto [value, combiner] : llvm::zip_equal(values, plan.combiners))
        value =
            combine(combiner.op, value, createShuffle(b, loc, value, distance));
  }

  /// The partial results of output `i` at `position`: one, or a vector.
  Value loadShared(size_t i, Value position) {
    if (int64_t count = plan.resultsPerThread(); count > 1)
      return vector::LoadOp::create(
          b, loc,
          cast<VectorType>(body.vectorOf(plan.combiners[i].neutral.getType())),
          workgroup[i], math.mul(position, index(count)));
    return memref::LoadOp::create(b, loc, workgroup[i], position);
  }
  void storeShared(size_t i, Value value, Value position) {
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(b, loc, value, workgroup[i],
                              math.mul(position, index(plan.vector.count)));
    else
      memref::StoreOp::create(b, loc, value, workgroup[i], position);
  }

  const GridPlan &plan;
  ValueRange workgroup;
  IndexMath math{b, loc};
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
