// RUN: remat-opt %s --remat-prepare-for-jit -split-input-file | FileCheck %s


// CHECK: llvm.func internal @step()
llvm.func @step() {
  llvm.return
}
// CHECK: llvm.func @external_stays_external()
llvm.func @external_stays_external()
// CHECK: llvm.func @main()
llvm.func @main() {
  llvm.call @step() : () -> ()
  llvm.return
}

// -----

// CHECK: llvm.func @library_keeps_its_interface() {
llvm.func @library_keeps_its_interface() {
  llvm.return
}
