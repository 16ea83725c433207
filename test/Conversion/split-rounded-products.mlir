// RUN: remat-opt %s -remat-split-rounded-products -split-input-file | FileCheck %s

// CHECK-LABEL: func @what_the_library_computes_stays
// CHECK: linalg.generic {{.*}} outs(%arg2 : tensor<8x32xbf16>) attrs = {remat.order = "rounded product"}
// CHECK-NOT: tensor<8x32xf32>
// CHECK: return
func.func @what_the_library_computes_stays(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>, %z: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xbf16>) attrs = {remat.order = "rounded product"} {
  ^bb0(%x: bf16, %y: bf16, %s: bf16):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %w = arith.extf %s : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %w, %t : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x32xbf16>
  return %c : tensor<8x32xbf16>
}

// -----

// Two calls would round twice.
// CHECK-LABEL: func @what_the_library_takes_in_parts_is_split
// CHECK: %[[ZEROS:.*]] = linalg.fill {remat.phase = "backward"} ins(%{{.*}} : f32) outs(%{{.*}} : tensor<8x6xf32>)
// CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} outs(%[[ZEROS]] : tensor<8x6xf32>) attrs = {remat.order = "product", remat.phase = "backward"}
// CHECK: ^bb0(%[[X:.*]]: bf16, %[[Y:.*]]: bf16, %[[SUM:.*]]: f32):
// CHECK: arith.mulf
// CHECK: arith.addf %[[SUM]],
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<8x6xf32>) outs(%{{.*}} : tensor<8x6xbf16>) attrs = {remat.phase = "backward"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.truncf
// CHECK: return %[[R]]
func.func @what_the_library_takes_in_parts_is_split(%a: tensor<8x4x5xbf16>, %b: tensor<5x4x6xbf16>) -> tensor<8x6xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<8x6xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<8x6xbf16>) -> tensor<8x6xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (l, k, n)>, affine_map<(m, n, k, l) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<8x4x5xbf16>, tensor<5x4x6xbf16>) outs(%z : tensor<8x6xbf16>)
      attrs = {remat.order = "rounded product", remat.phase = "backward"} {
  ^bb0(%x: bf16, %y: bf16, %s: bf16):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %w = arith.extf %s : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %w, %t : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x6xbf16>
  return %c : tensor<8x6xbf16>
}

// -----

// CHECK-LABEL: func @a_sum_goes_on_in_f32
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<8x6xbf16>) outs(%{{.*}} : tensor<8x6xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK: linalg.generic {{.*}} outs(%[[WIDE]] : tensor<8x6xf32>) attrs = {remat.order = "product"}
func.func @a_sum_goes_on_in_f32(%a: tensor<8x4x5xbf16>, %b: tensor<5x4x6xbf16>, %z: tensor<8x6xbf16>) -> tensor<8x6xbf16> {
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (l, k, n)>, affine_map<(m, n, k, l) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<8x4x5xbf16>, tensor<5x4x6xbf16>) outs(%z : tensor<8x6xbf16>) attrs = {remat.order = "rounded product"} {
  ^bb0(%x: bf16, %y: bf16, %s: bf16):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %w = arith.extf %s : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %w, %t : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x6xbf16>
  return %c : tensor<8x6xbf16>
}

// -----

// CHECK-LABEL: func @other_products_stay
// CHECK-NEXT: linalg.matmul
// CHECK-NEXT: return
func.func @other_products_stay(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>, %z: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %c = linalg.matmul {remat.order = "product"} ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %c : tensor<8x32xf32>
}
