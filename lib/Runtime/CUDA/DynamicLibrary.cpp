//===- DynamicLibrary.cpp - Libraries of the machine that runs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DynamicLibrary.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace remat;
using namespace remat::cuda;

DynamicLibrary DynamicLibrary::open(const std::vector<std::string> &paths,
                                    bool isGlobal) {
  DynamicLibrary library;
  for (const std::string &path : paths) {
    library.handle =
        dlopen(path.c_str(), RTLD_NOW | (isGlobal ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library.handle)
      break;
    const char *text = dlerror();
    if (library.reason.empty())
      library.reason = text ? text : "unknown error";
  }
  return library;
}

void *DynamicLibrary::findSymbol(const char *name) const {
  return dlsym(handle, name);
}

std::string cuda::getEmulatorPath(const std::string &file) {
  std::string path;
  Dl_info info;
  if (const char *named = std::getenv("REMAT_CUDA_EMULATOR"))
    path = named;
  else if (dladdr(reinterpret_cast<void *>(&cuda::getEmulatorPath), &info))
    path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? file : path.substr(0, slash + 1) + file;
}

std::string cuda::formatVersion(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}
