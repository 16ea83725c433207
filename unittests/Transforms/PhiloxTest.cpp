//===- PhiloxTest.cpp - Known answers of the random generator -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectors are Random123's (tests/kat_vectors, "philox4x32 10"). The emitted
// operations are evaluated by folding them on constants.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Random/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Transforms/FoldUtils.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {
/// The value of `value`, all of whose operands lead to constants.
class Evaluator {
public:
  uint64_t operator()(Value value) {
    auto [entry, isNew] = known.try_emplace(value);
    if (!isNew)
      return entry->second;
    Operation *op = value.getDefiningOp();
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(IntegerAttr::get(
          operand.getType(),
          APInt(operand.getType().getIntOrFloatBitWidth(), (*this)(operand))));
    SmallVector<OpFoldResult> results;
    EXPECT_TRUE(succeeded(op->fold(operands, results)));
    uint64_t result;
    if (results.empty() || isa<Value>(results.front()))
      // The fold returned an operand.
      result = (*this)(results.empty() ? op->getOperand(0)
                                       : cast<Value>(results.front()));
    else
      result = cast<IntegerAttr>(cast<Attribute>(results.front()))
                   .getValue()
                   .getZExtValue();
    return known[value] = result;
  }

private:
  llvm::DenseMap<Value, uint64_t> known;
};

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToStart(module->getBody());
  auto constant = [&](uint32_t word) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(word)));
  };
  std::array<Value, 4> words =
      remat::emitPhilox4x32_10(builder, loc,
                               {constant(counter[0]), constant(counter[1]),
                                constant(counter[2]), constant(counter[3])},
                               {constant(key[0]), constant(key[1])});
  Evaluator evaluate;
  std::array<uint32_t, 4> result;
  for (int i = 0; i < 4; ++i)
    result[i] = static_cast<uint32_t>(evaluate(words[i]));
  return result;
}

using Words = std::array<uint32_t, 4>;
constexpr uint32_t kOnes = 0xffffffff;

TEST(Philox, KnownAnswerOfZeros) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Philox, KnownAnswerOfOnes) {
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, KnownAnswerOfPi) {
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}
} // namespace
