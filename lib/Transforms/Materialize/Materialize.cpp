//===- Materialize.cpp - Delete residuals by recomputing them -------------===//
//
// Differentiation saves whatever the backward reads. Here the policies take
// effect: without this pass a region costs memory like any other code.
//
//===----------------------------------------------------------------------===//

#include "Crossings.h"
#include "DropDead.h"
#include "Slice.h"
#include "remat/Dialect/Remat/IR/Effects.h"
#include "remat/Transforms/Materialize/Passes.h"
#include "remat/Transforms/Materialize/RecomputeCostOpInterface.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_MATERIALIZE
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// One backward of one region: its arguments in terms of the forward.
struct Reader {
  BackwardOp backward;
  /// For values of the region's body (without names): the argument that has it.
  DenseMap<Value, BlockArgument> have;
  /// Arguments of the region that arrive as operands and are read.
  SmallVector<Value> operands;
  /// Values that arrive as residuals and are read.
  SmallVector<Value> needed;
  /// Arguments that are neither operands nor residuals of the region.
  SmallVector<BlockArgument> cotangents;
};

/// Rematerializes one region. The region may be replaced while new residuals
/// are added, so it is named by its body.
class RegionMaterializer {
public:
  RegionMaterializer(Block *body, Crossings &crossings, Effects &effects,
                     bool report)
      : body(body), crossings(crossings), effects(effects), report(report) {}

  LogicalResult run();

private:
  RegionOp getRegion() { return cast<RegionOp>(body->getParentOp()); }

  Reader makeReader(BackwardOp backward, ArrayRef<ResidualRead> reads,
                    ArrayRef<Operation *> opaque);
  void warnOfOpaque(ArrayRef<Operation *> opaque);
  void warnOfKept(const Reader &reader, const Slice &slice, Value stuck);
  LogicalResult checkReplayable(const Slice &slice);
  Value bringInputs(Reader &reader, const Slice &slice);
  void mapInputs(Reader &reader, const Slice &slice, IRMapping &mapping);
  void cloneSlice(Reader &reader, const Slice &slice);
  void remarkOn(const Slice &slice);

  Block *body;
  Crossings &crossings;
  Effects &effects;
  bool report;
};
} // namespace

//===----------------------------------------------------------------------===//
// What a backward has and needs
//===----------------------------------------------------------------------===//

/// Cotangents are what is neither an operand nor a residual of the region.
Reader RegionMaterializer::makeReader(BackwardOp backward,
                                      ArrayRef<ResidualRead> reads,
                                      ArrayRef<Operation *> opaque) {
  Reader reader;
  reader.backward = backward;
  RegionOp region = getRegion();
  DenseMap<Value, BlockArgument> operandOf;
  for (auto [operand, argument] :
       llvm::zip_equal(region.getInputs(), body->getArguments()))
    operandOf.try_emplace(crossings.getOrigin(operand), argument);
  // A backward may also read an output: the same bits as a residual.
  DenseMap<Value, Value> outputOf;
  for (Value yielded : region.getYield().getOutputs())
    outputOf.try_emplace(crossings.getOrigin(yielded),
                         lookThroughNames(yielded));

  DenseMap<unsigned, unsigned> residualOf;
  for (const ResidualRead &read : reads)
    residualOf[read.operand] = read.residual;
  for (BlockArgument argument : backward.getBodyBlock()->getArguments()) {
    unsigned number = argument.getArgNumber();
    Value value;
    if (auto it = residualOf.find(number); it != residualOf.end())
      value = lookThroughNames(region.getYield().getResiduals()[it->second]);
    else
      value =
          operandOf.lookup(crossings.getOrigin(backward.getInputs()[number]));
    if (!value) {
      reader.cotangents.push_back(argument);
      continue;
    }
    auto [it, isFirst] = reader.have.try_emplace(value, argument);
    if (!isFirst)
      argument.replaceAllUsesWith(it->second);
  }
  for (BlockArgument argument : body->getArguments())
    if (auto it = reader.have.find(argument);
        it != reader.have.end() && !it->second.use_empty())
      reader.operands.push_back(argument);
  SetVector<Value> needed(reader.needed.begin(), reader.needed.end());
  for (const ResidualRead &read : reads) {
    Value value =
        lookThroughNames(region.getYield().getResiduals()[read.residual]);
    if (!isa<BlockArgument>(value) && !opaque[read.residual] &&
        !reader.have[value].use_empty())
      needed.insert(value);
  }
  reader.needed = needed.takeVector();
  return reader;
}

//===----------------------------------------------------------------------===//
// What stays saved against the policy
//===----------------------------------------------------------------------===//

/// Why the path of a residual ends at `use`, and what to do about it.
static StringRef explainUse(Operation *use) {
  if (isa<func::ReturnOp>(use))
    return "is returned here by a function that is not private, or that nobody "
           "calls: make it private, or inline its calls (-inline) before "
           "-remat-differentiate";
  if (isa<TapeWriteOp, TapeReadOp>(use))
    return "goes through a tape here that a loop does not write once in each "
           "iteration, or that a backward loop does not read in the same "
           "order: "
           "give the residual a tape of its own";
  if (isa<CallOpInterface>(use))
    return "is passed here to a function that is not the private backward of "
           "the function that returns it: inline the call (-inline) before "
           "-remat-differentiate";
  return "is read here by something that is not the region's remat.backward: "
         "yield a value that the model itself reads as an output of the region "
         "instead";
}

void RegionMaterializer::warnOfOpaque(ArrayRef<Operation *> opaque) {
  RegionOp region = getRegion();
  for (auto [index, use] : llvm::enumerate(opaque)) {
    Value value = lookThroughNames(region.getYield().getResiduals()[index]);
    if (!use || isa<BlockArgument>(value) ||
        region.getPolicyOrDefault().isSaveable(value))
      continue;
    InFlightDiagnostic warning =
        emitWarning(value.getLoc(), "this value stays saved although the "
                                    "policy of its remat.region forbids it");
    warning.attachNote(use->getLoc())
        << "residual " << index << " " << explainUse(use);
    warning.attachNote(region.getLoc()) << "region is here";
  }
}

void RegionMaterializer::warnOfKept(const Reader &reader, const Slice &slice,
                                    Value stuck) {
  for (Value value : reader.needed) {
    if (slice.saved.contains(value))
      continue;
    InFlightDiagnostic warning =
        emitWarning(value.getLoc(), "this value stays saved although the "
                                    "policy of its remat.region forbids it");
    warning.attachNote(stuck.getLoc())
        << "a recompute would need this value, which cannot be sent to the "
           "backward: give it a size that is known before the loops around the "
           "region (for a tape), and inline calls of public functions; or let "
           "the policy save the value";
    warning.attachNote(getRegion().getLoc()) << "region is here";
  }
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

LogicalResult RegionMaterializer::checkReplayable(const Slice &slice) {
  for (Operation *op : slice.ops) {
    Operation *culprit = nullptr;
    if (effects.isReplayable(op, culprit))
      continue;
    InFlightDiagnostic diagnostic =
        culprit->emitError()
        << "operation with side effects would run again in the backward of its "
           "region; move it out of the remat.region, or choose a policy that "
           "saves what depends on it (remat.name and "
           "#remat.save_only_names<...>)";
    diagnostic.attachNote(getRegion().getLoc()) << "region is here";
    return diagnostic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// Makes what the slice starts from, and what is saved, arguments of the
/// backward. Returns the first value for which there is no path, or null.
Value RegionMaterializer::bringInputs(Reader &reader, const Slice &slice) {
  SetVector<Value> wanted = slice.inputs;
  wanted.insert_range(slice.saved);
  wanted.insert_range(reader.operands);
  for (Value value : wanted) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto it = reader.have.find(value);
    bool has = it != reader.have.end();
    if (has && !argument)
      continue;
    // An operand that the backward has may still come a dearer way than need
    // be: as a residual, or through a tape.
    Value outside = argument ? getRegion()->getOperand(argument.getArgNumber())
                             : addResidual(getRegion(), value);
    Value brought =
        crossings.bring(outside, getRegion()->getBlock(), reader.backward);
    if (!brought && !has)
      return value;
    if (!brought)
      continue;
    BlockArgument input = addInput(reader.backward, brought);
    if (has && it->second != input)
      it->second.replaceAllUsesWith(input);
    reader.have[value] = input;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Recomputing
//===----------------------------------------------------------------------===//

/// Phases belong to whole operations of the step, not to a kernel's scalars.
static void markRecompute(Operation *root) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>() &&
        !op->hasTrait<OpTrait::ConstantLike>())
      setPhase(op, kRecomputePhase);
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
}

static BarrierOp createBarrier(OpBuilder &builder, Location loc,
                               ValueRange values, ValueRange after) {
  auto barrier = BarrierOp::create(builder, loc, values, after);
  markRecompute(barrier);
  return barrier;
}

/// One barrier for all inputs of the slice, at the start of the backward for
/// now. Operands with `prevent_cse = false` are read as they are, and so is
/// everything if no operand prevents it.
void RegionMaterializer::mapInputs(Reader &reader, const Slice &slice,
                                   IRMapping &mapping) {
  RegionOp region = getRegion();
  std::optional<ArrayRef<bool>> flags = region.getPreventCse();
  bool anyPrevents =
      !flags || flags->empty() || llvm::is_contained(*flags, true);
  SmallVector<Value> values, guarded;
  for (Value input : slice.inputs) {
    auto argument = dyn_cast<BlockArgument>(input);
    BlockArgument raw = reader.have[input];
    if (argument ? region.preventsCSE(argument.getArgNumber()) : anyPrevents) {
      values.push_back(input);
      guarded.push_back(raw);
    } else {
      mapping.map(input, raw);
    }
  }
  if (guarded.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(reader.backward.getBodyBlock());
  BarrierOp barrier = createBarrier(builder, region.getLoc(), guarded,
                                    ValueRange(reader.cotangents));
  mapping.map(ValueRange(values), barrier.getResults());
}

/// Reads of a fill or another operation that depends on constants only pass no
/// barrier: put one on an operand, so that it is neither merged with that of
/// another region nor hoisted from a loop, and stays a short-lived buffer.
static void guardConstantOps(ArrayRef<Operation *> clones,
                             ArrayRef<BlockArgument> cotangents) {
  DenseSet<Operation *> constant;
  for (Operation *clone : clones) {
    bool isConstant = llvm::all_of(getReadValues(clone), [&](Value read) {
      return constant.contains(read.getDefiningOp());
    });
    if (!isConstant || isa<BarrierOp>(clone))
      continue;
    if (clone->getNumOperands() == 0 ||
        llvm::none_of(clone->getResultTypes(), llvm::IsaPred<ShapedType>)) {
      constant.insert(clone);
      continue;
    }
    OpBuilder builder(clone);
    OpOperand &last = clone->getOpOperand(clone->getNumOperands() - 1);
    last.set(createBarrier(builder, clone->getLoc(), last.get(),
                           ValueRange(cotangents))
                 .getResult(0));
  }
}

/// Moves each of `clones` (in program order, at the start of `block`) in front
/// of the first operation that reads it.
static void sinkToReaders(ArrayRef<Operation *> clones, Block *block) {
  DenseMap<Operation *, unsigned> position;
  SmallVector<Operation *> rest;
  DenseSet<Operation *> isClone(clones.begin(), clones.end());
  for (Operation &op : *block)
    if (!isClone.contains(&op)) {
      position[&op] = rest.size();
      rest.push_back(&op);
    }
  for (Operation *clone : llvm::reverse(clones)) {
    unsigned first = rest.size() - 1;
    for (Operation *user : clone->getUsers())
      first =
          std::min(first, position.lookup(block->findAncestorOpInBlock(*user)));
    position[clone] = first;
  }
  for (Operation *clone : clones)
    clone->moveBefore(rest[position[clone]]);
}

void RegionMaterializer::cloneSlice(Reader &reader, const Slice &slice) {
  Block *target = reader.backward.getBodyBlock();
  Operation *first = &target->front();
  IRMapping mapping;
  mapInputs(reader, slice, mapping);
  OpBuilder builder(first);
  for (Operation *op : slice.ops) {
    // Names are not cloned; who reads one reads what it names.
    for (Value read : getReadValues(op))
      if (!mapping.contains(read))
        mapping.map(read, mapping.lookup(lookThroughNames(read)));
    Operation *clone = builder.clone(*op, mapping);
    effects.eraseEffects(clone);
    markRecompute(clone);
  }
  for (Value value : reader.needed)
    if (Value recomputed = mapping.lookupOrNull(value);
        recomputed && !slice.saved.contains(value))
      reader.have[value].replaceAllUsesWith(recomputed);

  auto getClones = [&] {
    SmallVector<Operation *> clones;
    for (Operation &op :
         llvm::make_range(target->begin(), first->getIterator()))
      clones.push_back(&op);
    return clones;
  };
  RegionOp region = getRegion();
  std::optional<ArrayRef<bool>> flags = region.getPreventCse();
  if (!flags || flags->empty() || llvm::is_contained(*flags, true))
    guardConstantOps(getClones(), reader.cotangents);
  sinkToReaders(getClones(), target);
}

/// What the backward reads no more must not look needed to the regions around.
static void dropUnusedInputs(BackwardOp backward) {
  llvm::BitVector unused = getUnusedInputs(backward);
  SetVector<Value> dropped;
  for (unsigned index : unused.set_bits())
    dropped.insert(backward.getInputs()[index]);
  eraseInputs(backward, unused);
  for (Value value : dropped)
    if (auto read = value.getDefiningOp<TapeReadOp>(); read && read.use_empty())
      read.erase();
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

void RegionMaterializer::remarkOn(const Slice &slice) {
  RegionOp region = getRegion();
  int64_t bytes = 0;
  bool offloads = false;
  for (Value value : slice.saved) {
    bytes += getNumBytes(value.getType());
    offloads |= region.getPolicyOrDefault().isOffloadable(value);
  }
  int64_t recomputed = 0, cost = 0;
  for (Operation *op : slice.ops)
    if (!op->hasTrait<OpTrait::ConstantLike>() && !isa<tensor::EmptyOp>(op)) {
      ++recomputed;
      cost += getRecomputeCost(op);
    }
  InFlightDiagnostic remark = region.emitRemark();
  if (std::optional<StringRef> label = region.getLabel())
    remark << "region \"" << *label << "\": ";
  remark << "saves " << slice.saved.size() << " values (" << bytes
         << " bytes), recomputes " << recomputed << " operations";
  if (recomputed != 0)
    remark << " (" << cost << " scalar ones)";
  if (offloads)
    remark << "; what the policy offloads stays in main memory on this target";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult RegionMaterializer::run() {
  SmallVector<Operation *> opaque;
  SmallVector<ResidualRead> reads = crossings.getReads(getRegion(), opaque);
  warnOfOpaque(opaque);
  llvm::MapVector<Operation *, SmallVector<ResidualRead>> readsOf;
  for (const ResidualRead &read : reads)
    readsOf[read.backward].push_back(read);
  for (auto &[backward, itsReads] : readsOf) {
    Reader reader = makeReader(cast<BackwardOp>(backward), itsReads, opaque);
    Slice slice = computeSlice(getRegion(), reader.needed);
    if (failed(checkReplayable(slice)))
      return failure();
    if (Value stuck = bringInputs(reader, slice)) {
      warnOfKept(reader, slice, stuck);
      continue;
    }
    if (report)
      remarkOn(slice);
    if (!slice.ops.empty())
      cloneSlice(reader, slice);
    dropUnusedInputs(reader.backward);
  }
  return success();
}

/// A called function is inside the regions that call it.
static void addCalleesFirst(func::FuncOp function, SymbolTable &symbols,
                            DenseSet<Operation *> &seen,
                            SetVector<func::FuncOp> &functions) {
  if (!seen.insert(function).second)
    return;
  function.walk([&](func::CallOp call) {
    if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
      addCalleesFirst(callee, symbols, seen, functions);
  });
  functions.insert(function);
}

static SetVector<func::FuncOp> getFunctionsCalleesFirst(ModuleOp module) {
  SymbolTable symbols(module);
  DenseSet<Operation *> seen;
  SetVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    addCalleesFirst(function, symbols, seen, functions);
  return functions;
}

namespace {
struct MaterializePass : remat::impl::MaterializeBase<MaterializePass> {
  using MaterializeBase::MaterializeBase;

  void runOnOperation() override {
    // Inner regions first: their recomputes read operands that then cross the
    // border of the outer region as residuals, which the outer policy judges.
    SmallVector<Block *> bodies;
    SetVector<func::FuncOp> functions =
        getFunctionsCalleesFirst(getOperation());
    for (func::FuncOp function : functions)
      function.walk(
          [&](RegionOp region) { bodies.push_back(region.getBodyBlock()); });
    if (bodies.empty())
      return markAllAnalysesPreserved();
    Effects effects;
    Crossings crossings(getOperation());
    for (Block *body : bodies)
      if (failed(RegionMaterializer(body, crossings, effects, report).run()))
        return signalPassFailure();
    dropDead(getOperation(), crossings.getFunctions(), effects);
  }
};
} // namespace
