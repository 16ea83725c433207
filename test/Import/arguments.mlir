// RUN: remat-opt %s -split-input-file -remat-import | FileCheck %s

// Names and roles from paths into JAX's trees.
// CHECK-LABEL: func.func @tree(
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {opt.param = "layer_0.Dense_0.kernel"},
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {opt.param = "0.b"},
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {remat.data = "x"},
// CHECK-SAME: %{{[^ ]*}}: tensor<4xi32> {remat.data = "tokens"})
// CHECK-SAME: -> (tensor<f32> {remat.loss})
func.func private @f(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
func.func @tree(%0: tensor<4xf32> loc("params['layer_0']['Dense_0']['kernel']"), %1: tensor<4xf32> loc("params[0].b"),
                %2: tensor<4xf32> loc("batch['x']"), %3: tensor<4xi32> loc("batch['tokens']")) -> tensor<f32> {
  %l = call @f(%0, %1, %2, %3) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Marks stay; a result that alone depends on an argument of its type is the argument's next value.
// CHECK-LABEL: func.func @statistics(
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {opt.param = "w"},
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {remat.data = "arg1"},
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {remat.state = "arg2"},
// CHECK-SAME: %{{[^ ]*}}: tensor<i64> {remat.state = "arg3"},
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {remat.data = "arg4"})
// CHECK-SAME: -> (tensor<4xf32> {remat.state = "arg2"}, tensor<i64> {remat.state = "arg3"}, tensor<f32> {remat.loss}, tensor<4xf32>)
func.func private @f(tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
func.func @statistics(%w: tensor<4xf32> {opt.param = "w"}, %x: tensor<4xf32>, %mean: tensor<4xf32>, %count: tensor<i64>,
                      %both: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<4xf32>) {
  %one = arith.constant dense<1> : tensor<i64>
  %new_mean = arith.addf %mean, %x : tensor<4xf32>
  %new_count = arith.addi %count, %one : tensor<i64>
  %y = arith.mulf %x, %both : tensor<4xf32>
  %l:2 = call @f(%w, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return %new_mean, %new_count, %l#0, %l#1 : tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<4xf32>
}

// -----

// A seed is state, and starts from its value.
// CHECK-LABEL: func.func @seeded(
// CHECK-SAME: %{{[^ ]*}}: tensor<i64> {remat.init = dense<0> : tensor<i64>, remat.state = "global_seed"})
// CHECK-SAME: -> (tensor<f32> {remat.loss}, tensor<i64> {remat.state = "global_seed"})
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
func.func private @f(tensor<4xf32>, tensor<i64>) -> tensor<f32>
func.func @seeded(%w: tensor<4xf32> {opt.param}) -> tensor<f32> {
  %one = arith.constant dense<1> : tensor<i64>
  %seed = ml_program.global_load @global_seed : tensor<i64>
  %next = arith.addi %seed, %one : tensor<i64>
  ml_program.global_store @global_seed = %next : tensor<i64>
  %l = call @f(%w, %seed) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Unsigned integers, as StableHLO's conversion leaves them.
// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32> {opt.param = "w"}, %[[X:[^ ]*]]: tensor<4xi8> {remat.data = "x"}, %{{[^ ]*}}: i32 {remat.data = "n"})
// CHECK-NOT: unrealized_conversion_cast
// CHECK: call @g(%{{.*}}, %[[X]])
func.func private @g(tensor<4xf32>, tensor<4xi8>) -> tensor<f32>
func.func @unsigned(%w: tensor<4xf32> loc("params['w']"), %x: tensor<4xui8> loc("x"), %n: ui32 loc("n")) -> tensor<f32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xui8> to tensor<4xi8>
  %l = call @g(%w, %0) : (tensor<4xf32>, tensor<4xi8>) -> tensor<f32>
  return %l : tensor<f32>
}
