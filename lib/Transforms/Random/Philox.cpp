//===- Philox.cpp - The random generator as IR ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only operations with exactly defined results appear here, and no library
// function: a seed gives the same numbers on every target.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Random/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Arithmetic on values and numbers, in a notation that formulas can be read
/// in.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value integer(Type type, uint64_t value) {
    APInt bits(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), value,
               /*isSigned=*/false, /*implicitTrunc=*/true);
    return createScalarOrSplatConstant(b, b.getLoc(), type, bits);
  }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }

  Value add(Value l, Value r) { return arith::AddFOp::create(b, l, r); }
  Value sub(Value l, Value r) { return arith::SubFOp::create(b, l, r); }
  Value mul(Value l, Value r) { return arith::MulFOp::create(b, l, r); }
  Value div(Value l, Value r) { return arith::DivFOp::create(b, l, r); }
  Value add(Value l, double r) { return add(l, number(l.getType(), r)); }
  Value sub(Value l, double r) { return sub(l, number(l.getType(), r)); }
  Value mul(Value l, double r) { return mul(l, number(l.getType(), r)); }

  /// Horner's rule; coefficients from the highest power down.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = number(x.getType(), coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = add(mul(result, x), coefficient);
    return result;
  }

  Value shiftRight(Value value, unsigned bits) {
    return arith::ShRUIOp::create(b, value, integer(value.getType(), bits));
  }
  Value shiftLeft(Value value, unsigned bits) {
    return arith::ShLIOp::create(b, value, integer(value.getType(), bits));
  }
  Value mask(Value value, uint64_t bits) {
    return arith::AndIOp::create(b, value, integer(value.getType(), bits));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  ImplicitLocOpBuilder b;
};
} // namespace

/// `type`, or a vector of as many elements as `like` has.
static Type getTypeLike(Type like, Type type) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? vector.clone(type) : type;
}

std::array<Value, 2> remat::emitSplit(OpBuilder &builder, Location loc,
                                      Value value) {
  Emitter e(builder, loc);
  Type word = getTypeLike(value.getType(), e.b.getI32Type());
  Value low = arith::TruncIOp::create(e.b, word, value);
  Value high = arith::TruncIOp::create(e.b, word, e.shiftRight(value, 32));
  return {low, high};
}

Value remat::emitJoin(OpBuilder &builder, Location loc, Value low, Value high) {
  Emitter e(builder, loc);
  Type wide = e.b.getI64Type();
  Value lowWide = arith::ExtUIOp::create(e.b, wide, low);
  Value highWide = arith::ExtUIOp::create(e.b, wide, high);
  return arith::OrIOp::create(e.b, lowWide, e.shiftLeft(highWide, 32));
}

std::array<Value, 4> remat::emitPhilox4x32_10(OpBuilder &builder, Location loc,
                                              std::array<Value, 4> counter,
                                              std::array<Value, 2> key) {
  Emitter e(builder, loc);
  // A widened product rather than arith.mului_extended: targets have a vector
  // instruction for it.
  auto multiply = [&](Value value, uint64_t multiplier) {
    Type wide = getTypeLike(value.getType(), e.b.getI64Type());
    Value product =
        arith::MulIOp::create(e.b, arith::ExtUIOp::create(e.b, wide, value),
                              e.integer(wide, multiplier));
    return emitSplit(e.b, loc, product);
  };
  auto exclusiveOr = [&](Value l, Value r) -> Value {
    return arith::XOrIOp::create(e.b, l, r);
  };
  constexpr uint64_t increments[2] = {0x9E3779B9, 0xBB67AE85};
  for (int round = 0; round < 10; ++round) {
    if (round > 0)
      for (int i = 0; i < 2; ++i)
        key[i] = arith::AddIOp::create(
            e.b, key[i], e.integer(key[i].getType(), increments[i]));
    auto [low0, high0] = multiply(counter[0], 0xD2511F53);
    auto [low1, high1] = multiply(counter[2], 0xCD9E8D57);
    counter = {exclusiveOr(exclusiveOr(high1, counter[1]), key[0]), low1,
               exclusiveOr(exclusiveOr(high0, counter[3]), key[1]), low0};
  }
  return counter;
}

/// x = m * 2^k with sqrt(1/2) <= m < sqrt(2) (up to rounding); returns m - 1
/// and k. The offset moves the cut between two exponents to sqrt(1/2).
static std::pair<Value, Value> emitSplitExponent(Emitter &e, Value x) {
  bool isDouble = x.getType().isF64();
  Type integerType = isDouble ? e.b.getI64Type() : e.b.getI32Type();
  unsigned mantissa = isDouble ? 52 : 23;
  uint64_t one = isDouble ? 0x3FF0000000000000 : 0x3F800000;
  uint64_t root = isDouble ? 0x3FE6A09E667F3BCD : 0x3F3504F3;
  Value bits = arith::BitcastOp::create(e.b, integerType, x);
  Value offset =
      arith::AddIOp::create(e.b, bits, e.integer(integerType, one - root));
  Value k =
      arith::SubIOp::create(e.b, e.shiftRight(offset, mantissa),
                            e.integer(integerType, isDouble ? 1023 : 127));
  Value m =
      arith::AddIOp::create(e.b, e.mask(offset, (uint64_t(1) << mantissa) - 1),
                            e.integer(integerType, root));
  return {e.sub(arith::BitcastOp::create(e.b, x.getType(), m), 1.0),
          arith::SIToFPOp::create(e.b, x.getType(), k)};
}

static Value emitLogOfFloat(Emitter &e, Value x) {
  auto [f, k] = emitSplitExponent(e, x);
  Value f2 = e.mul(f, f);
  Value y =
      e.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                       -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                       2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  y = e.mul(e.mul(y, f), f2);
  y = e.add(y, e.mul(k, -2.12194440e-4));
  y = e.sub(y, e.mul(f2, 0.5));
  return e.add(e.add(f, y), e.mul(k, 0.693359375));
}

static Value emitLogOfDouble(Emitter &e, Value x) {
  auto [f, k] = emitSplitExponent(e, x);
  Value s = e.div(f, e.add(f, 2.0));
  Value z = e.mul(s, s);
  Value w = e.mul(z, z);
  Value even = e.mul(
      w, e.polynomial(w, {1.531383769920937332e-01, 2.222219843214978396e-01,
                          3.999999999940941908e-01}));
  Value odd = e.mul(
      z, e.polynomial(w, {1.479819860511658591e-01, 1.818357216161805012e-01,
                          2.857142874366239149e-01, 6.666666666666735130e-01}));
  Value rest = e.add(odd, even);
  Value half = e.mul(e.mul(f, f), 0.5);
  Value inner =
      e.add(e.mul(s, e.add(half, rest)), e.mul(k, 1.90821492927058770002e-10));
  return e.sub(e.mul(k, 6.93147180369123816490e-01),
               e.sub(e.sub(half, inner), f));
}

Value remat::emitLog(OpBuilder &builder, Location loc, Value x) {
  Emitter e(builder, loc);
  return x.getType().isF64() ? emitLogOfDouble(e, x) : emitLogOfFloat(e, x);
}

std::array<Value, 2> remat::emitSinCosOfTurns(OpBuilder &builder, Location loc,
                                              Value fraction, unsigned bits) {
  Emitter e(builder, loc);
  Type type = fraction.getType();
  bool isDouble = type.isInteger(64);
  Type real = isDouble ? e.b.getF64Type() : e.b.getF32Type();

  // The nearest quarter turn, and what is left: at most an eighth of a turn.
  Value quarter = e.shiftRight(
      arith::AddIOp::create(e.b, fraction,
                            e.integer(type, uint64_t(1) << (bits - 3))),
      bits - 2);
  Value left =
      arith::SubIOp::create(e.b, fraction, e.shiftLeft(quarter, bits - 2));
  double quarterTurn = 1.57079632679489661923;
  Value x = e.mul(arith::SIToFPOp::create(e.b, real, left),
                  std::ldexp(quarterTurn, 2 - static_cast<int>(bits)));
  Value z = e.mul(x, x);
  Value sine, cosine;
  if (isDouble) {
    Value s = e.polynomial(
        z, {1.58969099521155010221e-10, -2.50507602534068634195e-08,
            2.75573137070700676789e-06, -1.98412698298579493134e-04,
            8.33333333332248946124e-03, -1.66666666666666324348e-01});
    sine = e.add(x, e.mul(e.mul(z, x), s));
    Value c = e.polynomial(
        z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
            -2.75573143513906633035e-07, 2.48015872894767294178e-05,
            -1.38888888888741095749e-03, 4.16666666666666019037e-02});
    cosine = e.add(e.sub(e.mul(e.mul(z, z), c), e.mul(z, 0.5)), 1.0);
  } else {
    Value s =
        e.polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    sine = e.add(e.mul(e.mul(s, z), x), x);
    Value c = e.polynomial(
        z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
    cosine = e.add(e.sub(e.mul(e.mul(c, z), z), e.mul(z, 0.5)), 1.0);
  }

  // Odd quarters swap the two; the signs follow the quadrants.
  auto hasBit = [&](Value value, uint64_t bit) -> Value {
    return arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne,
                                 e.mask(value, bit), e.integer(type, 0));
  };
  Value isOdd = hasBit(quarter, 1);
  Value sineOfAll = e.select(isOdd, cosine, sine);
  Value cosineOfAll = e.select(isOdd, sine, cosine);
  Value next = arith::AddIOp::create(e.b, quarter, e.integer(type, 1));
  return {e.select(hasBit(quarter, 2), arith::NegFOp::create(e.b, sineOfAll),
                   sineOfAll),
          e.select(hasBit(next, 2), arith::NegFOp::create(e.b, cosineOfAll),
                   cosineOfAll)};
}
