// RUN: remat-opt %s --remat-bufferize --remat-lower-to-cpu | mlir-runner -e main -entry-point-result=void \
// RUN:   -shared-libs=%mlir_c_runner_utils,%mlir_runner_utils | FileCheck %s

// Weights of complex numbers arrive as their bytes: 1 + 2i and 3 - i.
// CHECK: 1
// CHECK-NEXT: 2
// CHECK-NEXT: 3
// CHECK-NEXT: -1
func.func private @printF32(f32)
func.func private @printNewline()

func.func @weights(%i: index) -> (f32, f32) {
  %w = arith.constant dense_resource<w> : tensor<2xcomplex<f32>>
  %c = tensor.extract %w[%i] : tensor<2xcomplex<f32>>
  %re = complex.re %c : complex<f32>
  %im = complex.im %c : complex<f32>
  return %re, %im : f32, f32
}

func.func @main() {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  scf.for %i = %0 to %2 step %1 {
    %re, %im = func.call @weights(%i) : (index) -> (f32, f32)
    func.call @printF32(%re) : (f32) -> ()
    func.call @printNewline() : () -> ()
    func.call @printF32(%im) : (f32) -> ()
    func.call @printNewline() : () -> ()
  }
  return
}

{-# dialect_resources: { builtin: { w: "0x040000000000803f0000004000004040000080bf" } } #-}
