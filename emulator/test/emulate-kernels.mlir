// RUN: remat-opt %s --remat-emulate-kernels --split-input-file | FileCheck %s

// CHECK-NOT: gpu.container_module
module attributes {gpu.container_module} {
  // The image takes the place of its declaration.
  // CHECK: llvm.mlir.global internal constant @m_image() {{.*}}!llvm.struct<(i64, i64, i64, ptr, i64)> {
  // CHECK: llvm.mlir.addressof @m_image_kernels
  llvm.mlir.global external @m_image() : i8

  // CHECK: llvm.mlir.global internal constant @m_image_kernels() {{.*}}!llvm.array<2 x struct<(ptr, ptr, ptr, i64, ptr, i64, i64, i64)>> {
  // A kernel whose threads do not wait has a function for a block, one whose threads do has none.
  // CHECK-DAG:   llvm.mlir.addressof @m_registers_run_block
  // CHECK-DAG:   llvm.mlir.addressof @m_registers_run :
  // CHECK-DAG:   llvm.mlir.addressof @m_waits_run :
  // CHECK-NOT:   @m_waits_run_block

  // Size, access and bytes of each argument.
  // CHECK-DAG: @m_waits_arguments(dense<[8, 1, 64, 8, 2, -1, 4, 0, -1]> : tensor<9xi64>)
  // CHECK-DAG: @m_registers_arguments(dense<[8, 3, 512]> : tensor<3xi64>)
  // CHECK-DAG: @m_waits_name("waits\00")
  // CHECK-DAG: llvm.func @remat_emu_barrier(!llvm.ptr, !llvm.ptr)
  // CHECK-DAG: llvm.func @remat_emu_shuffle(!llvm.ptr, i32, i32, i32, i32, i32, !llvm.ptr) -> i64
  // CHECK-DAG: @{{remat_emu_site[_0-9]*}}("barrier #1 at {{.*}}emulate-kernels.mlir:[[# @LINE + 43]]:7\00")

  gpu.module @m [#nvvm.target] {
    llvm.mlir.global internal @first() {addr_space = 3 : i32} : !llvm.array<5 x f32>
    llvm.mlir.global internal @second() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<4 x f32>
    llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : !llvm.array<0 x i8>
    llvm.mlir.global private constant @table(dense<[1, 2]> : tensor<2xi32>) : !llvm.array<2 x i32>
    llvm.func @__nv_expf(f32) -> f32
    llvm.func @__nv_rsqrt(f64) -> f64

    // CHECK: llvm.mlir.global private constant @m_table
    // CHECK: llvm.func internal @m_registers(%{{.*}}: !llvm.ptr, %[[THREAD:.*]]: !llvm.ptr {llvm.noalias}) {
    llvm.func @registers(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128>,
        remat.arguments = [{access = "read_write", bytes = 512 : i64}]} {
      // CHECK: %[[TID:.*]] = llvm.load %[[THREAD]] : !llvm.ptr -> i32
      // CHECK: %[[A:.*]] = llvm.getelementptr %[[THREAD]][16]
      // CHECK: llvm.load %[[A]]
      // CHECK: %[[B:.*]] = llvm.getelementptr %[[THREAD]][32]
      // CHECK: llvm.load %[[B]]
      // CHECK: %[[C:.*]] = llvm.getelementptr %[[THREAD]][36]
      // CHECK: llvm.load %[[C]]
      %a = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
      %b = nvvm.read.ptx.sreg.ntid.y : i32
      %c = nvvm.read.ptx.sreg.ctaid.z : i32
      %d = nvvm.read.ptx.sreg.nctaid.x : i32
      %0 = llvm.add %a, %b : i32
      %1 = llvm.add %0, %c : i32
      %2 = llvm.add %1, %d : i32
      // CHECK: llvm.mlir.addressof @m_table
      %t = llvm.mlir.addressof @table : !llvm.ptr
      %3 = llvm.load %t : !llvm.ptr -> i32
      %4 = llvm.add %2, %3 : i32
      // CHECK-NOT: addrspacecast
      // CHECK: llvm.store %{{.*}} : i32, !llvm.ptr
      %g = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
      llvm.store %4, %g : i32, !llvm.ptr
      llvm.return
    }

    // CHECK: llvm.func internal @m_waits(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[F:.*]]: f32, %[[THREAD:.*]]: !llvm.ptr {llvm.noalias}) {
    llvm.func @waits(%x: !llvm.ptr {remat.access = "read", remat.bytes = 64 : i64},
                     %y: !llvm.ptr {remat.access = "write"}, %f: f32) attributes {gpu.kernel, nvvm.kernel} {
      // CHECK: llvm.call @remat_emu_barrier(%[[THREAD]], %{{.*}})
      nvvm.barrier0
      // A variable is an offset into the block's memory.
      // CHECK: %[[S:.*]] = llvm.getelementptr %[[THREAD]][48]
      // CHECK: %[[SHARED:.*]] = llvm.load %[[S]] : !llvm.ptr -> !llvm.ptr
      // CHECK: llvm.getelementptr %[[SHARED]][0] : (!llvm.ptr) -> !llvm.ptr, i8
      %s = llvm.mlir.addressof @second : !llvm.ptr<3>
      llvm.store %f, %s : f32, !llvm.ptr<3>
      // CHECK: llvm.getelementptr %{{.*}}[16] : (!llvm.ptr) -> !llvm.ptr, i8
      %w = llvm.mlir.addressof @first : !llvm.ptr<3>
      // Dynamic workgroup memory has a pointer of its own.
      // CHECK: %[[D:.*]] = llvm.getelementptr %[[THREAD]][56]
      // CHECK: llvm.load %[[D]] : !llvm.ptr -> !llvm.ptr
      %d = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
      llvm.store %f, %d : f32, !llvm.ptr<3>
      // CHECK: llvm.call @expf(%[[F]])
      %e = llvm.call @__nv_expf(%f) : (f32) -> f32
      %l = llvm.fpext %e : f32 to f64
      // CHECK: llvm.call @remat_emu_rsqrt(
      %r = llvm.call @__nv_rsqrt(%l) : (f64) -> f64
      // CHECK: llvm.call @remat_emu_shuffle(%[[THREAD]], %{{.*}}
      %m = llvm.mlir.constant(-1 : i32) : i32
      %o = llvm.mlir.constant(1 : i32) : i32
      %q = nvvm.shfl.sync down %m, %e, %o, %m {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
      // A helper gets the record, too.
      // CHECK: llvm.call @m_helper(%[[F]], %[[THREAD]])
      llvm.call @helper(%f) : (f32) -> ()
      // CHECK-NOT: nvvm
      // CHECK: llvm.return
      nvvm.memory.barrier <cta>
      llvm.return
    }
    // CHECK: llvm.func internal @m_helper(%{{.*}}: f32, %{{.*}}: !llvm.ptr {llvm.noalias})
    llvm.func @helper(%f: f32) {
      llvm.return
    }
  }

  // One thread, and a block of threads.
  // CHECK: llvm.func internal @m_registers_run(%[[ARGUMENTS:.*]]: !llvm.ptr, %[[THREAD:.*]]: !llvm.ptr)
  // CHECK:   %[[SLOT:.*]] = llvm.load %[[ARGUMENTS]] : !llvm.ptr -> !llvm.ptr
  // CHECK:   %[[P:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
  // CHECK:   llvm.call @m_registers(%[[P]], %[[THREAD]])
  // CHECK: llvm.func internal @m_registers_run_block
  // CHECK:   llvm.cond_br
  // CHECK: llvm.func internal @m_waits_run
}

// -----

// Lanes exchange the addresses of rows, and load their elements themselves; transposed ones in halves.
// CHECK-LABEL: llvm.func internal @matrices_multiply(
// CHECK-SAME: %[[ROW:.*]]: !llvm.ptr, %{{.*}}, %[[THREAD:.*]]: !llvm.ptr {llvm.noalias})
// CHECK-DAG: llvm.alloca %{{.*}} x i32
// CHECK-DAG: llvm.alloca %{{.*}} x f32
// CHECK-DAG: llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: llvm.call @remat_emu_ldmatrix(%[[THREAD]], %[[ROW]], %{{.*}}, %{{.*}}, %[[ADDRESSES:.*]], %{{.*}}) :
// CHECK: %[[A:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.load %[[A]] : !llvm.ptr -> i32
// CHECK: llvm.call @remat_emu_ldmatrix(
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr
// CHECK: llvm.call @remat_emu_mma(%[[THREAD]],
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.insertvalue
module attributes {gpu.container_module} {
  llvm.mlir.global external @matrices_image() : i8
  gpu.module @matrices {
    llvm.func @multiply(%row: !llvm.ptr<3>, %out: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      %zero = llvm.mlir.constant(0.0 : f32) : f32
      %a = nvvm.ldmatrix %row {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>,
          eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
      %b = nvvm.ldmatrix %row {num = 2 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>,
          eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
      %a0 = llvm.extractvalue %a[0] : !llvm.struct<(i32, i32, i32, i32)>
      %a1 = llvm.extractvalue %a[1] : !llvm.struct<(i32, i32, i32, i32)>
      %a2 = llvm.extractvalue %a[2] : !llvm.struct<(i32, i32, i32, i32)>
      %a3 = llvm.extractvalue %a[3] : !llvm.struct<(i32, i32, i32, i32)>
      %b0 = llvm.extractvalue %b[0] : !llvm.struct<(i32, i32)>
      %b1 = llvm.extractvalue %b[1] : !llvm.struct<(i32, i32)>
      %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%zero, %zero, %zero, %zero]
          {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>,
           multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
          : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      llvm.store %d, %out : !llvm.struct<(f32, f32, f32, f32)>, !llvm.ptr
      llvm.return
    }
  }
}
