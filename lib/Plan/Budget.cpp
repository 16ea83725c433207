//===- Budget.cpp - Bytes as people write them ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Digits are read here, since the standard library's functions ask the locale
// what a point is.
//===----------------------------------------------------------------------===//

#include "remat/Plan/Budget.h"

#include <algorithm>
#include <cmath>
#include <iterator>

using namespace remat::plan;

int64_t Budget::getBytes(int64_t whole) const {
  if (fraction == 0)
    return bytes;
  // Fractions are written with a few digits: 0.7 is not to miss by a byte.
  return std::max<int64_t>(1,
                           int64_t(std::ceil(fraction * double(whole) - 1e-6)));
}

/// Splits `text` into a number and what follows it, without spaces around both.
/// Returns false if there is no digit.
static bool readNumber(const std::string &text, double &value, bool &hasPoint,
                       std::string &rest) {
  size_t at = 0;
  auto skipSpaces = [&] {
    while (at < text.size() && text[at] == ' ')
      ++at;
  };
  skipSpaces();
  double place = 1;
  bool hasDigits = false;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '.' && !hasPoint) {
      hasPoint = true;
    } else if (c >= '0' && c <= '9') {
      hasDigits = true;
      value = value * 10 + (c - '0');
      place *= hasPoint ? 10 : 1;
    } else {
      break;
    }
  }
  value /= place;
  skipSpaces();
  rest = text.substr(at);
  while (!rest.empty() && rest.back() == ' ')
    rest.pop_back();
  return hasDigits;
}

std::optional<Budget> remat::plan::parseBudget(const std::string &text,
                                               std::string &error) {
  constexpr struct {
    const char *name;
    double factor;
  } units[] = {{"", 1},         {"B", 1},        {"KiB", 0x1p10},
               {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
               {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
               {"TB", 1e12}};
  double value = 0;
  bool hasPoint = false;
  std::string unit;
  bool hasDigits = readNumber(text, value, hasPoint, unit);
  const auto *known =
      std::find_if(std::begin(units), std::end(units),
                   [&](auto each) { return unit == each.name; });
  if (!hasDigits || known == std::end(units)) {
    error = "budget '" + text +
            "' is neither a number of bytes such as 4096, 500MiB or 1.5GB, nor "
            "a fraction such as 0.8";
    return std::nullopt;
  }
  Budget budget;
  if (unit.empty() && hasPoint) {
    if (!(value > 0 && value <= 1)) {
      error = "budget '" + text +
              "' is a fraction of what the program takes before anything is "
              "recomputed for it, which must be above 0 and at most 1; bytes "
              "have no point, or a unit";
      return std::nullopt;
    }
    budget.fraction = value;
    return budget;
  }
  double bytes = std::floor(value * known->factor);
  if (bytes < 1 || bytes >= 0x1p63) {
    error =
        "budget '" + text + "' must be at least one byte and below 2^63 bytes";
    return std::nullopt;
  }
  budget.bytes = int64_t(bytes);
  return budget;
}

std::optional<double> remat::plan::parseSlowdown(const std::string &text,
                                                 std::string &error) {
  double value = 0;
  bool hasPoint = false;
  std::string rest;
  if (readNumber(text, value, hasPoint, rest) && rest.empty() && value <= 100)
    return value;
  error = "slowdown '" + text +
          "' must be a number from 0 to 100: how much more time may be spent, "
          "as a fraction of all of it (0.1)";
  return std::nullopt;
}
