// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstddef>
#include <cudnn.h>

#include "declarations.h"
#include "remat/CUDA/CuDNN.h"

namespace remat::cuda {
struct Table {
#define DECLARE(RESULT, NAME, PARAMETERS) RESULT(*NAME) PARAMETERS;
  REMAT_CUDNN_FUNCTIONS(DECLARE)
};
} // namespace remat::cuda

#define CHECK_CALL(RESULT, NAME, PARAMETERS)                                                                          \
  static_assert(IsSameCall<decltype(remat::cuda::Table::NAME), decltype(&::NAME)>::value, #NAME);
REMAT_CUDNN_FUNCTIONS(CHECK_CALL)

CHECK_VALUE(CUDNN_STATUS_SUCCESS)
CHECK_VALUE(CUDNN_STATUS_NOT_INITIALIZED)
CHECK_VALUE(CUDNN_STATUS_BAD_PARAM)
CHECK_VALUE(CUDNN_STATUS_NOT_SUPPORTED)
CHECK_VALUE(CUDNN_STATUS_EXECUTION_FAILED)
CHECK_VALUE(CUDNN_DATA_FLOAT)
CHECK_VALUE(CUDNN_DATA_DOUBLE)
CHECK_VALUE(CUDNN_TENSOR_NCHW)
CHECK_VALUE(CUDNN_TENSOR_NHWC)
CHECK_VALUE(CUDNN_CROSS_CORRELATION)
CHECK_VALUE(CUDNN_DEFAULT_MATH)
CHECK_VALUE(CUDNN_TENSOR_OP_MATH)
CHECK_VALUE(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
CHECK_VALUE(CUDNN_FMA_MATH)
CHECK_VALUE(CUDNN_NON_DETERMINISTIC)
CHECK_VALUE(CUDNN_DETERMINISTIC)
CHECK_VALUE(CUDNN_CONVOLUTION_FWD_ALGO_COUNT)
CHECK_VALUE(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT)
CHECK_VALUE(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT)

#define CHECK_MEMBER(STRUCT, MEMBER)                                                                                  \
  static_assert(offsetof(::STRUCT, MEMBER) == offsetof(remat::cuda::STRUCT, MEMBER), #STRUCT " " #MEMBER);
#define CHECK_STRUCT(STRUCT)                                                                                          \
  static_assert(sizeof(::STRUCT) == sizeof(remat::cuda::STRUCT), #STRUCT);                                            \
  CHECK_MEMBER(STRUCT, algo)                                                                                          \
  CHECK_MEMBER(STRUCT, status)                                                                                        \
  CHECK_MEMBER(STRUCT, memory)                                                                                        \
  CHECK_MEMBER(STRUCT, determinism)                                                                                   \
  CHECK_MEMBER(STRUCT, mathType)                                                                                      \
  CHECK_MEMBER(STRUCT, reserved)
CHECK_STRUCT(cudnnConvolutionFwdAlgoPerf_t)
CHECK_STRUCT(cudnnConvolutionBwdDataAlgoPerf_t)
CHECK_STRUCT(cudnnConvolutionBwdFilterAlgoPerf_t)
