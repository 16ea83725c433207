//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_ANNOTATE_PASSES_TD
#define REMAT_TRANSFORMS_ANNOTATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Annotate : Pass<"remat-annotate", "::mlir::ModuleOp"> {
  let summary = "put parts of a plain model into regions, name them, stop gradients at them";
  let description = [{
    In: a forward function as a front end wrote it. Out: the same with
    `remat.region`s, `remat.name`s and so on, as if they had stood in the file.
    One run has one selector, which says what, and one action, which says what
    happens to it; several runs add to each other, inner regions first.

    | selector | selects |
    |---|---|
    | `blocks` | layers found in the operations themselves: sequences that repeat one after the other, equal up to parameters and constants, each on the result of the one before; and the body of a loop that reads other parameters in each iteration (`lax.scan` over stacked weights), which is one block |
    | `whole` | everything that the function computes |
    | `calls=layer*` | each call of a function with such a name |
    | `scope=layers.*` | what the locations place under such a scope, for each scope of its own: `layers.0`, `layers.1` (PyTorch), `jit(loss)/Model/layer_0` (JAX). A pattern is one or more components in a row, found anywhere in the scope |
    | `checkpoints` | each application of `jax.checkpoint` or `torch.utils.checkpoint` that the locations tell of, and those inside it: regions in regions |
    | `ops=softmax,norm` | operations by kind: `dot`, `elementwise`, `reduction`, `softmax`, `norm`, `attention`, `gather`, or a name such as `math.*`, also of what a structured operation's body computes, or a number: `#17` as `remat-print-operations` lists it |

    | action | makes of each of them |
    |---|---|
    | `policy=dots_saveable` | a `remat.region` with this policy, labelled by what was selected. Without any action: with `nothing_saveable` |
    | `recompute=elementwise,norm` | a `remat.region` from which anything may be saved but the results of these kinds of operations (as in `ops=`) |
    | `save=dot,#17` | a `remat.region` that may save the results of these operations (as in `ops=`; of `attention`, its result and a number for each row, not scores or weights), besides what `policy=` permits. A region that has none of them has the policy alone |
    | `name=attn` | a `remat.name` at every value that others read |
    | `stop` | a `remat.stop_gradient` at every such value |
    | `vjp=@rule` | a function with a `remat.custom_vjp` |

    | option of `blocks` | takes |
    |---|---|
    | `every=k` | blocks k-1, 2k-1, ... only; the others stay as they are |
    | `pick=0,3-5,-1` | these blocks only |
    | `group=k` | k blocks in one region (before `every` and `pick`) |

    A region of `blocks` begins and ends where the fewest bytes pass. Constants,
    empty tensors and fills are cloned inside; what is made of parameters or
    of data alone (transposed weights, masks, draws) moves in if nothing else
    reads it and the region's operands get no bigger, and stays outside
    otherwise, as do reads and writes of globals. Operations between the
    selected ones that depend on them move after the region; where something
    outside depends on a part of a selection, and another part on that, the
    selection becomes several regions, with a remark. No value changes, and what
    has an effect has it once.

    `calls`, `scope`, `checkpoints` and `ops` look into called functions, too.

    A pattern that matches nothing, a policy that mentions a name that is not in
    a region, and a region that would cut another one are errors, which list
    what comes nearest.

    `report` prints a table of the regions with the operations in each, the
    parameters that it reads, the bytes of its other operands and of its results.

    Example: `--remat-annotate="blocks policy=dots_saveable every=2"` turns

    ```mlir
    %1 = linalg.matmul ins(%x, %w0 ...
    %2 = math.tanh %1
    %3 = linalg.matmul ins(%2, %w1 ...
    %4 = math.tanh %3
    ```

    into

    ```mlir
    %1 = linalg.matmul ins(%x, %w0 ...
    %2 = math.tanh %1
    %4 = remat.region policy(#remat.dots_saveable) (%a = %2 : ..., %b = %w1 : ...) -> ...
        attributes {label = "block 1"} {
      %5 = linalg.matmul ins(%a, %b ...
      %6 = math.tanh %5
      remat.yield %6
    }
    ```
  }];
  let options = [
    Option<"blocks", "blocks", "bool", "false",
           "Select layers by their structure">,
    Option<"whole", "whole", "bool", "false", "Select the whole function">,
    Option<"checkpoints", "checkpoints", "bool", "false",
           "Select what was under a checkpoint of JAX or PyTorch">,
    ListOption<"calls", "calls", "std::string",
               "Select calls of functions by patterns of their names">,
    ListOption<"scopes", "scope", "std::string",
               "Select by patterns of the scopes that locations name">,
    ListOption<"kinds", "ops", "std::string",
               "Select operations by kind or name">,
    ListOption<"pick", "pick", "std::string",
               "Indices and ranges of blocks: 0, -1 (the last), 2-5">,
    Option<"every", "every", "int64_t", "1", "Every k-th block only">,
    Option<"group", "group", "int64_t", "1", "k blocks in one region">,
    Option<"policy", "policy", "std::string", "\"\"",
           "Policy of the regions, with or without `#remat.`; in braces if it has spaces">,
    ListOption<"recompute", "recompute", "std::string",
               "Kinds of operations whose results the regions may not save">,
    ListOption<"save", "save", "std::string",
               "Kinds of operations whose results the regions may save">,
    Option<"name", "name", "std::string", "\"\"",
           "Name what is selected, rather than make regions">,
    Option<"stop", "stop", "bool", "false",
           "Stop gradients at what is selected, rather than make regions">,
    Option<"vjp", "vjp", "std::string", "\"\"",
           "The function that is the derivative of what is selected">,
    ListOption<"functions", "function", "std::string",
               "Functions to annotate. Default: those that a `remat.train_step` names, else every public one">,
    Option<"report", "report", "bool", "false",
           "Print a table of the regions to the standard error">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::remat::RematDialect"];
}

def PrintOperations : Pass<"remat-print-operations", "::mlir::ModuleOp"> {
  let summary = "list operations, with the numbers that remat-annotate selects them by";
  let description = [{
    In: a forward function, as for `remat-annotate`. Out: the same. Writes to the
    standard error what a program that chooses what to save wants to know of each
    operation that makes a tensor and may be selected, as a JSON array of objects,
    an object on a line: its number, the function that it is in, its name and kinds, the
    types and bytes of its results, what an evaluation costs (in scalar
    operations, see `RecomputeCostOpInterface`), its `remat.name`, its scope and
    the line of the model, as far as there are any.

    A number is for `save=`, `recompute=` and `ops=` of the `remat-annotate` that
    runs next, on the same module.

    Example:

    ```
    [
    {"number":3,"function":"loss","op":"linalg.matmul","kinds":["dot"],"types":["tensor<8x16xf32>"],"bytes":512,"cost":2048,"name":null,"scope":"layers.0.linear","line":"model.mlir:12"},
    ...
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def AnnotateShards : Pass<"remat-annotate-shards", "::mlir::ModuleOp"> {
  let summary = "say on which grid of ranks a model trains, and what they share";
  let description = [{
    In: a module with a `remat.train_step` whose loss was written for the whole
    batch. Out: the same with a `shard.grid` and `remat.shard` on arguments of the
    loss and of the evaluation, as for `remat-split`.

    `mesh` lists axes, each with its ranks and, if they are others, its parts:
    `data:2`, `data:2:4,model:2`. Data are split along the axis called `data`, if
    there is one, in their first dimension; scalars, parameters and states are
    whole. `shards` says otherwise of arguments by name, in JSON: pairs of a name,
    in which `*` stands for any characters, and an axis or null for each
    dimension. The first pair that matches counts. A `remat.shard` that an
    argument has stays if no pair matches.

    A name that no argument has, and a grid that the module has already, are
    errors.

    Example: `--remat-annotate-shards="mesh=data:2:4 shards={[["x",[null,"data"]]]}"`
    turns

    ```mlir
    func.func @loss(%x: tensor<16x8xf32> {remat.data = "x"}, %y: tensor<8xf32> {remat.data = "y"}, ...
    ```

    into

    ```mlir
    shard.grid @mesh(shape = 2) {remat.axes = ["data"], remat.parts = [4]}
    func.func @loss(%x: tensor<16x8xf32> {remat.data = "x", remat.shard = [[], ["data"]]},
                    %y: tensor<8xf32> {remat.data = "y", remat.shard = [["data"]]}, ...
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "Axes with ranks and parts: data:2:4,model:2">,
    Option<"shards", "shards", "std::string", "\"\"",
           "JSON: pairs of a name and an axis or null for each dimension">,
  ];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

#endif // REMAT_TRANSFORMS_ANNOTATE_PASSES_TD
