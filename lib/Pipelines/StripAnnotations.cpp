//===- StripAnnotations.cpp - What only our passes read -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stock mlir-runner does not know the remat and opt dialects and rejects
// their attributes.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_STRIPANNOTATIONSPASS
#include "remat/Pipelines/Passes.h.inc"

static bool isOurs(NamedAttribute attribute) {
  return isa_and_nonnull<RematDialect, opt::OptDialect>(
      attribute.getNameDialect());
}

static SmallVector<StringAttr> getOurs(ArrayRef<NamedAttribute> attributes) {
  SmallVector<StringAttr> names;
  for (NamedAttribute attribute : attributes)
    if (isOurs(attribute))
      names.push_back(attribute.getName());
  return names;
}

/// Returns those of `attributes` that are not ours.
static DictionaryAttr getOthers(MLIRContext *context,
                                DictionaryAttr attributes) {
  NamedAttrList others(attributes);
  for (StringAttr name : getOurs(others.getAttrs()))
    others.erase(name);
  return others.getDictionary(context);
}

/// All at once: a step has thousands of arguments, whose attributes are one
/// array.
static void stripSignature(FunctionOpInterface function) {
  MLIRContext *context = function.getContext();
  auto stripped = [&](unsigned count, auto get) {
    return llvm::map_to_vector(llvm::seq(count), [&](unsigned i) {
      return getOthers(context, get(i));
    });
  };
  if (function.getAllArgAttrs())
    function.setAllArgAttrs(
        stripped(function.getNumArguments(),
                 [&](unsigned i) { return function.getArgAttrDict(i); }));
  if (function.getAllResultAttrs())
    function.setAllResultAttrs(
        stripped(function.getNumResults(),
                 [&](unsigned i) { return function.getResultAttrDict(i); }));
}

namespace {
struct StripAnnotationsPass
    : public impl::StripAnnotationsPassBase<StripAnnotationsPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<opt::OptimizerOp, TrainStepOp, CustomVJPOp>(op))
        return op->erase();
      for (StringAttr name :
           getOurs(llvm::to_vector(op->getDiscardableAttrs())))
        op->removeDiscardableAttr(name);
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        stripSignature(function);
    });
  }
};

} // namespace
} // namespace mlir::remat
