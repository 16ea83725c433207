//===- Toolkit.h - NVIDIA's assembler and device archiver -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM ends at PTX. Only NVIDIA's programs make machine code of it, so they are
// found on the machine that compiles, or in Python packages.
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_CUDA_TOOLKIT_H
#define REMAT_CONVERSION_CUDA_TOOLKIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::remat {

/// Machine code of one chip.
struct Cubin {
  std::string contents;
  /// The output of ptxas: resources of each kernel.
  std::string log;
};

/// A member of a fatbin.
struct FatbinMember {
  enum class Kind { Cubin, PTX };
  Kind kind;
  llvm::StringRef chip;
  llvm::StringRef contents;
};

class Toolkit {
public:
  /// The toolkit in `root`, or if that is empty in CUDA_ROOT, CUDA_HOME,
  /// CUDA_PATH, around the ptxas of PATH, in the Python packages of
  /// VIRTUAL_ENV, in /usr/local/cuda.
  static llvm::Expected<Toolkit> find(llvm::StringRef root);

  /// libdevice's bitcode file; empty if there is none.
  llvm::StringRef getLibdevice() const { return libdevice; }
  llvm::StringRef getRoot() const { return root; }

  /// "13.0.88".
  llvm::Expected<std::string> getVersion() const;

  /// Runs ptxas. An error is ptxas' message, in which the file is called
  /// `name`.
  llvm::Expected<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef chip,
                                 llvm::StringRef name) const;

  /// Runs fatbinary.
  llvm::Expected<std::string>
  combine(llvm::ArrayRef<FatbinMember> members) const;

private:
  std::string root, ptxas, fatbinary, libdevice;
};

/// The command that installs the Python packages with `ptxas` and libdevice.
inline constexpr llvm::StringLiteral kInstallToolkit =
    "pip install nvidia-cuda-nvcc==13.0.* nvidia-nvvm==13.0.*";

} // namespace mlir::remat

#endif // REMAT_CONVERSION_CUDA_TOOLKIT_H
