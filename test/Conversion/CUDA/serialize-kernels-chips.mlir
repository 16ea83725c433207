// Chips that LLVM does not know, and one that CUDA 13 does not know any more.
// REQUIRES: cuda-toolkit
// RUN: not remat-opt %s -remat-serialize-kernels=chips=sm_80,sm_1 2>&1 | FileCheck %s
// CHECK: :[[#@LINE+8]]:1: error: 'chips' has 'sm_1', which is no chip that LLVM compiles for; chips are named like sm_80, sm_90 or sm_100
// RUN: not remat-opt %s -remat-serialize-kernels=chips=gfx942 2>&1 | FileCheck %s --check-prefix=AMD
// AMD: error: 'chips' has 'gfx942', which is no chip
// RUN: not remat-opt %s -remat-serialize-kernels=chips=sm_60 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: :[[#@LINE+5]]:3: error: cannot be assembled for sm_60, which the ptxas in {{.+}} does not know; choose other 'chips', or another 'toolkit'

// Its PTX runs on no other chip: the PTX is that of sm_90.
// RUN: remat-opt %s -remat-serialize-kernels="chips=sm_90,sm_100a,sm_90 dump=%t" -o /dev/null && FileCheck %s --check-prefix=SUFFIX --input-file=%t/manifest.json
module {
  gpu.module @kernels {
    llvm.func @f() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}
// SUFFIX: "ptx": "sm_90",
// SUFFIX: "name": "f",
// SUFFIX-NEXT: "chips": {
// SUFFIX-NEXT: "sm_90": {
// SUFFIX-NEXT: "registers": {{[0-9]+}},
// SUFFIX-NEXT: "workgroup_bytes": 0,
// SUFFIX-NEXT: "spill_store_bytes": 0,
// SUFFIX-NEXT: "spill_load_bytes": 0,
// SUFFIX-NEXT: "stack_bytes": 0
// SUFFIX-NEXT: },
// SUFFIX-NEXT: "sm_100a": {
