//===- ConvPlan.h - How convolutions are cut into products ------*- C++ -*-===//
//
// The compiler reserves the workspace that the runtime uses, so both ask here.
// Plain C++: no compiler header, no runtime header.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CONVPLAN_H
#define REMAT_RUNTIME_CONVPLAN_H

#include "remat/Dialect/Remat/IR/ConvLayout.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace remat {

/// A 2-d convolution of images (n, h, w, c) with filters (kh, kw, c, f) into
/// images (n, oh, ow, f). Positions outside the input are zero; `padH` and
/// `padW` count those before it. There are `groups` of them side by side: `c`
/// and `f` are the channels and filters of one.
struct ConvShape {
  int64_t n, h, w, c, kh, kw, f, oh, ow;
  int64_t strideH, strideW, dilationH, dilationW, padH, padW;
  int64_t groups = 1;

  int64_t taps() const { return kh * kw; }
  /// Whether there is nothing to add up: the result, if it has elements at all,
  /// is zero. No plan is for these, nor for direct ones.
  bool isEmpty() const {
    return std::min({n, h, w, c, kh, kw, f, oh, ow}) == 0;
  }
  /// Whether a group is too small for products of matrices (ConvDirect.h).
  bool isDirect() const { return groups > 1 && c * f < 64; }
  /// Whether an output position is a product of one input position in order.
  bool isPointwise() const {
    return taps() == 1 && strideH == 1 && strideW == 1 && padH == 0 &&
           padW == 0 && oh == h && ow == w;
  }
};

/// The convolution of images of sizes `x` with filters of sizes `w` into images
/// of sizes `y`; `window` are strides, dilations and the padding in front.
inline ConvShape getConvShape(const int64_t *x, const int64_t *w,
                              const int64_t *y, const int64_t *window,
                              bool channelsFirst) {
  ConvDims dims = getConvDims(channelsFirst);
  const int64_t *in = x + dims.row, *out = y + dims.row;
  const int64_t *taps = w + dims.filterRow;
  int64_t inputs = w[dims.filterChannel];
  int64_t groups =
      inputs > 0 ? std::max<int64_t>(1, x[dims.channel] / inputs) : 1;
  ConvShape s{x[0],
              in[0],
              in[1],
              inputs,
              taps[0],
              taps[1],
              w[dims.filter] / groups,
              out[0],
              out[1],
              window[0],
              window[1],
              window[2],
              window[3],
              window[4],
              window[5],
              groups};
  // PyTorch's convolutions of one dimension arrive as columns. In memory they
  // are rows, which are long.
  if (channelsFirst && s.w == 1 && s.ow == 1 && s.kw == 1 && s.padW == 0) {
    std::swap(s.h, s.w);
    std::swap(s.oh, s.ow);
    std::swap(s.kh, s.kw);
    std::swap(s.strideH, s.strideW);
    std::swap(s.dilationH, s.dilationW);
    std::swap(s.padH, s.padW);
  }
  return s;
}

/// A convolution is a product of a matrix of gathered input positions with the
/// filters. It is gathered piece by piece: `rows` positions and `taps` filter
/// positions at once, `channels` channels of each, by one task. Everything is a
/// function of the shape, so that the bits do not depend on the machine.
struct ConvPlan {
  int64_t rows, taps, channels;
  /// Elements that each thread working at the same time needs.
  int64_t slotElements;
  /// Elements that all threads share.
  int64_t sharedElements;
  /// Tasks that can be worked on at the same time, at most.
  int64_t tasks;
  /// Channels first: `rows` positions of each of `images` images at once, and
  /// the filters of one task.
  int64_t images = 1, filters = 0;

  int64_t workspaceElements(int64_t threads) const {
    return sharedElements + std::min(threads, tasks) * slotElements;
  }
};

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The most elements that a task may gather at once: as many as the images or
/// the results have. The workspace of a small convolution would otherwise be
/// what a step takes most of its memory for.
inline int64_t convBudget(const ConvShape &s) {
  return s.groups * std::max(s.n * s.h * s.w * s.c, s.n * s.oh * s.ow * s.f);
}

/// Halves the longer side of what a task gathers, `positions` or `units` of
/// `unit` elements, until `slotElements()` is within the budget.
template <typename SlotElements>
void fitBudget(const ConvShape &s, int64_t &positions, int64_t &units,
               int64_t unit, SlotElements slotElements) {
  constexpr int64_t kShort = 16;
  while (slotElements() > convBudget(s)) {
    bool few = units == 1 || units * unit <= kShort;
    if (positions <= kShort && few)
      return;
    int64_t &longer = few || (positions > kShort && positions >= units * unit)
                          ? positions
                          : units;
    longer = ceilDiv(longer, 2);
  }
}

/// Long enough for the product's inner loop, short enough for the caches.
constexpr int64_t kConvDepth = 576;

inline int64_t convRows(int64_t positions) {
  return positions >= 2048 ? 256 : std::clamp<int64_t>(positions, 1, 128);
}

inline int64_t convTaps(const ConvShape &s, int64_t channels) {
  return std::max<int64_t>(
      1, std::min(s.taps(), kConvDepth / std::max<int64_t>(1, channels)));
}

inline int64_t convChannels(const ConvShape &s) {
  return std::max<int64_t>(1, std::min(s.c, kConvDepth / s.taps()));
}

inline ConvPlan planConvForward(const ConvShape &s) {
  ConvPlan plan{convRows(s.n * s.oh * s.ow), convTaps(s, s.c), s.c, 0, 0, 0};
  auto slot = [&] { return s.isPointwise() ? 0 : plan.rows * plan.taps * s.c; };
  fitBudget(s, plan.rows, plan.taps, s.c, slot);
  plan.slotElements = slot();
  plan.tasks = ceilDiv(s.n * s.oh * s.ow, plan.rows);
  return plan;
}

/// Positions are those of the input; with strides, one residue class of them at
/// a time, because the others meet other taps. The filters are transposed once
/// where they are small, so that several taps make one product.
inline ConvPlan planConvBackwardData(const ConvShape &s) {
  constexpr int64_t kSmall = int64_t(1) << 18;
  int64_t classes = s.strideH * s.strideW;
  bool transpose = !s.isPointwise() &&
                   s.taps() * s.c * s.f <= std::min(kSmall, convBudget(s));
  ConvPlan plan{convRows(s.n * s.h * s.w / classes),
                transpose ? convTaps(s, s.f) : 1,
                s.f,
                0,
                transpose ? s.taps() * s.c * s.f : 0,
                0};
  auto slot = [&] {
    return s.isPointwise()
               ? 0
               : plan.rows * (plan.taps * s.f + (classes > 1 ? s.c : 0));
  };
  fitBudget(s, plan.rows, plan.taps, s.f, slot);
  plan.slotElements = slot();
  plan.tasks = ceilDiv(s.n * ceilDiv(s.h, s.strideH) * ceilDiv(s.w, s.strideW),
                       plan.rows);
  return plan;
}

/// A task owns the gradients of some taps and channels, and adds up all
/// positions in order.
inline ConvPlan planConvBackwardFilter(const ConvShape &s) {
  constexpr int64_t kElements = int64_t(1) << 17;
  int64_t blocks = std::max<int64_t>(1, ceilDiv(s.c, 256));
  int64_t channels = std::max<int64_t>(1, ceilDiv(s.c, blocks));
  int64_t taps = std::max<int64_t>(1, std::min(s.taps(), 32 / channels));
  int64_t rows = std::clamp<int64_t>(kElements / (taps * channels), 128, 1024);
  rows = std::max<int64_t>(1, std::min(rows, s.n * s.oh * s.ow));
  ConvPlan plan{rows, taps, channels, 0, 0, 0};
  auto slot = [&] {
    return s.isPointwise() ? 0 : plan.rows * plan.taps * channels;
  };
  fitBudget(s, plan.rows, plan.taps, channels, slot);
  plan.slotElements = slot();
  plan.tasks = ceilDiv(s.taps(), plan.taps) * ceilDiv(s.c, channels);
  return plan;
}

//===----------------------------------------------------------------------===//
// Channels first: images (n, c, h, w), filters (f, c, kh, kw)
//===----------------------------------------------------------------------===//

/// About `wanted` positions: a part of one image, or several small images.
inline void cutPositions(const ConvShape &s, int64_t wanted, ConvPlan &plan) {
  int64_t positions = std::max<int64_t>(1, s.oh * s.ow);
  plan.images = 1;
  if (2 * positions <= wanted) {
    plan.rows = positions;
    plan.images = std::max<int64_t>(1, std::min(s.n, wanted / positions));
    return;
  }
  plan.rows = ceilDiv(positions, ceilDiv(positions, wanted));
}

/// Whether the images' channels are the gathered matrix as they lie in memory.
inline bool liesGathered(const ConvShape &s, const ConvPlan &plan) {
  return s.isPointwise() && plan.images == 1;
}

/// Cuts about `wanted` positions and `plan.channels` channels, less if they are
/// too many. A slot holds what a task gathers, and what it computes or reads of
/// `plan.filters` filters if it works on several images.
inline void cutChannelsFirst(const ConvShape &s, int64_t wanted,
                             ConvPlan &plan) {
  auto slot = [&] {
    cutPositions(s, wanted, plan);
    int64_t columns = plan.images * plan.rows;
    int64_t gathered = liesGathered(s, plan) ? 0 : plan.channels * s.taps();
    return columns * (gathered + (plan.images > 1 ? plan.filters : 0));
  };
  fitBudget(s, wanted, plan.channels, s.taps(), slot);
  plan.slotElements = slot();
}

inline int64_t imageParts(const ConvShape &s, const ConvPlan &plan) {
  return ceilDiv(s.n, plan.images);
}
inline int64_t positionParts(const ConvShape &s, const ConvPlan &plan) {
  return ceilDiv(s.oh * s.ow, plan.rows);
}

/// Products of filters with windows, `channels` channels at a time.
inline ConvPlan planChannelsFirstForward(const ConvShape &s) {
  ConvPlan plan{0, s.taps(), convChannels(s), 0, 0, 0};
  plan.filters = s.f;
  cutChannelsFirst(s, 256, plan);
  if (liesGathered(s, plan))
    plan.channels = s.c;
  plan.tasks = imageParts(s, plan) * positionParts(s, plan) * s.groups;
  return plan;
}

/// A task owns some channels of some images. The products are cotangents of
/// windows, which are added up window by window.
inline ConvPlan planChannelsFirstBackwardData(const ConvShape &s) {
  ConvPlan plan{0, s.taps(), std::min(s.c, 2 * convChannels(s)), 0, 0, 0};
  plan.filters = s.f;
  cutChannelsFirst(s, 256, plan);
  plan.tasks = imageParts(s, plan) * ceilDiv(s.c, plan.channels) * s.groups;
  return plan;
}

/// A task owns the gradients of some channels. Filters are shared out only
/// where channels are few: every task gathers its channels' windows.
inline ConvPlan planChannelsFirstBackwardFilter(const ConvShape &s) {
  constexpr int64_t kDepth = 128, kTasks = 16, kFewTasks = 4, kFilters = 32;
  int64_t channels = std::max<int64_t>(
      1, std::min(s.c, std::max(ceilDiv(s.c, kTasks), kDepth / s.taps())));
  ConvPlan plan{0, s.taps(), channels, 0, 0, 0};
  int64_t channelParts = std::max<int64_t>(1, ceilDiv(s.c, channels));
  int64_t parts = channelParts < kFewTasks ? kTasks / channelParts : 1;
  plan.filters =
      std::min(s.f, std::max<int64_t>(kFilters, ceilDiv(s.f, parts)));
  cutChannelsFirst(s, 512, plan);
  plan.tasks =
      s.groups * ceilDiv(s.c, plan.channels) * ceilDiv(s.f, plan.filters);
  return plan;
}

} // namespace remat

#endif // REMAT_RUNTIME_CONVPLAN_H
