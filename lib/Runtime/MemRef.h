//===- MemRef.h - Memrefs as compiled programs pass them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The descriptor that `llvm.emit_c_interface` functions receive by pointer.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_MEMREF_H
#define REMAT_RUNTIME_MEMREF_H

#include <cstdint>

namespace remat {

/// A strided memref of rank `rank`. Sizes and strides are in elements.
template <typename T, int rank> struct MemRef {
  T *allocated;
  T *aligned;
  int64_t offset;
  int64_t sizes[rank];
  int64_t strides[rank];

  T *data() const { return aligned + offset; }
};

} // namespace remat

/// Functions of the runtime are the only symbols that the library exports.
#define REMAT_EXPORT extern "C" __attribute__((visibility("default")))

#endif // REMAT_RUNTIME_MEMREF_H
