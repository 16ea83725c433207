//===- Minizip.h - Archives on files that are open already -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Minizip opens files by name; a file that was checked, or made under a new
// name, must be the one that it works on.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_MINIZIP_H
#define REMAT_RUNTIME_MINIZIP_H

#include <cstdio>
#include <minizip/unzip.h>
#include <minizip/zip.h>

namespace remat {

/// Minizip counts bytes in 32 bits.
constexpr size_t kMinizipChunk = size_t(1) << 30;

/// Makes minizip work on `file`, which stays open.
inline zlib_filefunc64_def onStream(FILE *file) {
  zlib_filefunc64_def functions;
  fill_fopen64_filefunc(&functions);
  functions.opaque = file;
  functions.zopen64_file = [](voidpf stream, const void *, int) {
    return stream;
  };
  functions.zclose_file = [](voidpf, voidpf stream) {
    return fflush(static_cast<FILE *>(stream));
  };
  return functions;
}

} // namespace remat

#endif // REMAT_RUNTIME_MINIZIP_H
