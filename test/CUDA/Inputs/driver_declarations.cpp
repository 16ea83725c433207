//===- driver_declarations.cpp - Our declarations against NVIDIA's --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled, never run. `Theirs` names the type of cuda.h for each of ours, so
// that whole signatures are compared: a stream in place of an event is an
// error.
//===----------------------------------------------------------------------===//

#include "remat/CUDA/Driver.h"

// Old versions of functions are declared only with this.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <type_traits>

template <typename T> struct Theirs {
  using Type = T;
};
template <typename T> struct Theirs<const T> {
  using Type = const typename Theirs<T>::Type;
};
template <typename T> struct Theirs<T *> {
  using Type = typename Theirs<T>::Type *;
};
template <typename Result, typename... Parameters>
struct Theirs<Result(Parameters...)> {
  using Type =
      typename Theirs<Result>::Type(typename Theirs<Parameters>::Type...);
};

#define TYPE(name)                                                             \
  template <> struct Theirs<remat::cuda::name> {                               \
    using Type = ::name;                                                       \
  };
// Structures that handles point to: a pointer to one is a pointer to the other.
#define HANDLE(name)                                                           \
  template <> struct Theirs<std::remove_pointer_t<remat::cuda::name>> {        \
    using Type = std::remove_pointer_t<::name>;                                \
  };
TYPE(CUresult)
TYPE(CUdevice_attribute)
TYPE(CUfunction_attribute)
TYPE(CUstreamCaptureMode)
HANDLE(CUcontext)
HANDLE(CUmodule)
HANDLE(CUfunction)
HANDLE(CUstream)
HANDLE(CUevent)
HANDLE(CUgraph)
HANDLE(CUgraphExec)

namespace remat::cuda {
static_assert(std::is_same_v<CUdevice, ::CUdevice>);
static_assert(std::is_same_v<CUdeviceptr, ::CUdeviceptr>);

#define FUNCTION(name, parameters)                                             \
  static_assert(                                                               \
      std::is_same_v<Theirs<CUresult parameters>::Type, decltype(::name)>,     \
      #name " has another signature in cuda.h");
REMAT_CUDA_DRIVER_FUNCTIONS(FUNCTION)

// One VALUE for each constant of Driver.h.
#define VALUE(name)                                                            \
  static_assert(static_cast<int>(name) == static_cast<int>(::name),            \
                #name " has another value in cuda.h");
#include "values.inc"
} // namespace remat::cuda
