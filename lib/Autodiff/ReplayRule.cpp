//===- ReplayRule.cpp - The adjoint of any reduction ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction is a recurrence a' = h(a, x). Its adjoint needs every a, in
// reverse: one kernel records them, a second runs the recurrence's cotangent
// backwards and records it, and a third is the elementwise adjoint of h.
// Products come out free of division (prefix times suffix), running log-sum-exp
// and Welford's moments right. It takes two tensors of the size of the
// iteration space for each accumulator, so sums, maxima and minima have rules
// of their own.
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
struct Accumulator {
  unsigned output;
  unsigned operand;
  Value argument;
  AffineMap map;
  Value yield;

  bool isFloat() const { return isa<FloatType>(argument.getType()); }
};

/// A kernel of the replay, its scalar adjoint, and its arguments for the
/// recorded accumulators.
struct Pass {
  Pass(linalg::LinalgOp op, OpBuilder &b, ArrayRef<Accumulator> accumulators,
       ArrayRef<unsigned> reversedLoops)
      : kernel(op) {
    for (const Accumulator &accumulator : accumulators) {
      before.push_back(kernel.addDeferredInput(accumulator.argument.getType(),
                                               kernel.identity()));
      kernel.primals.map(accumulator.argument, before.back());
    }
    kernel.reverse(b, reversedLoops);
    adjoint.emplace(kernel.builder, op.getLoc(), *op.getBlock(),
                    kernel.primals);
  }

  AdjointKernel kernel;
  std::optional<ScalarAdjoint> adjoint;
  SmallVector<BlockArgument> before;
};

struct Replay {
  linalg::LinalgOp op;
  VJPContext &vjp;
  SmallVector<Accumulator> accumulators;
  SmallVector<unsigned> loops;
  SmallVector<unsigned> operands;

  void prepare();
  LogicalResult build();
  /// The accumulators before each iteration; null where `needed` is false.
  SmallVector<Value> record(const llvm::SmallBitVector &needed);
  void seedElementwiseOutputs(Pass &pass, ArrayRef<unsigned> reversedLoops);
};
} // namespace

void Replay::prepare() {
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i) {
    if (!isAccumulated(op, i))
      continue;
    OpOperand *init = op.getDpsInitOperand(i);
    accumulators.push_back({i, init->getOperandNumber(),
                            op.getMatchingBlockArgument(init),
                            op.getMatchingIndexingMap(init),
                            op.getBlock()->getTerminator()->getOperand(i)});
    operands.push_back(init->getOperandNumber());
  }
  op.getReductionDims(loops);
}

SmallVector<Value> Replay::record(const llvm::SmallBitVector &needed) {
  SmallVector<Value> recorded(accumulators.size());
  if (needed.none())
    return recorded;
  OpBuilder &b = vjp.builder;
  AdjointKernel kernel(op);
  SmallVector<BlockArgument> running;
  for (const Accumulator &accumulator : accumulators) {
    running.push_back(kernel.addAccumulator(accumulator.argument.getType()));
    kernel.primals.map(accumulator.argument, running.back());
  }
  ScalarAdjoint forward(kernel.builder, op.getLoc(), *op.getBlock(),
                        kernel.primals);
  SmallVector<AdjointKernel::Output> outputs;
  for (auto [accumulator, value] : llvm::zip(accumulators, running))
    outputs.push_back({op->getOperand(accumulator.operand), accumulator.map,
                       forward.primal(accumulator.yield), value});
  for (unsigned i : needed.set_bits())
    outputs.push_back({kernel.emptyOverLoops(b, running[i].getType()),
                       kernel.identity(), running[i]});
  SmallVector<Value> results = kernel.cut(b, outputs);
  for (auto [position, i] : llvm::enumerate(needed.set_bits()))
    recorded[i] = results[accumulators.size() + position];
  return recorded;
}

void Replay::seedElementwiseOutputs(Pass &pass,
                                    ArrayRef<unsigned> reversedLoops) {
  for (unsigned i = 0, end = op.getNumDpsInits(); i < end; ++i) {
    Value ct = vjp.cotangent(i);
    if (!ct || isAccumulated(op, i))
      continue;
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
    Value argument = pass.kernel.addInput(
        ct, map.compose(pass.kernel.reversal(reversedLoops)));
    pass.adjoint->seed(op.getBlock()->getTerminator()->getOperand(i), argument);
  }
}

LogicalResult Replay::build() {
  OpBuilder &b = vjp.builder;
  Location loc = op.getLoc();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (llvm::any_of(loops, [&](unsigned loop) { return ranges[loop] == 0; })) {
    for (const Accumulator &accumulator : accumulators)
      if (vjp.isWanted(accumulator.operand))
        if (Value ct = vjp.cotangent(accumulator.output))
          vjp.accumulate(accumulator.operand, ct);
    return success();
  }

  // The cotangents of the accumulators, from the last iteration to the first.
  Pass back(op, b, accumulators, loops);
  seedElementwiseOutputs(back, loops);
  SmallVector<Value> sources;
  SmallVector<BlockArgument> running;
  for (const Accumulator &accumulator : accumulators) {
    running.push_back({});
    if (!accumulator.isFloat())
      continue;
    running.back() = back.kernel.addAccumulator(accumulator.argument.getType());
    back.adjoint->seed(accumulator.yield, running.back());
    sources.push_back(accumulator.argument);
  }
  if (failed(back.adjoint->propagate(sources)))
    return failure();
  SmallVector<AdjointKernel::Output> cotangents, records;
  SmallVector<Value> read;
  for (auto [accumulator, value] : llvm::zip(accumulators, running)) {
    if (!accumulator.isFloat())
      continue;
    Type type = accumulator.argument.getType();
    Value next = back.adjoint->cotangent(accumulator.argument);
    if (!next)
      next = back.adjoint->constant(0.0, type);
    Value start = vjp.cotangent(accumulator.output);
    if (start)
      back.kernel.addShapeSource(start, accumulator.map);
    else
      start = fillZeros(b, loc,
                        back.kernel.emptyLike(b, accumulator.operand, type));
    cotangents.push_back({start, accumulator.map, next, value});
    records.push_back(
        {back.kernel.emptyOverLoops(b, type), back.kernel.identity(), value});
    read.push_back(next);
  }

  // The adjoint of one iteration, for all of them.
  Pass each(op, b, accumulators, {});
  seedElementwiseOutputs(each, {});
  SmallVector<BlockArgument> after;
  for (const Accumulator &accumulator : accumulators) {
    after.push_back({});
    if (!accumulator.isFloat())
      continue;
    after.back() = each.kernel.addDeferredInput(accumulator.argument.getType(),
                                                each.kernel.reversal(loops));
    each.adjoint->seed(accumulator.yield, after.back());
  }
  SmallVector<Value> wanted = wantedSources(op, vjp, operands);
  if (failed(each.adjoint->propagate(wanted)))
    return failure();
  SmallVector<Value> terms;
  for (Value source : wanted)
    if (Value term = each.adjoint->cotangent(source))
      terms.push_back(term);
  for (const ScalarAdjoint::Gather &gather : each.adjoint->gathers())
    terms.push_back(gather.cotangent);

  llvm::SmallBitVector needed(accumulators.size());
  for (unsigned i = 0, end = accumulators.size(); i < end; ++i)
    needed[i] = back.kernel.inputsRead(read).contains(back.before[i]) ||
                each.kernel.inputsRead(terms).contains(each.before[i]);
  for (auto [i, tensor] : llvm::enumerate(record(needed)))
    if (tensor) {
      back.kernel.setInput(back.before[i], tensor);
      each.kernel.setInput(each.before[i], tensor);
    }
  unsigned numFloats = cotangents.size();
  llvm::append_range(cotangents, records);
  SmallVector<Value> results = back.kernel.cut(b, cotangents);
  unsigned next = 0;
  for (auto [accumulator, argument] : llvm::zip(accumulators, after)) {
    if (!accumulator.isFloat())
      continue;
    each.kernel.setInput(argument, results[numFloats + next]);
    if (vjp.isWanted(accumulator.operand))
      vjp.accumulate(accumulator.operand, results[next]);
    ++next;
  }
  emitOperandCotangents(each.kernel, *each.adjoint, vjp, operands);
  return emitCapturedCotangents(each.kernel, *each.adjoint, vjp);
}

LogicalResult mlir::remat::buildReplayVJP(linalg::LinalgOp op,
                                          VJPContext &vjp) {
  Replay replay{op, vjp, {}, {}, {}};
  replay.prepare();
  return replay.build();
}
