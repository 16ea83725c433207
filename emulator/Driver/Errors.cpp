//===- Errors.cpp - What the emulator reports -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Errors.h"

#include "DeviceMemory.h"
#include "Fiber.h"
#include "Report.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unistd.h>
#include <vector>

using namespace remat::cuda::emulator;

void remat::cuda::emulator::printError(const std::string &text) {
  std::string line = "remat: error: emulator: " + text + "\n";
  std::fflush(stdout);
  std::fputs(line.c_str(), stderr);
}

void remat::cuda::emulator::exitNow() {
  writeReport();
  std::fflush(nullptr);
  _exit(1);
}

void remat::cuda::emulator::exitWithError(const std::string &text) {
  printError(text);
  exitNow();
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static thread_local const char *runningKernel = nullptr;
static struct sigaction previousHandler;

void remat::cuda::emulator::setRunningKernel(const char *name) {
  runningKernel = name;
}

const char *remat::cuda::emulator::getRunningKernel() { return runningKernel; }

static std::string describeAddress(uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%zx", size_t(address));
  return text;
}

static std::string explain(uintptr_t address) {
  if (runningKernel) {
    std::string kernel = "kernel '" + std::string(runningKernel) + "': ";
    if (isBelowStack(reinterpret_cast<void *>(address)))
      return kernel + "a thread needs more stack than the emulator has (" +
             std::to_string(kStackBytes >> 10) + " KiB)";
    return kernel + "a thread accesses " + describeAddress(address) +
           ", which is no memory of the device, or is misaligned; "
           "`remat-emulate-kernels=\"check\"` says where";
  }
  return "the host touches device memory at " +
         DeviceMemory::get().describe(address);
}

/// Not safe in a signal handler by the letter (it allocates); the process ends
/// here, and a fault inside of malloc is not what this looks for.
static void handleFault(int signal, siginfo_t *info, void *context) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (runningKernel || DeviceMemory::get().contains(address))
    exitWithError(explain(address));
  if (previousHandler.sa_flags & SA_SIGINFO)
    return previousHandler.sa_sigaction(signal, info, context);
  if (previousHandler.sa_handler != SIG_DFL &&
      previousHandler.sa_handler != SIG_IGN)
    return previousHandler.sa_handler(signal);
  sigaction(SIGSEGV, &previousHandler, nullptr); // The access faults again.
}

void remat::cuda::emulator::installFaultHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = handleFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previousHandler);
  });
}

namespace {
/// A stack for the handler, as long as the thread has none of its own.
class FaultStack {
public:
  FaultStack() {
    stack_t old;
    if (sigaltstack(nullptr, &old) == 0 && !(old.ss_flags & SS_DISABLE))
      return;
    memory.resize(64 << 10);
    stack_t stack = {};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, nullptr);
  }
  ~FaultStack() {
    if (memory.empty())
      return;
    stack_t stack = {};
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }
  FaultStack(const FaultStack &) = delete;
  FaultStack &operator=(const FaultStack &) = delete;

private:
  std::vector<char> memory;
};
} // namespace

void remat::cuda::emulator::prepareFaultStack() {
  static thread_local FaultStack stack;
  (void)stack;
}
