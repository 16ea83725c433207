//===- MatrixOps.cpp - What warps do with matrices ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In `mma.sync` lanes exchange factors, in `ldmatrix` the addresses of rows.
//===----------------------------------------------------------------------===//

#include "MatrixOps.h"
#include "EmulatorCalls.h"
#include "remat/Emulator/Thread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::remat::emulator;
using ::remat::cuda::kMmaLeft;
using ::remat::cuda::kMmaRight;
using ::remat::cuda::kMmaSums;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The type of factors that take as many registers as others do.
static std::optional<::remat::cuda::EmulatedFactor> findFactor(NVVM::MmaOp op) {
  using ::remat::cuda::EmulatedFactor;
  uint64_t depth = op.getShape().getK();
  switch (op.getMultiplicandAPtxType().value_or(NVVM::MMATypes::f64)) {
  case NVVM::MMATypes::f16:
    return depth == 16 ? std::optional(EmulatedFactor::f16) : std::nullopt;
  case NVVM::MMATypes::bf16:
    return depth == 16 ? std::optional(EmulatedFactor::bf16) : std::nullopt;
  case NVVM::MMATypes::tf32:
    return depth == 8 ? std::optional(EmulatedFactor::tf32) : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Of 16 by 16 and 16 by 8 elements of 16 bits, or 16 by 8 and 8 by 8 of tf32,
/// with sums of f32.
static bool isProduct(NVVM::MmaOp op) {
  NVVM::MMAShapeAttr shape = op.getShape();
  return shape.getM() == 16 && shape.getN() == 8 && findFactor(op) &&
         op.getOperandA().size() == kMmaLeft &&
         op.getOperandB().size() == kMmaRight &&
         op.getOperandC().size() == kMmaSums &&
         op.getOperandC()[0].getType().isF32();
}

/// Of matrices of 8 by 8 elements of 16 bits.
static bool isLoad(NVVM::LdMatrixOp op) {
  return op.getShape().getM() == 8 && op.getShape().getN() == 8 &&
         op.getEltType() == NVVM::LdStMatrixEltType::B16;
}

bool mlir::remat::emulator::isMatrixOp(Operation *op) {
  if (auto product = dyn_cast<NVVM::MmaOp>(op))
    return isProduct(product);
  auto load = dyn_cast<NVVM::LdMatrixOp>(op);
  return load && isLoad(load);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
/// Expands operations of one gpu.module.
class Expansion {
public:
  Expansion(MLIRContext *context, SymbolTable &symbols)
      : builder(context), symbols(symbols) {}

  LogicalResult expand(NVVM::MmaOp op);
  LogicalResult expand(NVVM::LdMatrixOp op);

private:
  /// Memory of the thread for `count` values.
  Value createVariable(Operation *op, Type type, int64_t count);
  Value makeStruct(Location loc, Type type, ValueRange fields);
  Value load(Location loc, Type type, Value pointer, int64_t offset) {
    return LLVM::LoadOp::create(builder, loc, type,
                                createOffset(builder, loc, pointer, offset));
  }

  OpBuilder builder;
  SymbolTable &symbols;
  unsigned numSites = 0;
};
} // namespace

Value Expansion::createVariable(Operation *op, Type type, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(
      &op->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
  Location loc = op->getLoc();
  return LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
      createInteger(builder, loc, 32, count));
}

Value Expansion::makeStruct(Location loc, Type type, ValueRange fields) {
  Value result = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, field] : llvm::enumerate(fields))
    result = LLVM::InsertValueOp::create(builder, loc, result, field,
                                         static_cast<int64_t>(i));
  return result;
}

LogicalResult Expansion::expand(NVVM::MmaOp op) {
  builder.setInsertionPoint(op);
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  Value factors = createVariable(op, i32, kMmaLeft + kMmaRight),
        sums = createVariable(op, f32, kMmaSums);
  auto store = [&](Value value, Value to, size_t index) {
    LLVM::StoreOp::create(
        builder, loc, value,
        createOffset(builder, loc, to, index * sizeof(uint32_t)));
  };
  SmallVector<Value> registers(op.getOperandA());
  llvm::append_range(registers, op.getOperandB());
  for (auto [i, word] : llvm::enumerate(registers))
    store(LLVM::BitcastOp::create(builder, loc, i32, word), factors, i);
  for (auto [i, sum] : llvm::enumerate(op.getOperandC()))
    store(sum, sums, i);
  ::remat::cuda::EmulatedFactor type = *findFactor(op);
  if (!createCall(builder, loc, symbols, "remat_emu_mma",
                  {getThread(op),
                   createInteger(builder, loc, 32, static_cast<int32_t>(type)),
                   factors, sums,
                   createSite(builder, loc, symbols, "product of matrices",
                              ++numSites)}))
    return failure();
  SmallVector<Value> results;
  for (size_t i : llvm::seq<size_t>(kMmaSums))
    results.push_back(load(loc, f32, sums, i * sizeof(float)));
  op.replaceAllUsesWith(makeStruct(loc, op.getType(), results));
  op.erase();
  return success();
}

LogicalResult Expansion::expand(NVVM::LdMatrixOp op) {
  builder.setInsertionPoint(op);
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type(), i16 = builder.getI16Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  bool isTransposed = op.getLayout() == NVVM::MMALayout::col;
  int64_t count = op.getNum(), perMatrix = isTransposed ? 2 : 1;
  Value addresses = createVariable(op, pointer, count * perMatrix);
  Value row = op.getPtr();
  if (row.getType() != pointer)
    row = LLVM::AddrSpaceCastOp::create(builder, loc, pointer, row);
  if (!createCall(
          builder, loc, symbols, "remat_emu_ldmatrix",
          {getThread(op), row, createInteger(builder, loc, 32, count),
           createInteger(builder, loc, 32, isTransposed), addresses,
           createSite(builder, loc, symbols, "load of matrices", ++numSites)}))
    return failure();
  auto loadElements = [&](Type type, int64_t index) {
    return load(loc, type,
                load(loc, pointer, addresses, index * sizeof(void *)), 0);
  };
  SmallVector<Value> words;
  for (int64_t i : llvm::seq(count)) {
    if (!isTransposed) {
      words.push_back(loadElements(i32, i));
      continue;
    }
    auto loadHalf = [&](int64_t index) -> Value {
      return LLVM::ZExtOp::create(builder, loc, i32, loadElements(i16, index));
    };
    Value low = loadHalf(2 * i);
    Value high = LLVM::ShlOp::create(builder, loc, loadHalf(2 * i + 1),
                                     createInteger(builder, loc, 32, 16));
    words.push_back(LLVM::OrOp::create(builder, loc, low, high));
  }
  op.replaceAllUsesWith(count == 1 ? words.front()
                                   : makeStruct(loc, op.getType(), words));
  op.erase();
  return success();
}

LogicalResult mlir::remat::emulator::expandMatrixOps(gpu::GPUModuleOp kernels,
                                                     SymbolTable &symbols) {
  Expansion expansion(kernels.getContext(), symbols);
  WalkResult result =
      kernels.walk<WalkOrder::PostOrder>([&](Operation *op) -> WalkResult {
        if (auto product = dyn_cast<NVVM::MmaOp>(op))
          return expansion.expand(product);
        if (auto load = dyn_cast<NVVM::LdMatrixOp>(op))
          return expansion.expand(load);
        return success();
      });
  return failure(result.wasInterrupted());
}
