//===- Convolutions.cpp - Convolutions by cuDNN ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Convolutions.h"

#include "DynamicLibrary.h"

#include "remat/Runtime/Runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>

using namespace remat;
using namespace remat::cuda;

namespace remat::cuda {
/// Descriptors and algorithm of one shape.
class ConvolutionPlan final : public LibraryCall {
public:
  ConvolutionPlan(const CuDNN &library, cudnnHandle_t handle,
                  const ConvolutionShape &shape);
  ~ConvolutionPlan() override;
  ConvolutionPlan(const ConvolutionPlan &) = delete;

  void issue(CUstream stream, const uint64_t *words) const override;
  std::string describe() const override;
  size_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  void check(cudnnStatus_t status, const char *call) const {
    if (status != CUDNN_STATUS_SUCCESS)
      library.check(status, call, " for " + describe());
  }
  void createDescriptors();
  void chooseAlgorithm();
  template <typename Perf, size_t count, typename List, typename Measure>
  void chooseAlgorithm(const char *name, List list, Measure measure);

  const CuDNN &library;
  cudnnHandle_t handle;
  ConvolutionShape shape;
  cudnnTensorDescriptor_t images = nullptr, results = nullptr;
  cudnnFilterDescriptor_t filters = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  /// Of the kind's enumeration.
  int algorithm = 0;
  /// Its workspace: the program's, or more where no algorithm needs as little.
  size_t workspaceBytes;
};
} // namespace remat::cuda

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

bool ConvolutionShape::isEmpty() const {
  return std::min({n, c, h, w, k, kh, kw, oh, ow}) == 0;
}

int64_t ConvolutionShape::destinationBytes() const {
  int64_t elements = kind == kForward        ? resultElements()
                     : kind == kBackwardData ? imageElements()
                                             : filterElements();
  return elements * elementBytes();
}

std::string ConvolutionShape::str() const {
  auto join = [](std::initializer_list<int64_t> sizes) {
    std::string text;
    for (int64_t size : sizes)
      text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
  };
  return "images " + join({n, c, h, w}) + " with filters " +
         join({k, c / groups, kh, kw}) + " in " +
         (type == CUDNN_DATA_DOUBLE ? "f64"
          : allowsTF32              ? "tf32"
                                    : "f32") +
         (channelsFirst ? "" : ", channels last");
}

static auto toKey(const ConvolutionShape &x) {
  return std::tie(x.kind, x.type, x.allowsTF32, x.channelsFirst, x.n, x.c, x.h,
                  x.w, x.k, x.kh, x.kw, x.oh, x.ow, x.strideH, x.strideW,
                  x.dilationH, x.dilationW, x.padH, x.padW, x.groups,
                  x.workspaceBytes);
}

bool cuda::operator<(const ConvolutionShape &left,
                     const ConvolutionShape &right) {
  return toKey(left) < toKey(right);
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

std::string ConvolutionPlan::describe() const {
  const char *what = shape.kind == ConvolutionShape::kForward ? "a convolution"
                     : shape.kind == ConvolutionShape::kBackwardData
                         ? "the images' gradient in a convolution"
                         : "the filters' gradient in a convolution";
  return std::string(what) + " of " + shape.str();
}

void ConvolutionPlan::createDescriptors() {
  for (int64_t size : {shape.n, shape.c, shape.h, shape.w, shape.k, shape.oh,
                       shape.ow, shape.padH, shape.padW})
    if (size > std::numeric_limits<int32_t>::max())
      fail("cuDNN takes no size of 2^31 or more, but there is " +
           std::to_string(size) + " in " + describe());
  auto toInt = [](int64_t size) { return static_cast<int>(size); };
  cudnnTensorFormat_t format =
      shape.channelsFirst ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
  auto createImages = [&](cudnnTensorDescriptor_t &descriptor, int64_t c,
                          int64_t h, int64_t w) {
    check(library.cudnnCreateTensorDescriptor(&descriptor),
          "cudnnCreateTensorDescriptor");
    check(library.cudnnSetTensor4dDescriptor(descriptor, format, shape.type,
                                             toInt(shape.n), toInt(c), toInt(h),
                                             toInt(w)),
          "cudnnSetTensor4dDescriptor");
  };
  createImages(images, shape.c, shape.h, shape.w);
  createImages(results, shape.k, shape.oh, shape.ow);
  check(library.cudnnCreateFilterDescriptor(&filters),
        "cudnnCreateFilterDescriptor");
  check(library.cudnnSetFilter4dDescriptor(
            filters, shape.type, format, toInt(shape.k),
            toInt(shape.c / shape.groups), toInt(shape.kh), toInt(shape.kw)),
        "cudnnSetFilter4dDescriptor");
  check(library.cudnnCreateConvolutionDescriptor(&convolution),
        "cudnnCreateConvolutionDescriptor");
  check(library.cudnnSetConvolution2dDescriptor(
            convolution, toInt(shape.padH), toInt(shape.padW),
            toInt(shape.strideH), toInt(shape.strideW), toInt(shape.dilationH),
            toInt(shape.dilationW), CUDNN_CROSS_CORRELATION, shape.type),
        "cudnnSetConvolution2dDescriptor");
  check(library.cudnnSetConvolutionGroupCount(convolution, toInt(shape.groups)),
        "cudnnSetConvolutionGroupCount");
}

/// The first of the list that is deterministic, exact enough, and fits; if none
/// does, the one that needs the least.
template <typename Perf, size_t count, typename List, typename Measure>
void ConvolutionPlan::chooseAlgorithm(const char *name, List list,
                                      Measure measure) {
  check(
      library.cudnnSetConvolutionMathType(
          convolution, shape.allowsTF32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH),
      "cudnnSetConvolutionMathType");
  std::array<Perf, count> found = {};
  int returned = 0;
  /// The least demanding of those that do not fit.
  const Perf *leanest = nullptr;
  size_t least = std::numeric_limits<size_t>::max();
  auto setMathOf = [&](const Perf &perf) {
    if (shape.allowsTF32)
      check(library.cudnnSetConvolutionMathType(convolution, perf.mathType),
            "cudnnSetConvolutionMathType");
  };
  check(list(static_cast<int>(count), &returned, found.data()), name);
  for (int i = 0; i < returned; ++i) {
    const Perf &perf = found[i];
    bool isExact =
        perf.mathType == CUDNN_FMA_MATH || perf.mathType == CUDNN_DEFAULT_MATH;
    if (perf.status != CUDNN_STATUS_SUCCESS ||
        perf.determinism != CUDNN_DETERMINISTIC ||
        (!isExact && !shape.allowsTF32))
      continue;
    setMathOf(perf);
    size_t bytes = 0;
    if (measure(perf.algo, &bytes) != CUDNN_STATUS_SUCCESS)
      continue;
    if (bytes <= shape.workspaceBytes) {
      algorithm = perf.algo;
      return;
    }
    if (bytes < least) {
      leanest = &perf;
      least = bytes;
    }
  }
  if (!leanest)
    fail("cuDNN " + library.version + " has no deterministic algorithm for " +
         describe());
  setMathOf(*leanest);
  algorithm = leanest->algo;
  workspaceBytes = least;
}

void ConvolutionPlan::chooseAlgorithm() {
  switch (shape.kind) {
  case ConvolutionShape::kForward:
    return chooseAlgorithm<cudnnConvolutionFwdAlgoPerf_t,
                           CUDNN_CONVOLUTION_FWD_ALGO_COUNT>(
        "cudnnGetConvolutionForwardAlgorithm_v7",
        [&](int requested, int *returned, auto *found) {
          return library.cudnnGetConvolutionForwardAlgorithm_v7(
              handle, images, filters, convolution, results, requested,
              returned, found);
        },
        [&](auto algo, size_t *bytes) {
          return library.cudnnGetConvolutionForwardWorkspaceSize(
              handle, images, filters, convolution, results, algo, bytes);
        });
  case ConvolutionShape::kBackwardData:
    return chooseAlgorithm<cudnnConvolutionBwdDataAlgoPerf_t,
                           CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT>(
        "cudnnGetConvolutionBackwardDataAlgorithm_v7",
        [&](int requested, int *returned, auto *found) {
          return library.cudnnGetConvolutionBackwardDataAlgorithm_v7(
              handle, filters, results, convolution, images, requested,
              returned, found);
        },
        [&](auto algo, size_t *bytes) {
          return library.cudnnGetConvolutionBackwardDataWorkspaceSize(
              handle, filters, results, convolution, images, algo, bytes);
        });
  case ConvolutionShape::kBackwardFilter:
    return chooseAlgorithm<cudnnConvolutionBwdFilterAlgoPerf_t,
                           CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT>(
        "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
        [&](int requested, int *returned, auto *found) {
          return library.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
              handle, images, results, convolution, filters, requested,
              returned, found);
        },
        [&](auto algo, size_t *bytes) {
          return library.cudnnGetConvolutionBackwardFilterWorkspaceSize(
              handle, images, results, convolution, filters, algo, bytes);
        });
  }
}

ConvolutionPlan::ConvolutionPlan(const CuDNN &library, cudnnHandle_t handle,
                                 const ConvolutionShape &shape)
    : library(library), handle(handle), shape(shape),
      workspaceBytes(shape.workspaceBytes) {
  createDescriptors();
  chooseAlgorithm();
}

ConvolutionPlan::~ConvolutionPlan() {
  library.cudnnDestroyConvolutionDescriptor(convolution);
  library.cudnnDestroyFilterDescriptor(filters);
  for (cudnnTensorDescriptor_t descriptor : {images, results})
    library.cudnnDestroyTensorDescriptor(descriptor);
}

/// The handle's stream is the session's, which is the only one.
void ConvolutionPlan::issue(CUstream, const uint64_t *words) const {
  auto toPointer = [](uint64_t word) { return reinterpret_cast<void *>(word); };
  void *x = toPointer(words[0]), *w = toPointer(words[1]),
       *y = toPointer(words[2]), *workspace = toPointer(words[3]);
  double one64 = 1, zero64 = 0;
  float one32 = 1, zero32 = 0;
  bool isDouble = shape.type == CUDNN_DATA_DOUBLE;
  const void *one = isDouble ? static_cast<void *>(&one64) : &one32;
  const void *zero = isDouble ? static_cast<void *>(&zero64) : &zero32;
  size_t bytes = workspaceBytes;
  switch (shape.kind) {
  case ConvolutionShape::kForward:
    return check(library.cudnnConvolutionForward(
                     handle, one, images, x, filters, w, convolution,
                     cudnnConvolutionFwdAlgo_t(algorithm), workspace, bytes,
                     zero, results, y),
                 "cudnnConvolutionForward");
  case ConvolutionShape::kBackwardData:
    return check(library.cudnnConvolutionBackwardData(
                     handle, one, filters, w, results, y, convolution,
                     cudnnConvolutionBwdDataAlgo_t(algorithm), workspace, bytes,
                     zero, images, x),
                 "cudnnConvolutionBackwardData");
  case ConvolutionShape::kBackwardFilter:
    return check(library.cudnnConvolutionBackwardFilter(
                     handle, one, images, x, results, y, convolution,
                     cudnnConvolutionBwdFilterAlgo_t(algorithm), workspace,
                     bytes, zero, filters, w),
                 "cudnnConvolutionBackwardFilter");
  }
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

Convolutions::Convolutions(const Driver &driver, CUstream stream,
                           DeviceMemory &memory)
    : driver(driver), stream(stream), memory(memory) {}

Convolutions::~Convolutions() {
  plans.clear();
  if (spare)
    memory.release(spare);
  if (handle)
    library->cudnnDestroy(handle);
}

void Convolutions::load() {
  if (handle)
    return;
  library = CuDNN::load(driver.isEmulated);
  cudnnHandle_t created = nullptr;
  library->check(library->cudnnCreate(&created), "cudnnCreate", "");
  library->check(library->cudnnSetStream(created, stream), "cudnnSetStream",
                 "");
  handle = created;
}

const ConvolutionPlan &Convolutions::plan(const ConvolutionShape &shape) {
  load();
  std::unique_ptr<ConvolutionPlan> &plan = plans[shape];
  if (!plan)
    plan = std::make_unique<ConvolutionPlan>(*library, handle, shape);
  return *plan;
}

const LibraryCall &Convolutions::plan(const ConvolutionShape &shape,
                                      uint64_t &workspace,
                                      const std::function<void()> &flush) {
  const ConvolutionPlan &found = plan(shape);
  size_t bytes = found.getWorkspaceBytes();
  if (bytes <= shape.workspaceBytes)
    return found;
  if (bytes > spareBytes) {
    warn("no deterministic algorithm of cuDNN " + library->version + " for " +
         found.describe() + " has room in " +
         std::to_string(shape.workspaceBytes) +
         " bytes: " + std::to_string(bytes) +
         " are taken beside the arena; with conv-workspace=" +
         std::to_string(bytes) +
         " the compiler reserves them, and predicts what is needed");
    flush();
    if (spare)
      memory.release(spare);
    spareBytes = 0;
    spare = memory.allocate(MemoryClass::other, bytes,
                            "a workspace of convolutions");
    spareBytes = bytes;
  }
  workspace = spare;
  return found;
}
