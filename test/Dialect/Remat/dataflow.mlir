// RUN: remat-opt %s -sccp | FileCheck %s --check-prefix=SCCP
// RUN: remat-opt %s -int-range-optimizations | FileCheck %s --check-prefix=RANGE
// RUN: remat-opt %s -remove-dead-values | remat-opt | FileCheck %s --check-prefix=DEAD

// Upstream's analyses know what enters and leaves the bodies.

// SCCP-LABEL: func.func @constants(
// SCCP: remat.region
// SCCP:   %[[FOUR:.*]] = arith.constant 4 : i32
// SCCP:   remat.yield %[[FOUR]], %{{.*}} : i32, i32
// SCCP: return %c8_i32, %{{.*}}
func.func @constants(%x: i32, %ct: f32) -> (i32, i32) {
  %two = arith.constant 2 : i32
  %y:2, %r = remat.region (%a = %two : i32, %b = %x : i32) -> i32, i32 residuals(i32) {
    %0 = arith.addi %a, %a : i32
    %1 = arith.addi %a, %b : i32
    remat.yield %0, %1 : i32, i32 residuals(%0 : i32)
  }
  %d = remat.backward residuals(%s = %r : i32) cotangents(%c = %ct : f32) -> i32 {
    %0 = arith.addi %s, %s : i32
    remat.yield %0 : i32
  }
  return %d, %y#1 : i32, i32
}

// A barrier hides what a recompute starts from.
// SCCP-LABEL: func.func @barriers(
// SCCP: remat.barrier
// SCCP: %[[SUM:.*]] = arith.addi
// SCCP: remat.yield %[[SUM]]
func.func @barriers(%ct: f32) -> i32 {
  %two = arith.constant 2 : i32
  %d = remat.backward (%s = %two : i32) cotangents(%c = %ct : f32) -> i32 {
    %b = remat.barrier %s after %c : i32 after f32
    %0 = arith.addi %b, %b : i32
    remat.yield %0 : i32
  }
  return %d : i32
}

// RANGE-LABEL: func.func @ranges(
// RANGE: %[[TRUE:.*]] = arith.constant true
// RANGE: return %[[TRUE]]
func.func @ranges(%x: i32) -> i1 {
  %seven = arith.constant 7 : i32
  %m = arith.andi %x, %seven : i32
  %y = remat.region (%a = %m : i32) -> i32 {
    %one = arith.constant 1 : i32
    %0 = arith.addi %a, %one : i32
    remat.yield %0 : i32
  }
  %nine = arith.constant 9 : i32
  %c = arith.cmpi slt, %y, %nine : i32
  return %c : i1
}

// DEAD-LABEL: func.func @dead_values(
// DEAD-NOT: math.exp
// DEAD: remat.region
// DEAD: math.sin
// DEAD-NOT: math.exp
// DEAD: remat.backward
// DEAD-NOT: math.exp
// DEAD: math.cos
// DEAD-NOT: math.exp
// DEAD: return
func.func @dead_values(%x: f32, %z: f32, %ct: f32) -> (f32, f32) {
  %w = math.exp %z : f32
  %y:2, %r:2 = remat.region (%a = %x : f32, %b = %w : f32) -> f32, f32 residuals(f32, f32) {
    %0 = math.sin %a : f32
    %1 = math.exp %b : f32
    remat.yield %0, %1 : f32, f32 residuals(%1, %0 : f32, f32)
  }
  %d:2 = remat.backward (%a = %x : f32) residuals(%p = %r#0 : f32, %q = %r#1 : f32) cotangents(%c = %ct : f32) sums(%s = %w : f32) -> f32, f32 {
    %0 = math.cos %q : f32
    %1 = arith.mulf %0, %c : f32
    %2 = math.exp %p : f32
    %3 = arith.addf %s, %2 : f32
    remat.yield %1, %3 : f32, f32
  }
  return %y#0, %d#0 : f32, f32
}
