// RUN: remat-opt %s -remat-import="function=loss params=arg0,arg1 state=arg2:1 optimizer=#opt.adamw<lr=1.0e-3> mode=deferred" | FileCheck %s
// RUN: remat-opt %s -remat-import="spec=%S/Inputs/options.json" 2>%t | FileCheck %s --check-prefix=SPEC
// RUN: FileCheck %s --check-prefix=WARNING < %t
// RUN: remat-opt %s -remat-import="function=loss params=* data=arg1,constant*,scale,not_listed" | FileCheck %s --check-prefix=ALL

// A pattern takes what can be trained.
// ALL: func.func @loss(
// ALL-SAME: tensor<4xf32> {opt.param = "arg0"}, %{{[^ ]*}}: tensor<4xf32> {remat.data = "arg1"},
// ALL-SAME: tensor<?xf32> {opt.param = "arg3"}, %{{[^ ]*}}: tensor<4xi32> {remat.data = "arg4"})

// Nobody initializes a weight to a whole number that a program writes as well.
// WARNING: options.mlir:[[#@LINE+23]]:12: warning: this is taken for 'shift' of {{.*}}options.json, which has no resource: the other constants of its type are whole numbers

// CHECK: opt.optimizer @optimizer = #opt.adamw<lr = 1.000000e-03>
// CHECK: remat.train_step @step for @loss optimizer(@optimizer) {deferred}
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<4xf32> {opt.param = "arg0"}, %{{[^ ]*}}: tensor<4xf32> {opt.param = "arg1"},
// CHECK-SAME: tensor<4xf32> {remat.state = "arg2"}, %{{[^ ]*}}: tensor<?xf32> {remat.data = "arg3"},
// CHECK-SAME: -> (tensor<f32> {remat.loss}, tensor<4xf32> {remat.state = "arg2"}, tensor<f32>)

// SPEC-NOT: opt.optimizer
// SPEC: func.func @loss(
// SPEC-SAME: tensor<4xf32> {opt.param = "w"}, %{{[^ ]*}}: tensor<4xf32> {remat.data = "fixed"},
// SPEC-SAME: tensor<4xf32> {remat.state = "mean"}, %{{[^ ]*}}: tensor<?xf32> {remat.data = "x"}, %{{[^ ]*}}: tensor<4xi32> {remat.data = "n"},
// SPEC-SAME: tensor<2xf32> {opt.param = "scale", remat.init = dense_resource<scale> : tensor<2xf32>},
// SPEC-SAME: tensor<1xf32> {opt.param = "shift", remat.init = dense<5.000000e-01> : tensor<1xf32>})
// SPEC-SAME: -> (tensor<f32> {remat.metric = "metric"}, tensor<4xf32> {remat.state = "mean"}, tensor<f32> {remat.loss})
// SPEC: arith.constant dense_resource<not_listed>
func.func private @f(tensor<4xf32>, tensor<4xf32>, tensor<?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<f32>, tensor<f32>)
func.func @loss(%w: tensor<4xf32>, %b: tensor<4xf32>, %mean: tensor<4xf32>, %x: tensor<?xf32>, %n: tensor<4xi32>)
    -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %scale = arith.constant dense_resource<scale> : tensor<2xf32>
  %not_listed = arith.constant dense_resource<not_listed> : tensor<2xf32>
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %shift = arith.constant dense<0.5> : tensor<1xf32>
  %l:2 = call @f(%w, %b, %x, %scale, %not_listed, %zero, %shift)
      : (tensor<4xf32>, tensor<4xf32>, tensor<?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<f32>, tensor<f32>)
  %m = arith.addf %mean, %b : tensor<4xf32>
  return %l#0, %m, %l#1 : tensor<f32>, tensor<4xf32>, tensor<f32>
}
func.func @another() { return }

{-#
  dialect_resources: {
    builtin: {
      scale: "0x040000000000803F00000040",
      not_listed: "0x040000000000803F00000040"
    }
  }
#-}
