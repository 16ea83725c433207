//===- RematTrainOps.td - Training ------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATTRAINOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATTRAINOPS_TD

def Remat_TrainStepOp : Remat_Op<"train_step", [
    HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how a loss is trained";
  let description = [{
    Asks for a function `@step` that computes `@loss`, its gradients, and the
    optimizer's update of every trainable parameter (`remat-insert-steps`), and
    for a `@main` that trains with it (`remat-lower-train-step`).

    **Updates.** `eager` (the default) updates each parameter as soon as its
    gradient is final and its old value is read no more; `deferred` updates all at the end. Two options need
    one of these words, for the same bits. `clip_global_norm = 1.0` scales all gradients together by `min(1,
    clip_global_norm / (norm + clip_eps))`: `deferred` keeps all of them, `eager` runs the backward twice, for the
    norm and for the updates, and keeps about one layer's. `accumulate = 4` averages loss and gradients over 4
    micro-batches: `deferred` keeps a sum of every gradient; `eager` keeps what the forwards of all micro-batches
    save, and runs them all through one part of the backward, about a layer, after the other. The step
    takes 4 times as many examples. `clip_eps` is 1.0e-6 as in
    `torch.nn.utils.clip_grad_norm_`, unless it is given; `optax` has 0, which
    differs where gradients themselves are as small. With `grad_norm`, the norm
    of all gradients (of their means over micro-batches, before they are
    clipped) is a result of the step, a `tensor<f64>` with
    `remat.metric = "remat.grad_norm"`.

    **Memory.** `budget = "500MiB"` (or a fraction, `"0.5"`) is the most bytes that a
    step may take: everything that it needs, or, with `budget_of = "arena"`, what it
    computes alone. `slowdown = 0.1` asks for the fewest bytes for at most 10 % more
    time instead. `remat-fit-budget` recomputes what that takes.

    **The loop.** Arguments of `@loss` without attributes, or with
    `remat.data = "key"`, are data: arrays of an `.npz` file whose first dimension
    counts examples. Each step takes a mini-batch from them, in an order that is
    shuffled anew in each epoch by `seed`. Each attribute has an environment
    variable that overrides it:

    | attribute | default | variable | meaning |
    |---|---|---|---|
    | `steps` | 100 | `REMAT_STEPS` | number of steps |
    | `seed` | 0 | `REMAT_SEED` | of initial values, random state and order |
    | `log_every` | 10 | `REMAT_LOG_EVERY` | steps between lines with the loss; 0: none |
    | `shuffle` | true | `REMAT_SHUFFLE` | whether each epoch has an order of its own |
    | `data` | | `REMAT_DATA` | `.npz` file with the examples |
    | `init` | | `REMAT_INIT` | `.npz` file with initial parameters and states, by name |
    | `checkpoint` | | `REMAT_CHECKPOINT` | file that the run is saved to and resumed from |
    | `checkpoint_every` | 100 | `REMAT_CHECKPOINT_EVERY` | steps between checkpoints |
    | `eval_every` | 0 | `REMAT_EVAL_EVERY` | steps between evaluations; 0: at the end only |
    | `eval_data` | the value of `data` | `REMAT_EVAL_DATA` | `.npz` file for the evaluation |

    `eval(@accuracy)` names a function of parameters, states (matched by name)
    and data; the means of its scalar results over the evaluation's batches are
    printed. `REMAT_LOG` names a file that gets a line `step<tab>loss` for each
    line of progress, with all digits; a resumed run keeps the lines of the steps
    before it.

    **Checkpoints** are `.npz` files that replace the previous one as a whole;
    a symbolic link stays one. They hold parameters and states by name and what
    a resumed run has to agree in: `remat.step`, `remat.seed`,
    `remat.batch_size`, `remat.shuffle` and `remat.optimizer` (the rule;
    hyperparameters may change). A loss that is not finite is a warning. If it
    still is not when a checkpoint is due, or a parameter holds NaN, the run ends
    with an error and the last checkpoint stays.

    The name after `remat.train_step` is a reference, not a definition: the
    function of this name is what the operation asks for. A function that has it
    already must be a step: one of its arguments is the number of the step
    (`remat.step`). Once it exists, `@loss` and the optimizer may be gone.

    Example:

    ```mlir
    remat.train_step @step for @loss optimizer(@adamw) eval(@accuracy)
        {eager, steps = 1000, data = "train.npz", checkpoint = "run.ckpt"}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$step, FlatSymbolRefAttr:$loss,
                       FlatSymbolRefAttr:$optimizer,
                       OptionalAttr<FlatSymbolRefAttr>:$eval,
                       UnitAttr:$eager, UnitAttr:$deferred,
                       OptionalAttr<StrAttr>:$budget,
                       OptionalAttr<StrAttr>:$budget_of,
                       OptionalAttr<F64Attr>:$slowdown,
                       OptionalAttr<F64Attr>:$clip_global_norm,
                       DefaultValuedAttr<F64Attr, "1e-6">:$clip_eps,
                       UnitAttr:$grad_norm,
                       DefaultValuedAttr<I64Attr, "1">:$accumulate,
                       DefaultValuedAttr<I64Attr, "100">:$steps,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       DefaultValuedAttr<I64Attr, "10">:$log_every,
                       DefaultValuedAttr<BoolAttr, "true">:$shuffle,
                       OptionalAttr<StrAttr>:$data,
                       OptionalAttr<StrAttr>:$init,
                       OptionalAttr<StrAttr>:$checkpoint,
                       DefaultValuedAttr<I64Attr, "100">:$checkpoint_every,
                       DefaultValuedAttr<I64Attr, "0">:$eval_every,
                       OptionalAttr<StrAttr>:$eval_data);
  let assemblyFormat = [{
    $step `for` $loss `optimizer` `(` $optimizer `)`
    (`eval` `(` $eval^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isEager() { return !getDeferred(); }
    /// Returns true if the function of a step that it names exists.
    bool hasStepFunction();
    /// `@loss_grad`: the function that differentiation makes of `@loss`.
    std::string getJointName() { return getLoss().str() + "_grad"; }
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_REMATTRAINOPS_TD
