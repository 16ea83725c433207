//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD
#define REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Materialize : Pass<"remat-materialize", "::mlir::ModuleOp"> {
  let summary = "execute plans: recompute in the backward what is not kept";
  let description = [{
    In: a joint function with a `remat.plan` in each `remat.backward` about whose
    residuals `remat-plan` has decided. Out: the same without plans, and without
    the residuals that are recomputed. Backwards without a plan stay as they
    are. Nothing is decided here.

    For each region, inner ones first, the slice of its body that leads from the
    plan's `from` to these residuals is cloned into the backward. The clones carry
    `remat.phase = "recompute"`, stand before their first user, and read their
    inputs through one `remat.barrier` on the backward's cotangents.

    In a function without regions, where `remat-plan-functions` has decided, the
    producer of a recomputed value is fused into the kernels that read it if
    possible, else cloned before them, with its inputs read through a barrier. The
    `remat.plan` stays, with the saved values, until `remat-inline-regions`.

    Finally, dead operations, results, operands and tapes are removed. Operations
    with side effects are cloned only if a needed value depends on them.

    Example:

    ```mlir
    %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
      %0 = math.sin %a : f32
      %1 = math.sin %0 : f32
      remat.yield %1 : f32 residuals(%0 : f32)
    }
    %dx = remat.backward (%a = %x : f32) residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
      %p = remat.plan %s from %a : f32 from f32
          [#remat.decision<recompute by "#remat.nothing_saveable" because "not permitted">]
      %c = math.cos %p : f32
      ...
    ```

    becomes

    ```mlir
    %y = remat.region (%a = %x : f32) -> f32 { ... }
    %dx = remat.backward (%a = %x : f32) cotangents(%dy = %ct : f32) -> f32 {
      %b = remat.barrier %a after %dy {remat.phase = "recompute"} : f32 after f32
      %s = math.sin %b {remat.phase = "recompute"} : f32
      %c = math.cos %s : f32
      ...
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::scf::SCFDialect"];
}

def InlineRegions : Pass<"remat-inline-regions"> {
  let summary = "splice the bodies of regions and backwards into their parents";
  let description = [{
    In: decisions are materialized: what a `remat.backward` reads is what is
    saved. Out: flat IR, in the order in which it stood, without
    `remat.region`, `remat.backward`, `remat.name` and `remat.stop_gradient`. Barriers stay: they alone
    keep a recompute apart from the original from here on. A function whose
    backward has no `remat.begin_backward` yet gets one. Operations of a backward
    that carry no phase yet get `remat.phase = "backward"`.

    A `remat.plan` is replaced by what it keeps: a second run, after fusion,
    removes that of a function. Where a train step has a budget, a `remat.saved`
    stays of each value that a policy names: `remat-fit-budget` does not drop it.
    Idempotent.

    Example:

    ```mlir
    %dx = remat.backward (%a = %x : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
      %b = remat.barrier %a after %dy : tensor<4xf32> after tensor<4xf32>
      %0 = math.sin %b : tensor<4xf32>
      ...
    ```

    becomes

    ```mlir
    %b = remat.barrier %x after %ct : tensor<4xf32> after tensor<4xf32>
    %0 = math.sin %b : tensor<4xf32>
    ...
    ```
  }];
}

def MergeLoops : Pass<"remat-merge-loops"> {
  let summary = "merge a loop of the forward into the backward's loop that recomputes it";
  let description = [{
    A loop over tiles from which nothing is saved (a loss head) stands twice in
    a step: once for its results, once for the gradients, where each tile is
    recomputed. If no operand of the backward's loop depends on the results of the
    forward's (the cotangent of a mean does not), this pass moves the body of
    the latter into the former, and removes the barriers that kept both
    computations apart: CSE merges them afterwards.

    In: regions are inlined, `remat.begin_backward` is there. Loops from 0 by 1, with the same
    constant number of iterations, of which the backward's counts down; the
    forward's only fills in parts of tensors, disjoint ones in each iteration. Users of the
    results of the forward move after the merged loop, and become part of the backward.
    A loop whose results a later one continues to fill in, in other parts, comes after that
    one, since the backward goes through the tiles from the last to the first. Where
    the backward recomputes operands of its product, so does the merged loop.
    Out: the same values.

    Example: `%l` is read by the loss only, and `%dl` is constant

    ```mlir
    %l = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %e) -> tensor<128xf32> { /* product, loss */ }
    %dw = scf.for %i = %c0 to %c8 step %c1 iter_args(%b = %zero) -> tensor<64x1000xf32> {
      %j = arith.subi %c7, %i : index
      %w1 = remat.barrier %w after %dl : ...
      /* the product again, its gradients */
    }
    ```

    become one loop with two results, in which the product is computed once.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def MergeTapes : Pass<"remat-merge-tapes"> {
  let summary = "record what a loop carries once";
  let description = [{
    A value that a loop carries is recorded as it enters each iteration, for the
    backward, and often as it leaves it: by a model that stacks the outputs of
    a recurrence, or by a policy that saves them. Both are parts of one tape with
    a position more, which begins with the value before the first iteration. Two
    tapes of the same value become one.

    In: regions are inlined, nothing is decided yet about the function (what is
    saved is the merged tape). Loops from 0 by 1, a known number of times, whose
    tapes and stacks (`tensor.insert_slice` of one position of the leading dimension)
    have as many positions and are only read afterwards. Out: the same values.

    Example: `%hs` is what the model stacks, `%t` the backward's tape

    ```mlir
    %h, %hs, %t = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %start, %s = %e, %r = %e) -> ... {
      %t1 = remat.tape_write %a into %r[%i] : tensor<4xf32> into tensor<10x4xf32>
      %a1 = ...
      %s1 = tensor.insert_slice %a1 into %s[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
      scf.yield %a1, %s1, %t1 : ...
    }
    ```

    becomes

    ```mlir
    %e1 = remat.tape_write %start into %e0[%c0] : tensor<4xf32> into tensor<11x4xf32>
    %h, %t = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %start, %r = %e1) -> ... {
      %a1 = ...
      %j = arith.addi %i, %c1 : index
      %t1 = remat.tape_write %a1 into %r[%j] : tensor<4xf32> into tensor<11x4xf32>
      scf.yield %a1, %t1 : ...
    }
    %hs = tensor.extract_slice %t[1, 0] [10, 4] [1, 1] : tensor<11x4xf32> to tensor<10x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerTapes : Pass<"remat-lower-tapes"> {
  let summary = "tapes become slices of tensors";
  let description = [{
    In: `remat.tape_write` and `remat.tape_read`. Out: `tensor.insert_slice` and
    `tensor.extract_slice` (`tensor.insert` and `tensor.extract` for a tape of
    scalars or vectors), which bufferize in place: the tape is the one buffer
    that the loop carries. `remat.begin_backward` goes: nothing is decided by it
    any more. `remat.next_snapshot` and `remat.last_snapshot` become arithmetic
    on indices, in loops of a few iterations.

    Example: `remat.tape_read %t[%i] : tensor<10x4xf32> -> tensor<4xf32>` becomes
    `tensor.extract_slice %t[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD
