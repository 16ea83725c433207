//===- Crossings.cpp - How forward values reach the backward --------------===//
//
// Without it only regions in straight-line code could be rematerialized.
//
//===----------------------------------------------------------------------===//

#include "Crossings.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Whether `value` may be an operand of `op`. Forward operations come before
/// backward ones, so only the borders of isolated operations matter.
static bool isVisibleAt(Value value, Operation *op) {
  Region *home = value.getParentRegion();
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion()) {
    if (region == home)
      return true;
    if (region->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>())
      return false;
  }
  return false;
}

static bool isDefinedIn(Value value, scf::ForOp loop) {
  return loop.getRegion().isAncestor(value.getParentRegion());
}

/// Whether two indices are equal in every execution: the same pure arithmetic
/// on the same values, which CSE may or may not have merged.
static bool isSameIndex(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right || left->getNumResults() != 1 ||
      left->getName() != right->getName() || !isPure(left) ||
      left->getNumRegions() != 0 ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getPropertiesAsAttribute() != right->getPropertiesAsAttribute())
    return false;
  return llvm::all_of(
      llvm::zip_equal(left->getOperands(), right->getOperands()),
      [](auto pair) {
        return isSameIndex(std::get<0>(pair), std::get<1>(pair));
      });
}

/// The loop whose tape `write` extends, if the tape is carried by that loop and
/// read by nobody inside; the tape's number in `index`.
static scf::ForOp getRecordingLoop(TapeWriteOp write, unsigned &index) {
  auto tape = dyn_cast<BlockArgument>(write.getTape());
  auto loop = tape ? dyn_cast<scf::ForOp>(tape.getOwner()->getParentOp())
                   : scf::ForOp();
  if (!loop || write->getBlock() != loop.getBody() ||
      tape == loop.getInductionVar() || !write.getResult().hasOneUse())
    return {};
  index = tape.getArgNumber() - loop.getNumInductionVars();
  bool isCarried =
      loop.getBody()->getTerminator()->getOperand(index) == write.getResult();
  return isCarried ? loop : scf::ForOp();
}

/// The write behind a tape that is the result of a loop.
static TapeWriteOp getWriteOf(Value tape) {
  auto loop = tape.getDefiningOp<scf::ForOp>();
  if (!loop)
    return {};
  unsigned number = cast<OpResult>(tape).getResultNumber(), index;
  auto write = loop.getBody()
                   ->getTerminator()
                   ->getOperand(number)
                   .getDefiningOp<TapeWriteOp>();
  return write && getRecordingLoop(write, index) == loop && index == number
             ? write
             : TapeWriteOp();
}

//===----------------------------------------------------------------------===//
// Borders of regions
//===----------------------------------------------------------------------===//

BlockArgument mlir::remat::addInput(BackwardOp backward, Value value) {
  Block *body = backward.getBodyBlock();
  for (auto [operand, argument] :
       llvm::zip_equal(backward.getInputs(), body->getArguments()))
    if (operand == value)
      return argument;
  backward->insertOperands(backward->getNumOperands(), value);
  return body->addArgument(value.getType(), value.getLoc());
}

Value mlir::remat::addResidual(RegionOp region, Value value) {
  YieldOp yield = region.getYield();
  for (auto [index, yielded] : llvm::enumerate(yield->getOperands()))
    if (yielded == value)
      return region->getResult(index);
  OpBuilder builder(region);
  SmallVector<Type> residuals(region.getResiduals().getTypes());
  residuals.push_back(value.getType());
  OperationState state(region.getLoc(), region->getName());
  state.addOperands(region->getOperands());
  state.addTypes(region.getOutputs().getTypes());
  state.addTypes(residuals);
  state.attributes = region->getDiscardableAttrDictionary();
  auto &properties = state.getOrAddProperties<RegionOp::Properties>();
  properties = region.getProperties();
  properties.resultSegmentSizes[1] += 1;
  state.addRegion()->takeBody(region.getBody());
  Operation *grown = builder.create(state);
  yield.getResidualsMutable().append(value);
  region->replaceAllUsesWith(grown->getResults().drop_back());
  region->erase();
  return grown->getResults().back();
}

//===----------------------------------------------------------------------===//
// From forward to backward
//===----------------------------------------------------------------------===//

Crossings::Crossings(ModuleOp module) {
  SymbolTable symbols(module);
  // What a public function returns is not ours to change.
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPrivate() && !function.isExternal() &&
        function.getBody().hasOneBlock())
      calls[function];
  module.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (auto it = calls.find(callee); callee && it != calls.end())
      it->second.push_back(call);
  });
}

SmallVector<ResidualRead> Crossings::getReads(RegionOp region,
                                              llvm::BitVector &opaque) {
  SmallVector<ResidualRead> reads;
  SmallVector<Operation *> left;
  opaque.resize(region.getResiduals().size());
  for (auto [index, residual] : llvm::enumerate(region.getResiduals()))
    follow(residual, index, left, reads, opaque);
  // Several calls lead to the same backward in the called function.
  llvm::SmallDenseSet<std::pair<Operation *, unsigned>> seen;
  llvm::erase_if(reads, [&](const ResidualRead &read) {
    return !seen.insert({read.backward, read.operand}).second;
  });
  return reads;
}

/// `left` are the forward operations that the residual has left and whose
/// counterpart in the backward it has not entered yet.
void Crossings::follow(Value value, unsigned residual,
                       SmallVectorImpl<Operation *> &left,
                       SmallVectorImpl<ResidualRead> &reads,
                       llvm::BitVector &opaque) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto backward = dyn_cast<BackwardOp>(user)) {
      if (left.empty()) {
        reads.push_back({backward, number, residual});
        continue;
      }
      if (isa<RegionOp>(left.back())) {
        Operation *entered = left.pop_back_val();
        follow(backward.getBodyBlock()->getArgument(number), residual, left,
               reads, opaque);
        left.push_back(entered);
        continue;
      }
    } else if (isa<YieldOp>(user) && isa<RegionOp>(user->getParentOp())) {
      left.push_back(user->getParentOp());
      follow(left.back()->getResult(number), residual, left, reads, opaque);
      left.pop_back();
      continue;
    } else if (auto write = dyn_cast<TapeWriteOp>(user)) {
      if (number == 0 && followTapeWrite(write, residual, left, reads, opaque))
        continue;
    } else if (auto read = dyn_cast<TapeReadOp>(user)) {
      if (number == 0 && followTapeRead(read, residual, left, reads, opaque))
        continue;
    } else if (auto end = dyn_cast<func::ReturnOp>(user)) {
      if (followReturn(end, number, residual, left, reads, opaque))
        continue;
    } else if (auto call = dyn_cast<func::CallOp>(user)) {
      if (followCall(call, number, residual, left, reads, opaque))
        continue;
    }
    opaque.set(residual);
  }
}

bool Crossings::followTapeWrite(TapeWriteOp write, unsigned residual,
                                SmallVectorImpl<Operation *> &left,
                                SmallVectorImpl<ResidualRead> &reads,
                                llvm::BitVector &opaque) {
  unsigned index;
  scf::ForOp loop = getRecordingLoop(write, index);
  if (!loop)
    return false;
  left.push_back(write);
  follow(loop.getResult(index), residual, left, reads, opaque);
  left.pop_back();
  return true;
}

bool Crossings::followTapeRead(TapeReadOp read, unsigned residual,
                               SmallVectorImpl<Operation *> &left,
                               SmallVectorImpl<ResidualRead> &reads,
                               llvm::BitVector &opaque) {
  auto write =
      left.empty() ? TapeWriteOp() : dyn_cast<TapeWriteOp>(left.back());
  if (!write || !link(write, read))
    return false;
  left.pop_back();
  follow(read.getValue(), residual, left, reads, opaque);
  left.push_back(write);
  return true;
}

bool Crossings::followReturn(func::ReturnOp end, unsigned number,
                             unsigned residual,
                             SmallVectorImpl<Operation *> &left,
                             SmallVectorImpl<ResidualRead> &reads,
                             llvm::BitVector &opaque) {
  auto it = calls.find(end->getParentOp());
  if (it == calls.end() || it->second.empty())
    return false;
  functions.insert(cast<func::FuncOp>(end->getParentOp()));
  for (func::CallOp call : it->second) {
    left.push_back(call);
    follow(call.getResult(number), residual, left, reads, opaque);
    left.pop_back();
  }
  return true;
}

bool Crossings::followCall(func::CallOp call, unsigned number,
                           unsigned residual,
                           SmallVectorImpl<Operation *> &left,
                           SmallVectorImpl<ResidualRead> &reads,
                           llvm::BitVector &opaque) {
  auto forward =
      left.empty() ? func::CallOp() : dyn_cast<func::CallOp>(left.back());
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!forward || !callee || !calls.contains(callee))
    return false;
  SmallVector<CallLink> &known = callLinks[callee];
  auto link = llvm::find_if(
      known, [&](const CallLink &link) { return link.backward == call; });
  if (link == known.end())
    known.push_back({forward, call});
  else if (link->forward != forward)
    return false;
  functions.insert(callee);
  left.pop_back();
  follow(callee.getArgument(number), residual, left, reads, opaque);
  left.push_back(forward);
  return true;
}

/// Moves the arithmetic behind `index` to the start of `loop`'s body, so that
/// every backward in it can use it.
static bool hoistIndex(Value index, scf::ForOp loop) {
  if (!isDefinedIn(index, loop) || index == loop.getInductionVar())
    return true;
  Operation *op = index.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody() || op->getNumRegions() != 0 ||
      !isPure(op))
    return false;
  SetVector<Operation *> chain;
  chain.insert(op);
  for (unsigned next = 0; next < chain.size(); ++next)
    for (Value operand : chain[next]->getOperands()) {
      if (!isDefinedIn(operand, loop) || operand == loop.getInductionVar())
        continue;
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getBlock() != loop.getBody() ||
          producer->getNumRegions() != 0 || !isPure(producer) ||
          isa<ShapedType>(operand.getType()))
        return false;
      // A producer that several read moves in front of all of them.
      chain.remove(producer);
      chain.insert(producer);
    }
  for (Operation *link : chain)
    link->moveBefore(loop.getBody(), loop.getBody()->begin());
  return true;
}

bool Crossings::link(TapeWriteOp write, TapeReadOp read) {
  auto backward = dyn_cast<scf::ForOp>(read->getParentOp());
  int64_t length =
      cast<RankedTensorType>(read.getTape().getType()).getDimSize(0);
  if (!backward || !hoistIndex(read.getIndex(), backward))
    return false;
  auto [it, isFirst] =
      links.try_emplace({write->getBlock(), backward},
                        LoopLink{write.getIndex(), read.getIndex(), length});
  return isFirst || (isSameIndex(it->second.written, write.getIndex()) &&
                     isSameIndex(it->second.read, read.getIndex()));
}

//===----------------------------------------------------------------------===//
// From backward to forward
//===----------------------------------------------------------------------===//

/// The write behind `read`, if both are of corresponding iterations.
TapeWriteOp Crossings::getLinkedWrite(TapeReadOp read) {
  TapeWriteOp write = getWriteOf(getOrigin(read.getTape()));
  if (!write)
    return {};
  auto it = links.find({write->getBlock(), read->getParentOp()});
  bool isLinked = it != links.end() &&
                  isSameIndex(it->second.written, write.getIndex()) &&
                  isSameIndex(it->second.read, read.getIndex());
  return isLinked ? write : TapeWriteOp();
}

/// What every call of a backward function passes in this place, in terms of the
/// forward function: something that it returns or one of its arguments. Null if
/// it is neither, or not the same in all calls.
Value Crossings::getOriginOfArgument(func::FuncOp backward, unsigned number) {
  auto it = callLinks.find(backward);
  if (it == callLinks.end() || it->second.size() != calls[backward].size())
    return {};
  Value origin;
  for (CallLink link : it->second) {
    auto forward = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        link.forward, link.forward.getCalleeAttr());
    Value passed = getOrigin(link.backward.getOperand(number)), here;
    if (passed.getDefiningOp() == link.forward)
      here = forward.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(passed).getResultNumber());
    for (auto [index, operand] : llvm::enumerate(link.forward.getOperands()))
      if (!here && getOrigin(operand) == passed)
        here = forward.getArgument(index);
    if (!here || (origin && origin != here))
      return {};
    origin = here;
  }
  return origin;
}

Value Crossings::getOrigin(Value value) {
  while (true) {
    value = lookThroughNames(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto function = dyn_cast<func::FuncOp>(parent)) {
        Value passed = getOriginOfArgument(function, argument.getArgNumber());
        return passed ? getOrigin(passed) : value;
      }
      if (!isa<RegionOp, BackwardOp>(parent))
        return value;
      value = parent->getOperand(argument.getArgNumber());
      continue;
    }
    if (auto region = value.getDefiningOp<RegionOp>()) {
      value = region.getYield()->getOperand(
          cast<OpResult>(value).getResultNumber());
      continue;
    }
    auto read = value.getDefiningOp<TapeReadOp>();
    TapeWriteOp write = read ? getLinkedWrite(read) : TapeWriteOp();
    if (!write)
      return value;
    value = write.getValue();
  }
}

//===----------------------------------------------------------------------===//
// New crossings
//===----------------------------------------------------------------------===//

Value Crossings::bring(Value value, Block *scope, Operation *backward) {
  if (isVisibleAt(value, backward))
    return value;
  Operation *forwardParent = scope->getParentOp();
  Operation *backwardParent = backward->getParentOp();

  if (auto outerBackward = dyn_cast<BackwardOp>(backwardParent)) {
    auto outer = dyn_cast<RegionOp>(forwardParent);
    if (!outer)
      return {};
    auto argument = dyn_cast<BlockArgument>(value);
    Value outside = argument && argument.getOwner() == outer.getBodyBlock()
                        ? outer->getOperand(argument.getArgNumber())
                        : addResidual(outer, value);
    Value crossed =
        bring(outside, scope->getParentOp()->getBlock(), outerBackward);
    return crossed ? addInput(outerBackward, crossed) : Value();
  }

  if (auto backwardLoop = dyn_cast<scf::ForOp>(backwardParent)) {
    auto forwardLoop = dyn_cast<scf::ForOp>(forwardParent);
    // The region was loop-invariant, and has left its loop.
    if (!forwardLoop)
      return bring(value, scope, backwardLoop);
    return bringIntoLoop(value, forwardLoop, backwardLoop, backward);
  }

  auto forwardFunction = dyn_cast<func::FuncOp>(forwardParent);
  auto backwardFunction = dyn_cast<func::FuncOp>(backwardParent);
  if (forwardFunction && backwardFunction)
    return bringThroughCalls(value, forwardFunction, backwardFunction);
  return {};
}

/// Returns `value` from `function` as result `number`, in all its calls.
void Crossings::addResult(func::FuncOp function, Value value,
                          unsigned &number) {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [index, operand] : llvm::enumerate(end->getOperands()))
    if (operand == value) {
      number = index;
      return;
    }
  number = end->getNumOperands();
  end->insertOperands(number, value);
  (void)function.insertResult(number, value.getType(), {});
  for (func::CallOp &call : calls[function]) {
    OpBuilder builder(call);
    func::CallOp old = call;
    call = func::CallOp::create(builder, old.getLoc(), function,
                                old.getOperands());
    call->setDiscardableAttrs(old->getDiscardableAttrDictionary());
    old->replaceAllUsesWith(call->getResults().drop_back());
    for (auto &[backward, links] : callLinks)
      for (CallLink &link : links)
        if (link.forward == old)
          link.forward = call;
    old->erase();
  }
}

/// As an argument that every call of the backward function gets from the call
/// of the forward function that belongs to it.
Value Crossings::bringThroughCalls(Value value, func::FuncOp forward,
                                   func::FuncOp backward) {
  auto it = callLinks.find(backward);
  if (it == callLinks.end() || it->second.size() != calls[backward].size())
    return {};
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned number;
  if (argument)
    number = argument.getArgNumber();
  else
    addResult(forward, value, number);

  SmallVector<Value> passed;
  for (CallLink link : it->second) {
    Value outside = argument ? link.forward.getOperand(number)
                             : link.forward.getResult(number);
    Value brought = bring(outside, link.forward->getBlock(), link.backward);
    if (!brought)
      return {};
    passed.push_back(brought);
  }
  SmallVector<CallLink> links = callLinks[backward];
  for (BlockArgument known : backward.getArguments())
    if (llvm::all_of(llvm::zip_equal(links, passed), [&](auto pair) {
          auto &[link, value] = pair;
          return link.backward.getOperand(known.getArgNumber()) == value;
        }))
      return known;
  unsigned last = backward.getNumArguments();
  if (failed(
          backward.insertArgument(last, value.getType(), {}, value.getLoc())))
    return {};
  for (auto [link, operand] : llvm::zip_equal(links, passed))
    link.backward->insertOperands(last, operand);
  return backward.getArgument(last);
}

Value Crossings::bringIntoLoop(Value value, scf::ForOp forward,
                               scf::ForOp backward, Operation *reader) {
  if (!isDefinedIn(value, forward))
    return bring(value, forward->getBlock(), backward);
  auto it = links.find({forward.getBody(), backward});
  if (it == links.end())
    return {};
  LoopLink link = it->second;
  if (isCheap(value, forward, link))
    return cloneCheap(value, forward, backward, link, reader);
  return bringThroughTape(value, forward, backward, link, reader);
}

/// Whether the backward loop can compute `value` anew at no cost: index
/// arithmetic, and slices of tensors that do not change in the loop.
bool Crossings::isCheap(Value value, scf::ForOp forward, const LoopLink &link) {
  if (!isDefinedIn(value, forward))
    return true;
  if (value == forward.getInductionVar())
    return link.written == value;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || !isPure(op))
    return false;
  bool isCheapOp =
      isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp, tensor::ExtractOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>() ||
      llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>);
  return isCheapOp && !isa<NameOp, BarrierOp, TapeReadOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isCheap(operand, forward, link);
         });
}

Value Crossings::cloneCheap(Value value, scf::ForOp forward,
                            scf::ForOp backward, const LoopLink &link,
                            Operation *reader) {
  if (!isDefinedIn(value, forward))
    return bring(value, forward->getBlock(), backward);
  if (value == forward.getInductionVar())
    return link.read;
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value brought = cloneCheap(operand, forward, backward, link, reader);
    if (!brought)
      return {};
    mapping.map(operand, brought);
  }
  OpBuilder builder(reader);
  Operation *clone = builder.clone(*op, mapping);
  clone->setDiscardableAttr(RematDialect::getPhaseAttrName(),
                            builder.getStringAttr(kRecomputePhase));
  return clone->getResult(cast<OpResult>(value).getResultNumber());
}

/// The type of a tape of `length` values of `type`; null if there is none.
static RankedTensorType getTapeType(Type type, int64_t length) {
  if (ShapedType::isDynamic(length))
    return {};
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (!tensor.hasStaticShape())
      return {};
    SmallVector<int64_t> shape{length};
    llvm::append_range(shape, tensor.getShape());
    return RankedTensorType::get(shape, tensor.getElementType());
  }
  return RankedTensorType::isValidElementType(type)
             ? RankedTensorType::get({length}, type)
             : RankedTensorType();
}

/// A result of `loop` that records `value` at `index` in each iteration.
static Value addTape(scf::ForOp loop, Value value, Value index,
                     RankedTensorType type) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [number, yielded] : llvm::enumerate(yield.getOperands())) {
    TapeWriteOp write = getWriteOf(loop.getResult(number));
    if (write && write.getValue() == value &&
        isSameIndex(write.getIndex(), index))
      return loop.getResult(number);
  }
  OpBuilder builder(loop);
  Location loc = value.getLoc();
  SmallVector<Value> inits(loop.getInitArgs());
  inits.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType()));
  auto grown = scf::ForOp::create(
      builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
      loop.getStep(), inits, [](OpBuilder &, Location, Value, ValueRange) {},
      loop.getUnsignedCmp());
  grown->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  grown.getRegion().takeBody(loop.getRegion());
  BlockArgument tape = grown.getBody()->addArgument(type, loc);
  builder.setInsertionPoint(yield);
  auto write = TapeWriteOp::create(builder, loc, value, tape, index);
  yield->insertOperands(yield->getNumOperands(), write.getResult());
  loop->replaceAllUsesWith(grown->getResults().drop_back());
  loop->erase();
  return grown->getResults().back();
}

Value Crossings::bringThroughTape(Value value, scf::ForOp forward,
                                  scf::ForOp backward, const LoopLink &link,
                                  Operation *reader) {
  RankedTensorType type = getTapeType(value.getType(), link.length);
  if (!type)
    return {};
  Value recorded = addTape(forward, value, link.written, type);
  Value tape = bring(recorded, recorded.getDefiningOp()->getBlock(), backward);
  if (!tape)
    return {};
  for (Operation *user : tape.getUsers())
    if (auto read = dyn_cast<TapeReadOp>(user);
        read && read->getBlock() == reader->getBlock() &&
        isSameIndex(read.getIndex(), link.read) &&
        read->isBeforeInBlock(reader))
      return read.getValue();
  OpBuilder builder(reader);
  auto read = TapeReadOp::create(builder, value.getLoc(), value.getType(), tape,
                                 link.read);
  read->setDiscardableAttr(RematDialect::getPhaseAttrName(),
                           builder.getStringAttr(kBackwardPhase));
  return read.getValue();
}
