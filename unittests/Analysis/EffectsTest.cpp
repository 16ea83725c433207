//===- EffectsTest.cpp - What may run twice -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/Effects.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
using EffectsTest = AnalysisTest;

TEST_F(EffectsTest, FunctionsArePureIfTheirBodiesAre) {
  parse(R"(
    func.func private @unknown(f32) -> f32
    func.func private @said(f32) -> f32 attributes {remat.pure}
    func.func private @inner(%x: f32) -> f32 {
      %y = func.call @said(%x) : (f32) -> f32
      return %y : f32
    }
    func.func private @loop(%x: f32) -> f32 {
      %y = func.call @loop(%x) : (f32) -> f32
      return %y : f32
    }
    func.func @f(%x: f32) {
      %a = func.call @unknown(%x) {name = "unknown"} : (f32) -> f32
      %b = func.call @said(%x) {name = "said"} : (f32) -> f32
      %c = func.call @inner(%x) {name = "inner"} : (f32) -> f32
      return
    })");
  Effects effects;
  EXPECT_FALSE(effects.isPure(find("unknown")));
  EXPECT_TRUE(effects.isPure(find("said")));
  EXPECT_TRUE(effects.isPure(find("inner")));
  // The second time from what is known.
  EXPECT_FALSE(effects.isPure(find("unknown")));
  EXPECT_TRUE(effects.isPure(find("inner")));
}

TEST_F(EffectsTest, NamesTheCulprit) {
  parse(R"(
    func.func private @unknown(tensor<4xf32>) -> tensor<4xf32>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = remat.region policy(#remat.nothing_saveable)
          (%y = %x : tensor<4xf32>) -> tensor<4xf32> {
        %z = func.call @unknown(%y) {name = "call"}
            : (tensor<4xf32>) -> tensor<4xf32>
        remat.yield %z : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    })");
  Effects effects;
  Operation *culprit = nullptr;
  EXPECT_FALSE(effects.isReplayable(find("call")->getParentOp(), culprit));
  EXPECT_EQ(culprit, find("call"));
}
} // namespace
