// RUN: remat-opt %s --remat-emulate-kernels | FileCheck %s

// Names that the host's module, the image or another kernel has get a number; the program asks for the kernel's own.
// CHECK-DAG: llvm.mlir.global internal constant @m_image()
// CHECK-DAG: llvm.func @m_a(f64)
// CHECK-DAG: llvm.func internal @m_a_0(
// CHECK-DAG: llvm.func internal @m_a_0_0(
// CHECK-DAG: llvm.func internal @m_image_0(
// CHECK-DAG: @m_a_0_name("a\00")
// CHECK-DAG: @m_a_0_0_name("a_0\00")
// CHECK-DAG: @m_image_0_name("image\00")
// CHECK: llvm.func internal @m_expf(
// The function of the C library, and not the kernel.
// CHECK: llvm.call @expf(
llvm.func @m_a(f64)
gpu.module @m {
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @a() attributes {gpu.kernel} {
    llvm.return
  }
  llvm.func @a_0() attributes {gpu.kernel} {
    llvm.return
  }
  llvm.func @image() attributes {gpu.kernel} {
    llvm.return
  }
  llvm.func @expf(%f: f32) attributes {gpu.kernel} {
    %0 = llvm.call @__nv_expf(%f) : (f32) -> f32
    llvm.return
  }
}
