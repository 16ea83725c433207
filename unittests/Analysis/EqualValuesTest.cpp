//===- EqualValuesTest.cpp - Computations done twice ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/EqualValues.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
using EqualValuesTest = AnalysisTest;

TEST_F(EqualValuesTest, LooksThroughNamesBarriersAndRegions) {
  Block &block = parse(R"(
    func.func @f(%x: tensor<4xf32>, %c: f32) -> tensor<4xf32> {
      %a = arith.negf %x {name = "a"} : tensor<4xf32>
      %named = remat.name "n" %a : tensor<4xf32>
      %held = remat.barrier %x after %c : tensor<4xf32> after f32
      %r = remat.region policy(#remat.nothing_saveable)
          (%y = %held : tensor<4xf32>) -> tensor<4xf32> {
        %b = arith.negf %y {name = "b"} : tensor<4xf32>
        %d = math.exp %b {name = "d"} : tensor<4xf32>
        remat.yield %d : tensor<4xf32>
      }
      %e = math.exp %named {name = "e"} : tensor<4xf32>
      %s = arith.addf %r, %e {name = "s"} : tensor<4xf32>
      return %s : tensor<4xf32>
    })");
  EqualValues equal(block);
  EXPECT_EQ(equal.getFirst(find("b")), find("a"));
  EXPECT_EQ(equal.getFirst(find("e")), find("d"));
  EXPECT_EQ(equal.getFirst(find("a")), nullptr);
  EXPECT_EQ(equal.getFirst(find("s")), nullptr);
  EXPECT_EQ(equal.resolve(find("s")->getOperand(0)),
            equal.resolve(find("s")->getOperand(1)));
  EXPECT_EQ(equal.getEqual(find("a")->getResult(0)).size(), 2u);
  EXPECT_TRUE(equal.holdsRepeated(find("a")));
  EXPECT_FALSE(equal.holdsRepeated(find("s")));
}

TEST_F(EqualValuesTest, AttributesAndOperandsCount) {
  Block &block = parse(R"(
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
      %a = arith.subf %x, %y {name = "a"} : tensor<4xf32>
      %b = arith.subf %y, %x {name = "b"} : tensor<4xf32>
      %c = arith.subf %x, %y fastmath<fast> {name = "c"} : tensor<4xf32>
      return
    })");
  EqualValues equal(block);
  for (StringRef name : {"a", "b", "c"})
    EXPECT_EQ(equal.getFirst(find(name)), nullptr) << name.str();
}

TEST_F(EqualValuesTest, FollowsRewrites) {
  Block &block = parse(R"(
    func.func @f(%x: tensor<4xf32>) {
      %a = arith.negf %x {name = "a"} : tensor<4xf32>
      %b = arith.negf %x {name = "b"} : tensor<4xf32>
      %c = arith.negf %a {name = "c"} : tensor<4xf32>
      return
    })");
  EqualValues equal(block);
  equal.replace(find("b")->getResult(0), find("c")->getResult(0));
  EXPECT_EQ(equal.getFirst(find("c")), find("a"));
  equal.erase(find("c"));
  EXPECT_EQ(equal.getEqual(find("a")->getResult(0)).size(), 1u);
}

// Fusion makes one operation of two, whose results change places.
TEST_F(EqualValuesTest, KnowsResultsApart) {
  Block &block = parse(R"(
    func.func @f(%x: tensor<4xi32>) {
      %a = arith.muli %x, %x {name = "a"} : tensor<4xi32>
      %b = arith.muli %x, %x {name = "b"} : tensor<4xi32>
      %c = arith.addi %a, %x {name = "c"} : tensor<4xi32>
      %d = arith.addi %b, %x {name = "d"} : tensor<4xi32>
      %e:2 = arith.mului_extended %x, %x {name = "e"} : tensor<4xi32>
      return
    })");
  EqualValues equal(block);
  Operation *both = find("e");
  equal.replace(find("c")->getResult(0), both->getResult(0));
  equal.replace(find("a")->getResult(0), both->getResult(1));
  EXPECT_EQ(equal.resolve(find("d")->getResult(0)), both->getResult(0));
  EXPECT_EQ(equal.resolve(find("b")->getResult(0)), both->getResult(1));
}
} // namespace
