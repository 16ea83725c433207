//===- remat-c/Step.h - A model, compiled into a training step ----*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text of a forward function to a function in this process that runs
// one step: loss, gradients, and the update of every parameter. No files are
// written but those of the cache, if there is one. A step owns the memory of
// its parameters and states; batches stay where the caller has them.
//
// Nothing here ends the process: what is wrong with a model is reported as
// diagnostics, what is wrong with a call as a message.
//===----------------------------------------------------------------------===//

#ifndef REMAT_C_STEP_H
#define REMAT_C_STEP_H

#include "mlir-c/Diagnostics.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled step with its memory. One thread at a time may run it; others may
 *  run other steps. */
typedef struct RematStep {
  void *ptr;
} RematStep;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

typedef struct RematDiagnostic {
  enum MlirDiagnosticSeverity severity;
  MlirStringRef message;
  /** Where it is; an empty file if that is not known. Counted from 1. */
  MlirStringRef file;
  int64_t line, column;
  /** All of it as tools print it: with the line of the source if there is one,
   *  and its notes. Empty for notes, which follow what they belong to. */
  MlirStringRef text;
  /** What a program may decide by, as texts change: "budget-missed" if no plan
   *  is within the budget, "out-of-memory" if the machine has no memory for the
   *  step; otherwise empty. */
  MlirStringRef code;
} RematDiagnostic;

/** The strings live as long as the call. */
typedef void (*RematDiagnosticCallback)(const RematDiagnostic *diagnostic,
                                        void *userData);

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/** Gets the name of the pass or stage that begins, on any thread. If it returns
 *  false, the compilation ends soon, and is null. */
typedef bool (*RematProgressCallback)(MlirStringRef stage, void *userData);

/** What is compiled, and how. Strings that are empty say nothing. */
typedef struct RematStepOptions {
  /** The module: assembly or bytecode. */
  MlirStringRef text;
  /** What locations call it. */
  MlirStringRef fileName;
  /** A textual pipeline on the module that runs first, such as
   *  `remat-import{spec=model.json},remat-annotate{blocks}`. */
  MlirStringRef passes;
  /** The loss; the only public function if empty. */
  MlirStringRef function;
  /** The update rule, such as `#opt.adamw<lr = 3.0e-4>`. Needed if, and only
   * if, the module has no `remat.train_step`. */
  MlirStringRef optimizer;
  /** Learning rates that the caller sets: names with spaces between them. To
   *  the optimizer they are functions of the module, `lr = @name`. */
  MlirStringRef learningRates;
  /** Attributes of the `remat.train_step` that is added, such as `eager, seed =
   * 1` or `deferred, clip_global_norm = 1.0`. */
  MlirStringRef trainAttributes;
  /** The function that evaluates the model, on other batches; the module's own
   *  `eval(...)` if empty. It shares parameters and model states by name, and
   *  the arena, and changes nothing. */
  MlirStringRef evalFunction;
  /** A module that the evaluation is in, what locations call it, and a pipeline
   *  on it that runs first; the model's own module if empty. */
  MlirStringRef evalText, evalFileName, evalPasses;
  /** Options of `remat-train`, such as `policy=nothing_saveable threads=4`. */
  MlirStringRef trainOptions;
  /** A step of the same model, on data of other sizes, whose parameters and
   *  states this one has, too: their memory, the number of steps, and the
   * arena, which is then the larger one of both. Only one of them runs at a
   * time. Null for a step of its own. */
  RematStep statesOf;
  /** LLVM's, from 0 to 3. */
  int optimizationLevel;
  /** A folder in which compiled steps are kept, by all that they depend on;
   *  none if empty. Any number of processes may use it. What is wrong with it
   *  or with its files is a warning. */
  MlirStringRef cacheFolder;
  /** When files are removed from it: as `llvm/Support/CachePruning.h` parses
   *  it. */
  MlirStringRef cachePolicy;
  /** Is told what begins, and may end the compilation; can be null. */
  RematProgressCallback progress;
  void *progressData;
} RematStepOptions;

/** Everything empty, optimization level 3, and a cache of up to 2 GB. */
MLIR_CAPI_EXPORTED RematStepOptions rematStepOptionsGetDefault(void);

/** Compiles a step for the CPU of this machine or, with `target=cuda` in the
 *  options, for its GPU; allocates its memory and sets everything to its
 * initial value: the bits are those of the program that `remat-opt
 * --remat-train` makes of the same module. Null after an error; `callback` gets
 * it, and warnings and remarks, in order. Several threads may compile; a
 * process that is forked meanwhile may not. */
MLIR_CAPI_EXPORTED RematStep rematStepCompile(const RematStepOptions *options,
                                              RematDiagnosticCallback callback,
                                              void *userData);

/** Passes the table of `--remat-explain` to `result`: each residual, whether it
 *  is saved or computed again, by whom and why, bytes, cost and line. */
MLIR_CAPI_EXPORTED MlirLogicalResult
rematExplain(const RematStepOptions *options, RematDiagnosticCallback callback,
             void *userData, MlirStringCallback result, void *resultData);

/** Passes what a step of these options would take to `result`, as JSON: the
 *  names of the functions `step` and `evaluation`, `arguments` (role, name,
 *  type, shape, bytes), and `memory`, the text of the report of `remat-train`.
 *  Nothing is allocated, and there is no code. */
MLIR_CAPI_EXPORTED MlirLogicalResult rematReportMemory(
    const RematStepOptions *options, RematDiagnosticCallback callback,
    void *userData, MlirStringCallback result, void *resultData);

/** Reads a number of bytes as the option `budget` has it, such as 500MiB;
 *  after a failure, `message` says what is wrong. */
MLIR_CAPI_EXPORTED MlirLogicalResult rematParseBytes(MlirStringRef text,
                                                     int64_t *bytes,
                                                     MlirStringCallback message,
                                                     void *userData);

/** Passes what `remat-print-operations` prints behind the passes of `options`
 * to `result`: for programs that choose what is saved. */
MLIR_CAPI_EXPORTED MlirLogicalResult rematListOperations(
    const RematStepOptions *options, RematDiagnosticCallback callback,
    void *userData, MlirStringCallback result, void *resultData);

MLIR_CAPI_EXPORTED void rematStepDestroy(RematStep step);

static inline bool rematStepIsNull(RematStep step) { return !step.ptr; }

//===----------------------------------------------------------------------===//
// What a step is made of
//===----------------------------------------------------------------------===//

typedef enum RematRole {
  RematRoleParameter,
  /** State of the optimizer, called `<parameter>.<state>`. */
  RematRoleOptimizer,
  /** Model state, such as running statistics. */
  RematRoleState,
  /** The state of a random stream: its key and its counter. */
  RematRoleRandom,
  /** A batch, which the caller passes to each step. */
  RematRoleData,
  /** Memory of a result. */
  RematRoleResult,
  /** Memory of everything that lives within a step or an evaluation, which
   *  share it. */
  RematRoleArena,
  /** A batch for the evaluation. */
  RematRoleEvaluationData,
  /** The state of a random stream of the evaluation, which stays what it is. */
  RematRoleEvaluationRandom
} RematRole;

typedef enum RematElementType {
  RematI1,
  RematI8,
  RematI16,
  RematI32,
  RematI64,
  RematF16,
  RematBF16,
  RematF32,
  RematF64
} RematElementType;

/** An argument of the step. Elements are row-major. What it refers to lives as
 *  long as the step. */
typedef struct RematArgument {
  RematRole role;
  /** As the model calls it: `opt.param`, `remat.state`, `remat.data`; of a
   * result `loss`, its `remat.metric`, or `result<k>`. */
  MlirStringRef name;
  RematElementType type;
  intptr_t rank;
  const int64_t *shape;
  size_t numBytes;
  /** The memory, aligned to 64 bytes, which the caller may read and write
   * between steps, on the host or with the device's driver; null for data. */
  void *data;
  bool isOnDevice;
  /** Of codes (`!opt.blockwise` in docs/reference/OptDialect.md): how many bits
   * they have, elements of a block, and of all blocks, and whether these have
   * signs; 0 bits of all other arguments. */
  int64_t storedBits, storedBlock, storedCount;
  bool storedIsSigned;
} RematArgument;

MLIR_CAPI_EXPORTED intptr_t rematStepGetNumArguments(RematStep step);
MLIR_CAPI_EXPORTED RematArgument rematStepGetArgument(RematStep step,
                                                      intptr_t index);
/** The number of processes that the step is for, each of which runs it. */
MLIR_CAPI_EXPORTED int64_t rematStepGetNumRanks(RematStep step);
/** The ranks that share a dimension of an argument: how many (1 where it is
 *  whole), and the number of a rank minus that of the one that has the part
 *  before. */
typedef struct RematShard {
  int64_t size, stride;
} RematShard;
MLIR_CAPI_EXPORTED RematShard rematStepGetShard(RematStep step, intptr_t index,
                                                intptr_t dim);
/** Results that are no next values of arguments, in the function's order: the
 *  numbers of the arguments that hold them. */
MLIR_CAPI_EXPORTED intptr_t rematStepGetNumResults(RematStep step);
MLIR_CAPI_EXPORTED intptr_t rematStepGetResult(RematStep step, intptr_t index);

/** The same for the evaluation. */
MLIR_CAPI_EXPORTED intptr_t rematStepGetNumEvaluationResults(RematStep step);
MLIR_CAPI_EXPORTED intptr_t rematStepGetEvaluationResult(RematStep step,
                                                         intptr_t index);

/** Whether it was not compiled but read from the cache. */
MLIR_CAPI_EXPORTED bool rematStepIsCached(RematStep step);

/** Whether the argument's values are there; they are not where the model says
 *  nothing of what a parameter or state starts from. */
MLIR_CAPI_EXPORTED bool rematStepIsInitialized(RematStep step, intptr_t index);
/** Says that the caller has written the argument's values. */
MLIR_CAPI_EXPORTED void rematStepSetInitialized(RematStep step, intptr_t index);

/** Numbers as in DLPack. */
typedef enum RematDeviceKind { RematCPU = 1, RematCUDA = 2 } RematDeviceKind;

/** What a step runs on. */
typedef struct RematDevice {
  RematDeviceKind kind;
  /** Which one of its kind. */
  int number;
  /** The CUstream in whose order it works; null on the host. */
  void *stream;
  /** Whether its driver is `libremat_cuda_emulator.so`, which runs kernels on
   *  the host. */
  bool isEmulated;
  /** What the runtime keeps in its memory beside what the memory report has,
   *  and everything that it holds there for this step, and for others that
   * share its states, by now. */
  size_t runtimeBytes, heldBytes;
} RematDevice;

MLIR_CAPI_EXPORTED RematDevice rematStepGetDevice(RematStep step);
/** Its name, chip and driver. */
MLIR_CAPI_EXPORTED void rematStepDescribeDevice(RematStep step,
                                                MlirStringCallback text,
                                                void *userData);

/** Copies the values of an argument that is no data, wherever they are, while
 *  no step runs on them. Written ones are initialized. After a failure,
 *  `message` has got what is wrong. */
MLIR_CAPI_EXPORTED MlirLogicalResult rematStepRead(RematStep step,
                                                   intptr_t index, void *into,
                                                   MlirStringCallback message,
                                                   void *userData);
MLIR_CAPI_EXPORTED MlirLogicalResult rematStepWrite(RematStep step,
                                                    intptr_t index,
                                                    const void *from,
                                                    MlirStringCallback message,
                                                    void *userData);

/** The name of the step's function, by which the memory report knows it. */
MLIR_CAPI_EXPORTED MlirStringRef rematStepGetFunction(RematStep step);
/** Likewise of the evaluation; empty if there is none. */
MLIR_CAPI_EXPORTED MlirStringRef rematStepGetEvaluation(RematStep step);
/** The rule as checkpoints record it, such as `opt.adamw`. */
MLIR_CAPI_EXPORTED MlirStringRef rematStepGetOptimizer(RematStep step);
MLIR_CAPI_EXPORTED int64_t rematStepGetSeed(RematStep step);

/** What `remat-pack-memory` reports, as JSON. */
MLIR_CAPI_EXPORTED MlirStringRef rematStepGetMemoryReport(RematStep step);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/** What the learning rates are that the options name, in their order; each step
 *  reads them, and they are zero until they are set. Null if there are none. */
MLIR_CAPI_EXPORTED double *rematStepGetLearningRates(RematStep step);

/** The number of the next step, from 0. */
MLIR_CAPI_EXPORTED int64_t rematStepGetNumber(RematStep step);
MLIR_CAPI_EXPORTED void rematStepSetNumber(RematStep step, int64_t number);

/** An array that a step reads and does not write: contiguous, and aligned to
 *  its elements. */
typedef struct RematInput {
  const void *data;
  /** Whether it is in the memory of the step's device, as it stands when the
   *  work on the device's stream is done. */
  bool isOnDevice;
} RematInput;

/** Runs one step on a batch: an input for each argument of role data, in order.
 *  Results are in their memory until the next step.
 *
 *  After a failure, `message` has got what is wrong. Nothing has changed then,
 *  unless `rematStepIsDamaged`. */
MLIR_CAPI_EXPORTED MlirLogicalResult rematStepRun(RematStep step,
                                                  intptr_t numData,
                                                  const RematInput *data,
                                                  MlirStringCallback message,
                                                  void *userData);

/** Evaluates the model on a batch, with the present parameters: an input for
 *  each argument of role evaluation data, as for `rematStepRun`. It changes
 *  nothing but its results and the arena. */
MLIR_CAPI_EXPORTED MlirLogicalResult
rematStepEvaluate(RematStep step, intptr_t numData, const RematInput *data,
                  MlirStringCallback message, void *userData);

/** Whether a step failed after it had begun to write parameters or states: an
 *  assertion of the model that depends on what was written did not hold. Such a
 *  step does not run until the caller has set all of them and says so. */
MLIR_CAPI_EXPORTED bool rematStepIsDamaged(RematStep step);
MLIR_CAPI_EXPORTED void rematStepSetRepaired(RematStep step);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_STEP_H */
