//===- AnnotateConvWorkspace.cpp - The workspace that is to come ----------===//
//
// A schedule that does not know of the workspaces of convolutions puts the most
// values beside the largest of them, and calls that the lowest peak.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CPU/Passes.h"

#include "ConvCall.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/Builders.h"

namespace mlir::remat {
#define GEN_PASS_DEF_ANNOTATECONVWORKSPACE
#include "remat/Conversion/CPU/Passes.h.inc"

namespace {
struct AnnotateConvWorkspace
    : impl::AnnotateConvWorkspaceBase<AnnotateConvWorkspace> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(checkThreads(getOperation(), threads)))
      return signalPassFailure();
    Builder builder(&getContext());
    bool changed = false;
    getOperation()->walk([&](Operation *op) {
      std::optional<ConvCall> call = getConvCall(op);
      // Those of unknown shape are refused where they are converted.
      std::optional<int64_t> bytes =
          call ? call->getWorkspaceBytes(threads) : std::nullopt;
      changed |= bytes.has_value();
      if (bytes)
        op->setDiscardableAttr(RematDialect::getWorkspaceBytesAttrName(),
                               builder.getI64IntegerAttr(*bytes));
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace mlir::remat
