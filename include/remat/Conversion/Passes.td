//===- Passes.td ------------------------------------------*- tablegen -*-===//

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
    linear (`floordiv`, `mod`) is left alone: `convert-linalg-to-loops` takes it.

    One loop is vectorized: where operands are contiguous in it they are loaded
    as vectors, where they do not depend on it as scalars, otherwise gathered.
    The rest of a loop that the vector length does not divide is one masked
    vector, so that all elements are computed by the same instructions.
    Parallel loops are distributed over threads (`scf.parallel`) if there is
    enough work.

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
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
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
    exponential of the difference, a sum and a division.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string",
               "names of operations that the target lowers as a whole">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def AnnotateConvWorkspace : Pass<"annotate-conv-workspace"> {
  let summary = "note on convolutions how much workspace they will get";
  let description = [{
    Sets `remat.workspace_bytes` of `remat.conv_2d` and its two gradients to the
    size of the workspace that `convert-conv-to-library` reserves for `threads`
    threads, so that `remat-schedule` knows the bytes that are in use while they
    run. Convolutions with an unknown size besides the number of images are left
    alone: `convert-conv-to-library` refuses them.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"2",
           "Threads to reserve workspace for">];
}

def ConvertConvToLibrary : Pass<"convert-conv-to-library", "::mlir::ModuleOp"> {
  let summary = "convolutions on memrefs to calls of the runtime";
  let description = [{
    `remat.conv_2d` and its two gradients become calls of `remat_conv_2d_*`,
    which compute them as matrix products of gathered pieces. Each call gets a
    workspace (`memref.alloc`) of the size that `remat/Runtime/ConvPlan.h` gives
    for `threads` threads, so this runs before `remat-pack-memory`: the step
    then allocates nothing, and the workspace is part of its peak. More threads
    than that help a convolution only as far as its workspace finds free room in
    the arena (`remat.useful_bytes` says how much it can use). The bits depend on
    neither, and the program does not depend on the machine that compiles it.

    Operands that are not contiguous are copied. Shapes must be static.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"2",
           "Threads to reserve workspace for">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertLinalgToLibrary : Pass<"convert-linalg-to-library", "::mlir::ModuleOp"> {
  let summary = "matrix products on memrefs to calls of the runtime (OpenBLAS)";
  let description = [{
    Contractions (`linalg.matmul`, `batch_matmul`, `matvec`, `dot`, ..., with
    any indexing maps, and generics that are products: both operands lack a
    dimension of the result) on f32 or f64 become calls of `remat_gemm_f32` or
    `remat_gemm_f64`. They take the operands as memrefs of two batch dimensions,
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

    The bits of a product depend on its shape and strides only, not on the
    number of threads.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
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
    `math.clampf`, `math.isinf` and `math.isnormal`, which nothing else lowers,
    are expanded.

    Example: `math.exp %v : vector<16xf32>` becomes range reduction, a
    polynomial, and a scaling by a power of two.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def PassBarePointers : Pass<"remat-pass-bare-pointers", "::mlir::ModuleOp"> {
  let summary = "calls pass pointers where types say all about a memref";
  let description = [{
    Marks functions whose memrefs all have static sizes, strides and offsets
    `llvm.bareptr`, so that `convert-func-to-llvm` gives them one argument for
    each memref: the pointer to its data. Kernels and steps are such functions.
    Left alone are functions that return memrefs, that are used otherwise than
    by `func.call`, and public ones without `llvm.emit_c_interface` (who calls
    them is not in sight); beside a `@main` nobody but the module calls any.

    A public function with `llvm.emit_c_interface` keeps that interface:
    `@_mlir_ciface_f` takes pointers to descriptors, and a pointer to the
    results first if there are several. `@f` itself takes bare pointers.

    In: functions on memrefs, before any conversion of `func`. Example:

    ```mlir
    func.func private @kernel(%a: memref<64xf32, strided<[1]>>) { ... }
    // becomes
    func.func private @kernel(%a: memref<64xf32, strided<[1]>>) attributes {llvm.bareptr} { ... }
    // and later
    llvm.func @kernel(%a: !llvm.ptr) { ... }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def PrepareForJIT : Pass<"remat-prepare-for-jit", "::mlir::ModuleOp"> {
  let summary = "spare LLVM work that gains nothing";
  let description = [{
    On the LLVM dialect, last. Functions with a block of hundreds of operations
    (a training step: calls of kernels, one after the other) are neither
    inlined nor optimized, because LLVM's time for them grows with the square of
    the length. In a module with a `main`, all other functions become internal:
    `mlir-runner` makes a wrapper of every public function, and a step's wrapper
    unpacks thousands of arguments.

    In: `llvm.func @step(...)` beside `@main`. Out:
    `llvm.func internal @step(...) attributes {no_inline, optimize_none, ...}`.
  }];
}

def PackProducts : Pass<"remat-pack-products"> {
  let summary = "copy operands of matrix products that a library would see in another way";
  let description = [{
    The bits of a product depend on what BLAS is asked for: it adds up in another
    order for a transposed matrix, and for few rows. Both depend on how operands lie
    in memory, and so on whether one is a slice of something or was saved on its own.
    This pass makes them a function of the operation: an operand stays where
    it is if BLAS sees of it what it would see if it had no gaps, which is so for
    heads, parts of fused weights and rows of a batch; any other operand (every second
    column, or all but the last position of each sequence) is copied into
    contiguous memory first, and such a result afterwards.

    In: linalg on memrefs, products that `convert-linalg-to-library` takes. Out:
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
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertScatterAddToLoops : Pass<"convert-scatter-add-to-loops"> {
  let summary = "remat.scatter_add to loops that add a row at a time";
  let description = [{
    The lowering of `remat.scatter_add` for the CPU, on tensors: a loop for each
    dimension of the updates along which the position in the result is computed,
    and in it an addition of elements, or of rows in the dimensions that the body
    passes through. No thread shares the loop: positions may repeat.

    Example:

    ```mlir
    %sum = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<100x8xf32>) {
    ^bb0(%i: index, %j: index):
      %row = tensor.extract %rows[%i] : tensor<5xindex>
      remat.yield %row, %j : index, index
    } -> tensor<100x8xf32>
    ```

    becomes

    ```mlir
    %sum = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %table) -> (tensor<100x8xf32>) {
      %row = tensor.extract %rows[%i] : tensor<5xindex>
      %old = tensor.extract_slice %t[%row, 0] [1, 8] [1, 1] : tensor<100x8xf32> to tensor<8xf32>
      %new = tensor.extract_slice %updates[%i, 0] [1, 8] [1, 1] : tensor<5x8xf32> to tensor<8xf32>
      %both = linalg.generic ... ins(%new : tensor<8xf32>) outs(%old : tensor<8xf32>)
      %next = tensor.insert_slice %both into %t[%row, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<100x8xf32>
      scf.yield %next : tensor<100x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_CONVERSION_PASSES_TD
