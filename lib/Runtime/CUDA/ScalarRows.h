//===- ScalarRows.h - Losses and assertions, fetched later -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host would wait for every step if it looked at every loss. The device
// keeps them instead, in rows with the assertions of the same step: bytes that
// are 0 where one did not hold. Graphs write to the first row, whose address is
// the same in every step; `keep` moves it into the next free one.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_SCALARROWS_H
#define REMAT_RUNTIME_CUDA_SCALARROWS_H

#include "Staging.h"
#include "remat/CUDA/RuntimeMemory.h"
#include "remat/Runtime/Device.h"

#include <optional>

namespace remat::cuda {

struct Assertion {
  const char *message, *where;
};

class ScalarRows {
public:
  /// `memory` has (1 + kNumRows) * kRowBytes.
  ScalarRows(const Driver &driver, CUstream stream, Staging &staging,
             CUdeviceptr memory)
      : driver(driver), stream(stream), staging(staging), memory(memory) {}

  static constexpr size_t kMaxAssertions = kRowBytes - kScalarBytes;
  bool hasRoomForAssertion() const {
    return current.assertions.size() < kMaxAssertions;
  }
  /// Returns where a command has to put the byte of the condition.
  CUdeviceptr addAssertion(const Assertion &assertion);
  bool hasAssertions() const { return !current.assertions.empty(); }

  /// Ends the current row, all commands of which were issued. Without a scalar,
  /// it keeps assertions only. Returns whether all rows are taken.
  bool keep(CUdeviceptr scalar, ScalarKind kind);
  void keepAssertions();
  /// Fails with the first assertion, in the order of the program, that did not
  /// hold. All commands were issued.
  void check();
  /// Checks, and returns all scalars that were kept.
  std::vector<double> take();

private:
  struct Row {
    std::optional<ScalarKind> kind;
    std::vector<Assertion> assertions;
  };
  CUdeviceptr rowAddress(size_t index) const {
    return memory + (1 + index) * kRowBytes;
  }
  void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  void closeRow();
  void fetch();

  const Driver &driver;
  CUstream stream;
  Staging &staging;
  CUdeviceptr memory;
  Row current;
  std::vector<Row> rows;
  std::vector<double> values;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_SCALARROWS_H
