//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_PASSES_TD
#define REMAT_EMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmulateKernels : Pass<"remat-emulate-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels in the NVVM dialect to functions of the host";
  let description = [{
    This pass makes the kernels of a program testable without a GPU: it turns
    them into functions that the stock `mlir-runner` compiles with the host
    program, from the IR that the NVPTX backend gets after all lowerings. The
    emulated driver `libremat_cuda_emulator.so`, loaded in place of the CUDA
    driver, runs them.

    In: `gpu.module`s of `llvm.func`s in the `llvm` and `nvvm` dialects, as
    `convert-gpu-to-nvvm` leaves them. Out, for a `gpu.module @m`:

    - its functions as functions of the enclosing module, with one more
      argument, the record of the thread (`remat/Emulator/Thread.h`);
    - a constant `@m_image`, the table of kernels that `cuModuleLoadData` takes
      (`remat/CUDA/EmulatedImage.h`). The `gpu.module` is erased.

    Special registers become loads from the thread's record; barriers, shuffles,
    votes, warp reductions and products of matrices become calls of the emulator,
    which also tells lanes where they load matrices from. Workgroup memory
    comes from the record as well, not from a global: LLVM could keep values of
    a global across barriers. Functions of libdevice (`__nv_*`) become those of
    the C library. Anything else that a host does not have (another `nvvm`
    operation, inline PTX, an unknown external function) is an error that names
    it.

    Arguments of kernels may carry `remat.access` ("read", "write" or
    "read_write": what the kernel may do with the memory at the pointer) and
    `remat.bytes` (i64: how much memory there is). They go to the image; the
    emulator checks accesses against them. Since `convert-gpu-to-nvvm` keeps no
    attributes of arguments, a kernel may also have a list, with an entry for
    each argument of the lowered function:
    `remat.arguments = [{access = "read", bytes = 64}, {access = "write"} ]`.

    Example:

    ```mlir
    gpu.module @m {
      llvm.func @zero(%p: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
        %t = nvvm.read.ptx.sreg.tid.x : i32
        %a = llvm.getelementptr %p[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
        ...
    // becomes
    llvm.func internal @m_zero(%p: !llvm.ptr, %thread: !llvm.ptr {llvm.noalias}) {
      %t = llvm.load %thread : !llvm.ptr -> i32
      %a = llvm.getelementptr %p[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      ...
    llvm.mlir.global internal constant @m_image() : !llvm.struct<(i64, ...)> {
    ```
  }];
  let options = [
    Option<"check", "check", "bool", "false",
           "precede each access by a call that looks for races, accesses out of bounds and misaligned ones">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // REMAT_EMULATOR_PASSES_TD
