//===- Checks.cpp - What instrumented kernels are checked for -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instrumented launches run on one thread of the host, so that the state here
// needs no lock.
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "DeviceMemory.h"
#include "Errors.h"
#include "Report.h"
#include "Shadow.h"

#include <unordered_map>

using namespace remat::cuda;
using namespace remat::cuda::emulator;
using Kind = EmulatedAccessKind;

namespace {
struct State {
  Shadow global, shared;
  /// Numbers of the launch and of the block, among all.
  uint32_t launch = 0, block = 0;
  KernelCounts *counts = nullptr;
  /// Operations by their number - 1, and the numbers.
  std::vector<const char *> sites;
  std::unordered_map<const char *, uint32_t> siteNumbers;

  uint32_t getNumber(const char *site) {
    auto [entry, isNew] = siteNumbers.try_emplace(site, sites.size() + 1);
    if (isNew)
      sites.push_back(site);
    return entry->second;
  }
};

struct Access {
  Thread &thread;
  uintptr_t address;
  size_t bytes;
  int64_t alignment;
  Kind kind;
  const char *site;

  [[noreturn]] void fail(CUresult error, const std::string &text) const {
    thread.owner->fail(thread, error,
                       text + ": " + describeThread(thread) + " " +
                           (kind == Kind::read ? "reads " : "writes ") +
                           std::to_string(bytes) + " bytes, " + site);
  }
};
} // namespace

static State &getState() {
  static auto *state = new State;
  return *state;
}

void remat::cuda::emulator::startChecks(Launch &launch) {
  ++getState().launch;
  getState().counts = &getCounts(launch.getName());
}

void remat::cuda::emulator::startBlockChecks() { ++getState().block; }

void remat::cuda::emulator::reportAssertion(const EmulatedThread &thread,
                                            const char *message,
                                            const char *file, uint32_t line) {
  exitWithError("kernel '" + std::string(getRunningKernel()) +
                "': assertion failed: " + message + " (" + file + ":" +
                std::to_string(line) + "), " + describeThread(thread));
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

static Stamp createStamp(const Access &access) {
  const Block &block = *access.thread.owner;
  Stamp stamp;
  stamp.block = block.getLinearIndex() + 1;
  stamp.epoch = block.getEpoch();
  stamp.thread = access.thread.index;
  stamp.warpEpoch = access.thread.warpEpoch;
  stamp.site = getState().getNumber(access.site);
  return stamp;
}

static void failByRace(const Access &access, const Stamp &now,
                       const Stamp &earlier, bool wasWrite,
                       const char *memory) {
  std::string text = std::string("race on ") + memory + " memory";
  std::string other =
      now.block == earlier.block
          ? "thread " + std::to_string(earlier.thread) + " of the same block"
          : "thread " + std::to_string(earlier.thread) + " of block " +
                std::to_string(earlier.block - 1);
  access.fail(CUDA_ERROR_LAUNCH_FAILED,
              text + " with the " + (wasWrite ? "write" : "read") + " of " +
                  other + ", " + getState().sites[earlier.site - 1]);
}

static void checkShadow(const Access &access, Shadow &shadow, uint32_t run,
                        size_t offset, const char *memory) {
  Stamp now = createStamp(access);
  shadow.visit(offset, access.bytes, [&](Cell &cell) {
    const Stamp *earlier = cell.access(run, now, access.kind);
    if (earlier)
      failByRace(access, now, *earlier, cell.isWrite(earlier), memory);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static void checkWorkgroupMemory(const Access &access) {
  Block &block = *access.thread.owner;
  size_t bytes = block.getLaunch().getSharedBytes();
  intptr_t offset =
      access.address - reinterpret_cast<uintptr_t>(block.getShared());
  if (offset < 0 || size_t(offset) + access.bytes > bytes)
    access.fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                "out of bounds at byte " + std::to_string(offset) +
                    " of workgroup memory of " + std::to_string(bytes) +
                    " bytes");
  State &state = getState();
  if (access.kind != Kind::write)
    state.shared.visit(offset, access.bytes, [&](const Cell &cell) {
      if (!cell.isWritten(state.block))
        access.fail(CUDA_ERROR_LAUNCH_FAILED,
                    "workgroup memory that nobody wrote");
      return true;
    });
  checkShadow(access, state.shared, state.block, offset, "workgroup");
}

/// An access is good if one argument allows it. If none does, the one that is
/// the nearest tells why.
static void checkArguments(const Access &access) {
  const ArgumentRange *inside = nullptr, *nearest = nullptr;
  auto getDistance = [&](const ArgumentRange &range) {
    return access.address < range.begin ? range.begin - access.address
           : access.address < range.begin + range.bytes
               ? 0
               : access.address - (range.begin + range.bytes);
  };
  bool reads = access.kind != Kind::write, writes = access.kind != Kind::read;
  for (const ArgumentRange &range :
       access.thread.owner->getLaunch().getRanges()) {
    bool isInside = access.address >= range.begin &&
                    access.bytes <= range.bytes &&
                    access.address - range.begin <= range.bytes - access.bytes;
    if (isInside && (range.canRead || !reads) && (range.canWrite || !writes))
      return;
    if (isInside)
      inside = &range;
    if (!nearest || getDistance(range) < getDistance(*nearest))
      nearest = &range;
  }
  if (inside)
    access.fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                "argument #" + std::to_string(inside->argument) + " is " +
                    (inside->canRead ? "read-only" : "write-only"));
  std::string where = DeviceMemory::get().describe(access.address);
  if (nearest)
    where =
        "byte " +
        std::to_string(static_cast<intptr_t>(access.address - nearest->begin)) +
        " of argument #" + std::to_string(nearest->argument) + " of " +
        std::to_string(nearest->bytes) + " bytes (" + where + ")";
  access.fail(CUDA_ERROR_ILLEGAL_ADDRESS, "out of bounds at " + where);
}

static void check(const Access &access) {
  if (access.bytes == 0)
    return;
  if (access.address % access.alignment != 0)
    access.fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                "misaligned access, the alignment must be " +
                    std::to_string(access.alignment));
  if (access.thread.owner->isNearShared(access.address))
    return checkWorkgroupMemory(access);
  if (access.thread.isOnStack(reinterpret_cast<void *>(access.address)))
    return;
  DeviceMemory &memory = DeviceMemory::get();
  if (!memory.contains(access.address))
    access.fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                "out of bounds: no memory of the device");
  checkArguments(access);
  State &state = getState();
  if (access.kind != Kind::write)
    state.counts->bytesRead += access.bytes;
  if (access.kind != Kind::read)
    state.counts->bytesWritten += access.bytes;
  checkShadow(access, state.global, state.launch,
              access.address - memory.getBase(), "global");
}

extern "C" {
__attribute__((visibility("default"))) void
remat_emu_access(void *record, const void *pointer, int64_t bytes,
                 int64_t alignment, int32_t kind, const char *site) {
  check({Block::get(record), reinterpret_cast<uintptr_t>(pointer),
         static_cast<size_t>(bytes), alignment, static_cast<Kind>(kind), site});
}

__attribute__((visibility("default"))) void
remat_emu_access_masked(void *record, const void *pointer, int64_t laneBytes,
                        uint64_t mask, int64_t alignment, int32_t kind,
                        const char *site) {
  Access access = {Block::get(record),
                   reinterpret_cast<uintptr_t>(pointer),
                   static_cast<size_t>(laneBytes),
                   alignment,
                   static_cast<Kind>(kind),
                   site};
  for (; mask != 0; mask >>= 1) {
    if (mask & 1)
      check(access);
    access.address += laneBytes;
    access.alignment = std::min(alignment, laneBytes);
  }
}
}
