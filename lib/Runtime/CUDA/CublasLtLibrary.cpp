//===- CublasLtLibrary.cpp - Load cuBLASLt --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CublasLtLibrary.h"

#include "DynamicLibrary.h"
#include "remat/Runtime/Runtime.h"

#include <cstdlib>
#include <vector>

using namespace remat;
using namespace remat::cuda;

void CublasLt::check(cublasStatus_t status, const char *call,
                     const std::string &context) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(std::string(call) + " failed" + context + ": " +
         cublasLtGetStatusName(status));
}

static DynamicLibrary open(bool isEmulated) {
  std::vector<std::string> paths = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (isEmulated)
    paths = {getEmulatorPath("libremat_emulated_cublaslt.so")};
  else if (const char *path = std::getenv("REMAT_CUBLASLT"))
    paths = {path};
  DynamicLibrary library = DynamicLibrary::open(paths);
  if (library)
    return library;
  fail(isEmulated
           ? "the emulated cuBLASLt cannot be loaded (" + library.getReason() +
                 ")"
           : "no cuBLASLt, which multiplies matrices (" + library.getReason() +
                 "); install the PyPI package nvidia-cublas, and name "
                 "its libcublasLt.so.13 in REMAT_CUBLASLT");
}

CublasLt CublasLt::load(bool isEmulated) {
  DynamicLibrary library = open(isEmulated);
  CublasLt result;
  auto find = [&](auto &function, const char *name) {
    if (!library.find(function, name))
      fail(std::string("cuBLASLt has no ") + name + "; 12 or 13 is needed");
  };
#define REMAT_LOAD(RESULT, NAME, PARAMETERS) find(result.NAME, #NAME);
  REMAT_CUBLASLT_FUNCTIONS(REMAT_LOAD)
#undef REMAT_LOAD
  size_t version = result.cublasLtGetVersion();
  result.version = formatVersion(version);
  if (version < 120000 || version >= 140000)
    fail("cuBLASLt is of version " + result.version +
         ", but 12 or 13 is needed; name another one in REMAT_CUBLASLT");
  return result;
}
