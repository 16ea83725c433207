//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_TRANSFORMS_ANNOTATE_PASSES_TD
#define REMAT_TRANSFORMS_ANNOTATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Annotate : Pass<"remat-annotate", "::mlir::ModuleOp"> {
  let summary = "put parts of a plain model into regions";
  let description = [{
    In: a forward function as a front end wrote it. Out: the same with
    `remat.region`s, as if they had stood in the file. One run has one selector,
    which says what; several runs add to each other, the inner ones first.

    | selector | selects |
    |---|---|
    | `blocks` | layers found in the operations themselves: sequences that repeat one after the other, equal up to parameters and constants, each on the result of the one before |
    | `whole` | everything that the function computes |

    | option of `blocks` | takes |
    |---|---|
    | `every=k` | blocks k-1, 2k-1, ... only; the others stay as they are |
    | `pick=0,3-5,-1` | these blocks only |
    | `group=k` | k blocks in one region (before `every` and `pick`) |

    `policy` is that of the regions: `nothing_saveable` if it is not given.

    A region begins and ends where the fewest bytes pass. Constants, empty
    tensors and fills are made again inside; what is made of parameters or of
    data alone (transposed weights, masks, draws) moves in if nothing else reads
    it and the region's operands get no bigger, and stays outside otherwise, as
    do reads and writes of globals. Operations between the selected ones that
    depend on them move behind the region. No value changes.

    `report` prints a table of the regions with the operations in each, the
    parameters that it reads, the bytes of its other operands and of its results.

    Example: `--remat-annotate="blocks policy=#remat.dots_saveable every=2"` turns

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
    ListOption<"pick", "pick", "std::string",
               "Indices and ranges of blocks: 0, -1 (the last), 2-5">,
    Option<"every", "every", "int64_t", "1", "Every k-th block only">,
    Option<"group", "group", "int64_t", "1", "k blocks in one region">,
    Option<"policy", "policy", "std::string", "\"\"",
           "Policy of the regions, with or without `#remat.`">,
    ListOption<"functions", "function", "std::string",
               "Functions to annotate. Default: those that a `remat.train_step` names, else every public one">,
    Option<"report", "report", "bool", "false",
           "Print a table of the regions to the standard error">,
  ];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

#endif // REMAT_TRANSFORMS_ANNOTATE_PASSES_TD
