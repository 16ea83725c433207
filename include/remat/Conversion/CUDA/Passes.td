//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_CONVERSION_CUDA_PASSES_TD
#define REMAT_CONVERSION_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToGPU : Pass<"convert-linalg-to-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "linalg on device memory to kernels of the gpu dialect";
  let description = [{
    Every linalg op on memrefs, every `memref.copy` and every `remat.scatter_add`
    becomes a `gpu.launch_func` of a kernel in the `gpu.module` `@kernels`, or a part of
    one. Ops that do the same share one kernel.

    In: functions whose memrefs are device memory. Out: launches on one-dimensional
    grids. A kernel takes `!llvm.ptr`s to the lowest element that each operand
    accesses, so that layouts and offsets are the host's business; sizes and
    strides are constants in it where they are static, and `index` arguments where
    they are not. A scalar that the host computes arrives by pointer as well: it is
    put into the *step block*, which is copied to the device for each replay of a
    captured graph, whose arguments never change. Until
    `convert-launches-to-runtime`, a cast of the scalar to a pointer stands for it.
    Pointers carry `remat.access` ("read", "write", "read_write") and, if it is
    known, `remat.bytes`, for whoever checks accesses.

    Threads by kind of operation:

    | operation | one thread computes |
    |---|---|
    | no reduction | a vector of results, 16 bytes of the largest operands, where all operands are contiguous and aligned, else one |
    | no reduction, and inputs that are transposed | results of a square of 32 x 32, for which the block brings the inputs into workgroup memory along their rows |
    | a reduction by one associative operation for each result | one *lane* of one result, or of 4 to 16 bytes of results that lie side by side, if many blocks are left; four lanes of one result where its elements lie side by side and are aligned |
    | such a reduction with other outputs, of which each iteration writes an element | the same; it stores what its iterations write |
    | operations that go through the same rows, some of which are reduced along them (a norm, a softmax, what follows them) | its part of a row in each, one operation after the other, with a barrier between |
    | any other reduction | a result, in the order of the loops |
    | outputs that several iterations write | the iterations that may meet, in order |
    | index maps that are not linear | a result; all other loops in order, through memory |
    | `remat.scatter_add` | all additions to its elements of the table, in the order of the positions |

    Lanes fix the order of a sum: it has P partial results, a number that follows
    from the operation's shape only; partial result p combines the elements p, p +
    P, ... in this order; then p with p + 1, p + 2, p + 4, ..., P/2, and the initial value last.
    Lanes of a warp exchange them by shuffles, others through workgroup memory.
    Neither `block-size` nor the grid nor what was fused with the operation change a
    bit. Operations that become one kernel are those of which `remat-fuse-rows`
    makes one loop, if their types say where they are and all of their reductions
    have as many lanes. Outside of reductions the bits are those of `convert-linalg-to-kernels`.

    The block of a scatter owns rows x columns of the table and walks all
    positions: no atomics, no sort, no memory, and the sums of the CPU's loop.

    A `linalg.fill` with a constant that gives a reduction its initial value becomes
    part of its kernel.

    Example:

    ```mlir
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) { ... }
    // becomes
    gpu.launch_func @kernels::@generic blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
        args(%px : !llvm.ptr, %py : !llvm.ptr)
    ```
  }];
  let options = [
    Option<"blockSize", "block-size", "int64_t", /*default=*/"256",
           "Threads in a block: a power of two from 32 to 1024">,
    Option<"traffic", "traffic", "bool", /*default=*/"false",
           "Count the bytes that each launch moves, for remat-print-launches">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertAttentionToGPU : Pass<"convert-attention-to-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "attention on device memory to kernels of the gpu dialect";
  let description = [{
    `remat.attention` on memrefs becomes one kernel, `remat.attention_backward`
    two, and one for each operand of scores that has a gradient, in the `gpu.module` `@kernels`. An array with a number for each pair of
    positions exists nowhere: blocks hold a tile of queries by keys in registers
    and workgroup memory, with the body inlined for each score.

    | kernel | a block owns | and goes through |
    |---|---|---|
    | `attention` | a tile of queries of one batch and head | tiles of keys, with the largest score so far and sums relative to it |
    | `attention_backward_keys` | a tile of keys and values | the rows that share them in order, in each tiles of queries |
    | `attention_backward_queries` | a tile of queries | tiles of keys |
    | `attention_backward_operand` | a tile of scores | the rows that share elements of the operand, in order |

    Blocks have 128 threads. Sizes of tiles, and with them the order of each sum,
    follow from the sizes of heads and the types; by keys they are larger, with the
    same sums, where blocks are many. Nothing is added to by two blocks. Blocks to which a mask leaves the most
    tiles start first. Tiles that a mask of positions hides are skipped.

    Where queries, keys, values and cotangents all are bf16 and sums f32, tensor cores
    compute products (`mma.sync`): operands stay bf16 in workgroup memory, where the
    next tile comes while one is used (`nvgpu.device_async_copy`), scores
    and their cotangents stay in registers, and as factors are two numbers of bf16,
    a rounded one and what it leaves. The forward does the same for f16; cotangents of
    scores could be too large for it. Where all are f32, every factor is two numbers of
    TF32, of which there are three products, or with `tf32` one number, rounded to 10 bits
    of mantissa. Otherwise factors are widened on
    their way to workgroup memory, and products are chains of fused multiply-adds.

    Gradients whose destination was filled with zero
    overwrite it; the fill goes.

    In: functions whose memrefs are device memory. Out: as from
    `convert-linalg-to-gpu-kernels`. An error for what has no kernel: heads of
    unknown size, or so large that no tile fits into 48 KiB (99 with tensor cores); keys and values with
    different batches; gradients of operands of scores that are sums over
    positions.
  }];
  let options = [
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "Factors of f32 are rounded to 10 bits of mantissa, in one product instead of three">,
    Option<"traffic", "traffic", "bool", /*default=*/"false",
           "Count the bytes that each launch moves, for remat-print-launches">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def DecomposeAttentionForGPU : Pass<"decompose-attention-for-gpu"> {
  let summary = "attention that has no kernel becomes products and a softmax";
  let description = [{
    Expands each `remat.attention` and `remat.attention_backward` on tensors that
    `convert-attention-to-gpu-kernels` would refuse, with a remark that says why.
    The backward may have a kernel where the forward has none, and the other way
    around. Others stay.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def GroupUpdates : Pass<"remat-group-updates", "::mlir::ModuleOp"> {
  let summary = "small updates wait until one launch does for several";
  let description = [{
    Moves elementwise operations that overwrite parameters or their states, with
    at most 16 KiB of inputs, to the next ones with the same loops, in groups of up to 8, as long as
    nothing in between reads or writes what they access. `remat-merge-launches`
    makes one kernel of each group.

    In and out: linalg on memrefs that are not packed yet, since the gradients live
    longer: up to 128 KiB for each shape. Bits do not change.
  }];
}

def MergeLaunches : Pass<"remat-merge-launches", "::mlir::ModuleOp"> {
  let summary = "one kernel for operations that iterate alike";
  let description = [{
    Two linalg operations with the same loops become one `linalg.generic` with the
    results of both, at the place of the second, if neither writes what the other
    accesses, and the first may be done after all that is in between: copies to tapes,
    updates of small parameters, sums over the same gradient. What both read is read
    once, what the first stores and the second reads in the same iteration is
    not read, and what the first reads the second may write in the same iteration. The lanes of a sum also store what an elementwise operation computes
    in the same iterations, if they are many; where `remat-split-reductions` has made chunks of these iterations of an operand
    or a result of the operation, it gets the loops of the sum. Operations stay as they are whose operands are transposed (they become
    kernels of another kind), fills, products, and reductions that run in order.

    In and out: linalg on memrefs that are packed. Bits do not change: the order of
    a sum follows from its own shape (`convert-linalg-to-gpu-kernels`).

    Example:

    ```mlir
    linalg.generic ... ins(%g : memref<64x768xf32>) outs(%db : memref<768xf32>) { sum of %g }
    linalg.generic ... ins(%g, %x : ...) outs(%dw : memref<768xf32>) { sum of %g * %x }
    // becomes
    linalg.generic ... ins(%g, %x : ...) outs(%db, %dw : ...) { both sums }
    ```
  }];
  let options = [
    Option<"neighbours", "neighbours", "bool", /*default=*/"false",
           "Only an elementwise operation and the sum right after it which adds up what it stores, for memory that is not packed yet: later, the sum may have the place of an operand">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def PrintLaunches : Pass<"remat-print-launches", "::mlir::ModuleOp"> {
  let summary = "what a function does on the device, in JSON";
  let description = [{
    Prints one entry for each kernel that the function launches, and for each
    product and convolution that goes to a library: `kind` (`kernel`, `product`,
    `convolution`), `name`, `location`, `phase`, `times` (how often the loops around
    it run, `null` where that is not known), and its `arguments` in memory, each with
    `access` and

    | | bytes, in one direction |
    |---|---|
    | `bytes` | of the elements that the operation needs, each counted once |
    | `accessed` | of all loads or stores of all threads; `null` if not known |
    | `moved` | of the 32-byte sectors that warps ask memory for |

    Memory that a launch gets twice is named once. Products and convolutions have
    only `bytes`. `kernels` is how many kernels there are.

    In: functions after `convert-linalg-to-library` and
    `convert-linalg-to-gpu-kernels="traffic"`, which stay as they are. Without
    `traffic`, `bytes` are from the lowest to the highest element.
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"step\"",
           "Name of the function">,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is the standard output">];
}

def UseDeviceInstructions : Pass<"use-device-instructions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "roundings, extremes and inverse roots by instructions that every chip has";
  let description = [{
    `arith-expand` makes about ten instructions of `arith.truncf` from f32 to bf16, and
    four of `arith.maximumf` and `arith.minimumf`. This replaces those of which an
    instruction of the chip has the same result, NaN or number, by operations of
    LLVM that NVPTX selects it for (`cvt.rn.bf16x2.f32`, `max.NaN.f32`):

    - every `arith.truncf` from f32 to bf16 that rounds to nearest;
    - maxima and minima of f32 where the order of -0 and +0, which the chip knows and
      comparisons do not, cannot matter: one operand is a number other than zero, or the right one
      is the zero that both would choose, or the operation has `fastmath<nsz>`.

    `math.rsqrt` of f32 becomes what ptxas makes of a rounded root and a rounded
    quotient, without its branches: a loop around it can be mixed with its next iterations.
    Of arguments below 2^-101 the result is the chip's approximation, to 2^-22.9.

    In: kernels without structured control flow. Out: the same with `llvm.fptrunc`,
    `llvm.intr.maximum`, `llvm.intr.minimum` and intrinsics of NVVM. The emulated device is left out: the
    host's instructions are not these.

    Example:

    ```mlir
    %m = arith.maximumf %x, %one : f32     // llvm.intr.maximum(%x, %one)
    %r = arith.truncf %v : vector<8xf32> to vector<8xbf16>  // llvm.fptrunc %v
    %s = arith.truncf %m : f32 to bf16     // half of llvm.nvvm.ff2bf16x2.rn(0, %m)
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def ConvertKernelsToNVVM : Pass<"convert-kernels-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "kernels to the NVVM dialect, with every operation rounded";
  let description = [{
    As `convert-gpu-to-nvvm`, with two differences. Square roots are exact:
    upstream makes `sqrt.approx` of `math.sqrt`, and every bit of a parameter that
    AdamW updates depends on one. And arguments of kernels keep their attributes
    (`remat.access`, `remat.bytes`), for whoever checks accesses.

    Elementary functions on f32 are polynomials before this (`remat-approximate-math`);
    what is left (f64) calls libdevice (`__nv_exp`). Powers of two that say
    `fastmath<afn>`, attention's and those that `exp` and `erf` are made
    of, are the processor's (`ex2.approx.ftz`).

    In: `gpu.module` with `gpu`, `arith`, `math`, `memref`, `vector` and `cf`. Out:
    LLVM and NVVM. An operation that has no lowering is an error at its location.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertDeviceMemory : Pass<"convert-device-memory", "::mlir::ModuleOp"> {
  let summary = "accesses of the host to device memory become calls of the runtime";
  let description = [{
    Memrefs are device memory, which the host cannot touch, but for random states
    and the constants that `@main` passes to the runtime. What is left of accesses
    to it goes through the runtime, which puts it in order with the launches:

    | in | out |
    |---|---|
    | `memref.load` | `remat_cuda_read`: ends what was queued, and waits |
    | `memref.store` | `remat_cuda_write` |
    | `memref.alloc`, `memref.dealloc` | `remat_cuda_alloc`, `remat_cuda_free` |
    | `memref.get_global` | `remat_cuda_constant`: uploaded once |
    | `cf.assert` of a loaded `i1` | `remat_cuda_assert`: looked at once a step |

    A load is a synchronization, and ends the graph that is captured: a remark says
    where. A loss in memory is fetched when it is logged (`remat-lower-train-step`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertLaunchesToRuntime : Pass<"convert-launches-to-runtime", "::mlir::ModuleOp"> {
  let summary = "gpu.launch_func to calls of the runtime";
  let description = [{
    Upstream's lowering looks a kernel up by name, and creates, synchronizes and
    destroys a stream for each launch. Here a launch is a call of
    `remat_cuda_launch`, which queues it: module, kernel's name, source location,
    grid, block, and the values of its arguments.

    In: `gpu.launch_func`s of `@m::@k` in functions. Out: calls that refer to
    `@m_image`, the constant that `remat-serialize-kernels` or
    `remat-emulate-kernels` make of the `gpu.module` (declared here if it is not
    there yet).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def CarryScalars : Pass<"remat-carry-scalars", "::mlir::ModuleOp"> {
  let summary = "scalars that loops carry and steps return stay on the device";
  let description = [{
    A scalar that is computed from tensors becomes a tensor of rank 0 where an
    `scf.for` carries it (the sum of the losses of micro-batches) and where a function
    returns it that only a `remat.train_step` names (a loss of type `f32`). The
    host, which would have to wait for the device, is left with nothing to compute:
    `remat-sink-scalars` makes kernels of what remains. Bits do not change.

    In and out: linalg on tensors. Next values of scalar arguments
    (`remat.updates`) and numbers of type `index` stay scalars.

    Example:

    ```mlir
    %sum = scf.for ... iter_args(%s = %zero) -> (f32) {
      %loss = tensor.extract %l[] : tensor<f32>
      %next = arith.addf %s, %loss : f32
      scf.yield %next : f32
    }
    // becomes
    %sums = scf.for ... iter_args(%t = %zeros) -> (tensor<f32>) {
      %s = tensor.extract %t[] : tensor<f32>
      %loss = tensor.extract %l[] : tensor<f32>
      %next = arith.addf %s, %loss : f32
      %n = tensor.from_elements %next : tensor<f32>
      scf.yield %n : tensor<f32>
    }
    %sum = tensor.extract %sums[] : tensor<f32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SinkScalars : Pass<"remat-sink-scalars"> {
  let summary = "scalars that depend on tensors are computed in the kernels that use them";
  let description = [{
    A scalar that is computed from an element of a tensor (the factor by which
    gradients are clipped) would be computed by the host, which has to wait for the
    device, read the element, and pass the scalar to the next kernel. Here each
    `linalg.generic` that uses such a scalar computes it itself, from the element.
    Tensors of one such scalar (`tensor.from_elements`, `linalg.fill`) become
    kernels as well. Bits do not change.

    In and out: linalg on tensors. What stays on the host: conditions of branches
    and loops, and scalars that are left by `remat-carry-scalars`.

    Example:

    ```mlir
    %norm = tensor.extract %n[] : tensor<f32>
    %factor = arith.divf %limit, %norm : f32
    linalg.generic ... { ^bb0(%g: f32, %out: f32):
      %c = arith.mulf %g, %factor : f32
    // becomes
    linalg.generic ... { ^bb0(%g: f32, %out: f32):
      %norm = tensor.extract %n[] : tensor<f32>
      %factor = arith.divf %limit, %norm : f32
      %c = arith.mulf %g, %factor : f32
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SerializeKernels : Pass<"remat-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "Kernels in the NVVM dialect to one fatbin for all chips";
  let description = [{
    Every `gpu.module` `@m`, whose bodies are in the LLVM and NVVM dialects, is
    replaced by a constant `@m_image`: a fatbin with machine code for each of
    `chips`, and PTX of the newest of them, which the driver compiles on chips that
    came later. The constant is what `cuModuleLoadData` takes. A global `@m_image`
    without a value gets it. A `gpu.module` without kernels and without such a
    global goes without an image.

    PTX is made by LLVM: nothing is contracted or approximated that the kernels do
    not ask for, denormals are numbers, and `__nv_*` functions are linked from
    libdevice, with exact square roots. Machine code is made by NVIDIA's `ptxas`
    and `fatbinary`, of `toolkit`, or else of the first of these folders that has
    both: `CUDA_ROOT`, `CUDA_HOME`, `CUDA_PATH`, that of the `ptxas` in `PATH`, the
    Python packages `nvidia-cuda-nvcc` and `nvidia-nvvm` in `VIRTUAL_ENV`,
    `/usr/local/cuda`. The image depends on the kernels, the chips and the toolkit's
    version only.

    `dump` names a folder for what was made of `@m`: `m.mlir` (the `gpu.module`),
    `m.sm_90.ptx`, `m.sm_90.cubin` and `m.sm_90.log` (ptxas') for each chip,
    `m.fatbin`, and `manifest.json` with registers, workgroup memory, spills and
    stack of each kernel on each chip. `utils/check-ptx` checks these files.

    Errors: no toolkit, a chip that LLVM or ptxas does not know, a call of a
    function without a definition, workgroup memory that the chip does not have, a
    launch of a kernel that is still in the `gpu` dialect.

    Example:

    ```mlir
    gpu.module @kernels {
      llvm.func @scale(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} { ... }
    }
    // becomes
    llvm.mlir.global internal constant @kernels_image("...") {addr_space = 0 : i32, alignment = 16 : i64}
    ```
  }];
  let options = [
    ListOption<"chips", "chips", "std::string",
               "Chips to compile for (default: sm_80,sm_90,sm_100)">,
    Option<"toolkit", "toolkit", "std::string", /*default=*/"",
           "Folder of the CUDA toolkit, with bin/ptxas and bin/fatbinary (default: search)">,
    Option<"dump", "dump", "std::string", /*default=*/"",
           "Folder for PTX, machine code and resources of the kernels">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def ProductWorkspace : Pass<"remat-product-workspace", "::mlir::ModuleOp"> {
  let summary = "reserve the workspace of matrix products for cuBLASLt";
  let description = [{
    On tensors, notes on each product that goes to the library how much workspace
    it will get (`remat.workspace_bytes`), so that `remat-schedule` knows the bytes
    that are in use while it runs. On memrefs, reserves it: a `memref.alloc` before
    the product, which the runtime knows of from `remat_cuda_begin_workspace` to
    `remat_cuda_end_workspace`. Run before `remat-pack-memory`, it is part of the
    arena.

    The size follows from the product's shape, as the algorithm does that cuBLASLt
    chooses: room for partial results where the results are too few for a large
    GPU and the summation is long, at most 32 MiB.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def AnnotateCuDNNWorkspace : Pass<"annotate-cudnn-workspace"> {
  let summary = "note on convolutions how much memory cuDNN will get";
  let description = [{
    Sets `remat.workspace_bytes` of `remat.conv` and its two gradients to the
    bytes that `convert-conv-to-cudnn` allocates for each of them, so that
    `remat-schedule` knows what is in use while they run: memory for the
    algorithm, and copies of operands. Copies of an unknown number of images are
    not counted; convolutions with another unknown size are left alone, which
    `convert-conv-to-cudnn` refuses.
  }];
  let options = [
    Option<"leastWorkspace", "least-workspace", "uint64_t", /*default=*/"0",
           "Least bytes of memory for an algorithm">];
}

def ConvertConvToCuDNN : Pass<"convert-conv-to-cudnn", "::mlir::ModuleOp"> {
  let summary = "convolutions on memrefs to calls of cuDNN";
  let description = [{
    `remat.conv` and its two gradients, of two dimensions in space, become calls
    of `remat_cudnn_conv_2d*`, for which the runtime calls cuDNN. Those of three
    stay linalg's operations on this target (`remat-fuse-padding=most-dims=2`),
    which are loops. Each call gets memory for an algorithm
    (`memref.alloc`), whose size follows from its shape: 1 MiB, the size of all three
    operands, unless it is a forward one with filters of 1 x 1 and stride 1, and for
    gradients of filters partial sums as those of products
    (`remat-product-workspace`); together at most 32 MiB, which is also what an
    unknown number of images gets. The runtime chooses a deterministic algorithm that
    fits. This runs before `remat-pack-memory`: that memory, and the copies below,
    are in the arena and part of the peak.

    Copied, for as long as the call takes:

    | operand | if | copy |
    |---|---|---|
    | filters | channels are last | (f, kh, kw, c), in f64 (f, c, kh, kw) |
    | images, results | f64, channels are last | (n, c, h, w): cuDNN has no gradients of f64 with channels last |
    | images | cuDNN, which pads both ends alike, would derive another size of the result | with the padding that is needed, without the rows and columns that are not |
    | any | it is not contiguous | contiguous |

    Gradients are computed in such a copy, and copied from there, or, if one elementwise operation is all that reads them (the
    update of the filters), read from there; positions of an image that the convolution does not read get zero.

    In: convolutions on memrefs whose sizes are static, but for the number of
    images. Out: `func.call`, `memref.alloc`, `memref.subview`, `memref.copy`,
    `linalg.transpose`, `linalg.fill`.

    Example:

    ```mlir
    remat.conv ins(%x, %w : memref<8x32x32x3xf32>, memref<3x3x3x64xf32>) outs(%y : memref<8x32x32x64xf32>)
        {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
    // becomes, but for casts
    %filters = memref.alloc() : memref<64x3x3x3xf32>
    linalg.transpose ins(%w : memref<3x3x3x64xf32>) outs(%filters : memref<64x3x3x3xf32>) permutation = [3, 0, 1, 2]
    %workspace = memref.alloc() : memref<3250944xi8>
    // channels first, strides, dilations, padding, groups
    call @remat_cudnn_conv_2d_f32(%x, %filters, %y, %workspace, %c0, %c1, %c1, %c1, %c1, %c1, %c1, %c1)
    ```
  }];
  let options = [
    Option<"leastWorkspace", "least-workspace", "uint64_t", /*default=*/"0",
           "Least bytes of memory for an algorithm">,
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "Factors of f32 may be rounded to 10 bits of mantissa (remat_cudnn_conv_2d_tf32)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"];
}

def WidenProducts : Pass<"remat-widen-products"> {
  let summary = "factors of products that have two types in the type of the sum";
  let description = [{
    A product of a bf16 and an f32 factor that is added up in f32, as adjoints of
    products of bf16 are, has no function in cuBLASLt. Its narrow factor is copied
    to memory in f32, which is exact, and the product becomes one of f32. Run
    before `remat-pack-memory`, which reserves the copies. Products whose factors
    are of one narrow type stay: the library has them.

    In and out: linalg on memrefs. Example:

    ```mlir
    linalg.matmul ins(%a, %b : memref<8x16xbf16>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
    // becomes
    %wide = memref.alloc() : memref<8x16xf32>
    linalg.generic ... ins(%a : memref<8x16xbf16>) outs(%wide : memref<8x16xf32>) // extf
    linalg.generic ... ins(%wide, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
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

#endif // REMAT_CONVERSION_CUDA_PASSES_TD
