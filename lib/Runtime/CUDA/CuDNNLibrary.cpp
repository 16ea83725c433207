//===- CuDNNLibrary.cpp - Load cuDNN --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CuDNNLibrary.h"

#include "DynamicLibrary.h"
#include "remat/Runtime/Runtime.h"

#include <cstdlib>

using namespace remat;
using namespace remat::cuda;

void CuDNN::check(cudnnStatus_t status, const char *call,
                  const std::string &context) const {
  if (status != CUDNN_STATUS_SUCCESS)
    fail(std::string(call) + " failed" + context + ": " +
         cudnnGetErrorString(status));
}

static DynamicLibrary open(bool isEmulated) {
  std::string path = "libcudnn.so.9";
  if (isEmulated)
    path = getEmulatorPath("libremat_emulated_cudnn.so");
  else if (const char *named = std::getenv("REMAT_CUDNN"))
    path = named;
  DynamicLibrary library = DynamicLibrary::open({path});
  if (library)
    return library;
  fail(isEmulated
           ? "the emulated cuDNN cannot be loaded (" + library.getReason() + ")"
           : "no cuDNN, which computes convolutions (" + library.getReason() +
                 "); install the PyPI package nvidia-cudnn-cu13, and "
                 "name its libcudnn.so.9 in REMAT_CUDNN");
}

CuDNN CuDNN::load(bool isEmulated) {
  DynamicLibrary library = open(isEmulated);
  CuDNN result;
  auto find = [&](auto &function, const char *name) {
    if (!library.find(function, name))
      fail(std::string("cuDNN has no ") + name + "; 9 is needed");
  };
#define REMAT_LOAD(RESULT, NAME, PARAMETERS) find(result.NAME, #NAME);
  REMAT_CUDNN_FUNCTIONS(REMAT_LOAD)
#undef REMAT_LOAD
  size_t version = result.cudnnGetVersion();
  result.version = formatVersion(version);
  if (version < 90000 || version >= 100000)
    fail("cuDNN is of version " + result.version +
         ", but 9 is needed; name another one in REMAT_CUDNN");
  return result;
}
