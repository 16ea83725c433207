//===- LowerDeviceOps.cpp - NVVM and libdevice on a host ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Special registers are in the thread's record. Operations in which threads
// meet are calls of the emulator: it is opaque to LLVM, which so keeps no value
// of memory across them.
//===----------------------------------------------------------------------===//

#include "LowerDeviceOps.h"
#include "EmulatorCalls.h"
#include "MatrixOps.h"
#include "remat/Emulator/Thread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat::emulator;
using ::remat::cuda::EmulatedThread;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Where the thread's record has the special register that `op` reads.
static std::optional<size_t> getRegisterOffset(Operation *op) {
  auto at = [](size_t array, size_t index) {
    return std::optional<size_t>(array + index * sizeof(uint32_t));
  };
  constexpr size_t tid = offsetof(EmulatedThread, threadIndex);
  constexpr size_t ntid = offsetof(EmulatedThread, blockSize);
  constexpr size_t ctaid = offsetof(EmulatedThread, blockIndex);
  constexpr size_t nctaid = offsetof(EmulatedThread, gridSize);
  return llvm::TypeSwitch<Operation *, std::optional<size_t>>(op)
      .Case<NVVM::ThreadIdXOp>([&](auto) { return at(tid, 0); })
      .Case<NVVM::ThreadIdYOp>([&](auto) { return at(tid, 1); })
      .Case<NVVM::ThreadIdZOp>([&](auto) { return at(tid, 2); })
      .Case<NVVM::BlockDimXOp>([&](auto) { return at(ntid, 0); })
      .Case<NVVM::BlockDimYOp>([&](auto) { return at(ntid, 1); })
      .Case<NVVM::BlockDimZOp>([&](auto) { return at(ntid, 2); })
      .Case<NVVM::BlockIdXOp>([&](auto) { return at(ctaid, 0); })
      .Case<NVVM::BlockIdYOp>([&](auto) { return at(ctaid, 1); })
      .Case<NVVM::BlockIdZOp>([&](auto) { return at(ctaid, 2); })
      .Case<NVVM::GridDimXOp>([&](auto) { return at(nctaid, 0); })
      .Case<NVVM::GridDimYOp>([&](auto) { return at(nctaid, 1); })
      .Case<NVVM::GridDimZOp>([&](auto) { return at(nctaid, 2); })
      .Default([](Operation *) { return std::nullopt; });
}

static bool isFence(Operation *op) {
  return isa<NVVM::MembarOp, NVVM::FenceScClusterOp>(op);
}

/// A barrier of all threads of the block. Others are in no emulation.
static bool isBlockBarrier(Operation *op) {
  if (isa<NVVM::Barrier0Op>(op))
    return true;
  auto barrier = dyn_cast<NVVM::BarrierOp>(op);
  if (!barrier || barrier.getNumberOfThreads() || barrier.getReductionOp())
    return false;
  APInt id;
  return !barrier.getBarrierId() ||
         (matchPattern(barrier.getBarrierId(), m_ConstantInt(&id)) &&
          id.isZero());
}

static bool isWarpOp(Operation *op) {
  if (auto reduction = dyn_cast<NVVM::ReduxOp>(op))
    return reduction.getType().isInteger(32);
  return isa<NVVM::ShflOp, NVVM::VoteSyncOp, NVVM::SyncWarpOp>(op);
}

/// Copies to workgroup memory that a thread waits for later.
static bool isAsyncCopyOp(Operation *op) {
  return isa<NVVM::CpAsyncOp, NVVM::CpAsyncCommitGroupOp,
             NVVM::CpAsyncWaitGroupOp>(op);
}

bool mlir::remat::emulator::isCooperative(Operation *op) {
  return isBlockBarrier(op) || isWarpOp(op) || isMatrixOp(op) ||
         isAsyncCopyOp(op);
}

/// The host's function for the one of libdevice; empty if there is none.
static std::string getHostFunction(StringRef callee) {
  if (!callee.consume_front("__nv_"))
    return "";
  static constexpr StringLiteral functions[] = {
      "acos", "acosh",  "asin",  "asinh",  "atan",      "atan2", "atanh",
      "cbrt", "ceil",   "cos",   "cosh",   "copysign",  "erf",   "erfc",
      "exp",  "exp10",  "exp2",  "expm1",  "fabs",      "fdim",  "floor",
      "fma",  "fmax",   "fmin",  "fmod",   "hypot",     "ldexp", "lgamma",
      "log",  "log10",  "log1p", "log2",   "nearbyint", "pow",   "remainder",
      "rint", "round",  "sin",   "sincos", "sinh",      "sqrt",  "tan",
      "tanh", "tgamma", "trunc"};
  StringRef base = callee;
  auto isIn = [](StringRef name, ArrayRef<StringLiteral> list) {
    return llvm::is_contained(list, name);
  };
  static constexpr StringLiteral own[] = {"rsqrt", "powi"};
  if (!isIn(base, functions) && !isIn(base, own))
    base.consume_back("f");
  if (isIn(base, functions))
    return callee.str();
  return isIn(base, own) ? ("remat_emu_" + callee).str() : "";
}

static constexpr StringLiteral kAssertFail = "__assertfail";

/// The processor's approximation, for which the host's function stands in.
static bool isPowerOfTwo(Operation *op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call && call.getIntrin() == "llvm.nvvm.ex2.approx.ftz.f";
}

static bool isKnownCall(LLVM::CallOp call, const SymbolTable &device) {
  std::optional<StringRef> callee = call.getCallee();
  if (!callee)
    return false;
  auto function = device.lookup<LLVM::LLVMFuncOp>(*callee);
  return (function && !function.isExternal()) || *callee == kAssertFail ||
         !getHostFunction(*callee).empty();
}

static LogicalResult checkDeviceOp(Operation *op, const SymbolTable &device) {
  if (auto call = dyn_cast<LLVM::CallOp>(op)) {
    if (isKnownCall(call, device))
      return success();
    if (!call.getCallee())
      return call.emitError("an indirect call has no emulation");
    return call.emitError("the call of '")
           << *call.getCallee()
           << "' has no emulation: it is neither in the kernel's module nor "
              "one of libdevice's functions that the C library has";
  }
  if (isa<LLVM::InlineAsmOp>(op))
    return op->emitError("inline PTX has no emulation");
  if (isPowerOfTwo(op))
    return success();
  if (isa<LLVM::CallIntrinsicOp>(op))
    return op->emitError("an intrinsic called by name has no emulation");
  if (isa<LLVM::LLVMDialect>(op->getDialect()) || getRegisterOffset(op) ||
      isFence(op) || isCooperative(op) ||
      isa<NVVM::LaneIdOp, NVVM::WarpIdOp, NVVM::WarpSizeOp>(op))
    return success();
  return op->emitError("'") << op->getName() << "' has no emulation";
}

LogicalResult mlir::remat::emulator::checkDeviceOps(gpu::GPUModuleOp kernels,
                                                    const SymbolTable &device) {
  bool failed = false;
  for (Operation &top : *kernels.getBody()) {
    if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(top)) {
      failed |= mlir::failed(top.emitError("'")
                             << top.getName() << "' has no emulation; kernels "
                             << "must be in the LLVM and NVVM dialects");
      continue;
    }
    top.walk([&](Operation *op) {
      failed |= op != &top && mlir::failed(checkDeviceOp(op, device));
    });
  }
  return failure(failed);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
/// Replaces operations of one gpu.module.
class Lowering {
public:
  Lowering(MLIRContext *context, SymbolTable &symbols)
      : builder(context), symbols(symbols) {}

  LogicalResult lower(Operation *op);

private:
  Value loadRegister(Location loc, Value thread, size_t offset);
  Value computeLinearIndex(Location loc, Value thread);
  Value createNumberedSite(Operation *op, StringRef what);
  /// Replaces `op` by a call, or erases it if the function is void.
  LogicalResult replaceByCall(Operation *op, StringRef name,
                              ValueRange operands, Type result = {});
  LogicalResult lowerShuffle(NVVM::ShflOp op);
  LogicalResult lowerVote(NVVM::VoteSyncOp op);
  LogicalResult lowerCopy(NVVM::CpAsyncOp op);
  LogicalResult lowerCall(LLVM::CallOp call);

  OpBuilder builder;
  SymbolTable &symbols;
  unsigned numSites = 0;
};
} // namespace

Value Lowering::loadRegister(Location loc, Value thread, size_t offset) {
  return LLVM::LoadOp::create(builder, loc, builder.getI32Type(),
                              createOffset(builder, loc, thread, offset));
}

/// x + size.x * (y + size.y * z) of the thread in its block.
Value Lowering::computeLinearIndex(Location loc, Value thread) {
  auto load = [&](size_t array, size_t dim) {
    return loadRegister(loc, thread, array + dim * sizeof(uint32_t));
  };
  constexpr size_t index = offsetof(EmulatedThread, threadIndex);
  constexpr size_t size = offsetof(EmulatedThread, blockSize);
  Value sum = load(index, 2);
  for (size_t dim : {1, 0})
    sum = LLVM::AddOp::create(
        builder, loc, load(index, dim),
        LLVM::MulOp::create(builder, loc, load(size, dim), sum));
  return sum;
}

Value Lowering::createNumberedSite(Operation *op, StringRef what) {
  return createSite(builder, op->getLoc(), symbols, what, ++numSites);
}

LogicalResult Lowering::replaceByCall(Operation *op, StringRef name,
                                      ValueRange operands, Type result) {
  LLVM::CallOp call =
      createCall(builder, op->getLoc(), symbols, name, operands, result);
  if (!call)
    return failure();
  op->replaceAllUsesWith(call);
  op->erase();
  return success();
}

LogicalResult Lowering::lowerShuffle(NVVM::ShflOp op) {
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  Type valueType = op.getVal().getType();
  Value bits = LLVM::BitcastOp::create(builder, loc, i32, op.getVal());
  LLVM::CallOp call = createCall(
      builder, loc, symbols, "remat_emu_shuffle",
      {getThread(op),
       createInteger(builder, loc, 32, static_cast<int32_t>(op.getKind())),
       op.getThreadMask(), bits, op.getOffset(), op.getMaskAndClamp(),
       createNumberedSite(op, "shuffle")},
      builder.getI64Type());
  if (!call)
    return failure();
  Value result = LLVM::BitcastOp::create(
      builder, loc, valueType,
      LLVM::TruncOp::create(builder, loc, i32, call.getResult()));
  if (isa<LLVM::LLVMStructType>(op.getType())) {
    Value isValid = LLVM::TruncOp::create(
        builder, loc, builder.getI1Type(),
        LLVM::LShrOp::create(builder, loc, call.getResult(),
                             createInteger(builder, loc, 64, 32)));
    Value both = LLVM::UndefOp::create(builder, loc, op.getType());
    both = LLVM::InsertValueOp::create(builder, loc, both, result,
                                       ArrayRef<int64_t>{0});
    result = LLVM::InsertValueOp::create(builder, loc, both, isValid,
                                         ArrayRef<int64_t>{1});
  }
  op.replaceAllUsesWith(result);
  op.erase();
  return success();
}

LogicalResult Lowering::lowerVote(NVVM::VoteSyncOp op) {
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  LLVM::CallOp call = createCall(
      builder, loc, symbols, "remat_emu_vote",
      {getThread(op),
       createInteger(builder, loc, 32, static_cast<int32_t>(op.getKind())),
       op.getMask(), LLVM::ZExtOp::create(builder, loc, i32, op.getPred()),
       createNumberedSite(op, "vote")},
      i32);
  if (!call)
    return failure();
  Value result = call.getResult();
  if (op.getType().isInteger(1))
    result = LLVM::TruncOp::create(builder, loc, builder.getI1Type(), result);
  op.replaceAllUsesWith(result);
  op.erase();
  return success();
}

LogicalResult Lowering::lowerCopy(NVVM::CpAsyncOp op) {
  Location loc = op.getLoc();
  auto toGeneric = [&](Value address) -> Value {
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    return LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
  };
  Value bytes = createInteger(builder, loc, 32, op.getSize());
  return replaceByCall(op, "remat_emu_copy_async",
                       {getThread(op), toGeneric(op.getDst()),
                        toGeneric(op.getSrc()), bytes,
                        op.getCpSize() ? op.getCpSize() : bytes,
                        createNumberedSite(op, "asynchronous copy")});
}

/// Functions with a body are in the kernel's module.
LogicalResult Lowering::lowerCall(LLVM::CallOp call) {
  StringRef callee = *call.getCallee();
  if (callee == kAssertFail) {
    SmallVector<Value> operands{getThread(call)};
    llvm::append_range(operands, call.getArgOperands().take_front(4));
    return replaceByCall(call, "remat_emu_assert_fail", operands);
  }
  std::string host = getHostFunction(callee);
  if (host.empty())
    return success();
  return replaceByCall(call, host, call.getArgOperands(),
                       call.getNumResults() ? call.getResult().getType()
                                            : Type());
}

LogicalResult Lowering::lower(Operation *op) {
  builder.setInsertionPoint(op);
  Location loc = op->getLoc();
  auto replaceByValue = [&](Value value) {
    op->replaceAllUsesWith(ValueRange{value});
    op->erase();
    return success();
  };
  if (std::optional<size_t> offset = getRegisterOffset(op))
    return replaceByValue(loadRegister(loc, getThread(op), *offset));
  if (isPowerOfTwo(op))
    return replaceByValue(
        LLVM::Exp2Op::create(builder, loc, op->getOperand(0)));
  if (isFence(op)) {
    op->erase();
    return success();
  }
  if (isBlockBarrier(op))
    return replaceByCall(op, "remat_emu_barrier",
                         {getThread(op), createNumberedSite(op, "barrier")});
  Value index;
  auto createWarpSize = [&] {
    return createInteger(builder, loc, 32, ::remat::cuda::kWarpSize);
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](NVVM::WarpSizeOp) { return replaceByValue(createWarpSize()); })
      .Case([&](NVVM::LaneIdOp) {
        index = computeLinearIndex(loc, getThread(op));
        return replaceByValue(
            LLVM::URemOp::create(builder, loc, index, createWarpSize()));
      })
      .Case([&](NVVM::WarpIdOp) {
        index = computeLinearIndex(loc, getThread(op));
        return replaceByValue(
            LLVM::UDivOp::create(builder, loc, index, createWarpSize()));
      })
      .Case([&](NVVM::SyncWarpOp sync) {
        return replaceByCall(op, "remat_emu_warp_barrier",
                             {getThread(op), sync.getMask(),
                              createNumberedSite(op, "warp barrier")});
      })
      .Case([&](NVVM::ReduxOp redux) {
        Value kind = createInteger(builder, loc, 32,
                                   static_cast<int32_t>(redux.getKind()));
        return replaceByCall(op, "remat_emu_reduce",
                             {getThread(op), kind, redux.getMaskAndClamp(),
                              redux.getVal(),
                              createNumberedSite(op, "warp reduction")},
                             redux.getType());
      })
      .Case([&](NVVM::ShflOp shuffle) { return lowerShuffle(shuffle); })
      .Case([&](NVVM::VoteSyncOp vote) { return lowerVote(vote); })
      .Case([&](NVVM::CpAsyncOp copy) { return lowerCopy(copy); })
      .Case([&](NVVM::CpAsyncCommitGroupOp) {
        return replaceByCall(op, "remat_emu_commit_copies", getThread(op));
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        return replaceByCall(
            op, "remat_emu_wait_for_copies",
            {getThread(op), createInteger(builder, loc, 32, wait.getN())});
      })
      .Case([&](LLVM::CallOp call) { return lowerCall(call); })
      .Default([](Operation *) { return success(); });
}

LogicalResult mlir::remat::emulator::lowerDeviceOps(gpu::GPUModuleOp kernels,
                                                    SymbolTable &symbols) {
  Lowering lowering(kernels.getContext(), symbols);
  WalkResult result = kernels.walk<WalkOrder::PostOrder>([&](Operation *op) {
    return WalkResult(isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op)
                          ? success()
                          : lowering.lower(op));
  });
  return failure(result.wasInterrupted());
}
