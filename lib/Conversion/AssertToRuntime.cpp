//===- AssertToRuntime.cpp - Assertions end programs in good order --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An abort looks like a crash of the tool that runs the program, and hides the
// message under a stack trace.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTASSERTTORUNTIME
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
struct ConvertAssertToRuntime
    : remat::impl::ConvertAssertToRuntimeBase<ConvertAssertToRuntime> {
  void runOnOperation() override {
    SmallVector<cf::AssertOp> assertions;
    getOperation().walk(
        [&](cf::AssertOp assertion) { assertions.push_back(assertion); });
    if (assertions.empty())
      return markAllAnalysesPreserved();
    SymbolTable symbols(getOperation());
    llvm::StringMap<memref::GlobalOp> texts;
    for (cf::AssertOp assertion : assertions) {
      Location loc = assertion.getLoc();
      // No array has no bytes.
      StringRef message =
          assertion.getMsg().empty() ? "assertion failed" : assertion.getMsg();
      memref::GlobalOp &text = texts[message];
      if (!text)
        text = createTextGlobal(loc, symbols, "__remat_assertion", message);
      OpBuilder builder(assertion);
      Value yes =
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
      Value failed =
          arith::XOrIOp::create(builder, loc, assertion.getArg(), yes);
      scf::IfOp::create(
          builder, loc, failed, [&](OpBuilder &inside, Location loc) {
            createRuntimeCall(inside, loc, symbols, "remat_rt_fail",
                              createTextOperand(inside, loc, text));
            scf::YieldOp::create(inside, loc);
          });
      assertion.erase();
    }
  }
};
} // namespace
