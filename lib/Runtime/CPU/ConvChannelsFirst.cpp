//===- ConvChannelsFirst.cpp - Convolutions as PyTorch lays them out ------===//
//
// Images (n, c, h, w) and filters (f, c, kh, kw): each image is one matrix of
// channels by positions, and the filters are one matrix already. Transposing to
// channels last would cost a copy of every image that the backward needs.
//
//===----------------------------------------------------------------------===//

#include "ConvDirect.h"
#include "ConvWorkspace.h"

#include <cstring>

using namespace remat;

namespace {

/// Positions [first, first + rows) of each of `images` images from `n` on: the
/// columns of a gathered matrix.
struct Columns {
  int64_t n, images, first, rows;
  int64_t count() const { return images * rows; }
};

/// The parts of (images x positions) in the order in which they are numbered.
struct Cut {
  const ConvShape &s;
  const ConvPlan &plan;

  int64_t imageParts() const { return remat::imageParts(s, plan); }
  int64_t positionParts() const { return remat::positionParts(s, plan); }
  Columns at(int64_t imagePart, int64_t positionPart) const {
    int64_t n = imagePart * plan.images, first = positionPart * plan.rows;
    return {n, std::min(plan.images, s.n - n), first,
            std::min(plan.rows, s.oh * s.ow - first)};
  }
};

/// For each row (channel, ky, kx) of a gathered matrix, for channels
/// [c0, c0 + channels) of those of all groups, calls
/// `visit(start, before, inside, after)` for each run of its columns that lies
/// in one row of one image: `inside` of them are the elements start,
/// start + strideW, ... of the images, those around them are padding.
template <typename Visit>
void visitRuns(const ConvShape &s, const Columns &columns, int64_t c0,
               int64_t channels, Visit visit) {
  for (int64_t row = c0 * s.taps(); row < (c0 + channels) * s.taps(); ++row) {
    int64_t c = row / s.taps(), ky = row / s.kw % s.kh, kx = row % s.kw;
    // The outputs of a row that meet the image, before it is cut.
    Run run = runOf(kx, s.dilationW, s.padW, s.strideW, s.w, s.ow);
    for (int64_t i = columns.n; i < columns.n + columns.images; ++i) {
      int64_t ox = columns.first % s.ow, left = columns.rows;
      for (int64_t oy = columns.first / s.ow; left > 0; ++oy, ox = 0) {
        int64_t stop = std::min(s.ow, ox + left);
        int64_t y = oy * s.strideH + ky * s.dilationH - s.padH;
        bool isInside = y >= 0 && y < s.h;
        int64_t from = isInside ? std::clamp(run.from, ox, stop) : stop;
        int64_t to = isInside ? std::clamp(run.to, from, stop) : stop;
        visit(((i * s.groups * s.c + c) * s.h + y) * s.w + from * s.strideW +
                  run.shift,
              from - ox, to - from, stop - to);
        left -= stop - ox;
      }
    }
  }
}

/// Rows of `to` are (channel, ky, kx) for channels [c0, c0 + channels) of all
/// groups.
template <typename T>
void gatherWindows(const ConvShape &s, const T *x, const Columns &columns,
                   int64_t c0, int64_t channels, T *to) {
  visitRuns(s, columns, c0, channels,
            [&](int64_t start, int64_t before, int64_t inside, int64_t after) {
              to = std::fill_n(to, before, T(0));
              if (s.strideW == 1)
                to = std::copy_n(x + start, inside, to);
              else
                for (int64_t j = 0; j < inside; ++j)
                  *to++ = x[start + j * s.strideW];
              to = std::fill_n(to, after, T(0));
            });
}

/// Adds what `gatherWindows` would have read to where it would have read it.
template <typename T>
void scatterWindows(const ConvShape &s, const T *from, const Columns &columns,
                    int64_t c0, int64_t channels, T *x) {
  visitRuns(s, columns, c0, channels,
            [&](int64_t start, int64_t before, int64_t inside, int64_t after) {
              from += before;
              for (int64_t j = 0; j < inside; ++j)
                x[start + j * s.strideW] += from[j];
              from += inside + after;
            });
}

/// Planes [k0, k0 + count) of `columns` of images of `planes` planes, where
/// they lie if that is one matrix; else in `block`, which the caller fills or
/// stores.
template <typename T>
Matrix<T> planesOf(const ConvShape &s, T *images, int64_t planes, int64_t k0,
                   int64_t count, const Columns &columns, bool inPlace,
                   T *block) {
  int64_t positions = s.oh * s.ow;
  if (inPlace)
    return matrix(images + (columns.n * planes + k0) * positions +
                      columns.first,
                  count, columns.rows, positions);
  return matrix(block, count, columns.count(), columns.count());
}

/// Moves whole planes between images and a block of several images' columns.
template <bool toBlock, typename T>
void movePlanes(const ConvShape &s, T *images, int64_t planes, int64_t k0,
                int64_t count, const Columns &columns, T *block) {
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < columns.images; ++i, block += columns.rows) {
      T *plane = images + ((columns.n + i) * planes + k0 + k) * s.oh * s.ow +
                 columns.first;
      std::memcpy(toBlock ? block : plane, toBlock ? plane : block,
                  columns.rows * sizeof(T));
    }
}

template <typename T>
void forward(const ConvShape &s, T *x, T *w, T *y,
             const MemRef<int8_t, 1> &memory) {
  if (s.isDirect())
    return directForward(s, x, w, y);
  ConvPlan plan = planChannelsFirstForward(s);
  Workspace<T> workspace = divide<T>(plan, memory);
  Cut cut{s, plan};
  bool gathered = liesGathered(s, plan), inPlace = plan.images == 1;
  int64_t allChannels = s.groups * s.c, allFilters = s.groups * s.f;
  int64_t parts = cut.positionParts();
#pragma omp parallel for schedule(dynamic) num_threads(workspace.threads)
  for (int64_t task = 0; task < plan.tasks; ++task) {
    int64_t group = task % s.groups, part = task / s.groups;
    Columns columns = cut.at(part / parts, part % parts);
    T *result = workspace.slot(), *windows = result;
    if (!inPlace)
      windows += s.f * columns.count();
    Matrix<T> out =
        planesOf(s, y, allFilters, group * s.f, s.f, columns, inPlace, result);
    for (int64_t c0 = 0; c0 < s.c; c0 += plan.channels) {
      int64_t channels = std::min(plan.channels, s.c - c0);
      int64_t depth = channels * s.taps(), first = group * s.c + c0;
      if (!gathered)
        gatherWindows(s, x, columns, first, channels, windows);
      multiply(
          matrix(w + (group * s.f * s.c + c0) * s.taps(), s.f, depth,
                 s.c * s.taps()),
          planesOf(s, x, allChannels, first, depth, columns, gathered, windows),
          out, c0 != 0);
    }
    if (!inPlace)
      movePlanes<false>(s, y, allFilters, group * s.f, s.f, columns, result);
  }
}

template <typename T>
void backwardData(const ConvShape &s, T *dy, T *w, T *dx,
                  const MemRef<int8_t, 1> &memory) {
  if (s.isDirect())
    return directBackwardData(s, dy, w, dx);
  ConvPlan plan = planChannelsFirstBackwardData(s);
  Workspace<T> workspace = divide<T>(plan, memory);
  Cut cut{s, plan};
  bool gathered = liesGathered(s, plan), inPlace = plan.images == 1;
  int64_t allChannels = s.groups * s.c, allFilters = s.groups * s.f;
  int64_t parts = ceilDiv(s.c, plan.channels) * s.groups;
#pragma omp parallel for schedule(dynamic) num_threads(workspace.threads)
  for (int64_t task = 0; task < plan.tasks; ++task) {
    int64_t group = task % s.groups;
    int64_t c0 = task % parts / s.groups * plan.channels;
    int64_t channels = std::min(plan.channels, s.c - c0);
    int64_t depth = channels * s.taps(), first = group * s.c + c0;
    Columns whole = cut.at(task / parts, 0);
    if (!gathered)
      for (int64_t i = whole.n; i < whole.n + whole.images; ++i)
        std::memset(dx + (i * allChannels + first) * s.h * s.w, 0,
                    channels * s.h * s.w * sizeof(T));
    for (int64_t part = 0; part < cut.positionParts(); ++part) {
      Columns columns = cut.at(task / parts, part);
      T *cotangents = workspace.slot(), *windows = cotangents;
      if (!inPlace) {
        movePlanes<true>(s, dy, allFilters, group * s.f, s.f, columns,
                         cotangents);
        windows += s.f * columns.count();
      }
      multiply(transposed(w + (group * s.f * s.c + c0) * s.taps(), depth, s.f,
                          s.c * s.taps()),
               planesOf(s, dy, allFilters, group * s.f, s.f, columns, inPlace,
                        cotangents),
               planesOf(s, dx, allChannels, first, depth, columns, gathered,
                        windows),
               false);
      if (!gathered)
        scatterWindows(s, windows, columns, first, channels, dx);
    }
  }
}

template <typename T>
void backwardFilter(const ConvShape &s, T *x, T *dy, T *dw,
                    const MemRef<int8_t, 1> &memory) {
  if (s.isDirect())
    return directBackwardFilter(s, x, dy, dw);
  ConvPlan plan = planChannelsFirstBackwardFilter(s);
  Workspace<T> workspace = divide<T>(plan, memory);
  Cut cut{s, plan};
  bool gathered = liesGathered(s, plan), inPlace = plan.images == 1;
  int64_t allChannels = s.groups * s.c, allFilters = s.groups * s.f;
  int64_t channelParts = ceilDiv(s.c, plan.channels);
  int64_t filterParts = ceilDiv(s.f, plan.filters);
#pragma omp parallel for schedule(dynamic) num_threads(workspace.threads)
  for (int64_t task = 0; task < plan.tasks; ++task) {
    int64_t group = task / (channelParts * filterParts);
    int64_t c0 = task / filterParts % channelParts * plan.channels;
    int64_t channels = std::min(plan.channels, s.c - c0);
    int64_t depth = channels * s.taps(), first = group * s.c + c0;
    int64_t f0 = task % filterParts * plan.filters;
    int64_t filters = std::min(plan.filters, s.f - f0);
    f0 += group * s.f;
    Matrix<T> out =
        matrix(dw + (f0 * s.c + c0) * s.taps(), filters, depth, s.c * s.taps());
    for (int64_t imagePart = 0; imagePart < cut.imageParts(); ++imagePart)
      for (int64_t part = 0; part < cut.positionParts(); ++part) {
        Columns columns = cut.at(imagePart, part);
        T *cotangents = workspace.slot(), *windows = cotangents;
        if (!inPlace) {
          movePlanes<true>(s, dy, allFilters, f0, filters, columns, cotangents);
          windows += filters * columns.count();
        }
        if (!gathered)
          gatherWindows(s, x, columns, first, channels, windows);
        Matrix<T> rows = planesOf(s, x, allChannels, first, depth, columns,
                                  gathered, windows);
        multiply(planesOf(s, dy, allFilters, f0, filters, columns, inPlace,
                          cotangents),
                 transposed(rows.data, rows.columns, rows.rows, rows.rowStride),
                 out, imagePart + part != 0);
      }
  }
}

constexpr bool kChannelsFirst = true;

} // namespace

// Images (n, c, h, w), filters (f, c / groups, kh, kw).
REMAT_CONV(conv_2d_channels_first, forward, a, b, c)
REMAT_CONV(conv_2d_channels_first_backward_data, backwardData, c, b, a)
REMAT_CONV(conv_2d_channels_first_backward_filter, backwardFilter, a, c, b)
