//===- DeviceMemory.cpp - The host asks the runtime for device memory -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A load of the host from device memory would be a fault. What kernels cannot
// take over goes through the runtime, in order with the launches.
//===----------------------------------------------------------------------===//

#include "DevicePointers.h"
#include "RuntimeFunctions.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Transforms/Utils/Locations.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTDEVICEMEMORY
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
class AccessLowering {
public:
  explicit AccessLowering(ModuleOp module)
      : symbols(module), texts(symbols),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult lower(Operation *op);
  /// Returns true if the operation accesses memory of the host after all.
  bool isOfHost(Operation *op);

private:
  void lower(cf::AssertOp assertion);
  void lower(memref::LoadOp load);
  void lower(memref::StoreOp store);
  void lower(memref::AllocOp alloc);
  void lower(memref::DeallocOp dealloc);
  void lower(memref::GetGlobalOp global);
  /// Returns true if a host program writes it, such as a learning rate.
  bool isVariable(memref::GetGlobalOp global);
  Value getAddress(OpBuilder &builder, Location loc, Value memref,
                   ValueRange indices);
  Value createBytes(OpBuilder &builder, Location loc, OpFoldResult bytes);
  Value createBuffer(OpBuilder &builder, Location loc, MemRefType type,
                     Value address, ArrayRef<OpFoldResult> sizes);

  SymbolTable symbols;
  TextTable texts;
  Type pointer;
};
} // namespace

/// The address of an element.
Value AccessLowering::getAddress(OpBuilder &builder, Location loc, Value memref,
                                 ValueRange indices) {
  StridedMetadata metadata = getStridedMetadata(builder, loc, memref);
  auto [sum, numbers] = computeLinearIndex(metadata.offset, metadata.strides,
                                           getAsOpFoldResult(indices));
  OpFoldResult offset =
      affine::makeComposedFoldedAffineApply(builder, loc, sum, numbers);
  return createDevicePointer(builder, loc, memref, offset);
}

Value AccessLowering::createBytes(OpBuilder &builder, Location loc,
                                  OpFoldResult bytes) {
  return arith::IndexCastOp::create(
      builder, loc, builder.getI64Type(),
      getValueOrCreateConstantIndexOp(builder, loc, bytes));
}

void AccessLowering::lower(memref::LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Type type = load.getType();
  load.emitRemark("the host reads device memory here: it waits for the device, "
                  "and the graph that is captured ends");
  Value address = getAddress(builder, loc, load.getMemRef(), load.getIndices());
  int64_t bytes = getBytesInMemory(type);
  Value slot = allocateOnStack(builder, loc, llvm::divideCeil(bytes, 8));
  callCUDARuntime(
      builder, loc, symbols, "remat_cuda_read",
      {slot, address, createBytes(builder, loc, builder.getIndexAttr(bytes))});
  load.replaceAllUsesWith(loadStepScalar(builder, loc, slot, type));
  load.erase();
}

void AccessLowering::lower(memref::StoreOp store) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  Value value = store.getValueToStore();
  int64_t bytes = getBytesInMemory(value.getType());
  Value address =
      getAddress(builder, loc, store.getMemRef(), store.getIndices());
  Value slot = allocateOnStack(builder, loc, llvm::divideCeil(bytes, 8));
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  if (value.getType().isIndex())
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  LLVM::StoreOp::create(builder, loc, value, slot);
  callCUDARuntime(
      builder, loc, symbols, "remat_cuda_write",
      {address, slot, createBytes(builder, loc, builder.getIndexAttr(bytes))});
  store.erase();
}

/// A buffer of the runtime as a memref.
Value AccessLowering::createBuffer(OpBuilder &builder, Location loc,
                                   MemRefType type, Value address,
                                   ArrayRef<OpFoldResult> sizes) {
  Value flat = createFlatMemRef(builder, loc, address, type.getElementType(),
                                /*booleansAreBytes=*/false);
  Value buffer = memref::ReinterpretCastOp::create(
      builder, loc, flat, OpFoldResult(builder.getIndexAttr(0)), sizes,
      memref::computeStridesIRBlock(loc, builder, sizes));
  return memref::CastOp::create(builder, loc, type, buffer);
}

void AccessLowering::lower(memref::AllocOp alloc) {
  OpBuilder builder(alloc);
  Location loc = alloc.getLoc();
  SmallVector<OpFoldResult> sizes = alloc.getMixedSizes();
  SmallVector<OpFoldResult> factors(sizes);
  factors.push_back(
      builder.getIndexAttr(getBytesInMemory(alloc.getType().getElementType())));
  SmallVector<AffineExpr> terms(factors.size());
  bindSymbolsList(builder.getContext(), MutableArrayRef(terms));
  OpFoldResult bytes = affine::makeComposedFoldedAffineApply(
      builder, loc, computeProduct(builder.getContext(), terms), factors);
  Value address = callCUDARuntime(builder, loc, symbols, "remat_cuda_alloc",
                                  createBytes(builder, loc, bytes), pointer)
                      .getResult(0);
  alloc.replaceAllUsesWith(
      createBuffer(builder, loc, alloc.getType(), address, sizes));
  alloc.erase();
}

void AccessLowering::lower(memref::DeallocOp dealloc) {
  OpBuilder builder(dealloc);
  Location loc = dealloc.getLoc();
  callCUDARuntime(builder, loc, symbols, "remat_cuda_free",
                  createDevicePointer(builder, loc, dealloc.getMemref(),
                                      builder.getIndexAttr(0)));
  dealloc.erase();
}

void AccessLowering::lower(memref::GetGlobalOp global) {
  OpBuilder builder(global);
  Location loc = global.getLoc();
  MemRefType type = global.getType();
  Value constant =
      memref::GetGlobalOp::create(builder, loc, type, global.getNameAttr());
  Value bytes = createBytes(
      builder, loc,
      builder.getIndexAttr(type.getNumElements() *
                           getBytesInMemory(type.getElementType())));
  Value host =
      createDevicePointer(builder, loc, constant, builder.getIndexAttr(0));
  Value address = callCUDARuntime(builder, loc, symbols, "remat_cuda_constant",
                                  {host, bytes}, pointer)
                      .getResult(0);
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  global.replaceAllUsesWith(createBuffer(builder, loc, type, address, sizes));
  global.erase();
}

/// The condition is in device memory: whether it holds is looked at once a
/// step, before anything is written.
void AccessLowering::lower(cf::AssertOp assertion) {
  auto load = assertion.getArg().getDefiningOp<memref::LoadOp>();
  if (!load)
    return; // The host computed it.
  OpBuilder builder(assertion);
  Location loc = assertion.getLoc();
  builder.setInsertionPoint(load);
  Value address = getAddress(builder, loc, load.getMemRef(), load.getIndices());
  StringRef message =
      assertion.getMsg().empty() ? "assertion failed" : assertion.getMsg();
  // Checks of indices say where they are in their message.
  std::string where = describeFilePosition(loc).value_or("");
  if (message.starts_with(where))
    where.clear();
  callCUDARuntime(builder, loc, symbols, "remat_cuda_assert",
                  {address, texts.get(builder, loc, message),
                   texts.get(builder, loc, where)});
  assertion.erase();
  if (load->use_empty())
    load.erase();
}

LogicalResult AccessLowering::lower(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<cf::AssertOp, memref::LoadOp, memref::StoreOp, memref::AllocOp,
            memref::DeallocOp, memref::GetGlobalOp>([&](auto access) {
        lower(access);
        return success();
      })
      .Case<memref::AllocaOp, memref::AtomicRMWOp, memref::GenericAtomicRMWOp>(
          [](Operation *other) {
            return other->emitError("accesses device memory from the host, "
                                    "which target 'cuda' does not lower");
          })
      .Default(success());
}

bool AccessLowering::isVariable(memref::GetGlobalOp global) {
  auto definition = symbols.lookup<memref::GlobalOp>(global.getName());
  return definition && !definition.getConstant();
}

/// These are random states, and constants that are passed to the runtime, in
/// the functions that call the step; and everywhere what a host program sets.
bool AccessLowering::isOfHost(Operation *op) {
  if (auto global = dyn_cast<memref::GetGlobalOp>(op);
      global && isVariable(global))
    return true;
  for (Value operand : op->getOperands())
    if (auto global = operand.getDefiningOp<memref::GetGlobalOp>())
      if (isVariable(global))
        return true;
  auto function = op->getParentOfType<func::FuncOp>();
  constexpr StringRef kEntries[] = {"main", kStepEntryName,
                                    kEvaluationEntryName};
  if (!function || !llvm::is_contained(kEntries, function.getSymName()))
    return false;
  return isa<memref::GetGlobalOp>(op) ||
         llvm::any_of(op->getOperands(), [](Value operand) {
           auto type = dyn_cast<MemRefType>(operand.getType());
           return type && isa<VectorType>(type.getElementType());
         });
}

/// Makes reshapes read their sizes by loads, which can be asked of the runtime.
static LogicalResult expandReshapes(ModuleOp module) {
  SmallVector<Operation *> reshapes;
  module.walk([&](memref::ReshapeOp op) { reshapes.push_back(op); });
  RewritePatternSet patterns(module.getContext());
  memref::populateExpandOpsPatterns(patterns);
  return applyOpPatternsGreedily(reshapes, std::move(patterns));
}

namespace {
struct ConvertDeviceMemory
    : remat::impl::ConvertDeviceMemoryBase<ConvertDeviceMemory> {
  void runOnOperation() override {
    if (failed(expandReshapes(getOperation())))
      return signalPassFailure();
    AccessLowering lowering(getOperation());
    // Assertions first: they take their loads with them.
    SmallVector<Operation *> assertions, accesses;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        if (isa<cf::AssertOp>(op))
          assertions.push_back(op);
        else if (!lowering.isOfHost(op))
          accesses.push_back(op);
      });
    DenseSet<Operation *> gone;
    for (Operation *assertion : assertions)
      if (auto load = assertion->getOperand(0).getDefiningOp<memref::LoadOp>();
          load && llvm::all_of(load->getUsers(), llvm::IsaPred<cf::AssertOp>))
        gone.insert(load);
    for (Operation *op : llvm::concat<Operation *>(assertions, accesses))
      if (!gone.contains(op) && failed(lowering.lower(op)))
        return signalPassFailure();
  }
};
} // namespace
