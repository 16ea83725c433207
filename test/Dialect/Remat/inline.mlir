// RUN: remat-opt %s -inline -symbol-dce | FileCheck %s

func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %s = func.call @sine(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %n = remat.name "s" %s : tensor<4xf32>
    remat.yield %n : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

func.func private @sine(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.sin %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @functions_with_regions_and_calls_in_regions_are_inlined
// CHECK-NEXT: remat.region
// CHECK-NEXT:   math.sin
// CHECK-NEXT:   remat.name
// CHECK-NEXT:   remat.yield
// CHECK:      remat.region
// CHECK-NOT:  call
func.func @functions_with_regions_and_calls_in_regions_are_inlined(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = call @layer(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
