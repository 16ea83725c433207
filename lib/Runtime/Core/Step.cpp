//===- Step.cpp - One step of a shipped object ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step is called with, the loops that its threads share, and its end if
// an assertion fails. Compiled code has no tables to unwind it by, so a failure
// leaves the step by a jump.
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "MemRef.h"

using namespace remat;

extern "C" int setJump(JumpBuffer *) __asm__("_setjmp")
    __attribute__((returns_twice));
extern "C" [[noreturn]] void jump(JumpBuffer *, int) __asm__("longjmp");

static ShippedStep &stepOf(Context *context) {
  return *static_cast<ShippedStep *>(context->team);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

REMAT_CORE void remat_core_rt_fail(Context *context, MemRef<char, 1> *message) {
  ShippedStep &step = stepOf(context);
  if (__atomic_exchange_n(&step.hasFailed, 1, __ATOMIC_RELAXED) == 0) {
    step.state->message = message->data();
    step.state->messageBytes = message->sizes[0];
  }
  // A shared loop cannot be left from inside.
  if (!context->isInSharedLoop)
    jump(&step.entry, 1);
}

REMAT_CORE void remat_core_rt_begin_writes(Context *context) {
  stepOf(context).hasWritten = true;
}

//===----------------------------------------------------------------------===//
// Shared loops
//===----------------------------------------------------------------------===//

namespace {
/// A loop that threads share: each takes the next part until there is none.
struct Loop {
  ShippedStep *step;
  int64_t count;
  /// Not every processor adds to 64 bits at once.
  int32_t parts, next;
  SharedBody body;
  void *captures;

  void run(Context &context) {
    context.isInSharedLoop = true;
    for (int32_t part;
         (part = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < parts;) {
      int64_t size = count / parts, rest = count % parts;
      int64_t begin = part * size + (part < rest ? part : rest);
      body(&context, captures, begin, begin + size + (part < rest));
    }
    context.isInSharedLoop = false;
  }
};
} // namespace

static void share(Context &caller, int64_t count, int64_t parts,
                  SharedBody body, void *captures) {
  ShippedStep &step = stepOf(&caller);
  if (count <= 0)
    return;
  constexpr int64_t kMostParts = 1 << 20;
  parts = count < parts ? count : parts;
  parts = parts < kMostParts ? parts : kMostParts;
  if (parts <= 1 || step.threads == 1 || caller.isInSharedLoop)
    return body(&caller, captures, 0, count);
  Loop loop{&step, count, static_cast<int32_t>(parts), 0, body, captures};
  step.state->parallelFor(
      step.state->pool, parts < step.threads ? parts : step.threads,
      [](void *data, int64_t index) {
        Loop &loop = *static_cast<Loop *>(data);
        loop.run(loop.step->contextOf(index));
      },
      &loop);
  if (step.hasFailed)
    jump(&step.entry, 1);
}

/// Called by compiled loops, see `convert-parallel-to-runtime`.
REMAT_CORE void remat_core_parallel_for(Context *context, int64_t count,
                                        SharedBody body, void *captures) {
  share(*context, count, wantedParts(*context->team), body, captures);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

REMAT_CORE void remat_core_rt_step_buffer(Context *, MemRef<char, 1> *result,
                                          int64_t buffers, int64_t index) {
  char *data = reinterpret_cast<char **>(buffers)[index];
  *result = {data, data, 0, {INT64_MAX}, {1}};
}

REMAT_CORE double *remat_core_learning_rates(Context *context) {
  return reinterpret_cast<double *>(stepOf(context).state + 1);
}

static bool isAligned(const void *address, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

namespace {
/// The arguments of a call.
struct Call {
  char *state, *arena;
  const char *batch;
  char *results;
  bool isEvaluation;

  /// Where the argument is; null, with OK, if it is of the other function.
  ShipCode locate(const ShipArgument &argument, char *&address) const {
    const char *const *pointer = nullptr;
    address = nullptr;
    switch (argument.place) {
    case ShipPlace::state:
      address = state + argument.at;
      return ShipCode::OK;
    case ShipPlace::arena:
      address = arena + argument.at;
      return ShipCode::OK;
    case ShipPlace::batch:
    case ShipPlace::evalBatch:
      if (isEvaluation != (argument.place == ShipPlace::evalBatch))
        return ShipCode::OK;
      pointer = reinterpret_cast<const char *const *>(batch + argument.at);
      break;
    case ShipPlace::result:
    case ShipPlace::evalResult:
      if (isEvaluation == (argument.place == ShipPlace::evalResult))
        address = results + argument.at;
      return ShipCode::OK;
    case ShipPlace::resultPointer:
    case ShipPlace::evalResultPointer:
      if (isEvaluation != (argument.place == ShipPlace::evalResultPointer))
        return ShipCode::OK;
      pointer = reinterpret_cast<const char *const *>(results + argument.at);
      break;
    }
    address = const_cast<char *>(*pointer);
    if (!address && argument.bytes > 0)
      return ShipCode::NULL_POINTER;
    return isAligned(address, argument.alignment) ? ShipCode::OK
                                                  : ShipCode::MISALIGNED;
  }
};

using Entry = void (*)(Context *context, int64_t buffers, int64_t step);
} // namespace

/// Apart from its caller, so that nothing of that one is in registers when the
/// step is left by a jump.
__attribute__((noinline)) static bool enter(ShippedStep &step, Entry entry,
                                            char **addresses) {
  if (setJump(&step.entry) == 0)
    entry(&step.first, reinterpret_cast<int64_t>(addresses), step.state->step);
  return step.hasFailed == 0;
}

REMAT_CORE int32_t remat_core_run(const ShipModel *model, Entry entry,
                                  bool isEvaluation, ShipState *state,
                                  char *arena, const char *batch,
                                  char *results) {
  ShipCode code = checkState(*model, state);
  if (code != ShipCode::OK)
    return static_cast<int32_t>(code);
  if (!(state->flags & ShipState::kHasValues))
    return static_cast<int32_t>(ShipCode::NO_VALUES);
  if (state->flags & ShipState::kIsDamaged)
    return static_cast<int32_t>(ShipCode::DAMAGED);
  if (!arena || !batch || !results)
    return static_cast<int32_t>(ShipCode::NULL_POINTER);
  if (!isAligned(arena, kShipAlignment))
    return static_cast<int32_t>(ShipCode::MISALIGNED);
  const double *rates = reinterpret_cast<const double *>(state + 1);
  for (int64_t i = 0; i < model->numRates && model->needsRates; ++i)
    if (__builtin_isnan(rates[i]) && !isEvaluation)
      return static_cast<int32_t>(ShipCode::BAD_ARGUMENT);
  Call call{reinterpret_cast<char *>(state), arena, batch, results,
            isEvaluation};
  auto **addresses = reinterpret_cast<char **>(arena + model->addressesAt);
  for (int64_t i = 0; i < model->numArguments; ++i) {
    code = call.locate(model->arguments()[i], addresses[i]);
    if (code != ShipCode::OK)
      return static_cast<int32_t>(code);
  }

  ShippedStep step;
  step.model = model;
  step.state = state;
  step.panelBytes = kShipPanelBytes;
  step.share = share;
  step.threads = state->parallelFor ? state->threads : 1;
  step.others = arena + model->arenaBytes;
  step.first = step.makeContext(arena + model->workspaceAt);
  for (int64_t thread = 1; thread < step.threads; ++thread) {
    Context &context = step.contextOf(thread);
    context = step.makeContext(reinterpret_cast<char *>(&context + 1));
  }
  if (!enter(step, entry, addresses)) {
    if (step.hasWritten && !isEvaluation)
      state->flags |= ShipState::kIsDamaged;
    return static_cast<int32_t>(ShipCode::FAILED);
  }
  state->step += !isEvaluation;
  return static_cast<int32_t>(ShipCode::OK);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

static void seedRandom(const ShipModel &model, ShipState *state) {
  for (int64_t i = 0; i < model.numRandom; ++i) {
    const ShipRandom &random = model.random()[i];
    auto *words = reinterpret_cast<int64_t *>(reinterpret_cast<char *>(state) +
                                              random.at);
    words[0] = state->seed + random.seed;
    words[1] = 0;
  }
}

REMAT_CORE int32_t remat_core_init(const ShipModel *model, ShipState *state) {
  if (!state)
    return static_cast<int32_t>(ShipCode::NULL_POINTER);
  if (!isAligned(state, kShipAlignment))
    return static_cast<int32_t>(ShipCode::MISALIGNED);
  __builtin_memset(state, 0, model->stateBytes);
  state->magic = ShipState::kMagic;
  state->version = ShipState::kVersion;
  state->model = model->hash;
  state->seed = model->seed;
  state->threads = 1;
  auto *rates = reinterpret_cast<double *>(state + 1);
  for (int64_t i = 0; i < model->numRates; ++i)
    rates[i] = __builtin_nan("");
  seedRandom(*model, state);
  return static_cast<int32_t>(ShipCode::OK);
}

REMAT_CORE int32_t remat_core_set_seed(const ShipModel *model, ShipState *state,
                                       int64_t seed) {
  ShipCode code = checkState(*model, state);
  if (code == ShipCode::OK) {
    state->seed = seed;
    seedRandom(*model, state);
  }
  return static_cast<int32_t>(code);
}

REMAT_CORE int32_t remat_core_set_parallel_for(
    const ShipModel *model, ShipState *state,
    decltype(ShipState::parallelFor) parallelFor, void *pool, int64_t threads) {
  ShipCode code = checkState(*model, state);
  if (code == ShipCode::OK && threads < 1)
    code = ShipCode::BAD_ARGUMENT;
  if (code == ShipCode::OK) {
    state->parallelFor = parallelFor;
    state->pool = pool;
    state->threads = threads;
  }
  return static_cast<int32_t>(code);
}
