// Expansions of functions that compute something else: lib/Workarounds/MathExpansions.cpp.
// RUN: mlir-opt %s -math-expand-ops -convert-math-to-llvm | FileCheck %s

// The upper bound for all x, with bounds in this order. Mended: `ExpandClamp` may go.
// CHECK-LABEL: @clamp
// CHECK-SAME: %[[X:.*]]: f32, %[[LOW:.*]]: f32, %[[HIGH:.*]]: f32
// CHECK: %[[SMALLER:.*]] = arith.minimumf %[[X]], %[[LOW]]
// CHECK: arith.maximumf %[[SMALLER]], %[[HIGH]]
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] : f32
  return %0 : f32
}

// 0 equals -0, so that this is -infinity for both. Mended: `ExpandPower` may go.
// CHECK-LABEL: @power
// CHECK: %[[MINUS_ZERO:.*]] = arith.constant -0.0
// CHECK: %[[MINUS_INFINITY:.*]] = arith.constant 0xFF800000
// CHECK: %[[IS_ZERO:.*]] = arith.cmpf oeq, %{{.*}}, %[[MINUS_ZERO]]
// CHECK: arith.select %[[IS_ZERO]], %[[MINUS_INFINITY]]
func.func @power(%x: f32) -> f32 {
  %n = arith.constant -1 : i32
  %0 = math.fpowi %x, %n : f32, i32
  return %0 : f32
}

// Of small x next to no digit is left. Mended: `ExpandInF32` and `ExpandInF64` may go.
// CHECK-LABEL: @expm1
// CHECK: llvm.intr.exp(%{{.*}}) : (f16) -> f16
// CHECK: llvm.fsub
func.func @expm1(%x: f16) -> f16 {
  %0 = math.expm1 %x : f16
  return %0 : f16
}

// CHECK-LABEL: @log1p
// CHECK: llvm.fadd
// CHECK: llvm.intr.log(%{{.*}}) : (f16) -> f16
func.func @log1p(%x: f16) -> f16 {
  %0 = math.log1p %x : f16
  return %0 : f16
}
