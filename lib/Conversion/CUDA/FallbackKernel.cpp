//===- FallbackKernel.cpp - Kernels of ops with any index map -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps with floordiv and mod, as imported models have them, make no
// strides. Each thread takes one point of the parallel loops, in which it alone
// writes, and runs all other loops in order through memory: slow where these
// are long, but with the bits of the loops as they are written.
//===----------------------------------------------------------------------===//

#include "FallbackKernel.h"

#include "DevicePointers.h"
#include "IndexMath.h"
#include "KernelLaunch.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns true if two iterations of `loop` never write one element: every
/// output has a dimension that is this loop's iteration.
static bool isDistinct(linalg::LinalgOp op, unsigned loop) {
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return llvm::any_of(op.getMatchingIndexingMap(&init).getResults(),
                        [&](AffineExpr expr) {
                          auto dim = dyn_cast<AffineDimExpr>(expr);
                          return dim && dim.getPosition() == loop;
                        });
  });
}

namespace {

class FallbackEmitter {
public:
  FallbackEmitter(OpBuilder &host, linalg::LinalgOp op, int64_t blockSize)
      : host(host), op(op), loc(op.getLoc()), blockSize(blockSize),
        launch(host, op) {
    auto kinds = op.getIteratorTypesArray();
    for (auto [loop, range] :
         llvm::enumerate(op.createLoopRanges(host, op.getLoc()))) {
      sizes.push_back(range.size);
      bool isOwn =
          kinds[loop] == utils::IteratorType::parallel && isDistinct(op, loop);
      (isOwn ? gridLoops : innerLoops).push_back(loop);
    }
  }

  bool isEmpty() const {
    return llvm::any_of(
        sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); });
  }
  void run(KernelTable<gpu::GPUFuncOp> &kernels);

private:
  /// An operand in the kernel: a scalar, or memory with strides.
  struct Operand {
    Value value;
    Type elementType;
    AffineMap map;
    SmallVector<Value> strides;
  };

  void addOperand(OpOperand &operand);
  void emitLoops(ArrayRef<unsigned> loops, MutableArrayRef<Value> iterations);
  void emitPoint(ValueRange iterations);
  Value getOffset(const Operand &operand, ValueRange iterations);

  OpBuilder &host;
  linalg::LinalgOp op;
  Location loc;
  int64_t blockSize;
  KernelLaunch launch;
  SmallVector<OpFoldResult> sizes;
  /// Loops of which each thread has one iteration, and those that it runs.
  SmallVector<unsigned> gridLoops, innerLoops;

  // In the kernel.
  OpBuilder &b = launch.device;
  IndexMath math{b, loc};
  SmallVector<Operand> operands;
};

} // namespace

void FallbackEmitter::addOperand(OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type) {
    operands.push_back({launch.addScalar(operand.get()),
                        operand.get().getType(),
                        AffineMap(),
                        {}});
    return;
  }
  StridedMetadata metadata = getStridedMetadata(host, loc, operand.get());
  std::optional<int64_t> bytes;
  if (type.hasStaticShape() && type.getLayout().isIdentity())
    bytes =
        multiplySizes(type.getShape(), getBytesInMemory(type.getElementType()));
  using Use = KernelLaunch::Access;
  Use use = op.isDpsInput(&operand)                    ? Use::Read
            : op.payloadUsesValueFromOperand(&operand) ? Use::ReadWrite
                                                       : Use::Write;
  Value memory = launch.addMemory(
      createDevicePointer(host, loc, operand.get(), metadata.offset),
      type.getElementType(), use, bytes);
  operands.push_back(
      {memory, type.getElementType(), op.getMatchingIndexingMap(&operand),
       llvm::map_to_vector(metadata.strides, [&](OpFoldResult stride) {
         return launch.addNumber(stride);
       })});
}

Value FallbackEmitter::getOffset(const Operand &operand,
                                 ValueRange iterations) {
  Value offset = math.index(0);
  for (auto [expr, stride] :
       llvm::zip_equal(operand.map.getResults(), operand.strides)) {
    auto map = AffineMap::get(operand.map.getNumDims(), 0, expr);
    Value at = getValueOrCreateConstantIndexOp(
        b, loc,
        affine::makeComposedFoldedAffineApply(b, loc, map,
                                              getAsOpFoldResult(iterations)));
    offset = math.add(offset, math.mul(at, stride));
  }
  return offset;
}

/// One iteration. All loads precede all stores, so that an output may take the
/// place of an input.
void FallbackEmitter::emitPoint(ValueRange iterations) {
  Block *body = op.getBlock();
  IRMapping values(launch.map);
  SmallVector<Value> offsets;
  for (auto [argument, operand] :
       llvm::zip_equal(body->getArguments(), operands)) {
    if (!operand.map) {
      offsets.push_back({});
      values.map(argument, operand.value);
      continue;
    }
    offsets.push_back(getOffset(operand, iterations));
    if (argument.use_empty())
      continue;
    Value element =
        memref::LoadOp::create(b, loc, operand.value, offsets.back());
    // Booleans are bytes in memory.
    if (operand.elementType.isInteger(1))
      element = arith::TruncIOp::create(b, loc, b.getI1Type(), element);
    values.map(argument, element);
  }
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      values.map(index.getResult(), iterations[index.getDim()]);
    else
      b.clone(inner, values);
  }
  unsigned numInputs = op.getNumDpsInputs();
  for (auto [i, yielded] :
       llvm::enumerate(body->getTerminator()->getOperands())) {
    const Operand &operand = operands[numInputs + i];
    Value element = values.lookupOrDefault(yielded);
    if (operand.elementType.isInteger(1))
      element = arith::ExtUIOp::create(b, loc, b.getI8Type(), element);
    memref::StoreOp::create(b, loc, element, operand.value,
                            offsets[numInputs + i]);
  }
}

void FallbackEmitter::emitLoops(ArrayRef<unsigned> loops,
                                MutableArrayRef<Value> iterations) {
  if (loops.empty())
    return emitPoint(iterations);
  auto loop =
      scf::ForOp::create(b, loc, math.index(0),
                         launch.addNumber(sizes[loops.front()]), math.index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  iterations[loops.front()] = loop.getInductionVar();
  emitLoops(loops.drop_front(), iterations);
}

void FallbackEmitter::run(KernelTable<gpu::GPUFuncOp> &kernels) {
  launch.begin(blockSize, /*workgroupTypes=*/{});
  for (OpOperand &operand : op->getOpOperands())
    addOperand(operand);
  launch.addCaptures(collectCaptures(op->getRegions()));
  // All arguments, before there is code.
  for (OpFoldResult size : sizes)
    launch.addNumber(size);
  launch.beginCode();
  Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  Value number = math.add(math.mul(block, math.index(blockSize)), thread);
  SmallVector<Value> gridSizes = llvm::map_to_vector(
      gridLoops, [&](unsigned loop) { return launch.addNumber(sizes[loop]); });
  auto branch =
      scf::IfOp::create(b, loc, math.isBelow(number, math.product(gridSizes)),
                        /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> iterations(sizes.size());
    for (auto [loop, at] :
         llvm::zip_equal(gridLoops, math.delinearize(number, gridSizes)))
      iterations[loop] = at;
    emitLoops(innerLoops, iterations);
  }
  gpu::GPUFuncOp kernel = kernels.getOrInsert(launch.finish());

  IndexMath onHost{host, loc};
  Value points = onHost.product(
      llvm::map_to_vector(gridLoops, [&](unsigned loop) -> Value {
        return getValueOrCreateConstantIndexOp(host, loc, sizes[loop]);
      }));
  launch.createLaunch(kernel, onHost.ceilDiv(points, onHost.index(blockSize)));
}

void mlir::remat::launchFallback(OpBuilder &builder,
                                 KernelTable<gpu::GPUFuncOp> &table,
                                 linalg::LinalgOp op, int64_t blockSize) {
  FallbackEmitter emitter(builder, op, blockSize);
  if (!emitter.isEmpty())
    emitter.run(table);
}
