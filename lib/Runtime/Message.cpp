//===- Message.cpp - Errors and warnings ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Failure.h"
#include "remat/Runtime/Runtime.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace remat;

thread_local void (*remat::failureHandler)(const std::string &message) =
    nullptr;

thread_local bool remat::assertionFailed = false;

std::atomic<int64_t> remat::rankInMessages{-1};
std::atomic<void (*)()> remat::endOtherRanks{nullptr};

static void printMessage(const char *kind, const std::string &message) {
  std::fflush(stdout);
  int64_t rank = rankInMessages;
  std::string by = rank < 0 ? "" : "rank " + std::to_string(rank) + ": ";
  std::fprintf(stderr, "remat: %s: %s%s\n", kind, by.c_str(), message.c_str());
  std::fflush(stderr);
}

void remat::warn(const std::string &message) {
  if (rankInMessages <= 0)
    printMessage("warning", message);
}

void remat::fail(const std::string &message) {
  if (failureHandler)
    failureHandler(message);
  // If all ranks fail, as they do for want of a file, the first one says so.
  if (rankInMessages > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  printMessage("error", message);
  if (void (*end)() = endOtherRanks.exchange(nullptr))
    end();
  // Without destructors: other threads may be inside the library.
  std::_Exit(1);
}
