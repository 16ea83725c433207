//===- Training.h - What a training program calls --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop around a compiled step lives here and not in IR: files, shuffling,
// checkpoints and options are the same for every model.
//===----------------------------------------------------------------------===//
//
// A program (see `remat-lower-train-step`) declares these functions with
// `llvm.emit_c_interface`:
//
//   @remat_rt_train_begin(description: memref<?xi8>)
//   @remat_rt_train_buffer(index: i64) -> memref<?xi8>
//   @remat_rt_train_needs(index: i64) -> i1
//   @remat_rt_train_fill(index: i64, from: i64)
//   @remat_rt_train_next() -> i64
//   @remat_rt_train_done(loss: f64) -> i64
//   @remat_rt_train_done_at(loss: i64, kind: i64) -> i64
//   @remat_rt_train_eval_next()
//   @remat_rt_train_eval_result(index: i64, value: f64)
//   @remat_rt_train_eval_result_at(index: i64, value: i64, kind: i64)
//   @remat_rt_train_end()
//
// `begin` takes the description, reads every file that it names, and allocates
// and fills all buffers but those that start from a value of the program and
// that no file holds: `needs` says so, and the program fills them, by `fill`
// where the host cannot write to buffers. `next` returns the step to run and
// puts its mini-batch into the data buffers; it returns -1 when there is none
// left. `done` logs and saves; it returns the number of batches to evaluate,
// for each of which the program calls `eval_next`, its function, and
// `eval_result` for each result. `end` prints the report.
//
// `done_at` and `eval_result_at` take the address of a scalar in a buffer and
// its ScalarKind (Device.h): the host reads it when it is logged, saved or
// evaluated, not earlier.
//
// The description is text: one line for each option and each argument, fields
// separated by tabs. Lines:
//
//   steps|seed|log_every|checkpoint_every|eval_every|ranks <tab> number
//   shuffle <tab> 0|1
//   data|init|checkpoint|eval_data <tab> path
//   optimizer <tab> rule
//   argument <tab> role <tab> type <tab> dims <tab> name <tab> initializer
//     [<tab> host]
//   stored <tab> number of the argument <tab> bits <tab> elements of a block
//     <tab> signed|unsigned <tab> elements
//   shard <tab> number of the argument <tab> dim <tab> size <tab> stride
//   metric <tab> name
//   output|eval_output <tab> number of the argument <tab> name
//
// role: parameter, optimizer, state, random, data, eval_data, eval_random,
// result, arena. type: as in MLIR; `random` has two i64 and starts as (seed of
// the run + own seed, 0). dims: numbers separated by spaces. name: the key in
// files. initializer: `constant c`, `normal mean stddev`, `uniform low high`,
// `seed n`, `program` (the program has its value), or nothing (a file must have
// it; zero for all but parameters and states). stored: what an argument's codes
// stand for (`!opt.blockwise`); the next argument has the scales. ranks: how
// many the program is for. shard: of data, this rank has a part along a
// dimension, one of `size` as the coordinate of that axis says (Ranks.h); the
// argument's type is that of the part, files have the whole. output,
// eval_output: a result of the step, or of the evaluation, in the buffer of an
// argument. host: the program reads and writes the buffer itself, whatever the
// device is; so it does with random states.
//
// Initial values depend on the seed, the name and the element's position only.
// A checkpoint is an .npz archive with the same keys, so that it serves as
// `init` as well, and `remat.step`, `remat.seed`. Optimizer states that it has
// in another way than the program (StoredStates.h) are converted.
//
// All ranks read the files and have the same order of examples. The first one
// prints, logs and saves; the others wait until it has saved. A checkpoint is
// that of one rank, byte for byte.
//
// Whatever is wrong with files or options ends the program with one line on
// stderr and exit code 1.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_TRAINING_H
#define REMAT_RUNTIME_TRAINING_H

#include "remat/Runtime/Runtime.h"

#include <functional>
#include <map>
#include <optional>

namespace remat {

enum class Role {
  parameter,
  optimizer,
  state,
  random,
  data,
  evalData,
  evalRandom,
  result,
  arena
};

/// Returns "parameter", ..., "eval_data", as a program's description has it.
const char *nameOf(Role role);

/// Returns the purpose of the memory of such an argument.
MemoryClass classOf(Role role);

/// How a parameter or state starts if no file holds it.
struct Initial {
  enum Kind { constant, normal, uniform, program } kind;
  double first, second;
};

/// Numbers that are quantized in blocks: `count` of them, in blocks of `size`,
/// in codes of `bits` bits.
struct StoredBlocks {
  int64_t bits, size;
  bool isSigned;
  int64_t count;

  int64_t bytesPerBlock() const { return size * bits / 8; }
  int64_t numBlocks() const { return (count + size - 1) / size; }
  /// As in `int8`.
  std::string kind() const { return "int" + std::to_string(bits); }
  /// Separated by tabs, as descriptions and checkpoints have it.
  std::string str() const;
  static std::optional<StoredBlocks> parse(const std::string &text);
  bool operator==(const StoredBlocks &other) const {
    return bits == other.bits && size == other.size &&
           isSigned == other.isSigned && count == other.count;
  }
};

/// A dimension of which a rank has one of `size` equal parts.
struct Shard {
  int64_t dim, size, stride;
};

/// One argument of the step or of the evaluation.
struct TrainArgument {
  Role role;
  ArrayType type;
  std::string name;
  std::optional<Initial> initial;
  /// The meaning of its codes, if it has codes.
  std::optional<StoredBlocks> stored = std::nullopt;
  /// The dimensions that ranks share; `type` is that of the part.
  std::vector<Shard> shards = {};
  /// Of a random state: added to the run's.
  int64_t seed = 0;
  /// True if the program, and not only its kernels, accesses the buffer.
  bool isOnHost = false;

  /// Returns the type of the whole.
  ArrayType getWholeType() const;
  /// Returns true if it starts from a value that the program has.
  bool isFromProgram() const {
    return initial && initial->kind == Initial::program;
  }
  bool isRandom() const {
    return role == Role::random || role == Role::evalRandom;
  }
  /// Returns true if a run goes on from its value.
  bool isSaved() const {
    return role == Role::parameter || role == Role::optimizer ||
           role == Role::state || role == Role::random;
  }
};

/// Options and arguments of a training program.
struct TrainDescription {
  int64_t steps = 0, seed = 0, logEvery = 0, checkpointEvery = 1, evalEvery = 0;
  int64_t ranks = 1;
  bool shuffle = true;
  std::string data, init, checkpoint, evalData, log;
  /// The update rule, as checkpoints record it.
  std::string optimizer;
  std::vector<TrainArgument> arguments;
  std::vector<std::string> metrics;
  /// Results that are not next values: the numbers of the arguments that hold
  /// them, and names.
  std::vector<std::pair<size_t, std::string>> outputs, evalOutputs;

  /// Parses the text that a compiled program passes.
  static TrainDescription parse(const std::string &text);
  /// Replaces options by what the REMAT_* variables of the environment say.
  void readEnvironment();
};

/// A permutation of 0..count-1 that depends on its arguments only.
std::vector<int64_t> permutation(int64_t count, int64_t seed, int64_t epoch);

/// Runs `count` iterations of a loop on all threads, as `remat_parallel_for`.
using ShareLoop = void (*)(int64_t count,
                           void (*body)(void *context, int64_t begin,
                                        int64_t end),
                           void *context);

/// Fills `into` with what the argument starts from. False, and `into` is left
/// as it is, if the description says nothing of that.
bool initialize(const TrainDescription &description,
                const TrainArgument &argument, void *into, ShareLoop share);

} // namespace remat

#endif // REMAT_RUNTIME_TRAINING_H
