// RUN: remat-opt %s -remat-import="function=loss report=%t" | FileCheck %s
// RUN: FileCheck %s --check-prefix=TABLE < %t
// RUN: remat-opt %s -remat-import="function=loss data=b" | FileCheck %s --check-prefix=NAMED

// TABLE: import of @loss
// TABLE: data x tensor<4xf32> argument 0 the weights are constants
// TABLE: parameter w tensor<4xf32> resource floating-point resource
// TABLE: parameter b tensor<4xf32> resource floating-point resource
// TABLE: constant table tensor<2xi64> resource no floating-point numbers
// TABLE: constant mask tensor<2x2xf32> resource a mask
// TABLE: constant bounds tensor<2xf32> resource not all finite
// TABLE: constant constant0 tensor<4xf32> constant one value throughout
// TABLE: parameter constant1 tensor<2xf32> constant floating-point values in the text
// TABLE: parameter inner tensor<4xf32> resource floating-point resource
// TABLE: loss loss tensor<f32> result 0 the first floating-point scalar

// A resource that is used twice, here and in a called function, is one parameter; its bytes stay where they are.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4xf32> {remat.data = "x"},
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4xf32> {opt.param = "w", remat.init = dense_resource<w> : tensor<4xf32>},
// CHECK-SAME: %[[B:[^ ]*]]: tensor<4xf32> {opt.param = "b", remat.init = dense_resource<b> : tensor<4xf32>},
// CHECK-SAME: %[[C:[^ ]*]]: tensor<2xf32> {opt.param = "constant1", remat.init = dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>},
// CHECK-SAME: %[[I:[^ ]*]]: tensor<4xf32> {opt.param = "inner", remat.init = dense_resource<inner> : tensor<4xf32>})
// CHECK-SAME: -> (tensor<f32> {remat.loss})
// CHECK-DAG: dense_resource<mask>
// CHECK-DAG: dense_resource<table>
// CHECK-DAG: dense<1.000000e+00> : tensor<4xf32>
// CHECK: call @used(%[[W]], %[[B]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[C]])
// CHECK: call @layer(%[[X]], %[[W]], %[[I]])

// NAMED-LABEL: func.func @loss(
// NAMED-SAME: opt.param = "w"
// NAMED-NOT: opt.param = "b"
// NAMED: dense_resource<b>
func.func private @used(tensor<4xf32>, tensor<4xf32>, tensor<2xi64>, tensor<2x2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<f32>

func.func @loss(%x: tensor<4xf32> loc("x")) -> tensor<f32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %b = arith.constant dense_resource<b> : tensor<4xf32>
  %table = arith.constant dense_resource<table> : tensor<2xi64>
  %mask = arith.constant dense_resource<mask> : tensor<2x2xf32>
  %bounds = arith.constant dense_resource<bounds> : tensor<2xf32>
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  %c = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %l = call @used(%w, %b, %table, %mask, %bounds, %ones, %c)
      : (tensor<4xf32>, tensor<4xf32>, tensor<2xi64>, tensor<2x2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<f32>
  %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4xf32>, %[[W:[^ ]*]]: tensor<4xf32>, %[[INNER:[^ ]*]]: tensor<4xf32>)
// CHECK: arith.addf %[[X]], %[[W]]
// CHECK: arith.addf %{{.*}}, %[[INNER]]
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %inner = arith.constant dense_resource<inner> : tensor<4xf32>
  %s = arith.addf %x, %w : tensor<4xf32>
  %r = arith.addf %s, %inner : tensor<4xf32>
  return %r : tensor<4xf32>
}

// A caller that the loss does not lead to keeps the constants.
// CHECK-LABEL: func.func @other(
// CHECK: arith.constant dense_resource<inner>
// CHECK: arith.constant dense_resource<w>
// CHECK: call @layer(%{{.*}}, %{{.*}}, %{{.*}})
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F000000400000404000008040",
      b: "0x040000000000803F000080BF0000803F000080BF",
      inner: "0x040000000000803F0000803F0000803F0000803F",
      table: "0x0800000000000000000000000100000000000000",
      mask: "0x040000000000803F000000000000803F0000803F",
      bounds: "0x040000000000803F000080FF"
    }
  }
#-}
