//===- ConvLayout.h - Dimensions of images and filters ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and the runtime agree on them. Plain C++: the runtime includes
// no compiler header.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_CONVLAYOUT_H
#define REMAT_DIALECT_REMAT_IR_CONVLAYOUT_H

namespace remat {

/// Which dimension is what in images (n, h, w, c) and filters (kh, kw, c, f),
/// or channels first, (n, c, h, w) and (f, c, kh, kw). The dimensions in space
/// follow each other from the first one on, the depth before the height if
/// there are three.
struct ConvDims {
  unsigned channel, space;
  unsigned filterSpace, filterChannel, filter;
};

/// Of convolutions with `rank` dimensions in space.
inline ConvDims getConvDims(bool channelsFirst, unsigned rank) {
  return channelsFirst ? ConvDims{1, 2, 2, 1, 0}
                       : ConvDims{rank + 1, 1, 0, rank, rank + 1};
}

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_CONVLAYOUT_H
