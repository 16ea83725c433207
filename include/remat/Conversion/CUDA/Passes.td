//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_CONVERSION_CUDA_PASSES_TD
#define REMAT_CONVERSION_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToGPU : Pass<"convert-linalg-to-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "linalg on device memory to kernels of the gpu dialect";
  let description = [{
    Every linalg op on memrefs, every `memref.copy` and every `remat.scatter_add`
    becomes a `gpu.launch_func` of a kernel in the `gpu.module` `@kernels`. Ops that do the
    same share one kernel.

    In: functions whose memrefs are device memory. Out: launches on one-dimensional
    grids. A kernel takes `!llvm.ptr`s to the lowest element that each operand
    accesses, so that layouts and offsets are the host's business; sizes and
    strides are constants in it where they are static, and `index` arguments where
    they are not. A scalar that the host computes arrives by pointer as well: it is
    put into the *step block* (`remat_cuda_scalar`), which is copied to the device
    once for each replay of a captured graph, whose arguments never change.
    Pointers carry `remat.access` ("read", "write", "read_write") and, if it is
    known, `remat.bytes`, for whoever checks accesses.

    Threads by kind of operation:

    | operation | one thread computes |
    |---|---|
    | no reduction | a 16-byte vector of results where all operands are contiguous and aligned, else one |
    | no reduction, and inputs that are transposed | results of a square of 32 x 32, for which the block brings the inputs into workgroup memory along their rows |
    | a reduction by one associative operation for each result | one *lane* of one result |
    | any other reduction | a result, in the order of the loops |
    | outputs that several iterations write | the iterations that may meet, in order |
    | index maps that are not linear | a result; all other loops in order, through memory |
    | `remat.scatter_add` | all additions to its elements of the table, in the order of the positions |

    Lanes fix the order of a sum: it has P partial results, a number that follows
    from the operation's shape only; partial result p combines the elements p, p +
    P, ... in this order; then p with p + P/2, P/4, ..., 1, and the initial value last.
    Neither `block-size` nor the grid nor what was fused with the operation change a
    bit. Outside of reductions the bits are those of `convert-linalg-to-kernels`.

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
           "Threads in a block: a power of two from 32 to 1024">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertKernelsToNVVM : Pass<"convert-kernels-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "kernels to the NVVM dialect, with every operation rounded";
  let description = [{
    What `convert-gpu-to-nvvm` does, with two differences. Square roots are exact:
    upstream makes `sqrt.approx` of `math.sqrt`, and every bit of a parameter that
    AdamW updates depends on one. And arguments of kernels keep their attributes
    (`remat.access`, `remat.bytes`), for whoever checks accesses.

    Elementary functions on f32 are polynomials before this (`remat-approximate-math`);
    what is left (f64) calls libdevice (`__nv_exp`).

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

#endif // REMAT_CONVERSION_CUDA_PASSES_TD
