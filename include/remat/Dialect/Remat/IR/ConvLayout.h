//===- ConvLayout.h - Dimensions of images and filters ----------*- C++ -*-===//
//
// The operations and the runtime agree on them. Plain C++: the runtime includes
// no compiler header.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_CONVLAYOUT_H
#define REMAT_DIALECT_REMAT_IR_CONVLAYOUT_H

namespace remat {

/// Which dimension is what in images (n, h, w, c) and filters (kh, kw, c, f),
/// or channels first, (n, c, h, w) and (f, c, kh, kw). The width is behind the
/// height.
struct ConvDims {
  unsigned channel, row;
  unsigned filterRow, filterChannel, filter;
};

inline ConvDims getConvDims(bool channelsFirst) {
  return channelsFirst ? ConvDims{1, 2, 2, 1, 0} : ConvDims{3, 1, 0, 2, 3};
}

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_CONVLAYOUT_H
