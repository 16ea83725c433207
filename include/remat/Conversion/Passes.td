//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_CONVERSION_PASSES_TD
#define REMAT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAssertToRuntime : Pass<"convert-assert-to-runtime", "::mlir::ModuleOp"> {
  let summary = "a failed assertion ends the program with its message, not with a crash";
  let description = [{
    Upstream's lowering of `cf.assert` aborts, and tools around it report that as
    a bug of theirs. Here a failed assertion calls the runtime, which prints
    `remat: error: ` and the message, and exits with status 1; a checkpoint that
    was written before is whole.

    In: `cf.assert` on the path of control (not in kernels, see
    `remat-hoist-asserts`). Out: `scf.if` with a call of `@remat_rt_fail`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def DecomposeAggregates : Pass<"convert-linalg-aggregates-to-structured"> {
  let summary = "expand linalg.softmax and its kin into structured operations";
  let description = [{
    `linalg.softmax` is one operation to differentiation (its rule reads the
    result only) and to policies, but no lowering takes it. This pass replaces
    each operation with linalg's `AggregatedOpInterface` by its parts, which keep
    the operation's `remat.phase`. It works on tensors and belongs between
    differentiation and the last fusion.

    Example: `linalg.softmax dimension(1) ins(%x) outs(%e)` becomes a maximum, an
    exponential of the difference, a sum, and a product with the sum's inverse,
    which is one division for each row (f16 and bf16: a division of each element).
  }];
  let options = [
    ListOption<"keep", "keep", "std::string",
               "names of operations that the target lowers as a whole">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def FuseRows : Pass<"remat-fuse-rows"> {
  let summary = "one loop over rows for operations that go through the same rows";
  let description = [{
    A normalization, a softmax, or what follows one of them reads an array two or
    three times, in one operation after the other: from memory each time, if it
    is larger than the cache. This pass makes of such operations one loop over
    blocks of rows, in which each does its part: a block stays in the first cache
    from the first to the last of them.

    In: linalg operations on memrefs of static shapes, after memory is packed. Out:
    `scf.parallel` around the same operations on subviews, which
    `convert-linalg-to-kernels` makes one kernel of.

    Rows are the iterations of an operation's outermost parallel loops, which are
    collapsed; there have to be 32 of them, or threads would have too little to
    share. Operations go together if they have as many rows, access, one with
    another, an array of at least 128 KiB, and whatever one of them writes and
    another one accesses lies in the same row for both, or elsewhere. That is a
    question of bytes: buffers are parts of one arena. Operations between them
    that depend on none of them stay after the loop. Products, operations that
    transpose, those on dozens of arrays and those inside of `scf.parallel` are
    left alone.

    No result changes: each row is reduced as it was.

    Example:

    ```mlir
    linalg.reduce ins(%x : memref<4096x512xf32>) outs(%sum : memref<4096xf32>) ...
    linalg.generic ... ins(%x, %sum : ...) outs(%y : memref<4096x512xf32>) ...
    // becomes
    scf.parallel (%row) = (%c0) to (%c4096) step (%c4) {
      %xs = memref.subview %x[%row, 0] [4, 512] [1, 1] : ...
      %sums = memref.subview %sum[%row] [4] [1] : ...
      linalg.reduce ins(%xs) outs(%sums) ...
      %ys = memref.subview %y[%row, 0] [4, 512] [1, 1] : ...
      linalg.generic ... ins(%xs, %sums) outs(%ys) ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertCollectivesToRuntime : Pass<"convert-collectives-to-runtime", "::mlir::ModuleOp"> {
  let summary = "exchanges between ranks to calls of the runtime";
  let description = [{
    `remat.rank`, `remat.all_reduce` and `remat.all_gather` become calls of
    `remat_rank`, `remat_all_reduce` and `remat_all_gather` (remat/Runtime/Ranks.h), which get addresses.
    Where an axis has one rank, these need no engine.

    In: collectives on contiguous memrefs; `remat-pack-products` copies others, before
    `remat-pack-memory`, so that the copies are packed with everything else. Out: `func.call`s. It comes
    after the passes that move operations by the memory that their operands are in.

    Example:

    ```mlir
    remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%x : memref<4xf32>) outs(%all : memref<8xf32>)
    // becomes
    func.call @remat_all_gather(%c1, %c2, %c1, %c16, %address_of_x, %address_of_all)
    ```
  }];
  let options = [
    Option<"refused", "refused", "std::string", /*default=*/"",
           "Instead of converting, end with this error at the first collective">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertLinalgToLibrary : Pass<"convert-linalg-to-library", "::mlir::ModuleOp"> {
  let summary = "matrix products on memrefs to calls of the runtime";
  let description = [{
    Contractions (`linalg.matmul`, `batch_matmul`, `matvec`, `dot`, ..., with
    any indexing maps, and generics that are products: both operands lack a
    dimension of the result) on f32 or f64 become calls of `remat_gemm_f32` or
    `remat_gemm_f64`, and those of bf16 or f16 that are added up in f32 calls of
    `remat_gemm_bf16_f32`, `remat_gemm_bf16` if the result is rounded,
    `remat_gemm_f32xbf16_f32` if only one factor is narrow, and so on: factors
    are never copied to f32 as a whole. They take the operands as memrefs of two batch dimensions,
    rows and columns, which say by their strides what is transposed: nothing is
    copied. Dimensions that lie one after the other become one; what is left
    beyond two batch dimensions and one of each other kind is a loop around the
    call.

    In: linalg on memrefs. Out: `func.call`s of functions that libremat_runtime
    implements. The result is accumulated into `outs`; if a `linalg.fill` with
    zero comes first and nothing touches the memory in between, the fill goes
    away and the product overwrites.

    Left for `convert-linalg-to-kernels`: other element types, and matrices of
    which no stride is 1; `remat-pack-products` leaves none of these.

    Example:

    ```mlir
    linalg.fill ins(%zero : f32) outs(%c : memref<8x32xf32>)
    linalg.matmul ins(%a, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
    // becomes
    %m = memref.reinterpret_cast %a to offset: [0], sizes: [1, 1, 8, 16], strides: [1, 1, 16, 1] : ...
    ...
    call @remat_gemm_f32(%m, %n, %o, %false)
    ```

    With `tf32`, those of f32 are calls of `remat_gemm_tf32`, which only the runtime
    for CUDA has.

    The bits of a product depend on its shape and strides only, not on the
    number of threads.
  }];
  let options = [
    Option<"alike", "alike", "bool", /*default=*/"false",
           "No products of factors of two types, which only the runtime for the CPU has">,
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "Factors of f32 may be rounded to 10 bits of mantissa (remat_gemm_tf32)">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def SplitReductions : Pass<"remat-split-reductions"> {
  let summary = "reduce many elements in chunks, and then these";
  let description = [{
    A first operation reduces chunks of the elements to a tensor of partial results,
    and a second one combines these with the initial value. Chunks are iterations of the
    outermost reduction loops, as many of each as leave the fewest over; those are combined
    with the initial value first.

    For a GPU, of which a kernel gives each result of a reduction at most 1024 threads, an
    operation is split if all its threads are at most 2^15 and each lane combines
    128 elements or more; there are as many chunks as 2^18 threads reduce, of at
    least 32 elements for each lane. For a CPU, `max-chain` says how many additions may follow
    each other: each rounds, and one thread makes them all. There are as many chunks as
    elements in each, or fewer of 512 elements for each partial result.

    All of this follows from the operation's loops and
    `remat.order`, so that bits depend on nothing else ([bits](bits.md)). Sums over
    one tensor that would be split alike become one operation first.

    In and out: linalg on tensors. Operations stay as they are that have dynamic
    sizes, products, and reductions without one associative operation for each result.

    Example:

    ```mlir
    linalg.generic {iterator_types = ["reduction"], ...}
        ins(%x : tensor<8388608xf32>) outs(%zero : tensor<f32>) { sum }
    // becomes
    %view = tensor.expand_shape %x [[0, 1]] : tensor<8388608xf32> into tensor<256x32768xf32>
    %partial = linalg.generic {iterator_types = ["parallel", "reduction"], ...}
        ins(%view : tensor<256x32768xf32>) outs(%neutral : tensor<256xf32>) { sum }
    linalg.generic {iterator_types = ["reduction"], ...}
        ins(%partial : tensor<256xf32>) outs(%zero : tensor<f32>) { sum }
    ```
  }];
  let options = [
    Option<"maxChain", "max-chain", "int64_t", "0",
           "Split what adds up more elements than this, one after the other; 0: as a GPU wants it">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitRoundedProducts : Pass<"remat-split-rounded-products"> {
  let summary = "products with a rounded result as a product of f32 and a rounding";
  let description = [{
    Each rounded product (`remat-fold`), on tensors, that the library does not
    compute in one call becomes a product that is added up in f32 and a kernel
    that rounds it.

    Example: `remat.order = "rounded product"` on a `linalg.generic` with a result
    of `tensor<8x32xbf16>` becomes `remat.order = "product"` on one of
    `tensor<8x32xf32>`, and a generic with an `arith.truncf`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def ConvertPhiloxToArith : Pass<"convert-philox-to-arith"> {
  let summary = "remat.philox as integer arithmetic";
  let description = [{
    Expands every `remat.philox`, of scalars or of vectors, to the ten rounds of
    Philox: products of 32 by 32 bits, sums and exclusive ors. It belongs after
    the passes that make kernels, which would otherwise go through more than a
    hundred operations for each draw.

    Example: `%w:4 = remat.philox %c0, %c1, %c2, %c3 key %k0, %k1 : vector<16xi32>`
    becomes 20 `arith.muli` on `vector<16xi64>` and what is between them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ApproximateMath : Pass<"remat-approximate-math"> {
  let summary = "elementary functions on f32 as vectorizable polynomials";
  let description = [{
    Replaces `math` functions on f32 (scalars and vectors alike, so that both
    give the same bits) by straight-line `arith` and `math.fma` code; without
    it LLVM calls the C library once per element. `docs/math.md` lists the
    functions and their measured errors. Functions on f64, and those not
    listed, stay and become calls of the C library. `math.powf` with a small
    constant exponent becomes products and roots, of every type, and so does
    `math.fpowi`, which is a `math.powf` if its exponent is not constant.
    `arith.divf` by a constant, of f32 and f64, becomes a product and its correction by
    two `math.fma`, which round as the division does.
    `math.clampf`, `math.isinf`, `math.isnormal` and `math.ipowi`, which nothing
    else lowers inside of a kernel, are expanded.

    Example: `math.exp %v : vector<16xf32>` becomes range reduction, a
    polynomial, and a scaling by a power of two.

    With `fast-powers`, `math.exp` and `math.erf` are made of a `math.exp2` that says
    `fastmath<afn>`, for processors that have an instruction for it: half as many
    operations, other bits, and results below 2^-126 are 0.
  }];
  let options = [
    Option<"fastPowers", "fast-powers", "bool", "false", "powers of two are the processor's">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerVectorsAndMath : Pass<"remat-lower-vectors-and-math", "::mlir::ModuleOp"> {
  let summary = "vectors and mathematical functions where there are some";
  let description = [{
    Runs `convert-vector-to-scf`, `convert-math-to-llvm` and `convert-vector-to-llvm` on the functions in which
    operations of `vector` or `math` stand, which are kernels. The others are left alone: a step is one block of thousands
    of calls, and a tenth of the time of a compilation goes by where upstream's passes look for such operations in it.

    In: kernels on memrefs and vectors, below `convert-linalg-to-kernels`. Out: vectors in LLVM, with casts to what
    is still memrefs and indices, and functions in LLVM or, where there is no instruction, in `math`
    (`convert-math-to-libm` takes these).
  }];
}

def SplitUnknownSizes : Pass<"remat-split-unknown-sizes"> {
  let summary = "reshapes that split a dimension into several of unknown size";
  let description = [{
    A `memref.expand_shape` that makes more than one dimension of unknown size of one
    becomes a `memref.reinterpret_cast`, whose strides are products of the sizes that the
    reshape has as operands. Run before `expand-strided-metadata`, which takes all others.

    Example:

    ```mlir
    %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%n, %m, 4] : memref<?x4xf32> into memref<?x?x4xf32>
    ```

    becomes

    ```mlir
    %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x : memref<?x4xf32> -> memref<f32>, index, index, index, index, index
    %stride = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%m]
    %y = memref.reinterpret_cast %base to offset: [0], sizes: [%n, %m, 4], strides: [%stride, 4, 1] : memref<f32> to memref<?x?x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def PassBarePointers : Pass<"remat-pass-bare-pointers", "::mlir::ModuleOp"> {
  let summary = "calls pass pointers where types say all about a memref";
  let description = [{
    Functions whose memrefs all have static sizes, strides and offsets take one
    argument for each memref: the pointer to its data. Kernels and steps are
    such functions. Left alone are functions that return memrefs, that are used otherwise than
    by `func.call`, and public ones without `llvm.emit_c_interface` (their
    callers are unknown); beside a `@main` all callers are in the module.

    A public function with `llvm.emit_c_interface` keeps that interface:
    `@_mlir_ciface_f` takes pointers to descriptors, and a pointer to the
    results first if there are several. `@f` itself takes bare pointers.

    Functions that are only declared (a library's) are declared in LLVM, and
    calls of them pass what a `memref.reinterpret_cast`, a `memref.view` or a
    static type says. No descriptor is made of it: that would be a hundred
    operations for each product, which are taken apart again at once.

    In: functions on memrefs, before any conversion of `func`. Example:

    ```mlir
    func.func private @kernel(%a: memref<64xf32, strided<[1]>>) { ... }
    func.func private @f(memref<?xf32>)
    %b = memref.view %arena[%c64][] : memref<512xi8> to memref<64xf32>
    %c = memref.reinterpret_cast %b to offset: [0], sizes: [64], strides: [1]
      : memref<64xf32> to memref<64xf32, strided<[1]>>
    %d = memref.reinterpret_cast %b to offset: [0], sizes: [64], strides: [1]
      : memref<64xf32> to memref<?xf32>
    call @kernel(%c) : (memref<64xf32, strided<[1]>>) -> ()
    call @f(%d) : (memref<?xf32>) -> ()
    // becomes
    func.func private @kernel(%a: !llvm.ptr) { ... }
    llvm.func @f(!llvm.ptr, !llvm.ptr, i64, i64, i64)
    %b = llvm.getelementptr %arena[64] : (!llvm.ptr) -> !llvm.ptr, i8
    call @kernel(%b) : (!llvm.ptr) -> ()
    llvm.call @f(%arena, %b, %zero, %size, %one) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertStructuredToBranches : Pass<"convert-structured-to-branches"> {
  let summary = "scf as blocks and branches, in linear time";
  let description = [{
    Applies upstream's patterns for `scf` (those of `convert-scf-to-cf`) to the last
    operation of a block first. Each splits the block that it stands in, which
    takes as long as what moves to the new block.

    In: `scf` on anything. Out: `cf`; what the patterns do not convert stays.
    Example: `scf.for %i = %a to %b step %c { ... }` becomes
    `cf.br ^header(%a)`, `^header(%i): cf.cond_br %less, ^body, ^exit` and a body
    that ends in `cf.br ^header(%next)`.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect"];
}

def PrepareForJIT : Pass<"remat-prepare-for-jit", "::mlir::ModuleOp"> {
  let summary = "spare LLVM work that gains nothing";
  let description = [{
    On the LLVM dialect, last. Functions with a block of hundreds of operations
    (a training step: calls of kernels, one after the other) are neither
    inlined nor optimized, because LLVM's time for them grows with the square of
    the length. In a module with a `main` (or a `remat_step`), all other functions
    become internal: `mlir-runner` makes a wrapper of every public function, and a
    step's wrapper unpacks thousands of arguments.

    In: `llvm.func @step(...)` beside `@main`. Out:
    `llvm.func internal @step(...) attributes {no_inline, optimize_none, ...}`.
  }];
}

def PackProducts : Pass<"remat-pack-products"> {
  let summary = "copy operands of matrix products that a library would see in another way";
  let description = [{
    The bits of a product depend on what a library is asked for: it adds up in another
    order for a transposed matrix, and for few rows, and what it cannot take runs as
    loops. Both depend on how operands lie in memory, and so on whether one is a
    slice of something or was saved on its own.
    This pass makes them a function of the operation: an operand stays where
    it is if a library sees of it what it would see if it had no gaps, which is so for
    heads, parts of fused weights and rows of a batch; any other operand (every second
    column, or all but the last position of each sequence) is copied into
    contiguous memory first, and such a result afterwards.

    In: linalg on memrefs, products that `convert-linalg-to-library` takes, and
    `remat.attention` with its backward; collectives, whose memory is contiguous after it. Out:
    the same with `memref.alloc` and `memref.copy`. Run before `remat-pack-memory`,
    which reserves the copies.

    Example: the columns 0, 2, 4, ... of a matrix

    ```mlir
    linalg.matmul ins(%a, %b : memref<8x4xf32, strided<[8, 2]>>, memref<4x32xf32>) outs(%c : memref<8x32xf32>)
    ```

    become

    ```mlir
    %copy = memref.alloc() : memref<8x4xf32>
    memref.copy %a, %copy : memref<8x4xf32, strided<[8, 2]>> to memref<8x4xf32>
    linalg.matmul ins(%copy, %b : memref<8x4xf32>, memref<4x32xf32>) outs(%c : memref<8x32xf32>)
    ```
  }];
  let options = [
    Option<"alike", "alike", "bool", /*default=*/"false",
           "No products of factors of two types, which only the runtime for the CPU has">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"];
}

#endif // REMAT_CONVERSION_PASSES_TD
