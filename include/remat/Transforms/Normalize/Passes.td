//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_NORMALIZE_PASSES_TD
#define REMAT_TRANSFORMS_NORMALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CommonSubexpressionsPass : Pass<"remat-cse"> {
  let summary = "upstream's CSE, in a time that grows with the program";
  let description = [{
    What `cse` does, in less time: that compares operations of the same hash, and
    what a body reads from around it is not in the hash: of two thousand gathers by
    one array of indices it compares each with all before it. A `cf.assert` of what
    an earlier one of its block has asserted goes, too: each of these gathers checks
    the indices.

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

def MergeCarried : Pass<"remat-merge-carried"> {
  let summary = "values that a loop or a branch carries twice, once";
  let description = [{
    Of the values that a sequential loop or a branch of `scf` carries (iteration
    arguments, results) and that start from one value and go on as one value, all
    uses become uses of the first. `canonicalize` removes those that are without uses then. It does the
    same by comparing every two values, in a time that grows with the square of
    their number; with this pass before it, that pattern is not needed.

    Example:

    ```mlir
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %b = %init) -> (tensor<4xf32>, tensor<4xf32>) {
      %sum = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %sum, %sum : tensor<4xf32>, tensor<4xf32>
    }
    // becomes, and what reads %r#1 reads %r#0
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %b = %init) -> (tensor<4xf32>, tensor<4xf32>) {
      %sum = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %sum, %sum : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
}

def SplitComplexPass : Pass<"remat-split-complex"> {
  let summary = "complex tensors as two real ones";
  let description = [{
    Replaces a complex tensor by the tensors of its real and its imaginary parts:
    in kernels, views, constants, loops, branches and regions. A product of two
    complex matrices becomes four of real ones, and operations on complex numbers
    what they are made of (`-convert-complex-to-standard`), so that what follows
    sees real numbers only, differentiates them and finds products for a library.
    The absolute value has the derivative 0 at 0.

    Arguments and results of functions stay complex: what arrives is taken apart
    behind the border, what leaves is put together before it. There is no gradient
    of an argument that is complex; a parameter has to be two tensors.

    Run it after `remat-decompose` and inlining, which leave fewer borders.

    Example:

    ```mlir
    %z = linalg.generic {...} ins(%a, %b : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) {
    ^bb0(%x: complex<f32>, %y: complex<f32>, %out: complex<f32>):
      %s = complex.add %x, %y : complex<f32>
      linalg.yield %s : complex<f32>
    } -> tensor<4xcomplex<f32>>
    // becomes
    %z:2 = linalg.generic {...} ins(%a0, %a1, %b0, %b1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        outs(%e0, %e1 : tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%xr: f32, %xi: f32, %yr: f32, %yi: f32, %out0: f32, %out1: f32):
      %sr = arith.addf %xr, %yr : f32
      %si = arith.addf %xi, %yi : f32
      linalg.yield %sr, %si : f32, f32
    } -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def DecomposePass : Pass<"remat-decompose"> {
  let summary = "replace operations by what they are made of";
  let description = [{
    Replaces operations with `DecomposableOpInterface`, from the inside out:
    loops and branches of other dialects by those of `scf`, which all passes
    behind this one know, and operations on tensors by kernels. Run it before
    inlining and before random generators are threaded, so that both reach into
    the bodies. `remat-check-indices`, `remat-fuse` and `remat-differentiate`
    begin with the same.

    | upstream's | becomes |
    |---|---|
    | `scf.forall` that inserts slices, `scf.parallel` with results, `tensor.scatter` | a nest of `scf.for` |
    | `tensor.generate`, `tensor.gather`, `tensor.pad` with another value than a constant | `linalg.generic` |
    | `tensor.bitcast` | `arith.bitcast` |
    | `arith.constant` of no elements | `tensor.empty` |
    | `linalg.pack`, `linalg.unpack` | transpositions, views, `tensor.pad` |

    Example:

    ```mlir
    %y = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
      %s = tensor.extract_slice %w[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %s into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
      }
    }
    // becomes
    %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%o = %x) -> (tensor<4x8xf32>) {
      %s = tensor.extract_slice %w[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
      %next = tensor.insert_slice %s into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
      scf.yield %next : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def OutlineLayersPass : Pass<"remat-outline-layers", "::mlir::ModuleOp"> {
  let summary = "make one function of equal layers";
  let description = [{
    `remat.region`s of which the bodies, policies and types of operands and results
    are the same, up to labels and locations, become calls of one private function
    that holds such a region. It is `no_inline`: what comes after this pass
    differentiates, schedules, packs and lowers it once. `remat-join-calls`,
    `remat-sink-steps` and `remat-pack-memory` see to it that a call takes
    about as many bytes as the layer in its place would.

    Gradients stay the same, to the bit. So a region stays where it is if

    - something in it is computed elsewhere, too (see `remat-differentiate`), or one
      of its operands is;
    - two of its operands are the same value, of which a gradient is wanted;
    - it yields what it also uses otherwise, or the same value twice;
    - types are dynamic.

    Run it where the forward has the form in which it is differentiated: what is
    an equal layer then had the same context before.

    Example:

    ```mlir
    %1 = remat.region (%a = %0 : tensor<8x8xf32>, %b = %w0 : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer0"} {...}
    %2 = remat.region (%a = %1 : tensor<8x8xf32>, %b = %w1 : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer1"} {...}
    // becomes
    func.func private @layer(%0: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {no_inline} {
      %1 = remat.region (%a = %0 : tensor<8x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer"} {...}
      return %1 : tensor<8x8xf32>
    }
    ...
    %1 = call @layer(%0, %w0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = call @layer(%1, %w1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [
    Option<"minLayers", "min-layers", "int64_t", /*default=*/"8",
           "how many equal layers become a function">,
    Option<"minOps", "min-ops", "int64_t", /*default=*/"16",
           "how many operations such a layer has: small ones are better fused with their neighbours">];
}

def RoundProductsPass : Pass<"remat-round-products"> {
  let summary = "make one operation of a product of bf16 or f16 and its rounding";
  let description = [{
    A product of factors in bf16 (or f16) that is added up in f32, and whose only
    reader rounds it to bf16, becomes a `linalg.generic` with a result in bf16 and
    `remat.order = "rounded product"`: its sums are f32, and rounded once. What
    is stored, saved, named or differentiated is then the rounded result, and
    adjoints are such products again. Names and borders of regions between the
    product and its rounding take the rounded result.

    Products that do not start from zero stay, and so do those that a library
    would compute in several calls. Run before differentiation and before
    `remat-fix-orders`; `remat-split-rounded-products` takes apart again what
    the target has no library for.

    Example:

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
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SinkViewsPass : Pass<"remat-sink-views"> {
  let summary = "put views where they are first read, on both sides of borders";
  let description = [{
    A view is a transposition, a broadcast or a reshape of a whole tensor. It moves right
    before its first reader. No view enters a `remat.region` or leaves one: regions compute
    views themselves, of what the block around them has, and a `remat.name` of a view
    becomes a view of what is named. Loops and branches read views of the block around them:
    one in there that something before them computes, too, moves out. Not so
    where regions in there have products and reshapes that would read what is viewed, were
    the border not there.

    So products, reshapes and other readers fold views as they would without regions, and
    the gradient of what is viewed is added up in the order of the readers,
    whether equal views were one operation or several (`docs/bits.md`). Run before
    canonicalization, and again before the order of gradients is fixed.

    What a product can write in place of its result, for readers that are no views, stays with
    the product. Sizes that types do not have go along: those of a `tensor.empty` that a
    copy writes to, or of a `tensor.expand_shape`. A copy into anything else of unknown size
    is not taken across borders.

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

def FoldTransposesPass : Pass<"remat-fold-transposes"> {
  let summary = "make products read and write transposed operands in place";
  let description = [{
    Puts transpositions and broadcasts of operands of contractions, named
    (`linalg.transpose`, `linalg.broadcast`) or generic, into the contraction's
    indexing maps, and transpositions of results likewise where the product starts
    from a `linalg.fill`. Heads that an exporter transposed and then collapsed with
    the batch into one dimension get loops of their own again. A reshape that only
    moves dimensions of size 1, by way of fewer dimensions, becomes one that drops them
    and one that adds them. Run before
    differentiation: the adjoints then read and write the same layouts, and
    what is saved is what other operations need as well. Borders of regions hide
    nothing once `remat-sink-views` has run.

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

def FoldClampsPass : Pass<"remat-fold-clamps"> {
  let summary = "drop bounds that an index keeps anyway";
  let description = [{
    StableHLO clamps the start of a dynamic slice, so that the slice lies in the
    tensor. Where upstream's analysis of integer ranges knows that a minimum or maximum
    with a constant, the second operand, is the first operand, as for the counter of
    a loop, this pass drops it: other passes see then that each iteration
    reads or writes a slice of its own.

    Run after canonicalization, which puts constants behind. Example, in an `scf.for`
    from 0 to 6:

    ```mlir
    %0 = arith.maxsi %i, %c0 : index
    %1 = arith.minsi %0, %c5 : index
    %2 = tensor.extract_slice %x[%1] [1] [1] : tensor<6xf32> to tensor<f32>
    ```

    becomes `tensor.extract_slice %x[%i] [1] [1] : tensor<6xf32> to tensor<f32>`.
  }];
}

def DropUnusedResultsPass : Pass<"remat-drop-unused-results"> {
  let summary = "kernels do not compute what nothing reads";
  let description = [{
    A `linalg.generic` of several results, of which one is not read and no other
    one depends on, loses it, by upstream's patterns: PyTorch's `amax` arrives as a
    maximum and its place.

    Run it before orders of reductions are fixed, which depend on a kernel's results.

    Example: of

    ```mlir
    %max:2 = linalg.generic {...} ins(%x : tensor<8x64xf32>) outs(%low, %first : tensor<8xf32>, tensor<8xi64>) {
    ^bb0(%in: f32, %out: f32, %place: i64):
      ...
      linalg.yield %larger, %chosen : f32, i64
    } -> (tensor<8xf32>, tensor<8xi64>)
    ```

    the first result is left, if nothing reads `%max#1`.
  }];
}

def DropZerosPass : Pass<"remat-drop-zeros"> {
  let summary = "leave out zeros that nothing reads";
  let description = [{
    A `linalg.fill` that is overwritten by slices, which together are all of the
    tensor, before anything reads it, goes. So do zeros that an iteration of an
    `scf.for` puts into a slice of a carried tensor after it has read the slice, if
    the slices of all iterations are apart and nothing reads the tensor after the
    loop: the tensor is the same in all iterations then.

    Both come from derivatives: of a tensor that is read in slices (the gates of
    an LSTM), and of one that a loop has put together (the states of all steps).
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

def RaiseSoftmaxPass : Pass<"remat-raise-softmax"> {
  let summary = "find softmax in its parts";
  let description = [{
    Exporters write softmax as a maximum over one dimension, `subf`, `exp`, a sum,
    and `divf`, each a kernel of its own. This pass makes one `linalg.softmax` of them,
    whose derivative needs its result only: without it, scores and
    probabilities would both be saved. Dimensions of size 1, broadcasts and
    an argmax beside the maximum may stand in between, as torch-mlir and IREE
    write them, and a `remat.stop_gradient` of the maximum, on which no result
    depends. A softmax whose exponentials have other readers stays,
    and so does one that is computed partly outside of a loop.

    It is found wherever names and borders of regions stand, as if equal
    computations were merged, and takes the place of its division. A name of a value
    that is gone with it is reported in a remark.

    Its logarithm stays in parts as well (see `remat-detach-maxima`).

    Run before fusion. No value changes but for the order of the sum.

    Example:

    ```mlir
    %y = linalg.softmax dimension(1) ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect"];
}

def DetachMaximaPass : Pass<"remat-detach-maxima"> {
  let summary = "maxima that no result depends on have no gradient";
  let description = [{
    `m + log(sum(exp(x - m)))` and `d - log(sum(exp(d)))` with `d = x - m` are the
    same for any m: the maximum of x in its place only keeps `exp` in range. Its
    gradient is zero, but the backward does not know, and searches for the
    maximum once more, to add up terms that cancel. This pass says so by a
    `remat.stop_gradient` between the maximum and its readers.

    Whether results depend on a maximum follows from the arithmetic: if it were t
    larger, each number would be by a multiple of t larger, or by a power of e^t
    times as large, or the same. The analysis follows the maximum through kernels,
    however these are split, sums along rows, reshapes, names and regions, to
    where everything is the same; at anything else the maximum stays as it is.

    Run before fusion, after `remat-raise-softmax`. No value of the forward changes.

    Example: in the log-sum-exp of rows

    ```mlir
    %m = linalg.reduce { arith.maximumf } ins(%x : tensor<4x8xf32>) outs(%low : tensor<4xf32>) dimensions = [1]
    ```

    gets, for all its readers,

    ```mlir
    %d = remat.stop_gradient %m : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def ShiftVariancesPass : Pass<"remat-shift-variances"> {
  let summary = "add up squares for a variance in the pass that finds the mean";
  let description = [{
    The sum of `(x - m) * (x - m)` over `n` elements of which `m` is the mean becomes that of
    `(x - s) * (x - s)`, minus `n * (m - s) * (m - s)`, and at least zero. The shift `s` is the mean of the first part of
    the outermost dimension of `x`, a 64th of its size or one if that is more, so that it is known early: the sums over
    `x` for the mean and for the squares wait for nothing but `x`, and are one kernel where the target merges kernels. The
    gradient of the mean passes through the second term, that of the shift is zero.

    At most six bits of the result are lost against a sum around the mean, in the worst case: `(m - s) * (m - s)` is at most
    64 variances.

    What is found are the variances of `remat-detach-means`, in f32 or f64, over at least 1024 elements and a dimension that is
    the outermost one of `x`, of eight or more: statistics of a batch, but no norms of rows. An `x` that an elementwise kernel makes stays:
    it would have to be stored for the shift.

    Run before `remat-detach-means`, where a target moves data more slowly than it computes. Values of the forward change,
    by rounding.

    Example:

    ```mlir
    %squares = linalg.generic {...} ins(%x, %mean : tensor<32x64xf32>, tensor<64xf32>) ... { sum of (x - m) * (x - m) }
    // becomes
    %s = remat.stop_gradient %part : tensor<64xf32>
    %shifted = linalg.generic {...} ins(%x, %s : tensor<32x64xf32>, tensor<64xf32>) ... { sum of (x - s) * (x - s) }
    %squares = linalg.generic {...} ins(%shifted, %mean, %s : ...) ... { shifted - 32 * (m - s) * (m - s) }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::remat::RematDialect"];
}

def DetachMeansPass : Pass<"remat-detach-means"> {
  let summary = "stop the gradient of the mean in a variance";
  let description = [{
    The sum of `(x - m) * (x - m)` over elements of which `m` is the mean has a
    derivative of zero by `m`: it is least there. A `remat.stop_gradient` on the
    mean says so. The backward would otherwise add up `c * (x - m)` to find it,
    after the sums by which it finds `c`: each norm would read `x` once more.

    The mean is a sum over the same elements, divided by their number or times
    its reciprocal; roundings, names and borders of regions may stand in between.
    The square is a product or a power; constant factors may follow it. Differences that
    something else reads as well, as in most layer norms, are computed twice, once for the sum:
    fusion makes nothing of the second computation but registers.

    What stays: weighted sums, means over other elements, and sums
    divided by another number; sizes that are not known. Differences that leave a region
    before they are squared or added up are computed again behind it.

    Run before fusion and differentiation. No value of the forward changes; gradients
    lose a term that is zero but for its rounding.

    Example:

    ```mlir
    %m = remat.stop_gradient %mean : tensor<64xf32>
    %squares = linalg.generic {...} ins(%x, %m : tensor<32x64xf32>, tensor<64xf32>) ... {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %d = arith.subf %a, %b : f32
      %s = arith.mulf %d, %d : f32
      ...
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def RaiseAttentionPass : Pass<"remat-raise-attention"> {
  let summary = "find attention in its parts";
  let description = [{
    A product, elementwise kernels, `linalg.softmax`, elementwise kernels and
    another product become one `remat.attention`: what stands between the products
    (scale, masks, biases, soft capping, dropout) is its body. Masks and draws that
    are computed from positions, or from less than they are themselves, are
    computed in the body, too; other tensors become its operands.

    Reshapes between the products, as exporters write for batched products, are
    moved around them; query, key and value are read, and the result written,
    without transpositions.

    Scores are added up, and their softmax is computed, in f32 (f64 for operands of
    f64), also where the parts round in between to f16 or bf16. No other value
    changes but for the order of sums.

    What stays: attention whose scores or probabilities something else reads; a
    softmax in f64 of products in f32; probabilities that are changed by more than a
    factor. A remark says why.

    Names, borders of regions and repeated computations do not decide what is
    found: it is looked for in a copy of the function without them, in which
    transposes are folded into products and softmax is raised before. The attention
    then stands in the place, and in the region, of its last product. Regions yield
    and take what it reads instead of scores and probabilities. A `remat.name` of
    these is dropped with a remark; one of a transposition or broadcast of what the
    attention reads moves to that.

    Run after `remat-raise-softmax`, before fusion and differentiation.
  }];
  let options = [
    Option<"rounded", "rounded", "bool", /*default=*/"false",
           "Results, and with them gradients, have the type of the products that they replace, instead of that of the sums; scores are computed in that of the sums, without roundings in between">];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TileLossHeadsPass : Pass<"remat-tile-loss-heads"> {
  let summary = "compute losses over a vocabulary for some rows at a time";
  let description = [{
    A product whose result, the logits, is read by computations on rows only, which
    end in little for each row (a log-sum-exp, the label's logit, an argmax), is
    computed with these in an `scf.for` over tiles of rows: each iteration computes the logits
    of some rows, and what is left of them is put into tensors of all rows. What is
    computed of that row by row, up to the loss of each row, is part of the loop. Sums
    and means over rows follow after it, in the order that they had; a sum
    over rows and columns at once becomes one over columns, then one over rows, and
    the terms of a sum over rows are computed in the loop.

    The body of the loop is a `remat.region` from which nothing is saved, and which
    stays where `policy=none` takes others away (`remat.always`): the backward,
    a loop as well, computes the logits of each tile again, adds to the gradient of
    the weights in place, and fills in the rows of the activations' gradient.
    `remat-merge-loops` makes one loop of both where it can.

    What computes wide operands goes into the loop as well: one-hot labels,
    broadcasts, the logits of a teacher that nothing else reads. Other operands
    (soft labels that are data) are read in slices. Reshapes may split rows and
    join them, transpositions may move them. Rows that are cut off the logits are cut
    off the activations first. Where rows have no divisor that makes tiles of at least half the
    size, there are two loops, whose tiles differ by one row.

    Heads are looked for, and cut, in a copy of the function without names and regions. The loop
    stands where the last operation of the head stood, in the same region; names of what
    it reads and of its results stay, names in between are gone, with a remark.

    What stays: products with fewer bytes than `threshold`, with fewer than three tiles if `rows` says how large these are, or with
    fewer bytes than one of their factors; those of sizes that are not known; those with dimensions that index both
    factors and the result; logits that are returned, read by another product, or across
    rows. A remark says why, if something reduces the logits of each row.

    Run after `remat-raise-softmax`, before `remat-detach-maxima` (which this pass does
    for heads), `remat-fix-orders` and differentiation.
  }];
  let options = [
    Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"0",
           "bytes of the logits of one tile, which has at least one row; 0: as `rows` says">,
    Option<"rows", "rows", "int64_t", /*default=*/"128",
           "how many rows a tile has at least: up to twice as many if logits are sums of four terms for each of them, and up to twice as many again as fit into 128 KiB for each">,
    Option<"threshold", "threshold", "int64_t", /*default=*/"0",
           "bytes of logits from which on they are tiled; 0: two tiles if `tile-bytes` says how large these are, else 64 MiB">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FusePaddingPass : Pass<"remat-fuse-padding"> {
  let summary = "make convolutions read no zeros around and between their images' elements";
  let description = [{
    Convolutions of f32 or f64 whose sizes are static but for the number of
    images become `remat.conv`, and take a zero `tensor.pad` of their
    dimensions in space along. Run before differentiation: the backward then
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

    Front ends write a transposed convolution as one of stride 1 whose image was
    put between zeros by a `tensor.insert_slice` with strides, and padded or cut
    afterwards. That becomes `remat.conv_backward_data` of the image without
    these zeros, which are most of the work otherwise, and one more residual. Its
    filters are those of the convolution mirrored in space, with channels in
    place of filters; where the front end has mirrored them before, it reads the
    original ones, and otherwise a mirrored copy. It is found across names and
    borders of regions, since sums have another order. Zeros in front that no
    element reaches (padding wider than a filter), and strides on both sides, are
    left to `remat.conv`.
  }];
  let options = [
    Option<"mostDims", "most-dims", "unsigned", /*default=*/"3",
           "how many dimensions in space the target's convolutions may have">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_NORMALIZE_PASSES_TD
