//===- Blas.cpp - Load OpenBLAS with the right kernels, single-threaded ---===//
//
// The runtime has its own threads (OpenMP), so OpenBLAS must have none. And
// OpenBLAS falls back to AVX2 kernels on processors newer than itself, at half
// the speed: it is told which kernels the processor can run.
//
//===----------------------------------------------------------------------===//

#include "Blas.h"

#include "remat/Runtime/Runtime.h"

#include <cstdlib>
#include <dlfcn.h>
#include <optional>
#include <string>

using namespace remat;

namespace {

/// Sets an environment variable for as long as it lives, unless the user did.
class ScopedDefaultEnvironment {
public:
  ScopedDefaultEnvironment(const char *name, const char *value)
      : name(name), isOurs(!std::getenv(name)) {
    if (isOurs)
      setenv(name, value, 1);
  }
  ~ScopedDefaultEnvironment() {
    if (isOurs)
      unsetenv(name);
  }

private:
  const char *name;
  bool isOurs;
};

bool canRunSkylakeXKernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
#else
  return false;
#endif
}

[[noreturn]] void failToLoad(const char *what) {
  const char *text = dlerror();
  std::string reason = text ? text : "unknown error";
  bool isMissing = reason.find("No such file") != std::string::npos;
  fail(std::string("cannot load ") + what + ": " + reason +
       (isMissing ? "; install libopenblas0-pthread (tools/setup does)" : ""));
}

void *open() {
  ScopedDefaultEnvironment oneThread("OPENBLAS_NUM_THREADS", "1");
  // One choice for everything with AVX-512, so that bits agree between
  // machines.
  std::optional<ScopedDefaultEnvironment> kernels;
  if (canRunSkylakeXKernels())
    kernels.emplace("OPENBLAS_CORETYPE", "SKYLAKEX");
  for (const char *name : {REMAT_OPENBLAS_PATH, "libopenblas.so.0"})
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
  failToLoad("OpenBLAS");
}

template <typename Fn> Fn find(void *library, const char *name) {
  if (void *symbol = dlsym(library, name))
    return reinterpret_cast<Fn>(symbol);
  failToLoad(name);
}

Blas load() {
  void *library = open();
  find<void (*)(int)>(library, "openblas_set_num_threads")(1);
  return {find<GemmFn<float>>(library, "cblas_sgemm"),
          find<GemmFn<double>>(library, "cblas_dgemm")};
}

} // namespace

const Blas &remat::blas() {
  static const Blas loaded = load();
  return loaded;
}
