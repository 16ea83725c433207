//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_RAISE_PASSES_TD
#define REMAT_TRANSFORMS_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

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

    A `remat.attention` that is there already, since a model had it as one
    operation, gets the same operands and order of its result: it reads before
    transpositions, slices of transposed tensors and copies of keys for the heads
    that share them, computes masks and draws in its body, and with `rounded` its
    result is.

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

#endif // REMAT_TRANSFORMS_RAISE_PASSES_TD
