// RUN: remat-opt %s --use-device-instructions | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: func.func @rounds(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[V:[a-z0-9]+]]: vector<8xf32>, %[[D:[a-z0-9]+]]: f64
  func.func @rounds(%x: f32, %v: vector<8xf32>, %d: f64) -> (bf16, vector<8xbf16>, f16, bf16, bf16) {
    // CHECK: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %[[X]]) : (f32, f32) -> vector<2xbf16>
    // CHECK: vector.extract %[[PAIR]][0]
    %0 = arith.truncf %x : f32 to bf16
    // CHECK: llvm.fptrunc %[[V]] : vector<8xf32> to vector<8xbf16>
    %1 = arith.truncf %v : vector<8xf32> to vector<8xbf16>
    // Operations that the chip has anyway, rounds otherwise or has no instruction for stay.
    // CHECK: arith.truncf %[[X]] : f32 to f16
    %2 = arith.truncf %x : f32 to f16
    // CHECK: arith.truncf %[[X]] toward_zero : f32 to bf16
    %3 = arith.truncf %x toward_zero : f32 to bf16
    // CHECK: arith.truncf %[[D]] : f64 to bf16
    %4 = arith.truncf %d : f64 to bf16
    return %0, %1, %2, %3, %4 : bf16, vector<8xbf16>, f16, bf16, bf16
  }

  // Comparisons take the right one of -0 and +0, the chip the larger one.
  // CHECK-LABEL: func.func @extremes(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[Y:[a-z0-9]+]]: f32, %[[D:[a-z0-9]+]]: f64
  func.func @extremes(%x: f32, %y: f32, %d: f64) -> (f32, f32, f32, f32, f32, f32, f32, f32, f64) {
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %negative = arith.constant -0.0 : f32
    %wide = arith.constant 1.0 : f64
    // CHECK: llvm.intr.maximum(%[[X]], %{{.*}})
    %0 = arith.maximumf %x, %one : f32
    // CHECK: llvm.intr.minimum(%{{.*}}, %[[X]])
    %1 = arith.minimumf %one, %x : f32
    // CHECK: llvm.intr.maximum(%[[X]], %{{.*}})
    %2 = arith.maximumf %x, %zero : f32
    // CHECK: llvm.intr.minimum(%[[X]], %{{.*}})
    %3 = arith.minimumf %x, %negative : f32
    // CHECK: llvm.intr.maximum(%[[X]], %[[Y]])
    %4 = arith.maximumf %x, %y fastmath<nsz> : f32
    // CHECK: arith.maximumf %[[X]], %[[Y]] : f32
    %5 = arith.maximumf %x, %y : f32
    // CHECK: arith.maximumf %{{.*}}, %[[X]] : f32
    %6 = arith.maximumf %zero, %x : f32
    // CHECK: arith.minimumf %[[X]], %{{.*}} : f32
    %7 = arith.minimumf %x, %zero : f32
    // CHECK: arith.maximumf %[[D]], %{{.*}} : f64
    %8 = arith.maximumf %d, %wide : f64
    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : f32, f32, f32, f32, f32, f32, f32, f32, f64
  }

  // The quotient of 1 and the root of ordinary numbers, the chip's approximation of others.
  // CHECK-LABEL: func.func @roots(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[V:[a-z0-9]+]]: vector<2xf32>, %[[D:[a-z0-9]+]]: f64
  func.func @roots(%x: f32, %v: vector<2xf32>, %d: f64) -> (f32, vector<2xf32>, f64) {
    // CHECK: %[[Y:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%[[X]])
    // CHECK: llvm.intr.fma
    // CHECK: %[[ROOT:.*]] = llvm.intr.fma
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[ROOT]])
    // CHECK-COUNT-2: llvm.intr.fma
    // CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f32 to i32
    // CHECK: arith.subi %[[BITS]], %c218103808_i32
    // CHECK: %[[ORDINARY:.*]] = arith.cmpi ult, %{{.*}}, %c1920991232_i32
    // CHECK: arith.select %[[ORDINARY]], %{{.*}}, %[[Y]]
    %0 = math.rsqrt %x : f32
    // CHECK: vector.extract %[[V]][0]
    // CHECK: vector.extract %[[V]][1]
    // CHECK: vector.from_elements
    %1 = math.rsqrt %v : vector<2xf32>
    // CHECK: math.rsqrt %[[D]] : f64
    %2 = math.rsqrt %d : f64
    return %0, %1, %2 : f32, vector<2xf32>, f64
  }
}

// CHECK-LABEL: func.func @host(
// CHECK: arith.truncf
func.func @host(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
