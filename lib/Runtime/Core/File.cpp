//===- File.cpp - States of a shipped object in files ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safetensors files, as `Step.save` of the Python package writes them, through
// functions of the caller. A file's header is text that the compiler knows, but
// for two numbers: it is compared, not parsed.
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "remat/Runtime/Hash.h"

using namespace remat;

namespace {
/// Both return 0 if all bytes were read or written.
using Read = int (*)(void *stream, void *data, uint64_t bytes);
using Write = int (*)(void *stream, const void *data, uint64_t bytes);

struct Text {
  const char *data;
  int64_t bytes;
};

/// A number as text.
struct Digits {
  char text[20];
  int64_t count = 0;

  explicit Digits(int64_t number) {
    uint64_t rest = number < 0 ? -static_cast<uint64_t>(number) : number;
    int64_t first = sizeof(text);
    do
      text[--first] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0)
      text[--first] = '-';
    count = static_cast<int64_t>(sizeof(text)) - first;
    for (int64_t i = 0; i < count; ++i)
      text[i] = text[first + i];
  }
};

/// Compares a header with the text that it has to be, up to spaces.
class Matcher {
public:
  Matcher(Text text) : text(text) {}

  bool take(char c) {
    if (c == ' ')
      return true;
    if (isInNumber && ((c >= '0' && c <= '9') || c == '-'))
      return takeDigit(c);
    finishNumber();
    while (at < text.bytes && text.data[at] == ' ')
      ++at;
    if (at == text.bytes)
      return false;
    char expected = text.data[at++];
    if (expected != kShipStepMark && expected != kShipSeedMark)
      return c == expected;
    isInNumber = true;
    isSeed = expected == kShipSeedMark;
    isNegative = false;
    number = 0;
    return takeDigit(c);
  }
  bool isComplete() const { return at == text.bytes; }

  int64_t step = 0, seed = 0;

private:
  bool takeDigit(char c) {
    if (c == '-')
      return isNegative = !isNegative && number == 0;
    number = number * 10 + static_cast<uint64_t>(c - '0');
    return c >= '0' && c <= '9';
  }
  void finishNumber() {
    if (!isInNumber)
      return;
    isInNumber = false;
    (isSeed ? seed : step) =
        static_cast<int64_t>(isNegative ? -number : number);
  }

  Text text;
  int64_t at = 0;
  uint64_t number = 0;
  bool isInNumber = false, isSeed = false, isNegative = false;
};
} // namespace

static ShipCode readHeader(Matcher &matcher, Text text, Read read,
                           void *stream) {
  unsigned char length[8];
  if (read(stream, length, sizeof(length)) != 0)
    return ShipCode::TRUNCATED;
  uint64_t rest = 0;
  for (int i = 7; i >= 0; --i)
    rest = rest << 8 | length[i];
  // With other spaces and numbers, but not with anything else.
  if (rest > static_cast<uint64_t>(text.bytes) * 2 + 256)
    return ShipCode::BAD_FILE;
  char chunk[256];
  while (rest > 0) {
    uint64_t count = rest < sizeof(chunk) ? rest : sizeof(chunk);
    if (read(stream, chunk, count) != 0)
      return ShipCode::TRUNCATED;
    for (uint64_t i = 0; i < count; ++i)
      if (!matcher.take(chunk[i]))
        return ShipCode::BAD_FILE;
    rest -= count;
  }
  return matcher.isComplete() ? ShipCode::OK : ShipCode::BAD_FILE;
}

REMAT_CORE int32_t remat_core_load(const ShipModel *model, const char *text,
                                   int64_t textBytes, ShipState *state,
                                   Read read, void *stream) {
  ShipCode code = read ? checkState(*model, state) : ShipCode::NULL_POINTER;
  Matcher matcher({text, textBytes});
  if (code == ShipCode::OK)
    code = readHeader(matcher, {text, textBytes}, read, stream);
  if (code != ShipCode::OK)
    return static_cast<int32_t>(code);
  // Until all of it has been read, it is the state of no step.
  state->flags = ShipState::kHasValues | ShipState::kIsDamaged;
  for (int64_t i = 0; i < model->numSaved; ++i) {
    const ShipSaved &saved = model->saved()[i];
    if (saved.bytes > 0 &&
        read(stream, reinterpret_cast<char *>(state) + saved.at, saved.bytes) !=
            0)
      return static_cast<int32_t>(ShipCode::TRUNCATED);
  }
  state->step = matcher.step;
  state->seed = matcher.seed;
  state->flags = ShipState::kHasValues;
  return static_cast<int32_t>(ShipCode::OK);
}

REMAT_CORE int32_t remat_core_save(const ShipModel *model, const char *text,
                                   int64_t textBytes, const ShipState *state,
                                   Write write, void *stream) {
  ShipCode code = write ? checkState(*model, state) : ShipCode::NULL_POINTER;
  if (code == ShipCode::OK && !(state->flags & ShipState::kHasValues))
    code = ShipCode::NO_VALUES;
  if (code == ShipCode::OK && (state->flags & ShipState::kIsDamaged))
    code = ShipCode::DAMAGED;
  if (code != ShipCode::OK)
    return static_cast<int32_t>(code);
  Digits step(state->step), seed(state->seed);
  // Each number takes the place of one character.
  uint64_t bytes = textBytes - 2 + step.count + seed.count;
  uint64_t padding = -bytes % 8;
  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>((bytes + padding) >> (8 * i));
  bool isGood = write(stream, length, sizeof(length)) == 0;
  for (int64_t begin = 0, end; isGood && begin < textBytes; begin = end) {
    end = begin + 1;
    if (text[begin] == kShipStepMark)
      isGood = write(stream, step.text, step.count) == 0;
    else if (text[begin] == kShipSeedMark)
      isGood = write(stream, seed.text, seed.count) == 0;
    else {
      while (end < textBytes && text[end] != kShipStepMark &&
             text[end] != kShipSeedMark)
        ++end;
      isGood = write(stream, text + begin, end - begin) == 0;
    }
  }
  if (isGood && padding > 0)
    isGood = write(stream, "       ", padding) == 0;
  for (int64_t i = 0; isGood && i < model->numSaved; ++i) {
    const ShipSaved &saved = model->saved()[i];
    isGood = saved.bytes == 0 ||
             write(stream, reinterpret_cast<const char *>(state) + saved.at,
                   saved.bytes) == 0;
  }
  return static_cast<int32_t>(isGood ? ShipCode::OK : ShipCode::TRUNCATED);
}

/// The hash of everything that `remat_core_save` writes but the header; 0 if
/// the state is of another model.
REMAT_CORE uint64_t remat_core_digest(const ShipModel *model,
                                      const ShipState *state) {
  if (checkState(*model, state) != ShipCode::OK)
    return 0;
  uint64_t result = hash({});
  for (int64_t i = 0; i < model->numSaved; ++i) {
    const ShipSaved &saved = model->saved()[i];
    result = hash({reinterpret_cast<const char *>(state) + saved.at,
                   static_cast<size_t>(saved.bytes)},
                  result);
  }
  return result;
}
