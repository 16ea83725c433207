//===- DistributeMicroBatches.cpp - Eager accumulation --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over micro-batches around the whole step keeps a sum of every gradient
// until its end. Distributed over the parts of the backward, it keeps those of
// one part, and what one part passes to the next, of every micro-batch, in
// their place. Every operation computes what it computed in the one loop, and
// each sum adds micro-batches in the same order: the bits are the same.
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"
#include "Stages.h"

#include "remat/Analysis/Effects.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class Distributor {
public:
  Distributor(StepFunction &step, int64_t count)
      : step(step), body(step.function.getBody().front()), count(count),
        builder(step.function.getContext()) {}

  LogicalResult run();

private:
  void findStages();
  bool varies(Value value);
  void findPassed();
  LogicalResult verify();
  unsigned getStage(Value value) const;
  bool isAvailable(Value root) const;
  Value get(Value value);
  Value emit(Value value);
  Value emitBarrier(BarrierOp barrier, unsigned index);
  Value emitTape(Value value);
  void move(Operation *op);
  void buildStage();

  StepFunction &step;
  Block &body;
  int64_t count;
  OpBuilder builder;
  Effects effects;

  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> stageOf;
  /// Before any operation is moved: what a region captures is found by what is
  /// defined above it.
  DenseMap<Operation *, SmallVector<Value>> inputsOf;
  unsigned numStages = 1;
  /// Operations that compute the same for every micro-batch, and are read in
  /// more than one stage.
  DenseSet<Operation *> common;
  DenseMap<Value, bool> varying;
  DenseMap<Value, unsigned> stateOf;
  DenseMap<Value, RankedTensorType> dataTypes;
  /// Values that another stage reads than the one that they are computed in.
  llvm::SetVector<Value> passed;
  /// For the stages after it: all micro-batches of them.
  DenseMap<Value, Value> tapes;
  /// The stage whose loop is built, and what values of others are in it.
  unsigned stage = 0;
  scf::ForOp loop;
  Value microBatch;
  IRMapping local;
};
} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

void Distributor::findStages() {
  stageOf = assignStages(step, count);
  bool hasBorder = false;
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    if (!isa<BeginBackwardOp>(op)) {
      ops.push_back(&op);
      inputsOf[&op] = getInputs(&op);
      numStages = std::max(numStages, stageOf.lookup(&op) + 1);
    } else if (std::exchange(hasBorder, true)) {
      op.erase();
    }
  }
}

/// Returns true if micro-batches may differ in `value`.
bool Distributor::varies(Value value) {
  return evaluateOnce<bool>(
      value, varying,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (Operation *op = value.getDefiningOp())
          llvm::append_range(sources, getInputs(op));
      },
      [&](Value value) {
        Operation *op = value.getDefiningOp();
        if (!op)
          return stateOf.contains(value) || dataTypes.contains(value);
        return !effects.isPure(op) ||
               llvm::any_of(getInputs(op),
                            [&](Value input) { return varying.lookup(input); });
      });
}

/// The stage in which `value` is computed; old states are there in the first.
unsigned Distributor::getStage(Value value) const {
  return stageOf.lookup(value.getDefiningOp());
}

void Distributor::findPassed() {
  SmallVector<Value> pending;
  auto read = [&](Value value, unsigned stage) {
    llvm::SetVector<Value> roots;
    collectRoots(value, roots);
    for (Value root : roots) {
      bool isOfStep = root.getDefiningOp() || stateOf.contains(root);
      if (!isOfStep || getStage(root) == stage)
        continue;
      if (varies(root))
        passed.insert(root);
      else
        pending.push_back(root);
    }
  };
  // Operands of replicated operations are read by those that need these.
  for (Operation *op : ops)
    if (!isReplicated(op))
      for (Value input : getInputs(op))
        read(input, stageOf.lookup(op));
  for (const TrainedParameter &trained : step.trained)
    read(trained.gradient, getStage(trained.gradient));
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op && common.insert(op).second)
      llvm::append_range(pending, getInputs(op));
  }
}

LogicalResult Distributor::verify() {
  auto fail = [&](Location loc) {
    return emitError(loc) << "accumulate = " << count
                          << " cannot be eager here: ";
  };
  StringRef instead = "; say {deferred, accumulate = ...}";
  for (Operation *op : ops)
    if (stageOf[op] != 0 && !effects.isPure(op))
      return fail(op->getLoc())
             << "this operation of the backward has effects, whose order would "
                "be another"
             << instead;
  for (Value value : passed) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Type element = type ? type.getElementType() : value.getType();
    if (type ? type.hasStaticShape() : TensorType::isValidElementType(element))
      continue;
    return fail(value.getLoc())
           << "the backward needs a value of type " << value.getType()
           << " of each micro-batch, whose size is not known before it"
           << instead;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Returns what `value` is in the loop of the current stage, where `builder`
/// stands.
Value Distributor::get(Value value) {
  if (Value known = local.lookupOrNull(value))
    return known;
  Value found = emit(value);
  local.map(value, found);
  return found;
}

Value Distributor::emit(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto it = dataTypes.find(value); it != dataTypes.end())
    return extractMicroBatch(builder, value, it->second, microBatch);
  if (!op ? !stateOf.contains(value) : common.contains(op))
    return value;
  if (op && isReplicated(op)) {
    if (auto barrier = dyn_cast<BarrierOp>(op))
      return emitBarrier(barrier, cast<OpResult>(value).getResultNumber());
    for (Value operand : op->getOperands())
      get(operand);
    return builder.clone(*op, local)
        ->getResult(cast<OpResult>(value).getResultNumber());
  }
  if (op && stageOf.lookup(op) == stage)
    return value;
  return TapeReadOp::create(builder, value.getLoc(), value.getType(),
                            tapes.lookup(value), microBatch);
}

/// A value that is read from a tape is no value of another stage, and waits for
/// the stage as a whole. In the barrier's own stage, it waits for what is
/// there.
Value Distributor::emitBarrier(BarrierOp barrier, unsigned index) {
  Value value = get(barrier.getValues()[index]);
  if (stageOf.lookup(barrier) != stage)
    return value;
  SmallVector<Value> awaited;
  for (Value other : barrier.getAfter()) {
    llvm::SetVector<Value> roots;
    collectRoots(other, roots);
    if (llvm::all_of(roots, [&](Value root) { return isAvailable(root); }))
      awaited.push_back(get(other));
  }
  auto own = BarrierOp::create(builder, barrier.getLoc(), value, awaited,
                               barrier.getRepeated());
  own->setDiscardableAttrs(barrier->getDiscardableAttrDictionary());
  return own.getResult(0);
}

bool Distributor::isAvailable(Value root) const {
  Operation *op = root.getDefiningOp();
  if (!op)
    return !stateOf.contains(root) || stage == 0 || tapes.contains(root);
  return common.contains(op) || stageOf.lookup(op) == stage ||
         tapes.contains(root);
}

/// Moves the operation to the end of the loop.
void Distributor::move(Operation *op) {
  for (Value input : inputsOf.lookup(op))
    get(input);
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      operand.set(local.lookupOrDefault(operand.get()));
  });
  op->moveBefore(loop.getBody(), loop.getBody()->end());
}

void Distributor::buildStage() {
  PhaseListener phase(kBackwardPhase);
  if (stage != 0)
    builder.setListener(&phase);
  Location loc = step.function.getLoc();
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);

  // Carried: in the first stage results, then sums of gradients, then tapes.
  SmallVector<Value> inits, nexts;
  if (stage == 0)
    inits = emitResultInits(builder, step);
  nexts.resize(inits.size());
  DenseMap<Value, SmallVector<unsigned>> sumsOf;
  SmallVector<TrainedParameter *> summed;
  for (TrainedParameter &trained : step.trained)
    if (getStage(trained.gradient) == stage) {
      sumsOf[trained.gradient].push_back(inits.size());
      inits.push_back(emitZeroSum(builder, step, trained));
      summed.push_back(&trained);
    }
  SmallVector<Value> kept;
  for (Value value : passed)
    if (getStage(value) == stage)
      kept.push_back(value);
  DenseMap<Value, unsigned> tapeOf;
  for (Value value : kept) {
    tapeOf[value] = inits.size();
    inits.push_back(emitTape(value));
  }
  nexts.resize(inits.size());

  loop = createMicroBatchLoop(builder, loc, count, inits);
  microBatch = loop.getInductionVar();
  local.clear();
  builder.setInsertionPointToEnd(loop.getBody());
  auto record = [&](Value value, Value here) {
    if (auto it = tapeOf.find(value); it != tapeOf.end())
      nexts[it->second] = TapeWriteOp::create(
          builder, value.getLoc(), inits[it->second].getType(), here,
          loop.getRegionIterArg(it->second), microBatch);
    for (unsigned index : sumsOf.lookup(value))
      nexts[index] =
          emitAccumulate(builder, loc, here, loop.getRegionIterArg(index));
    sumsOf.erase(value);
  };
  if (stage == 0)
    for (auto [result, argument] : step.states) {
      Value old = step.function.getArgument(argument);
      local.map(old, loop.getRegionIterArg(result));
      record(old, loop.getRegionIterArg(result));
    }
  for (Operation *op : ops) {
    if (stageOf.lookup(op) != stage || common.contains(op) || isReplicated(op))
      continue;
    move(op);
    for (Value result : op->getResults())
      record(result, result);
  }
  // Gradients that are views, or data.
  for (TrainedParameter *trained : summed)
    if (sumsOf.contains(trained->gradient))
      record(trained->gradient, get(trained->gradient));
  if (stage == 0)
    for (auto [index, next] : llvm::enumerate(terminator->getOperands()))
      nexts[index] = emitResultNext(builder, step, index, get(next),
                                    loop.getRegionIterArg(index));
  scf::YieldOp::create(builder, loc, nexts);

  for (Value value : kept)
    tapes[value] = loop.getResult(tapeOf[value]);
  unsigned first = stage == 0 ? terminator->getNumOperands() : 0;
  for (auto [index, trained] : llvm::enumerate(summed))
    trained->gradient = loop.getResult(first + index);
  if (stage == 0)
    returnResults(step, loop.getResults(), count);
  builder.setListener(nullptr);
}

/// Memory for `value` of every micro-batch.
Value Distributor::emitTape(Value value) {
  SmallVector<int64_t> shape = {count};
  Type element = value.getType();
  if (auto type = dyn_cast<RankedTensorType>(element)) {
    llvm::append_range(shape, type.getShape());
    element = type.getElementType();
  }
  return tensor::EmptyOp::create(builder, value.getLoc(), shape, element);
}

LogicalResult Distributor::run() {
  SmallVector<RankedTensorType> types;
  if (failed(growData(step, count, types)))
    return failure();
  for (auto [index, type] : llvm::zip_equal(step.data, types))
    dataTypes[step.function.getArgument(index)] = type;
  for (auto [result, argument] : step.states)
    stateOf[step.function.getArgument(argument)] = result;
  findStages();
  findPassed();
  if (failed(verify()))
    return failure();
  for (stage = 0; stage < numStages; ++stage) {
    buildStage();
    auto borders = body.getOps<BeginBackwardOp>();
    if (stage == 0 && !borders.empty())
      (*borders.begin())->moveBefore(body.getTerminator());
  }
  for (Operation *op : llvm::reverse(ops))
    if (op->getBlock() == &body && isOpTriviallyDead(op))
      op->erase();
  return success();
}

LogicalResult mlir::remat::distributeOverMicroBatches(StepFunction &step,
                                                      int64_t count) {
  return Distributor(step, count).run();
}
