// Kernels through upstream's lowerings, run by the stock runner: as they are, instrumented, and in three orders.

// DEFINE: %{lower} = --pass-pipeline='builtin.module(gpu.module(convert-vector-to-scf,convert-scf-to-cf,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},canonicalize,cse,reconcile-unrealized-casts))'
// DEFINE: %{run} = mlir-runner -O2 -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch
// RUN: remat-opt %s %{lower} -o %t.nvvm.mlir
// RUN: remat-opt %t.nvvm.mlir --remat-emulate-kernels -o %t.mlir
// RUN: remat-opt %t.nvvm.mlir --remat-emulate-kernels=check -o %t.check.mlir
// RUN: %{run} %t.mlir > %t.out
// RUN: FileCheck %s --input-file=%t.out
// RUN: env REMAT_EMULATOR_ORDER=backward %{run} %t.mlir | diff %t.out -
// RUN: env REMAT_EMULATOR_ORDER=random REMAT_EMULATOR_SEED=7 %{run} %t.mlir | diff %t.out -
// RUN: %{run} %t.check.mlir | diff %t.out -
// RUN: env REMAT_EMULATOR_ORDER=backward %{run} %t.check.mlir | diff %t.out -
// RUN: env REMAT_EMULATOR_ORDER=random REMAT_EMULATOR_SEED=7 %{run} %t.check.mlir | diff %t.out -

// x is i * 37 mod 101 / 8 - 6.
gpu.module @kernels {
  // y = 2 x + 1, four elements a thread. x[1] = -1.375.
  // CHECK: scale: y = -11, -1.75, ... -7.25, sum 6129.75, bits
  gpu.func @scale(%x: memref<4096xf32>, %y: memref<4096xf32>) kernel {
    %t = gpu.thread_id x
    %k = gpu.block_id x
    %c4 = arith.constant 4 : index
    %c512 = arith.constant 512 : index
    %o = arith.muli %k, %c512 : index
    %p = arith.muli %t, %c4 : index
    %i = arith.addi %o, %p : index
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
    %two = arith.constant dense<2.0> : vector<4xf32>
    %one = arith.constant dense<1.0> : vector<4xf32>
    %m = arith.mulf %v, %two : vector<4xf32>
    %s = arith.addf %m, %one : vector<4xf32>
    vector.store %s, %y[%i] {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
    gpu.return
  }
  // Each element of a row of 512 becomes the row's sum: by shuffles within warps, by workgroup memory between them.
  // CHECK: rows: y = 118.25, 118.25, ... 126.5, sum 520640, bits
  gpu.func @rows(%x: memref<4096xf32>, %y: memref<4096xf32>)
      workgroup(%w: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %k = gpu.block_id x
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c512 = arith.constant 512 : index
    %o = arith.muli %k, %c512 : index
    %p = arith.muli %t, %c4 : index
    %i = arith.addi %o, %p : index
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
    %e = vector.reduction <add>, %v : vector<4xf32> into f32
    %width = arith.constant 32 : i32
    %o16 = arith.constant 16 : i32
    %o8 = arith.constant 8 : i32
    %o4 = arith.constant 4 : i32
    %o2 = arith.constant 2 : i32
    %o1 = arith.constant 1 : i32
    %a0, %q0 = gpu.shuffle xor %e, %o16, %width : f32
    %r0 = arith.addf %e, %a0 : f32
    %a1, %q1 = gpu.shuffle xor %r0, %o8, %width : f32
    %r1 = arith.addf %r0, %a1 : f32
    %a2, %q2 = gpu.shuffle xor %r1, %o4, %width : f32
    %r2 = arith.addf %r1, %a2 : f32
    %a3, %q3 = gpu.shuffle xor %r2, %o2, %width : f32
    %r3 = arith.addf %r2, %a3 : f32
    %a4, %q4 = gpu.shuffle xor %r3, %o1, %width : f32
    %r4 = arith.addf %r3, %a4 : f32
    %lane = arith.remui %t, %c32 : index
    %warp = arith.divui %t, %c32 : index
    %first = arith.cmpi eq, %lane, %c0 : index
    scf.if %first {
      memref.store %r4, %w[%warp] : memref<4xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %all = vector.load %w[%c0] : memref<4xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    %sum = vector.reduction <add>, %all : vector<4xf32> into f32
    %sums = vector.broadcast %sum : f32 to vector<4xf32>
    vector.store %sums, %y[%i] {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
    gpu.return
  }
  // A kernel that is called like the function that it calls. Functions of libdevice: e^x / sqrt(e^x) = e^(x / 2).
  // CHECK: exp: y = 0.04978706836786{{[0-9]*}}, 0.5028315779709{{[0-9]*}}, ...
  gpu.func @exp(%x: memref<100xf64>, %y: memref<100xf64>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<100xf64>
    %e = math.exp %v : f64
    %r = math.rsqrt %e : f64
    %s = arith.mulf %e, %r : f64
    memref.store %s, %y[%t] : memref<100xf64>
    gpu.return
  }
}

llvm.mlir.global external @kernels_image() : i8
llvm.func @emulator_launch_f32(!llvm.ptr, i64, i64, i64, i64, i64)
llvm.func @emulator_launch_f64(!llvm.ptr, i64, i64, i64, i64, i64)
llvm.func @main() {
  %image = llvm.mlir.addressof @kernels_image : !llvm.ptr
  %n0 = llvm.mlir.constant(0 : i64) : i64
  %n1 = llvm.mlir.constant(1 : i64) : i64
  %n8 = llvm.mlir.constant(8 : i64) : i64
  %n128 = llvm.mlir.constant(128 : i64) : i64
  %n4096 = llvm.mlir.constant(4096 : i64) : i64
  llvm.call @emulator_launch_f32(%image, %n0, %n8, %n128, %n0, %n4096) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  llvm.call @emulator_launch_f32(%image, %n1, %n8, %n128, %n0, %n4096) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  %n2 = llvm.mlir.constant(2 : i64) : i64
  %n100 = llvm.mlir.constant(100 : i64) : i64
  llvm.call @emulator_launch_f64(%image, %n2, %n1, %n100, %n0, %n100) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  llvm.return
}
