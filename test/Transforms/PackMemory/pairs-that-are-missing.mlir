// RUN: not remat-opt %s --remat-bufferize --remat-lower-to-cpu 2>&1 | FileCheck %s

// Nothing is read past the end of a resource.
// CHECK: error: {{.*}}has elements of type 'complex<f32>' in a resource
func.func @weights() -> tensor<2xcomplex<f32>> {
  %w = arith.constant dense_resource<w> : tensor<2xcomplex<f32>>
  return %w : tensor<2xcomplex<f32>>
}

{-# dialect_resources: { builtin: { w: "0x040000000000803f" } } #-}
