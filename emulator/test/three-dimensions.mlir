// Blocks and grids of three dimensions: 2 x 3 x 2 blocks of 8 x 4 x 2 threads.

// DEFINE: %{run} = mlir-runner -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch
// RUN: remat-opt %s --remat-emulate-kernels -o %t.mlir
// RUN: remat-opt %s --remat-emulate-kernels=check -o %t.check.mlir
// RUN: %{run} %t.mlir | FileCheck %s
// RUN: env REMAT_EMULATOR_ORDER=backward %{run} %t.mlir | FileCheck %s
// RUN: env REMAT_EMULATOR_ORDER=random %{run} %t.mlir | FileCheck %s
// RUN: %{run} %t.check.mlir | FileCheck %s

gpu.module @kernels {
  // Each thread stores its number: the sum is 767 * 768 / 2.
  // CHECK: number: y = 0, 1, ... 767, sum 294528, bits
  llvm.func @number(%x: !llvm.ptr, %y: !llvm.ptr) attributes {gpu.kernel} {
    %tx = nvvm.read.ptx.sreg.tid.x : i32
    %ty = nvvm.read.ptx.sreg.tid.y : i32
    %tz = nvvm.read.ptx.sreg.tid.z : i32
    %nx = nvvm.read.ptx.sreg.ntid.x : i32
    %ny = nvvm.read.ptx.sreg.ntid.y : i32
    %nz = nvvm.read.ptx.sreg.ntid.z : i32
    %bx = nvvm.read.ptx.sreg.ctaid.x : i32
    %by = nvvm.read.ptx.sreg.ctaid.y : i32
    %bz = nvvm.read.ptx.sreg.ctaid.z : i32
    %gx = nvvm.read.ptx.sreg.nctaid.x : i32
    %gy = nvvm.read.ptx.sreg.nctaid.y : i32
    // The number of the thread, x first.
    %0 = llvm.mul %bz, %gy : i32
    %1 = llvm.add %0, %by : i32
    %2 = llvm.mul %1, %gx : i32
    %3 = llvm.add %2, %bx : i32
    %4 = llvm.mul %3, %nz : i32
    %5 = llvm.add %4, %tz : i32
    %6 = llvm.mul %5, %ny : i32
    %7 = llvm.add %6, %ty : i32
    %8 = llvm.mul %7, %nx : i32
    %i = llvm.add %8, %tx : i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %f = llvm.sitofp %i : i32 to f32
    llvm.store %f, %py : f32, !llvm.ptr
    llvm.return
  }

  // Warps are 32 threads in a row, x first: lane 5 of each says its number. The sum is 32 times that of 5, 37, ... 741.
  // CHECK: lane: y = 5, 5, ... 741, sum 286464, bits
  llvm.func @lane(%x: !llvm.ptr, %y: !llvm.ptr) attributes {gpu.kernel} {
    %tx = nvvm.read.ptx.sreg.tid.x : i32
    %ty = nvvm.read.ptx.sreg.tid.y : i32
    %tz = nvvm.read.ptx.sreg.tid.z : i32
    %nx = nvvm.read.ptx.sreg.ntid.x : i32
    %ny = nvvm.read.ptx.sreg.ntid.y : i32
    %nz = nvvm.read.ptx.sreg.ntid.z : i32
    %bx = nvvm.read.ptx.sreg.ctaid.x : i32
    %by = nvvm.read.ptx.sreg.ctaid.y : i32
    %bz = nvvm.read.ptx.sreg.ctaid.z : i32
    %gx = nvvm.read.ptx.sreg.nctaid.x : i32
    %gy = nvvm.read.ptx.sreg.nctaid.y : i32
    // The number of the thread, x first.
    %0 = llvm.mul %bz, %gy : i32
    %1 = llvm.add %0, %by : i32
    %2 = llvm.mul %1, %gx : i32
    %3 = llvm.add %2, %bx : i32
    %4 = llvm.mul %3, %nz : i32
    %5 = llvm.add %4, %tz : i32
    %6 = llvm.mul %5, %ny : i32
    %7 = llvm.add %6, %ty : i32
    %8 = llvm.mul %7, %nx : i32
    %i = llvm.add %8, %tx : i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %five = llvm.mlir.constant(5 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %v = nvvm.shfl.sync idx %all, %i, %five, %clamp : i32 -> i32
    %f = llvm.sitofp %v : i32 to f32
    llvm.store %f, %py : f32, !llvm.ptr
    llvm.return
  }
}

llvm.mlir.global external @kernels_image() : i8
llvm.func @emulator_launch_cube(!llvm.ptr, i64)
llvm.func @main() {
  %image = llvm.mlir.addressof @kernels_image : !llvm.ptr
  %n0 = llvm.mlir.constant(0 : i64) : i64
  %n1 = llvm.mlir.constant(1 : i64) : i64
  llvm.call @emulator_launch_cube(%image, %n0) : (!llvm.ptr, i64) -> ()
  llvm.call @emulator_launch_cube(%image, %n1) : (!llvm.ptr, i64) -> ()
  llvm.return
}
