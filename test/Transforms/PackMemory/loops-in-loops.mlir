// RUN: remat-opt %s -remat-prepare-bufferization | FileCheck %s
// RUN: remat-opt %s -remat-bufferize -o /dev/null

// The condition of the loop around reads what the loop starts from, before that
// runs. One-shot bufferization takes it for a conflict, unless it is copied.

// CHECK-LABEL: func.func @condition_reads(
// CHECK: scf.while
// CHECK: ^bb0(%{{.*}}: tensor<f32>, %[[B:.*]]: tensor<f32>):
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK: scf.while (%{{.*}} = %[[COPY]]
func.func @condition_reads(%x: tensor<f32>, %y: tensor<f32>, %limit: f32) -> tensor<f32> {
  %r:2 = scf.while (%a = %x, %b = %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %v = tensor.extract %a[] : tensor<f32>
    %w = tensor.extract %b[] : tensor<f32>
    %c = arith.cmpf olt, %v, %w : f32
    scf.condition(%c) %a, %b : tensor<f32>, tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %inner = scf.while (%d = %b) : (tensor<f32>) -> tensor<f32> {
      %v = tensor.extract %a[] : tensor<f32>
      %c = arith.cmpf olt, %v, %limit : f32
      scf.condition(%c) %d : tensor<f32>
    } do {
    ^bb0(%d: tensor<f32>):
      %e = tensor.empty() : tensor<f32>
      %s = linalg.add ins(%d, %a : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
      scf.yield %s : tensor<f32>
    }
    %e = tensor.empty() : tensor<f32>
    %next = linalg.exp ins(%a : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
    scf.yield %next, %inner : tensor<f32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}
