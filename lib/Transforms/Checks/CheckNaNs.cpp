//===- CheckNaNs.cpp - The first operation that makes a NaN ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loss that is no number says nothing of where it began to be none. Every
// buffer is looked at where it is written, in program order, so that the first
// failure is where it began.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Checks/Passes.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CHECKNANSPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// `type` with sizes, strides and an offset that are not known.
static MemRefType getDynamicType(MemRefType type) {
  SmallVector<int64_t> unknown(type.getRank(), ShapedType::kDynamic);
  return MemRefType::get(
      unknown, type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, unknown),
      type.getMemorySpace());
}

/// A function that says whether all elements of a buffer of `type` are numbers.
static func::FuncOp createCheck(OpBuilder &builder, Location loc,
                                MemRefType type) {
  auto check =
      func::FuncOp::create(builder, loc, "has_no_nan",
                           builder.getFunctionType(type, builder.getI1Type()));
  check.setPrivate();
  check.setNoInline(true);
  OpBuilder b = OpBuilder::atBlockBegin(check.addEntryBlock());
  Value buffer = check.getArgument(0);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value all = arith::ConstantIntOp::create(b, loc, 1, 1);
  SmallVector<Value> sizes;
  for (int64_t dim : llvm::seq(type.getRank()))
    sizes.push_back(memref::DimOp::create(b, loc, buffer, dim));
  auto addElement = [&](OpBuilder &inner, Location, ValueRange indices,
                        ValueRange soFar) -> scf::ValueVector {
    Value element = memref::LoadOp::create(inner, loc, buffer, indices);
    Value isNumber = arith::CmpFOp::create(
        inner, loc, arith::CmpFPredicate::ORD, element, element);
    return {arith::AndIOp::create(inner, loc, soFar[0], isNumber)};
  };
  scf::LoopNest nest = scf::buildLoopNest(
      b, loc, SmallVector<Value>(sizes.size(), zero), sizes,
      SmallVector<Value>(sizes.size(), one), all, addElement);
  func::ReturnOp::create(b, loc, nest.results);
  return check;
}

/// Returns the name of an argument that has a value when its function begins
/// and that no other function has checked; empty otherwise.
static std::string describeArgument(func::FuncOp function, unsigned number) {
  for (StringRef name : {opt::OptDialect::getParamAttrName(),
                         opt::OptDialect::getStateAttrName(),
                         remat::RematDialect::getStateAttrName(),
                         remat::RematDialect::getDataAttrName()})
    if (auto text = function.getArgAttrOfType<StringAttr>(number, name))
      return "'" + text.str() + "'";
  if (!function.isPublic() ||
      function.getArgAttr(number, remat::RematDialect::getResultAttrName()))
    return "";
  return "argument " + std::to_string(number);
}

/// Returns true if `op` writes what the program says, such as the NaN that a
/// `maxnumf` starts from, and makes no number of others.
static bool writesConstant(Operation *op) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill && matchPattern(fill.value(), m_Constant());
}

namespace {
struct CheckNaNsPass : remat::impl::CheckNaNsPassBase<CheckNaNsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      SmallVector<DestinationStyleOpInterface> writers;
      function.walk([&](DestinationStyleOpInterface op) {
        if (op.hasPureBufferSemantics() && !writesConstant(op))
          writers.push_back(op);
      });
      for (DestinationStyleOpInterface op : writers) {
        OpBuilder builder(op);
        builder.setInsertionPointAfter(op);
        std::string source = remat::describeSource(op.getLoc());
        std::string text = op->getName().getStringRef().str() +
                           (source.empty() ? "" : " at " + source) +
                           " is the first operation whose result has a NaN";
        for (Value init : op.getDpsInits())
          check(builder, op.getLoc(), symbols, init, text);
      }
      checkArguments(function, symbols);
    }
  }

private:
  void checkArguments(func::FuncOp function, SymbolTable &symbols) {
    if (function.isExternal())
      return;
    auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (BlockArgument argument : function.getArguments())
      if (std::string name =
              describeArgument(function, argument.getArgNumber());
          !name.empty())
        check(builder, function.getLoc(), symbols, argument,
              name + " has a NaN when the step begins");
  }

  /// Fails with `text` if `buffer` has a NaN.
  void check(OpBuilder &builder, Location loc, SymbolTable &symbols,
             Value buffer, StringRef text) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return;
    MemRefType dynamic = getDynamicType(type);
    func::FuncOp &function = checks[dynamic];
    if (!function) {
      OpBuilder ofModule(builder.getContext());
      function = createCheck(ofModule, loc, dynamic);
      symbols.insert(function, getOperation().getBody()->end());
    }
    Value same = memref::CastOp::create(builder, loc, dynamic, buffer);
    Value ok = func::CallOp::create(builder, loc, function, same).getResult(0);
    cf::AssertOp::create(builder, loc, ok, text);
  }

  DenseMap<Type, func::FuncOp> checks;
};
} // namespace
