// A program reads a parameter, doubles it, writes it, and accounts for time and bytes.
// REQUIRES: numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy, sys; numpy.savez(sys.argv[1], w=numpy.arange(6, dtype='f4').reshape(2, 3))" %t/in.npz
// RUN: mlir-opt %s -convert-scf-to-cf -expand-strided-metadata -finalize-memref-to-llvm -convert-to-llvm \
// RUN:   -reconcile-unrealized-casts > %t/program.mlir
// RUN: cd %t && env REMAT_REPORT=report.json mlir-runner program.mlir -e main -entry-point-result=void \
// RUN:   --shared-libs=%runtime | FileCheck %s
// RUN: %python -c "import numpy, sys; print(numpy.load(sys.argv[1])['w2'].tolist())" %t/out.npz \
// RUN:   | FileCheck %s --check-prefix=FILE
// RUN: %python -m json.tool %t/report.json | FileCheck %s --check-prefix=JSON

// CHECK: step 1/2  loss 0.5000
// CHECK: 2 steps, median
// CHECK-NEXT: peak memory: 1000 bytes
// CHECK-NEXT:   parameters                 24
// CHECK-NEXT:   arena                     976
// FILE: {{\[\[}}0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
// JSON: "steps": 2
// JSON: "peak_bytes": 1000
// JSON: "arena": 976

memref.global "private" constant @in : memref<6xi8> = dense<[105, 110, 46, 110, 112, 122]>
memref.global "private" constant @out : memref<7xi8> = dense<[111, 117, 116, 46, 110, 112, 122]>
memref.global "private" constant @w : memref<1xi8> = dense<[119]>
memref.global "private" constant @w2 : memref<2xi8> = dense<[119, 50]>
memref.global "private" @weight : memref<2x3xf32> = uninitialized

func.func private @remat_rt_read_f32(memref<?xi8>, memref<?xi8>, memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @remat_rt_write_begin(memref<?xi8>) attributes {llvm.emit_c_interface}
func.func private @remat_rt_write_f32(memref<?xi8>, memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @remat_rt_write_end() attributes {llvm.emit_c_interface}
func.func private @remat_rt_account(i32, i64) attributes {llvm.emit_c_interface}
func.func private @remat_rt_begin_step() attributes {llvm.emit_c_interface}
func.func private @remat_rt_end_step() attributes {llvm.emit_c_interface}
func.func private @remat_rt_progress(i64, i64, f64) attributes {llvm.emit_c_interface}
func.func private @remat_rt_report() attributes {llvm.emit_c_interface}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %parameter = arith.constant 0 : i32
  %arena = arith.constant 4 : i32
  %bytes = arith.constant 24 : i64
  %arena_bytes = arith.constant 976 : i64
  %released = arith.constant -976 : i64
  %step = arith.constant 1 : i64
  %steps = arith.constant 2 : i64
  %loss = arith.constant 0.5 : f64

  %in = memref.get_global @in : memref<6xi8>
  %in_any = memref.cast %in : memref<6xi8> to memref<?xi8>
  %out = memref.get_global @out : memref<7xi8>
  %out_any = memref.cast %out : memref<7xi8> to memref<?xi8>
  %w = memref.get_global @w : memref<1xi8>
  %w_any = memref.cast %w : memref<1xi8> to memref<?xi8>
  %w2 = memref.get_global @w2 : memref<2xi8>
  %w2_any = memref.cast %w2 : memref<2xi8> to memref<?xi8>
  %weight = memref.get_global @weight : memref<2x3xf32>
  %weight_any = memref.cast %weight : memref<2x3xf32> to memref<*xf32>

  call @remat_rt_account(%parameter, %bytes) : (i32, i64) -> ()
  call @remat_rt_read_f32(%in_any, %w_any, %weight_any) : (memref<?xi8>, memref<?xi8>, memref<*xf32>) -> ()
  call @remat_rt_begin_step() : () -> ()
  call @remat_rt_account(%arena, %arena_bytes) : (i32, i64) -> ()
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %v = memref.load %weight[%i, %j] : memref<2x3xf32>
      %d = arith.addf %v, %v : f32
      memref.store %d, %weight[%i, %j] : memref<2x3xf32>
    }
  }
  call @remat_rt_end_step() : () -> ()
  call @remat_rt_progress(%step, %steps, %loss) : (i64, i64, f64) -> ()
  call @remat_rt_begin_step() : () -> ()
  call @remat_rt_account(%arena, %released) : (i32, i64) -> ()
  call @remat_rt_end_step() : () -> ()
  call @remat_rt_write_begin(%out_any) : (memref<?xi8>) -> ()
  call @remat_rt_write_f32(%w2_any, %weight_any) : (memref<?xi8>, memref<*xf32>) -> ()
  call @remat_rt_write_end() : () -> ()
  call @remat_rt_report() : () -> ()
  return
}
