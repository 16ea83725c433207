//===- ConvToCuDNN.cpp - Convolutions to calls of cuDNN -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cuDNN needs besides the operands (memory for its algorithms, filters in
// its order of dimensions, padded images) is allocated here, before memory is
// packed: it is part of the peak that is reported.
//===----------------------------------------------------------------------===//

#include "CuDNNConvolution.h"

#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/PackMemory/Workspace.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTCONVTOCUDNN
#define GEN_PASS_DEF_ANNOTATECUDNNWORKSPACE
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static bool isContiguous(Value value) {
  return cast<MemRefType>(value.getType()).getLayout().isIdentity();
}

namespace {
/// Makes the buffers of one convolution.
class OperandBuilder {
public:
  OperandBuilder(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  /// Returns the buffer that cuDNN reads in place of `operand`.
  Value load(const LibraryOperand &operand);
  /// Returns the buffer that cuDNN writes in place of `operand`.
  Value allocate(const LibraryOperand &operand);
  /// Completes `operand` from what cuDNN wrote; null if it is complete.
  Operation *store(Value buffer, const LibraryOperand &operand);

private:
  Value slice(Value memref, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
              const LibraryOperand &operand);
  Value sliceOriginal(const LibraryOperand &operand);
  Value sliceBuffer(Value buffer, const LibraryOperand &operand);
  Operation *copy(Value from, Value to, ArrayRef<int64_t> permutation);
  void fillWithZeros(Value memref);
  /// In the buffer's order of dimensions.
  SmallVector<int64_t> permute(ArrayRef<int64_t> sizes,
                               const LibraryOperand &operand) {
    return operand.isPermuted() ? applyPermutation(sizes, operand.permutation)
                                : llvm::to_vector(sizes);
  }

  OpBuilder &builder;
  Location loc;
};
} // namespace

/// Only the number of images, the first dimension in any order, is dynamic.
Value OperandBuilder::slice(Value memref, ArrayRef<int64_t> offsets,
                            ArrayRef<int64_t> sizes,
                            const LibraryOperand &operand) {
  if (cast<MemRefType>(memref.getType()).getShape() == sizes)
    return memref;
  SmallVector<OpFoldResult> mixedSizes =
      getAsIndexOpFoldResult(builder.getContext(), sizes);
  if (ShapedType::isDynamic(sizes[0]))
    mixedSizes[0] =
        memref::DimOp::create(builder, loc, operand.original, 0).getResult();
  return memref::SubViewOp::create(
      builder, loc, memref,
      getAsIndexOpFoldResult(builder.getContext(), offsets), mixedSizes,
      SmallVector<OpFoldResult>(sizes.size(), builder.getIndexAttr(1)));
}

Value OperandBuilder::sliceOriginal(const LibraryOperand &operand) {
  return slice(operand.original, SmallVector<int64_t>(4, 0), operand.used,
               operand);
}

Value OperandBuilder::sliceBuffer(Value buffer, const LibraryOperand &operand) {
  return slice(buffer, permute(operand.offsets, operand),
               permute(operand.used, operand), operand);
}

Operation *OperandBuilder::copy(Value from, Value to,
                                ArrayRef<int64_t> permutation) {
  if (permutation.empty())
    return memref::CopyOp::create(builder, loc, from, to);
  return linalg::TransposeOp::create(builder, loc, from, to, permutation);
}

void OperandBuilder::fillWithZeros(Value memref) {
  Type type = cast<MemRefType>(memref.getType()).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  linalg::FillOp::create(builder, loc, zero, memref);
}

Value OperandBuilder::allocate(const LibraryOperand &operand) {
  if (!operand.isCopied() && isContiguous(operand.original))
    return operand.original;
  auto type = MemRefType::get(permute(operand.sizes, operand),
                              getElementTypeOrSelf(operand.original.getType()));
  SmallVector<Value> sizes;
  if (type.isDynamicDim(0))
    sizes.push_back(memref::DimOp::create(builder, loc, operand.original, 0));
  return memref::AllocOp::create(builder, loc, type, sizes);
}

/// The kernel that alone reads what `transpose` makes, element by element.
static linalg::GenericOp findOnlyReader(linalg::TransposeOp transpose) {
  Value target = transpose.getInit();
  if (!target.getDefiningOp<memref::AllocOp>())
    return {};
  linalg::GenericOp reader;
  for (OpOperand &use : target.getUses()) {
    Operation *user = use.getOwner();
    if (user == transpose || isa<memref::DeallocOp>(user))
      continue;
    auto kernel = dyn_cast<linalg::GenericOp>(user);
    if (!kernel || (reader && reader != kernel) ||
        kernel->getBlock() != transpose->getBlock() ||
        !transpose->isBeforeInBlock(kernel) || !kernel.isDpsInput(&use) ||
        !isParallel(kernel) ||
        !kernel.getMatchingIndexingMap(&use).isPermutation())
      return {};
    reader = kernel;
  }
  return reader;
}

/// Lets the kernel that alone reads what is transposed (an update) transpose it
/// itself, through workgroup memory: nothing is stored in between.
static void foldIntoReader(linalg::TransposeOp transpose) {
  linalg::GenericOp reader = findOnlyReader(transpose);
  if (!reader || !transpose.getInput().getDefiningOp<memref::AllocOp>())
    return;
  Value target = transpose.getInit();
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  auto inverse = llvm::to_vector_of<unsigned>(
      invertPermutationVector(transpose.getPermutation()));
  for (OpOperand *input : reader.getDpsInputOperands()) {
    if (input->get() != target)
      continue;
    AffineMap &map = maps[input->getOperandNumber()];
    map = map.getSubMap(inverse);
    input->set(transpose.getInput());
  }
  reader.setIndexingMapsAttr(
      Builder(reader.getContext()).getAffineMapArrayAttr(maps));
  transpose->erase();
  for (Operation *user : llvm::make_early_inc_range(target.getUsers()))
    user->erase();
  target.getDefiningOp()->erase();
}

Value OperandBuilder::load(const LibraryOperand &operand) {
  Value buffer = allocate(operand);
  if (buffer == operand.original)
    return buffer;
  if (operand.hasPadding())
    fillWithZeros(buffer);
  if (!llvm::is_contained(operand.used, 0))
    copy(sliceOriginal(operand), sliceBuffer(buffer, operand),
         operand.permutation);
  return buffer;
}

Operation *OperandBuilder::store(Value buffer, const LibraryOperand &operand) {
  if (buffer == operand.original)
    return nullptr;
  if (operand.isCropped())
    fillWithZeros(operand.original);
  if (llvm::is_contained(operand.used, 0))
    return nullptr;
  return copy(sliceBuffer(buffer, operand), sliceOriginal(operand),
              operand.isPermuted()
                  ? invertPermutationVector(operand.permutation)
                  : SmallVector<int64_t>());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void convert(const CuDNNConvolution &plan, SymbolTable &symbols,
                    bool tf32) {
  const Convolution &conv = plan.conv;
  OpBuilder builder(conv.op);
  Location loc = conv.op->getLoc();
  OperandBuilder operands(builder, loc);
  const LibraryOperand &destination = plan.getDestination();
  auto dynamic = MemRefType::get(SmallVector<int64_t>(4, ShapedType::kDynamic),
                                 getElementTypeOrSelf(conv.images.getType()));
  SmallVector<Value> arguments;
  Value written;
  for (const LibraryOperand *operand :
       {&plan.images, &plan.filters, &plan.results}) {
    Value buffer = operand == &destination ? operands.allocate(*operand)
                                           : operands.load(*operand);
    if (operand == &destination)
      written = buffer;
    arguments.push_back(memref::CastOp::create(builder, loc, dynamic, buffer));
  }
  auto bytes = MemRefType::get({plan.getAlgorithmBytes()}, builder.getI8Type());
  auto workspace = memref::AllocOp::create(builder, loc, bytes);
  workspace->setAttr(kWorkspaceAttrName, builder.getUnitAttr());
  arguments.push_back(memref::CastOp::create(
      builder, loc,
      MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), workspace));
  for (int64_t value : {int64_t(plan.channelsFirst), conv.strides[0],
                        conv.strides[1], conv.dilations[0], conv.dilations[1],
                        plan.padding[0], plan.padding[1], plan.groups})
    arguments.push_back(arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(value)));
  func::CallOp call = createRuntimeCall(builder, loc, symbols,
                                        plan.getFunction(tf32), arguments);
  for (auto [i, operand] :
       llvm::enumerate(ArrayRef{&plan.images, &plan.filters, &plan.results}))
    if (operand != &destination)
      setReadOnly(call, i, symbols);
  call->setDiscardableAttrs(conv.op->getDiscardableAttrDictionary());
  call->removeDiscardableAttr(RematDialect::getWorkspaceBytesAttrName());
  Operation *stored = operands.store(written, destination);
  conv.op->erase();
  if (auto transpose = dyn_cast_or_null<linalg::TransposeOp>(stored))
    foldIntoReader(transpose);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
struct ConvertConvToCuDNN
    : mlir::remat::impl::ConvertConvToCuDNNBase<ConvertConvToCuDNN> {
  using ConvertConvToCuDNNBase::ConvertConvToCuDNNBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Convolution> convs;
    module.walk([&](Operation *op) {
      std::optional<Convolution> conv = getConvolution(op);
      if (conv && isa<MemRefType>(conv->images.getType()))
        convs.push_back(*conv);
    });
    if (convs.empty())
      return markAllAnalysesPreserved();
    SymbolTable symbols(module);
    for (const Convolution &conv : convs) {
      if (conv.getRank() != 2) {
        conv.op->emitOpError()
            << "has three dimensions in space, which are loops on CUDA; write "
               "linalg's convolution, or run remat-fuse-padding with "
               "most-dims=2 where that made it";
        return signalPassFailure();
      }
      if (!conv.hasKnownSizes()) {
        conv.op->emitOpError()
            << "has a dynamic size besides the number of images, for which "
               "cuDNN's operands cannot be planned; make it static, or leave "
               "remat-fuse-padding out";
        return signalPassFailure();
      }
      convert(planCuDNNConvolution(conv, leastWorkspace), symbols, tf32);
    }
  }
};

struct AnnotateCuDNNWorkspace
    : mlir::remat::impl::AnnotateCuDNNWorkspaceBase<AnnotateCuDNNWorkspace> {
  using AnnotateCuDNNWorkspaceBase::AnnotateCuDNNWorkspaceBase;

  void runOnOperation() override {
    Builder builder(&getContext());
    bool changed = false;
    getOperation()->walk([&](Operation *op) {
      std::optional<Convolution> conv = getConvolution(op);
      // Others are refused where they are converted.
      if (!conv || conv->getRank() != 2 || !conv->hasKnownSizes())
        return;
      changed = true;
      op->setDiscardableAttr(
          RematDialect::getWorkspaceBytesAttrName(),
          builder.getI64IntegerAttr(
              planCuDNNConvolution(*conv, leastWorkspace).getWorkspaceBytes()));
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
