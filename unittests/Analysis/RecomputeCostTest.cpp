//===- RecomputeCostTest.cpp - Operations that are free to recompute ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/RecomputeCostOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class RecomputeCostTest : public AnalysisTest {
protected:
  bool isFreeToRun(StringRef name) { return isFree(find(name)); }
};

TEST_F(RecomputeCostTest, ViewsShapesAndNumbersAreFree) {
  parse(R"(
    func.func @f(%x: tensor<4x?xf32>, %i: index, %s: f32) {
      %view = tensor.extract_slice %x[0, 0] [2, 4] [1, 1] {name = "view"}
          : tensor<4x?xf32> to tensor<2x4xf32>
      %flat = tensor.collapse_shape %view [[0, 1]] {name = "flat"}
          : tensor<2x4xf32> into tensor<8xf32>
      %size = tensor.dim {name = "size"} %x, %i : tensor<4x?xf32>
      %next = arith.addi %i, %size {name = "sum"} : index
      %empty = tensor.empty(%next) {name = "empty"} : tensor<?xf32>
      %filled = linalg.fill {name = "fill"} ins(%s : f32)
          outs(%empty : tensor<?xf32>) -> tensor<?xf32>
      %seed = arith.index_cast %next {name = "cast"} : index to i64
      %state = remat.rng_init %seed {name = "state"}
      return
    })");
  for (StringRef name :
       {"view", "flat", "size", "sum", "empty", "fill", "cast", "state"})
    EXPECT_TRUE(isFreeToRun(name)) << name.str();
}

TEST_F(RecomputeCostTest, WorkAndEffectsAreNot) {
  parse(R"(
    func.func private @g(f32)
    func.func @f(%x: tensor<4xf32>, %s: f32, %state: !remat.rng) {
      %t = linalg.tanh {name = "kernel"} ins(%x : tensor<4xf32>)
          outs(%x : tensor<4xf32>) -> tensor<4xf32>
      %over = linalg.fill {name = "over"} ins(%s : f32)
          outs(%t : tensor<4xf32>) -> tensor<4xf32>
      %e = math.exp %s {name = "exp"} : f32
      %sum = arith.addf %x, %t {name = "tensors"} : tensor<4xf32>
      %mask, %after = remat.random_bernoulli %state {name = "draw", p = 0.5}
          : tensor<4xi1>
      func.call @g(%e) {name = "call"} : (f32) -> ()
      return
    })");
  for (StringRef name : {"kernel", "over", "exp", "tensors", "draw", "call"})
    EXPECT_FALSE(isFreeToRun(name)) << name.str();
}

TEST_F(RecomputeCostTest, CountsScalarOperations) {
  parse(R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4xf32>, %y: tensor<?xf32>) {
      %t = linalg.generic {name = "static", indexing_maps = [#id, #id],
                           iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %two = arith.constant 2.0 : f32
        %b = arith.mulf %a, %two : f32
        %c = math.exp %b : f32
        linalg.yield %c : f32
      } -> tensor<4xf32>
      %u = linalg.tanh {name = "dynamic"} ins(%y : tensor<?xf32>)
          outs(%y : tensor<?xf32>) -> tensor<?xf32>
      return
    })");
  EXPECT_EQ(getRecomputeCost(find("static")), 4 * 2);
  EXPECT_EQ(getRecomputeCost(find("dynamic")), 1);
}

TEST_F(RecomputeCostTest, GeneratorsReadNoTensor) {
  parse(R"(
    func.func @f(%x: tensor<4xf32>, %s: f32, %state: !remat.rng) {
      %fill = linalg.fill {name = "fill"} ins(%s : f32)
          outs(%x : tensor<4xf32>) -> tensor<4xf32>
      %mask, %after = remat.random_bernoulli %state {name = "draw", p = 0.5}
          : tensor<4xi1>
      %copy = linalg.copy {name = "copy"} ins(%fill : tensor<4xf32>)
          outs(%x : tensor<4xf32>) -> tensor<4xf32>
      return
    })");
  EXPECT_TRUE(isGenerator(find("fill")));
  EXPECT_TRUE(isGenerator(find("draw")));
  EXPECT_FALSE(isGenerator(find("copy")));
}
} // namespace
