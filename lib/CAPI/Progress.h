//===- Progress.h - Compilations that their caller can end -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_PROGRESS_H
#define REMAT_LIB_CAPI_PROGRESS_H

#include "remat-c/Step.h"

#include "mlir/CAPI/Support.h"

#include <atomic>

namespace mlir::remat {

/// Tells the caller of a compilation what happens, and learns whether it shall
/// go on. Passes run on several threads.
class Progress {
public:
  explicit Progress(const RematStepOptions &options)
      : callback(options.progress), userData(options.progressData) {}

  /// Says that `stage` begins. False if the compilation shall end, which it
  /// does without an error of the model.
  bool begin(StringRef stage) {
    if (!isCancelled && callback && !callback(wrap(stage), userData))
      isCancelled = true;
    return !isCancelled;
  }

  bool goesOn() const { return !isCancelled; }
  bool isObserved() const { return callback; }

private:
  RematProgressCallback callback;
  void *userData;
  std::atomic<bool> isCancelled{false};
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_PROGRESS_H
