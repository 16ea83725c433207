//===- DynamicLibrary.h - Libraries of the machine that runs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver, cuBLASLt and cuDNN are loaded when a program needs them, so that
// a program starts where they are missing, and says what to install.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_DYNAMICLIBRARY_H
#define REMAT_RUNTIME_CUDA_DYNAMICLIBRARY_H

#include <string>
#include <type_traits>
#include <vector>

namespace remat::cuda {

class DynamicLibrary {
public:
  /// The first of the files that can be loaded; if none can, `reason` says why
  /// the first one cannot. `isGlobal`: later libraries see its functions.
  static DynamicLibrary open(const std::vector<std::string> &paths,
                             bool isGlobal = false);

  explicit operator bool() const { return handle; }
  const std::string &getReason() const { return reason; }

  /// Sets `function`; false if the library has none of this name.
  template <typename Function>
  bool find(Function &function, const char *name) const {
    function = reinterpret_cast<std::decay_t<Function>>(findSymbol(name));
    return function;
  }

private:
  void *findSymbol(const char *name) const;

  void *handle = nullptr;
  std::string reason;
};

/// Returns the path of a library of the emulator: beside the one that
/// REMAT_CUDA_EMULATOR names, or else beside this one, as source builds have
/// it.
std::string getEmulatorPath(const std::string &file);

/// `13.2.1` of 130201.
std::string formatVersion(size_t version);

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_DYNAMICLIBRARY_H
