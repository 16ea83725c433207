// RUN: remat-opt %s -remat-schedule=print-estimate -verify-diagnostics  -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: remat-opt %s -remat-schedule -remat-schedule | diff - %t.mlir

#id = affine_map<(d0) -> (d0)>

// The sum needs no 400 bytes of %wide until the end.
// CHECK-LABEL: func.func @large_result_sinks_to_its_reader
// CHECK: tensor.generate
// CHECK: math.exp
// CHECK: linalg.broadcast
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.add
// expected-remark @below {{estimated peak: 1200 bytes before, 800 after scheduling}}
func.func @large_result_sinks_to_its_reader(%x: tensor<10xf32>) -> tensor<10x10xf32> {
  %e = tensor.empty() : tensor<10x10xf32>
  %wide = linalg.broadcast ins(%x : tensor<10xf32>) outs(%e : tensor<10x10xf32>) dimensions = [1]
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  } : tensor<10x10xf32>
  %e1 = tensor.empty() : tensor<10x10xf32>
  %t = linalg.transpose ins(%g : tensor<10x10xf32>) outs(%e1 : tensor<10x10xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<10x10xf32>
  %u = linalg.transpose ins(%t : tensor<10x10xf32>) outs(%e2 : tensor<10x10xf32>) permutation = [1, 0]
  %e3 = tensor.empty() : tensor<10x10xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%t, %u : tensor<10x10xf32>, tensor<10x10xf32>) outs(%e3 : tensor<10x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = math.exp %a : f32
    %q = arith.mulf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<10x10xf32>
  %e4 = tensor.empty() : tensor<10x10xf32>
  %r = linalg.add ins(%v, %wide : tensor<10x10xf32>, tensor<10x10xf32>) outs(%e4 : tensor<10x10xf32>) -> tensor<10x10xf32>
  return %r : tensor<10x10xf32>
}

// The gradient of %w1 is computed, used and freed before that of %w2.
// CHECK-LABEL: func.func @gradients_meet_their_updates
// CHECK: linalg.broadcast ins(%[[DY1:.*]] : tensor<8xf32>) outs(%{{.*}}) dimensions = [1]
// CHECK-NEXT: linalg.sub ins(%arg0, %{{.*}}) outs(%arg0
// CHECK: linalg.broadcast
// CHECK-NEXT: linalg.sub ins(%arg1, %{{.*}}) outs(%arg1
// expected-remark @below {{estimated peak: 512 bytes before, 256 after scheduling}}
func.func @gradients_meet_their_updates(%w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %dy1: tensor<8xf32>, %dy2: tensor<8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e1 = tensor.empty() : tensor<8x8xf32>
  %g1 = linalg.broadcast ins(%dy1 : tensor<8xf32>) outs(%e1 : tensor<8x8xf32>) dimensions = [1]
  %e2 = tensor.empty() : tensor<8x8xf32>
  %g2 = linalg.broadcast ins(%dy2 : tensor<8xf32>) outs(%e2 : tensor<8x8xf32>) dimensions = [1]
  %n1 = linalg.sub ins(%w1, %g1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%w1 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %n2 = linalg.sub ins(%w2, %g2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%w2 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %n1, %n2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// %read still needs the old value of %w: the update waits, although it would
// free the gradient.
// CHECK-LABEL: func.func @update_stays_behind_readers_of_the_old_value
// CHECK: linalg.reduce
// CHECK: linalg.sub
// expected-remark @below {{estimated peak}}
func.func @update_stays_behind_readers_of_the_old_value(%w: tensor<8x8xf32>, %dy: tensor<8xf32>, %init: tensor<8xf32>)
    -> (tensor<8x8xf32>, tensor<8xf32>) {
  %e1 = tensor.empty() : tensor<8x8xf32>
  %g = linalg.broadcast ins(%dy : tensor<8xf32>) outs(%e1 : tensor<8x8xf32>) dimensions = [1]
  %view = tensor.extract_slice %w[0, 0] [8, 8] [1, 1] : tensor<8x8xf32> to tensor<8x8xf32>
  %read = linalg.reduce { arith.addf } ins(%view : tensor<8x8xf32>) outs(%init : tensor<8xf32>) dimensions = [1]
  %n = linalg.sub ins(%w, %g : tensor<8x8xf32>, tensor<8x8xf32>) outs(%w : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %n, %read : tensor<8x8xf32>, tensor<8xf32>
}

// Nothing that could come later is alive beside the 500 bytes in which the
// exponential works.
// CHECK-LABEL: func.func @workspace_counts_while_its_operation_runs
// CHECK: linalg.exp
// CHECK: linalg.broadcast
// expected-remark @below {{estimated peak: 940 bytes before, 540 after scheduling}}
func.func @workspace_counts_while_its_operation_runs(%x: tensor<10xf32>, %zero: tensor<f32>) -> tensor<10x10xf32> {
  %e = tensor.empty() : tensor<10x10xf32>
  %wide = linalg.broadcast ins(%x : tensor<10xf32>) outs(%e : tensor<10x10xf32>) dimensions = [1]
  %e1 = tensor.empty() : tensor<10xf32>
  %w = linalg.exp {remat.workspace_bytes = 500 : i64} ins(%x : tensor<10xf32>) outs(%e1 : tensor<10xf32>) -> tensor<10xf32>
  %m = linalg.reduce { arith.addf } ins(%w : tensor<10xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<f32>) outs(%wide : tensor<10x10xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.addf %a, %o : f32
    linalg.yield %p : f32
  } -> tensor<10x10xf32>
  return %r : tensor<10x10xf32>
}

// More than any memory holds is no number to calculate with.
// CHECK-LABEL: func.func @workspaces_without_bound
// expected-remark @below {{estimated peak: 1125899906842664 bytes before, 1125899906842664 after scheduling}}
func.func @workspaces_without_bound(%x: tensor<10xf32>, %e: tensor<10xf32>) -> tensor<10xf32> {
  %e1 = tensor.empty() : tensor<10xf32>
  %v = linalg.exp {remat.workspace_bytes = 9223372036854775807 : i64} ins(%x : tensor<10xf32>) outs(%e1 : tensor<10xf32>) -> tensor<10xf32>
  %e2 = tensor.empty() : tensor<10xf32>
  %w = linalg.exp {remat.workspace_bytes = 9223372036854775807 : i64} ins(%v : tensor<10xf32>) outs(%e2 : tensor<10xf32>) -> tensor<10xf32>
  return %w : tensor<10xf32>
}

func.func private @print(f32)

// CHECK-LABEL: func.func @effects_keep_their_order
// CHECK: call @print(%[[A:.*]])
// CHECK: call @print(%[[B:.*]])
// CHECK: call @print(%[[A]])
// expected-remark @below {{estimated peak: 0 bytes before, 0 after scheduling}}
func.func @effects_keep_their_order(%a: f32, %b: f32) {
  call @print(%a) : (f32) -> ()
  call @print(%b) : (f32) -> ()
  call @print(%a) : (f32) -> ()
  return
}

// A recompute after a barrier may not start before the cotangent exists.
// CHECK-LABEL: func.func @recompute_waits_for_its_cotangent
// CHECK: %[[DY:.*]] = linalg.exp
// CHECK: remat.barrier %arg0 after %[[DY]]
// CHECK: linalg.tanh
// expected-remark @below {{estimated peak}}
func.func @recompute_waits_for_its_cotangent(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %dy = linalg.exp ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %x1 = remat.barrier %x after %dy : tensor<8xf32> after tensor<8xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %h = linalg.tanh ins(%x1 : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8xf32>
  %r = linalg.mul ins(%dy, %h : tensor<8xf32>, tensor<8xf32>) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @loop_bodies_are_scheduled_too
// CHECK: scf.for
// CHECK: linalg.broadcast
// CHECK-NEXT: linalg.sub
// CHECK: linalg.broadcast
// CHECK-NEXT: linalg.sub
// expected-remark @below {{estimated peak: 512 bytes before, 256 after scheduling}}
func.func @loop_bodies_are_scheduled_too(%w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %dy: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %w1, %b = %w2) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %e1 = tensor.empty() : tensor<8x8xf32>
    %g1 = linalg.broadcast ins(%dy : tensor<8xf32>) outs(%e1 : tensor<8x8xf32>) dimensions = [1]
    %e2 = tensor.empty() : tensor<8x8xf32>
    %g2 = linalg.broadcast ins(%dy : tensor<8xf32>) outs(%e2 : tensor<8x8xf32>) dimensions = [0]
    %n1 = linalg.sub ins(%a, %g1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
    %n2 = linalg.sub ins(%b, %g2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %n1, %n2 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
