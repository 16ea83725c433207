//===- InstrumentAccesses.cpp - A call before each access -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own ThreadSanitizer pass would run after optimizations, where accesses
// are merged or gone, and knows neither sizes of vectors above 16 bytes nor
// alignments nor the operation's location.
//===----------------------------------------------------------------------===//

#include "InstrumentAccesses.h"
#include "EmulatorCalls.h"
#include "WorkgroupMemory.h"
#include "remat/Emulator/Thread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat::emulator;
using Kind = ::remat::cuda::EmulatedAccessKind;

namespace {
struct Access {
  Value pointer;
  Kind kind;
  /// The type that is loaded or stored; null if `bytes` has the size.
  Type type = {};
  Value bytes = {};
  std::optional<uint64_t> alignment = std::nullopt;
  /// Lanes that are accessed; null for all.
  Value mask = {};
};
} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns true if `pointer` points to memory of this thread only, or to a
/// constant.
static bool isPrivate(Value pointer, const SymbolTable &device) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (isa<LLVM::AllocaOp>(op))
      return true;
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      auto global = device.lookup<LLVM::GlobalOp>(address.getGlobalName());
      return !global || !isWorkgroupMemory(global);
    }
    if (!isa<LLVM::GEPOp, LLVM::BitcastOp, LLVM::AddrSpaceCastOp>(op))
      return false;
    pointer = op->getOperand(0);
  }
  return false;
}

static SmallVector<Access> getAccesses(Operation *op) {
  using Accesses = SmallVector<Access>;
  return llvm::TypeSwitch<Operation *, Accesses>(op)
      .Case([](LLVM::LoadOp load) {
        return Accesses{{load.getAddr(),
                         Kind::read,
                         load.getType(),
                         {},
                         load.getAlignment()}};
      })
      .Case([](LLVM::StoreOp store) {
        return Accesses{{store.getAddr(),
                         Kind::write,
                         store.getValue().getType(),
                         {},
                         store.getAlignment()}};
      })
      .Case([](LLVM::AtomicRMWOp atomic) {
        return Accesses{
            {atomic.getPtr(), Kind::atomic, atomic.getVal().getType()}};
      })
      .Case([](LLVM::AtomicCmpXchgOp atomic) {
        return Accesses{
            {atomic.getPtr(), Kind::atomic, atomic.getVal().getType()}};
      })
      .Case<LLVM::MemcpyOp, LLVM::MemmoveOp>([](auto copy) {
        return Accesses{{copy.getSrc(), Kind::read, {}, copy.getLen()},
                        {copy.getDst(), Kind::write, {}, copy.getLen()}};
      })
      .Case([](NVVM::CpAsyncOp copy) {
        auto type = LLVM::LLVMArrayType::get(
            IntegerType::get(copy.getContext(), 8), copy.getSize());
        std::optional<int64_t> alignment = copy.getSize();
        return Accesses{
            {copy.getSrc(), Kind::read, type, copy.getCpSize(), alignment},
            {copy.getDst(), Kind::write, type, {}, alignment}};
      })
      .Case([](LLVM::MemsetOp set) {
        return Accesses{{set.getDst(), Kind::write, {}, set.getLen()}};
      })
      .Case([](LLVM::MaskedLoadOp load) {
        return Accesses{{load.getData(),
                         Kind::read,
                         load.getType(),
                         {},
                         load.getAlignment(),
                         load.getMask()}};
      })
      .Case([](LLVM::MaskedStoreOp store) {
        return Accesses{{store.getData(),
                         Kind::write,
                         store.getValue().getType(),
                         {},
                         store.getAlignment(),
                         store.getMask()}};
      })
      .Default([](Operation *) { return Accesses(); });
}

/// Accesses memory in a way that has no check.
static bool isUnknownAccess(Operation *op) {
  return isa<LLVM::masked_gather, LLVM::masked_scatter, LLVM::masked_expandload,
             LLVM::masked_compressstore, LLVM::MemcpyInlineOp,
             LLVM::MemsetInlineOp>(op);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

static LogicalResult createCheck(OpBuilder &builder, Operation *op,
                                 const Access &access, Value site,
                                 const DataLayout &layout,
                                 SymbolTable &symbols) {
  Location loc = op->getLoc();
  Type i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value address = access.pointer;
  if (address.getType() != pointer)
    address = LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
  auto size = [&](Type type) {
    return createInteger(builder, loc, 64,
                         layout.getTypeSize(type).getFixedValue());
  };
  int64_t alignment = 1;
  if (access.type)
    alignment =
        access.alignment.value_or(layout.getTypeABIAlignment(access.type));
  SmallVector<Value> operands{getThread(op), address};
  StringRef callee = "remat_emu_access";
  if (access.mask) {
    auto vector = cast<VectorType>(access.type);
    if (vector.getNumElements() > 64)
      return op->emitError("a masked vector of more than 64 elements has no "
                           "check");
    Value bits = LLVM::BitcastOp::create(
        builder, loc, builder.getIntegerType(vector.getNumElements()),
        access.mask);
    if (bits.getType() != i64)
      bits = LLVM::ZExtOp::create(builder, loc, i64, bits);
    operands.append({size(vector.getElementType()), bits});
    callee = "remat_emu_access_masked";
  } else {
    Value bytes = access.bytes ? access.bytes : size(access.type);
    if (bytes.getType() != i64)
      bytes = LLVM::ZExtOp::create(builder, loc, i64, bytes);
    operands.push_back(bytes);
  }
  operands.push_back(createInteger(builder, loc, 64, alignment));
  operands.push_back(
      createInteger(builder, loc, 32, static_cast<int32_t>(access.kind)));
  operands.push_back(site);
  return success(createCall(builder, loc, symbols, callee, operands));
}

LogicalResult mlir::remat::emulator::instrumentAccesses(
    gpu::GPUModuleOp kernels, const SymbolTable &device, SymbolTable &symbols) {
  DataLayout layout(kernels);
  unsigned number = 0;
  auto instrument = [&](Operation *op) -> LogicalResult {
    if (isUnknownAccess(op))
      return op->emitError("'") << op->getName() << "' has no check";
    OpBuilder builder(op);
    Value site;
    for (const Access &access : getAccesses(op)) {
      if (isPrivate(access.pointer, device))
        continue;
      if (!site)
        site = createSite(builder, op->getLoc(), symbols,
                          op->getName().getStringRef(), ++number);
      if (failed(createCheck(builder, op, access, site, layout, symbols)))
        return failure();
    }
    return success();
  };
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (op != function && failed(instrument(op)))
        return failure();
  }
  return success();
}
