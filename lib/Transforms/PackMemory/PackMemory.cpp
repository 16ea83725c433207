//===- PackMemory.cpp - Every static buffer gets an offset in one arena ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without it the peak is what the allocator makes of it, every step pays for
// allocations, and elementwise results get memory of their own.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/DiagnosticCodes.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Plan/Packing.h"
#include "remat/Transforms/PackMemory/Passes.h"

#include "Borrow.h"
#include "CallOrder.h"
#include "CastMemory.h"
#include "Figures.h"
#include "TakeOver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PACKMEMORYPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral arenaAttrName = "remat.arena";

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

struct Options {
  std::string arena;
  bool reuse;
  int64_t alignment, dataSlots;
};

class FunctionPacker {
public:
  FunctionPacker(func::FuncOp function, const Options &options,
                 const DenseMap<Operation *, Frame> &frames,
                 const CallOrder &order, SymbolTable &symbols)
      : function(function), options(options), frames(frames), order(order),
        symbols(symbols), lifetimes(function), takeOver(lifetimes) {}

  FunctionMemory run(bool isEntry) {
    if (options.reuse)
      takeOver.run(function);
    collectPlaces();
    if (options.reuse && options.arena != "none")
      borrow();
    placeInArena();
    Figures figures(function, lifetimes, frames, symbols, options.alignment);
    figures.describe(places, peak, takeOver.getNeedlessCopies(),
                     options.dataSlots, memory);
    frame = figures.getFrame(memory);
    rewrite(isEntry);
    return memory;
  }

  const Frame &getFrame() const { return frame; }

private:
  int64_t roundUp(int64_t bytes) const {
    return llvm::alignTo(bytes, options.alignment);
  }

  void collectPlaces() {
    DenseMap<unsigned, size_t> placeOf;
    for (auto [index, buffer] : llvm::enumerate(lifetimes.getBuffers())) {
      ++memory.buffers;
      if (buffer.size < 0 || !buffer.escape.empty()) {
        ++memory.unpacked;
        emitRemark(buffer.alloc.getLoc())
            << "buffer stays an allocation: it "
            << (buffer.size < 0 ? std::string("has no static shape")
                                : buffer.escape);
        continue;
      }
      auto [it, inserted] =
          placeOf.try_emplace(takeOver.getPlace(index), places.size());
      if (inserted)
        places.emplace_back();
      Place &place = places[it->second];
      place.size = std::max(place.size, roundUp(buffer.size));
      if (buffer.lifetime.last >= 0)
        place.lifetime.cover(buffer.lifetime.first, buffer.lifetime.last);
      place.buffers.push_back(index);
    }
    for (Place &place : places)
      llvm::sort(place.buffers, [&](unsigned a, unsigned b) {
        MutableArrayRef<Buffer> buffers = lifetimes.getBuffers();
        return std::pair(buffers[a].lifetime.first, a) <
               std::pair(buffers[b].lifetime.first, b);
      });
    memory.takenOver = takeOver.getCount();
    function.walk([&](func::CallOp call) {
      auto it = frames.find(symbols.lookup(call.getCallee()));
      if (it == frames.end() || it->second.bytes == 0)
        return;
      Place place;
      auto [first, last] = lifetimes.getPositions(call);
      place.lifetime.cover(first, last);
      place.size = it->second.bytes;
      place.call = call;
      places.push_back(place);
    });
  }

  std::vector<::remat::plan::Interval> getIntervals() const {
    std::vector<::remat::plan::Interval> intervals;
    for (const Place &place : places)
      intervals.push_back({place.lifetime.first, place.lifetime.last + 1,
                           place.size, options.alignment});
    return intervals;
  }

  /// Returns the element type of all buffers at `place`; null if they differ,
  /// or if it is the arena of a call.
  Type getElementType(const Place &place) {
    Type type;
    for (unsigned index : place.buffers) {
      Type other =
          lifetimes.getBuffers()[index].alloc.getType().getElementType();
      if (type && type != other)
        return nullptr;
      type = other;
    }
    return type;
  }

  /// Moves buffers that are live at the peak into memory of the caller, as long
  /// as there is some.
  void borrow() {
    borrowing.emplace(function, lifetimes, order);
    for (bool changed = true; changed;) {
      changed = false;
      int64_t when = 0;
      ::remat::plan::getMaxLive(getIntervals(), &when);
      SmallVector<unsigned> alive;
      for (auto [index, place] : llvm::enumerate(places))
        if (place.size > 0 && place.lifetime.first <= when &&
            when <= place.lifetime.last)
          alive.push_back(index);
      llvm::stable_sort(alive, [&](unsigned a, unsigned b) {
        return places[a].size > places[b].size;
      });
      for (unsigned index : alive) {
        Place &place = places[index];
        Type type = getElementType(place);
        int64_t size = 0;
        for (unsigned buffer : place.buffers)
          size = std::max(size, lifetimes.getBuffers()[buffer].size);
        BlockArgument argument =
            type ? borrowing->take(place.lifetime, size, type)
                 : BlockArgument();
        if (!argument)
          continue;
        for (unsigned buffer : place.buffers)
          borrowed.emplace_back(buffer, argument);
        places.erase(places.begin() + index);
        changed = true;
        break;
      }
    }
  }

  void placeInArena() {
    std::vector<::remat::plan::Interval> intervals = getIntervals();
    ::remat::plan::Packing packing = ::remat::plan::pack(intervals);
    memory.maxLive = ::remat::plan::getMaxLive(intervals, &peak);
    memory.arena = options.arena == "none" ? memory.maxLive : packing.height;
    offsets = std::move(packing.offsets);
  }

  //===--------------------------------------------------------------------===//
  // Rewriting
  //===--------------------------------------------------------------------===//

  void rewrite(bool isEntry) {
    for (memref::CopyOp copy : takeOver.getNeedlessCopies())
      copy.erase();
    for (Buffer &buffer : lifetimes.getBuffers())
      for (memref::DeallocOp dealloc : buffer.deallocs)
        dealloc.erase();
    for (Buffer &buffer : lifetimes.getBuffers())
      if (buffer.size < 0 && buffer.escape.empty())
        freeAfterLastUse(buffer, buffer.lastUser);
    if (options.arena == "none")
      return keepAllocations();
    moveBorrowed();
    if (memory.arena == 0)
      return eraseDeadAllocations();
    Value arena = getArena(isEntry);
    for (auto [place, offset] : llvm::zip(places, offsets)) {
      if (place.call) {
        OpBuilder builder(place.call);
        auto type = MemRefType::get({place.size}, builder.getI8Type());
        place.call->insertOperands(
            place.call->getNumOperands(),
            createView(builder, place.call.getLoc(), arena, offset, type));
      }
      for (unsigned index : place.buffers)
        replaceAllocation(lifetimes.getBuffers()[index], arena, offset);
    }
  }

  void moveBorrowed() {
    for (auto [index, argument] : borrowed) {
      memref::AllocOp &alloc = lifetimes.getBuffers()[index].alloc;
      OpBuilder builder(alloc);
      alloc.replaceAllUsesWith(
          castMemory(builder, alloc.getLoc(), argument, alloc.getType()));
      alloc.erase();
      alloc = nullptr;
    }
    if (borrowing)
      borrowing->mergeArguments();
  }

  void eraseDeadAllocations() {
    for (Buffer &buffer : lifetimes.getBuffers())
      if (buffer.alloc && buffer.alloc->use_empty())
        buffer.alloc.erase();
  }

  Value createView(OpBuilder &builder, Location loc, Value arena,
                   int64_t offset, MemRefType type) {
    Value &start = starts[offset];
    if (!start) {
      auto entry = OpBuilder::atBlockBegin(&function.front());
      start = arith::ConstantIndexOp::create(entry, loc, offset);
    }
    return memref::ViewOp::create(builder, loc, type, arena, start,
                                  ValueRange{});
  }

  void replaceAllocation(Buffer &buffer, Value arena, int64_t offset) {
    if (!buffer.alloc->use_empty()) {
      OpBuilder builder(buffer.alloc);
      MemRefType type = buffer.alloc.getType();
      Value view =
          createView(builder, buffer.alloc.getLoc(), arena, offset, type);
      buffer.alloc.replaceAllUsesWith(view);
    }
    buffer.alloc.erase();
  }

  Value getArena(bool isEntry) {
    Location loc = function.getLoc();
    OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
    auto type = MemRefType::get({memory.arena}, builder.getI8Type());
    std::string kind = options.arena;
    if (kind == "auto")
      kind = function.getNumArguments() == 0 ? "alloc" : "argument";
    if (!isEntry)
      kind = "argument";
    if (kind == "alloc")
      return memref::AllocOp::create(
          builder, loc, type, builder.getI64IntegerAttr(options.alignment));
    if (kind == "global") {
      auto name = ("__remat_arena_" + function.getName()).str();
      OpBuilder outside(function);
      auto global = memref::GlobalOp::create(
          outside, loc, name, builder.getStringAttr("private"), type,
          builder.getUnitAttr(), /*constant=*/false,
          builder.getI64IntegerAttr(options.alignment));
      symbols.insert(global);
      return memref::GetGlobalOp::create(builder, loc, type,
                                         global.getSymName());
    }
    unsigned position = function.getNumArguments();
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr(arenaAttrName, builder.getUnitAttr()));
    (void)function.insertArgument(position, type, attributes, loc);
    return function.getArgument(position);
  }

  //===--------------------------------------------------------------------===//
  // Allocations that stay
  //===--------------------------------------------------------------------===//

  void freeAfterLastUse(Buffer &buffer, Operation *lastUser) {
    if (!lastUser || buffer.leavesBlock)
      return;
    OpBuilder builder(lastUser->getContext());
    if (lastUser->hasTrait<OpTrait::IsTerminator>())
      builder.setInsertionPoint(lastUser);
    else
      builder.setInsertionPointAfter(lastUser);
    memref::DeallocOp::create(builder, buffer.alloc.getLoc(), buffer.alloc);
  }

  /// Makes each place one allocation, from its first use to its last.
  void keepAllocations() {
    for (Place &place : places) {
      if (place.call)
        continue;
      Buffer &first = lifetimes.getBuffers()[place.buffers.front()];
      Buffer &last = lifetimes.getBuffers()[place.buffers.back()];
      if (!first.firstUser) {
        first.alloc.erase();
        continue;
      }
      first.alloc->moveBefore(first.firstUser);
      OpBuilder builder(first.firstUser);
      builder.setInsertionPointAfter(first.alloc);
      for (unsigned index : ArrayRef(place.buffers).drop_front()) {
        memref::AllocOp alloc = lifetimes.getBuffers()[index].alloc;
        Value value =
            castMemory(builder, alloc.getLoc(), first.alloc, alloc.getType());
        alloc.replaceAllUsesWith(value);
        alloc.erase();
      }
      freeAfterLastUse(first, last.lastUser);
    }
  }

  func::FuncOp function;
  /// Offsets in the arena, as constants in front of everything.
  DenseMap<int64_t, Value> starts;
  const Options &options;
  const DenseMap<Operation *, Frame> &frames;
  const CallOrder &order;
  SymbolTable &symbols;
  Lifetimes lifetimes;
  TakeOver takeOver;
  SmallVector<Place> places;
  std::optional<Borrowing> borrowing;
  /// Buffers that are in memory of the caller.
  SmallVector<std::pair<unsigned, BlockArgument>> borrowed;
  std::vector<int64_t> offsets;
  int64_t peak = 0;
  FunctionMemory memory;
  Frame frame;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct PackMemoryPass : public impl::PackMemoryPassBase<PackMemoryPass> {
  using PackMemoryPassBase::PackMemoryPassBase;
  PackMemoryPass(const PackMemoryPassOptions &options, raw_ostream &json)
      : PackMemoryPassBase(options), json(&json) {}

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    CallOrder order;
    if (failed(order.compute(getOperation())))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    Options packing{arena, reuse, alignment, dataSlots};
    DenseMap<Operation *, Frame> frames;
    SmallVector<FunctionMemory> memory;
    for (func::FuncOp function : order.getFunctions()) {
      if (failed(checkSizes(function)))
        return signalPassFailure();
      FunctionPacker packer(function, packing, frames, order, symbols);
      bool isEntry = !order.isCalled(function);
      FunctionMemory figures = packer.run(isEntry);
      // Kernels with functions of their own are left out of the report.
      if (isEntry || figures.buffers > 0 || figures.arena > 0)
        memory.push_back(figures);
      frames[function] = packer.getFrame();
    }
    if (failed(writeReport(memory)))
      signalPassFailure();
  }

private:
  static constexpr int64_t kMaxAlignment = 1 << 30;

  /// Offsets and sums of what passes this check are in range.
  static LogicalResult checkSizes(func::FuncOp function) {
    auto isTooLarge = [&](Type type) {
      return getByteSize(type, function) >= kSizeLimit;
    };
    for (Type type : function.getArgumentTypes())
      if (isTooLarge(type)) {
        InFlightDiagnostic error =
            function.emitOpError()
            << "has an argument that is larger than any memory: " << type;
        setCode(error, kOutOfMemoryCode);
        return error;
      }
    WalkResult result = function.walk([&](memref::AllocOp alloc) {
      if (!isTooLarge(alloc.getType()))
        return WalkResult::advance();
      InFlightDiagnostic error = alloc.emitOpError()
                                 << "is larger than any memory: "
                                 << alloc.getType();
      setCode(error, kOutOfMemoryCode);
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult checkOptions() {
    constexpr StringLiteral kinds[] = {"auto", "argument", "alloc", "global",
                                       "none"};
    if (!llvm::is_contained(kinds, StringRef(arena)))
      return getOperation().emitError("unknown arena=")
             << arena.getValue()
             << "; choose auto, argument, alloc, global or none";
    if (alignment <= 0 || !llvm::isPowerOf2_64(alignment))
      return getOperation().emitError("alignment must be a power of two, but "
                                      "it is ")
             << alignment.getValue();
    if (alignment > kMaxAlignment)
      return getOperation().emitError("alignment is at most ")
             << kMaxAlignment << " bytes, but it is " << alignment.getValue();
    if (dataSlots <= 0)
      return getOperation().emitError("data-slots is at least 1, but it is ")
             << dataSlots.getValue();
    return success();
  }

  LogicalResult writeReport(ArrayRef<FunctionMemory> memory) {
    if (json)
      printMemoryJSON(memory, *json);
    if (report.empty())
      return success();
    if (report == "-") {
      printMemoryTable(memory, llvm::errs());
      return success();
    }
    std::string message;
    auto file = openOutputFile(report, &message);
    if (!file)
      return getOperation().emitError("memory report: ") << message;
    printMemoryJSON(memory, file->os());
    file->keep();
    return success();
  }

  raw_ostream *json = nullptr;
};

} // namespace

std::unique_ptr<Pass> createPackMemoryPass(const PackMemoryPassOptions &options,
                                           raw_ostream &json) {
  return std::make_unique<PackMemoryPass>(options, json);
}
} // namespace mlir::remat
