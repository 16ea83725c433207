//===- AffineValuesTest.cpp - Integers as functions of loop indices -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/AffineValues.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class AffineValuesTest : public AnalysisTest {
protected:
  Value result(StringRef name) { return find(name)->getResult(0); }
  scf::ForOp loop() { return cast<scf::ForOp>(find("loop")); }

  /// Parses a loop over 9 positions with `text` in its body.
  void parseLoop(StringRef text) {
    parse((R"(
      func.func @f(%n: index, %narrow: i8) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c9 = arith.constant 9 : index
        scf.for %i = %c0 to %c9 step %c1 {)" +
           text + R"(
        } {name = "loop"}
        return
      })")
              .str());
  }
};

TEST_F(AffineValuesTest, FollowsArithmeticAndCasts) {
  parseLoop(R"(
    %c3 = arith.constant 3 : i32
    %i32 = arith.index_cast %i : index to i32
    %product = arith.muli %i32, %c3 : i32
    %difference = arith.subi %c3, %product : i32
    %sum = arith.addi %difference, %difference {name = "sum"} : i32
    %back = arith.index_cast %sum {name = "back"} : i32 to index
    %square = arith.muli %i, %i {name = "square"} : index)");
  AffineValues values(loop().getInductionVar());
  for (StringRef name : {"sum", "back"}) {
    std::optional<AffineValue> value = values.get(result(name));
    ASSERT_TRUE(value);
    EXPECT_EQ(value->coefficients[0], -6);
    EXPECT_EQ(value->constant, 6);
    EXPECT_FALSE(value->isNeverNegative());
    EXPECT_FALSE(value->getNumber());
  }
  EXPECT_FALSE(values.get(result("square")));
}

TEST_F(AffineValuesTest, NumbersHaveQuotientsAndRemainders) {
  parseLoop(R"(
    %c4 = arith.constant 4 : index
    %q = arith.divui %i, %c4 {name = "quotient"} : index
    %r = arith.remui %i, %c4 {name = "remainder"} : index
    %z = arith.remui %i, %c0 {name = "by zero"} : index
    %d = arith.subi %q, %i : index
    %e = arith.divui %d, %c4 {name = "of negative"} : index)");
  AffineValues variable(loop().getInductionVar());
  EXPECT_FALSE(variable.get(result("quotient")));
  AffineValues values({});
  values.set(loop().getInductionVar(), 7);
  EXPECT_EQ(values.getNumber(result("quotient")), 1);
  EXPECT_EQ(values.getNumber(result("remainder")), 3);
  EXPECT_FALSE(values.getNumber(result("by zero")));
  EXPECT_FALSE(values.getNumber(result("of negative")));
}

TEST_F(AffineValuesTest, ValuesFromOutsideAreFixed) {
  parseLoop(R"(
    %sum = arith.addi %i, %n {name = "sum"} : index)");
  AffineValues inside(loop().getInductionVar(), loop());
  std::optional<AffineValue> value = inside.get(result("sum"));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->coefficients[0], 1);
  EXPECT_FALSE(value->constant);
  EXPECT_FALSE(AffineValues(loop().getInductionVar()).get(result("sum")));
}

TEST_F(AffineValuesTest, StopsWhereNumbersMayWrapAround) {
  parseLoop(R"(
    %c1000 = arith.constant 1000 : i32
    %i8 = arith.index_cast %i : index to i8
    %wide = arith.extui %i8 {name = "narrow"} : i8 to i32
    %i32 = arith.index_cast %i : index to i32
    %d = arith.subi %i32, %c1000 {name = "negative"} : i32
    %u = arith.extui %d {name = "unsigned"} : i32 to i64
    %s = arith.extsi %d {name = "signed"} : i32 to i64
    %large = arith.constant 9000000000000000000 : index
    %o = arith.addi %large, %large {name = "overflow"} : index)");
  AffineValues values(loop().getInductionVar());
  EXPECT_FALSE(values.get(result("narrow")));
  EXPECT_TRUE(values.get(result("negative")));
  EXPECT_FALSE(values.get(result("unsigned")));
  EXPECT_TRUE(values.get(result("signed")));
  EXPECT_FALSE(values.get(result("overflow")));
}

/// A chain that is longer than the stack is deep, with 2^n paths through it.
TEST_F(AffineValuesTest, LongChainsOfSharedOperands) {
  parseLoop("");
  OpBuilder builder = OpBuilder::atBlockBegin(loop().getBody());
  Value value = loop().getInductionVar();
  for (int link = 0; link < 100000; ++link) {
    Value twice = arith::AddIOp::create(builder, loop().getLoc(), value, value);
    value = arith::SubIOp::create(builder, loop().getLoc(), twice, value);
  }
  std::optional<AffineValue> affine =
      AffineValues(loop().getInductionVar()).get(value);
  ASSERT_TRUE(affine);
  EXPECT_EQ(affine->coefficients[0], 1);
}

TEST(TensorPartTest, AreDisjointAsFarAsIsKnown) {
  TensorPart part{{0, 4}, {2, 4}}, below{{2, 4}, {2, 4}}, over{{1, 7}, {1, 2}};
  TensorPart unknown{{ShapedType::kDynamic, 8}, {2, 4}};
  EXPECT_TRUE(areDisjoint(part, below));
  EXPECT_FALSE(areDisjoint(part, over));
  EXPECT_TRUE(areDisjoint(part, unknown));
  EXPECT_FALSE(areDisjoint(over, unknown));
}
} // namespace
