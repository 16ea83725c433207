//===- CuDNN.cpp - cuDNN for the emulated driver --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that the CUDA runtime calls. They check what the library checks
// or silently relies on: sizes that fit, one layout, alignment, operands that
// lie apart, the workspace of the algorithm. Of algorithms, all but one are of
// a kind that the runtime must not choose.
//===----------------------------------------------------------------------===//

#include "CuDNNConvolution.h"
#include "MemRef.h"
#include "remat/Emulator/Library.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace remat::cuda;

// Weak: without the emulated driver (a unit test), convolutions are computed at
// once, and nothing knows the device's memory.
#pragma weak remat_emu_enqueue
#pragma weak remat_emu_is_device_memory
#pragma weak remat_emu_count

template <typename T, typename Handle> static T *as(Handle handle) {
  return reinterpret_cast<T *>(handle);
}

static cudnnStatus_t refuse(const char *what,
                            cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
  std::fprintf(stderr, "remat: emulated cuDNN: %s\n", what);
  return status;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static int64_t sizeOfResult(int64_t input, int64_t padding, int64_t taps,
                            int64_t stride, int64_t dilation) {
  int64_t span = (taps - 1) * dilation + 1;
  return 1 + (input + 2 * padding - span) / stride;
}

static const char *findFault(const EmulatedArray &x, const EmulatedArray &w,
                             const EmulatedWindow &window,
                             const EmulatedArray &y) {
  for (const EmulatedArray *array : {&x, &w, &y})
    if (std::min({array->n, array->c, array->h, array->w}) < 1)
      return "an array is empty, or its descriptor was not set";
  if (window.strideH < 1 || window.groups < 1)
    return "the descriptor of the convolution was not set";
  if (x.type != w.type || x.type != y.type || x.type != window.compute)
    return "no convolution has these types";
  if (x.format != w.format || x.format != y.format)
    return "the arrays differ in their layout";
  if (w.c * window.groups != x.c || w.n % window.groups != 0)
    return "the channels do not make these groups";
  if (y.n != x.n || y.c != w.n)
    return "the number of images or of results' channels does not fit";
  if (x.h + 2 * window.padH < (w.h - 1) * window.dilationH + 1 ||
      x.w + 2 * window.padW < (w.w - 1) * window.dilationW + 1)
    return "a filter is larger than the padded image";
  if (y.h != sizeOfResult(x.h, window.padH, w.h, window.strideH,
                          window.dilationH) ||
      y.w !=
          sizeOfResult(x.w, window.padW, w.w, window.strideW, window.dilationW))
    return "the results have another size than cuDNN derives";
  return nullptr;
}

/// Of what exists only here.
static const char *findLimit(const EmulatedArray &x,
                             const EmulatedWindow &window) {
  if (!x.isChannelsFirst() && x.type == CUDNN_DATA_DOUBLE)
    return "no algorithm takes f64 with channels last";
  if (!x.isChannelsFirst() && window.groups > 1 && window.groups != x.c)
    return "channels last, groups of more than one channel are not emulated";
  return nullptr;
}

static bool overlap(const void *a, size_t aBytes, const void *b,
                    size_t bBytes) {
  auto from = reinterpret_cast<uintptr_t>(a),
       other = reinterpret_cast<uintptr_t>(b);
  return from < other + bBytes && other < from + aBytes;
}

/// Returns the size of the workspace that the algorithm needs.
static size_t getWorkspaceBytes() {
  const char *text = std::getenv("REMAT_EMULATOR_CUDNN_WORKSPACE");
  return text && *text ? std::strtoull(text, nullptr, 10) : 4096;
}

static const char *findFault(const EmulatedConvolution &conv,
                             size_t workspaceBytes) {
  const struct Operand {
    const void *data;
    size_t bytes;
  } operands[] = {{conv.imageData, conv.images.bytes()},
                  {conv.filterData, conv.filters.bytes()},
                  {conv.resultData, conv.results.bytes()},
                  {conv.workspace, workspaceBytes}};
  for (const Operand &operand : operands) {
    if (operand.bytes == 0)
      continue;
    if (!operand.data || reinterpret_cast<uintptr_t>(operand.data) % 16 != 0)
      return "an operand is not at a multiple of 16";
    if (remat_emu_is_device_memory &&
        !remat_emu_is_device_memory(operand.data, operand.bytes))
      return "an operand is not in one buffer of the device";
  }
  const Operand &written =
      operands[conv.kind == ConvolutionKind::forward        ? 2
               : conv.kind == ConvolutionKind::backwardData ? 0
                                                            : 1];
  for (const Operand &operand : operands) {
    for (const Operand *other : {&written, &operands[3]})
      if (&operand != other &&
          overlap(operand.data, operand.bytes, other->data, other->bytes))
        return "what is written overlaps another operand";
  }
  if (reinterpret_cast<uintptr_t>(conv.workspace) % 256 != 0)
    return "the workspace is not at a multiple of 256";
  if (workspaceBytes < getWorkspaceBytes())
    return "the workspace is smaller than the algorithm needs";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Handles and descriptors
//===----------------------------------------------------------------------===//

namespace {
struct Handle {
  CUstream stream = nullptr;
};
} // namespace

REMAT_EXPORT size_t cudnnGetVersion() { return 91300; }

REMAT_EXPORT const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_NOT_INITIALIZED:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case CUDNN_STATUS_BAD_PARAM:
    return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_NOT_SUPPORTED:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case CUDNN_STATUS_EXECUTION_FAILED:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "an unknown status";
}

REMAT_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle());
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete as<Handle>(handle);
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle,
                                          CUstream stream) {
  as<Handle>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

template <typename T, typename Descriptor>
static cudnnStatus_t create(Descriptor *descriptor) {
  *descriptor = reinterpret_cast<Descriptor>(new T());
  return CUDNN_STATUS_SUCCESS;
}

template <typename T, typename Descriptor>
static cudnnStatus_t destroy(Descriptor descriptor) {
  delete as<T>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t setArray(EmulatedArray *array, cudnnDataType_t type,
                              cudnnTensorFormat_t format, int n, int c, int h,
                              int w) {
  if (std::min({n, c, h, w}) < 1)
    return refuse("a size is not positive");
  *array = {type, format, n, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t
cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor) {
  return create<EmulatedArray>(tensor);
}

REMAT_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptor(
    cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
    cudnnDataType_t type, int n, int c, int h, int w) {
  return setArray(as<EmulatedArray>(tensor), type, format, n, c, h, w);
}

REMAT_EXPORT cudnnStatus_t
cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  return destroy<EmulatedArray>(tensor);
}

REMAT_EXPORT cudnnStatus_t
cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter) {
  return create<EmulatedArray>(filter);
}

REMAT_EXPORT cudnnStatus_t cudnnSetFilter4dDescriptor(
    cudnnFilterDescriptor_t filter, cudnnDataType_t type,
    cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return setArray(as<EmulatedArray>(filter), type, format, k, c, h, w);
}

REMAT_EXPORT cudnnStatus_t
cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  return destroy<EmulatedArray>(filter);
}

REMAT_EXPORT cudnnStatus_t
cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *conv) {
  return create<EmulatedWindow>(conv);
}

REMAT_EXPORT cudnnStatus_t cudnnSetConvolution2dDescriptor(
    cudnnConvolutionDescriptor_t conv, int padH, int padW, int strideH,
    int strideW, int dilationH, int dilationW, cudnnConvolutionMode_t mode,
    cudnnDataType_t compute) {
  if (mode != CUDNN_CROSS_CORRELATION)
    return refuse("filters are not turned around");
  if (std::min(padH, padW) < 0 ||
      std::min({strideH, strideW, dilationH, dilationW}) < 1)
    return refuse("a padding, stride or dilation is too small");
  *as<EmulatedWindow>(conv) = {padH,      padW,      strideH, strideW,
                               dilationH, dilationW, compute};
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t
cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv, int groups) {
  as<EmulatedWindow>(conv)->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t cudnnSetConvolutionMathType(
    cudnnConvolutionDescriptor_t conv, cudnnMathType_t type) {
  as<EmulatedWindow>(conv)->math = type;
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t
cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t conv) {
  return destroy<EmulatedWindow>(conv);
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// The ones that compute: with factors of TF32, where the math type allows it,
/// and exactly.
static constexpr int kRounding = 1, kDeterministic = 3;

template <typename Perf>
static cudnnStatus_t list(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                          cudnnConvolutionDescriptor_t conv,
                          cudnnTensorDescriptor_t y, int requested,
                          int *returned, Perf *results) {
  *returned = 0;
  const auto &window = *as<EmulatedWindow>(conv);
  const auto &images = *as<EmulatedArray>(x);
  if (const char *fault = findFault(images, *as<EmulatedArray>(w), window,
                                    *as<EmulatedArray>(y)))
    return refuse(fault);
  if (const char *limit = findLimit(images, window))
    return refuse(limit, CUDNN_STATUS_NOT_SUPPORTED);
  // Not supported, in any order, rounded, too large.
  Perf all[5] = {};
  for (Perf &perf : all) {
    perf.algo = decltype(perf.algo)(&perf - all);
    perf.memory = getWorkspaceBytes();
    perf.determinism = CUDNN_DETERMINISTIC;
    perf.mathType = window.math;
  }
  all[0].determinism = CUDNN_NON_DETERMINISTIC;
  all[kRounding].mathType = CUDNN_TENSOR_OP_MATH;
  all[2].memory = size_t(1) << 40;
  all[4].status = CUDNN_STATUS_NOT_SUPPORTED;
  *returned = std::min(requested, 5);
  std::copy_n(all, *returned, results);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t measure(int algorithm, size_t *bytes) {
  if (algorithm < 0 || algorithm > kDeterministic)
    return refuse("no such algorithm", CUDNN_STATUS_NOT_SUPPORTED);
  *bytes = algorithm == 2 ? size_t(1) << 40 : getWorkspaceBytes();
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y, int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *results) {
  return list(x, w, conv, y, requested, returned, results);
}

REMAT_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t dx,
    int requested, int *returned, cudnnConvolutionBwdDataAlgoPerf_t *results) {
  return list(dx, w, conv, dy, requested, returned, results);
}

REMAT_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t dw,
    int requested, int *returned,
    cudnnConvolutionBwdFilterAlgoPerf_t *results) {
  return list(x, dw, conv, dy, requested, returned, results);
}

REMAT_EXPORT cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
    cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionFwdAlgo_t algo, size_t *bytes) {
  return measure(algo, bytes);
}

REMAT_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionBwdDataAlgo_t algo, size_t *bytes) {
  return measure(algo, bytes);
}

REMAT_EXPORT cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionDescriptor_t, cudnnFilterDescriptor_t,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t *bytes) {
  return measure(algo, bytes);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static double toNumber(const void *value, cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? *static_cast<const double *>(value)
                                   : *static_cast<const float *>(value);
}

static const char *nameOf(ConvolutionKind kind) {
  switch (kind) {
  case ConvolutionKind::forward:
    return "cudnnConvolutionForward";
  case ConvolutionKind::backwardData:
    return "cudnnConvolutionBackwardData";
  case ConvolutionKind::backwardFilter:
    return "cudnnConvolutionBackwardFilter";
  }
  return "?";
}

static cudnnStatus_t enqueue(cudnnHandle_t handle, const void *alpha,
                             const void *beta, int algorithm,
                             size_t workspaceBytes,
                             const EmulatedConvolution &request) {
  if (const char *fault = findFault(request.images, request.filters,
                                    request.window, request.results))
    return refuse(fault);
  if (const char *limit = findLimit(request.images, request.window))
    return refuse(limit, CUDNN_STATUS_NOT_SUPPORTED);
  if (algorithm != (request.rounds() ? kRounding : kDeterministic))
    return refuse("an algorithm that adds in any order, rounds, or does not "
                  "fit was chosen",
                  CUDNN_STATUS_NOT_SUPPORTED);
  if (const char *fault = findFault(request, workspaceBytes))
    return refuse(fault);
  cudnnDataType_t type = request.images.type;
  if (toNumber(alpha, type) != 1 || toNumber(beta, type) != 0)
    return refuse("results are only emulated as they are",
                  CUDNN_STATUS_NOT_SUPPORTED);
  auto run = [](void *data) {
    const auto &conv = *static_cast<EmulatedConvolution *>(data);
    conv.compute();
    if (remat_emu_count)
      remat_emu_count(nameOf(conv.kind), conv.bytesRead(), conv.bytesWritten());
    return CUDA_SUCCESS;
  };
  auto release = [](void *data) {
    delete static_cast<EmulatedConvolution *>(data);
  };
  auto *conv = new EmulatedConvolution(request);
  if (remat_emu_enqueue)
    return remat_emu_enqueue(as<Handle>(handle)->stream, run, conv, release) ==
                   CUDA_SUCCESS
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
  run(conv);
  release(conv);
  return CUDNN_STATUS_SUCCESS;
}

REMAT_EXPORT cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t xDesc,
    const void *x, cudnnFilterDescriptor_t wDesc, const void *w,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo,
    void *workspace, size_t workspaceBytes, const void *beta,
    cudnnTensorDescriptor_t yDesc, void *y) {
  return enqueue(handle, alpha, beta, algo, workspaceBytes,
                 {ConvolutionKind::forward, *as<EmulatedArray>(xDesc),
                  *as<EmulatedArray>(wDesc), *as<EmulatedArray>(yDesc),
                  *as<EmulatedWindow>(conv), const_cast<void *>(x),
                  const_cast<void *>(w), y, workspace, workspaceBytes});
}

REMAT_EXPORT cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t wDesc,
    const void *w, cudnnTensorDescriptor_t dyDesc, const void *dy,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo,
    void *workspace, size_t workspaceBytes, const void *beta,
    cudnnTensorDescriptor_t dxDesc, void *dx) {
  return enqueue(handle, alpha, beta, algo, workspaceBytes,
                 {ConvolutionKind::backwardData, *as<EmulatedArray>(dxDesc),
                  *as<EmulatedArray>(wDesc), *as<EmulatedArray>(dyDesc),
                  *as<EmulatedWindow>(conv), dx, const_cast<void *>(w),
                  const_cast<void *>(dy), workspace, workspaceBytes});
}

REMAT_EXPORT cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t xDesc,
    const void *x, cudnnTensorDescriptor_t dyDesc, const void *dy,
    cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algo,
    void *workspace, size_t workspaceBytes, const void *beta,
    cudnnFilterDescriptor_t dwDesc, void *dw) {
  return enqueue(handle, alpha, beta, algo, workspaceBytes,
                 {ConvolutionKind::backwardFilter, *as<EmulatedArray>(xDesc),
                  *as<EmulatedArray>(dwDesc), *as<EmulatedArray>(dyDesc),
                  *as<EmulatedWindow>(conv), const_cast<void *>(x), dw,
                  const_cast<void *>(dy), workspace, workspaceBytes});
}
