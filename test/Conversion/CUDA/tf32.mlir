// Products, convolutions and attention of f32 whose factors may be rounded; those of other types stay as they are.
// RUN: remat-opt %s --convert-conv-to-cudnn=tf32 --convert-linalg-to-library="alike tf32" --convert-attention-to-gpu-kernels=tf32 | FileCheck %s
// RUN: remat-opt %s --convert-conv-to-cudnn --convert-linalg-to-library=alike --convert-attention-to-gpu-kernels | FileCheck %s --check-prefix=EXACT
// RUN: remat-opt %s --convert-attention-to-gpu-kernels=tf32 | grep -c "nvvm.mma.sync" > %t.rounded
// RUN: remat-opt %s --convert-attention-to-gpu-kernels | grep -c "nvvm.mma.sync" > %t.exact
// RUN: %python -c "rounded, exact = (int(open('%t.' + name).read()) for name in ('rounded', 'exact')); print(rounded, exact / rounded)" | FileCheck %s --check-prefix=PRODUCTS
// PRODUCTS: {{^[1-9][0-9]*}} 3.0

// CHECK-LABEL: func @products
// CHECK: call @remat_gemm_tf32
// CHECK: call @remat_gemm_f64
// CHECK: call @remat_gemm_bf16_f32
// EXACT-LABEL: func @products
// EXACT: call @remat_gemm_f32
func.func @products(%a: memref<8x16xf32>, %b: memref<16x32xf32>, %c: memref<8x32xf32>,
                    %d: memref<8x16xf64>, %e: memref<16x32xf64>, %f: memref<8x32xf64>,
                    %g: memref<8x16xbf16>, %h: memref<16x32xbf16>) {
  linalg.matmul ins(%a, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
  linalg.matmul ins(%d, %e : memref<8x16xf64>, memref<16x32xf64>) outs(%f : memref<8x32xf64>)
  linalg.matmul ins(%g, %h : memref<8x16xbf16>, memref<16x32xbf16>) outs(%c : memref<8x32xf32>)
  return
}

// CHECK-LABEL: func @convolutions
// CHECK: call @remat_cudnn_conv_2d_tf32
// CHECK: call @remat_cudnn_conv_2d_f64
// EXACT-LABEL: func @convolutions
// EXACT: call @remat_cudnn_conv_2d_f32
func.func @convolutions(%x: memref<2x9x8x3xf32>, %w: memref<3x3x3x6xf32>, %y: memref<2x7x6x6xf32>,
                        %x64: memref<2x9x8x3xf64>, %w64: memref<3x3x3x6xf64>, %y64: memref<2x7x6x6xf64>) {
  remat.conv ins(%x, %w : memref<2x9x8x3xf32>, memref<3x3x3x6xf32>) outs(%y : memref<2x7x6x6xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  remat.conv ins(%x64, %w64 : memref<2x9x8x3xf64>, memref<3x3x3x6xf64>) outs(%y64 : memref<2x7x6x6xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
  return
}

#q = affine_map<(b, h, m, n, d, v) -> (b, h, m, d)>
#k = affine_map<(b, h, m, n, d, v) -> (b, h, n, d)>
#v = affine_map<(b, h, m, n, d, v) -> (b, h, n, v)>
#o = affine_map<(b, h, m, n, d, v) -> (b, h, m, v)>
#l = affine_map<(b, h, m, n, d, v) -> (b, h, m)>

func.func @attention(%q: memref<1x2x32x16xf32>, %k: memref<1x2x32x16xf32>, %v: memref<1x2x32x16xf32>,
                     %o: memref<1x2x32x16xf32>, %l: memref<1x2x32xf32>) {
  remat.attention ins(%q, %k, %v : memref<1x2x32x16xf32>, memref<1x2x32x16xf32>, memref<1x2x32x16xf32>)
      outs(%o, %l : memref<1x2x32x16xf32>, memref<1x2x32xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%b: index, %h: index, %m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}
