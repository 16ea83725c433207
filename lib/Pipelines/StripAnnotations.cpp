//===- StripAnnotations.cpp - What only our passes read -------------------===//
//
// The stock mlir-runner does not know the remat and opt dialects and rejects
// their attributes.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_STRIPANNOTATIONSPASS
#include "remat/Pipelines/Passes.h.inc"

namespace {

bool isOurs(NamedAttribute attribute) {
  return isa_and_nonnull<RematDialect, opt::OptDialect>(
      attribute.getNameDialect());
}

SmallVector<StringAttr> getOurs(ArrayRef<NamedAttribute> attributes) {
  SmallVector<StringAttr> names;
  for (NamedAttribute attribute : attributes)
    if (isOurs(attribute))
      names.push_back(attribute.getName());
  return names;
}

struct StripAnnotationsPass
    : public impl::StripAnnotationsPassBase<StripAnnotationsPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<opt::OptimizerOp, TrainStepOp, CustomVJPOp>(op))
        return op->erase();
      for (StringAttr name :
           getOurs(llvm::to_vector(op->getDiscardableAttrs())))
        op->removeDiscardableAttr(name);
      auto function = dyn_cast<FunctionOpInterface>(op);
      if (!function)
        return;
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        for (StringAttr name : getOurs(function.getArgAttrs(i)))
          function.removeArgAttr(i, name);
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        for (StringAttr name : getOurs(function.getResultAttrs(i)))
          function.removeResultAttr(i, name);
    });
  }
};

} // namespace
} // namespace mlir::remat
