// Fusion changes no value: both programs print the same digits.
// DEFINE: %{lower} = -one-shot-bufferize=bufferize-function-boundaries -convert-linalg-to-loops -convert-scf-to-cf -expand-strided-metadata -lower-affine -convert-math-to-libm -convert-arith-to-llvm -finalize-memref-to-llvm -convert-func-to-llvm -convert-cf-to-llvm -convert-index-to-llvm -reconcile-unrealized-casts
// RUN: remat-opt %s %{lower} -o %t.plain.mlir
// RUN: remat-opt %s -remat-fuse %{lower} -o %t.fused.mlir
// RUN: mlir-runner %t.plain.mlir -e main -entry-point-result=void -shared-libs=%mlir_runner_utils,%mlir_c_runner_utils | grep -v base > %t.plain
// RUN: mlir-runner %t.fused.mlir -e main -entry-point-result=void -shared-libs=%mlir_runner_utils,%mlir_c_runner_utils | grep -v base > %t.fused
// RUN: diff %t.plain %t.fused
// RUN: remat-opt %s -remat-fuse | FileCheck %s

// CHECK-LABEL: func.func @norm_gelu(
// CHECK:         linalg.reduce
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     = linalg.
func.func @norm_gelu(%x: tensor<4x8xf32>) -> tensor<8x4xf32> attributes {no_inline} {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant dense<0.125> : tensor<4xf32>
  %c = arith.constant dense<0.044715> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %t = tensor.empty() : tensor<8x4xf32>
  %r = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %mean = linalg.mul ins(%sum, %n : tensor<4xf32>, tensor<4xf32>) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %means = linalg.broadcast ins(%mean : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %d = linalg.sub ins(%x, %means : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %d2 = linalg.square ins(%d : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %var = linalg.reduce { arith.addf } ins(%d2 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %vars = linalg.broadcast ins(%var : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %y = linalg.mul ins(%d, %vars : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y2 = linalg.mul ins(%y, %c : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %th = linalg.tanh ins(%y2 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = linalg.mul ins(%th, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %tr = linalg.transpose ins(%g : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>) permutation = [1, 0]
  return %tr : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @main(
func.func @main() {
  %e = tensor.empty() : tensor<4x8xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x8xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.constant 7 : index
    %0 = arith.muli %i, %c : index
    %1 = arith.addi %0, %j : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = math.sin %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4x8xf32>
  %y = call @norm_gelu(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // Digits of the bits, not of a rounded decimal.
  %ie = tensor.empty() : tensor<8x4xi32>
  %bits = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x4xf32>) outs(%ie : tensor<8x4xi32>) {
  ^bb0(%in: f32, %out: i32):
    %5 = arith.bitcast %in : f32 to i32
    linalg.yield %5 : i32
  } -> tensor<8x4xi32>
  %cast = tensor.cast %bits : tensor<8x4xi32> to tensor<*xi32>
  call @printMemrefI32(%cast) : (tensor<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(%ptr: tensor<*xi32>) attributes {llvm.emit_c_interface}
