//===- Convolutions.h - Convolutions by cuDNN ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithm of a convolution is a function of its shape, chosen once: of
// those that add in a fixed order and fit in the program's workspace, the first
// in the library's own order; if none fits, the one that needs the least, with
// memory beside the program's. Nothing is timed: a convolution has the same
// bits in every run with one library on one chip.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_CONVOLUTIONS_H
#define REMAT_RUNTIME_CUDA_CONVOLUTIONS_H

#include "CommandList.h"
#include "CuDNNLibrary.h"
#include "DeviceMemory.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace remat::cuda {

/// Everything that an algorithm is chosen by. Arrays are contiguous: images (n,
/// c, h, w), filters (k, c / groups, kh, kw), results (n, k, oh, ow), or with
/// the channels at the end, also the filters'.
struct ConvolutionShape {
  enum Kind : int64_t { kForward, kBackwardData, kBackwardFilter } kind;
  cudnnDataType_t type;
  /// True if factors of f32 may be rounded to 10 bits.
  bool allowsTF32;
  bool channelsFirst;
  int64_t n, c, h, w, k, kh, kw, oh, ow;
  int64_t strideH, strideW, dilationH, dilationW, padH, padW, groups;
  /// The most that an algorithm may use.
  size_t workspaceBytes;

  bool isEmpty() const;
  int64_t elementBytes() const { return type == CUDNN_DATA_DOUBLE ? 8 : 4; }
  int64_t imageElements() const { return n * c * h * w; }
  int64_t filterElements() const { return k * (c / groups) * kh * kw; }
  int64_t resultElements() const { return n * k * oh * ow; }
  /// Of what is written.
  int64_t destinationBytes() const;
  /// `2x3x8x8 with 4x3x3x3 in f32`, for messages.
  std::string str() const;
};
bool operator<(const ConvolutionShape &left, const ConvolutionShape &right);

class ConvolutionPlan;

class Convolutions {
public:
  Convolutions(const Driver &driver, CUstream stream, DeviceMemory &memory);
  ~Convolutions();
  Convolutions(const Convolutions &) = delete;

  /// Loads the library, if it is not loaded.
  void load();
  /// The call for convolutions of a shape, which is not empty. Its command has
  /// the addresses of images, filters, results and workspace for operands.
  /// Where the program's workspace is too small, `workspace` becomes the
  /// address of another one, after a warning; `flush` issues the commands so
  /// far, which may use a smaller one that is freed.
  const LibraryCall &plan(const ConvolutionShape &shape, uint64_t &workspace,
                          const std::function<void()> &flush);
  static constexpr int64_t kNumWords = 4;
  /// Empty until there was a convolution.
  std::string version() const { return library ? library->version : ""; }

private:
  const ConvolutionPlan &plan(const ConvolutionShape &shape);

  const Driver &driver;
  CUstream stream;
  DeviceMemory &memory;
  CUdeviceptr spare = 0;
  size_t spareBytes = 0;
  std::optional<CuDNN> library;
  cudnnHandle_t handle = nullptr;
  std::map<ConvolutionShape, std::unique_ptr<ConvolutionPlan>> plans;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_CONVOLUTIONS_H
