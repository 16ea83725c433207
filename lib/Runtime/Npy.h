//===- Npy.h - The header of a .npy file -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What precedes the elements of an array in NumPy's format.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_NPY_H
#define REMAT_RUNTIME_NPY_H

#include "remat/Runtime/Runtime.h"

namespace remat::npy {

/// So many bytes say how long a header is.
constexpr size_t prefixBytes = 12;
/// The length of the header that starts with the `prefixBytes` bytes `prefix`:
/// where the elements start. `where` names the array in errors.
size_t headerBytes(const std::string &prefix, const std::string &where);
/// Reads a whole header.
ArrayType parseHeader(const std::string &header, const std::string &where);
/// All that precedes the elements, in version 1 of the format.
std::string header(const ArrayType &type);

} // namespace remat::npy

#endif // REMAT_RUNTIME_NPY_H
