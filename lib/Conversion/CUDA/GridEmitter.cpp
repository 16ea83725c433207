//===- GridEmitter.cpp - What one thread of a kernel does -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread finds its point in the grid, and computes what is there: a vector of
// results, iterations in order, or partial results of a reduction, which the
// threads of the result then combine: those of a warp by shuffles, others
// through workgroup memory. Of several operations on one row, the threads of a
// block do one after the other.
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

/// Returns true if a warp exchanges partial results without memory.
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
  /// Which lane of which point of the grid a thread is.
  struct Place {
    Value thread, lane;
    /// The point, counted in the block and in the grid.
    Value slot, number;
    /// False of threads beyond the last point.
    Value exists;
  };

  GridEmitter(OpBuilder &builder, const KernelPart &part, KernelBody &body)
      : LoopEmitter(builder, part.nest, body), plan(part.plan),
        workgroup(part.workgroup) {
    setInitialValues(part.initialValues);
  }

  void emit() {
    if (!plan.combiners.empty())
      return emitLane(findPlace());
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    Value number = math.add(math.mul(block, index(plan.blockSize)), thread);
    emitIf(math.isBelow(number, countPoints()), [&] {
      Point point = findPoint(number);
      if (!plan.isInOrder)
        return emitResults(point);
      emitInOrder(getInnerLoops(), point);
    });
  }

  Place findPlace() {
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    Value lanes = index(plan.lanes), points = index(plan.pointsPerBlock());
    Value lane = plan.lanesAreNeighbours ? math.rem(thread, lanes)
                                         : math.div(thread, points);
    Value slot = plan.lanesAreNeighbours ? math.div(thread, lanes)
                                         : math.rem(thread, points);
    Value number = math.add(math.mul(block, points), slot);
    return {thread, lane, slot, number, math.isBelow(number, countPoints())};
  }

  /// Emits the work of lanes at their point.
  void emitLane(const Place &place) {
    // Threads beyond the end meet the barriers, too: they compute the last
    // result once more.
    Value last = math.sub(countPoints(), index(1));
    Point point = findPoint(math.min(place.number, last));
    if (plan.combiners.empty())
      return emitElements(point, place);
    Values partial = emitPartialResults(point, place);
    if (areShuffled(plan))
      partial = shuffleLanes(partial, place);
    else
      partial = combineLanes(partial, place);
    Value isFirst = isZero(place.lane);
    emitIf(arith::AndIOp::create(b, loc, place.exists, isFirst), [&] {
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

  /// Returns true if the last block, too, is full of results.
  bool areBlocksFull() {
    std::optional<int64_t> points = getConstantIntValue(countPoints());
    return points && *points % plan.pointsPerBlock() == 0;
  }

  /// Loops that are not in the grid.
  SmallVector<unsigned> getInnerLoops() const {
    return llvm::to_vector(llvm::make_filter_range(
        llvm::seq<unsigned>(nest.loops.size()), [&](unsigned loop) {
          return !llvm::is_contained(plan.gridLoops, loop);
        }));
  }

  /// Calls `emitOne` at the iterations of the loops in a point that are the
  /// lane's: `lane`, `lane` + lanes, ... Where there is no point, at none if
  /// something is stored: it is stored once.
  Values emitIterations(
      const Point &point, const Place &place, ValueRange carried,
      function_ref<Values(const Point &, ArrayRef<Value> inputs, ValueRange)>
          emitOne) {
    SmallVector<unsigned> loops = getInnerLoops();
    Values sizes = countSteps(loops);
    Value end = math.product(sizes);
    auto emitSome = [&](ArrayRef<Value> numbers, ValueRange carried) {
      SmallVector<Point> elements;
      SmallVector<Values> inputs;
      for (Value number : numbers) {
        elements.push_back(advanceTo(point, loops, number, sizes));
        inputs.push_back(body.loadInputs(b, elements.back()));
      }
      Values next(carried);
      for (auto [element, input] : llvm::zip_equal(elements, inputs))
        next = emitOne(element, input, next);
      return next;
    };
    bool stores = plan.combiners.empty() || !plan.mapped.empty();
    bool mayBeNone = stores && !areBlocksFull();
    // Of a number of iterations that is known, loads of several begin before
    // the first one has come, and before what that stores.
    if (std::optional<int64_t> steps = getConstantIntValue(end);
        steps && *steps % plan.lanes == 0 && !mayBeNone) {
      int64_t count = *steps / plan.lanes, atOnce = countAtOnce(loops, count);
      return emitFor(index(0), index(count), atOnce, carried,
                     [&](Value step, ValueRange carried) {
                       Values numbers;
                       for (int64_t i : llvm::seq(atOnce)) {
                         Value first = math.mul(math.add(step, index(i)),
                                                index(plan.lanes));
                         numbers.push_back(math.add(first, place.lane));
                       }
                       return emitSome(numbers, carried);
                     });
    }
    if (mayBeNone)
      end = arith::SelectOp::create(b, loc, place.exists, end, index(0));
    return emitFor(place.lane, end, plan.lanes, carried,
                   [&](Value number, ValueRange carried) {
                     return emitSome(number, carried);
                   });
  }

  /// The thread's elements of the reduction, or vectors of these.
  Values emitPartialResults(const Point &point, const Place &place) {
    Values neutral;
    for (const Combiner &combiner : plan.combiners)
      neutral.push_back(body.broadcast(
          b, arith::ConstantOp::create(b, loc, combiner.neutral)));
    Values partial = emitIterations(
        point, place, neutral,
        [&](const Point &element, ArrayRef<Value> inputs, ValueRange carried) {
          return emitElement(element, inputs, carried);
        });
    if (plan.vector.count > 1 && plan.resultsPerThread() == 1)
      for (auto [value, combiner] : llvm::zip_equal(partial, plan.combiners))
        value = combineElements(value, combiner);
    return partial;
  }

  /// Emits the lane's elements of a row that is not reduced. A number for many
  /// elements is loaded once: after a store it would be loaded once more.
  void emitElements(Point point, const Place &place) {
    point.loaded.resize(nest.accesses.size());
    SmallVector<unsigned> loops = getInnerLoops();
    for (unsigned input = 0; input < nest.numInputs; ++input)
      if (const Access &access = nest.accesses[input];
          !access.isScalar() && !loops.empty() &&
          !nest.op.getBlock()->getArgument(input).use_empty() &&
          llvm::all_of(
              loops, [&](unsigned loop) { return access.isInvariantIn(loop); }))
        point.loaded[input] = body.loadStored(b, input, point);
    emitIterations(
        point, place, {},
        [&](const Point &element, ArrayRef<Value> inputs, ValueRange) {
          storeOutputs(body.compute(b, element, inputs, loadOutputs(element)),
                       element);
          return Values();
        });
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

  /// Registers, of 4 bytes, of what a thread loads for one iteration of
  /// `loops`; what all of them share is loaded once.
  int64_t countLoadedRegisters(ArrayRef<unsigned> loops) const {
    int64_t registers = 0;
    for (const Access &input :
         ArrayRef(nest.accesses).take_front(nest.numInputs))
      if (!input.isScalar() && llvm::any_of(loops, [&](unsigned loop) {
            return !input.isInvariantIn(loop);
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
  int64_t countAtOnce(ArrayRef<unsigned> loops, int64_t count) const {
    constexpr int64_t kElements = 16, kRegisters = 40,
                      kRegistersOfBlock = int64_t(1) << 16;
    int64_t registers =
        std::min(kRegisters, kRegistersOfBlock / 4 / plan.blockSize);
    int64_t most =
        std::min(kElements / plan.vector.count,
                 registers / std::max<int64_t>(countLoadedRegisters(loops), 1));
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
  Values combineLanes(ValueRange partial, const Place &place) {
    Value mine = math.add(math.mul(place.lane, index(plan.pointsPerBlock())),
                          place.slot);
    for (auto [i, value] : llvm::enumerate(partial))
      storeShared(i, value, mine);
    for (int64_t distance = 1; distance < plan.lanes; distance *= 2) {
      gpu::BarrierOp::create(b, loc);
      Value other = math.add(mine, index(distance * plan.pointsPerBlock()));
      emitIf(isZero(math.rem(place.lane, index(2 * distance))), [&] {
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
  Values shuffleLanes(Values partial, const Place &place) {
    shuffleWarp(partial, std::min(plan.lanes, kWarp));
    int64_t warps = plan.lanes / kWarp;
    if (warps <= 1)
      return partial;
    emitIf(isZero(math.rem(place.thread, index(kWarp))), [&] {
      for (auto [i, value] : llvm::enumerate(partial))
        storeShared(i, value, math.div(place.thread, index(kWarp)));
    });
    gpu::BarrierOp::create(b, loc);
    Value position = math.add(math.mul(place.slot, index(warps)),
                              math.rem(place.lane, index(warps)));
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

void mlir::remat::emitThread(OpBuilder &builder, const KernelPart &part,
                             IRMapping &map) {
  if (part.plan.tile)
    return emitTile(builder, part, map);
  KernelBody body(part.nest, part.plan.vector, part.views, map);
  GridEmitter(builder, part, body).emit();
}

void mlir::remat::emitRows(OpBuilder &builder, ArrayRef<KernelPart> parts,
                           IRMapping &map) {
  std::optional<GridEmitter::Place> place;
  for (const KernelPart &part : parts) {
    KernelBody body(part.nest, part.plan.vector, part.views, map);
    GridEmitter emitter(builder, part, body);
    if (place)
      gpu::BarrierOp::create(builder, part.nest.op.getLoc());
    else
      place = emitter.findPlace();
    emitter.emitLane(*place);
  }
}
