//===- Passes.td - From what exporters print --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_IMPORT_PASSES_TD
#define REMAT_TRANSFORMS_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ThreadGlobals : Pass<"remat-thread-globals", "::mlir::ModuleOp"> {
  let summary = "ml_program.global to values that are passed on";
  let description = [{
    torch-mlir keeps the seed of PyTorch's random draws in a global variable. A
    recompute that loaded it again would draw other numbers, and advance it twice:
    so the variable becomes a value. Each function that loads or stores a mutable
    `ml_program.global`, itself or through calls, gets one more argument and
    result (after its own), which pass through `scf.for`, `scf.while`, `scf.if`,
    `scf.index_switch`, `scf.execute_region`, `remat.region` and `func.call` in
    program order. Where it is public or called by none, they are model state
    (`remat.state = "name"`) that starts from the global's value
    (`remat.init`). A global that nothing stores to becomes a constant where
    it is loaded.

    An error at the place: loads and stores in a loop without an order or in
    unstructured control flow, a global without a value, the operations of
    `ml_program`'s graph regions.

    Example: with `ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>`,

    ```mlir
    func.func @f() -> tensor<i64> {
      %old = ml_program.global_load @seed : tensor<i64>
      %new = call @advance(%old) : (tensor<i64>) -> tensor<i64>
      ml_program.global_store @seed = %new : tensor<i64>
      return %old : tensor<i64>
    }
    ```

    becomes

    ```mlir
    func.func @f(%old: tensor<i64> {remat.init = dense<0> : tensor<i64>, remat.state = "seed"})
        -> (tensor<i64>, tensor<i64> {remat.state = "seed"}) {
      %new = call @advance(%old) : (tensor<i64>) -> tensor<i64>
      return %old, %new : tensor<i64>, tensor<i64>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::scf::SCFDialect"];
}

def Import : Pass<"remat-import", "::mlir::ModuleOp"> {
  let summary = "an exported model to a function that can be trained";
  let description = [{
    Front ends print a loss without a word on what is to be trained. This pass
    finds out, and marks the function as the other passes expect it:

    - **Weights.** A constant that is a weight becomes an argument with
      `opt.param = "name"` and `remat.init = <the constant's value>`, after the
      function's own arguments. A `dense_resource` stays a handle: its bytes are
      neither printed in the function nor copied, and the training program starts
      from them. Uses of one resource, in called functions too, are one parameter.
    - **Arguments** are parameters (`opt.param`), model state
      (`remat.state`) or data (`remat.data = "key"`).
    - **Results**: the loss (`remat.loss`), the next value of a model state
      (`remat.state`), such as running statistics, and outputs, with the
      description's names (`remat.metric`).
    - **Globals**: as `remat-thread-globals` does it.
    - **Expanded functions**: `erfc`, which JAX's exact GELU is made of, arrives as a
      choice between approximations that overflow where they are not chosen, so
      that their derivatives are no numbers. What evaluates to `erfc` becomes
      `math.erfc`.
    - With `optimizer=`, an `opt.optimizer` and a `remat.train_step @step`, so that
      `--remat-train` makes a program of the result.

    Who decides, in this order:

    1. the options `params`, `data` and `state`, by names;
    2. the description `spec=FILE.json`, or `spec={{...}}` with the JSON itself:
       `function`, and lists `arguments`, `constants` and `results`, each entry
       with a `name`, a `role` (`parameter`, `buffer`, `data`; `loss`, `output`,
       `buffer_update`), and optionally `shape` (-1: any), `dtype`, which are
       checked, and for a constant its `resource` (without one: the only constant
       in the text of this type, or the only one that is no whole number, with a
       warning). Constants that are not listed stay;
    3. marks that the function carries already;
    4. rules. A constant is a weight if it is a `dense_resource`, or written out
       and no splat, of floating-point numbers, of at least `min-rank` dimensions
       and `min-elements` elements, all finite, and not a mask (0 and 1 in two or
       more dimensions). An argument of floating-point numbers is a parameter if its
       location's name is a path into a tree, as in JAX
       (`params['layer_0']['kernel']`; where some trees are called `params`, into
       those). A result other than the loss is the next value of
       an argument of its type that reaches no other result, if there is one such
       argument. The loss is the first scalar that is
       left.

    A name is the description's, or that of a location or resource, or `arg<i>`;
    data may be called like a weight.
    Integers are data. `report=-` prints what was decided and why.

    Errors, each at its place, before anything changes: no parameter; no scalar
    loss, or one that depends on no parameter; what the description says and the
    function does not have; operations of dialects that only exporters know
    (`torch`, `tm_tensor`, `stablehlo`, ...), with what converts them; an option's
    name that nothing has.

    Example:

    ```sh
    remat-opt model.mlir --remat-import="spec=model.json optimizer=#opt.adamw<lr=1e-3> report=-" --remat-train
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "the loss (default: the description's, or the only public one)">,
    Option<"spec", "spec", "std::string", "\"\"",
           "JSON file with names and roles, or the JSON itself, in braces of its "
           "own">,
    ListOption<"params", "params", "std::string",
               "names of parameters (with * and ?, which pass over integers)">,
    ListOption<"data", "data", "std::string",
               "names of data; of constants: those that stay">,
    ListOption<"state", "state", "std::string",
               "model state, as name:result">,
    Option<"minRank", "min-rank", "uint64_t", "1",
           "dimensions that a constant has at least if it is a weight">,
    Option<"minElements", "min-elements", "uint64_t", "2",
           "elements that a constant has at least if it is a weight">,
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "an update rule, such as #opt.sgd<lr=0.1>: adds a train step">,
    Option<"mode", "mode", "std::string", "\"\"",
           "`eager` (the default) or `deferred` updates of the train step">,
    Option<"report", "report", "std::string", "\"\"",
           "what was decided: `-` for a table on the standard error, otherwise "
           "a file">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::opt::OptDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // REMAT_TRANSFORMS_IMPORT_PASSES_TD
