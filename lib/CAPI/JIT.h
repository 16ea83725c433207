//===- JIT.h - Machine code in this process --------------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_JIT_H
#define REMAT_LIB_CAPI_JIT_H

#include "remat/Runtime/Step.h"

#include "mlir/Support/LLVM.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
class ModuleOp;
namespace remat {

/// The code of a step; it lives as long as this.
struct CompiledCode {
  CompiledCode();
  CompiledCode(CompiledCode &&);
  CompiledCode &operator=(CompiledCode &&);
  ~CompiledCode();

  std::unique_ptr<ExecutionEngine> engine;
  RematStepFunction function = nullptr;
};

/// Compiles a module in the LLVM dialect for this machine, as `mlir-runner`
/// does, and links it with the runtime library of this process.
FailureOr<CompiledCode> compileToMemory(ModuleOp module, int optimizationLevel);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_CAPI_JIT_H
