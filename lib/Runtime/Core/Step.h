//===- Step.h - A step of a shipped object ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CORE_STEP_H
#define REMAT_RUNTIME_CORE_STEP_H

#include "Context.h"
#include "Ship.h"

namespace remat {

/// More than a jmp_buf of any C library takes, of which the core knows no more
/// than two functions.
struct JumpBuffer {
  alignas(16) char bytes[512];
};

static_assert(sizeof(Context) == kShipAlignment,
              "workspaces follow contexts, see ShipModel::threadBytes");

/// One call of a step or an evaluation, on the stack of the caller.
struct ShippedStep : Team {
  const ShipModel *model;
  ShipState *state;
  Context first;
  /// Contexts and workspaces of the other threads.
  char *others;
  JumpBuffer entry;
  /// 1 after a failure. The first one counts.
  int32_t hasFailed = 0;
  bool hasWritten = false;

  Context &contextOf(int64_t thread) {
    return thread == 0 ? first
                       : *reinterpret_cast<Context *>(
                             others + (thread - 1) * model->threadBytes);
  }
  /// Makes a context whose workspace begins at `memory`.
  Context makeContext(char *memory) {
    char *left = memory + model->panelBytes, *sums = left + model->leftBytes;
    return {this, memory, left, sums, false};
  }
};

/// Checks a state that has been initialized.
inline ShipCode checkState(const ShipModel &model, const ShipState *state) {
  if (!state)
    return ShipCode::NULL_POINTER;
  if (reinterpret_cast<uintptr_t>(state) % kShipAlignment != 0)
    return ShipCode::MISALIGNED;
  if (state->magic != ShipState::kMagic ||
      state->version != ShipState::kVersion ||
      state->model != static_cast<uint64_t>(model.hash))
    return ShipCode::OTHER_MODEL;
  return ShipCode::OK;
}

} // namespace remat

#endif // REMAT_RUNTIME_CORE_STEP_H
