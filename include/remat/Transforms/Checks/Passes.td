//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_CHECKS_PASSES_TD
#define REMAT_TRANSFORMS_CHECKS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckModelPass : Pass<"remat-check-model", "::mlir::ModuleOp"> {
  let summary = "what is wrong with a model as it was written";
  let description = [{
    Four checks, each of which ends the pass where it finds an error. Run it first:
    rewrites may use a `tensor.empty` where its contents do not matter, a `remat.name`
    of a value without users goes with that value (`-canonicalize`), two names of one
    value become one (`-cse`), and `-canonicalize` gives what a loop carries the static
    type that it starts with.

    *Types*: `remat-check-types`.

    *Contents.* The elements of a `tensor.empty` are undefined. An operation that computes
    with them (a product that accumulates into it, a kernel whose body uses that
    argument) makes numbers that differ from run to run. Each one is a warning
    that names the operand. Views and regions are looked through, loops and
    branches are not.

    ```mlir
    %e = tensor.empty() : tensor<8x8xf32>
    // warning: operand #2 of 'linalg.matmul' is read, but its contents are undefined
    %p = linalg.matmul ins(%x, %w : ...) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    ```

    *Names of policies.* A policy such as `#remat.save_only_names<"mlp_uot">` saves nothing
    where the `remat.name` says "mlp_out". That is an error here, with the nearest name: if
    no `remat.name` in the region, or in a function that it calls, carries a name
    that the region's policy mentions.

    *Carried sizes.* Each tensor that an `scf.for` or `scf.while` carries from one iteration
    to the next has one buffer, which is as large as the tensor that it starts with. A
    dimension that has another size after an iteration is an error at the tensor
    that takes the place of the carried one. Where value bounds do not tell, a
    `cf.assert` compares the sizes at the end of each iteration.

    ```mlir
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %start) -> (tensor<?xf32>) {
      // error: this tensor takes the place of another one in the loop, whose dimension 0 has another size
      %b = tensor.concat dim(0) %a, %x : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
      scf.yield %b : tensor<?xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CheckIndicesPass : Pass<"remat-check-indices"> {
  let summary = "an index from the data that is out of range is an error, not a wild read";
  let description = [{
    A `tensor.extract` whose index comes from data (a token, a label) reads
    whatever memory is there when the index is too large. This pass puts a
    `cf.assert` in front of every such `tensor.extract` in the body of a
    `linalg.generic` or elsewhere, and clamps the index: operations on tensors
    may be reordered, so that nothing but the clamp keeps a read after its
    check. Indices that are in range for every input (constants, loop indices,
    what a front end has clamped already) are left as they are, as far as
    integer ranges of single operations tell. The same holds for `tensor.insert`,
    for the positions of a `remat.scatter_add`, and for offsets of slices that are elements of a tensor themselves, such as
    the positions of a `tensor.scatter`. A `tensor.cast` from a dynamic to a static
    size, which exporters write where they think to know better, asserts the size,
    and a `tensor.reshape` whose sizes are data the number of elements.

    Run it before fusion and differentiation, with `remat-hoist-asserts` after it.
    An operation with a body of its own, such as `tensor.generate`, becomes a kernel first,
    and a `tensor.scatter` a loop.

    Example, for a table of 512 rows:

    ```mlir
    %i = arith.index_cast %token : i64 to index
    %e = tensor.extract %table[%i, %d] : tensor<512x64xf32>
    // becomes
    %i = arith.index_cast %token : i64 to index
    %inside = arith.cmpi ult, %i, %c512 : index
    cf.assert %inside, "model.mlir:12:10: the index of dimension 0 is not in 0..511"
    %safe = arith.minui %i, %c511 : index
    %e = tensor.extract %table[%safe, %d] : tensor<512x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CheckTypesPass : Pass<"remat-check-types"> {
  let summary = "refuse types and modules that have no lowering";
  let description = [{
    An operation on a type that nothing lowers would pass through one pass after
    the other and come out as it went in, or be taken for what it is not (the
    positions that a sparse tensor stores for its elements). The first one is an
    error here, at its location, which names a way out:

    | type | way out |
    |---|---|
    | sparse tensors | a dense tensor, by `sparse_tensor.convert` where the model starts |
    | quantized types | `-lower-quant-ops -strip-func-quant-types` |
    | f8, f6, f4, tf32 | f16, bf16 or f32 |
    | signed and unsigned integers | signless ones; operations have the sign |

    So are constants and initial values (`remat.init`) whose `dense_resource` has
    no bytes or too few.

    Complex numbers may be computed with inside of a function
    (`remat-split-complex`); its parameters are real.

    A module inside of the module is refused if it has functions, optimizers or
    training steps: passes that go through the functions of a module would skip
    them, and those that go through all operations would not.

    A named operation that casts an operand of i1 as a signed integer, so that true
    is -1, is warned of. In and out: any IR; nothing changes.

    Example: `arith.mulf %a, %b : tensor<4xf8E4M3FN>` is refused.
  }];
}

def CheckOrdersPass : Pass<"remat-check-orders"> {
  let summary = "refuse reductions without a fixed order";
  let description = [{
    A reduction that lost its `remat.order` (see `remat-fix-orders`) would be
    lowered in the order of whatever kernel it has become a part of, and give
    other bits under another policy. This is an error of the pass that replaced
    the operation: it has to keep the attribute.

    In: tensor IR after `remat-fix-orders`. Nothing changes.
  }];
}

def CheckNaNsPass : Pass<"remat-check-nans", "::mlir::ModuleOp"> {
  let summary = "end a step at the first operation that makes a NaN";
  let description = [{
    After each operation that writes buffers of floating-point numbers stands an
    assertion that none of them is a NaN, and at the start of a step one for each of
    its parameters, states and data. The first that fails names the operation and its
    line of the model, or the argument. A fill with a constant has no assertion: a
    maximum may start from a NaN (`arith.maxnumf`), and operations that compute with
    such a constant have assertions of their own.

    In: functions on buffers whose memory is planned (`remat-bufferize`), with the
    attributes of their arguments. Out: the same with assertions. All memory is
    read once more, element by element: a step takes several times as long. For
    programs that run on the CPU.

    Example:

    ```mlir
    linalg.matmul ins(%x, %w : ...) outs(%p : memref<8x8xf32>)
    // gets, after it,
    %all = memref.cast %p : memref<8x8xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
    %ok = call @has_no_nan(%all) : (...) -> i1
    cf.assert %ok, "linalg.matmul at model.mlir:12 is the first operation whose result has a NaN"
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def HoistAssertsPass : Pass<"remat-hoist-asserts"> {
  let summary = "assertions in kernels become kernels of their own";
  let description = [{
    Front ends assert within the bodies of `linalg.generic`s (PyTorch: that
    tokens are in the vocabulary). Such a body can be neither vectorized nor
    recomputed nor differentiated as if it had no effect. Each of its conditions
    moves to a kernel in front of it, which computes the conjunction over all
    iterations, over those dimensions alone that the condition depends on; one
    `cf.assert` of that follows it, with the same message and location.

    Assertions in the body of a `remat.scatter_add` move likewise, to a kernel over
    the positions of its updates.

    In: tensor IR. Out: no `cf.assert` in a `linalg.generic` or a
    `remat.scatter_add`. A condition that depends on an accumulator of a reduction
    is an error at the assertion.

    Example:

    ```mlir
    %ok = linalg.generic {... iterator_types = ["reduction"]} ins(%tokens : tensor<8xi64>)
        outs(%true : tensor<i1>) { ... arith.andi ... } -> tensor<i1>
    %all = tensor.extract %ok[] : tensor<i1>
    cf.assert %all, "model.mlir:12:10: the index of dimension 0 is not in 0..511"
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_CHECKS_PASSES_TD
