//===- LargePages.h - Memory in pages of 2 MiB -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that reads across the rows of a matrix needs another page for each
// row: of 4 KiB, a processor knows some thousand at once.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_LARGEPAGES_H
#define REMAT_RUNTIME_LARGEPAGES_H

#include <cstddef>
#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace remat {

/// Asks for large pages where whole ones fit into these bytes, which nothing
/// has touched yet. No more memory is taken. A system without them goes on with
/// small ones.
inline void adviseLargePages(void *begin, size_t bytes) {
#ifdef __linux__
  constexpr uintptr_t kPage = uintptr_t(2) << 20;
  auto address = reinterpret_cast<uintptr_t>(begin);
  uintptr_t first = (address + kPage - 1) / kPage * kPage;
  uintptr_t end = (address + bytes) / kPage * kPage;
  if (first < end)
    (void)madvise(reinterpret_cast<void *>(first), end - first, MADV_HUGEPAGE);
#endif
}

} // namespace remat

#endif // REMAT_RUNTIME_LARGEPAGES_H
