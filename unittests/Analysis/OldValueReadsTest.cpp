//===- OldValueReadsTest.cpp - Who reads a value before it is overwritten -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/OldValueReads.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class OldValueReads : public ::testing::Test {
protected:
  OldValueReads() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, scf::SCFDialect,
                        tensor::TensorDialect, RematDialect>();
  }

  /// Parses `text` and returns the body of its function @f.
  Block &parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module->lookupSymbol<func::FuncOp>("f").getBody().front();
  }

  /// Returns the name of the last read of the first argument of @f in `text`:
  /// its attribute `called`, else the operation's name, "none" without a read.
  StringRef findLast(StringRef text) {
    Block &block = parse(text);
    Operation *last = findLastRead(block, block.getArgument(0));
    if (!last)
      return "none";
    auto name = last->getAttrOfType<StringAttr>("called");
    return name ? name.getValue() : last->getName().getStringRef();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OldValueReads, AreNoneWithoutAUser) {
  EXPECT_EQ(findLast(R"(
    func.func @f(%w: tensor<4xf32>) {
      return
    })"),
            "none");
}

TEST_F(OldValueReads, GoThroughViewsAndBarriers) {
  EXPECT_EQ(findLast(R"(
    func.func @f(%w: tensor<2x2xf32>, %x: f32) -> tensor<4xf32> {
      %v = tensor.collapse_shape %w [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
      %b = remat.barrier %v after %x : tensor<4xf32> after f32
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.add {called = "reader"} ins(%b, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %s = linalg.add ins(%r, %r : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %s : tensor<4xf32>
    })"),
            "reader");
}

TEST_F(OldValueReads, AreTheLoopThatContainsThem) {
  EXPECT_EQ(findLast(R"(
    func.func @f(%w: tensor<4xf32>, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
        %x = tensor.extract %w[%i] : tensor<4xf32>
        %t = arith.addf %s, %x : f32
        scf.yield %t : f32
      } {called = "loop"}
      %twice = arith.addf %sum, %sum : f32
      return %twice : f32
    })"),
            "loop");
}

TEST_F(OldValueReads, FollowWhatACallReturns) {
  StringRef text = R"(
    func.func private @same(%w: tensor<4xf32>) -> tensor<4xf32> {
      return %w : tensor<4xf32>
    }
    func.func private @twice(%w: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.add ins(%w, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    func.func @f(%w: tensor<4xf32>, %i: index) -> f32 {
      %v = func.call @CALLEE(%w) {called = "call"} : (tensor<4xf32>) -> tensor<4xf32>
      %x = tensor.extract %v[%i] {called = "extract"} : tensor<4xf32>
      return %x : f32
    })";
  std::string same = text.str(), twice = text.str();
  same.replace(same.find("CALLEE"), 6, "same");
  twice.replace(twice.find("CALLEE"), 6, "twice");
  EXPECT_EQ(findLast(same), "extract");
  EXPECT_EQ(findLast(twice), "call");
}

TEST_F(OldValueReads, AreTheTerminatorThatReturnsTheOldValue) {
  EXPECT_EQ(findLast(R"(
    func.func @f(%w: tensor<4xf32>) -> tensor<4xf32> {
      return %w : tensor<4xf32>
    })"),
            "func.return");
}
} // namespace
