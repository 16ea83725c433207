//===- Device.cpp - What is the same for every device ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Runtime/Device.h"

#include "BFloat16.h"

#include <cmath>
#include <cstring>

using namespace remat;

size_t remat::byteWidth(ScalarKind kind) {
  static constexpr size_t widths[numScalarKinds] = {4, 8, 2, 2, 1, 1, 2, 4, 8};
  return widths[static_cast<int64_t>(kind)];
}

template <typename T> static T load(const void *value) {
  T result;
  std::memcpy(&result, value, sizeof(T));
  return result;
}

static double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
                     : exponent < 0x1f
                         ? std::ldexp(mantissa + 1024, exponent - 25)
                     : mantissa == 0 ? INFINITY
                                     : NAN;
  return bits & 0x8000 ? -magnitude : magnitude;
}

double remat::toDouble(ScalarKind kind, const void *value) {
  switch (kind) {
  case ScalarKind::f32:
    return load<float>(value);
  case ScalarKind::f64:
    return load<double>(value);
  case ScalarKind::f16:
    return halfToDouble(load<uint16_t>(value));
  case ScalarKind::bf16:
    return fromBF16(load<uint16_t>(value));
  case ScalarKind::i1:
    return load<uint8_t>(value) & 1;
  case ScalarKind::i8:
    return load<int8_t>(value);
  case ScalarKind::i16:
    return load<int16_t>(value);
  case ScalarKind::i32:
    return load<int32_t>(value);
  case ScalarKind::i64:
    return double(load<int64_t>(value));
  }
  return NAN;
}

HostView::HostView(void *buffer, size_t bytes, Content content)
    : buffer(static_cast<char *>(buffer)), bytes(bytes), view(this->buffer) {
  if (device().isHostMemory(buffer))
    return;
  view =
      static_cast<char *>(device().allocateOnHost(MemoryClass::other, bytes));
  if (content == read)
    device().download(view, buffer, bytes);
}

HostView::~HostView() {
  if (isCopy())
    device().release(view);
}

void HostView::commit() {
  if (isCopy())
    device().upload(buffer, view, bytes);
}
