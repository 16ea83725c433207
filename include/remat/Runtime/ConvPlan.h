//===- ConvPlan.h - How convolutions are cut into products ------*- C++ -*-===//
//
// The compiler reserves the workspace that the runtime uses, so both ask here.
// Plain C++: no compiler header, no runtime header.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CONVPLAN_H
#define REMAT_RUNTIME_CONVPLAN_H

#include <algorithm>
#include <cstdint>

namespace remat {

/// A 2-d convolution of images (n, h, w, c) with filters (kh, kw, c, f) into
/// images (n, oh, ow, f). Positions outside the input are zero; `padH` and
/// `padW` count those before it.
struct ConvShape {
  int64_t n, h, w, c, kh, kw, f, oh, ow;
  int64_t strideH, strideW, dilationH, dilationW, padH, padW;

  int64_t taps() const { return kh * kw; }
  /// Whether an output position is a product of one input position in order.
  bool isPointwise() const {
    return taps() == 1 && strideH == 1 && strideW == 1 && padH == 0 &&
           padW == 0 && oh == h && ow == w;
  }
};

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
  /// Channels first: `rows` positions of each of `images` images at once, and
  /// the filters of one task.
  int64_t images = 1, filters = 0;

  int64_t workspaceElements(int64_t slots) const {
    return sharedElements + slots * slotElements;
  }
};

/// Long enough for the product's inner loop, short enough for the caches.
constexpr int64_t kConvDepth = 576;

inline int64_t convRows(int64_t positions) {
  return positions >= 2048 ? 256 : std::min<int64_t>(positions, 128);
}

inline int64_t convTaps(const ConvShape &s, int64_t channels) {
  return std::max<int64_t>(
      1, std::min(s.taps(), kConvDepth / std::max<int64_t>(1, channels)));
}

inline int64_t convChannels(const ConvShape &s) {
  return std::max<int64_t>(1, std::min(s.c, kConvDepth / s.taps()));
}

inline ConvPlan planConvForward(const ConvShape &s) {
  int64_t rows = convRows(s.n * s.oh * s.ow), taps = convTaps(s, s.c);
  return {rows, taps, s.c, s.isPointwise() ? 0 : rows * taps * s.c, 0};
}

/// Positions are those of the input; with strides, one residue class of them at
/// a time, because the others meet other taps. The filters are transposed once
/// where they are small, so that several taps make one product.
inline ConvPlan planConvBackwardData(const ConvShape &s) {
  constexpr int64_t kSmall = int64_t(1) << 18;
  int64_t classes = s.strideH * s.strideW;
  int64_t rows = convRows(s.n * s.h * s.w / std::max<int64_t>(1, classes));
  rows = std::max<int64_t>(rows, 1);
  bool transpose = !s.isPointwise() && s.taps() * s.c * s.f <= kSmall;
  int64_t taps = transpose ? convTaps(s, s.f) : 1;
  int64_t slot =
      s.isPointwise() ? 0 : rows * taps * s.f + (classes > 1 ? rows * s.c : 0);
  return {rows, taps, s.f, slot, transpose ? s.taps() * s.c * s.f : 0};
}

/// A task owns the gradients of some taps and channels, and adds up all
/// positions in order.
inline ConvPlan planConvBackwardFilter(const ConvShape &s) {
  constexpr int64_t kElements = int64_t(1) << 17;
  int64_t blocks = (s.c + 255) / 256;
  int64_t channels = (s.c + blocks - 1) / blocks;
  int64_t taps = std::max<int64_t>(1, std::min(s.taps(), 32 / channels));
  int64_t rows = std::clamp<int64_t>(kElements / (taps * channels), 128, 1024);
  rows = std::max<int64_t>(1, std::min(rows, s.n * s.oh * s.ow));
  return {rows, taps, channels, s.isPointwise() ? 0 : rows * taps * channels,
          0};
}

//===----------------------------------------------------------------------===//
// Channels first: images (n, c, h, w), filters (f, c, kh, kw)
//===----------------------------------------------------------------------===//

/// About `wanted` positions: a part of one image, or several small images.
inline void cutPositions(const ConvShape &s, int64_t wanted, ConvPlan &plan) {
  int64_t positions = std::max<int64_t>(1, s.oh * s.ow);
  if (2 * positions <= wanted) {
    plan.rows = positions;
    plan.images = std::max<int64_t>(1, std::min(s.n, wanted / positions));
    return;
  }
  int64_t parts = (positions + wanted - 1) / wanted;
  plan.rows = (positions + parts - 1) / parts;
}

/// Whether the images' channels are the gathered matrix as they lie in memory.
inline bool liesGathered(const ConvShape &s, const ConvPlan &plan) {
  return s.isPointwise() && plan.images == 1;
}

/// What a task of `plan` gathers, and what it computes or reads of `filters`
/// filters if it works on several images.
inline int64_t channelsFirstSlot(const ConvShape &s, const ConvPlan &plan,
                                 int64_t filters) {
  int64_t columns = plan.images * plan.rows;
  return (liesGathered(s, plan) ? 0 : plan.channels * s.taps() * columns) +
         (plan.images > 1 ? filters * columns : 0);
}

/// Products of filters with windows, `channels` channels at a time.
inline ConvPlan planChannelsFirstForward(const ConvShape &s) {
  ConvPlan plan{0, s.taps(), 0, 0, 0};
  cutPositions(s, 256, plan);
  plan.channels = liesGathered(s, plan) ? s.c : convChannels(s);
  plan.filters = s.f;
  plan.slotElements = channelsFirstSlot(s, plan, s.f);
  return plan;
}

/// A task owns some channels of some images. The products are cotangents of
/// windows, which are added up window by window.
inline ConvPlan planChannelsFirstBackwardData(const ConvShape &s) {
  ConvPlan plan{0, s.taps(), 0, 0, 0};
  cutPositions(s, 256, plan);
  plan.channels = std::min(s.c, 2 * convChannels(s));
  plan.filters = s.f;
  plan.slotElements = channelsFirstSlot(s, plan, s.f);
  return plan;
}

/// A task owns the gradients of some channels. Filters are shared out only
/// where channels are few: every task gathers its channels' windows.
inline ConvPlan planChannelsFirstBackwardFilter(const ConvShape &s) {
  constexpr int64_t kDepth = 128, kTasks = 16, kFewTasks = 4, kFilters = 32;
  ConvPlan plan{0, s.taps(), 0, 0, 0};
  cutPositions(s, 512, plan);
  plan.channels = std::max<int64_t>(
      1,
      std::min(s.c, std::max((s.c + kTasks - 1) / kTasks, kDepth / s.taps())));
  int64_t channelParts = (s.c + plan.channels - 1) / plan.channels;
  int64_t parts = channelParts < kFewTasks ? kTasks / channelParts : 1;
  plan.filters =
      std::min(s.f, std::max<int64_t>(kFilters, (s.f + parts - 1) / parts));
  plan.slotElements = channelsFirstSlot(s, plan, plan.filters);
  return plan;
}

} // namespace remat

#endif // REMAT_RUNTIME_CONVPLAN_H
