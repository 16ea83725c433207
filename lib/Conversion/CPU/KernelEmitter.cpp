//===- KernelEmitter.cpp - The loops of a kernel --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the outside in: loops over threads, parallel loops, then either vectors
// of results with their reductions inside, or reductions along vectors.
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

namespace {

class KernelEmitter : LoopEmitter {
public:
  KernelEmitter(OpBuilder &builder, const LoopNest &nest,
                const KernelPlan &plan, KernelBody &body)
      : LoopEmitter(builder, nest, body), plan(plan) {}

  void emit() { emitThreadLoops(getStart()); }

private:
  bool isVectorLoop(unsigned loop) const { return plan.vectorLoop == loop; }

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

  /// A part of a loop; all of it if there are no bounds.
  struct Part {
    Value from, to;
  };

  void emitThreadLoops(const Point &point) {
    if (plan.threadLoops.empty() && !plan.chunk)
      return emitOtherLoops(point, {});
    Values sizes, steps;
    for (unsigned loop : plan.threadLoops) {
      sizes.push_back(sizeOf(loop));
      steps.push_back(index(loop == plan.blockLoop ? kLanes : 1));
    }
    if (plan.chunk) {
      Value size = sizeOf(*plan.vectorLoop);
      sizes.push_back(
          arith::CeilDivUIOp::create(b, loc, size, index(plan.chunk)));
      steps.push_back(index(1));
    }
    auto parallel = scf::ParallelOp::create(
        b, loc, Values(sizes.size(), index(0)), sizes, steps);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(parallel.getBody());
    Point inner = point;
    Part part;
    for (auto [loop, iteration] :
         llvm::zip(plan.threadLoops, parallel.getInductionVars())) {
      if (loop == plan.blockLoop)
        part = getPart(loop, iteration, kLanes);
      else
        inner = advance(inner, loop, iteration);
    }
    if (plan.chunk) {
      Value from = arith::MulIOp::create(
          b, loc, parallel.getInductionVars().back(), index(plan.chunk));
      part = getPart(*plan.vectorLoop, from, plan.chunk);
    }
    emitOtherLoops(inner, part);
  }

  /// The loops that threads do not share.
  void emitOtherLoops(const Point &point, const Part &part) {
    if (!plan.isSequential)
      return emitParallelLoops(0, point, part);
    SmallVector<unsigned> loops;
    for (unsigned loop : llvm::seq<unsigned>(nest.loops.size()))
      if (!llvm::is_contained(plan.threadLoops, loop))
        loops.push_back(loop);
    emitInOrder(loops, point);
  }

  /// `count` iterations of `loop` from `from` on, as far as there are as many.
  Part getPart(unsigned loop, Value from, int64_t count) {
    Value end = arith::AddIOp::create(b, loc, from, index(count));
    std::optional<int64_t> size = getConstantIntValue(nest.loops[loop].size);
    if (size && *size % count == 0)
      return {from, end};
    return {from, arith::MinUIOp::create(b, loc, end, sizeOf(loop))};
  }

  /// The parallel loops from `loop` on that are not distributed, the vectorized
  /// one and that of blocks innermost. `part` is of the one of these two that
  /// is distributed.
  void emitParallelLoops(unsigned loop, const Point &point, const Part &part) {
    while (loop < nest.loops.size() &&
           (!nest.loops[loop].isParallel() || isVectorLoop(loop) ||
            loop == plan.blockLoop ||
            llvm::is_contained(plan.threadLoops, loop)))
      ++loop;
    if (loop < nest.loops.size()) {
      emitFor(index(0), sizeOf(loop), 1, {}, [&](Value iteration, ValueRange) {
        emitParallelLoops(loop + 1, advance(point, loop, iteration), part);
        return Values();
      });
      return;
    }
    if (!plan.combiners.empty())
      return emitReductionAlong(point);
    if (!plan.vectorLoop)
      return emitResults(point);
    auto emitAll = [&](const Point &first,
                       function_ref<void(const Point &)> emitOne) {
      emitVectors(loadInvariant(first), plan.chunk ? part.from : index(0),
                  plan.chunk ? part.to : sizeOf(*plan.vectorLoop), {},
                  [&](const Point &at, ValueRange) {
                    emitOne(at);
                    return Values();
                  });
    };
    if (plan.rows)
      return emitRowsTogether(point, emitAll);
    if (!plan.blockLoop)
      return emitAll(point, [&](const Point &at) { emitResults(at); });
    emitInBlocks(
        plan.chunk ? Part() : part,
        [&](Value from) {
          emitAll(point, [&](const Point &at) { emitBlock(at, from); });
        },
        [&](Value iteration) {
          emitAll(advance(point, *plan.blockLoop, iteration),
                  [&](const Point &at) { emitPoint(at); });
        });
  }

  /// `point` with what is the same for all iterations inside of it, such as a
  /// number for each row. For all that LLVM knows, stores of results change
  /// it, and what is computed from it has to be computed anew for each vector.
  Point loadInvariant(Point point) {
    if (nest.hasReduction())
      return point;
    point.loaded.resize(nest.accesses.size());
    for (unsigned access : llvm::seq(nest.numInputs)) {
      const Access &input = nest.accesses[access];
      if (!input.isScalar() && input.isInvariantIn(*plan.vectorLoop) &&
          (!plan.blockLoop || input.isInvariantIn(*plan.blockLoop)) &&
          !nest.op.getBlock()->getArgument(access).use_empty())
        point.loaded[access] = body.loadStored(b, access, point);
    }
    return point;
  }

  /// The iterations of `part` of the loop of blocks: `kLanes` of them at a
  /// time, and those that are left over one by one.
  void emitInBlocks(const Part &part, function_ref<void(Value)> emitBlockFrom,
                    function_ref<void(Value)> emitOne) {
    Value from = part.from ? part.from : index(0);
    Value to = part.to ? part.to : sizeOf(*plan.blockLoop);
    Value count = arith::SubIOp::create(b, loc, to, from);
    Value rest = arith::RemUIOp::create(b, loc, count, index(kLanes));
    Value full = arith::SubIOp::create(b, loc, to, rest);
    auto emitSteps = [&](Value begin, Value end, int64_t step,
                         function_ref<void(Value)> emitStep) {
      emitFor(begin, end, step, {}, [&](Value iteration, ValueRange) {
        emitStep(iteration);
        return Values();
      });
    };
    emitSteps(from, full, kLanes, emitBlockFrom);
    std::optional<int64_t> size =
        getConstantIntValue(nest.loops[*plan.blockLoop].size);
    if (!size || *size % kLanes != 0)
      emitSteps(full, to, 1, emitOne);
  }

  //===--------------------------------------------------------------------===//
  // Transposed blocks
  //===--------------------------------------------------------------------===//

  /// `kLanes` iterations of the loop of blocks from `from` on, of one vector.
  /// What lies along that loop is loaded and stored in its own order.
  void emitBlock(const Point &point, Value from) {
    unsigned loop = *plan.blockLoop;
    if (point.mask) {
      Value to = arith::AddIOp::create(b, loc, from, index(kLanes));
      emitFor(from, to, 1, {}, [&](Value iteration, ValueRange) {
        emitPoint(advance(point, loop, iteration));
        return Values();
      });
      return;
    }
    Point first = advance(point, loop, from);
    auto isTransposed = [&](unsigned access) {
      return body.isScattered(access) &&
             nest.accesses[access].isContiguousIn(loop);
    };
    auto offsetOfLane = [&](unsigned access, int64_t lane) {
      return advance(first, *plan.vectorLoop, index(lane)).offsets[access];
    };
    SmallVector<Values> columns(nest.accesses.size());
    for (unsigned access : llvm::seq<unsigned>(nest.accesses.size())) {
      if (!isTransposed(access) ||
          nest.op.getBlock()->getArgument(access).use_empty())
        continue;
      Values rows;
      for (int64_t lane : llvm::seq(kLanes))
        rows.push_back(body.loadRow(b, access, offsetOfLane(access, lane)));
      columns[access] = transpose(rows);
    }
    SmallVector<Values> results(numOutputs());
    for (int64_t i : llvm::seq(kLanes)) {
      Value iteration = arith::AddIOp::create(b, loc, from, index(i));
      Point at = advance(point, loop, iteration);
      at.loaded.resize(nest.accesses.size());
      for (auto [loaded, column] : llvm::zip_equal(at.loaded, columns))
        if (!column.empty())
          loaded = column[i];
      Values values = body.compute(b, at, loadOutputs(at));
      for (auto [output, value] : llvm::enumerate(values)) {
        if (isTransposed(outputAccess(output)))
          results[output].push_back(body.toStored(b, value));
        else
          body.store(b, outputAccess(output), value, at);
      }
    }
    for (auto [output, values] : llvm::enumerate(results)) {
      if (values.empty())
        continue;
      unsigned access = outputAccess(output);
      for (auto [lane, row] : llvm::enumerate(transpose(values)))
        body.storeRow(b, access, row, offsetOfLane(access, lane));
    }
  }

  /// The vectors of the first lanes, of the second ones, ...
  Values transpose(ValueRange vectors) {
    auto row = cast<VectorType>(vectors.front().getType());
    auto type = VectorType::get({kLanes, kLanes}, row.getElementType());
    Value matrix =
        arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(type)));
    for (auto [i, vector] : llvm::enumerate(vectors))
      matrix = vector::InsertOp::create(b, loc, vector, matrix, int64_t(i));
    matrix = vector::TransposeOp::create(b, loc, matrix, {1, 0});
    Values transposed;
    for (int64_t i : llvm::seq(kLanes))
      transposed.push_back(vector::ExtractOp::create(b, loc, matrix, i));
    return transposed;
  }

  //===--------------------------------------------------------------------===//
  // Reductions across the vectorized loop
  //===--------------------------------------------------------------------===//

  /// All iterations of the loops that reduce: of the innermost one `plan.rows`
  /// inside of what `emitAll` emits, with running results in memory.
  void emitRowsTogether(
      const Point &point,
      function_ref<void(const Point &, function_ref<void(const Point &)>)>
          emitAll) {
    unsigned rows = 0;
    for (auto [index, loop] : llvm::enumerate(nest.loops))
      if (!loop.isParallel())
        rows = index;
    auto emitBlock = [&](const Point &outer, Value from) {
      Value end = arith::AddIOp::create(b, loc, from, index(plan.rows));
      Value to = arith::MinUIOp::create(b, loc, end, sizeOf(rows));
      emitAll(outer, [&](const Point &at) {
        Values running = loadOutputs(at);
        for (auto [output, value] : llvm::enumerate(running)) {
          // Elements that no iteration reads are written by each.
          if (!value)
            value = arith::ConstantOp::create(
                b, loc,
                b.getZeroAttr(nest.accesses[outputAccess(output)].elementType));
          value = body.broadcast(b, value);
        }
        storeOutputs(emitFor(from, to, 1, running,
                             [&](Value iteration, ValueRange carried) {
                               Point row = advance(at, rows, iteration);
                               Values next = body.compute(b, row, carried);
                               for (Value &value : next)
                                 value = body.broadcast(b, value);
                               return next;
                             }),
                     at);
      });
    };
    emitReductionLoops(0, rows, point, {}, [&](const Point &outer, ValueRange) {
      return emitFor(index(0), sizeOf(rows), plan.rows, {},
                     [&](Value from, ValueRange) {
                       emitBlock(outer, from);
                       return Values();
                     });
    });
  }

  //===--------------------------------------------------------------------===//
  // Reductions along the vectorized loop
  //===--------------------------------------------------------------------===//

  void emitReductionAlong(const Point &point) {
    Values partial;
    for (const Combiner &combiner : plan.combiners)
      partial.push_back(vector::BroadcastOp::create(
          b, loc, VectorType::get({kLanes}, combiner.neutral.getType()),
          arith::ConstantOp::create(b, loc, combiner.neutral)));
    partial = emitReductionLoops(
        0, plan.vectorLoop, point, partial,
        [&](const Point &row, ValueRange outer) {
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
      Value initial = loadInitial(i, point);
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

  const KernelPlan &plan;
};

} // namespace

void mlir::remat::emitKernelLoops(OpBuilder &builder, const LoopNest &nest,
                                  const KernelPlan &plan, KernelBody &body) {
  KernelEmitter(builder, nest, plan, body).emit();
}
