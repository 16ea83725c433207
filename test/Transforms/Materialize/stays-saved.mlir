// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @a_residual_that_the_model_reads(
// CHECK: residuals(f32)
// CHECK: remat.backward
// CHECK-NOT: recompute
// CHECK: return
func.func @a_residual_that_the_model_reads(%x: f32, %ct: f32) -> (f32, f32, f32) {
  // expected-note @+1 {{region is here}}
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    // expected-warning @+1 {{this value stays saved although the policy of its remat.region forbids it}}
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  // expected-note @+1 {{residual 0 is read here by something that is not the region's remat.backward: yield a value that the model itself reads as an output}}
  %z = arith.addf %r, %y : f32
  return %y, %dx, %z : f32, f32, f32
}

// -----

// CHECK-LABEL: func.func @a_residual_that_a_public_function_returns(
// CHECK: residuals(f32)
func.func @a_residual_that_a_public_function_returns(%x: f32) -> (f32, f32) {
  // expected-note @+1 {{region is here}}
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    // expected-warning @+1 {{this value stays saved although the policy of its remat.region forbids it}}
    %0 = math.exp %a : f32
    %1 = math.exp %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  // expected-note @+1 {{residual 0 is returned here by a function that is not private, or that nobody calls: make it private, or inline its calls (-inline) before -remat-differentiate}}
  return %y, %r : f32, f32
}

// -----

// CHECK-LABEL: func.func @a_residual_that_the_policy_permits(
// CHECK: residuals(f32)
func.func @a_residual_that_the_policy_permits(%x: f32) -> (f32, f32) {
  %y, %r = remat.region policy(#remat.everything_saveable) (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    %1 = math.exp %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}

// -----

// The operand would need a tape of a shape that is not known.
// CHECK-LABEL: func.func @an_operand_that_no_tape_can_hold(
// CHECK: remat.tape_write
// CHECK: remat.tape_read
// CHECK-NOT: recompute
// CHECK: return
func.func @an_operand_that_no_tape_can_hold(%x: tensor<?xf32>, %ct: f32) -> (tensor<?xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10xf32>
  %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %x, %t = %e) -> (tensor<?xf32>, tensor<10xf32>) {
    // expected-note @+2 {{region is here}}
    // expected-note @+1 {{a recompute would need this value, which cannot be sent to the backward: give it a size that is known before the loops around the region (for a tape), and inline calls of public functions; or let the policy save the value}}
    %y, %r = remat.region (%a = %h : tensor<?xf32>) -> tensor<?xf32> residuals(f32) {
      %c0_0 = arith.constant 0 : index
      %0 = math.exp %a : tensor<?xf32>
      // expected-warning @+1 {{this value stays saved although the policy of its remat.region forbids it}}
      %1 = tensor.extract %0[%c0_0] : tensor<?xf32>
      remat.yield %0 : tensor<?xf32> residuals(%1 : f32)
    }
    %t1 = remat.tape_write %r into %t[%i] : f32 into tensor<10xf32>
    scf.yield %y, %t1 : tensor<?xf32>, tensor<10xf32>
  }
  %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %ct) -> f32 {
    %i = arith.subi %c9, %j : index
    %r = remat.tape_read %f#1[%i] : tensor<10xf32> -> f32
    %dx = remat.backward residuals(%e1 = %r : f32) cotangents(%dy = %dh : f32) -> f32 {
      %0 = arith.mulf %dy, %e1 : f32
      remat.yield %0 : f32
    }
    scf.yield %dx : f32
  }
  return %f#0, %b : tensor<?xf32>, f32
}

// -----

// CHECK-LABEL: func.func @a_residual_that_another_region_reads(
// CHECK: residuals(tensor<4xf32>)
func.func @a_residual_that_another_region_reads(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note @+1 {{region is here}}
  %y, %r = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
    // expected-warning @+1 {{this value stays saved although the policy of its remat.region forbids it}}
    %0 = math.exp %a : tensor<4xf32>
    remat.yield %0 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
  }
  // expected-note @+1 {{residual 0 is read here by something that is not the region's remat.backward}}
  %z = remat.region (%a = %r : tensor<4xf32>) -> tensor<4xf32> {
    %0 = math.exp %a : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// A residual of one region, passed to the backward of another as an operand.
// CHECK-LABEL: func.func @a_residual_that_is_no_residual_there(
// CHECK: residuals(f32)
// CHECK: remat.backward (
func.func @a_residual_that_is_no_residual_there(%x: f32, %ct: f32) -> (f32, f32) {
  // expected-note @+1 {{region is here}}
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    // expected-warning @+1 {{this value stays saved although the policy of its remat.region forbids it}}
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  // expected-note @+1 {{residual 0 is read here by something that is not the region's remat.backward}}
  %dx = remat.backward (%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}
