//===- Object.h - Machine code of a shipped step ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_SHIP_OBJECT_H
#define REMAT_LIB_CAPI_SHIP_OBJECT_H

#include "Layout.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir {
class ModuleOp;
namespace remat {
class Progress;

/// The processor that an object is for.
class ShipTarget {
public:
  /// Of this machine without a triple; with one, of what all processors of its
  /// kind can do that Linux distributions are made for, unless one is named.
  /// Fails where there is no core of the runtime for it.
  static llvm::Expected<ShipTarget> find(StringRef triple, StringRef processor,
                                         StringRef features);

  /// Returns the bytes that a thread needs for the products and convolutions of
  /// `module`, which passes the context.
  static ShipWorkspace getWorkspace(ModuleOp module);

  /// Links a module that passes the context with the core, and compiles it to
  /// an object file with the functions of the header. Fails without an error if
  /// `progress` does not go on.
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>>
  compile(ModuleOp module, const ShipLayout &layout, int optimizationLevel,
          Progress &progress) const;

  /// Such as `x86_64-pc-linux-gnu haswell`.
  std::string describe() const;

  int64_t getPointerBytes() const { return machine->getPointerSize(0); }
  /// The C compiler that makes programs for it, as distributions call it.
  StringRef getCompiler() const { return compiler; }

private:
  std::unique_ptr<llvm::TargetMachine> machine;
  /// LLVM bitcode.
  std::unique_ptr<llvm::MemoryBuffer> core;
  std::string compiler = "cc";
};

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_CAPI_SHIP_OBJECT_H
