//===- BackwardBorderTest.cpp - What stands after a border ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/BackwardBorder.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
using BackwardBorderTest = AnalysisTest;

TEST_F(BackwardBorderTest, SeparatesWhatStandsBeforeAndAfter) {
  Block &body = parse(R"(
    func.func @f(%x: f32, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> f32 {
        %b = math.sin %a {name = "forward"} : f32
        scf.yield %b : f32
      }
      remat.begin_backward
      %z = scf.for %i = %c0 to %n step %c1 iter_args(%a = %y) -> f32 {
        %b = math.cos %a {name = "backward"} : f32
        scf.yield %b : f32
      } {name = "loop"}
      return %z : f32
    })");
  BackwardBorder border(*module);
  EXPECT_FALSE(border.isInBackward(find("forward")));
  EXPECT_TRUE(border.isInBackward(find("backward")));
  EXPECT_TRUE(border.isInBackward(find("loop")));
  // The results of the forward are returned, too.
  EXPECT_FALSE(border.isInBackward(body.getTerminator()));
  EXPECT_TRUE(border.separates(find("forward"), find("backward")));
  EXPECT_FALSE(border.separates(find("loop"), find("backward")));
}

TEST_F(BackwardBorderTest, OfTheInnermostBlockAndTheFirstThereCounts) {
  parse(R"(
    func.func @f(%x: f32, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> f32 {
        %b = math.sin %a {name = "forward"} : f32
        remat.begin_backward
        %c = math.cos %b {name = "backward"} : f32
        remat.begin_backward
        scf.yield %c : f32
      } {name = "loop"}
      return %y : f32
    })");
  BackwardBorder border(*module);
  EXPECT_FALSE(border.isInBackward(find("forward")));
  EXPECT_TRUE(border.isInBackward(find("backward")));
  EXPECT_FALSE(border.isInBackward(find("loop")));
}

TEST_F(BackwardBorderTest, IsNotNeededToFindTheForward) {
  // Micro-batches: the loop carries the loss and a gradient.
  parse(R"(
    func.func @f(%x: f32, %n: index)
        -> (f32, f32 {remat.gradient_of = 0 : i64}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x)
          -> (f32, f32) {
        %y = math.sin %x {name = "shared"} : f32
        %loss = arith.addf %a, %y {name = "loss"} : f32
        %dx = math.cos %y {name = "gradient"} : f32
        %sum = arith.addf %b, %dx {name = "sum"} : f32
        scf.yield %loss, %sum : f32, f32
      } {name = "loop"}
      %dx = math.exp %r#1 {name = "scaled"} : f32
      return %r#0, %dx : f32, f32
    })");
  DenseSet<Operation *> forward =
      findForward(module->lookupSymbol<func::FuncOp>("f"));
  for (StringRef name : {"shared", "loss", "loop"})
    EXPECT_TRUE(forward.contains(find(name))) << name.str();
  for (StringRef name : {"gradient", "sum", "scaled"})
    EXPECT_FALSE(forward.contains(find(name))) << name.str();
}

TEST_F(BackwardBorderTest, IsNoneInAForwardFunction) {
  parse(R"(
    func.func @f(%x: f32) -> f32 {
      %y = math.sin %x {name = "sin"} : f32
      return %y : f32
    })");
  EXPECT_FALSE(BackwardBorder(*module).isInBackward(find("sin")));
}
} // namespace
