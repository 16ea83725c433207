//===- LogSum.cpp - The number that attention keeps of a row --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/LogSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

/// Of a row beyond, log_sum is kBase (1 + log(sum)).
static constexpr double kBase = 0x1p60;

static Value createConstant(OpBuilder &b, Location loc, Value like,
                            double number) {
  return arith::ConstantOp::create(b, loc,
                                   b.getFloatAttr(like.getType(), number));
}

Value mlir::remat::createIsBeyond(OpBuilder &b, Location loc, Value maximum) {
  double limit = maximum.getType().isF32() ? -0x1p25 : -0x1p54;
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, maximum,
                               createConstant(b, loc, maximum, limit));
}

Value mlir::remat::createLogSum(OpBuilder &b, Location loc, Value maximum,
                                Value sum) {
  auto constant = [&](double number) {
    return createConstant(b, loc, maximum, number);
  };
  Value log = math::LogOp::create(b, loc, sum);
  Value plain = arith::AddFOp::create(b, loc, maximum, log);
  Value scaled = arith::MulFOp::create(b, loc, log, constant(kBase));
  Value coded = arith::AddFOp::create(b, loc, constant(kBase), scaled);
  return arith::SelectOp::create(b, loc, createIsBeyond(b, loc, maximum), coded,
                                 plain);
}

Value mlir::remat::subtractLogSum(OpBuilder &b, Location loc, Value t,
                                  Value logSum) {
  auto constant = [&](double number) {
    return createConstant(b, loc, logSum, number);
  };
  Value isBeyond = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE,
                                         logSum, constant(kBase));
  Value rest = arith::SubFOp::create(b, loc, constant(kBase), logSum);
  Value decoded = arith::MulFOp::create(b, loc, rest, constant(1 / kBase));
  Value difference = arith::SubFOp::create(b, loc, t, logSum);
  return arith::SelectOp::create(b, loc, isBeyond, decoded, difference);
}

std::pair<Value, Value> mlir::remat::createExponent(OpBuilder &b, Location loc,
                                                    Value logSum) {
  auto constant = [&](double number) {
    return createConstant(b, loc, logSum, number);
  };
  auto select = [&](arith::CmpFPredicate predicate, double number, Value yes,
                    Value no) -> Value {
    Value holds =
        arith::CmpFOp::create(b, loc, predicate, logSum, constant(number));
    return arith::SelectOp::create(b, loc, holds, yes, no);
  };
  Value rest = arith::SubFOp::create(b, loc, constant(kBase), logSum);
  Value decoded = arith::MulFOp::create(b, loc, rest,
                                        constant(llvm::numbers::log2e / kBase));
  Value plain =
      arith::MulFOp::create(b, loc, logSum, constant(-llvm::numbers::log2e));
  // The smallest number moves no score, and keeps -inf.
  Value factor = select(arith::CmpFPredicate::OGE, kBase, constant(0x1p-149),
                        constant(llvm::numbers::log2e));
  Value offset = select(arith::CmpFPredicate::OGE, kBase, decoded, plain);
  offset = select(arith::CmpFPredicate::UNO, 0.0, constant(0.0), offset);
  return {factor, offset};
}
