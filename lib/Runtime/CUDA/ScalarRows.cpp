//===- ScalarRows.cpp - Losses and assertions, fetched later --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarRows.h"

#include "Failure.h"

#include <utility>

using namespace remat;
using namespace remat::cuda;

CUdeviceptr ScalarRows::addAssertion(const Assertion &assertion) {
  current.assertions.push_back(assertion);
  return memory + kScalarBytes + current.assertions.size() - 1;
}

void ScalarRows::copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  driver.check(driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
               "cuMemcpyDtoDAsync");
}

void ScalarRows::closeRow() {
  if (size_t bytes = current.assertions.size())
    copy(rowAddress(rows.size()) + kScalarBytes, memory + kScalarBytes, bytes);
  rows.push_back(std::exchange(current, {}));
  if (rows.size() == size_t(kNumRows))
    fetch();
}

bool ScalarRows::keep(CUdeviceptr scalar, ScalarKind kind) {
  current.kind = kind;
  copy(rowAddress(rows.size()), scalar, byteWidth(kind));
  closeRow();
  return rows.empty() || values.size() + rows.size() >= size_t(kNumRows);
}

void ScalarRows::keepAssertions() {
  if (hasAssertions())
    closeRow();
}

[[noreturn]] static void report(const Assertion &assertion) {
  std::string message = assertion.message ? assertion.message : "";
  bool isPlaced = assertion.where && *assertion.where;
  assertionFailed = true;
  fail(isPlaced ? std::string(assertion.where) + ": " + message : message);
}

void ScalarRows::fetch() {
  std::vector<char> bytes(rows.size() * kRowBytes);
  staging.download(bytes.data(), rowAddress(0), bytes.size());
  const Assertion *failed = nullptr;
  for (size_t i = 0; i < rows.size() && !failed; ++i) {
    const char *row = bytes.data() + i * kRowBytes;
    if (rows[i].kind)
      values.push_back(toDouble(*rows[i].kind, row));
    for (size_t k = 0; k < rows[i].assertions.size() && !failed; ++k)
      if (!row[kScalarBytes + k])
        failed = &rows[i].assertions[k];
  }
  // A host program may go on.
  Assertion first = failed ? *failed : Assertion{};
  rows.clear();
  if (failed)
    report(first);
}

void ScalarRows::check() {
  keepAssertions();
  if (!rows.empty())
    fetch();
}

std::vector<double> ScalarRows::take() {
  check();
  return std::exchange(values, {});
}
