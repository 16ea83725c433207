// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s -mlir-print-op-generic | remat-opt | FileCheck %s
// RUN: remat-opt %s -emit-bytecode | remat-opt | FileCheck %s

// CHECK-LABEL: func.func @region(
func.func @region(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %ct: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK: %{{.*}}, %[[R:.*]] = remat.region policy(#remat.dots_saveable) (%{{.*}} = %{{.*}} : tensor<8x16xf32>, %{{.*}} = %{{.*}} : tensor<16x16xf32>) -> tensor<8x16xf32> residuals(tensor<8x16xf32>) attributes {label = "layer"} {
  %y, %r = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<8x16xf32>, %b = %w : tensor<16x16xf32>)
      -> tensor<8x16xf32> residuals(tensor<8x16xf32>) attributes {label = "layer"} {
    %empty = tensor.empty() : tensor<8x16xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x16xf32>) outs(%empty : tensor<8x16xf32>) -> tensor<8x16xf32>
    // CHECK: remat.stop_gradient %{{.*}} : tensor<8x16xf32>
    %stopped = remat.stop_gradient %0 : tensor<8x16xf32>
    // CHECK: remat.name "h" %{{.*}} : tensor<8x16xf32>
    %1 = remat.name "h" %0 : tensor<8x16xf32>
    // CHECK: remat.yield %{{.*}} : tensor<8x16xf32> residuals(%{{.*}} : tensor<8x16xf32>)
    remat.yield %1 : tensor<8x16xf32> residuals(%0 : tensor<8x16xf32>)
  }
  // CHECK: remat.backward residuals(%{{.*}} = %[[R]] : tensor<8x16xf32>) cotangents(%{{.*}} = %{{.*}} : tensor<8x16xf32>) -> tensor<8x16xf32> {
  %dx = remat.backward residuals(%a = %r : tensor<8x16xf32>) cotangents(%dy = %ct : tensor<8x16xf32>) -> tensor<8x16xf32> {
    // CHECK: remat.barrier %{{.*}} after %{{.*}} : tensor<8x16xf32> after tensor<8x16xf32>
    %b = remat.barrier %a after %dy : tensor<8x16xf32> after tensor<8x16xf32>
    remat.yield %b : tensor<8x16xf32>
  }
  return %y, %dx : tensor<8x16xf32>, tensor<8x16xf32>
}

// CHECK-LABEL: func.func @border(
func.func @border(%x: f32) -> f32 {
  // CHECK: math.sin
  // CHECK-NEXT: remat.begin_backward
  // CHECK-NEXT: math.cos
  %0 = math.sin %x : f32
  remat.begin_backward
  %1 = math.cos %0 : f32
  return %1 : f32
}

// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[R:[a-z0-9]+]]: f64, %[[CT:[a-z0-9]+]]: f16, %[[SUM:[a-z0-9]+]]: bf16
func.func @backward(%x: f32, %r: f64, %ct: f16, %sum: bf16) -> (f32, bf16) {
  // CHECK: remat.backward (%[[A:.*]] = %[[X]] : f32) residuals(%{{.*}} = %[[R]] : f64) cotangents(%{{.*}} = %[[CT]] : f16) sums(%[[S:.*]] = %[[SUM]] : bf16) -> f32, bf16 attributes {label = "layer"} {
  // CHECK-NEXT: remat.yield %[[A]], %[[S]]
  %0:2 = remat.backward (%a = %x : f32) residuals(%b = %r : f64) cotangents(%c = %ct : f16) sums(%d = %sum : bf16)
      -> f32, bf16 attributes {label = "layer"} {
    remat.yield %a, %d : f32, bf16
  }
  // CHECK: remat.backward cotangents(%{{.*}} = %[[CT]] : f16, %{{.*}} = %[[CT]] : f16) {
  remat.backward cotangents(%a = %ct : f16, %b = %ct : f16) {
    remat.yield
  }
  return %0#0, %0#1 : f32, bf16
}

// CHECK-LABEL: func.func @policies(
func.func @policies(%x: tensor<4xf32>) {
  // CHECK: policy(#remat.save_only_names<"a", "b">)
  remat.region policy(#remat.save_only_names<"a", "b">) (%a = %x : tensor<4xf32>) {
    %0 = remat.name "a" %a : tensor<4xf32>
    %1 = remat.name "b" %0 : tensor<4xf32>
    remat.yield
  }
  // CHECK: policy(#remat.any_of<#remat.every_k<2>, #remat.offload_dots>)
  remat.region policy(#remat.any_of<#remat.every_k<2>, #remat.offload_dots>) () {
    remat.yield
  }
  return
}

// CHECK-LABEL: func.func @random(
func.func @random(%seed: i64, %n: index) -> !remat.rng {
  // CHECK: remat.rng_init
  %0 = remat.rng_init %seed
  // CHECK: remat.rng_fold_in
  %1 = remat.rng_fold_in %0, %seed
  // CHECK: remat.random_bernoulli %{{.*}} {p = 9.000000e-01 : f64} : tensor<8xi1>
  %m, %2 = remat.random_bernoulli %1 {p = 0.9 : f64} : tensor<8xi1>
  // CHECK: remat.random_normal %{{.*}}[%{{.*}}] {stddev = 2.000000e-02 : f64} : tensor<?xf32>
  %v, %3 = remat.random_normal %2[%n] {stddev = 0.02 : f64} : tensor<?xf32>
  return %3 : !remat.rng
}

// CHECK-LABEL: func.func @philox(
// CHECK-SAME: %[[C:.*]]: i32, %
func.func @philox(%c: i32, %k: vector<4xi32>) -> (i32, vector<4xi32>) {
  // CHECK: %word0, %word1, %word2, %word3 = remat.philox %[[C]], %[[C]], %[[C]], %[[C]] key %[[C]], %[[C]] : i32
  %0:4 = remat.philox %c, %c, %c, %c key %c, %c : i32
  // CHECK: remat.philox {{.*}} : vector<4xi32>
  %1:4 = remat.philox %k, %k, %k, %k key %k, %k : vector<4xi32>
  return %0#0, %1#3 : i32, vector<4xi32>
}

// CHECK: remat.generator @dropout seed(42)
remat.generator @dropout seed(42)
// CHECK-LABEL: func.func @generator(
func.func @generator() {
  // CHECK: %[[RNG:.*]] = remat.get_rng @dropout
  %0 = remat.get_rng @dropout
  // CHECK: remat.set_rng @dropout, %[[RNG]]
  remat.set_rng @dropout, %0
  return
}

// CHECK-LABEL: func.func @saved(
func.func @saved(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.sin %x : tensor<4xf32>
  // CHECK: remat.saved %{{.*}} : tensor<4xf32> #remat.decision<save_named of "h" by "#remat.save_only_names<\22h\22>" because "named by the policy">
  remat.saved %y : tensor<4xf32> #remat.decision<save_named of "h" by "#remat.save_only_names<\"h\">" because "named by the policy">
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @destinations(
// CHECK-SAME: %[[N:.*]]: index
func.func @destinations(%n: index) -> (tensor<4xf32>, tensor<?x2xi8>) {
  // CHECK: remat.destination() : tensor<4xf32>
  %a = remat.destination() : tensor<4xf32>
  // CHECK: remat.destination(%[[N]]) : tensor<?x2xi8>
  %b = remat.destination(%n) : tensor<?x2xi8>
  return %a, %b : tensor<4xf32>, tensor<?x2xi8>
}

// CHECK-LABEL: func.func @a_repeated_barrier(
func.func @a_repeated_barrier(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: remat.barrier %{{.*}} after %{{.*}} repeated : tensor<4xf32> after tensor<4xf32>
  %b = remat.barrier %x after %y repeated : tensor<4xf32> after tensor<4xf32>
  return %b : tensor<4xf32>
}

// CHECK-LABEL: func.func @snapshots(
// CHECK-SAME: %[[I:.*]]: index, %[[N:.*]]: index)
func.func @snapshots(%i: index, %n: index) -> (index, index, index)
    attributes {p = #remat.snapshots<3>, q = #remat.snapshots<"4KiB">} {
  // CHECK-SAME: p = #remat.snapshots<3>, q = #remat.snapshots<"4096">
  // CHECK: remat.next_snapshot from %[[I]] to %[[N]] free %[[N]]
  %0 = remat.next_snapshot from %i to %n free %n
  // CHECK: remat.last_snapshot before %[[I]] of %[[N]] slots %[[N]]
  %1, %2 = remat.last_snapshot before %i of %n slots %n
  return %0, %1, %2 : index, index, index
}
