//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_FOLD_PASSES_TD
#define REMAT_TRANSFORMS_FOLD_PASSES_TD

include "mlir/Pass/PassBase.td"

def CanonicalizePass : Pass<"remat-canonicalize"> {
  let summary = "upstream's canonicalization and CSE in linear time";
  let description = [{
    Does the work of `canonicalize` followed by `cse` in a time linear in the size of the
    program, in three steps:

    - Of the values that a sequential loop or a branch of `scf` carries (iteration
      arguments, results) and that start from one value and go on as one value, all uses
      become uses of the first. Upstream's canonicalizer has a pattern for it that
      compares every two values; it is left out of the next step, which removes those that
      have no uses now.
    - Upstream's canonicalization patterns are applied, but blocks are left alone:
      structured operations have none to simplify, and the body of every kernel would
      be searched for some.
    - `remat-cse`, unless `cse=false`.

    Example of the first step:

    ```mlir
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %b = %init) -> (tensor<4xf32>, tensor<4xf32>) {
      %sum = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %sum, %sum : tensor<4xf32>, tensor<4xf32>
    }
    // becomes
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (tensor<4xf32>) {
      %sum = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %sum : tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"cse", "cse", "bool", "true", "whether equal expressions become one">];
}

def CommonSubexpressionsPass : Pass<"remat-cse"> {
  let summary = "upstream's CSE, in a time that grows with the program";
  let description = [{
    Does the work of `cse` in less time. Upstream's pass compares operations with equal
    hashes, but does not hash the values that regions capture: it compares each of two
    thousand gathers by one array of indices with all earlier ones. A `cf.assert` of a
    condition that an earlier one in its block asserts is erased as well, as each of these
    gathers checks the indices.

    Example:

    ```mlir
    %0 = linalg.generic {...} ins(%rows : tensor<8xindex>) ... { ... tensor.extract %table[%row, %column] ... }
    %1 = linalg.generic {...} ins(%rows : tensor<8xindex>) ... { ... tensor.extract %0[%row, %column] ... }
    %2 = linalg.generic {...} ins(%rows : tensor<8xindex>) ... { ... tensor.extract %table[%row, %column] ... }
    // becomes
    %0 = linalg.generic {...} ins(%rows : tensor<8xindex>) ... { ... tensor.extract %table[%row, %column] ... }
    %1 = linalg.generic {...} ins(%rows : tensor<8xindex>) ... { ... tensor.extract %0[%row, %column] ... }
    // and %0 for %2
    ```
  }];
}

def SinkViewsPass : Pass<"remat-sink-views"> {
  let summary = "move views to their first users, on both sides of region borders";
  let description = [{
    A view is a transposition, a broadcast or a reshape of a whole tensor. It moves right before its
    first user. No view enters a `remat.region` or leaves one: regions compute views of values of
    the enclosing block themselves, and a `remat.name` of a view becomes a view of a `remat.name`.
    Loops and branches use views of the enclosing block: a view inside that repeats one that
    dominates it is hoisted. Exempt are views that products and reshapes of inner regions would fold
    if the border were not there.

    So products, reshapes and other consumers fold views as they would without regions,
    and the gradient of the viewed tensor is added up in the order of the consumers,
    whether equal views were one operation or several (`docs/bits.md`). Run before
    canonicalization, and again before the order of gradients is fixed.

    A view that a product can write in place of its result, for consumers that are not views, stays
    with the product. Dynamic sizes move with the view: those of a `tensor.empty` that a copy writes
    to, or of a `tensor.expand_shape`, or the shape of a `tensor.reshape`. A copy into anything else
    of unknown size is not taken across borders.

    Example:

    ```mlir
    %t = linalg.transpose ins(%w : tensor<64x16xf32>) outs(%e : tensor<16x64xf32>) permutation = [1, 0]
    %y = remat.region (%a = %t : tensor<16x64xf32>) -> tensor<16x64xf32> {
      %0 = math.exp %a : tensor<16x64xf32>
      remat.yield %0 : tensor<16x64xf32>
    }
    ```

    becomes a region that takes `%w`.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FoldPass : Pass<"remat-fold"> {
  let summary = "bounds, results, roundings and transpositions that products and kernels do without";
  let description = [{
    Four forms that later passes look for, in this order. Run before differentiation, so
    that less is saved, after canonicalization, which makes constants the second operand,
    and before `remat-fix-orders`, since orders depend on a kernel's results.

    *Clamps.* StableHLO clamps the start of a dynamic slice, so that the slice lies in the
    tensor. Where upstream's analysis of integer ranges knows that a minimum or maximum
    with a constant, the second operand, is the first operand, as for the counter of a
    loop, it is removed: other passes then see that each iteration reads or writes a slice
    of its own. In an `scf.for` from 0 to 6,

    ```mlir
    %0 = arith.maxsi %i, %c0 : index
    %1 = arith.minsi %0, %c5 : index
    %2 = tensor.extract_slice %x[%1] [1] [1] : tensor<6xf32> to tensor<f32>
    ```

    becomes `tensor.extract_slice %x[%i] [1] [1] : tensor<6xf32> to tensor<f32>`.

    *Unused results.* A `linalg.generic` loses results without uses that no other result
    depends on, by upstream's patterns: PyTorch's `amax` arrives as a maximum and its
    index, of which only the maximum remains if the index has no uses.

    *Roundings.* A product of factors in bf16 (or f16) that is added up in f32, and whose
    only user rounds it to bf16, becomes a `linalg.generic` with a result in bf16 and
    `remat.order = "rounded product"`: its sums are f32, and rounded once. The rounded
    result is then the one that is stored, saved, named or differentiated, and adjoints
    are rounded products, too. Names and borders of regions between the product and its
    rounding take the rounded result. Products that do not start from zero stay, and so do
    those that a library would compute in several calls. `remat-split-rounded-products`
    splits those that the target has no library for.

    ```mlir
    %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
    %r = linalg.generic {...} ins(%c : tensor<8x32xf32>) outs(%e : tensor<8x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %t = arith.truncf %in : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<8x32xbf16>
    // becomes
    %r = linalg.generic {...} ins(%a, %b : ...) outs(%zeros : tensor<8x32xbf16>) attrs = {remat.order = "rounded product"} {
    ^bb0(%x: bf16, %y: bf16, %sum: bf16):
      ... // sum + x * y in f32
      %t = arith.truncf %next : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<8x32xbf16>
    ```

    *Transpositions.* Transpositions and broadcasts of operands of contractions, named
    (`linalg.transpose`, `linalg.broadcast`) or generic, go into the contraction's indexing maps,
    and transpositions of results likewise where the product starts from a `linalg.fill`. Heads that
    an exporter transposed and then collapsed with the batch into one dimension get loops of their
    own again. A reshape that only moves dimensions of size 1, by way of fewer dimensions, becomes
    one that drops them and one that adds them. The adjoints then read and write the same layouts,
    and the residuals are values that other operations need as well. Borders of regions hide no
    views once `remat-sink-views` has run. A library product wants matrices with one contiguous
    dimension, so a transposition that would put a batch dimension innermost stays. So do those that
    would split the summed dimension.

    ```mlir
    %t = linalg.transpose ins(%w : tensor<64x16xf32>) outs(%e : tensor<16x64xf32>) permutation = [1, 0]
    %y = linalg.matmul ins(%x, %t : tensor<8x16xf32>, tensor<16x64xf32>) outs(%z : tensor<8x64xf32>) -> tensor<8x64xf32>
    ```

    becomes a `linalg.generic` that reads `%w` by `(m, n, k) -> (n, k)`.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

def DropZerosPass : Pass<"remat-drop-zeros"> {
  let summary = "remove zeros that are never read";
  let description = [{
    Removes a `linalg.fill` whose tensor is completely overwritten by slices before it is
    read, and zeros that an iteration of an `scf.for` inserts into a slice of a carried
    tensor after it has read the slice, if the slices of all iterations are disjoint and
    the tensor has no uses after the loop: the tensor is then the same in all iterations.

    Both come from derivatives: of a tensor that is read in slices (the gates of
    an LSTM), and of one that a loop has assembled (the states of all steps).
    Run after `remat-inline-regions`, before canonicalization.

    Example:

    ```mlir
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ct) -> (tensor<64x8xf32>) {
      %s = tensor.extract_slice %t[%i, 0] [1, 8] [1, 1] : tensor<64x8xf32> to tensor<8xf32>
      ...
      %next = tensor.insert_slice %zeros into %t[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<64x8xf32>
      scf.yield %next : tensor<64x8xf32>   // becomes: scf.yield %t
    }
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FusePaddingPass : Pass<"remat-fuse-padding"> {
  let summary = "make convolutions read no zeros around and between their images' elements";
  let description = [{
    Convolutions of f32 or f64 whose sizes are static but for the number of
    images become `remat.conv`, and take a zero `tensor.pad` of their
    dimensions in space with them. Run before differentiation: the backward then
    needs the image, which other operations need as well, and not its padded
    copy. An accumulator that does not start at zero (a bias) is added by an
    operation of its own.

    | linalg | becomes |
    |---|---|
    | `conv_2d_nhwc_hwcf`, `conv_2d_nchw_fchw`, `conv_3d_ndhwc_dhwcf`, `conv_3d_ncdhw_fcdhw` | the same |
    | `conv_1d_nwc_wcf`, `conv_1d_ncw_fcw` | images of height 1 |
    | `conv_2d_ngchw_gfchw`, and a generic operation that is the same in three dimensions | groups, by filters of fewer channels |
    | `depthwise_conv_*`, one filter for each channel | as many groups as channels |

    Operands are reshaped, not moved. Other convolutions stay as they are: they
    differentiate and lower as structured operations, without the library.

    Front ends write a transposed convolution as one of stride 1 whose image was put
    between zeros by a `tensor.insert_slice` with strides, and padded or cut afterwards.
    That becomes `remat.conv_backward_data` of the image without these zeros, which are
    most of the work otherwise, and one more residual. Its filters are those of the
    convolution mirrored in space, with channels in place of filters; it reads the
    original filters where the front end has mirrored them, and otherwise a mirrored copy.
    The match looks through names and borders of regions, since sums have another order.
    Zeros in front that no element reaches (padding wider than a filter), and strides on
    both sides, are left to `remat.conv`.
  }];
  let options = [
    Option<"mostDims", "most-dims", "unsigned", /*default=*/"3",
           "how many dimensions in space the target's convolutions may have">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_FOLD_PASSES_TD
