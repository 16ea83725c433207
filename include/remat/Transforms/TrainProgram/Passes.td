//===- Passes.td - The program that trains ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_TRAINPROGRAM_PASSES_TD
#define REMAT_TRANSFORMS_TRAINPROGRAM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTrainStep : Pass<"remat-lower-train-step", "::mlir::ModuleOp"> {
  let summary = "generate the program that trains: @main";
  let description = [{
    Runs after bufferization. From `remat.train_step` and the bufferized `@step`,
    generates a `@main` that takes nothing and returns nothing: it tells the
    runtime library (`remat_rt_train_*`, see `remat/Runtime/Training.h`) what the
    arguments are, gets their memory from it, and calls `@step` until the runtime
    says that it is done. Files, shuffling, initial values, logging, checkpoints
    and environment variables are the runtime's business, so that @main stays a
    loop with one call. `remat.train_step` and its optimizer are erased.

    What an argument is follows from its attributes:

    | argument | is |
    |---|---|
    | `opt.param` | a parameter |
    | `opt.state` | optimizer state, zero at first |
    | `remat.state` | model state |
    | `vector<2xi64>` | random state; starts as (seed of the run + its `remat.seed`, 0), or its position among them where it has none |
    | `remat.step` | the number of the step |
    | `remat.result` | memory of a result |
    | `remat.arena` | the arena |
    | `remat.data = "key"`, or nothing | a mini-batch of the array `key` of the data file; without a key `arr_<k>`, as `numpy.savez` calls its k-th unnamed array |

    The evaluation's function is called with the same parameters and states; its
    results are scalars, called by their `remat.metric = "name"`.

    With `on-device`, buffers are memory that only kernels can read: losses and
    metrics that lie in one are passed by address (`remat_rt_train_done_at`), and
    the runtime reads them when it logs.

    With `as-function`, the loop is a host program's: instead of `@main` there is
    `@remat_step(%buffers: i64, %step: i64)`, which runs one step, and, if there
    is an evaluation, `@remat_evaluate` of the same type, which evaluates one
    batch. `%buffers` is the address of an array of addresses, one for each
    argument in the order of the description, then one for each result that is
    returned rather than written
    (`remat/Transforms/TrainProgram/TrainDescription.h`). The caller allocates
    and fills them (values of `remat.init` included). Where an assertion may fail
    after the first write of a parameter or state, a call of
    `@remat_rt_begin_writes` stands before that write: a host program goes on with
    the next batch after a step that failed earlier.
  }];
  let options = [
    Option<"onDevice", "on-device", "bool", /*default=*/"false",
           "Buffers are memory of a device">,
    Option<"asFunction", "as-function", "bool", /*default=*/"false",
           "Generate functions for a host program">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // REMAT_TRANSFORMS_TRAINPROGRAM_PASSES_TD
