//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_CONVERSION_CPU_PASSES_TD
#define REMAT_CONVERSION_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToKernels : Pass<"convert-linalg-to-kernels", "::mlir::ModuleOp"> {
  let summary = "linalg on memrefs to vectorized, multi-threaded kernel functions";
  let description = [{
    Every linalg op on memrefs whose index maps are linear (elementwise,
    broadcasts, transposes, reductions, pooling, gathers by `memref.load` in
    the body, fills and copies) and every `memref.copy` becomes a call of a
    private function. Ops that do the same share one function, however many
    layers a model has: what LLVM compiles is the number of different kernels.

    In: linalg ops with memref operands, of static or dynamic shapes and any
    strided layout. Out: `func.call`s, and functions of `scf`, `vector`,
    `arith`, `math` and `memref` ops. Operands arrive as one-dimensional
    memrefs; sizes and strides are constants in the kernel where they are
    static, and further arguments where they are not. An op whose maps are not
    linear (`floordiv`, `mod`) becomes loops over scalars where it stands.

    One loop is vectorized: where operands are contiguous in it they are loaded
    as vectors, where they do not depend on it as scalars, otherwise gathered.
    Rows that the body reads at computed indices count as operands do.
    Operands that are contiguous in another parallel loop are transposed in
    registers instead, in blocks of 16 x 16 elements, if both loops have as many.
    The rest of a loop that the vector length does not divide is one masked
    vector, so that all elements are computed by the same instructions.
    Parallel loops are distributed over threads (`scf.parallel`) if there is
    enough work; where iterations have to run in order, as in windows that overlap
    and are added up, only those whose dimensions are indices of each result by
    themselves.

    The bits of a result depend on the shapes and the body of its op only. An
    element of an elementwise op is computed from its operands by the body,
    nothing else. A reduction whose innermost dimension (of more than one
    iteration) is reduced by one associative op keeps 16 partial results (lane
    i: elements i, i + 16, ...), which are combined pairwise at the end (i with
    i + 8, then 4, 2, 1), and then with the initial value. Every other reduction is
    computed one element after the other. Neither the number of threads, nor
    the machine's vector width, nor elementwise ops that were fused into the
    reduction change that.

    Results may share memory with operands of the same access pattern: all loads
    of a vector precede its stores.

    A result of 64 MiB or more that nothing in the kernel reads is not in the cache when the kernel ends. If its vectors fill
    cache lines, the kernel stores them past the cache (`nontemporal`), unless the memory that it gets
    does not begin with a line: it has both loops. See `convert-parallel-to-runtime`.

    Example:

    ```mlir
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<8x256xf32>) outs(%y : memref<8x256xf32>) { ... }
    // becomes
    %xv = memref.reinterpret_cast %x ... : memref<8x256xf32> to memref<?xf32, strided<[1], offset: ?>>
    %yv = memref.reinterpret_cast %y ...
    call @kernel_generic(%xv, %yv)
    ```

    The argument's type is static (`memref<2048xf32, strided<[1]>>`) if the
    operand's size is and it starts at offset 0.

    An `scf.parallel` of nothing but such operations, loads, stores and `scf.for`
    around them, as `remat-fuse-rows` and `convert-scatter-add-to-loops` leave it,
    becomes one function as a whole, in which they take their turns without
    threads of their own.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertParallelToRuntime : Pass<"convert-parallel-to-runtime", "::mlir::ModuleOp"> {
  let summary = "parallel loops on the threads of the runtime";
  let description = [{
    The body of an `scf.parallel` becomes a function of the iterations that it is to run, which
    `remat_parallel_for` calls on all threads: each has some that are its own, and takes those of others when it
    has none left. Who has no iteration left need not come for the end of the loop, as threads of OpenMP
    would have to: on a machine that others use, too, that takes as long as the thread which gets least of it.
    Which thread runs an iteration changes no bit.

    In: `scf.parallel` in functions, with any bounds and steps; several loops count as one. What the body uses of
    the function around it is passed in memory. Loops inside of others, those that reduce (`scf.reduce` with
    operands), and those whose body uses a value of a type that LLVM does not have, stay; they run on one
    thread.

    `convert-linalg-to-kernels` stores results that are larger than the cache past it (`vector.store` with
    `nontemporal`). The processor keeps such stores in buffers of their own, and may end the loop before others
    see them. So a function that does so waits for its own.

    Example:

    ```mlir
    scf.parallel (%i) = (%c0) to (%n) step (%c1) { ... %y ... }
    // becomes
    %context = llvm.alloca ... x !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
    llvm.store ...                        // %y
    %f = func.constant @f_part : (!llvm.ptr, index, index) -> ()
    call @remat_parallel_for(%n, %f, %context)

    func.func private @f_part(%context: !llvm.ptr, %begin: index, %end: index) {
      ...                                 // %y
      scf.for %i = %begin to %end step %c1 { ... %y ... }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertConvToLibrary : Pass<"convert-conv-to-library", "::mlir::ModuleOp"> {
  let summary = "convolutions on memrefs to calls of the runtime";
  let description = [{
    `remat.conv` and its two gradients become calls of `remat_conv_2d_*`
    and `remat_conv_3d_*`, which compute them as products of tiles, whose operands they read where they
    lie or gather in a buffer of the thread.

    Operands that are not contiguous are copied, before `remat-pack-memory`, so
    that the copies are packed with everything else.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertAttentionToLoops : Pass<"convert-attention-to-loops", "::mlir::ModuleOp"> {
  let summary = "attention on memrefs to loops over tiles of rows";
  let description = [{
    `remat.attention` and `remat.attention_backward` become functions, one for
    all that are alike, in which threads claim tiles of rows until none is left:
    the scores of a tile, by all keys, lie in a workspace that stays in the core's
    cache while products (structured operations that `convert-linalg-to-library`
    makes calls of the runtime), softmax and the next products follow each other.
    The workspaces, one for each of `threads`, are allocated where the function is
    called, so that they are packed with everything else. In the backward, rows
    whose gradients are added up in one place run in order.

    In: operations on memrefs. Out: `scf.parallel`, `scf.while` on a counter of the tiles
    that are left, and `scf.for` around linalg operations on subviews. Factors of f16 and bf16 are extended to f32 first, in
    memory of their own.

    The bits of a result depend on shapes, strides and the body only: neither
    `threads` nor the machine's number of them changes one.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"2",
           "For how many threads workspaces are reserved; no more are used">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertScatterAddToLoops : Pass<"convert-scatter-add-to-loops"> {
  let summary = "remat.scatter_add to loops that add a row at a time";
  let description = [{
    The lowering of `remat.scatter_add` for the CPU, on memrefs: a loop for each
    dimension of the updates, and in it an addition of elements, or of rows in the
    last dimensions if the body passes these through. Positions may repeat, so
    threads share (`scf.parallel`) only other dimensions that the body passes
    through, whose updates are added to elements of their own. (Parts of rows are
    not shared: on two cores, that was no faster.) Additions to one element keep
    their order whatever is shared.

    Example:

    ```mlir
    remat.scatter_add ins(%updates : memref<64x500x8xf32>) outs(%table : memref<64x100x8xf32>) {
    ^bb0(%n: index, %i: index, %j: index):
      %row = memref.load %rows[%n, %i] : memref<64x500xindex>
      remat.yield %n, %row, %j : index, index, index
    }
    ```

    becomes

    ```mlir
    scf.parallel (%n) = (%c0) to (%c64) step (%c1) {
      scf.for %i = %c0 to %c500 step %c1 {
        %row = memref.load %rows[%n, %i] : memref<64x500xindex>
        %new = memref.subview %updates[%n, %i, 0] [1, 1, 8] [1, 1, 1] : memref<64x500x8xf32> to memref<8xf32, ...>
        %sum = memref.subview %table[%n, %row, 0] [1, 1, 8] [1, 1, 1] : memref<64x100x8xf32> to memref<8xf32, ...>
        linalg.generic ... ins(%new : memref<8xf32, ...>) outs(%sum : memref<8xf32, ...>)
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def PassContext : Pass<"remat-pass-context", "::mlir::ModuleOp"> {
  let summary = "functions get what they share by an argument, not from the process";
  let description = [{
    In a program of its own, the runtime finds threads, learning rates and the way back after a failure in
    variables of the process. A step that is shipped has none: several of them run side by side, in memory
    that is the caller's. This pass gives every function a pointer as its first argument, the context, and
    passes it on at each call.

    In: the LLVM dialect, last. Out: the same, in which functions of the runtime (`_mlir_ciface_remat_gemm_f32`,
    `remat_parallel_for`) are those of its core (`remat_core_gemm_f32`, `remat_core_parallel_for`,
    lib/Runtime/Core), and the array of learning rates is what `remat_core_learning_rates` returns. There are no
    variables left: one is an error, as are calls of functions that neither the core nor libm has.

    Example: `llvm.call @_mlir_ciface_remat_gemm_f32(%a, %b, %c, %accumulate)` becomes
    `llvm.call @remat_core_gemm_f32(%context, %a, %b, %c, %accumulate)`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // REMAT_CONVERSION_CPU_PASSES_TD
