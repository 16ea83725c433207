//===- ActivityTest.cpp - Which values carry a derivative -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/Activity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class ActivityTest : public ::testing::Test {
protected:
  ActivityTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect,
                        scf::SCFDialect, tensor::TensorDialect, RematDialect>();
  }

  /// The names (attribute `name`) of operations with an active result between
  /// the first argument of @f and its first result, in program order.
  std::vector<std::string> findActive(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    Block &body = module->lookupSymbol<func::FuncOp>("f").getBody().front();
    SymbolTableCollection symbols;
    CallSummaries calls(symbols);
    Activity activity(calls);
    activity.markVaried(body.getArgument(0));
    EXPECT_TRUE(succeeded(activity.propagateForward(body)));
    activity.markUseful(body.getTerminator()->getOperand(0));
    activity.propagateBackward(body);
    std::vector<std::string> active;
    body.walk([&](Operation *op) {
      auto name = op->getAttrOfType<StringAttr>("name");
      if (name && llvm::any_of(op->getResults(), [&](Value result) {
            return activity.isActive(result);
          }))
        active.push_back(name.str());
    });
    return active;
  }

  MLIRContext context;
};

using Names = std::vector<std::string>;

TEST_F(ActivityTest, IsBetweenTheParameterAndTheLoss) {
  EXPECT_EQ(findActive(R"(
    func.func @f(%w: f32, %x: f32) -> f32 {
      %data = math.sin %x {name = "data"} : f32
      %unused = math.sin %w {name = "unused"} : f32
      %y = arith.mulf %w, %data {name = "product"} : f32
      return %y : f32
    })"),
            Names({"product"}));
}

TEST_F(ActivityTest, EndsAtIntegersAndStoppedGradients) {
  EXPECT_EQ(findActive(R"(
    func.func @f(%w: tensor<f32>) -> tensor<f32> {
      %s = remat.stop_gradient %w : tensor<f32>
      %y = math.sin %s {name = "stopped"} : tensor<f32>
      %i = arith.fptosi %w : tensor<f32> to tensor<i32>
      %z = arith.sitofp %i {name = "rounded"} : tensor<i32> to tensor<f32>
      %l = arith.addf %y, %z {name = "loss"} : tensor<f32>
      return %l : tensor<f32>
    })"),
            Names());
}

TEST_F(ActivityTest, GoesAroundLoopsUntilNothingChanges) {
  // %b is active only from the second iteration on.
  EXPECT_EQ(findActive(R"(
    func.func @f(%w: f32, %x: f32) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %r:3 = scf.for %i = %c0 to %c4 step %c1
          iter_args(%a = %w, %b = %x, %n = %x) -> (f32, f32, f32) {
        %s = math.sin %b {name = "late"} : f32
        %t = math.cos %n {name = "never"} : f32
        scf.yield %s, %a, %t : f32, f32, f32
      }
      return %r#0 : f32
    })"),
            Names({"late"}));
}

TEST_F(ActivityTest, GoesThroughBranchesRegionsAndCalls) {
  EXPECT_EQ(findActive(R"(
    func.func @g(%a: f32, %b: f32) -> (f32, f32) {
      %s = math.sin %b : f32
      return %a, %s : f32, f32
    }
    func.func @f(%w: f32, %x: f32, %p: i1) -> f32 {
      %b = scf.if %p -> f32 {
        %s = math.sin %w {name = "taken"} : f32
        scf.yield %s : f32
      } else {
        scf.yield %x : f32
      }
      %first, %second = call @g(%b, %x) : (f32, f32) -> (f32, f32)
      %y = math.sin %first {name = "first"} : f32
      %z = math.sin %second {name = "second"} : f32
      %l = arith.addf %y, %z {name = "loss"} : f32
      return %l : f32
    })"),
            Names({"taken", "first", "loss"}));
}

TEST_F(ActivityTest, TakesADestinationThatIsNotReadForAShape) {
  EXPECT_EQ(findActive(R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], name = "shape only"}
          ins(%x : tensor<4xf32>) outs(%w : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
      } -> tensor<4xf32>
      return %y : tensor<4xf32>
    })"),
            Names());
}
} // namespace
