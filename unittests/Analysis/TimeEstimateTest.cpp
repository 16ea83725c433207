//===- TimeEstimateTest.cpp - How long operations take, roughly -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/TimeEstimate.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class TimeEstimateTest : public AnalysisTest {
protected:
  /// Without the start.
  int64_t estimate(StringRef name) {
    return estimateTime(find(name)) - kStartTime;
  }
};

TEST_F(TimeEstimateTest, ElementwiseKernelsTakeTheirTrafficOrTheirArithmetic) {
  parse(R"(
    func.func @f(%x: tensor<1000x10xf32>, %e: tensor<1000x10xf32>) {
      %a = linalg.add {name = "add"} ins(%x, %x : tensor<1000x10xf32>, tensor<1000x10xf32>)
          outs(%e : tensor<1000x10xf32>) -> tensor<1000x10xf32>
      %t = linalg.tanh {name = "tanh"} ins(%x : tensor<1000x10xf32>)
          outs(%e : tensor<1000x10xf32>) -> tensor<1000x10xf32>
      %u = linalg.generic {name = "dear", indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          outs(%x : tensor<1000x10xf32>) {
      ^bb0(%o: f32):
        %0 = math.exp %o : f32
        %1 = math.log1p %0 : f32
        %2 = math.tanh %1 : f32
        linalg.yield %2 : f32
      } -> tensor<1000x10xf32>
      return
    })");
  // An operand that is read twice moves once; a destination is not read.
  EXPECT_EQ(estimate("add"), 80000);
  EXPECT_EQ(estimate("tanh"), 80000);
  EXPECT_EQ(estimate("dear"), 10000 * 60 / kScalarsPerByte);
}

TEST_F(TimeEstimateTest, ProductsAndConvolutionsTakeTheirFlops) {
  parse(R"(
    func.func @f(%a: tensor<500x600xf32>, %b: tensor<600x700xf32>, %c: tensor<500x700xf32>,
                 %x: tensor<2x10x10x32xf32>, %w: tensor<3x3x32x64xf32>, %y: tensor<2x5x5x64xf32>) {
      %m = linalg.matmul {name = "product"} ins(%a, %b : tensor<500x600xf32>, tensor<600x700xf32>)
          outs(%c : tensor<500x700xf32>) -> tensor<500x700xf32>
      %f = remat.conv ins(%x, %w : tensor<2x10x10x32xf32>, tensor<3x3x32x64xf32>) outs(%y : tensor<2x5x5x64xf32>)
          {name = "forward", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
          -> tensor<2x5x5x64xf32>
      %d = remat.conv_backward_data ins(%y, %w : tensor<2x5x5x64xf32>, tensor<3x3x32x64xf32>) outs(%x : tensor<2x10x10x32xf32>)
          {name = "data", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
          -> tensor<2x10x10x32xf32>
      %g = remat.conv_backward_filter ins(%x, %y : tensor<2x10x10x32xf32>, tensor<2x5x5x64xf32>) outs(%w : tensor<3x3x32x64xf32>)
          {name = "filter", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
          -> tensor<3x3x32x64xf32>
      return
    })");
  EXPECT_EQ(estimate("product"), 2 * 500 * 600 * 700 / kProductFlopsPerByte);
  int64_t convolution =
      2 * (2 * 5 * 5 * 64) * (3 * 3 * 32) / kProductFlopsPerByte;
  EXPECT_EQ(estimate("forward"), convolution);
  EXPECT_EQ(estimate("data"), convolution);
  EXPECT_EQ(estimate("filter"), convolution);
}

TEST_F(TimeEstimateTest, LoopsTakeTheirIterationsAndViewsNothing) {
  parse(R"(
    func.func @f(%x: tensor<1000xf32>) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %n = arith.constant 7 : index
      %y = scf.for %i = %0 to %n step %1 iter_args(%s = %x) -> tensor<1000xf32> {
        %e = linalg.exp ins(%s : tensor<1000xf32>) outs(%s : tensor<1000xf32>) -> tensor<1000xf32>
        scf.yield %e : tensor<1000xf32>
      } {name = "loop"}
      %v = tensor.expand_shape %x [[0, 1]] output_shape [10, 100] {name = "view"}
          : tensor<1000xf32> into tensor<10x100xf32>
      return
    })");
  EXPECT_EQ(estimateTime(find("loop")), 7 * (kStartTime + 8000));
  EXPECT_EQ(estimateTime(find("view")), 0);
}
} // namespace
