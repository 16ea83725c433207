//===- Fiber.cpp - Threads of a block on one thread of the host -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fiber.h"

#include "Errors.h"

#include <cstdint>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <vector>

using namespace remat::cuda::emulator;

/// Addresses only. Large, since a variable may be larger than a page.
static constexpr size_t kGuardBytes = 1 << 20;

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

static std::mutex stacksMutex;
/// All stacks, by their lowest address.
static std::set<const char *> &getStacks() {
  static auto *stacks = new std::set<const char *>;
  return *stacks;
}

namespace {
/// Stacks that are not in use; a thread of the host gives them to others when
/// it ends.
struct FreeStacks {
  std::vector<char *> stacks;
  ~FreeStacks();
};
} // namespace

static std::vector<char *> &getSharedStacks() {
  static auto *stacks = new std::vector<char *>;
  return *stacks;
}

FreeStacks::~FreeStacks() {
  std::lock_guard<std::mutex> lock(stacksMutex);
  std::vector<char *> &shared = getSharedStacks();
  shared.insert(shared.end(), stacks.begin(), stacks.end());
}

static thread_local FreeStacks freeStacks;

char *remat::cuda::emulator::takeStack() {
  std::vector<char *> &own = freeStacks.stacks;
  if (own.empty()) {
    std::lock_guard<std::mutex> lock(stacksMutex);
    own.swap(getSharedStacks());
  }
  if (!own.empty()) {
    char *stack = own.back();
    own.pop_back();
    return stack;
  }
  void *range = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    exitWithError("no memory for the stacks of a block's threads");
  mprotect(range, kGuardBytes, PROT_NONE);
  char *stack = static_cast<char *>(range) + kGuardBytes;
  std::lock_guard<std::mutex> lock(stacksMutex);
  getStacks().insert(stack);
  return stack;
}

void remat::cuda::emulator::giveStack(char *stack) {
  freeStacks.stacks.push_back(stack);
}

bool remat::cuda::emulator::isBelowStack(const void *address) {
  auto above = getStacks().upper_bound(static_cast<const char *>(address));
  return above != getStacks().end() &&
         *above - static_cast<const char *>(address) <=
             static_cast<ptrdiff_t>(kGuardBytes);
}

//===----------------------------------------------------------------------===//
// Switches
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)

extern "C" void rematEmulatorSwitch(void **from, void *to);
asm(R"(
.text
.hidden rematEmulatorSwitch
.globl rematEmulatorSwitch
.type rematEmulatorSwitch,@function
rematEmulatorSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rematEmulatorSwitch, .-rematEmulatorSwitch
)");

void remat::cuda::emulator::switchFiber(FiberContext &from, FiberContext &to) {
  rematEmulatorSwitch(&from.stackPointer, to.stackPointer);
}

void remat::cuda::emulator::startFiber(FiberContext &context, char *stack,
                                       void (*entry)()) {
  auto **top = reinterpret_cast<void **>(stack + kStackBytes);
  *--top = nullptr; // Alignment as after a call, and the end of backtraces.
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  context.stackPointer = top;
}

#else

void remat::cuda::emulator::switchFiber(FiberContext &from, FiberContext &to) {
  swapcontext(&from.context, &to.context);
}

void remat::cuda::emulator::startFiber(FiberContext &context, char *stack,
                                       void (*entry)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = stack;
  context.context.uc_stack.ss_size = kStackBytes;
  context.context.uc_link = nullptr;
  makecontext(&context.context, entry, 0);
}

#endif
