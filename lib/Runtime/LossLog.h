//===- LossLog.h - Losses in a file ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_LOSSLOG_H
#define REMAT_RUNTIME_LOSSLOG_H

#include <cstdint>
#include <cstdio>
#include <string>

namespace remat {

/// Lines `step<tab>loss`, on the disk as soon as they are written. Whatever
/// cannot be written fails.
class LossLog {
public:
  LossLog() = default;
  LossLog(const LossLog &) = delete;
  ~LossLog() { close(); }

  /// Continues after the lines of the first `step` steps; drops the others.
  void open(const std::string &path, int64_t step);
  /// Does nothing if no file is open.
  void add(int64_t step, double loss);
  void close();

private:
  std::string name;
  FILE *file = nullptr;
};

} // namespace remat

#endif // REMAT_RUNTIME_LOSSLOG_H
