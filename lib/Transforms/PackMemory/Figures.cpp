//===- Figures.cpp - What is measured of a packed function ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Figures.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Plan/Packing.h"
#include "remat/Transforms/PackMemory/Workspace.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"

#include <utility>

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool wasInBackward(const Buffer &buffer) {
  return buffer.wasIn(Phase::backward) || buffer.wasIn(Phase::recompute);
}

static bool isResidual(const Buffer &buffer) {
  return buffer.wasIn(Phase::forward) &&
         (wasInBackward(buffer) || buffer.wasIn(Phase::update));
}

/// The memref that holds the elements of `type` without gaps.
static Type getCompact(Type type) {
  auto memref = cast<BaseMemRefType>(type);
  if (!memref.hasRank())
    return type;
  return MemRefType::get(memref.getShape(), memref.getElementType());
}

/// How often one call of the function runs `op`, as far as loop bounds tell.
static int64_t getRunCount(Operation *op) {
  int64_t count = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (std::optional<llvm::APInt> trips = loop.getStaticTripCount())
      count *= trips->getSExtValue();
  return count;
}

const Frame *Figures::getCallee(func::CallOp call) const {
  auto it = frames.find(symbols.lookup(call.getCallee()));
  return it == frames.end() ? nullptr : &it->second;
}

/// Calls `visit` for the operations that read or write `memory`, or a view of
/// it.
static void forEachUser(Value memory, function_ref<void(Operation *)> visit) {
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ViewLikeOpInterface, memref::CastOp>(user) &&
        use.getOperandNumber() == 0)
      forEachUser(user->getResult(0), visit);
    else if (!isa<memref::DeallocOp>(user))
      visit(user);
  }
}

/// Returns the operation that computes the contents of `buffer`: its first user
/// in the program, but for fills. Uses of a value are in the order in which
/// passes have made them, upstream's too, which may change from run to run.
Operation *Figures::getWriter(const Buffer &buffer) const {
  memref::AllocOp alloc = buffer.alloc;
  Operation *writer = nullptr;
  forEachUser(alloc, [&](Operation *user) {
    if (!isa<linalg::FillOp>(user) &&
        alloc->getBlock()->findAncestorOpInBlock(*user) &&
        (!writer || textOrder.lookup(user) < textOrder.lookup(writer)))
      writer = user;
  });
  return writer;
}

/// The name of `op`, of a call that of what is called.
static std::string describeOperation(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return ("@" + call.getCallee()).str();
  return op->getName().getStringRef().str();
}

static std::string describeElements(MemRefType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape())
    os << size << 'x';
  os << type.getElementType();
  return text;
}

int64_t Figures::getMostResiduals(ArrayRef<Place> places) {
  std::vector<::remat::plan::Interval> kept;
  auto add = [&](Lifetime lifetime, int64_t size) {
    kept.push_back({lifetime.first, lifetime.last + 1, size, alignment});
  };
  for (const Place &place : places) {
    if (place.call)
      add(place.lifetime, getCallee(place.call)->residuals);
    for (unsigned index : place.buffers)
      if (const Buffer &buffer = lifetimes.getBuffers()[index];
          isResidual(buffer))
        add(buffer.lifetime, llvm::alignTo(buffer.size, alignment));
  }
  return ::remat::plan::getMaxLive(kept);
}

Frame Figures::getFrame(const FunctionMemory &memory) const {
  return {memory.arena, memory.parts,         memory.residuals,
          ops,          memory.recomputedOps, memory.copiedBytes,
          tables};
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

LiveBuffer Figures::describeBuffer(const Buffer &buffer) const {
  LiveBuffer live;
  Operation *writer = getWriter(buffer);
  if (buffer.alloc->hasAttr(kWorkspaceAttrName))
    live.part = "workspace";
  else if (writer && lifetimes.getPhase(writer) == Phase::recompute)
    live.part = "recomputed"; // also where an update reads it
  else if (isResidual(buffer))
    live.part = "residual";
  else if (wasInBackward(buffer) && buffer.wasIn(Phase::update))
    live.part = "gradient";
  else
    live.part = "temporary";
  live.type =
      describeElements(cast<MemRefType>(buffer.alloc->getResult(0).getType()));
  if (writer) {
    live.op = describeOperation(writer);
    live.line = describeSource(writer->getLoc());
  }
  return live;
}

/// Adds what `place` holds to the list, and to the sums if that is at the peak.
/// Where a buffer takes over from another, the bytes are its own from its first
/// use on: all of the place's, whatever it needs of them.
void Figures::describePlace(const Place &place, FunctionMemory &memory) {
  auto add = [&](LiveBuffer live, int64_t first, int64_t last) {
    live.first = first;
    live.last = last;
    live.bytes = place.size;
    memory.live.push_back(std::move(live));
    return first <= memory.peakPosition && memory.peakPosition <= last;
  };
  if (func::CallOp call = place.call) {
    LiveBuffer live;
    live.part = "call";
    live.op = describeOperation(call);
    live.line = describeSource(call.getLoc());
    if (!add(std::move(live), place.lifetime.first, place.lifetime.last))
      return;
    MemoryParts parts = getCallee(call)->parts;
    if (lifetimes.getPhase(call) == Phase::recompute)
      parts.recomputed += std::exchange(parts.temporaries, 0);
    memory.parts += parts;
    return;
  }
  int64_t end = place.lifetime.last;
  for (unsigned index : llvm::reverse(place.buffers)) {
    const Buffer &buffer = lifetimes.getBuffers()[index];
    if (buffer.lifetime.first > end)
      continue; // never used
    LiveBuffer live = describeBuffer(buffer);
    StringRef part = live.part;
    if (add(std::move(live), buffer.lifetime.first, end))
      *llvm::StringSwitch<int64_t *>(part)
           .Case("workspace", &memory.parts.workspaces)
           .Case("residual", &memory.parts.residuals)
           .Case("gradient", &memory.parts.gradients)
           .Case("recomputed", &memory.parts.recomputed)
           .Case("temporary", &memory.parts.temporaries) += place.size;
    end = buffer.lifetime.first - 1;
  }
}

/// Convolutions are calls of the runtime by now: one operation each.
void Figures::countOps(Operation *op, FunctionMemory &memory) {
  int64_t count = 1, recomputed = 0;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    if (const Frame *callee = getCallee(call)) {
      count = callee->ops;
      recomputed = callee->recomputedOps;
      memory.copiedBytes += getRunCount(op) * callee->copiedBytes;
      tables.insert_range(callee->tables);
    }
  } else if (!isa<linalg::LinalgOp, ScatterAddOp>(op) ||
             isa<linalg::FillOp>(op)) {
    return;
  }
  bool recomputes = lifetimes.getPhase(op) == Phase::recompute;
  ops += getRunCount(op) * count;
  memory.recomputedOps += getRunCount(op) * (recomputes ? count : recomputed);
}

void Figures::describeArgument(unsigned index, Type type, int64_t dataSlots,
                               FunctionMemory &memory) {
  int64_t bytes = getByteSize(type, function);
  if (bytes < 0)
    return;
  auto has = [&](StringRef name) {
    return bool(function.getArgAttr(index, name));
  };
  if (has(opt::OptDialect::getParamAttrName()))
    memory.parameters += bytes;
  else if (has(opt::OptDialect::getStateAttrName()))
    memory.optimizerState += bytes;
  else if (has(RematDialect::getResultAttrName()))
    memory.results += bytes;
  else if (has(RematDialect::getStateAttrName()))
    memory.modelState += bytes;
  else
    memory.data += bytes * dataSlots;
}

void Figures::describe(ArrayRef<Place> places, int64_t peak,
                       const llvm::SetVector<memref::CopyOp> &needlessCopies,
                       int64_t dataSlots, FunctionMemory &memory) {
  function.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { textOrder.try_emplace(op, textOrder.size()); });
  memory.name = function.getName().str();
  memory.peakPosition = peak;
  memory.positions = lifetimes.getEnd();
  if (lifetimes.getFirstBackward() < memory.positions)
    memory.backwardPosition = lifetimes.getFirstBackward();
  for (const Place &place : places)
    if (place.size > 0)
      describePlace(place, memory);
  llvm::stable_sort(memory.live, [](const LiveBuffer &a, const LiveBuffer &b) {
    return a.first < b.first;
  });
  memory.residuals = getMostResiduals(places);
  for (BlockArgument argument : function.getArguments())
    describeArgument(argument.getArgNumber(), argument.getType(), dataSlots,
                     memory);
  function.walk([&](Operation *op) {
    if (auto copy = dyn_cast<memref::CopyOp>(op);
        copy && !needlessCopies.contains(copy))
      memory.copiedBytes +=
          getRunCount(op) *
          std::max<int64_t>(
              0, getByteSize(getCompact(copy.getSource().getType()), op));
    if (auto global = dyn_cast<memref::GetGlobalOp>(op))
      tables.insert(symbols.lookup(global.getName()));
    countOps(op, memory);
  });
  for (Operation *table : tables)
    memory.constants +=
        getByteSize(cast<memref::GlobalOp>(table).getType(), table);
}
