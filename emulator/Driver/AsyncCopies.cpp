//===- AsyncCopies.cpp - Copies that threads wait for ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Block.h"

#include <algorithm>
#include <cstring>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

static void complete(Thread &thread, const AsyncCopy &copy) {
  // Whoever reads the memory in the same phase may have read it before.
  if (thread.owner->getLaunch().getFunction().isInstrumented)
    remat_emu_access(
        static_cast<EmulatedThread *>(&thread), copy.to, copy.bytes, copy.bytes,
        static_cast<int32_t>(EmulatedAccessKind::write), copy.site);
  std::memcpy(copy.to, copy.from, copy.sourceBytes);
  std::memset(static_cast<char *>(copy.to) + copy.sourceBytes, 0,
              copy.bytes - copy.sourceBytes);
}

extern "C" {
__attribute__((visibility("default"))) void
remat_emu_copy_async(void *record, void *to, const void *from, int32_t bytes,
                     int32_t sourceBytes, const char *site) {
  Thread &thread = Block::get(record);
  auto isAligned = [&](const void *address) {
    return reinterpret_cast<uintptr_t>(address) % bytes == 0;
  };
  if (!isAligned(to) || !isAligned(from))
    thread.owner->fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
                       describeThread(thread) + " gives " + site +
                           " an address that is not aligned to " +
                           std::to_string(bytes) + " bytes");
  thread.copies.push_back({to, from, static_cast<size_t>(bytes),
                           static_cast<size_t>(std::min(bytes, sourceBytes)),
                           thread.numCopyGroups, site});
}

__attribute__((visibility("default"))) void
remat_emu_commit_copies(void *record) {
  ++Block::get(record).numCopyGroups;
}

__attribute__((visibility("default"))) void
remat_emu_wait_for_copies(void *record, int32_t pending) {
  Thread &thread = Block::get(record);
  auto isNeeded = [&](const AsyncCopy &copy) {
    return copy.group + int64_t(pending) < thread.numCopyGroups;
  };
  for (const AsyncCopy &copy : thread.copies)
    if (isNeeded(copy))
      complete(thread, copy);
  thread.copies.erase(
      std::remove_if(thread.copies.begin(), thread.copies.end(), isNeeded),
      thread.copies.end());
}
}
