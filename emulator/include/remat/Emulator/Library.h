//===- Library.h - For libraries on the emulated device ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a stand-in for one of NVIDIA's libraries (cuBLASLt, cuDNN) needs of the
// emulated driver: its work goes to streams and graphs like a kernel, and is
// done when theirs would be.
//===----------------------------------------------------------------------===//

#ifndef REMAT_EMULATOR_LIBRARY_H
#define REMAT_EMULATOR_LIBRARY_H

#include "remat/CUDA/Driver.h"

extern "C" {
/// Appends work to `stream`, or to the graph that it records. `run(data)` is
/// called when it is done, once for each replay; then device memory can be
/// accessed. `release(data)` is called when nothing can run it any more, also
/// if this fails.
remat::cuda::CUresult remat_emu_enqueue(remat::cuda::CUstream stream,
                                        remat::cuda::CUresult (*run)(void *),
                                        void *data, void (*release)(void *));

/// Returns true if all `bytes` from `pointer` on are in one allocation of the
/// device.
bool remat_emu_is_device_memory(const void *pointer, size_t bytes);

/// Adds a launch of `name`, with the bytes that it reads and writes, to the
/// report. To be called by `run`.
void remat_emu_count(const char *name, uint64_t read, uint64_t written);

/// Prints `remat: error: emulator: ` and `text`; ends the process with status 1
/// unless REMAT_EMULATOR_FATAL=0.
void remat_emu_error(const char *text);

/// Bytes that are allocated now, and the most that ever were.
uint64_t remat_emu_current_bytes();
uint64_t remat_emu_peak_bytes();
/// Prints the report (REMAT_EMULATOR_REPORT) on standard error.
void remat_emu_report();
}

#endif // REMAT_EMULATOR_LIBRARY_H
