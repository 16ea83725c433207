// RUN: remat-opt %s --remat-pass-context -split-input-file -verify-diagnostics | FileCheck %s

// Functions of the runtime are those of its core, and all others get the context first.
// CHECK-DAG: llvm.func @remat_core_gemm_f32(!llvm.ptr, !llvm.ptr, i64)
// CHECK-DAG: llvm.func @remat_core_parallel_for(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr)
llvm.func @_mlir_ciface_remat_gemm_f32(!llvm.ptr, i64)
llvm.func @remat_parallel_for(i64, !llvm.ptr, !llvm.ptr)
llvm.func @exp(f64) -> f64

// CHECK: llvm.func @part(%[[CONTEXT:.*]]: !llvm.ptr, %[[A:.*]]: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %[[END:.*]]: i64)
// CHECK-NEXT: llvm.call @remat_core_gemm_f32(%[[CONTEXT]], %[[A]], %[[END]])
llvm.func @part(%captures: !llvm.ptr {llvm.noalias}, %begin: i64, %end: i64) {
  llvm.call @_mlir_ciface_remat_gemm_f32(%captures, %end) : (!llvm.ptr, i64) -> ()
  llvm.return
}

// CHECK: llvm.func @shares(%[[CONTEXT:.*]]: !llvm.ptr, %[[CAPTURES:.*]]: !llvm.ptr, %[[X:.*]]: f64) -> f64
// CHECK: llvm.call @remat_core_parallel_for(%[[CONTEXT]], %{{.*}}, %{{.*}}, %[[CAPTURES]])
// CHECK: llvm.call @exp(%[[X]]) : (f64) -> f64
llvm.func @shares(%captures: !llvm.ptr, %x: f64) -> f64 {
  %count = llvm.mlir.constant(8 : i64) : i64
  %body = llvm.mlir.addressof @part : !llvm.ptr
  llvm.call @remat_parallel_for(%count, %body, %captures) : (i64, !llvm.ptr, !llvm.ptr) -> ()
  %y = llvm.call @exp(%x) : (f64) -> f64
  llvm.return %y : f64
}

// CHECK: llvm.func @calls(%[[CONTEXT:.*]]: !llvm.ptr, %[[CAPTURES:.*]]: !llvm.ptr, %[[X:.*]]: f64)
// CHECK-NEXT: llvm.call @shares(%[[CONTEXT]], %[[CAPTURES]], %[[X]])
llvm.func @calls(%captures: !llvm.ptr, %x: f64) {
  %y = llvm.call @shares(%captures, %x) : (!llvm.ptr, f64) -> f64
  llvm.return
}

// -----

// Learning rates are in the state.
// CHECK: llvm.func @remat_core_learning_rates(!llvm.ptr) -> !llvm.ptr
// CHECK: llvm.mlir.global private constant @constants_stay
// CHECK-NOT: llvm.mlir.global
llvm.mlir.global private constant @constants_stay(1.0 : f64) : f64
llvm.mlir.global external @remat_learning_rates(0.0 : f64) : f64
// CHECK: llvm.func @reads_a_rate(%[[CONTEXT:.*]]: !llvm.ptr)
// CHECK-NEXT: %[[RATES:.*]] = llvm.call @remat_core_learning_rates(%[[CONTEXT]])
// CHECK-NEXT: llvm.load %[[RATES]]
llvm.func @reads_a_rate() -> f64 {
  %rates = llvm.mlir.addressof @remat_learning_rates : !llvm.ptr
  %rate = llvm.load %rates : !llvm.ptr -> f64
  llvm.return %rate : f64
}

// -----

// expected-error @below {{'counter' is a variable of the program, which a step that is shipped does not have}}
llvm.mlir.global external @counter(0 : i64) : i64

// -----

// expected-error @below {{the step calls 'malloc', which has no body and is in neither the C library nor the core of the runtime, so it cannot be shipped}}
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @allocates(%bytes: i64) -> !llvm.ptr {
  %block = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
  llvm.return %block : !llvm.ptr
}

// -----

llvm.func @calls_an_address(%function: !llvm.ptr) {
  // expected-error @below {{calls a function that is not known, so the step cannot be shipped}}
  llvm.call %function() : !llvm.ptr, () -> ()
  llvm.return
}
