//===- Message.cpp - Errors and warnings ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Failure.h"
#include "remat/Runtime/Runtime.h"

#include <cstdio>
#include <cstdlib>

using namespace remat;

thread_local void (*remat::failureHandler)(const std::string &message) =
    nullptr;

thread_local bool remat::assertionFailed = false;

static void printMessage(const char *kind, const std::string &message) {
  std::fflush(stdout);
  std::fprintf(stderr, "remat: %s: %s\n", kind, message.c_str());
  std::fflush(stderr);
}

void remat::warn(const std::string &message) {
  printMessage("warning", message);
}

void remat::fail(const std::string &message) {
  if (failureHandler)
    failureHandler(message);
  printMessage("error", message);
  // Without destructors: other threads may be inside the library.
  std::_Exit(1);
}
