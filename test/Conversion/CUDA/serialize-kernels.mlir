// REQUIRES: cuda-toolkit
// RUN: remat-opt %s -split-input-file -remat-serialize-kernels=chips=sm_80,sm_90 | FileCheck %s

// The container attribute belongs to launches, and these are lowered.
// CHECK-LABEL: module @a_module_becomes_its_image {
// CHECK-NEXT: llvm.mlir.global internal constant @kernels_image("P\EDU\BA
// CHECK-SAME: ") {addr_space = 0 : i32, alignment = 16 : i64}
// CHECK-NEXT: llvm.func @host
// CHECK-NEXT: llvm.mlir.addressof @kernels_image
// CHECK-NOT: gpu
module @a_module_becomes_its_image attributes {gpu.container_module} {
  llvm.mlir.global external constant @kernels_image() {addr_space = 0 : i32} : !llvm.array<0 x i8>
  gpu.module @kernels {
    llvm.func @scale(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.load %x : !llvm.ptr -> f32
      %1 = llvm.fmul %0, %0 : f32
      llvm.store %1, %x : f32, !llvm.ptr
      llvm.return
    }
  }
  llvm.func @host() -> !llvm.ptr {
    %0 = llvm.mlir.addressof @kernels_image : !llvm.ptr
    llvm.return %0 : !llvm.ptr
  }
}

// -----

// CHECK-LABEL: module @each_module_has_its_own
// CHECK-NEXT: @a_image("P\EDU\BA
// CHECK-NEXT: @b_image("P\EDU\BA
// CHECK-NOT: gpu
module @each_module_has_its_own {
  gpu.module @a {
    llvm.func @f() attributes {nvvm.kernel} {
      llvm.return
    }
  }
  gpu.module @b {
    llvm.func @f() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

// No toolkit is looked for.
// CHECK-LABEL: module @without_kernels_there_is_no_image {
// CHECK-NEXT: }
module @without_kernels_there_is_no_image {
  gpu.module @empty {
    llvm.func @helper() {
      llvm.return
    }
  }
}

// -----

// CHECK-LABEL: module @the_host_loads_it_all_the_same
// CHECK-NEXT: @kernels_image("P\EDU\BA
module @the_host_loads_it_all_the_same {
  llvm.mlir.global external constant @kernels_image() : !llvm.array<0 x i8>
  gpu.module @kernels {
  }
}
