//===- CublasLtLibrary.cpp - Load cuBLASLt --------------------------------===//

#include "CublasLtLibrary.h"

#include "DriverLibrary.h"
#include "remat/Runtime/Runtime.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

using namespace remat;
using namespace remat::cuda;

void CublasLt::check(cublasStatus_t status, const char *call,
                     const std::string &context) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(std::string(call) + " failed" + context + ": " +
         cublasLtGetStatusName(status));
}

static void *open(bool isEmulated) {
  std::vector<std::string> paths = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (isEmulated)
    paths = {pathBesideRuntime("libremat_emulated_cublaslt.so")};
  else if (const char *path = std::getenv("REMAT_CUBLASLT"))
    paths = {path};
  std::string reason;
  for (const std::string &path : paths) {
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    const char *text = dlerror();
    if (reason.empty())
      reason = text ? text : "unknown error";
  }
  fail(isEmulated
           ? "the emulated cuBLASLt cannot be loaded (" + reason + ")"
           : "no cuBLASLt, which multiplies matrices (" + reason +
                 "); install the PyPI package nvidia-cublas, and name its "
                 "libcublasLt.so.13 in REMAT_CUBLASLT");
}

static std::string toVersion(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

CublasLt CublasLt::load(bool isEmulated) {
  void *library = open(isEmulated);
  CublasLt result;
  auto find = [&](auto &function, const char *name) {
    using Function = std::decay_t<decltype(function)>;
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
      fail(std::string("cuBLASLt has no ") + name + "; 12 or 13 is needed");
  };
#define REMAT_LOAD(RESULT, NAME, PARAMETERS) find(result.NAME, #NAME);
  REMAT_CUBLASLT_FUNCTIONS(REMAT_LOAD)
#undef REMAT_LOAD
  size_t version = result.cublasLtGetVersion();
  result.version = toVersion(version);
  if (version < 120000 || version >= 140000)
    fail("cuBLASLt is of version " + result.version +
         ", but 12 or 13 is needed; name another one in REMAT_CUBLASLT");
  return result;
}
