// RUN: remat-opt %s -remat-check-types -verify-diagnostics

// linalg casts to signed integers: the one that is not 0 is -1.

func.func @products(%a: tensor<4x4xf32>, %mask: tensor<4x4xi1>, %v: tensor<4xi1>, %i: tensor<4x4xi32>, %e: tensor<4xf32>) {
  // expected-warning @below {{takes true for -1: the cast of its operand of i1 is signed; use arith.uitofp or arith.extui before, if it is meant as 1}}
  %0 = linalg.matmul ins(%a, %mask : tensor<4x4xf32>, tensor<4x4xi1>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-warning @below {{takes true for -1}}
  %1 = linalg.matvec ins(%a, %v : tensor<4x4xf32>, tensor<4xi1>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-warning @below {{takes true for -1}}
  %2 = linalg.matmul ins(%i, %mask : tensor<4x4xi32>, tensor<4x4xi1>) outs(%i : tensor<4x4xi32>) -> tensor<4x4xi32>
  return
}

func.func @meant(%a: tensor<4x4xf32>, %mask: tensor<4x4xi1>) {
  %0 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %mask : tensor<4x4xf32>, tensor<4x4xi1>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%mask, %mask : tensor<4x4xi1>, tensor<4x4xi1>) outs(%mask : tensor<4x4xi1>) -> tensor<4x4xi1>
  return
}
