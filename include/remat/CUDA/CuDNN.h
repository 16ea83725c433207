//===- CuDNN.h - The part of cuDNN that we call -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declared here, so that the runtime is built without the library, which is
// loaded at run time. Names and values are those of NVIDIA's cuDNN 9;
// test/CUDA/cudnn-declarations.test compares them with cudnn.h where there is
// one.
//===----------------------------------------------------------------------===//

#ifndef REMAT_CUDA_CUDNN_H
#define REMAT_CUDA_CUDNN_H

#include "remat/CUDA/Driver.h"

namespace remat::cuda {

using cudnnHandle_t = struct cudnnContext *;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct *;
using cudnnFilterDescriptor_t = struct cudnnFilterStruct *;
using cudnnConvolutionDescriptor_t = struct cudnnConvolutionStruct *;

enum cudnnStatus_t : int {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_NOT_INITIALIZED = 1001,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_EXECUTION_FAILED = 5000
};

enum cudnnDataType_t : int { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1 };

enum cudnnTensorFormat_t : int { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 };

enum cudnnConvolutionMode_t : int { CUDNN_CROSS_CORRELATION = 1 };

enum cudnnMathType_t : int {
  CUDNN_DEFAULT_MATH = 0,
  CUDNN_TENSOR_OP_MATH = 1,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
  CUDNN_FMA_MATH = 3
};

enum cudnnDeterminism_t : int {
  CUDNN_NON_DETERMINISTIC = 0,
  CUDNN_DETERMINISTIC = 1
};

// Of how many algorithms the library says something, at most.
enum cudnnConvolutionFwdAlgo_t : int { CUDNN_CONVOLUTION_FWD_ALGO_COUNT = 8 };
enum cudnnConvolutionBwdDataAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT = 6
};
enum cudnnConvolutionBwdFilterAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT = 7
};

/// The library's figures of an algorithm.
template <typename Algorithm> struct ConvolutionAlgorithm {
  Algorithm algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};
struct cudnnConvolutionFwdAlgoPerf_t
    : ConvolutionAlgorithm<cudnnConvolutionFwdAlgo_t> {};
struct cudnnConvolutionBwdDataAlgoPerf_t
    : ConvolutionAlgorithm<cudnnConvolutionBwdDataAlgo_t> {};
struct cudnnConvolutionBwdFilterAlgoPerf_t
    : ConvolutionAlgorithm<cudnnConvolutionBwdFilterAlgo_t> {};

/// X(result, function, (parameter types)). Streams are the driver's.
#define REMAT_CUDNN_FUNCTIONS(X)                                               \
  X(size_t, cudnnGetVersion, ())                                               \
  X(const char *, cudnnGetErrorString, (cudnnStatus_t status))                 \
  X(cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle))                      \
  X(cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle))                       \
  X(cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, CUstream stream))    \
  X(cudnnStatus_t, cudnnCreateTensorDescriptor,                                \
    (cudnnTensorDescriptor_t * tensor))                                        \
  X(cudnnStatus_t, cudnnSetTensor4dDescriptor,                                 \
    (cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,               \
     cudnnDataType_t type, int n, int c, int h, int w))                        \
  X(cudnnStatus_t, cudnnDestroyTensorDescriptor,                               \
    (cudnnTensorDescriptor_t tensor))                                          \
  X(cudnnStatus_t, cudnnCreateFilterDescriptor,                                \
    (cudnnFilterDescriptor_t * filter))                                        \
  X(cudnnStatus_t, cudnnSetFilter4dDescriptor,                                 \
    (cudnnFilterDescriptor_t filter, cudnnDataType_t type,                     \
     cudnnTensorFormat_t format, int k, int c, int h, int w))                  \
  X(cudnnStatus_t, cudnnDestroyFilterDescriptor,                               \
    (cudnnFilterDescriptor_t filter))                                          \
  X(cudnnStatus_t, cudnnCreateConvolutionDescriptor,                           \
    (cudnnConvolutionDescriptor_t * conv))                                     \
  X(cudnnStatus_t, cudnnSetConvolution2dDescriptor,                            \
    (cudnnConvolutionDescriptor_t conv, int padH, int padW, int strideH,       \
     int strideW, int dilationH, int dilationW, cudnnConvolutionMode_t mode,   \
     cudnnDataType_t compute))                                                 \
  X(cudnnStatus_t, cudnnSetConvolutionGroupCount,                              \
    (cudnnConvolutionDescriptor_t conv, int groups))                           \
  X(cudnnStatus_t, cudnnSetConvolutionMathType,                                \
    (cudnnConvolutionDescriptor_t conv, cudnnMathType_t type))                 \
  X(cudnnStatus_t, cudnnDestroyConvolutionDescriptor,                          \
    (cudnnConvolutionDescriptor_t conv))                                       \
  X(cudnnStatus_t, cudnnGetConvolutionForwardAlgorithm_v7,                     \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x,                          \
     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t conv,             \
     cudnnTensorDescriptor_t y, int requested, int *returned,                  \
     cudnnConvolutionFwdAlgoPerf_t *results))                                  \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardDataAlgorithm_v7,                \
    (cudnnHandle_t handle, cudnnFilterDescriptor_t w,                          \
     cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t conv,            \
     cudnnTensorDescriptor_t dx, int requested, int *returned,                 \
     cudnnConvolutionBwdDataAlgoPerf_t *results))                              \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardFilterAlgorithm_v7,              \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x,                          \
     cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t conv,            \
     cudnnFilterDescriptor_t dw, int requested, int *returned,                 \
     cudnnConvolutionBwdFilterAlgoPerf_t *results))                            \
  X(cudnnStatus_t, cudnnGetConvolutionForwardWorkspaceSize,                    \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x,                          \
     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t conv,             \
     cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algo,                \
     size_t *bytes))                                                           \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardDataWorkspaceSize,               \
    (cudnnHandle_t handle, cudnnFilterDescriptor_t w,                          \
     cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t conv,            \
     cudnnTensorDescriptor_t dx, cudnnConvolutionBwdDataAlgo_t algo,           \
     size_t *bytes))                                                           \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardFilterWorkspaceSize,             \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x,                          \
     cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t conv,            \
     cudnnFilterDescriptor_t dw, cudnnConvolutionBwdFilterAlgo_t algo,         \
     size_t *bytes))                                                           \
  X(cudnnStatus_t, cudnnConvolutionForward,                                    \
    (cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t xDesc,   \
     const void *x, cudnnFilterDescriptor_t wDesc, const void *w,              \
     cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo,        \
     void *workspace, size_t workspaceBytes, const void *beta,                 \
     cudnnTensorDescriptor_t yDesc, void *y))                                  \
  X(cudnnStatus_t, cudnnConvolutionBackwardData,                               \
    (cudnnHandle_t handle, const void *alpha, cudnnFilterDescriptor_t wDesc,   \
     const void *w, cudnnTensorDescriptor_t dyDesc, const void *dy,            \
     cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo,    \
     void *workspace, size_t workspaceBytes, const void *beta,                 \
     cudnnTensorDescriptor_t dxDesc, void *dx))                                \
  X(cudnnStatus_t, cudnnConvolutionBackwardFilter,                             \
    (cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t xDesc,   \
     const void *x, cudnnTensorDescriptor_t dyDesc, const void *dy,            \
     cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algo,  \
     void *workspace, size_t workspaceBytes, const void *beta,                 \
     cudnnFilterDescriptor_t dwDesc, void *dw))

} // namespace remat::cuda

#endif // REMAT_CUDA_CUDNN_H
