//===- KernelLaunch.h - A kernel, its arguments and its launch --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of all kinds have in common: how memory, numbers and scalars get
// to them from the host.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_KERNELLAUNCH_H
#define REMAT_LIB_CONVERSION_CUDA_KERNELLAUNCH_H

#include "Traffic.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {

/// Blocks that occupy a large chip's multiprocessors, of which there are 132 to
/// 148: two for each.
inline constexpr int64_t kManyBlocks = 264;
/// Bytes of workgroup memory that every chip gives a block without asking.
inline constexpr int64_t kWorkgroupBytes = 48 << 10;
/// Bytes that a thread loads or stores at once.
inline constexpr int64_t kVectorBytes = 16;

/// The `gpu.module` of the program's kernels.
gpu::GPUModuleOp getOrCreateKernelModule(ModuleOp module);

/// Makes one kernel and its launch. First `begin`, then the arguments, then the
/// kernel's code by `device`, between `beginCode` and `finish`.
class KernelLaunch {
public:
  /// The accesses that a kernel may make to an argument.
  enum class Access { Read, Write, ReadWrite };

  /// The launch takes the place of `op`, at the insertion point of `host`.
  KernelLaunch(OpBuilder &host, Operation *op)
      : device(op->getContext()), host(host), op(op), loc(op->getLoc()) {}

  void begin(int64_t blockSize, ArrayRef<Type> workgroupTypes);

  /// Memory from `pointer` on, as `memref<?xT>`. `bytes`: how much of it, if it
  /// is known; `traffic`: how much of that moves, if someone asked.
  Value addMemory(Value pointer, Type elementType, Access access,
                  std::optional<int64_t> bytes,
                  std::optional<Traffic> traffic = std::nullopt);
  /// A number that the grid depends on, or a constant.
  Value addNumber(OpFoldResult number);
  /// A value that the host computes anew at every step.
  Value addScalar(Value scalar);
  /// Adds the values that the code captures; `map` has them then.
  void addCaptures(const Captures &captures);

  /// Ends the arguments. Returns the workgroup memory.
  ValueRange beginCode();
  /// Ends the code.
  gpu::GPUFuncOp finish();

  /// Launches `kernel`, which looks like the one that was finished. There is no
  /// launch of no blocks. `dynamicBytes` are of dynamic workgroup memory.
  void createLaunch(gpu::GPUFuncOp kernel, OpFoldResult blocks,
                    int64_t dynamicBytes = 0);

  /// Builds the kernel.
  OpBuilder device;
  /// From values at the call site to those of the kernel.
  IRMapping map;

private:
  struct Argument {
    Value value;
    std::optional<Access> access = std::nullopt;
    std::optional<int64_t> bytes = std::nullopt;
    std::optional<Traffic> traffic = std::nullopt;
  };

  Value addArgument(Argument argument);
  Value addMemRef(Value memref);

  OpBuilder &host;
  Operation *op;
  Location loc;
  int64_t blockSize = 0;
  SmallVector<Argument> arguments;
  gpu::GPUFuncOp kernel;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_KERNELLAUNCH_H
