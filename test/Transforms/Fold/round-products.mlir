// RUN: remat-opt %s -remat-fold -split-input-file -mlir-print-local-scope | FileCheck %s
// RUN: remat-opt %s -remat-fold -remat-fold -remat-fix-orders -remat-check-orders -split-input-file -o /dev/null

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @a_product_and_its_rounding_are_one
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : bf16) outs(%{{.*}} : tensor<8x32xbf16>)
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%arg0, %arg1 : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%[[ZERO]] : tensor<8x32xbf16>) attrs = {remat.order = "rounded product"}
// CHECK: %[[SUM:.*]] = arith.addf {{.*}} : f32
// CHECK-NEXT: %[[T:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK-NEXT: linalg.yield %[[T]] : bf16
// CHECK: return %[[R]] : tensor<8x32xbf16>
func.func @a_product_and_its_rounding_are_one(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  %o = tensor.empty() : tensor<8x32xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<8x32xf32>) outs(%o : tensor<8x32xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x32xbf16>
  return %r : tensor<8x32xbf16>
}

// -----

// CHECK-LABEL: func @of_any_size
// CHECK: %[[ROWS:.*]] = tensor.dim %{{.*}} : tensor<?x32xf32>
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x32xf16>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x32xf16>) attrs = {remat.order = "rounded product"}
// CHECK: return %[[R]]
func.func @of_any_size(%a: tensor<?x16xf16>, %b: tensor<16x32xf16>, %n: index) -> tensor<?x32xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x16xf16>, tensor<16x32xf16>) outs(%z : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = arith.truncf %c : tensor<?x32xf32> to tensor<?x32xf16>
  return %r : tensor<?x32xf16>
}

// -----

// Where names stand and regions begin decides nothing.
// CHECK-LABEL: func @names_and_borders_take_the_rounded_result
// CHECK: remat.region {{.*}} -> tensor<8x32xbf16> {
// CHECK: %[[R:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x32xbf16>) attrs = {remat.order = "rounded product"}
// CHECK: %[[N:.*]] = remat.name "c" %[[R]] : tensor<8x32xbf16>
// CHECK: remat.yield %[[N]] : tensor<8x32xbf16>
// CHECK: remat.region (%[[IN:.*]] = %{{.*}} : tensor<8x32xbf16>) -> tensor<8x32xbf16> {
// CHECK-NEXT: remat.yield %[[IN]] : tensor<8x32xbf16>
func.func @names_and_borders_take_the_rounded_result(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>) -> tensor<8x32xbf16> {
  %c = remat.region (%ra = %a : tensor<8x16xbf16>, %rb = %b : tensor<16x32xbf16>) -> tensor<8x32xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x32xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
    %p = linalg.matmul ins(%ra, %rb : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
    %n = remat.name "c" %p : tensor<8x32xf32>
    remat.yield %n : tensor<8x32xf32>
  }
  %d = remat.region (%rc = %c : tensor<8x32xf32>) -> tensor<8x32xbf16> {
    %r = arith.truncf %rc : tensor<8x32xf32> to tensor<8x32xbf16>
    remat.yield %r : tensor<8x32xbf16>
  }
  return %d : tensor<8x32xbf16>
}

// -----

// CHECK-LABEL: func @what_something_else_reads_in_f32_stays
// CHECK: linalg.matmul
// CHECK: arith.truncf
func.func @what_something_else_reads_in_f32_stays(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>) -> (tensor<8x32xf32>, tensor<8x32xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = arith.truncf %c : tensor<8x32xf32> to tensor<8x32xbf16>
  return %c, %r : tensor<8x32xf32>, tensor<8x32xbf16>
}

// -----

// CHECK-LABEL: func @what_starts_from_a_sum_of_f32_stays
// CHECK: linalg.matmul
// CHECK: arith.truncf
func.func @what_starts_from_a_sum_of_f32_stays(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>, %s: tensor<8x32xf32>) -> tensor<8x32xbf16> {
  %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%s : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = arith.truncf %c : tensor<8x32xf32> to tensor<8x32xbf16>
  return %r : tensor<8x32xbf16>
}

// -----

// A library has no product of these types.
// CHECK-LABEL: func @factors_of_another_type_stay
// CHECK-NOT: rounded product
func.func @factors_of_another_type_stay(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>, %d: tensor<8x16xf32>, %f: tensor<16x32xf32>) -> (tensor<8x32xf16>, tensor<8x32xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = arith.truncf %c : tensor<8x32xf32> to tensor<8x32xf16>
  %g = linalg.matmul ins(%d, %f : tensor<8x16xf32>, tensor<16x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = arith.truncf %g : tensor<8x32xf32> to tensor<8x32xbf16>
  return %r, %h : tensor<8x32xf16>, tensor<8x32xbf16>
}

// -----

// The summed dimensions are one for the library where they lie side by side in both factors, in one order.
// CHECK-LABEL: func @one_sum_over_two_dimensions
// CHECK: remat.order = "rounded product"
// CHECK-NOT: rounded product
func.func @one_sum_over_two_dimensions(%a: tensor<8x4x5xbf16>, %b: tensor<4x5x6xbf16>, %swapped: tensor<5x4x6xbf16>) -> (tensor<8x6xbf16>, tensor<8x6xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<8x4x5xbf16>, tensor<4x5x6xbf16>) outs(%z : tensor<8x6xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<8x6xf32>
  %r = arith.truncf %c : tensor<8x6xf32> to tensor<8x6xbf16>
  %d = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (l, k, n)>, affine_map<(m, n, k, l) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %swapped : tensor<8x4x5xbf16>, tensor<5x4x6xbf16>) outs(%z : tensor<8x6xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<8x6xf32>
  %w = arith.truncf %d : tensor<8x6xf32> to tensor<8x6xbf16>
  return %r, %w : tensor<8x6xbf16>, tensor<8x6xbf16>
}

// -----

// In loops the rounding of the last sum is not that of each product.
// CHECK-LABEL: func @a_sum_that_a_loop_carries_stays
// CHECK: linalg.matmul
// CHECK: arith.truncf
func.func @a_sum_that_a_loop_carries_stays(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>, %s: tensor<8x32xf32>) -> tensor<8x32xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %s) -> (tensor<8x32xf32>) {
    %c = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%acc : tensor<8x32xf32>) -> tensor<8x32xf32>
    scf.yield %c : tensor<8x32xf32>
  }
  %r = arith.truncf %l : tensor<8x32xf32> to tensor<8x32xbf16>
  return %r : tensor<8x32xbf16>
}
