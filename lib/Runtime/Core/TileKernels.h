//===- TileKernels.h - Products of small tiles in registers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of products and convolutions. A tile of the result stays in vector
// registers while its sum is taken; the left operand is read in place, by
// offsets, so that neither windows of an image are gathered nor the larger
// operand is packed.
//
// Each element is one chain of fused multiply-adds in the order of the sum
// (multiplications and additions on processors without), whatever the
// processor's vectors and the tile it is in: its bits depend on the sum alone.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_TILEKERNELS_H
#define REMAT_RUNTIME_CORE_TILEKERNELS_H

#include <cstdint>

namespace remat {

/// c[r][j] = sum over s < segments, i < depth of
///   left[s][offsets[r] + i * leftStride] * right[s][i * rightStride + j]
/// (+ c[r][j] if `accumulate`).
template <typename T> struct Tile {
  const T *const *left;
  const int64_t *offsets;
  int64_t leftStride;
  const T *const *right;
  int64_t rightStride;
  int64_t segments, depth;
  T *const *c;
  bool accumulate;
};

/// The kernels for tiles of `columns` columns and 1 to `rows` rows.
template <typename T> struct TileShape {
  static constexpr int kMostRows = 12;
  int64_t columns = 0, rows = 0;
  using Kernel = void (*)(const Tile<T> &);
  Kernel kernels[kMostRows + 1] = {};
};

/// From the widest to the narrowest.
template <typename T> struct TileShapes {
  static constexpr int kMost = 6;
  static constexpr int64_t kMostColumns = 64;
  int count = 0;
  TileShape<T> shapes[kMost] = {};

  const TileShape<T> *begin() const { return shapes; }
  const TileShape<T> *end() const { return shapes + count; }
};

/// The widths of tiles, in units of 16 bytes: panels are packed by code for
/// each of them.
#define REMAT_TILE_WIDTHS 1, 2, 3, 4, 6, 8, 12, 16
constexpr bool isTileWidth(int units) {
  constexpr int kWidths[] = {REMAT_TILE_WIDTHS};
  for (int width : kWidths)
    if (units == width)
      return true;
  return false;
}

/// Return those of one instruction set, which the processor has to have.
#define REMAT_DECLARE_TILES(FUNCTION)                                          \
  template <typename T> const TileShapes<T> &FUNCTION();                       \
  template <> const TileShapes<float> &FUNCTION();                             \
  template <> const TileShapes<double> &FUNCTION();
REMAT_DECLARE_TILES(tilesAnywhere)
#if defined(__x86_64__)
REMAT_DECLARE_TILES(tilesAVX2)
REMAT_DECLARE_TILES(tilesAVX512)
#elif defined(__arm__) && defined(REMAT_SHIPPED)
REMAT_DECLARE_TILES(tilesArmFMA)
#endif
#undef REMAT_DECLARE_TILES

/// Return true if this processor has what the functions above are for: what it
/// runs on, or, in an object of a shipped step, what that is for.
bool hasArmFMA();
bool hasAVX2();
bool hasAVX512();

/// Returns those for this processor.
template <typename T> const TileShapes<T> &getTileShapes() {
#if defined(__x86_64__)
  if (hasAVX512())
    return tilesAVX512<T>();
  if (hasAVX2())
    return tilesAVX2<T>();
#elif defined(__arm__) && defined(REMAT_SHIPPED)
  if (hasArmFMA())
    return tilesArmFMA<T>();
#endif
  return tilesAnywhere<T>();
}

} // namespace remat

#endif // REMAT_RUNTIME_CORE_TILEKERNELS_H
