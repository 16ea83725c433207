//===- Passes.td - Updates of parameters ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_INSERTSTEPS_PASSES_TD
#define REMAT_TRANSFORMS_INSERTSTEPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertSteps : Pass<"remat-insert-steps", "::mlir::ModuleOp"> {
  let summary = "turn gradients into updates at the earliest legal point";
  let description = [{
    For each `remat.train_step @step for @loss`, the joint function
    `@loss_grad` becomes `@step`: its arguments, then the optimizer's states of
    each trained parameter (`opt.state`, `opt.state_of`), then the number of
    the step (i64, from 0); the results of `@loss`, then the new parameters and
    states (`remat.updates = <argument>`). Gradients are results no more. The
    next value of a model state is the result of the same `remat.state`; that of
    a random state is the one that is computed from it.
    `@loss_grad` is consumed; it comes from `remat-differentiate`, from another
    differentiator, or is written by hand: all that counts is which results
    are marked `remat.gradient_of`.

    **Eager.** A parameter's `opt.eager_step` stands right after the later of two
    operations: the one that defines its final gradient (SSA knows: it is the
    value that the joint function returns, so a tied parameter's is the sum of
    all contributions, and one that a loop accumulates is the loop's result), and
    the last one that reads the parameter's old value. Reads are followed through
    views (`tensor.extract_slice`, `collapse_shape`, ...), barriers, names, loops,
    branches and calls: a recomputed product that reads the weight through a
    barrier holds the step back. Where a result of `@loss` is the old value
    itself, the update has to copy; there is a warning.

    With `clip_global_norm` there are two sweeps. In the first one, each gradient
    is squared and added up where it is final, and then dropped. After the last
    one, whatever of the backward the gradients depend on is cloned, after a
    barrier on the factor that follows from their norm, and steps stand in that
    second sweep, scaled by the factor. Residuals live until it reads them. What
    has an effect runs in the first sweep only; its results are kept. Sums are
    those of the deferred form, in its order.

    `accumulate = n` makes one loop over n micro-batches of the forward, and one of
    each part of the backward, in its order. What another loop reads is stored for
    every micro-batch (`remat.tape_write`); what costs nothing is recomputed, and
    what is the same for all micro-batches once. What is larger than its operands is
    computed in the loop that reads it first. Each loop adds up the gradients
    that are final in its part, and steps stand after it. Parts end where little is
    passed on; there are as many as the lowest estimated peak takes. Of a parameter
    with contributions from several parts, what is added up so far is stored for
    every micro-batch. With `clip_global_norm` these loops run in two sweeps.

    `grad_norm` appends the norm of all gradients to the results of `@loss`.

    **Deferred.** All steps stand at the end. `clip_global_norm` scales them by
    a factor from the norm of all gradients. `accumulate = n` wraps the function
    in a loop over n micro-batches: data arguments are n times as large, model and
    random states go from one to the next, losses and gradients are averaged.

    Arguments that are updated become `bufferization.writable`. The next value of
    a model state is written into its argument as well, at the end. A parameter
    that a group of the optimizer freezes (remark) and one without a gradient
    (warning) are left alone.

    Example: see `test/Transforms/InsertSteps/eager.mlir`.
  }];
  let options = [
    Option<"dropLoss", "drop-loss", "bool", "false",
           "erase @loss, too, where nothing else refers to it: a pipeline has "
           "no further use for it">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::opt::OptDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def SinkSteps : Pass<"remat-sink-steps", "::mlir::ModuleOp"> {
  let summary = "move updates into the functions that compute their gradients";
  let description = [{
    A function that returns gradients returns all of them at once. Where each of its
    calls is followed by an `opt.eager_step` for one of its results, that step
    becomes part of the function: the gradient is gone before the next one
    exists, and its product and the update may be one loop (`remat-tile-updates`).
    The function takes the parameter, its states, the number of the step, the
    scale and the key, unless it has them already, and returns the new values in place of the
    gradient (`remat.updates = <argument>`).

    The steps of all calls must have the same rule, and stand right after their
    calls, where `remat-insert-steps` puts them if nothing reads the old value
    later. A parameter that a call gets twice, or of which it gets a view as well,
    keeps its step: the function could not know that its arguments are one tensor.

    Example:

    ```mlir
    %dx, %dw = call @f_bwd(%w, %x, %dy) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    %w1 = opt.eager_step @sgd(%w, %dw) step %t {parameter = "w"} : tensor<8x8xf32>, tensor<8x8xf32>
    // becomes
    %dx, %w1 = call @f_bwd(%w, %x, %dy, %t) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, i64) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::opt::OptDialect"];
}

def LowerSteps : Pass<"opt-lower-steps", "::mlir::ModuleOp"> {
  let summary = "lower opt.eager_step to in-place linalg.generics";
  let description = [{
    `opt.eager_step @adamw(%w, %g, %m, %v) step %t` becomes one
    `linalg.generic ins(%g, scalars...) outs(%w, %m, %v)`, so that bufferization
    writes the parameter and its states in place. What depends on the step only
    (learning rate, bias corrections) is computed once for all parameters, in
    f64, right where the step is known. A gradient is converted to the type
    that the rule computes in, multiplied by the step's scale, limited by
    `clip_value`; `clip_norm` adds a reduction over it (sum of squares in f64).
    Everything carries `remat.phase = "update"`.

    A state that is quantized (`!opt.blockwise`) is dequantized in the kernel and
    quantized again, so that no array of numbers exists: a kernel finds the
    largest magnitude of each block first, by computing its new elements, which
    the other one recomputes. A parameter that is rounded stochastically draws in the
    kernel, and what is lost by `kahan` is one more state of it.

    A rule on tensors becomes as many kernels as it needs, a custom one the body
    of its function (a call where that is declared only). Results that are not
    computed in place are copied to where the old values were.

    The optimizer is erased, once no other step needs it: a function that was its
    rule on tensors could not be bufferized while it is one.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::remat::RematDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_INSERTSTEPS_PASSES_TD
