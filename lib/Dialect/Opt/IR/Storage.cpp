//===- Storage.cpp - How numbers are stored -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of codes ("dynamic maps", Dettmers et al., 2022) are piecewise
// linear: code t of a decade is A + B (t + 1/2), and the slopes B grow from
// decade to decade. So the table is the maximum of a few lines, its inverse the
// minimum of others: arithmetic that vectorizes, on any target in the same bits
// (a fused multiply-add rounds once everywhere), where a table would be a load
// for each element.
//===----------------------------------------------------------------------===//

#include "Storage.h"

#include <cmath>

using namespace mlir;
using namespace mlir::opt;

namespace {
/// A decade of a table: code t from 2^i up to 2^(i+1) stands for
/// low + slope * (t + 1/2).
struct Decade {
  double start, low, slope;
};

/// Operations on scalars of f32 and i32.
struct Emitter {
  Formula &f;
  Type f32 = f.builder.getF32Type(), i32 = f.builder.getI32Type(),
       i8 = f.builder.getI8Type();

  Value number(double value) { return f.number(value, f32); }
  Value line(Value x, double slope, double offset) {
    return math::FmaOp::create(f.builder, f.loc, x, number(slope),
                               number(offset));
  }
  Value integer(int64_t value, Type type) {
    return arith::ConstantOp::create(f.builder, f.loc,
                                     f.builder.getIntegerAttr(type, value));
  }
  Value larger(Value a, Value b) { return choose(true, a, b); }
  Value smaller(Value a, Value b) { return choose(false, a, b); }
  /// The largest or the smallest, in few steps one after the other.
  Value chooseOf(bool isLarger, ArrayRef<Value> values) {
    if (values.size() == 1)
      return values.front();
    size_t half = values.size() / 2;
    return choose(isLarger, chooseOf(isLarger, values.take_front(half)),
                  chooseOf(isLarger, values.drop_front(half)));
  }

private:
  /// One instruction; a NaN never comes here.
  Value choose(bool isLarger, Value a, Value b) {
    auto predicate =
        isLarger ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    Value condition = arith::CmpFOp::create(f.builder, f.loc, predicate, a, b);
    return arith::SelectOp::create(f.builder, f.loc, condition, a, b);
  }
};
} // namespace

/// Decades of a table: 7 of `int8`, 3 of signed `int4`.
static int64_t countDecades(BlockwiseType type) {
  return type.getBits() == 8 ? 7 : 3;
}

/// Unsigned int4 has equal steps.
static bool isLinear(BlockwiseType type) {
  return type.getBits() == 4 && !type.getIsSigned();
}

/// The code of zero.
static int64_t getZero(BlockwiseType type) {
  return type.getIsSigned() ? (1 << (type.getBits() - 1)) - 1 : 0;
}

static SmallVector<Decade> getDecades(BlockwiseType type) {
  int64_t count = countDecades(type), first = type.getIsSigned() ? 0 : 1;
  SmallVector<Decade> decades;
  for (int64_t i = 0; i < count; ++i) {
    double end = std::pow(10.0, static_cast<double>(i - (count - 1)));
    double codes = std::exp2(static_cast<double>(i + first));
    // From a tenth of the end to the end.
    decades.push_back({codes, -0.8 * end, 0.9 * end / codes});
  }
  return decades;
}

Value mlir::opt::emitDecode(Formula &f, BlockwiseType type, Value code,
                            unsigned shift) {
  Emitter e{f};
  OpBuilder &b = f.builder;
  Value bits = arith::ExtUIOp::create(b, f.loc, e.i32, code);
  if (shift != 0)
    bits = arith::ShRUIOp::create(b, f.loc, bits, e.integer(shift, e.i32));
  if (type.getBits() == 4)
    bits = arith::AndIOp::create(b, f.loc, bits, e.integer(15, e.i32));
  Value number = arith::SIToFPOp::create(b, f.loc, e.f32, bits);
  if (isLinear(type))
    return e.line(number, 1.0 / 16, 1.0 / 16);
  if (type.getIsSigned())
    number = f.sub(number, e.number(getZero(type)));
  Value t = type.getIsSigned()
                ? f.add(math::AbsFOp::create(b, f.loc, number), e.number(0.5))
                : f.add(number, e.number(1.5));
  // All lines are below zero where the code is that of zero, and the last one
  // is above one where it is that of one.
  SmallVector<Value> lines = {e.number(0)};
  for (const Decade &decade : getDecades(type))
    lines.push_back(e.line(t, decade.slope, decade.low));
  Value value = e.smaller(e.chooseOf(true, lines), e.number(1));
  return type.getIsSigned()
             ? math::CopySignOp::create(b, f.loc, value, number).getResult()
             : value;
}

Value mlir::opt::emitEncode(Formula &f, BlockwiseType type, Value ratio) {
  Emitter e{f};
  OpBuilder &b = f.builder;
  Value size = math::AbsFOp::create(b, f.loc, ratio);
  // The largest one may be a little above one.
  Value isInRange = arith::CmpFOp::create(b, f.loc, arith::CmpFPredicate::OLT,
                                          size, e.number(2));
  size = arith::SelectOp::create(b, f.loc, isInRange, size, e.number(0));
  auto toInteger = [&](Value number) -> Value {
    return arith::FPToSIOp::create(b, f.loc, e.i32, number);
  };
  if (isLinear(type)) {
    Value t = e.line(e.smaller(size, e.number(1)), 16, 0.5);
    t = e.larger(t, e.number(1));
    return arith::SubIOp::create(b, f.loc, toInteger(t), e.integer(1, e.i32));
  }
  // Half-way between neighbours is t = n in the middle of a decade. At the
  // begin of one, after a step that is a tenth as wide, it is n + 1/5; the line
  // of the first decade, which begins after zero, is bent so that it is there.
  constexpr double late = 0.2;
  SmallVector<Decade> decades = getDecades(type);
  SmallVector<Value> lines;
  for (const Decade &decade : decades) {
    double slope = 1 / decade.slope, offset = -decade.low / decade.slope;
    if (lines.empty()) {
      double smallest = decade.low + decade.slope * (decade.start + 0.5);
      double middle = smallest / 2 * slope + offset, end = decade.start + 1;
      double bend = (1 - late) / (end - middle);
      slope *= bend;
      offset = end + bend * (offset - end);
    }
    lines.push_back(e.line(size, slope, offset));
  }
  double end = 2 * decades.back().start;
  lines.push_back(e.number(end - 0.5));
  Value t = e.chooseOf(false, lines);
  Value code = toInteger(t);
  Value whole = arith::SIToFPOp::create(b, f.loc, e.f32, code);
  Value isEarly = arith::CmpFOp::create(b, f.loc, arith::CmpFPredicate::OLT,
                                        f.sub(t, whole), e.number(late));
  Value before = arith::AddIOp::create(b, f.loc, code, e.integer(-1, e.i32));
  Value isFirst = arith::CmpIOp::create(
      b, f.loc, arith::CmpIPredicate::eq,
      arith::AndIOp::create(b, f.loc, code, before), e.integer(0, e.i32));
  code = arith::SelectOp::create(
      b, f.loc, arith::AndIOp::create(b, f.loc, isFirst, isEarly), before,
      code);
  double largest = decades.back().low + decades.back().slope * (end - 0.5);
  Value bound = e.number((largest + 1) / 2), last = e.integer(end, e.i32);
  Value isOne =
      arith::CmpFOp::create(b, f.loc, arith::CmpFPredicate::OGT, size, bound);
  if (!type.getIsSigned()) {
    code = arith::SelectOp::create(b, f.loc, isOne, last, code);
    return arith::SubIOp::create(b, f.loc, code, e.integer(1, e.i32));
  }
  // There is a code for one, but none for minus one.
  Value isNegative = arith::CmpFOp::create(b, f.loc, arith::CmpFPredicate::OLT,
                                           ratio, e.number(0));
  code = arith::SelectOp::create(b, f.loc, isOne, last, code);
  Value negated = arith::SubIOp::create(b, f.loc, e.integer(0, e.i32), code);
  code = arith::SelectOp::create(b, f.loc, isNegative, negated, code);
  code = arith::AddIOp::create(b, f.loc, code, e.integer(getZero(type), e.i32));
  return arith::MaxSIOp::create(b, f.loc, code, e.integer(0, e.i32));
}

Value mlir::opt::emitInsertCode(Formula &f, BlockwiseType type, Value byte,
                                Value code, unsigned shift) {
  Emitter e{f};
  OpBuilder &b = f.builder;
  if (type.getBits() == 8)
    return arith::TruncIOp::create(b, f.loc, e.i8, code);
  if (shift != 0)
    code = arith::ShLIOp::create(b, f.loc, code, e.integer(shift, e.i32));
  Value narrow = arith::TruncIOp::create(b, f.loc, e.i8, code);
  Value others = arith::AndIOp::create(b, f.loc, byte,
                                       e.integer(shift == 0 ? -16 : 15, e.i8));
  return arith::OrIOp::create(b, f.loc, others, narrow);
}

/// The low and the high half of an i64.
static std::pair<Value, Value> emitHalves(Formula &f, Value number) {
  OpBuilder &b = f.builder;
  Value width = arith::ConstantIntOp::create(b, f.loc, 32, 64);
  auto narrow = [&](Value value) -> Value {
    return arith::TruncIOp::create(b, f.loc, b.getI32Type(), value);
  };
  return {narrow(number),
          narrow(arith::ShRUIOp::create(b, f.loc, number, width))};
}

/// The first word (i32) of Philox for a counter of four words and a key (i64).
static Value emitPhilox(Formula &f, ArrayRef<Value> counter, Value key) {
  SmallVector<Value> operands(counter);
  auto [key0, key1] = emitHalves(f, key);
  llvm::append_values(operands, key0, key1);
  // By name: the dialect of this operation is built on this one.
  OperationState philox(f.loc, "remat.philox", operands,
                        SmallVector<Type>(4, f.builder.getI32Type()));
  return f.builder.create(philox)->getResult(0);
}

Value mlir::opt::emitSign(Formula &f, Type type, Value key, Value epoch,
                          Value i, Value j) {
  OpBuilder &b = f.builder;
  // Other bits than those that round the parameter have this key.
  constexpr int64_t kSigns = 0x7369676e;
  key = arith::XOrIOp::create(
      b, f.loc, key, arith::ConstantIntOp::create(b, f.loc, kSigns, 64));
  auto [epoch0, epoch1] = emitHalves(f, epoch);
  Value word = emitPhilox(
      f, {emitHalves(f, i).first, emitHalves(f, j).first, epoch0, epoch1}, key);
  Value isNegative =
      arith::CmpIOp::create(b, f.loc, arith::CmpIPredicate::slt, word,
                            arith::ConstantIntOp::create(b, f.loc, 0, 32));
  return arith::SelectOp::create(b, f.loc, isNegative, f.number(-1, type),
                                 f.number(1, type));
}

Value mlir::opt::emitRoundStochastically(Formula &f, Value value, Value key,
                                         Value step, Value element) {
  Emitter e{f};
  OpBuilder &b = f.builder;
  auto [step0, step1] = emitHalves(f, step);
  auto [element0, element1] = emitHalves(f, element);
  Value word = emitPhilox(f, {element0, element1, step0, step1}, key);
  Value low = arith::AndIOp::create(b, f.loc, word, e.integer(0xffff, e.i32));
  Value bits = arith::BitcastOp::create(b, f.loc, e.i32, value);
  bits = arith::AddIOp::create(b, f.loc, bits, low);
  bits = arith::ShRUIOp::create(b, f.loc, bits, e.integer(16, e.i32));
  Type i16 = b.getI16Type(), bf16 = b.getBF16Type();
  Value rounded = arith::BitcastOp::create(
      b, f.loc, bf16, arith::TruncIOp::create(b, f.loc, i16, bits));
  // A carry may run through a NaN.
  Value isNaN =
      arith::CmpFOp::create(b, f.loc, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(
      b, f.loc, isNaN, arith::TruncFOp::create(b, f.loc, bf16, value), rounded);
}
