// Faults in kernels that are not instrumented name the kernel, and end the process without a dump of the compiler's stack.

// DEFINE: %{run} = mlir-runner %t.mlir -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch
// RUN: remat-opt %s --remat-emulate-kernels -o %t.mlir
// RUN: not env KERNEL=wild %{run} 2>&1 | FileCheck %s --check-prefix=WILD --implicit-check-not='Stack dump'
// RUN: not env KERNEL=deep %{run} 2>&1 | FileCheck %s --check-prefix=DEEP --implicit-check-not='Stack dump'

gpu.module @kernels {
  // WILD: remat: error: emulator: kernel 'wild': a thread accesses 0x1000, which is no memory of the device, or is misaligned; `remat-emulate-kernels="check"` says where
  llvm.func @wild(%x: !llvm.ptr, %y: !llvm.ptr) attributes {gpu.kernel} {
    %a = llvm.mlir.constant(4096 : i64) : i64
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    %v = llvm.load volatile %p : !llvm.ptr -> f32
    llvm.return
  }

  // DEEP: remat: error: emulator: kernel 'deep': a thread needs more stack than the emulator has (128 KiB)
  llvm.func @deep(%x: !llvm.ptr, %y: !llvm.ptr) attributes {gpu.kernel} {
    %n = llvm.mlir.constant(100000 : i32) : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %a = llvm.alloca %n x i32 : (i32) -> !llvm.ptr
    nvvm.barrier0
    llvm.store volatile %zero, %a : i32, !llvm.ptr
    llvm.return
  }
}

llvm.mlir.global external @kernels_image() : i8
llvm.func @emulator_launch_selected(!llvm.ptr, i64, i64, i64, i64)
llvm.func @main() {
  %image = llvm.mlir.addressof @kernels_image : !llvm.ptr
  %n0 = llvm.mlir.constant(0 : i64) : i64
  %n1 = llvm.mlir.constant(1 : i64) : i64
  %n64 = llvm.mlir.constant(64 : i64) : i64
  llvm.call @emulator_launch_selected(%image, %n1, %n64, %n0, %n64) : (!llvm.ptr, i64, i64, i64, i64) -> ()
  llvm.return
}
