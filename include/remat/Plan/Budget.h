//===- Budget.h - Bytes as people write them --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_PLAN_BUDGET_H
#define REMAT_PLAN_BUDGET_H

#include <cstdint>
#include <optional>
#include <string>

namespace remat::plan {

/// So many bytes, or a fraction of what a program takes without a budget.
struct Budget {
  int64_t bytes = 0;
  /// In (0, 1]; 0 if `bytes` counts.
  double fraction = 0;

  /// Returns the bytes, of a fraction those of `whole`.
  int64_t getBytes(int64_t whole) const;
};

/// Reads 4096, 500MiB, 1.5GB or 0.8. Returns none, and the error in `error`, if
/// `text` has another form, is not positive, or is above 2^63 bytes.
std::optional<Budget> parseBudget(const std::string &text, std::string &error);

/// Reads how much more time may be spent, as a fraction of all of it: 0.1.
/// Returns none, and the error in `error`, if `text` is no number from 0 to
/// 100.
std::optional<double> parseSlowdown(const std::string &text,
                                    std::string &error);

} // namespace remat::plan

#endif // REMAT_PLAN_BUDGET_H
