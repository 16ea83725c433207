//===- KernelEmitter.cpp - The loops of a kernel --------------------------===//
//
// From the outside in: loops over threads, parallel loops, then either vectors
// of results with their reductions inside, or reductions along vectors.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

namespace {

class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, const LoopNest &nest,
                const KernelPlan &plan, KernelBody &body)
      : b(builder), loc(nest.op.getLoc()), nest(nest), plan(plan), body(body) {}

  void emit() {
    Point start{SmallVector<Value>(nest.loops.size()), {}, {}};
    for (const Access &access : nest.accesses)
      start.offsets.push_back(body.materialize(b, access.start));
    for (Value &iteration : start.iterations)
      iteration = index(0);
    if (plan.isSequential)
      emitSequential(0, start);
    else
      emitThreadLoops(start);
  }

private:
  using Values = SmallVector<Value>;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value sizeOf(unsigned loop) {
    return body.materialize(b, nest.loops[loop].size);
  }
  bool isVectorLoop(unsigned loop) const { return plan.vectorLoop == loop; }

  /// `point` after `iteration` iterations of `loop`.
  Point advance(const Point &point, unsigned loop, Value iteration) {
    Point next = point;
    next.iterations[loop] = iteration;
    for (auto [offset, access] : llvm::zip_equal(next.offsets, nest.accesses)) {
      if (access.isScalar() || access.isInvariantIn(loop))
        continue;
      Value step = iteration;
      if (!access.isContiguousIn(loop))
        step = arith::MulIOp::create(b, loc, iteration,
                                     body.materialize(b, access.strides[loop]));
      offset = arith::AddIOp::create(b, loc, offset, step);
    }
    return next;
  }

  Values
  emitFor(Value from, Value to, int64_t step, ValueRange carried,
          function_ref<Values(Value iteration, ValueRange carried)> emitBody) {
    auto loop =
        scf::ForOp::create(b, loc, from, to, index(step), carried,
                           [&](OpBuilder &, Location, Value, ValueRange) {});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Values results = emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
    scf::YieldOp::create(b, loc, results);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// All iterations of the vectorized loop in [from, to): full vectors, then at
  /// most one that is masked.
  Values emitVectors(const Point &point, Value from, Value to,
                     ValueRange carried,
                     function_ref<Values(const Point &, ValueRange)> emitBody) {
    unsigned loop = *plan.vectorLoop;
    std::optional<int64_t> size = getConstantIntValue(nest.loops[loop].size);
    bool hasTail = !size || *size % plan.lanes;
    Value full = to;
    if (hasTail) {
      Value length = arith::SubIOp::create(b, loc, to, from);
      Value rest = arith::RemUIOp::create(b, loc, length, index(plan.lanes));
      full = arith::SubIOp::create(b, loc, to, rest);
    }
    Values values = llvm::to_vector(carried);
    if (!size || *size >= plan.lanes)
      values =
          emitFor(from, full, plan.lanes, values,
                  [&](Value iteration, ValueRange inner) {
                    return emitBody(advance(point, loop, iteration), inner);
                  });
    if (hasTail)
      values = emitFor(
          full, to, plan.lanes, values, [&](Value iteration, ValueRange inner) {
            Point tail = advance(point, loop, iteration);
            Value lanes = arith::SubIOp::create(b, loc, to, iteration);
            tail.mask = vector::CreateMaskOp::create(
                b, loc, VectorType::get({plan.lanes}, b.getI1Type()),
                ValueRange{lanes});
            return emitBody(tail, inner);
          });
    return values;
  }

  //===--------------------------------------------------------------------===//
  // Loops without reductions
  //===--------------------------------------------------------------------===//

  void emitThreadLoops(const Point &point) {
    if (plan.threadLoops.empty() && !plan.chunk)
      return emitParallelLoops(0, point, {}, {});
    Values sizes;
    for (unsigned loop : plan.threadLoops)
      sizes.push_back(sizeOf(loop));
    if (plan.chunk) {
      Value size = sizeOf(*plan.vectorLoop);
      sizes.push_back(
          arith::CeilDivUIOp::create(b, loc, size, index(plan.chunk)));
    }
    auto parallel =
        scf::ParallelOp::create(b, loc, Values(sizes.size(), index(0)), sizes,
                                Values(sizes.size(), index(1)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(parallel.getBody());
    Point inner = point;
    for (auto [loop, iteration] :
         llvm::zip(plan.threadLoops, parallel.getInductionVars()))
      inner = advance(inner, loop, iteration);
    if (!plan.chunk)
      return emitParallelLoops(0, inner, {}, {});
    Value from = arith::MulIOp::create(
        b, loc, parallel.getInductionVars().back(), index(plan.chunk));
    Value end = arith::AddIOp::create(b, loc, from, index(plan.chunk));
    Value to = arith::MinUIOp::create(b, loc, end, sizeOf(*plan.vectorLoop));
    emitParallelLoops(0, inner, from, to);
  }

  /// The parallel loops from `loop` on that are not distributed, the vectorized
  /// one (its part [from, to) if given) innermost.
  void emitParallelLoops(unsigned loop, const Point &point, Value from,
                         Value to) {
    while (loop < nest.loops.size() &&
           (!nest.loops[loop].isParallel() || isVectorLoop(loop) ||
            llvm::is_contained(plan.threadLoops, loop)))
      ++loop;
    if (loop < nest.loops.size()) {
      emitFor(index(0), sizeOf(loop), 1, {}, [&](Value iteration, ValueRange) {
        emitParallelLoops(loop + 1, advance(point, loop, iteration), from, to);
        return Values();
      });
      return;
    }
    if (!plan.combiners.empty())
      return emitReductionAlong(point);
    if (!plan.vectorLoop)
      return emitResults(point);
    emitVectors(point, from ? from : index(0),
                to ? to : sizeOf(*plan.vectorLoop), {},
                [&](const Point &at, ValueRange) {
                  emitResults(at);
                  return Values();
                });
  }

  void emitSequential(unsigned loop, const Point &point) {
    if (loop == nest.loops.size()) {
      emitPoint(point);
      return;
    }
    emitFor(index(0), sizeOf(loop), 1, {}, [&](Value iteration, ValueRange) {
      emitSequential(loop + 1, advance(point, loop, iteration));
      return Values();
    });
  }

  //===--------------------------------------------------------------------===//
  // Results and reductions
  //===--------------------------------------------------------------------===//

  unsigned outputAccess(unsigned output) const {
    return nest.numInputs + output;
  }
  unsigned numOutputs() const { return nest.accesses.size() - nest.numInputs; }

  /// The outputs' values; null for those that the body does not read.
  Values loadOutputs(const Point &point, bool all) {
    Values values;
    for (unsigned i = 0; i < numOutputs(); ++i) {
      bool isRead = all || !nest.op.getRegionOutputArgs()[i].use_empty();
      values.push_back(isRead ? body.load(b, outputAccess(i), point) : Value());
    }
    return values;
  }

  void storeOutputs(ValueRange values, const Point &point) {
    for (auto [i, value] : llvm::enumerate(values))
      body.store(b, outputAccess(i), value, point);
  }

  /// One iteration, through memory. All loads precede all stores, so that an
  /// output may take the place of an input.
  void emitPoint(const Point &point) {
    storeOutputs(body.compute(b, point, loadOutputs(point, /*all=*/false)),
                 point);
  }

  /// Results at `point` (a vector of them), each reduced in order.
  void emitResults(const Point &point) {
    if (!nest.hasReduction())
      return emitPoint(point);
    Values initial;
    for (Value value : loadOutputs(point, /*all=*/true))
      initial.push_back(body.broadcast(b, value));
    storeOutputs(emitReductionLoops(0, point, initial,
                                    [&](const Point &at, ValueRange carried) {
                                      Values next =
                                          body.compute(b, at, carried);
                                      for (Value &value : next)
                                        value = body.broadcast(b, value);
                                      return next;
                                    }),
                 point);
  }

  /// The reduction loops from `loop` on, except for the vectorized one.
  Values
  emitReductionLoops(unsigned loop, const Point &point, ValueRange carried,
                     function_ref<Values(const Point &, ValueRange)> emitBody) {
    while (loop < nest.loops.size() &&
           (nest.loops[loop].isParallel() || isVectorLoop(loop)))
      ++loop;
    if (loop == nest.loops.size())
      return emitBody(point, carried);
    return emitFor(index(0), sizeOf(loop), 1, carried,
                   [&](Value iteration, ValueRange inner) {
                     return emitReductionLoops(loop + 1,
                                               advance(point, loop, iteration),
                                               inner, emitBody);
                   });
  }

  void emitReductionAlong(const Point &point) {
    Values partial;
    for (const Combiner &combiner : plan.combiners)
      partial.push_back(vector::BroadcastOp::create(
          b, loc, VectorType::get({kLanes}, combiner.neutral.getType()),
          arith::ConstantOp::create(b, loc, combiner.neutral)));
    partial = emitReductionLoops(
        0, point, partial, [&](const Point &row, ValueRange outer) {
          if (plan.lanes == 1)
            return emitLanesInTurn(row, outer);
          return emitVectors(
              row, index(0), sizeOf(*plan.vectorLoop), outer,
              [&](const Point &at, ValueRange carried) {
                Values next = body.compute(b, at, carried);
                for (auto [value, old] : llvm::zip_equal(next, carried)) {
                  value = body.broadcast(b, value);
                  if (at.mask)
                    value =
                        arith::SelectOp::create(b, loc, at.mask, value, old);
                }
                return next;
              });
        });
    Values results;
    for (auto [i, combiner] : llvm::enumerate(plan.combiners)) {
      Value initial = body.load(b, outputAccess(i), point);
      results.push_back(
          combine(combiner.op, initial, combineLanes(combiner.op, partial[i])));
    }
    storeOutputs(results, point);
  }

  /// The innermost reduction loop of a body without a vector form: each
  /// iteration adds to its lane of `partial`.
  Values emitLanesInTurn(const Point &row, ValueRange partial) {
    unsigned loop = *plan.vectorLoop;
    return emitFor(
        index(0), sizeOf(loop), 1, partial,
        [&](Value iteration, ValueRange carried) {
          Value lane = arith::RemUIOp::create(b, loc, iteration, index(kLanes));
          Values own;
          for (Value lanes : carried)
            own.push_back(
                vector::ExtractOp::create(b, loc, lanes, OpFoldResult(lane)));
          Values next = body.compute(b, advance(row, loop, iteration), own);
          for (auto [value, lanes] : llvm::zip_equal(next, carried))
            value = vector::InsertOp::create(b, loc, value, lanes,
                                             OpFoldResult(lane));
          return next;
        });
  }

  Value combine(Operation *combiner, Value a, Value other) {
    OperationState state(loc, combiner->getName(), {a, other}, {a.getType()},
                         combiner->getAttrs());
    state.propertiesAttr = combiner->getPropertiesAsAttribute();
    return b.create(state)->getResult(0);
  }

  /// Halves the vector until one lane is left: lane i takes in lane i + n/2.
  Value combineLanes(Operation *combiner, Value lanes) {
    for (int64_t count = kLanes; count > 1; count /= 2) {
      auto half = [&](int64_t from) -> Value {
        SmallVector<int64_t> mask =
            llvm::to_vector(llvm::seq(from, from + count / 2));
        return vector::ShuffleOp::create(b, loc, lanes, lanes, mask);
      };
      lanes = combine(combiner, half(0), half(count / 2));
    }
    return vector::ExtractOp::create(b, loc, lanes, int64_t(0));
  }

  OpBuilder &b;
  Location loc;
  const LoopNest &nest;
  const KernelPlan &plan;
  KernelBody &body;
};

} // namespace

void mlir::remat::emitKernelLoops(OpBuilder &builder, const LoopNest &nest,
                                  const KernelPlan &plan, KernelBody &body) {
  KernelEmitter(builder, nest, plan, body).emit();
}
