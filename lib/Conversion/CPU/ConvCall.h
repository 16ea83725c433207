//===- ConvCall.h - A convolution as the runtime sees it --------*- C++ -*-===//
//
// The pass that calls the runtime and the one that foresees its workspace ask
// the same questions of a convolution, the one on memrefs, the other on
// tensors.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CPU_CONVCALL_H
#define REMAT_LIB_CONVERSION_CPU_CONVCALL_H

#include "../Convolution.h"

#include "remat/Runtime/ConvPlan.h"

#include <array>
#include <optional>
#include <string>

namespace mlir::remat {

/// A convolution, what the runtime calls it, and how it plans it.
struct ConvCall : Convolution {
  using Planner = ::remat::ConvPlan (*)(const ::remat::ConvShape &);

  /// For channels last, and first.
  Planner planners[2];

  /// What the runtime is told besides the operands.
  std::array<int64_t, 6> getWindow() const;

  /// The name of the runtime's function.
  std::string getFunction() const;

  /// The workspace for so many threads, if all sizes but the number of images
  /// are known, and the bytes can be counted.
  std::optional<int64_t> getWorkspaceBytes(int64_t threads) const;

private:
  std::optional<::remat::ConvShape> getShape() const;
};

/// Fails, with a diagnostic at `op`, unless workspaces are for a thread at
/// least.
LogicalResult checkThreads(Operation *op, int64_t threads);

/// `op` as a call, if it is one of `remat.conv_2d` and its gradients.
std::optional<ConvCall> getConvCall(Operation *op);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CPU_CONVCALL_H
