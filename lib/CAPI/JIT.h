//===- JIT.h - Machine code in this process --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code is an object file in memory first, which can be kept, and is
// then linked with this process.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_JIT_H
#define REMAT_LIB_CAPI_JIT_H

#include "remat/Runtime/HostedDevice.h"
#include "remat/Runtime/Step.h"

#include "mlir/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class MemoryBuffer;
class Module;
class TargetMachine;
namespace orc {
class LLJIT;
} // namespace orc
} // namespace llvm

namespace mlir {
class ModuleOp;
namespace remat {
class Progress;

/// The code of a step; it lives as long as this.
struct CompiledCode {
  CompiledCode();
  CompiledCode(CompiledCode &&);
  CompiledCode &operator=(CompiledCode &&);
  ~CompiledCode();

  std::unique_ptr<llvm::orc::LLJIT> jit;
  RematStepFunction function = nullptr;
  /// Null if there is no evaluation.
  RematStepFunction evaluation = nullptr;
  /// Null if the caller sets none.
  double *learningRates = nullptr;
  /// The part that a device has to load.
  ::remat::HostedDevice::Program program = {};
};

/// Returns the target of compiled code: this machine's processor and features.
llvm::Expected<std::string> describeTarget();

/// Runs the passes that `mlir-runner` runs (`makeOptimizingTransformer`, which
/// takes no instrumentation), as long as `progress` goes on.
void optimize(llvm::Module &code, llvm::TargetMachine &machine, int level,
              Progress &progress);

/// Compiles a module in the LLVM dialect for this machine, to the code that
/// `mlir-runner` makes of it. Fails without an error if `progress` does not go
/// on. What it calls has to be in `library` (of `dlopen`), unless that is null,
/// or in this process.
FailureOr<std::unique_ptr<llvm::MemoryBuffer>>
compileToObject(ModuleOp module, int optimizationLevel, void *library,
                Progress &progress);

/// Links an object file with `library` and what this process has.
llvm::Expected<CompiledCode>
linkObject(std::unique_ptr<llvm::MemoryBuffer> object, void *library,
           bool hasEvaluation, bool hasLearningRates);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_CAPI_JIT_H
