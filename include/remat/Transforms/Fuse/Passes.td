//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_FUSE_PASSES_TD
#define REMAT_TRANSFORMS_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FusePass : Pass<"remat-fuse"> {
  let summary = "fuse elementwise chains into one kernel each";
  let description = [{
    Nothing inside a `linalg.generic` is ever saved for the backward pass: its
    adjoint recomputes the scalar body from the operands, in registers. So
    chains of elementwise operations become one kernel before differentiation,
    and only the inputs of kernels can become residuals. The pass runs once more
    when recomputed slices stand in the backward (there it saves their stores).

    What computes on tensors without being structured becomes so first: `arith`,
    `math` and `complex` on tensors, and what `remat-decompose` replaces. A kernel
    that branches on where an element lies, to take it from one tensor or the next,
    as StableHLO's conversion writes it, becomes a `tensor.concat`.
    An elementwise producer, named (`linalg.add`, `linalg.map`,
    `linalg.broadcast`, `linalg.transpose`, `linalg.fill`, ...) or generic, is
    fused into the elementwise or reducing operation that reads it:

    - if it reads no tensor (constants, fills, masks made of indices, random
      draws), into every reader, even one in a loop body: such a value is never
      stored unless something other than a kernel needs it;
    - if one operation reads it, into that one, unless that would evaluate
      something costly (a division, a transcendental function) once for each
      element of a broadcast;
    - if several operations read it, into all of them where it is cheap, reads
      at most one tensor of its own size (so that no more bytes stay alive than
      before), and then disappears;
    - if several operations read it and all of them together take less time with
      it (by `Analysis/Cost`, as they read most of its operands anyway: the
      sums over a batch and what they normalize), into all of them, unless more
      bytes would stay alive; only after differentiation, at the end;
    - otherwise into its first reader if both have the same iteration space and
      nothing more has to stay alive; its value stays a second result. A reader
      that only widens the value (`arith.extf`) stays apart, for its own readers.

    Borders: `remat.name` and `remat.barrier`, isolated regions (`remat.region`,
    `remat.backward`), contractions, convolutions and poolings (a library wants
    their operands in memory), reductions as producers, kernels that load
    elements by `tensor.extract`, operands read through sums of loop indices.
    `remat.begin_backward` is one, too, but for producers that read no tensor: what
    the backward reads of the forward is the plan's decision
    (`remat-plan-functions`), and goes through its `remat.plan`. What is fused is read later than before, so a producer stays where something between
    the two writes one of its operands in place.
    Size: a kernel grows to 1024 operations, since fusing one more copies all of
    them. With `keep-adjoints`, its floating-point operations times its operands
    that are not read element for element stay within 256, since each of these
    has a kernel in the adjoint that recomputes the body.
    Destinations stay what they are: `outs(%w)` never becomes a fresh tensor.

    No value changes: the same scalar operations are applied to the same
    operands in the same order. With `keep-adjoints`, the same is true of the
    gradients that differentiation makes afterwards: operations that may carry a
    gradient are fused only where the adjoint of the kernel adds up what the
    adjoints of its parts would. They are not copied into several readers, for
    instance: `f'(x) (a + b)` is not, to the bit, `f'(x) a + f'(x) b`. Where
    regions begin (there fusion stops) then changes no bit of a gradient. Once
    the gradient is there, the pass may run without it.

    Example: the two kernels

    ```mlir
    %0 = linalg.add ins(%x, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %1 = linalg.exp ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    ```

    become one:

    ```mlir
    %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %2 = arith.addf %in, %in_0 : f32
      %3 = math.exp %2 : f32
      linalg.yield %3 : f32
    } -> tensor<8xf32>
    ```
  }];
  let options = [
    Option<"keepAdjoints", "keep-adjoints", "bool", "false",
           "Fuse only what leaves the bits of gradients alone; before "
           "differentiation">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def FixOrdersPass : Pass<"remat-fix-orders"> {
  let summary = "fix the order in which each reduction adds up";
  let description = [{
    The bits of a sum depend on the order of its additions, and kernels add up in
    vectors, in loops, or in a library, as suits them. Were that chosen when they
    are lowered, it would depend on what fusion has put into them, and so on
    regions and policies. So each operation of linalg with reduction loops gets a
    `remat.order` while it is as the model has it; every pass that replaces,
    fuses or clones the operation keeps it, and kernels obey it:

    | `remat.order` | operation | order |
    |---|---|---|
    | `"product"` | matrix product or convolution, each of whose operands lacks a dimension of the result | the library's, or as for `across` |
    | `"rounded product"` | product of bf16 or f16 with its rounding (`remat-fold`) | the same in f32, rounded once |
    | `"along"` | the innermost dimension (of more than one iteration) is reduced, by one associative operation for each result | element i goes to partial result i modulo 16; these are combined pairwise (i with i + 8, 4, 2, 1), and the initial value last |
    | `"across"` | every other | one by one in the order of the loops, from the initial value |

    Adjoints get theirs where they are made, by `remat-differentiate`, and the
    parts of `linalg.softmax` by `convert-linalg-aggregates-to-structured`.

    Run before fusion. `remat-check-orders` finds operations that have lost it.
  }];
}

def HoistReshapes : Pass<"remat-hoist-reshapes"> {
  let summary = "put reshapes before the elementwise kernels whose results they split";
  let description = [{
    Fusion does not see through a `tensor.expand_shape` between two kernels, such as the addition of a bias to the rows of
    a product and a GELU or a residual addition on sequences of positions. This pass computes the first one in the shape in which its
    result is read; its operands are views then.

    In: elementwise `linalg.generic`s of static sizes with one result, all of whose users split its dimensions in one way.
    Out: the same operations on the same elements. Run after differentiation: the sums of the backward keep the loops, and
    the order, of the model's operations.

    Example:

    ```mlir
    %0 = linalg.generic {...} ins(%product, %bias : tensor<32x8xf32>, tensor<8xf32>) ... -> tensor<32x8xf32>
    %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
    // becomes
    %0 = tensor.expand_shape %product [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
    %1 = linalg.generic {...} ins(%0, %bias : tensor<4x8x8xf32>, tensor<8xf32>) ... -> tensor<4x8x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ReuseResultsPass : Pass<"remat-reuse-results"> {
  let summary = "let kernels read what another kernel stores anyway";
  let description = [{
    The adjoint of a fused kernel consists of several: one for the gradients of
    what it read element for element, one for each operand that it read
    otherwise (a bias, a mean), and each begins with the same scalar operations
    on the same tensors. Where one of them stores a value and something later
    reads it, the others between the two read it as well, if they then need
    fewer tensors of full size, or equally many, of which one is then made only where the value is. Those die earlier, and each loop reads less.

    A kernel with several results of which one (with one reader) is made
    from another one, and operands that are smaller, is split: `remat-fuse`, which
    runs after this pass, moves the new kernel into its reader, and one
    tensor less is stored. If no result makes the others, but one value of the body
    makes all of them (the cotangent of a sum, masked, which goes to two norms), that value
    is stored in their place. This comes first: what the others are made from is
    also what most of them read.

    `remat.begin_backward` is a border: a value of the forward that the plan
    recomputes is not saved instead. Values do not change, nor does their order
    in sums.

    Example: both kernels compute `select(%y > 0, %dy, 0)`,

    ```mlir
    %dx = linalg.generic {...} ins(%y, %dy : tensor<8x4xf32>, tensor<8x4xf32>) ...
    %db = linalg.generic {...} ins(%y, %dy, %h : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) ... -> tensor<4xf32>
    %sum = linalg.add ins(%dx, %dz : ...) ...
    ```

    and the second takes it from the first:

    ```mlir
    %db = linalg.generic {...} ins(%h, %dx : tensor<8x4xf32>, tensor<8x4xf32>) ... -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def SinkIntoLoops : Pass<"remat-sink-into-loops"> {
  let summary = "compute in a loop what only the loop reads, slice by slice";
  let description = [{
    The cotangent of a stack of outputs is as large as the stack, and the backward's
    loop reads one position of it at a time. This pass computes the position there,
    from slices of what the whole was computed from.

    In: elementwise `linalg.generic`s in whose place all readers are slices of one
    position of the leading dimension, at one index, in the body of one loop on the
    same side of `remat.begin_backward`. What they read has to be alive at the loop anyway, or be smaller
    than the result. Out: the same operations on the same elements.

    Example:

    ```mlir
    %d = linalg.generic {...} ins(%hs, %ys : tensor<10x4xf32>, tensor<10x4xf32>) ...
    scf.for %i = %c0 to %c10 step %c1 ... {
      %0 = tensor.extract_slice %d[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %c10 step %c1 ... {
      %h = tensor.extract_slice %hs[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
      %y = tensor.extract_slice %ys[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
      %0 = linalg.generic {...} ins(%h, %y : tensor<4xf32>, tensor<4xf32>) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_FUSE_PASSES_TD
