//===- AttentionMatrices.cpp - Products of attention by tensor cores ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp computes 16 rows of scores: what a thread has of them is what it needs
// of the left matrix of the product with values, so that scores stay in
// registers (Dao, FlashAttention-2, 2023, section 3.3). They are sums of f32:
// as factors each is rounded to the operands' type. Where results are not, what
// that leaves is rounded and multiplied as well.
//
// A factor of f32 is two numbers of tf32, of 11 bits each: three products of
// these (all but that of the two rests) are within 2^-21 of theirs. Where the
// program allows it, it is the first of them.
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"
#include "WarpShuffle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// PTX's registers hold pairs of f16, and words of anything else.
Value AttentionEmitter::toRegister(Value pair) {
  if (storedType.isF16())
    return pair;
  auto word = VectorType::get({1}, b.getI32Type());
  return vector::ExtractOp::create(
      b, loc, vector::BitCastOp::create(b, loc, word, pair), int64_t(0));
}

AttentionEmitter::Factor AttentionEmitter::splitPair(Value first,
                                                     Value second) {
  auto sums = VectorType::get({2}, type),
       pair = VectorType::get({2}, storedType);
  Value numbers =
      vector::FromElementsOp::create(b, loc, sums, ValueRange{first, second});
  Value rounded = arith::TruncFOp::create(b, loc, pair, numbers);
  if (plan.roundsFactors)
    return {{toRegister(rounded)}, {}};
  Value rest = create<arith::SubFOp>(
      numbers, arith::ExtFOp::create(b, loc, sums, rounded));
  return {{toRegister(rounded)},
          {toRegister(arith::TruncFOp::create(b, loc, pair, rest))}};
}

/// To the nearest, halves away from zero; the rest, which is exact, towards
/// zero. A NaN stays one in the rest, and without it as nothing is added to it:
/// the sum could be zero.
AttentionEmitter::Factor AttentionEmitter::splitNumber(Value number) {
  constexpr int32_t kHalf = 0x1000, kFactorBits = ~0x1fff;
  auto word = [&](int32_t bits) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(bits));
  };
  auto toWord = [&](Value value) -> Value {
    return arith::BitcastOp::create(b, loc, b.getI32Type(), value);
  };
  Value half = word(kHalf);
  if (plan.roundsFactors)
    half = arith::SelectOp::create(
        b, loc,
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, number,
                              number),
        word(0), half);
  Value rounded = create<arith::AndIOp>(
      create<arith::AddIOp>(toWord(number), half), word(kFactorBits));
  if (plan.roundsFactors)
    return {{rounded}, {}};
  Value rest = create<arith::SubFOp>(
      number, arith::BitcastOp::create(b, loc, type, rounded));
  return {{rounded}, {create<arith::AndIOp>(toWord(rest), word(kFactorBits))}};
}

/// Lanes of a warp, eight by eight, say where the rows of four matrices are.
AttentionEmitter::Factor AttentionEmitter::loadMatrices(const Tile &from,
                                                        Value row, Value column,
                                                        bool transposed) {
  constexpr int64_t kMatrices = 4;
  int64_t perRegister = 32 / storedType.getWidth();
  Value all = nvgpu::LdMatrixOp::create(
      b, loc, VectorType::get({kMatrices, perRegister}, storedType),
      from.buffer, findInBuffer(from, row, column), transposed, kMatrices);
  Factor factor;
  for (int64_t i : llvm::seq(kMatrices)) {
    if (storedType.isF32())
      factor.append(splitNumber(
          vector::ExtractOp::create(b, loc, all, ArrayRef<int64_t>{i, 0})));
    else
      factor.rounded.push_back(
          toRegister(vector::ExtractOp::create(b, loc, all, i)));
  }
  return factor;
}

/// Of the warp's rows number `part` * 16 on the upper and the lower half, then
/// those of the second half of columns.
AttentionEmitter::Factor AttentionEmitter::loadLeft(const Tile &x, int64_t part,
                                                    Value column) {
  Value warp = math.div(thread, index(kWarp)),
        lane = math.rem(thread, index(kWarp));
  int64_t rowsOfWarp = x.rows / kAttentionWarps;
  return loadMatrices(
      x,
      math.add(math.add(math.mul(warp, index(rowsOfWarp)),
                        math.rem(lane, index(kMatrixRows))),
               index(part * kMatrixRows)),
      math.add(column, math.mul(math.div(lane, index(kMatrixRows)),
                                index(plan.getMatrixDepth() / 2))),
      /*transposed=*/false);
}

/// The two halves of the first product's columns of `y`'s transpose, then those
/// of the second one's.
AttentionEmitter::Factor AttentionEmitter::loadRows(const Tile &y, int64_t row,
                                                    Value column) {
  Value lane = math.rem(thread, index(kWarp));
  Value second = math.div(lane, index(2 * kMatrixColumns)),
        half = math.rem(math.div(lane, index(kMatrixColumns)), index(2));
  return loadMatrices(
      y,
      math.add(math.add(math.rem(lane, index(kMatrixColumns)), index(row)),
               math.mul(second, index(kMatrixColumns))),
      math.add(column, math.mul(half, index(plan.getMatrixDepth() / 2))),
      /*transposed=*/false);
}

/// A thread's scores in rows of sums, two products apart, are its elements of
/// pairs of factors. Of tf32 a register has one factor, and a thread
/// of eight factors those 4 apart, where of scores it has neighbours: so the
/// factors are those of scores 0, 2, 4, 6, 1, 3, 5, 7.
AttentionEmitter::Factor AttentionEmitter::takeLeft(ValueRange scores,
                                                    int64_t perRow,
                                                    int64_t part,
                                                    int64_t column) {
  Factor factor;
  for (int64_t half : llvm::seq(2))
    for (int64_t i : llvm::seq(2)) {
      int64_t first = (2 * part + i) * perRow + column / layout.lanes;
      if (storedType.isF32())
        factor.append(splitNumber(scores[first + half]));
      else
        factor.append(
            splitPair(scores[first + 2 * half], scores[first + 2 * half + 1]));
    }
  return factor;
}

/// The upper and the lower half of the first product's columns, then those of
/// the second one's; of tf32, in the order of `takeLeft`, the even and the odd
/// rows.
AttentionEmitter::Factor
AttentionEmitter::loadColumns(const Tile &y, int64_t row, int64_t column) {
  Value laneOfWarp = math.rem(thread, index(kWarp));
  int64_t depth = plan.getMatrixDepth();
  if (!storedType.isF32())
    return loadMatrices(
        y, math.add(math.rem(laneOfWarp, index(depth)), index(row)),
        math.add(
            math.mul(math.div(laneOfWarp, index(depth)), index(kMatrixColumns)),
            index(column)),
        /*transposed=*/true);
  Factor factor;
  Value first = math.add(math.mul(lane, index(2)), index(row)),
        mine =
            math.add(math.div(laneOfWarp, index(layout.lanes)), index(column));
  for (int64_t product : llvm::seq(2))
    for (int64_t odd : llvm::seq(2)) {
      Value at = findInBuffer(y, math.add(first, index(odd)),
                              math.add(mine, index(product * kMatrixColumns)));
      factor.append(splitNumber(memref::LoadOp::create(b, loc, y.buffer, at)));
    }
  return factor;
}

void AttentionEmitter::addProduct(ArrayRef<Value> left, ArrayRef<Value> right,
                                  MutableArrayRef<Value> sums, int64_t first,
                                  int64_t perRow) {
  Value *const mine[] = {&sums[first], &sums[first + 1], &sums[perRow + first],
                         &sums[perRow + first + 1]};
  Values before = llvm::map_to_vector(mine, [](Value *sum) { return *sum; });
  auto factor = storedType.isF32()    ? NVVM::MMATypes::tf32
                : storedType.isBF16() ? NVVM::MMATypes::bf16
                                      : NVVM::MMATypes::f16;
  auto results = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(std::size(mine), type));
  Value added = NVVM::MmaOp::create(
      b, loc, results, left, right, before,
      ArrayRef<int64_t>{kMatrixRows, kMatrixColumns, plan.getMatrixDepth()},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{factor, factor},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(mine))
    *sum = LLVM::ExtractValueOp::create(b, loc, added, static_cast<int64_t>(i));
}

void AttentionEmitter::addProducts(const Factor &left, const Factor &right,
                                   MutableArrayRef<Value> sums, int64_t first,
                                   int64_t perRow) {
  if (!left.rest.empty())
    addProduct(left.rest, right.rounded, sums, first, perRow);
  if (!right.rest.empty())
    addProduct(left.rounded, right.rest, sums, first, perRow);
  addProduct(left.rounded, right.rounded, sums, first, perRow);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

AttentionEmitter::Values AttentionEmitter::multiplyMatrices(const Tile &x,
                                                            const Tile &y) {
  int64_t perRow = layout.countScores(y.rows),
          parts = layout.countRows(x.rows) / 2;
  Values sums(2 * parts * perRow, constant(0.0));
  for (int64_t column = 0; column < x.width.padded;
       column += plan.getMatrixDepth()) {
    SmallVector<Factor, 2> left;
    for (int64_t part : llvm::seq(parts))
      left.push_back(loadLeft(x, part, index(column)));
    for (int64_t i = 0; i < y.rows; i += 2 * kMatrixColumns) {
      Factor rows = loadRows(y, i, index(column));
      for (int64_t part : llvm::seq(parts))
        for (int64_t product : llvm::seq(2))
          addProducts(
              left[part], rows.slice(2 * product, 2),
              MutableArrayRef(sums).slice(2 * part * perRow, 2 * perRow),
              (i / kMatrixColumns + product) * 2, perRow);
    }
  }
  return sums;
}

AttentionEmitter::Values AttentionEmitter::accumulateMatrices(ValueRange scores,
                                                              int64_t count,
                                                              const Tile &y,
                                                              ValueRange sums) {
  int64_t perRow = layout.countSums(y.width.padded),
          parts = sums.size() / (2 * perRow);
  Values next(sums);
  for (int64_t row = 0; row < count; row += plan.getMatrixDepth()) {
    SmallVector<Factor, 2> left;
    for (int64_t part : llvm::seq(parts))
      left.push_back(takeLeft(scores, layout.countScores(count), part, row));
    for (int64_t column = 0; column < y.width.padded;
         column += 2 * kMatrixColumns) {
      Factor columns = loadColumns(y, row, column);
      for (int64_t part : llvm::seq(parts))
        for (int64_t product : llvm::seq(2))
          addProducts(
              left[part], columns.slice(2 * product, 2),
              MutableArrayRef(next).slice(2 * part * perRow, 2 * perRow),
              (column / kMatrixColumns + product) * 2, perRow);
    }
  }
  return next;
}
