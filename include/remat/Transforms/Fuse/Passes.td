//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_TRANSFORMS_FUSE_PASSES_TD
#define REMAT_TRANSFORMS_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FusePass : Pass<"remat-fuse"> {
  let summary = "fuse elementwise chains into one kernel each";
  let description = [{
    Nothing inside a `linalg.generic` is ever saved for the backward pass: its
    adjoint recomputes the scalar body from the operands, in registers. So
    chains of elementwise operations become one kernel before differentiation,
    and only the inputs of kernels can become residuals. The pass runs again
    once recomputed slices stand in the backward (there it saves their stores).

    What computes on tensors without being structured becomes so first: `arith`,
    `math` and `complex` on tensors, `tensor.generate`, `tensor.gather`,
    `tensor.bitcast`, `tensor.pad` with another value than a constant,
    `linalg.pack` and `linalg.unpack`. `scf.forall` and `scf.parallel` with
    results, and `tensor.scatter`, become nests of `scf.for`. A kernel that
    branches on where an element lies, to take it from one tensor or the next, as
    StableHLO's conversion writes it, becomes a `tensor.concat`.
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
    - otherwise into its first reader if both have the same iteration space and
      nothing more has to stay alive; its value stays a second result. A reader
      that only widens the value (`arith.extf`) stays apart, for its own readers.

    Borders: `remat.name` and `remat.barrier`, isolated regions (`remat.region`,
    `remat.backward`), contractions, convolutions and poolings (a library wants
    their operands in memory), reductions as producers, kernels that load
    elements by `tensor.extract`, operands read through sums of loop indices.
    Phases: a kernel keeps the `remat.phase` of the reader; producers of another
    phase stay apart, but for those that read no tensor, for `recompute` into
    `backward`, and for cheap forward ones into `backward` under the condition
    above: the backward then keeps the operand instead of the value. What is
    fused is read later than before, so a producer stays where something between
    the two writes one of its operands in place.
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
  let statistics = [
    Statistic<"numFused", "fused", "Producers fused into a reader">];
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
    | `"along"` | the innermost dimension (of more than one iteration) is reduced, by one associative operation for each result | element i goes to partial result i modulo 16; these are combined pairwise (i with i + 8, 4, 2, 1), and the initial value last |
    | `"across"` | every other | one by one in the order of the loops, from the initial value |

    Adjoints get theirs where they are made, by `remat-differentiate`, and the
    parts of `linalg.softmax` by `convert-linalg-aggregates-to-structured`.

    Run before fusion. `remat-check-orders` finds operations that have lost it.
  }];
}

def FusePaddingPass : Pass<"remat-fuse-padding"> {
  let summary = "make convolutions read zeros around their images";
  let description = [{
    Convolutions of f32 or f64 whose sizes are static but for the number of
    images become `remat.conv_2d`, and take a zero `tensor.pad` of height and
    width in front of them along. Run before differentiation: the backward then
    needs the image, which other operations need as well, and not its padded
    copy. An accumulator that does not start at zero (a bias) is added by an
    operation of its own.

    | linalg | becomes |
    |---|---|
    | `conv_2d_nhwc_hwcf`, `conv_2d_nchw_fchw` | the same |
    | `conv_1d_nwc_wcf`, `conv_1d_ncw_fcw` | images of height 1 |
    | `conv_2d_ngchw_gfchw` | groups, by filters of fewer channels |
    | `depthwise_conv_*` of one or two dimensions, one filter for each channel | as many groups as channels |

    Operands are reshaped, not moved. Other convolutions stay as they are: they
    differentiate and lower as structured operations, without the library.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldTransposesPass : Pass<"remat-fold-transposes"> {
  let summary = "make products read and write transposed operands in place";
  let description = [{
    Puts transpositions and broadcasts of operands of contractions, named
    (`linalg.transpose`, `linalg.broadcast`) or generic, into the contraction's
    indexing maps, and transpositions of results likewise where the product starts
    from a `linalg.fill`. Heads that an exporter transposed and then collapsed with
    the batch into one dimension get loops of their own again. Run before
    differentiation: the adjoints then read and write the same layouts, and
    what is saved is what other operations need as well. A `remat.region` that
    takes a transposed tensor for its products takes the tensor itself instead.

    A library product wants matrices with one contiguous dimension, so a
    transposition that would put a batch dimension innermost stays. So do
    those that would split the summed dimension.

    Example:

    ```mlir
    %t = linalg.transpose ins(%w : tensor<64x16xf32>) outs(%e : tensor<16x64xf32>) permutation = [1, 0]
    %y = linalg.matmul ins(%x, %t : tensor<8x16xf32>, tensor<16x64xf32>) outs(%z : tensor<8x64xf32>) -> tensor<8x64xf32>
    ```

    becomes a `linalg.generic` that reads `%w` by `(m, n, k) -> (n, k)`.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseSoftmaxPass : Pass<"remat-raise-softmax"> {
  let summary = "find softmax in its parts";
  let description = [{
    Exporters write softmax as a maximum over one dimension, `subf`, `exp`, a sum,
    and `divf`, each a kernel of its own. This pass makes one `linalg.softmax` of them,
    whose derivative needs its result only: without it, scores and
    probabilities would both be saved. Dimensions of size 1, broadcasts and
    an argmax beside the maximum may stand in between, as torch-mlir and IREE
    write them. A softmax whose exponentials have other readers stays,
    and so does one that is computed partly outside of a loop.

    Its logarithm, `d - log(sum(exp(d)))` of `d = x - max(x)`, stays in parts as well.
    But whatever number stands in the place of the maximum, its value is the same: a
    `remat.stop_gradient` says that the maximum has no gradient. The backward would
    otherwise search for it once more, to add nothing to its cotangent.

    Run before fusion. No value changes but for the order of the sum.

    Example:

    ```mlir
    %y = linalg.softmax dimension(1) ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect"];
}

def ReuseResultsPass : Pass<"remat-reuse-results"> {
  let summary = "let kernels read what another kernel stores anyway";
  let description = [{
    The adjoint of a fused kernel consists of several: one for the gradients of
    what it read element for element, one for each operand that it read
    otherwise (a bias, a mean), and each begins with the same scalar operations
    on the same tensors. Where one of them stores a value and something later
    reads it, the others between the two read it as well, if they then need
    fewer tensors of full size. Those die earlier, and each loop reads less.

    A kernel with several results of which one (with one reader) is made
    from another one, and operands that are smaller, is split: `remat-fuse`, which
    runs behind this pass, moves the new kernel into its reader, and one
    tensor less is stored.

    Phases are borders (see `remat.phase`), but for `backward` reading what
    `recompute` stores: a value of the forward that the plan recomputes is not
    saved instead. Values do not change, nor does their order in sums.

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
  let statistics = [
    Statistic<"numReused", "reused", "Kernels that read a result of another">,
    Statistic<"numSeparated", "separated", "Results taken out of a kernel">];
}

def RebuildPass : Pass<"remat-rebuild"> {
  let summary = "make cheap values again in the backward instead of saving them";
  let description = [{
    Where a cheap value is read by the forward and by the backward, the backward
    gets one of its own, made from a `remat.barrier` of its sources, and what
    stays alive between the two are these. Cheap is, with the reshapes and fills
    that belong to it:

    - a `tensor.pad` with a constant whose source the backward reads anyway, or
      to which padding adds an eighth or more. Convolutions that pad by themselves
      (`remat-fuse-padding`) have no such tensor; poolings and convolutions that
      that pass leaves alone do;
    - masks and indices that a few operations make of what is there anyway:
      arguments, constants, and what the backward reads;
    - floating-point numbers wider than all that they are made of, which is there
      anyway, by at most one reduction: the means in `f64` of which torch-mlir
      computes a variance in `f32`.

    What is neither stays saved: the policy of a region says what is recomputed.

    Run after fusion, once regions are gone and operations have a
    `remat.phase`. No value changes.

    Example: of

    ```mlir
    %p = tensor.pad %x low[0, 3] high[0, 3] { ... } : tensor<8x8xf32> to tensor<8x14xf32>
    %y = linalg.conv_1d ins(%p, %w : ...) ...
    %dw = linalg.generic {remat.phase = "backward", ...} ins(%p, %dy : ...) ...
    ```

    the last operation becomes

    ```mlir
    %x1 = remat.barrier %x after %dy : ...
    %p1 = tensor.pad %x1 low[0, 3] high[0, 3] { ... } : tensor<8x8xf32> to tensor<8x14xf32>
    %dw = linalg.generic {remat.phase = "backward", ...} ins(%p1, %dy : ...) ...
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numRebuilt", "rebuilt", "Values made again">];
}

#endif // REMAT_TRANSFORMS_FUSE_PASSES_TD
