//===- Checkpoint.cpp - A run in a file -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Checkpoint.h"

#include "AtomicFile.h"
#include "StoredStates.h"
#include "remat/Runtime/Device.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace remat;

static const ArrayType kInteger{DType::i64, {}};

Checkpoint::Checkpoint(const TrainDescription &description,
                       const std::vector<char *> &buffers, int64_t batchSize,
                       bool writes)
    : description(description), buffers(buffers), batchSize(batchSize),
      shuffle(description.shuffle), writes(writes) {
  if (writes && !description.checkpoint.empty())
    AtomicFile probe(description.checkpoint);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Fails because the file is of another run.
[[noreturn]] static void refuse(const std::string &path,
                                const std::string &what,
                                const std::string &found,
                                const std::string &wanted) {
  fail(path + ": the checkpoint's run has " + what + " " + found +
       ", this one has " + wanted + "; use the same " + what +
       ", or another file (REMAT_INIT=" + path +
       " starts a new run from its parameters)");
}

/// Compares a number with what the file records, if it does.
static void expect(const ArrayFile &file, const std::string &key,
                   const std::string &what, int64_t wanted) {
  int64_t found;
  file.read(key, kInteger, &found);
  if (found != wanted)
    refuse(file.path(), what, std::to_string(found), std::to_string(wanted));
}

static std::string readText(const ArrayFile &file, const std::string &key) {
  constexpr int64_t longest = 4096;
  const ArrayType &type = file.get(key);
  if (type.dtype != DType::u8 || type.shape.size() != 1 ||
      type.shape[0] > longest)
    fail(file.path() + ": array '" + key + "' must be a short text in bytes");
  std::string text(type.shape[0], '\0');
  file.read(key, text.data());
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, '?');
  return text;
}

std::optional<int64_t> Checkpoint::load() {
  const std::string &path = description.checkpoint;
  if (path.empty() || (access(path.c_str(), F_OK) != 0 && errno == ENOENT))
    return std::nullopt;
  ArrayFile file(path);
  expect(file, "remat.seed", "seed", description.seed);
  int64_t step;
  file.read("remat.step", kInteger, &step);
  if (step < 0)
    fail(path + ": 'remat.step' must be at least 0, but got " +
         std::to_string(step));
  if (file.contains("remat.optimizer")) {
    std::string optimizer = readText(file, "remat.optimizer");
    if (optimizer != description.optimizer)
      refuse(path, "optimizer", optimizer, description.optimizer);
    expect(file, "remat.batch_size", "batch size", batchSize);
    expect(file, "remat.shuffle", "shuffle", shuffle);
  } else {
    warn(path + ": does not record optimizer, batch size and shuffling, so "
                "that they are not compared with this run's");
  }
  StateReader states(file);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const TrainArgument &argument = description.arguments[i];
    if (!argument.isSaved())
      continue;
    HostView view(buffers[i], argument.type.numBytes(), HostView::overwrite);
    if (!states.convert(argument, view.data()))
      file.read(argument.name, argument.type, view.data());
    view.commit();
  }
  savedStep = step;
  if (!writes)
    return step;
  if (std::string converted = states.describe(); !converted.empty())
    std::printf("converted states of %s: %s\n", path.c_str(),
                converted.c_str());
  std::printf("resumed from %s at step %lld\n", path.c_str(),
              static_cast<long long>(step));
  return step;
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

template <typename T, typename IsNaN>
static bool any(const char *data, int64_t count, IsNaN isNaN) {
  const auto *elements = reinterpret_cast<const T *>(data);
  return std::any_of(elements, elements + count, isNaN);
}

static bool hasNaN(const ArrayType &type, char *buffer) {
  HostView view(buffer, type.numBytes(), HostView::read);
  const char *data = view.data();
  int64_t count = type.numElements();
  switch (type.dtype) {
  case DType::f64:
    return any<double>(data, count, [](double x) { return std::isnan(x); });
  case DType::f32:
    return any<float>(data, count, [](float x) { return std::isnan(x); });
  case DType::f16:
    return any<uint16_t>(data, count,
                         [](uint16_t x) { return (x & 0x7fff) > 0x7c00; });
  case DType::bf16:
    return any<uint16_t>(data, count,
                         [](uint16_t x) { return (x & 0x7fff) > 0x7f80; });
  default:
    return false;
  }
}

void Checkpoint::expectFinite(int64_t step, double loss) const {
  std::string what;
  if (!std::isfinite(loss))
    what = "the loss is " + std::to_string(loss);
  for (size_t i = 0; i < buffers.size() && what.empty(); ++i) {
    const TrainArgument &argument = description.arguments[i];
    if (argument.role == Role::parameter && hasNaN(argument.type, buffers[i]))
      what = "parameter '" + argument.name + "' holds NaN";
  }
  if (what.empty())
    return;
  fail("step " + std::to_string(step) + ": " + what + "; " +
       description.checkpoint +
       (savedStep ? " is left as it was at step " + std::to_string(*savedStep)
                  : " is not written"));
}

void Checkpoint::save(int64_t step, double loss) {
  if (description.checkpoint.empty() || savedStep == step)
    return;
  expectFinite(step, loss);
  ArrayWriter writer(description.checkpoint);
  writer.add("remat.step", kInteger, &step);
  writer.add("remat.seed", kInteger, &description.seed);
  writer.add("remat.batch_size", kInteger, &batchSize);
  writer.add("remat.shuffle", kInteger, &shuffle);
  const std::string &optimizer = description.optimizer;
  writer.add("remat.optimizer", {DType::u8, {int64_t(optimizer.size())}},
             optimizer.data());
  if (std::string stored = describeStored(description); !stored.empty())
    writer.add(storedKey, {DType::u8, {int64_t(stored.size())}}, stored.data());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const TrainArgument &argument = description.arguments[i];
    if (!argument.isSaved())
      continue;
    HostView view(buffers[i], argument.type.numBytes(), HostView::read);
    writer.add(argument.name, argument.type, view.data());
  }
  writer.commit();
  savedStep = step;
}
