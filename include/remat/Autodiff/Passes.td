//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_AUTODIFF_PASSES_TD
#define REMAT_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"remat-differentiate", "::mlir::ModuleOp"> {
  let summary = "add to a loss function the joint function of its gradients";
  let description = [{
    For a function `@loss` whose trainable arguments carry `opt.param`, adds
    `@loss_grad`: the same arguments; the same results, followed by the gradient
    of the loss with respect to each of those arguments on which it depends
    (`remat.gradient_of = <argument index>`). The loss is the result with
    `remat.loss`, else the first floating-point scalar (`f32`, `tensor<f32>`).

    `remat.begin_backward` stands between the forward and the backward.

    Reverse mode on tensors. The pass knows nothing of memory: every forward
    value that the backward reads is kept, as a residual result of its
    `remat.region`, on a tape (`remat.tape_write` in a forward loop,
    `remat.tape_read` in the backward loop), or as an extra result of the called
    function. Constants and what is made from them, views, and index arithmetic
    are recomputed in the backward instead. Only what lies between a wanted argument
    and the loss is differentiated.

    Each `remat.region` gets a `remat.backward`, each `scf.for` a loop that runs
    backwards; bounds and step may be any values. An `scf.if` or
    `scf.index_switch` gets one that makes the same choice: residuals leave the
    branch as results, for which the branches not taken yield undefined values
    (`tensor.empty`, `ub.poison`). An `scf.while` becomes a loop that counts its
    iterations, of which only what the condition depends on is left, and an
    `scf.for` of that many iterations; so a condition on the differentiated
    values themselves costs a second forward, and a counter nearly nothing. A
    called function is differentiated once for each set of wanted
    arguments into `@callee_fwd`, which returns residuals too, and `@callee_bwd`.
    Other loops and branches are those of `scf` by `DecomposableOpInterface`
    (`remat-decompose`). Derivatives of single operations come from
    `DifferentiableOpInterface`; an operation without it on the way from a parameter
    to the loss is an error.

    Contributions to one cotangent are summed in the order in which the backward
    meets them; one that is a sum itself (a product, a reduction) accumulates
    into the cotangent so far, so that the gradient of a weight that a loop or
    several regions share has one buffer.

    Example:

    ```mlir
    func.func @loss(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> tensor<f32>
    // becomes, beside @loss:
    func.func @loss_grad(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>)
        -> (tensor<f32>, tensor<4xf32> {remat.gradient_of = 0 : i64})
    ```

    A function that has its `_grad` already is left alone.
  }];
  let options = [
    ListOption<"functions", "function", "std::string",
      "Functions to differentiate. Default: those that a `remat.train_step` names, else every public function with an `opt.param` argument">,
    ListOption<"wrt", "wrt", "int64_t",
      "Indices of the arguments to differentiate with respect to. Default: those with `opt.param`">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::remat::RematDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::ub::UBDialect"
  ];
}

def BindCustomVJP : Pass<"remat-bind-custom-vjp", "::mlir::ModuleOp"> {
  let summary = "put operations with a remat.custom_vjp into functions, and keep those";
  let description = [{
    Every operation of a kind that a `remat.custom_vjp` is for becomes a call of
    a private function that holds it, with a `remat.custom_vjp` for that
    function; equal operations share one. An elementwise operation on tensors
    whose rule is on scalars becomes a `linalg.generic` with the call in its
    body. Functions with a rule get `no_inline`, so that the inliner, and with
    it fusion and folding, leaves them to `remat-differentiate`, which starts
    with this pass, too.

    Example:

    ```mlir
    remat.custom_vjp @rule for "math.tanh"
    %y = math.tanh %x : f32
    // becomes
    remat.custom_vjp @rule for @math_tanh
    %y = func.call @math_tanh(%x) : (f32) -> f32
    ```
  }];
  let dependentDialects = [
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::remat::RematDialect", "::mlir::tensor::TensorDialect"
  ];
}

def InlineCustomVJP : Pass<"remat-inline-custom-vjp", "::mlir::ModuleOp"> {
  let summary = "inline functions with a remat.custom_vjp, which has served";
  let description = [{
    Puts the body of every function that has a `remat.custom_vjp` in place of its
    calls, takes its `no_inline` away, and erases the `remat.custom_vjp`s. Runs
    after `remat-differentiate`, so that recomputation and fusion see what is in
    the function. The functions themselves are left to `symbol-dce`; one with
    several blocks stays a call.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif // REMAT_AUTODIFF_PASSES_TD
