//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_SCHEDULE_PASSES_TD
#define REMAT_TRANSFORMS_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitDestinationsPass : Pass<"remat-split-destinations"> {
  let summary = "give every kernel a destination of its own";
  let description = [{
    CSE merges equal `tensor.empty`s and equal `linalg.fill`s. Two kernels that
    then write into one of them would make bufferization copy it, and it would
    stay alive from the first to the last. This pass clones such destinations,
    one for each use, right in front of it, in its loop. A `tensor.empty` that
    went through a `remat.barrier` is taken out of it first: it has no contents
    that could exist too early, and all recomputes of a step would share one
    buffer. Each `tensor.empty` then becomes a `remat.destination`, which no CSE
    merges and no LICM hoists.

    In: tensor IR. Out: no `tensor.empty`, and no `remat.destination` and no fill
    of one has more than one use as a destination. Values do not change.
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def SchedulePass : Pass<"remat-schedule"> {
  let summary = "order operations so that less is alive at once";
  let description = [{
    Reorders the operations of each block of tensor IR:

    - an operation whose result is larger than what it frees sinks to its first
      reader;
    - an operation that frees more than it allocates, or a short chain of them
      (a weight's gradient and the update that consumes it), runs as soon as
      it can.

    Data dependences, the order of side effects, and the order of reads before
    the write in place that ends them (an update of a parameter) are kept, and
    so is `remat.barrier`: no recompute starts before its cotangent exists.

    Both are also tried with all updates at the end, as deferred updates have
    them.

    The peak is estimated from tensor bytes, rounded up to `alignment`: results written in place take none,
    elementwise results take over dying operands, values from outside the block
    count nothing, dynamic dimensions count as 1, a nested loop adds its body's
    peak, and an operation with `remat.workspace_bytes = n` adds n bytes while it
    runs. Of the orders tried, the one with the lowest estimate stays; on a tie
    the lowest without rounding, then the earlier, the input order first. So the estimate never gets worse.
    Deterministic, and linear in the number of operations and operands.
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", /*default=*/"1",
           "of every buffer, in bytes: what small tensors occupy, too">,
    Option<"printEstimate", "print-estimate", "bool", "false",
           "emit the estimates before and after as a remark on each function">,
  ];
}

def RepeatAtPeakPass : Pass<"remat-repeat-at-peak"> {
  let summary = "recompute values that are live through the peak without uses there";
  let description = [{
    Looks at the point of a block, in its present order, where most bytes are live.
    Results of elementwise kernels of the backward, recomputed ones included, that have
    uses before and after it are computed a second time before the first use after it,
    and so are not live at the peak. Where a layer is recomputed for its backward, these
    are its norms and activations: products read them, and so do the gradients of the
    weights.

    Only where it costs little: the operands of the kernel have the same elements there,
    and are live anyway but for less than half of the bytes that are saved; together the
    repetitions take at most a part in 64 of the block's estimated time; and the
    peak gets lower by a part in 64 at least. Then it looks for the new peak, 24
    times at most. The second computation reads through a `remat.barrier`, so that
    it is not merged with the first, which is marked as `repeated`: a block
    that has one stays as it is.

    Then the same for products, convolutions and sums of the backward, one at each
    peak: the result of the first convolution of a block is used by the derivative of
    its norm only after the gradients of the second one. Operands that are not live any
    more are recomputed with them, if that needs live values only: the
    queries of an attention are a norm, a product and a sum with a bias away from the
    layer's input. These may take a part in 32 of
    the time, if they lower the peak by twice as much, and each step to a lower one
    by at least twice the part that it takes. A repetition that makes a higher peak
    where it stands is undone.

    If an `scf.for` runs at the peak (the loop over micro-batches has all of a step
    in its body), then the same in its body, in proportion to its time and to all
    bytes that are live at that point.

    Values that the forward keeps for the backward do not count: `remat-plan` decided
    about them. The forward is what results other than gradients and updated parameters
    depend on. Where a train step has a budget, nothing happens: `remat-fit-budget`
    decides about all of it. Values do not change. Run after `remat-schedule`.

    Example:

    ```mlir
    %n = linalg.generic ... ins(%x, %s)          // read by a product, before the peak
    ...
    %x1, %s1 = remat.barrier %x, %s after %dy repeated
    %n1 = linalg.generic ... ins(%x1, %s1)       // read by the gradient of its weight
    %dw = linalg.matmul ins(%n1t, %dy) ...
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", /*default=*/"1",
           "of every buffer, in bytes: what small tensors occupy, too">,
  ];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def ImproveLocalityPass : Pass<"remat-improve-locality"> {
  let summary = "put kernels that read the same tensors side by side";
  let description = [{
    A schedule for memory computes everything as late as it can. Kernels that read the
    same large tensors then stand far from each other, and each loads them anew, where
    one loop over them (`remat-merge-launches`) would load them once.

    A kernel (a linalg operation other than a product) that reads a tensor of at least 128 KiB
    element for element moves after the last one before it that does so and may share its
    loop, along with the views, scalars and barriers that it depends on; or, if it depends on more
    than those, the earlier one moves before it, and the users of that one after both. No
    move may raise the live bytes anywhere to more than 63/64 of the estimated peak of the block (see
    `remat-schedule`; packing needs some room), with or without workspaces, and none is longer than 256
    operations. Bodies of loops and branches are blocks of their own. A move may make
    room for others: this is repeated until nothing moves, up to four times.

    A barrier that moves waits for the kernel that it is moved to. Nothing moves from the
    backward into the forward: `remat-plan` has decided what the forward keeps for the
    backward. The forward is what results other than gradients and updated parameters
    depend on. Values do not change. Run after `remat-schedule` and `remat-repeat-at-peak`.

    Example: the first kernel recomputes `%z` for the gradient of a weight, the second one `%x`,
    from which `%z` is computed,

    ```mlir
    %z = linalg.generic ... ins(%a, %b)
    %dw = linalg.matmul ins(%zt, %dy) ...
    ...
    %b1 = remat.barrier %b after %dx
    %x = linalg.generic ... ins(%b1)
    ```

    and afterwards one loop may do both:

    ```mlir
    %z = linalg.generic ... ins(%a, %b)
    %b1 = remat.barrier %b after %z
    %x = linalg.generic ... ins(%b1)
    %dw = linalg.matmul ins(%zt, %dy) ...
    ```
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", /*default=*/"1",
           "of every buffer, in bytes: what small tensors occupy, too">,
  ];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def TileUpdates : Pass<"remat-tile-updates"> {
  let summary = "compute and apply the gradient of a large parameter in parts";
  let description = [{
    With updates in the backward pass, the gradient of one parameter is alive at a
    time; if parameters are large and batches small, it is still most of what a
    step needs beside them. Where it is a product that only the update reads, this
    pass makes a loop of both, over parts of the longest dimension: the gradient
    exists in tiles, and each is read while it is in a cache.

    In: `opt.eager_step` is lowered. Products that add to zeros, read by one elementwise
    operation that overwrites a parameter or its state, or a sum that a loop carries (over
    micro-batches), and whose tensors all have the
    parameter's shape; so not what
    waits for the end of the backward (deferred updates, after a barrier), is clipped by a
    norm, averaged over micro-batches, or updated by a rule that needs the whole gradient. A tile has at least `tile-bytes` and `tile-length` indices, so that
    what a product prepares of its other operand is worth it. A product of two operands that
    are both larger than the gradient stays whole: one of them, and a cotangent of its size, would be
    alive until the parameter may change. Out: the same
    operations on the same elements, for targets where a part of a product has the
    bits of the whole.

    Example:

    ```mlir
    %g = linalg.matmul ins(%xt, %dy) outs(%zero) -> tensor<2048x2048xf32>
    %w1 = linalg.generic ins(%g, %lr) outs(%w) {...} {remat.phase = "update"}
    ```

    becomes

    ```mlir
    %w1 = scf.for %i = %c0 to %c2048 step %c512 iter_args(%a = %w) -> tensor<2048x2048xf32> {
      %x1 = tensor.extract_slice %xt[%i, 0] [512, 8] [1, 1]
      %g = linalg.matmul ins(%x1, %dy) outs(%zero1) -> tensor<512x2048xf32>
      %a1 = tensor.extract_slice %a[%i, 0] [512, 2048] [1, 1]
      %u = linalg.generic ins(%g, %lr) outs(%a1) {...}
      %a2 = tensor.insert_slice %u into %a[%i, 0] [512, 2048] [1, 1]
      scf.yield %a2
    }
    ```
  }];
  let options = [
    Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"1 << 20",
           "least bytes of the gradient in a tile">,
    Option<"tileLength", "tile-length", "int64_t", /*default=*/"512",
           "least indices of the longest dimension in a tile">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_SCHEDULE_PASSES_TD
