//===- CuDNNConvolution.cpp - A convolution as cuDNN takes it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CuDNNConvolution.h"
#include "PartialSums.h"

#include "remat/CUDA/RuntimeMemory.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::remat;

static ArrayRef<int64_t> getSizes(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

ArrayRef<int64_t> LibraryOperand::getOriginalSizes() const {
  return getSizes(original);
}

int64_t LibraryOperand::getCopiedBytes() const {
  if (!isCopied() || ShapedType::isDynamicShape(sizes))
    return 0;
  uint64_t bytes =
      getElementTypeOrSelf(original.getType()).getIntOrFloatBitWidth() / 8;
  for (int64_t size : sizes)
    bytes = llvm::SaturatingMultiply<uint64_t>(bytes, size);
  return std::min<uint64_t>(bytes, std::numeric_limits<int64_t>::max() / 8);
}

static LibraryOperand makeOperand(Value original,
                                  ArrayRef<int64_t> permutation) {
  auto sizes = llvm::to_vector(getSizes(original));
  return {original, llvm::to_vector(permutation), sizes,
          SmallVector<int64_t>(sizes.size(), 0), sizes};
}

/// Pads images in memory, in each dimension in which cuDNN would not derive the
/// size of the result from as many zeros after the image as before it.
static void planPadding(CuDNNConvolution &plan) {
  const Convolution &conv = plan.conv;
  ::remat::ConvDims dims = conv.getDims();
  for (int i : {0, 1}) {
    unsigned dim = dims.space + i;
    int64_t input = getSizes(conv.images)[dim];
    int64_t output = getSizes(conv.results)[dim];
    int64_t taps = getSizes(conv.filters)[dims.filterSpace + i];
    int64_t low = conv.padding[2 * i], stride = conv.strides[i];
    int64_t span = conv.dilations[i] * (taps - 1) + 1;
    int64_t padded = input + 2 * low;
    if (padded >= span && (padded - span) / stride + 1 == output) {
      plan.padding[i] = low;
      continue;
    }
    int64_t needed = output > 0 ? (output - 1) * stride + span : 0;
    plan.padding[i] = 0;
    plan.images.sizes[dim] = needed;
    plan.images.used[dim] = std::clamp<int64_t>(needed - low, 0, input);
    plan.images.offsets[dim] = std::min(low, needed);
  }
}

CuDNNConvolution mlir::remat::planCuDNNConvolution(const Convolution &conv,
                                                   int64_t leastBytes) {
  bool isF64 = getElementTypeOrSelf(conv.images.getType()).isF64();
  // cuDNN has no gradients of f64 with channels last.
  bool movesChannels = isF64 && !conv.channelsFirst;
  SmallVector<int64_t> ofImages, ofFilters;
  if (movesChannels)
    ofImages = {0, 3, 1, 2};
  if (!conv.channelsFirst)
    ofFilters = isF64 ? SmallVector<int64_t>{3, 2, 0, 1}
                      : SmallVector<int64_t>{3, 0, 1, 2};
  ::remat::ConvDims dims = conv.getDims();
  int64_t inputs = getSizes(conv.filters)[dims.filterChannel];
  int64_t groups = inputs ? getSizes(conv.images)[dims.channel] / inputs : 1;
  CuDNNConvolution plan = {conv,
                           conv.channelsFirst || movesChannels,
                           makeOperand(conv.images, ofImages),
                           makeOperand(conv.filters, ofFilters),
                           makeOperand(conv.results, ofImages),
                           {},
                           std::max<int64_t>(groups, 1),
                           leastBytes};
  planPadding(plan);
  return plan;
}

const LibraryOperand &CuDNNConvolution::getDestination() const {
  switch (conv.kind) {
  case Convolution::Kind::Forward:
    return results;
  case Convolution::Kind::BackwardData:
    return images;
  case Convolution::Kind::BackwardFilter:
    return filters;
  }
  llvm_unreachable("unknown kind of convolution");
}

std::string CuDNNConvolution::getFunction(bool tf32) const {
  bool isF64 = getElementTypeOrSelf(conv.images.getType()).isF64();
  StringRef type = isF64 ? "_f64" : tf32 ? "_tf32" : "_f32";
  return ("remat_cudnn_conv_2d" + conv.getSuffix() + type).str();
}

bool CuDNNConvolution::isPointwise() const {
  ::remat::ConvDims dims = conv.getDims();
  ArrayRef<int64_t> sizes = getSizes(conv.filters);
  return sizes[dims.filterSpace] == 1 && sizes[dims.filterSpace + 1] == 1 &&
         llvm::all_equal({int64_t(1), conv.strides[0], conv.strides[1]}) &&
         padding == std::array<int64_t, 2>{0, 0};
}

/// Before any limit.
static int64_t estimateAlgorithmBytes(const CuDNNConvolution &plan) {
  const Convolution &conv = plan.conv;
  int64_t bytes = ::remat::cuda::kMinConvWorkspaceBytes;
  if (conv.kind == Convolution::Kind::Forward && plan.isPointwise())
    return bytes;
  int64_t elementBytes =
      getElementTypeOrSelf(conv.images.getType()).getIntOrFloatBitWidth() / 8;
  for (const LibraryOperand *operand :
       {&plan.images, &plan.filters, &plan.results})
    bytes += llvm::alignTo(multiplySizes(operand->sizes, elementBytes), 256);
  if (conv.kind != Convolution::Kind::BackwardFilter)
    return bytes;
  ::remat::ConvDims dims = conv.getDims();
  ArrayRef<int64_t> results = plan.results.sizes;
  return bytes + getPartialSumBytes(
                     multiplySizes(plan.filters.sizes),
                     multiplySizes({results[0], results[dims.space],
                                    results[dims.space + 1]}),
                     elementBytes, ::remat::cuda::kMaxConvWorkspaceBytes);
}

int64_t CuDNNConvolution::getAlgorithmBytes() const {
  int64_t bytes = ::remat::cuda::kMaxConvWorkspaceBytes;
  if (!ShapedType::isDynamicShape(images.sizes))
    bytes = std::min(bytes, estimateAlgorithmBytes(*this));
  return llvm::alignTo(std::max(bytes, leastBytes), 256);
}

int64_t CuDNNConvolution::getWorkspaceBytes() const {
  uint64_t bytes = getAlgorithmBytes();
  for (const LibraryOperand *operand : {&images, &filters, &results})
    bytes += llvm::alignTo(operand->getCopiedBytes(), 256);
  return std::min<uint64_t>(bytes, std::numeric_limits<int64_t>::max() / 2);
}
