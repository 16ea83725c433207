//===- Ship.h - What an object of a shipped step consists of ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler writes these constants into an object, and the core reads them
// there. Numbers of 64 bits only, and no addresses, so that both have the same
// layout and the object has no relocations for them.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_SHIP_H
#define REMAT_RUNTIME_CORE_SHIP_H

#include <cstdint>

namespace remat {

/// Alignment of state, arena and everything in them.
constexpr int64_t kShipAlignment = 64;

/// The codes that functions of an object return; headers list them in this
/// order.
#define REMAT_SHIP_CODES(X)                                                    \
  X(OK, "done")                                                                \
  X(NULL_POINTER, "a pointer is null")                                         \
  X(MISALIGNED, "a pointer is not aligned as the header says")                 \
  X(OTHER_MODEL, "the state is of another model or version, or of none")       \
  X(NO_VALUES, "the state has no values yet: load them")                       \
  X(DAMAGED, "a step failed while it updated the state: load one")             \
  X(FAILED, "an assertion of the model failed, see the state's message")       \
  X(BAD_FILE, "the file is of another model, or damaged")                      \
  X(TRUNCATED, "the file ends too early, or could not be read or written")     \
  X(BAD_ARGUMENT, "a number is out of its range")

enum class ShipCode : int32_t {
#define X(NAME, TEXT) NAME,
  REMAT_SHIP_CODES(X)
#undef X
};

/// The start of a state, as the header's struct has it. Learning rates follow.
struct ShipState {
  static constexpr uint64_t kMagic = 0x74616d6572'01ull; // "\1remat"
  static constexpr uint32_t kVersion = 1;
  enum Flags : uint32_t { kHasValues = 1, kIsDamaged = 2 };

  uint64_t magic;
  uint32_t version, flags;
  uint64_t model;
  int64_t step, seed;
  /// Text of the object, of the assertion that failed last.
  const char *message;
  int64_t messageBytes;
  void (*parallelFor)(void *pool, int64_t count,
                      void (*task)(void *data, int64_t index), void *data);
  void *pool;
  int64_t threads;
};

/// Bytes of a `ShipState` where a pointer has `pointerBytes`, 4 or 8.
constexpr int64_t getShipStateBytes(int64_t pointerBytes) {
  return 64 + 2 * pointerBytes;
}
static_assert(sizeof(ShipState) == getShipStateBytes(sizeof(void *)));

/// The kernels of products that an object has.
enum class ShipKernels : int64_t { anywhere, armFMA, avx2, avx512 };

/// Bytes of packed panels that stay in the second-level cache of most
/// processors.
constexpr int64_t kShipPanelBytes = 256 << 10;

/// Where an argument of the step is.
enum class ShipPlace : int64_t {
  state,            ///< `at` bytes from the start of the state
  arena,            ///< and of the arena
  batch,            ///< the pointer `at` bytes from the start of the batch
  evalBatch,        ///< and of the evaluation's
  result,           ///< `at` bytes from the start of the results
  evalResult,       ///< and of the evaluation's
  resultPointer,    ///< the pointer there
  evalResultPointer ///< and there
};

struct ShipArgument {
  ShipPlace place;
  int64_t at, bytes, alignment;
};

/// A part of the state that a file has, in the order of the file.
struct ShipSaved {
  int64_t at, bytes;
};

/// A random state: its seed is the state's and this one.
struct ShipRandom {
  int64_t at, seed;
};

/// A model; arrays of arguments, random states and saved parts follow.
struct ShipModel {
  int64_t hash, seed, stateBytes;
  /// How many learning rates a state has, and whether all have to be set.
  int64_t numRates, needsRates;
  int64_t numArguments, numRandom, numSaved;
  /// Of the whole arena; the addresses of arguments and the first thread's
  /// workspace are at its end.
  int64_t arenaBytes, addressesAt, workspaceAt;
  /// Of a thread's workspace: panels, rows of left operands, and sums.
  int64_t panelBytes, leftBytes, sumsBytes;
  /// Of each thread but the first: its context and its workspace.
  int64_t threadBytes;

  const ShipArgument *arguments() const {
    return reinterpret_cast<const ShipArgument *>(this + 1);
  }
  const ShipRandom *random() const {
    return reinterpret_cast<const ShipRandom *>(arguments() + numArguments);
  }
  const ShipSaved *saved() const {
    return reinterpret_cast<const ShipSaved *>(random() + numRandom);
  }
};

/// In the header of files, where the numbers of steps and of the seed are.
constexpr char kShipStepMark = '\1', kShipSeedMark = '\2';

} // namespace remat

#endif // REMAT_RUNTIME_CORE_SHIP_H
