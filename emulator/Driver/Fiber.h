//===- Fiber.h - Threads of a block on one thread of the host ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A switch is 15 instructions on x86-64, and ucontext's elsewhere.
//===----------------------------------------------------------------------===//

#ifndef REMAT_EMULATOR_DRIVER_FIBER_H
#define REMAT_EMULATOR_DRIVER_FIBER_H

#include <cstddef>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace remat::cuda::emulator {

/// Where a fiber goes on.
struct FiberContext {
#if defined(__x86_64__)
  void *stackPointer = nullptr;
#else
  ucontext_t context;
#endif
};

/// Stores where this fiber goes on in `from`, and goes on in `to`.
void switchFiber(FiberContext &from, FiberContext &to);

/// Of each fiber, above a range that faults.
constexpr size_t kStackBytes = 128 << 10;

/// A stack: its lowest address. Stacks are used again, by the same thread of
/// the host.
char *takeStack();
void giveStack(char *stack);
/// Returns true if `address` is in the range below a stack.
bool isBelowStack(const void *address);

/// Makes `context` start `entry`, which must not return, on `stack`.
void startFiber(FiberContext &context, char *stack, void (*entry)());

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_FIBER_H
