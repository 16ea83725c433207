//===- BindVJP.cpp - Derivatives by hand for scopes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `jax.custom_vjp` or a `torch.autograd.Function` arrives as the operations
// of its forward. They become a function, which can have a rule.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::remat;

/// "layers_0_norm1" for "layers.0.norm1", "layer_0" for "@layer 0".
static std::string toSymbolName(StringRef label) {
  std::string name = label.ltrim('@').str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

/// Puts the body of `region` into a private function and a call in its place.
static func::FuncOp outline(RewriterBase &rewriter, RegionOp region,
                            SymbolTable &symbols) {
  auto function = region->getParentOfType<func::FuncOp>();
  auto callee = func::FuncOp::create(
      rewriter, region.getLoc(),
      toSymbolName(region.getLabel().value_or("outlined")),
      rewriter.getFunctionType(region.getInputs().getTypes(),
                               region.getOutputs().getTypes()));
  callee.setPrivate();
  symbols.insert(callee, std::next(function->getIterator()));
  rewriter.inlineRegionBefore(region.getBody(), callee.getBody(),
                              callee.getBody().end());
  Operation *yield = callee.getBody().front().getTerminator();
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<func::ReturnOp>(yield, yield->getOperands());
  rewriter.setInsertionPoint(region);
  rewriter.replaceOpWithNewOp<func::CallOp>(region, callee, region.getInputs());
  return callee;
}

LogicalResult mlir::remat::bindVJP(RewriterBase &rewriter,
                                   ArrayRef<Selection> selections,
                                   FlatSymbolRefAttr rule) {
  if (selections.empty())
    return success();
  auto module = selections.front().ops.front()->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  Location loc = selections.front().ops.front()->getLoc();
  if (!symbols.lookup<func::FuncOp>(rule.getValue()))
    return emitError(loc, "vjp=")
           << rule << ": there is no such function in the module";
  OpBuilder::InsertionGuard guard(rewriter);
  for (const Selection &selection : selections) {
    SmallVector<RegionOp> regions;
    if (failed(wrapInRegions(rewriter, selection, Attribute(), regions)))
      return failure();
    if (regions.size() != 1)
      return emitError(selection.ops.front()->getLoc(), "\"")
             << selection.label << "\" is no single function: what is outside "
             << "of it reads from it and is read by it; bind a smaller scope";
    func::FuncOp callee = outline(rewriter, regions.front(), symbols);
    rewriter.setInsertionPointAfter(callee);
    CustomVJPOp::create(rewriter, callee.getLoc(), rule,
                        FlatSymbolRefAttr::get(callee));
  }
  return success();
}
