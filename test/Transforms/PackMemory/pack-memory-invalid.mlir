// RUN: remat-opt %s -remat-pack-memory -split-input-file -verify-diagnostics
// RUN: not remat-opt %S/report.mlir -remat-pack-memory=arena=stack 2>&1 | FileCheck %s --check-prefix=ARENA
// RUN: not remat-opt %S/report.mlir -remat-pack-memory=alignment=48 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// RUN: not remat-opt %S/report.mlir -remat-pack-memory=report=/nonexistent/report.json 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not remat-opt %S/report.mlir -remat-pack-memory=alignment=4294967296 2>&1 | FileCheck %s --check-prefix=COARSE
// COARSE: error: alignment is at most 1073741824 bytes, but it is 4294967296
// ARENA: error: unknown arena=stack; choose auto, argument, alloc, global or none
// ALIGNMENT: error: alignment must be a power of two, but it is 48
// REPORT: error: memory report: cannot open output file

func.func @fine() {
  return
}

// -----

func.func @recursion_has_no_fixed_size(%x: memref<4xf32>) {
  // expected-error @below {{recursion through @recursion_has_no_fixed_size: its memory has no fixed size; write it as a loop}}
  call @recursion_has_no_fixed_size(%x) : (memref<4xf32>) -> ()
  return
}

// -----

// expected-error @below {{has several blocks; lifetimes need structured control flow: run -lift-cf-to-scf first}}
func.func @branches(%c: i1) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return
^bb2:
  return
}

// -----

func.func @buffer_of_more_bytes_than_64_bits_count() {
  // expected-error @below {{is larger than any memory: 'memref<4294967296x4294967296xf32>'}}
  %0 = memref.alloc() : memref<4294967296x4294967296xf32>
  return
}

// -----

// expected-error @below {{has an argument that is larger than any memory: 'memref<1125899906842624xi8>'}}
func.func @argument_of_a_pebibyte(%x: memref<1125899906842624xi8>) {
  return
}

// -----

// expected-error @below {{@argument_on_tensors is still on tensors; run -one-shot-bufferize with bufferize-function-boundaries first}}
func.func @argument_on_tensors(%x: tensor<4xf32>) {
  return
}
