// RUN: remat-opt %s --remat-emulate-kernels=check | FileCheck %s

gpu.module @m {
  llvm.mlir.global internal @w() {addr_space = 3 : i32} : !llvm.array<5 x f32>
  llvm.mlir.global private constant @table(dense<[1, 2]> : tensor<2xi32>) : !llvm.array<2 x i32>

  // CHECK-LABEL: llvm.func internal @m_shared_memory(
  // CHECK-SAME: %[[P:.*]]: !llvm.ptr, %[[N:.*]]: i32, %[[THREAD:.*]]: !llvm.ptr {llvm.noalias})
  llvm.func @shared_memory(%p: !llvm.ptr, %n: i32) attributes {gpu.kernel} {
    // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(16 : i64)
    // CHECK: %[[ALIGNMENT:.*]] = llvm.mlir.constant(4 : i64)
    // CHECK: %[[READ:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %[[P]], %[[BYTES]], %[[ALIGNMENT]], %[[READ]], %{{.*}})
    // CHECK-NEXT: llvm.load %[[P]] {alignment = 4 : i64}
    %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    // The alignment that the type has.
    // CHECK: llvm.mlir.constant(16 : i64)
    // CHECK: %[[NATURAL:.*]] = llvm.mlir.constant(16 : i64)
    // CHECK: %[[WRITE:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %{{.*}}, %{{.*}}, %[[NATURAL]], %[[WRITE]], %{{.*}})
    // CHECK-NEXT: llvm.store
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    llvm.store %v, %w : vector<4xf32>, !llvm.ptr<3>
    // CHECK: %[[ATOMIC:.*]] = llvm.mlir.constant(2 : i32)
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %[[P]], %{{.*}}, %{{.*}}, %[[ATOMIC]], %{{.*}})
    // CHECK-NEXT: llvm.atomicrmw
    %0 = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i32
    // CHECK: %[[LENGTH:.*]] = llvm.zext %[[N]] : i32 to i64
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %[[P]], %[[LENGTH]],
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %{{.*}}, %{{.*}},
    // CHECK: llvm.intr.memcpy
    "llvm.intr.memcpy"(%w, %p, %n) <{isVolatile = false}> : (!llvm.ptr<3>, !llvm.ptr, i32) -> ()
    // CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : vector<4xi1> to i4
    // CHECK: %[[LANES:.*]] = llvm.zext %[[BITS]] : i4 to i64
    // CHECK: llvm.call @remat_emu_access_masked(%[[THREAD]], %[[P]], %{{.*}}, %[[LANES]],
    // CHECK-NEXT: llvm.intr.masked.load
    %m = llvm.mlir.constant(dense<[true, false, true, false]> : vector<4xi1>) : vector<4xi1>
    %1 = llvm.intr.masked.load %p, %m, %v {alignment = 4 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
    // An asynchronous copy reads as many bytes as it says, and writes all.
    // CHECK: %[[SOME:.*]] = llvm.zext %[[N]] : i32 to i64
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %[[G:.*]], %[[SOME]],
    // CHECK: llvm.call @remat_emu_access(%[[THREAD]], %{{.*}}, %{{.*}},
    // CHECK: llvm.call @remat_emu_copy_async(%[[THREAD]], %{{.*}}, %[[G]], %{{.*}}, %[[N]], %{{.*}})
    // CHECK: llvm.call @remat_emu_commit_copies(%[[THREAD]])
    // CHECK: llvm.call @remat_emu_wait_for_copies(%[[THREAD]], %{{.*}})
    %g = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<1>
    nvvm.cp.async.shared.global %w, %g, 16, cache = cg, %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    // CHECK: llvm.return
    llvm.return
  }

  // CHECK-LABEL: llvm.func internal @m_own_memory
  // CHECK-NOT: remat_emu_access
  // CHECK: llvm.return
  llvm.func @own_memory(%i: i32) attributes {gpu.kernel} {
    %n = llvm.mlir.constant(4 : i32) : i32
    %a = llvm.alloca %n x i32 : (i32) -> !llvm.ptr
    %p = llvm.getelementptr %a[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    %t = llvm.mlir.addressof @table : !llvm.ptr
    %v = llvm.load %t : !llvm.ptr -> i32
    llvm.store %v, %p : i32, !llvm.ptr
    llvm.return
  }
}
