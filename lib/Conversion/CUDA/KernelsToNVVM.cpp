//===- KernelsToNVVM.cpp - Kernels to NVVM, with every operation rounded --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's conversion takes square roots for approximate ones, without a
// word; the rest of it is used as it is.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CUDA/Passes.h"

#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/VectorPattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTKERNELSTONVVM
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

template <typename MathOp, typename LLVMOp>
using ExactMath = VectorConvertToLLVMPattern<MathOp, LLVMOp,
                                             arith::AttrConvertFastMathToLLVM>;

/// Functions that the processor rounds exactly, and whose LLVM intrinsics the
/// back end knows.
static void populateExactMathPatterns(const LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns) {
  PatternBenefit beforeLibDevice = 10;
  patterns.add<ExactMath<math::SqrtOp, LLVM::SqrtOp>,
               ExactMath<math::FmaOp, LLVM::FMAOp>,
               ExactMath<math::AbsFOp, LLVM::FAbsOp>,
               ExactMath<math::CopySignOp, LLVM::CopySignOp>,
               ExactMath<math::FloorOp, LLVM::FFloorOp>,
               ExactMath<math::CeilOp, LLVM::FCeilOp>,
               ExactMath<math::TruncOp, LLVM::FTruncOp>,
               ExactMath<math::RoundEvenOp, LLVM::RoundEvenOp>>(
      converter, beforeLibDevice);
}

namespace {
/// libdevice's function for this has one width and no vectors.
struct AbsoluteIntegerPattern : OpConversionPattern<math::AbsIOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(math::AbsIOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value operand = adaptor.getOperand();
    rewriter.replaceOpWithNewOp<LLVM::AbsOp>(op, operand.getType(), operand,
                                             /*is_int_min_poison=*/false);
    return success();
  }
};

/// 2^x as the processor approximates it, to 2 units in the last place, where
/// that is allowed.
struct FastExp2Pattern : OpConversionPattern<math::Exp2Op> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(math::Exp2Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isF32() ||
        !bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"),
        adaptor.getOperand());
    return success();
  }
};

/// Arguments' attributes of all kernels, by name.
class ArgumentAttributes {
public:
  explicit ArgumentAttributes(gpu::GPUModuleOp module) {
    for (auto kernel : module.getOps<gpu::GPUFuncOp>())
      attributes[kernel.getName()] = kernel.getAllArgAttrs();
  }

  void restore(gpu::GPUModuleOp module) const {
    for (auto kernel : module.getOps<LLVM::LLVMFuncOp>())
      if (ArrayAttr saved = attributes.lookup(kernel.getName());
          saved && saved.size() == kernel.getNumArguments())
        kernel.setAllArgAttrs(saved);
  }

private:
  llvm::StringMap<ArrayAttr> attributes;
};

} // namespace

/// Lets kernels of large blocks have all registers that one block on a
/// multiprocessor leaves them: ptxas would rather spill than run one.
static void allowRegisters(gpu::GPUModuleOp module) {
  constexpr int32_t kLargeBlock = 1024;
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>())
    if (auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>(
            NVVM::NVVMDialect::getMaxntidAttrName());
        threads && threads.size() > 0 && threads[0] >= kLargeBlock)
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(module).getI32IntegerAttr(1));
}

/// Upstream defines the memory that launches add, of no elements: ptxas would
/// take that for a byte of the kernel's own, at the same place.
static void declareDynamicMemory(gpu::GPUModuleOp module) {
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
        array && array.getNumElements() == 0 &&
        global.getAddrSpace() == NVVM::NVVMMemorySpace::Shared)
      global.setLinkage(LLVM::Linkage::External);
}

namespace {
struct ConvertKernelsToNVVM
    : remat::impl::ConvertKernelsToNVVMBase<ConvertKernelsToNVVM> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    ArgumentAttributes attributes(module);
    LowerToLLVMOptions options(&getContext());
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);
    // Of no use below: the processor counts groups of copies.
    converter.addConversion([](nvgpu::DeviceAsyncTokenType type) -> Type {
      return IntegerType::get(type.getContext(), 32);
    });

    RewritePatternSet patterns(&getContext());
    populateExactMathPatterns(converter, patterns);
    patterns.add<AbsoluteIntegerPattern, FastExp2Pattern>(
        converter, &getContext(), /*benefit=*/10);
    populateLibDeviceConversionPatterns(converter, patterns, /*benefit=*/2);
    // Operations that libdevice has no function for, such as `ctpop`.
    populateMathToLLVMConversionPatterns(converter, patterns,
                                         /*approximateLog1p=*/false);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    populateNVGPUToNVVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    // Undefined results of branches, which are only used if these are not
    // taken.
    ub::populateUBToLLVMConversionPatterns(converter, patterns);

    ConversionTarget target(getContext());
    target.addIllegalDialect<gpu::GPUDialect>();
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp, UnrealizedConversionCastOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return false; });
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    attributes.restore(module);
    allowRegisters(module);
    declareDynamicMemory(module);
  }
};
} // namespace
