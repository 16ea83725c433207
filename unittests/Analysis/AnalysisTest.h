//===- AnalysisTest.h - Programs whose operations have names ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_UNITTESTS_ANALYSIS_ANALYSISTEST_H
#define REMAT_UNITTESTS_ANALYSIS_ANALYSISTEST_H

#include "remat/Analysis/RecomputeCostOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringMap.h"

#include "gtest/gtest.h"

namespace mlir::remat {

/// Parses a module and finds its operations by their attribute `name`.
class AnalysisTest : public ::testing::Test {
protected:
  AnalysisTest() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, math::MathDialect, RematDialect,
                    scf::SCFDialect, tensor::TensorDialect>();
    registerRecomputeCostExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The body of @f. The attributes are gone afterwards.
  Block &parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    module->walk([&](Operation *op) {
      if (auto name = op->getAttrOfType<StringAttr>("name"))
        if (op->removeDiscardableAttr("name"))
          named[name.getValue()] = op;
    });
    return module->lookupSymbol<func::FuncOp>("f").getBody().front();
  }

  Operation *find(StringRef name) { return named.at(name); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<Operation *> named;
};

} // namespace mlir::remat

#endif // REMAT_UNITTESTS_ANALYSIS_ANALYSISTEST_H
