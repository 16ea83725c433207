//===- Step.h - What a host program calls -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that runs steps inside another one must not end it. These functions
// are the only ones of the runtime that a host program calls, by their C names.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_STEP_H
#define REMAT_RUNTIME_STEP_H

#include <cstddef>
#include <cstdint>

extern "C" {

/// `@remat_step` of a program that was lowered by
/// `remat-lower-train-step=as-function`.
typedef void (*RematStepFunction)(int64_t buffers, int64_t step);

/// Runs step number `step` on `buffers`, an address for each buffer. Returns
/// null, or, if something failed, a message that the caller frees. The step is
/// left where that happened, so that everything before it has been done and
/// nothing after it; memory of the program's own is lost then. A parallel loop
/// cannot be left from inside: the step runs to its end. `hasWritten`: whether
/// parameters or states may have been written by then.
char *remat_rt_run_step(RematStepFunction function, void *const *buffers,
                        int64_t step, bool *hasWritten);

/// Starts the ranks of this process (Ranks.h), if there are several: loads the
/// library that connects them, which is beside this one. Returns null, or a
/// message that the caller frees. One thread calls this and the next four.
char *remat_rt_start_ranks(int64_t *rank, int64_t *size);

/// `remat_rt_run_step` on all ranks. If one of them fails, so do the others,
/// with its message. `isOneAxis`: whether all ranks take part in each of the
/// step's collectives. Where they do not, a failure within a step ends all
/// processes, since some ranks wait for others that wait themselves.
char *remat_rt_run_step_on_ranks(RematStepFunction function,
                                 void *const *buffers, int64_t step,
                                 bool *hasWritten, bool isOneAxis);

/// Fails the step that the other ranks run, or are about to, by `message`.
/// Returns null, or, if they cannot be told, a message that the caller frees.
char *remat_rt_fail_step(const char *message);

/// Calls `receive` with the texts of all ranks, by rank. Returns null, or, if
/// that failed, a message that the caller frees.
char *remat_rt_exchange_texts(const char *text, size_t bytes,
                              void (*receive)(const char *text, size_t bytes,
                                              void *userData),
                              void *userData);

/// Copies the memory of the first rank to that of the others. Returns null, or,
/// if that failed, a message that the caller frees.
char *remat_rt_broadcast(void *data, size_t bytes);

/// Runs `count` iterations of a loop, those from `begin` to `end` by each call
/// of `body`, on the threads that steps run on.
void remat_parallel_for(int64_t count,
                        void (*body)(void *context, int64_t begin, int64_t end),
                        void *context);

/// Writes the file called `path`, which is replaced as a whole: `write` gets
/// the name of a temporary file to write to, and returns whether it has. A
/// symbolic link stays one, and nothing but a regular file is replaced. Returns
/// null, or, if that failed, a message that the caller frees.
char *remat_rt_replace_file(const char *path,
                            bool (*write)(const char *temporary,
                                          void *userData),
                            void *userData);

/// `count` numbers in blocks of `size`, in codes of `bits` bits (8 or 4), as
/// `!opt.blockwise` has them.
struct RematBlocks {
  int64_t bits, size;
  bool isSigned;
  int64_t count;
};

/// Computes the numbers of codes, which have a row for each block, and scales.
void remat_rt_dequantize(const RematBlocks *blocks, const uint8_t *codes,
                         const float *scales, float *numbers);
/// Computes codes and scales of numbers.
void remat_rt_quantize(const RematBlocks *blocks, const float *numbers,
                       uint8_t *codes, float *scales);

} // extern "C"

#endif // REMAT_RUNTIME_STEP_H
