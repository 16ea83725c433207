//===- AttentionMatrices.cpp - Products of attention by tensor cores ------===//
//
// A warp computes 16 rows of scores: what a thread has of them is what it needs
// of the left matrix of the product with values, so that scores stay in
// registers (Dao, FlashAttention-2, 2023, section 3.3). They are sums of f32:
// as factors each is rounded to the operands' type. Where results are not, what
// that leaves is rounded and multiplied as well.
//
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

std::pair<Value, Value> AttentionEmitter::splitPair(Value first, Value second) {
  auto sums = VectorType::get({2}, type),
       pair = VectorType::get({2}, storedType);
  Value numbers =
      vector::FromElementsOp::create(b, loc, sums, ValueRange{first, second});
  Value rounded = arith::TruncFOp::create(b, loc, pair, numbers);
  if (plan.roundsFactors)
    return {toRegister(rounded), Value()};
  Value rest = create<arith::SubFOp>(
      numbers, arith::ExtFOp::create(b, loc, sums, rounded));
  return {toRegister(rounded),
          toRegister(arith::TruncFOp::create(b, loc, pair, rest))};
}

/// Lanes of a warp, eight by eight, say where the rows of four matrices are.
AttentionEmitter::Values AttentionEmitter::loadMatrices(const Tile &from,
                                                        Value row, Value column,
                                                        bool transposed) {
  constexpr int64_t kMatrices = 4;
  Value at = math.add(math.mul(row, index(from.width.stride)), column);
  if (from.start)
    at = math.add(math.mul(from.start, index(from.width.stride)), at);
  Value all = nvgpu::LdMatrixOp::create(
      b, loc, VectorType::get({kMatrices, 2}, storedType), from.buffer, at,
      transposed, kMatrices);
  Values registers;
  for (int64_t i : llvm::seq(kMatrices))
    registers.push_back(toRegister(vector::ExtractOp::create(b, loc, all, i)));
  return registers;
}

/// Of the warp's rows number `part` * 16 on the upper and the lower half, then
/// those of the second half of columns.
AttentionEmitter::Values AttentionEmitter::loadLeft(const Tile &x, int64_t part,
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
                                index(kMatrixDepth / 2))),
      /*transposed=*/false);
}

/// The two halves of the first product's columns of `y`'s transpose, then those
/// of the second one's.
AttentionEmitter::Values AttentionEmitter::loadRows(const Tile &y, int64_t row,
                                                    Value column) {
  Value lane = math.rem(thread, index(kWarp));
  Value second = math.div(lane, index(2 * kMatrixColumns)),
        half = math.rem(math.div(lane, index(kMatrixColumns)), index(2));
  return loadMatrices(
      y,
      math.add(math.add(math.rem(lane, index(kMatrixColumns)), index(row)),
               math.mul(second, index(kMatrixColumns))),
      math.add(column, math.mul(half, index(kMatrixDepth / 2))),
      /*transposed=*/false);
}

/// The upper and the lower half of the first product's columns, then those of
/// the second one's.
AttentionEmitter::Values
AttentionEmitter::loadColumns(const Tile &y, int64_t row, int64_t column) {
  Value lane = math.rem(thread, index(kWarp));
  return loadMatrices(y,
                      math.add(math.rem(lane, index(kMatrixDepth)), index(row)),
                      math.add(math.mul(math.div(lane, index(kMatrixDepth)),
                                        index(kMatrixColumns)),
                               index(column)),
                      /*transposed=*/true);
}

void AttentionEmitter::addProduct(ArrayRef<Value> left, ArrayRef<Value> right,
                                  MutableArrayRef<Value> sums, int64_t first,
                                  int64_t perRow) {
  Value *const mine[] = {&sums[first], &sums[first + 1], &sums[perRow + first],
                         &sums[perRow + first + 1]};
  Values before = llvm::map_to_vector(mine, [](Value *sum) { return *sum; });
  auto factor =
      storedType.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto results = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(std::size(mine), type));
  Value added = NVVM::MmaOp::create(
      b, loc, results, left, right, before,
      ArrayRef<int64_t>{kMatrixRows, kMatrixColumns, kMatrixDepth},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{factor, factor},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(mine))
    *sum = LLVM::ExtractValueOp::create(b, loc, added, static_cast<int64_t>(i));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

AttentionEmitter::Values AttentionEmitter::multiplyMatrices(const Tile &x,
                                                            const Tile &y) {
  int64_t perRow = layout.countScores(y.rows),
          parts = layout.countRows(x.rows) / 2;
  Values sums(2 * parts * perRow, constant(0.0));
  for (int64_t column = 0; column < x.width.padded; column += kMatrixDepth) {
    SmallVector<Values> left;
    for (int64_t part : llvm::seq(parts))
      left.push_back(loadLeft(x, part, index(column)));
    for (int64_t i = 0; i < y.rows; i += 2 * kMatrixColumns) {
      Values rows = loadRows(y, i, index(column));
      for (int64_t part : llvm::seq(parts))
        for (int64_t product : llvm::seq(2))
          addProduct(left[part], ArrayRef(rows).slice(2 * product, 2),
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
          scoresPerRow = layout.countScores(count),
          parts = sums.size() / (2 * perRow);
  Values next(sums);
  for (int64_t row = 0; row < count; row += kMatrixDepth) {
    SmallVector<Values> left(parts), rests(parts);
    for (int64_t part : llvm::seq(parts))
      for (int64_t half : llvm::seq(2))
        for (int64_t i : llvm::seq(2)) {
          // Of two neighbouring products' columns.
          int64_t first =
              (2 * part + i) * scoresPerRow + row / layout.lanes + 2 * half;
          auto [rounded, rest] = splitPair(scores[first], scores[first + 1]);
          left[part].push_back(rounded);
          rests[part].push_back(rest);
        }
    for (int64_t column = 0; column < y.width.padded;
         column += 2 * kMatrixColumns) {
      Values columns = loadColumns(y, row, column);
      for (int64_t part : llvm::seq(parts))
        for (int64_t product : llvm::seq(2)) {
          auto right = ArrayRef(columns).slice(2 * product, 2);
          auto mine =
              MutableArrayRef(next).slice(2 * part * perRow, 2 * perRow);
          int64_t first = (column / kMatrixColumns + product) * 2;
          if (!plan.roundsFactors)
            addProduct(rests[part], right, mine, first, perRow);
          addProduct(left[part], right, mine, first, perRow);
        }
    }
  }
  return next;
}
