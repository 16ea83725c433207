//===- CostTest.cpp - What operations cost --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AnalysisTest.h"

#include "remat/Analysis/Cost.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class CostTest : public AnalysisTest {
protected:
  bool isFreeToRun(StringRef name) { return isFree(find(name)); }
  /// The time without the start.
  int64_t estimate(StringRef name) {
    return estimateTime(find(name)) - kStartTime;
  }
};

TEST_F(CostTest, ViewsShapesAndNumbersAreFree) {
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

TEST_F(CostTest, WorkAndEffectsAreNot) {
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

TEST_F(CostTest, CountsScalarOperations) {
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
  EXPECT_EQ(getRecomputeCost(find("static")), 4 * (1 + 20));
  EXPECT_EQ(getRecomputeCost(find("dynamic")), 20);
}

TEST_F(CostTest, BodiesOfFewAdditionsAreCheap) {
  parse(R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4xf32>, %m: tensor<4xi1>) {
      %f = linalg.generic {name = "rounded", indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %two = arith.constant 2.0 : f32
        %b = arith.mulf %a, %two : f32
        %c = math.floor %b : f32
        linalg.yield %c : f32
      } -> tensor<4xf32>
      %d = linalg.div {name = "division"} ins(%x, %f : tensor<4xf32>, tensor<4xf32>)
          outs(%x : tensor<4xf32>) -> tensor<4xf32>
      %b = linalg.generic {name = "branch", indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
          ins(%x, %m : tensor<4xf32>, tensor<4xi1>) outs(%x : tensor<4xf32>) {
      ^bb0(%a: f32, %c: i1, %o: f32):
        %r = scf.if %c -> f32 {
          scf.yield %a : f32
        } else {
          %n = arith.negf %a : f32
          scf.yield %n : f32
        }
        linalg.yield %r : f32
      } -> tensor<4xf32>
      return
    })");
  auto count = [&](StringRef name) {
    return countCheapScalars(cast<linalg::LinalgOp>(find(name)));
  };
  EXPECT_EQ(count("rounded"), 2);
  EXPECT_EQ(count("division"), std::nullopt);
  EXPECT_EQ(count("branch"), std::nullopt);
}

TEST_F(CostTest, GeneratorsReadNoTensor) {
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
TEST_F(CostTest, ElementwiseKernelsTakeTheirTrafficOrTheirArithmetic) {
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

TEST_F(CostTest, ProductsAndConvolutionsTakeTheirFlops) {
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

TEST_F(CostTest, LoopsTakeTheirIterationsAndViewsNothing) {
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
TEST_F(CostTest, CollectivesTakeTheTimeOfWhatIsSent) {
  parse(R"(
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>, %all: tensor<32xf32>) {
      %c = remat.rank {name = "rank", size = 4 : i64, stride = 1 : i64} : index
      %one = remat.all_reduce sum {name = "one", size = 4 : i64, stride = 1 : i64}
          ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
      %two = remat.all_reduce sum {name = "two", size = 4 : i64, stride = 1 : i64}
          ins(%x, %y : tensor<8xf32>, tensor<8xf32>)
          outs(%x : tensor<8xf32>) -> tensor<8xf32>
      %here = remat.all_reduce sum {name = "here", size = 1 : i64, stride = 1 : i64}
          ins(%x, %y : tensor<8xf32>, tensor<8xf32>)
          outs(%x : tensor<8xf32>) -> tensor<8xf32>
      %all1 = remat.all_gather dim(0) {name = "all", size = 4 : i64, stride = 1 : i64}
          ins(%x : tensor<8xf32>) outs(%all : tensor<32xf32>) -> tensor<32xf32>
      return
    })");
  EXPECT_TRUE(isFreeToRun("rank"));
  for (StringRef name : {"one", "two", "here", "all"})
    EXPECT_FALSE(isFreeToRun(name)) << name.str();
  EXPECT_EQ(countSentBytes(find("one")), 2 * 3 * 8);
  EXPECT_EQ(countSentBytes(find("two")), 3 * 3 * 8);
  EXPECT_EQ(countSentBytes(find("here")), 0);
  EXPECT_EQ(countSentBytes(find("all")), 3 * 32);
  EXPECT_EQ(countSentBytes(find("rank")), 0);
  EXPECT_EQ(estimate("one"), 2 * 32 + kTimePerByteSent * 48);
  EXPECT_EQ(estimate("here"), 3 * 32);
}

} // namespace
