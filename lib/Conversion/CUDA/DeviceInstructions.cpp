//===- DeviceInstructions.cpp - Instructions that the host has not --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What follows expands f32 -> bf16, minimum and maximum into what gives the
// same bits on every processor: ten instructions instead of one that all chips
// have. Of 1 / sqrt(x), ptxas makes twenty, with branches that keep it from
// mixing the iterations of a loop.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CUDA/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace mlir::remat {
#define GEN_PASS_DEF_USEDEVICEINSTRUCTIONS
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// Scalars and the vectors that LLVM has.
static bool hasElements(Type type, function_ref<bool(Type)> isWanted) {
  auto vector = dyn_cast<VectorType>(type);
  return isWanted(getElementTypeOrSelf(type)) &&
         (!vector || (vector.getRank() == 1 && !vector.isScalable()));
}

/// The chip takes -0 for less than +0, which comparisons do not. That makes a
/// difference only if both operands may be zero.
template <typename Op> static bool distinguishesZeros(Op op) {
  if (bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::nsz))
    return false;
  for (Value operand : op->getOperands()) {
    APFloat number(0.0f);
    if (!matchPattern(operand, m_ConstantFloat(&number)))
      continue;
    // Comparisons take the right one of two zeros.
    bool isRight = operand == op.getRhs() && op.getLhs() != operand;
    if (!number.isZero() ||
        (isRight && number.isNegative() != isa<arith::MaximumFOp>(op)))
      return false;
  }
  return true;
}

template <typename LLVMOp, typename Op> static void replace(Op op) {
  OpBuilder b(op);
  Type type = op.getResult().getType();
  op.replaceAllUsesWith(
      LLVMOp::create(b, op.getLoc(), type, op->getOperands())->getResult(0));
  op.erase();
}

/// By the instruction for pairs, which runs as often as additions do; the one
/// for single numbers runs an eighth as often.
static void roundScalar(arith::TruncFOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(op.getIn().getType()));
  // The first operand is the upper half.
  Value pair =
      LLVM::CallIntrinsicOp::create(b, loc, VectorType::get({2}, op.getType()),
                                    b.getStringAttr("llvm.nvvm.ff2bf16x2.rn"),
                                    ValueRange{zero, op.getIn()})
          .getResult(0);
  op.replaceAllUsesWith(
      vector::ExtractOp::create(b, loc, pair, int64_t(0)).getResult());
  op.erase();
}

static Value callIntrinsic(ImplicitLocOpBuilder &b, StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name), x)
      .getResult(0);
}

/// The quotient of 1 and the square root of `x`, both rounded: what ptxas makes
/// of either where numbers are ordinary. Of others (below 2^-101, no number)
/// the chip's approximation, which is right for zero, infinity and NaN.
static Value emitInverseRoot(ImplicitLocOpBuilder &b, Value x) {
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto fma = [&](Value factor, Value other, Value sum) -> Value {
    return LLVM::FMAOp::create(b, factor, other, sum);
  };
  auto negate = [&](Value value) -> Value {
    return arith::NegFOp::create(b, value);
  };
  Value estimate = callIntrinsic(b, "llvm.nvvm.rsqrt.approx.f", x);
  Value root = arith::MulFOp::create(b, x, estimate);
  Value half = arith::MulFOp::create(b, estimate, constant(0.5f));
  root = fma(fma(negate(root), root, x), half, root);
  Value inverse = callIntrinsic(b, "llvm.nvvm.rcp.approx.ftz.f", root);
  inverse = fma(inverse, fma(negate(root), inverse, constant(1.0f)), inverse);
  // As integers, numbers are in order.
  constexpr int32_t smallest = 0x0D000000, infinity = 0x7F800000;
  auto integer = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), x);
  Value isOrdinary =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                            arith::SubIOp::create(b, bits, integer(smallest)),
                            integer(infinity - smallest));
  return arith::SelectOp::create(b, isOrdinary, inverse, estimate);
}

static void replaceInverseRoot(math::RsqrtOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value result;
  if (auto type = dyn_cast<VectorType>(op.getType())) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(
          emitInverseRoot(b, vector::ExtractOp::create(b, op.getOperand(), i)));
    result = vector::FromElementsOp::create(b, type, elements);
  } else {
    result = emitInverseRoot(b, op.getOperand());
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct UseDeviceInstructions
    : remat::impl::UseDeviceInstructionsBase<UseDeviceInstructions> {
  void runOnOperation() override {
    auto isF32 = [](Type type) { return type.isF32(); };
    auto isBF16 = [](Type type) { return type.isBF16(); };
    getOperation()->walk([&](Operation *op) {
      if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
        if (!hasElements(truncation.getIn().getType(), isF32) ||
            !hasElements(truncation.getType(), isBF16) ||
            truncation.getRoundingmodeAttr())
          return;
        if (isa<VectorType>(truncation.getType()))
          replace<LLVM::FPTruncOp>(truncation);
        else
          roundScalar(truncation);
      } else if (auto maximum = dyn_cast<arith::MaximumFOp>(op)) {
        if (hasElements(maximum.getType(), isF32) &&
            !distinguishesZeros(maximum))
          replace<LLVM::MaximumOp>(maximum);
      } else if (auto minimum = dyn_cast<arith::MinimumFOp>(op)) {
        if (hasElements(minimum.getType(), isF32) &&
            !distinguishesZeros(minimum))
          replace<LLVM::MinimumOp>(minimum);
      } else if (auto root = dyn_cast<math::RsqrtOp>(op)) {
        if (hasElements(root.getType(), isF32))
          replaceInverseRoot(root);
      }
    });
  }
};
} // namespace
