//===- Options.cpp - The emulator's environment variables -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"

#include "Errors.h"

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace remat::cuda::emulator;

/// A variable that is set but no number would be taken for another one.
static uint64_t readNumber(const char *name, const char *text, char **end) {
  uint64_t value = std::strtoull(text, end, 10);
  if (*end == text || (**end != '\0' && **end != ':'))
    exitWithError(std::string(name) + " must be a number, but is '" + text +
                  "'");
  return value;
}

static uint64_t readNumber(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  char *end = nullptr;
  return text && *text ? readNumber(name, text, &end) : otherwise;
}

static Order readOrder() {
  const char *text = std::getenv("REMAT_EMULATOR_ORDER");
  std::string order = text ? text : "";
  if (order.empty() || order == "forward")
    return Order::forward;
  if (order == "backward")
    return Order::backward;
  if (order == "random")
    return Order::random;
  exitWithError("REMAT_EMULATOR_ORDER must be forward, backward or random, but "
                "is '" +
                order + "'");
}

Options &Options::get() {
  static Options options;
  return options;
}

void Options::read() {
  const Options defaults;
  memory = readNumber("REMAT_EMULATOR_MEMORY", defaults.memory);
  seed = readNumber("REMAT_EMULATOR_SEED", defaults.seed);
  order = readOrder();
  threads = readNumber("REMAT_EMULATOR_THREADS", 0);
  if (threads == 0)
    threads = std::max(1U, std::thread::hardware_concurrency());
  isFatal = readNumber("REMAT_EMULATOR_FATAL", 1) != 0;
  failingCall = 0;
  failure.reset();
  if (const char *text = std::getenv("REMAT_EMULATOR_FAIL"); text && *text) {
    char *end = nullptr;
    failingCall = readNumber("REMAT_EMULATOR_FAIL", text, &end);
    if (*end == ':')
      failure = readNumber("REMAT_EMULATOR_FAIL", end + 1, &end);
  }
  const char *text = std::getenv("REMAT_EMULATOR_REPORT");
  report = text ? text : "";
}
