// Processors differ in what they have for bf16, programs do not: roundings are integer arithmetic. Here the value is a
// denormal (2^-127, a power of two that bf16 has), which instructions for bf16 would take for zero; a tie, which goes to even; and
// one number just above a tie.
// RUN: remat-opt %s --remat-lower-to-cpu -o %t
// RUN: FileCheck %s --check-prefix=IR --input-file=%t
// RUN: mlir-runner %t -O3 -e main -entry-point-result=void --shared-libs=%mlir_runner_utils,%mlir_c_runner_utils,%runtime \
// RUN:   | FileCheck %s

// IR-LABEL: llvm.func @main
// IR-NOT: llvm.fptrunc {{.*}} to {{.*}}bf16
// IR-NOT: llvm.fpext {{.*}}bf16

// CHECK: 64{{$}}
// CHECK-NEXT: 16256{{$}}
// CHECK-NEXT: 16257{{$}}
func.func @main() {
  %denormal = arith.constant 0x00400000 : f32
  %tie = arith.constant 0x3F808000 : f32
  %above = arith.constant 0x3F808001 : f32
  call @round(%denormal) : (f32) -> ()
  call @round(%tie) : (f32) -> ()
  call @round(%above) : (f32) -> ()
  return
}

func.func @round(%x: f32) attributes {no_inline} {
  %narrow = arith.truncf %x : f32 to bf16
  %wide = arith.extf %narrow : bf16 to f32
  %bits = arith.bitcast %wide : f32 to i32
  %sixteen = arith.constant 16 : i32
  %high = arith.shrui %bits, %sixteen : i32
  vector.print %high : i32
  return
}
