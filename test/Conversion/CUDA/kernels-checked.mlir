// Kernels that share workgroup memory, under the emulator's detectors, in three orders and with two block sizes: no race,
// no access outside of what the launch names, the same bits.

// DEFINE: %{run} = mlir-runner -O2 -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch
// RUN: sed -e 's/BLOCK/256/; s/TILES/16/' %s > %t.256.mlir
// RUN: sed -e 's/BLOCK/64/; s/TILES/64/' %s > %t.64.mlir
// RUN: remat-opt %t.256.mlir --pass-pipeline='builtin.module(convert-linalg-to-gpu-kernels{block-size=256},symbol-dce,gpu.module(expand-strided-metadata,lower-affine,convert-vector-to-scf,convert-scf-to-cf,convert-kernels-to-nvvm,reconcile-unrealized-casts,canonicalize,cse),remat-emulate-kernels{check=true})' -o %t.1.mlir
// RUN: remat-opt %t.64.mlir --pass-pipeline='builtin.module(convert-linalg-to-gpu-kernels{block-size=64},symbol-dce,gpu.module(expand-strided-metadata,lower-affine,convert-vector-to-scf,convert-scf-to-cf,convert-kernels-to-nvvm,reconcile-unrealized-casts,canonicalize,cse),remat-emulate-kernels{check=true})' -o %t.2.mlir
// RUN: %{run} %t.1.mlir > %t.out
// RUN: FileCheck %s --input-file=%t.out
// RUN: env REMAT_EMULATOR_ORDER=backward %{run} %t.1.mlir | diff %t.out -
// RUN: env REMAT_EMULATOR_ORDER=random %{run} %t.1.mlir | diff %t.out -
// RUN: %{run} %t.2.mlir | diff %t.out -
// RUN: env REMAT_EMULATOR_ORDER=random %{run} %t.2.mlir | diff %t.out -

// x(0, 0) = -6, and x(1, 0) = 64 * 37 mod 101 / 8 - 6 = -0.375.
// CHECK: transpose: y = -6, -0.375, ...
func.func private @transpose(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  linalg.transpose ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) permutation = [1, 0]
  return
}

// Several chunks of positions. Nobody has written the table before: the values mean nothing here, but there is no race.
// CHECK: scatter_add: y =
func.func private @scatter(%x: memref<512x8xf32>, %y: memref<512x8xf32>) {
  %c5 = arith.constant 5 : index
  %c512 = arith.constant 512 : index
  remat.scatter_add ins(%x : memref<512x8xf32>) outs(%y : memref<512x8xf32>) {
  ^bb0(%i: index, %j: index):
    %0 = arith.muli %i, %i : index
    %1 = arith.muli %0, %c5 : index
    %2 = arith.remui %1, %c512 : index
    remat.yield %2, %j : index, index
  }
  return
}

llvm.mlir.global external @kernels_image() : i8
llvm.func @emulator_launch_f32(!llvm.ptr, i64, i64, i64, i64, i64)
llvm.func @main() {
  %image = llvm.mlir.addressof @kernels_image : !llvm.ptr
  %n0 = llvm.mlir.constant(0 : i64) : i64
  %n1 = llvm.mlir.constant(1 : i64) : i64
  %n4 = llvm.mlir.constant(4 : i64) : i64
  %tiles = llvm.mlir.constant(TILES : i64) : i64
  %block = llvm.mlir.constant(BLOCK : i64) : i64
  %n4096 = llvm.mlir.constant(4096 : i64) : i64
  llvm.call @emulator_launch_f32(%image, %n1, %n4, %block, %n0, %n4096) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  llvm.call @emulator_launch_f32(%image, %n0, %tiles, %block, %n0, %n4096) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  llvm.return
}
