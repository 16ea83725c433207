//===- CommandList.h - Work that is not on the stream yet ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program appends commands; the runtime issues them together, so that a list
// that comes again can be replayed as a graph. Two lists are equal if the
// device would do the same: kernels, grids, arguments and addresses.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_COMMANDLIST_H
#define REMAT_RUNTIME_CUDA_COMMANDLIST_H

#include "Kernels.h"

#include <vector>

namespace remat::cuda {

/// Work that a library puts on the stream by itself.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// `words` are those that the command was appended with.
  virtual void issue(CUstream stream, const uint64_t *words) const = 0;
  /// As in `a product of 8x8x8 in f32`.
  virtual std::string describe() const = 0;
};

struct LaunchShape {
  uint32_t grid[3], block[3], sharedBytes;
  bool operator==(const LaunchShape &other) const;
};

class CommandList {
public:
  /// Appends one word for each argument, in the order of the kernel's.
  void launch(const Kernel &kernel, const LaunchShape &shape,
              const uint64_t *arguments, int64_t numArguments,
              const char *where);
  void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  void fill(CUdeviceptr to, uint8_t value, size_t bytes);
  void call(const LibraryCall &library, const uint64_t *words,
            int64_t numWords);

  size_t size() const { return commands.size(); }
  bool empty() const { return commands.empty(); }
  int64_t numLaunches() const { return launches; }
  int64_t numLibraryCalls() const { return libraryCalls; }
  void clear();
  bool operator==(const CommandList &other) const;

  /// Puts the work on the stream. With `waitsForEach`, an error of a command
  /// is reported at the command and not where the host waits next.
  void issue(const Driver &driver, CUstream stream,
             bool waitsForEach = false) const;

private:
  struct Command {
    enum Kind { kLaunch, kCopy, kFill, kCall } kind;
    uint32_t numWords;
    const void *object;
    LaunchShape shape;
    bool operator==(const Command &other) const;
  };
  /// ` for kernel 'k' at m.mlir:1:2`.
  std::string describe(size_t index) const;
  void append(Command::Kind kind, const void *object, const LaunchShape &shape,
              const uint64_t *operands, int64_t numOperands, const char *where);

  std::vector<Command> commands;
  std::vector<uint64_t> words;
  /// Of each command, for messages.
  std::vector<const char *> places;
  int64_t launches = 0, libraryCalls = 0;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_COMMANDLIST_H
