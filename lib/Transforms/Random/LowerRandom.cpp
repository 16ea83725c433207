//===- LowerRandom.cpp - Random operations to kernels ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A draw that is a kernel of two scalars can be evaluated inside its readers,
// again in the backward, and needs no rule or library of its own.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Random/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Random/Philox.h"

namespace mlir::remat {
#define GEN_PASS_DEF_LOWERRANDOMPASS
#include "remat/Transforms/Random/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
struct State {
  Value key, counter;
};
} // namespace

static Value getConstant(OpBuilder &b, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

static State unpack(ImplicitLocOpBuilder &b, Value vector) {
  return {vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0}),
          vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{1})};
}

static Value pack(ImplicitLocOpBuilder &b, State state) {
  return vector::FromElementsOp::create(b, VectorType::get({2}, b.getI64Type()),
                                        ValueRange{state.key, state.counter});
}

/// The block of random words at `counter`, lowest word first.
static std::array<Value, 4> createBlock(OpBuilder &b, Location loc,
                                        std::array<Value, 4> counter,
                                        std::array<Value, 2> key) {
  auto block = PhiloxOp::create(b, loc, counter[0], counter[1], counter[2],
                                counter[3], key[0], key[1]);
  return {block.getWord0(), block.getWord1(), block.getWord2(),
          block.getWord3()};
}

static void lowerInit(RngInitOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value zero = getConstant(b, op.getLoc(), b.getI64Type(), 0);
  op->replaceAllUsesWith(ValueRange(pack(b, {op.getSeed(), zero})));
}

static void lowerFoldIn(RngFoldInOp op) {
  Location loc = op.getLoc();
  ImplicitLocOpBuilder b(loc, op);
  State state = unpack(b, op->getOperand(0));
  auto [counterLow, counterHigh] = emitSplit(b, loc, state.counter);
  auto [dataLow, dataHigh] = emitSplit(b, loc, op.getData());
  std::array<Value, 4> words =
      createBlock(b, loc, {counterLow, counterHigh, dataLow, dataHigh},
                  emitSplit(b, loc, state.key));
  Value zero = getConstant(b, loc, b.getI64Type(), 0);
  op->replaceAllUsesWith(
      ValueRange(pack(b, {emitJoin(b, loc, words[0], words[1]), zero})));
}

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

namespace {
/// The values in the body of a draw: the words of element i's block.
struct Element {
  OpBuilder &b;
  Location loc;
  std::array<Value, 4> words;
  /// Position of the element within its block, i64.
  Value position;

  Value constant(Type type, int64_t value) const {
    return getConstant(b, loc, type, value);
  }
  Value isPosition(int64_t at) const {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, position,
                                 constant(b.getI64Type(), at));
  }
  Value isOdd() const {
    Type type = b.getI64Type();
    Value bit = arith::AndIOp::create(b, loc, position, constant(type, 1));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit,
                                 constant(type, 0));
  }
  Value select(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  }
  /// The element's own word.
  Value word() const {
    Value result = words[3];
    for (int i : {2, 1, 0})
      result = select(isPosition(i), words[i], result);
    return result;
  }
  /// The element's own two words.
  Value doubleWord() const {
    Value first = isPosition(0);
    return emitJoin(b, loc, select(first, words[0], words[2]),
                    select(first, words[1], words[3]));
  }
  Value upperBits(Value bits, unsigned count) const {
    Type type = bits.getType();
    return arith::ShRUIOp::create(
        b, loc, bits, constant(type, type.getIntOrFloatBitWidth() - count));
  }
  /// `bits` / 2^`count` as a number of `type`.
  Value fraction(Value bits, unsigned count, Type type) const {
    Value number = arith::SIToFPOp::create(b, loc, type, bits);
    Value scale = arith::ConstantOp::create(
        b, loc, b.getFloatAttr(type, std::ldexp(1.0, -int(count))));
    return arith::MulFOp::create(b, loc, number, scale);
  }
};
} // namespace

/// Words that an element of `type` takes from a block.
static unsigned getWordsPerElement(Type type) {
  return type.isInteger(64) || type.isF64() ? 2 : 1;
}

/// Bits of a uniform number that `type` holds exactly.
static unsigned getUniformBits(Type type) {
  return cast<FloatType>(type).getFPMantissaWidth();
}

static Type getComputeType(OpBuilder &b, Type type) {
  return type.isF64() ? type : b.getF32Type();
}

static Value emitBits(const Element &e, RandomBitsOp op) {
  Type type = op.getType(0);
  Type element = cast<RankedTensorType>(type).getElementType();
  if (element.isInteger(64))
    return e.doubleWord();
  Value word = e.word();
  if (element.isInteger(32))
    return word;
  return arith::TruncIOp::create(e.b, e.loc, element, word);
}

static Value emitBernoulli(const Element &e, RandomBernoulliOp op) {
  double p = op.getP().convertToDouble();
  if (p == 1.0)
    return e.constant(e.b.getI1Type(), 1);
  auto threshold = static_cast<uint64_t>(std::floor(std::ldexp(p, 32)));
  Value limit = e.constant(e.b.getI32Type(), static_cast<int32_t>(threshold));
  return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult, e.word(),
                               limit);
}

/// The smallest number of `type` that is not below `low`, and the largest one
/// below `high`.
static std::pair<APFloat, APFloat> getRange(FloatType type, const APFloat &low,
                                            const APFloat &high) {
  bool losesInfo;
  APFloat first = low, last = high;
  first.convert(type.getFloatSemantics(), APFloat::rmTowardPositive,
                &losesInfo);
  last.convert(type.getFloatSemantics(), APFloat::rmTowardNegative, &losesInfo);
  if (!losesInfo)
    last.next(/*nextDown=*/true);
  return {first, last};
}

static LogicalResult checkRange(RandomUniformOp op, FloatType type) {
  auto [first, last] = getRange(type, op.getLow(), op.getHigh());
  APFloat width = op.getHigh();
  width.subtract(op.getLow(), APFloat::rmNearestTiesToEven);
  bool losesInfo;
  if (!type.isF64())
    width.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  if (!first.isFinite() || !last.isFinite() || !width.isFinite() ||
      first > last)
    return op.emitOpError()
           << "has no finite " << type
           << " numbers in its range; choose other bounds or a wider type";
  return success();
}

static Value emitUniform(const Element &e, RandomUniformOp op) {
  auto type =
      cast<FloatType>(cast<RankedTensorType>(op.getType(0)).getElementType());
  Type compute = getComputeType(e.b, type);
  unsigned bits = getUniformBits(type);
  Value source = type.isF64() ? e.doubleWord() : e.word();
  Value u = e.fraction(e.upperBits(source, bits), bits, compute);

  double low = op.getLow().convertToDouble();
  double high = op.getHigh().convertToDouble();
  auto number = [&](Type type, double value) -> Value {
    return arith::ConstantOp::create(e.b, e.loc, e.b.getFloatAttr(type, value));
  };
  bool isUnit = low == 0.0 && high == 1.0;
  if (!isUnit) {
    u = arith::MulFOp::create(e.b, e.loc, u, number(compute, high - low));
    u = arith::AddFOp::create(e.b, e.loc, u, number(compute, low));
  }
  if (type != compute)
    u = arith::TruncFOp::create(e.b, e.loc, type, u);
  if (isUnit)
    return u;
  auto [first, last] = getRange(type, op.getLow(), op.getHigh());
  Value firstValue =
      arith::ConstantOp::create(e.b, e.loc, FloatAttr::get(type, first));
  Value lastValue =
      arith::ConstantOp::create(e.b, e.loc, FloatAttr::get(type, last));
  auto isBelow = [&](Value l, Value r) -> Value {
    return arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OLT, l, r);
  };
  u = e.select(isBelow(u, firstValue), firstValue, u);
  return e.select(isBelow(lastValue, u), lastValue, u);
}

static Value emitNormal(const Element &e, RandomNormalOp op) {
  Type type = cast<RankedTensorType>(op.getType(0)).getElementType();
  Type compute = getComputeType(e.b, type);
  unsigned bits = type.isF64() ? 53 : 24;
  Value first, second;
  if (type.isF64()) {
    first = emitJoin(e.b, e.loc, e.words[0], e.words[1]);
    second = emitJoin(e.b, e.loc, e.words[2], e.words[3]);
  } else {
    Value isUpperPair =
        arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::sge, e.position,
                              e.constant(e.b.getI64Type(), 2));
    first = e.select(isUpperPair, e.words[2], e.words[0]);
    second = e.select(isUpperPair, e.words[3], e.words[1]);
  }
  first = e.upperBits(first, bits);
  // In (0, 1], so that the logarithm is finite.
  first =
      arith::AddIOp::create(e.b, e.loc, first, e.constant(first.getType(), 1));
  Value log = emitLog(e.b, e.loc, e.fraction(first, bits, compute));
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(e.b, e.loc,
                                     e.b.getFloatAttr(compute, value));
  };
  Value radius = math::SqrtOp::create(
      e.b, e.loc, arith::MulFOp::create(e.b, e.loc, log, number(-2.0)));
  auto [sine, cosine] =
      emitSinCosOfTurns(e.b, e.loc, e.upperBits(second, bits), bits);
  Value result = arith::MulFOp::create(e.b, e.loc, radius,
                                       e.select(e.isOdd(), sine, cosine));
  double mean = op.getMean().convertToDouble();
  double stddev = op.getStddev().convertToDouble();
  if (stddev != 1.0)
    result = arith::MulFOp::create(e.b, e.loc, result, number(stddev));
  if (mean != 0.0)
    result = arith::AddFOp::create(e.b, e.loc, result, number(mean));
  if (type != compute)
    result = arith::TruncFOp::create(e.b, e.loc, type, result);
  return result;
}

static Value emitElement(const Element &e, Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](RandomBitsOp draw) { return emitBits(e, draw); })
      .Case([&](RandomUniformOp draw) { return emitUniform(e, draw); })
      .Case([&](RandomNormalOp draw) { return emitNormal(e, draw); })
      .Case([&](RandomBernoulliOp draw) { return emitBernoulli(e, draw); });
}

/// Row-major index of the element, i64. `sizes` has an i64 for each dimension.
static Value emitLinearIndex(OpBuilder &b, Location loc, ValueRange sizes) {
  Type wide = b.getI64Type();
  Value linear;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    Value index = arith::IndexCastOp::create(
        b, loc, wide, linalg::IndexOp::create(b, loc, dim));
    linear =
        linear ? arith::AddIOp::create(
                     b, loc, arith::MulIOp::create(b, loc, linear, size), index)
               : index;
  }
  return linear ? linear : getConstant(b, loc, wide, 0);
}

static LogicalResult checkDraw(Operation *op) {
  if (isa<RngInitOp, RngFoldInOp>(op))
    return success();
  Type element =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  auto type = dyn_cast<FloatType>(element);
  if (!type)
    return success();
  if (!type.isF64() && !type.isF32() && !type.isF16() && !type.isBF16())
    return op->emitOpError() << "draws f64, f32, f16 or bf16, not " << type
                             << "; draw f32 and convert";
  if (auto uniform = dyn_cast<RandomUniformOp>(op))
    return checkRange(uniform, type);
  return success();
}

/// `sizes` are the operation's sizes of dynamic dimensions.
static void lowerDraw(Operation *op, ValueRange sizes) {
  Location loc = op->getLoc();
  ImplicitLocOpBuilder b(loc, op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type wide = b.getI64Type();
  State state = unpack(b, op->getOperand(0));
  unsigned perBlock = 4 / getWordsPerElement(type.getElementType());
  unsigned shift = perBlock == 4 ? 2 : 1;

  // Scalars that the body reads: key, counter, sizes of dynamic dimensions.
  SmallVector<Value> scalars = {state.key, state.counter};
  for (Value size : sizes)
    scalars.push_back(arith::IndexCastOp::create(b, wide, size));
  int64_t rank = type.getRank();
  SmallVector<AffineMap> maps(scalars.size(),
                              AffineMap::get(rank, 0, b.getContext()));
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto getSizes = [&](OpBuilder &b, Location loc, ValueRange dynamic) {
    SmallVector<Value> all;
    for (int64_t size : type.getShape()) {
      bool isDynamic = ShapedType::isDynamic(size);
      all.push_back(isDynamic ? dynamic.front()
                              : getConstant(b, loc, wide, size));
      dynamic = dynamic.drop_front(isDynamic);
    }
    return all;
  };

  Value empty = tensor::EmptyOp::create(b, type, sizes);
  auto kernel = linalg::GenericOp::create(
      b, TypeRange(type), scalars, ValueRange(empty), maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Value index = emitLinearIndex(
            b, loc, getSizes(b, loc, args.drop_front(2).drop_back(1)));
        Value block = arith::AddIOp::create(
            b, loc, args[1],
            arith::ShRUIOp::create(b, loc, index,
                                   getConstant(b, loc, wide, shift)));
        Value position = arith::AndIOp::create(
            b, loc, index, getConstant(b, loc, wide, perBlock - 1));
        auto [low, high] = emitSplit(b, loc, block);
        Value zero = getConstant(b, loc, b.getI32Type(), 0);
        Element element{b, loc,
                        createBlock(b, loc, {low, high, zero, zero},
                                    emitSplit(b, loc, args[0])),
                        position};
        linalg::YieldOp::create(b, loc, emitElement(element, op));
      });
  copyPhase(op, kernel);

  Value blocks;
  if (type.hasStaticShape()) {
    blocks = getConstant(b, loc, wide,
                         llvm::divideCeil(type.getNumElements(), perBlock));
  } else {
    Value count = getConstant(b, loc, wide, perBlock - 1);
    Value elements;
    for (Value size : getSizes(b, loc, ValueRange(scalars).drop_front(2)))
      elements = elements ? arith::MulIOp::create(b, elements, size).getResult()
                          : size;
    blocks =
        arith::ShRUIOp::create(b, arith::AddIOp::create(b, elements, count),
                               getConstant(b, loc, wide, shift));
  }
  Value next = arith::AddIOp::create(b, state.counter, blocks);
  op->replaceAllUsesWith(
      ValueRange{kernel.getResult(0), pack(b, {state.key, next})});
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LowerRandomPass : remat::impl::LowerRandomPassBase<LowerRandomPass> {
  using LowerRandomPassBase::LowerRandomPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    Operation *unthreaded = nullptr;
    getOperation()->walk([&](Operation *op) {
      if (isa<GetRngOp, SetRngOp>(op))
        unthreaded = op;
      if (isa<RngInitOp, RngFoldInOp, RandomBitsOp, RandomUniformOp,
              RandomNormalOp, RandomBernoulliOp>(op))
        ops.push_back(op);
    });
    if (unthreaded) {
      unthreaded->emitOpError() << "needs the state of a generator, which no "
                                   "function passes on yet; run "
                                   "-remat-thread-rng first";
      return signalPassFailure();
    }
    for (Operation *op : ops)
      if (failed(checkDraw(op)))
        return signalPassFailure();

    // Every state changes its type at once, wherever it stands: nothing has to
    // be known about the operations that merely pass states on.
    SmallVector<SmallVector<Value>> sizes;
    for (Operation *op : ops)
      sizes.push_back(llvm::to_vector(op->getOperands().drop_front()));
    Type state = VectorType::get({2}, IntegerType::get(&getContext(), 64));
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](RngType) { return state; });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    for (auto [op, dynamic] : llvm::zip_equal(ops, sizes)) {
      if (auto init = dyn_cast<RngInitOp>(op))
        lowerInit(init);
      else if (auto foldIn = dyn_cast<RngFoldInOp>(op))
        lowerFoldIn(foldIn);
      else
        lowerDraw(op, dynamic);
      op->erase();
    }
  }
};
} // namespace
