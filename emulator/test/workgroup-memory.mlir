// Workgroup memory of a kernel, of a function that it calls, and of the launch; operations of a warp; the report.

// DEFINE: %{run} = mlir-runner -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch
// RUN: remat-opt %s --remat-emulate-kernels -o %t.mlir
// RUN: remat-opt %s --remat-emulate-kernels=check -o %t.check.mlir
// RUN: %{run} %t.mlir | FileCheck %s
// RUN: env REMAT_EMULATOR_ORDER=backward %{run} %t.mlir | FileCheck %s
// RUN: env REMAT_EMULATOR_ORDER=random %{run} %t.mlir | FileCheck %s
// RUN: env REMAT_EMULATOR_REPORT=%t.json %{run} %t.check.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json

// Two blocks of 64 threads: each reads a float and writes one. The others have no memory of the device.
// REPORT: {"launches": 2, "graph_launches": 0, "to_device": 1024, "to_host": 1024, "on_device": 0, "current_bytes": 0,
// REPORT-SAME: "peak_bytes": 1024, "kernels": {"reverse": {"launches": 1, "read": 512, "written": 512},
// REPORT-SAME: "warp": {"launches": 1, "read": 0, "written": 512}}}

gpu.module @kernels {
  llvm.mlir.global internal @offset() {addr_space = 3 : i32} : f32
  llvm.mlir.global internal @own() {addr_space = 3 : i32} : !llvm.array<3 x f32>
  llvm.mlir.global external @staging() {addr_space = 3 : i32} : !llvm.array<0 x i8>

  // The element at the other end of the block, by what the launch adds, plus 0.5, by what this function has.
  llvm.func @read_other(%t: i32) -> f32 {
    %last = llvm.mlir.constant(63 : i32) : i32
    %r = llvm.sub %last, %t : i32
    %s = llvm.mlir.addressof @staging : !llvm.ptr<3>
    %p = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %p : !llvm.ptr<3> -> f32
    %o = llvm.mlir.addressof @offset : !llvm.ptr<3>
    %w = llvm.load %o : !llvm.ptr<3> -> f32
    %sum = llvm.fadd %v, %w : f32
    llvm.return %sum : f32
  }

  // x[63] + 0.5, x[62] + 0.5, ... x[64] + 0.5.
  // CHECK: reverse: y = -4.5, 3.5, ... 0.125, sum 86.125, bits
  llvm.func @reverse(%x: !llvm.ptr, %y: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %b = llvm.mul %k, %n : i32
    %i = llvm.add %b, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    %s = llvm.mlir.addressof @staging : !llvm.ptr<3>
    %p = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %v, %p : f32, !llvm.ptr<3>
    %zero = llvm.mlir.constant(0 : i32) : i32
    %first = llvm.icmp "eq" %t, %zero : i32
    llvm.cond_br %first, ^store, ^wait
  ^store:
    %half = llvm.mlir.constant(0.5 : f32) : f32
    %nan = llvm.mlir.constant(0x7FC00000 : f32) : f32
    %o = llvm.mlir.addressof @offset : !llvm.ptr<3>
    %w = llvm.mlir.addressof @own : !llvm.ptr<3>
    llvm.store %half, %o : f32, !llvm.ptr<3>
    // Elsewhere.
    llvm.store %nan, %w : f32, !llvm.ptr<3>
    llvm.br ^wait
  ^wait:
    nvvm.barrier0
    %r = llvm.call @read_other(%t) : (i32) -> f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.store %r, %py : f32, !llvm.ptr
    llvm.return
  }

  // Lanes below 10 vote for: the ballot is 0x3FF. The sum of all lanes is 496, and lane 31 has 32 more.
  // CHECK: warp: y = 1519, 1519, ... 1551, sum
  llvm.func @warp(%x: !llvm.ptr, %y: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %b = llvm.mul %k, %n : i32
    %i = llvm.add %b, %t : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %size = nvvm.read.ptx.sreg.warpsize : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %ten = llvm.mlir.constant(10 : i32) : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %few = llvm.icmp "ult" %lane, %ten : i32
    %ballot = nvvm.vote.sync ballot %all, %few -> i32
    %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
    // The last lane has no next one.
    %both = nvvm.shfl.sync down %all, %lane, %one, %clamp {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    %isValid = llvm.extractvalue %both[1] : !llvm.struct<(i32, i1)>
    %more = llvm.select %isValid, %zero, %size : i1, i32
    %0 = llvm.add %ballot, %sum : i32
    %1 = llvm.add %0, %more : i32
    %f = llvm.sitofp %1 : i32 to f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.store %f, %py : f32, !llvm.ptr
    llvm.return
  }
}

llvm.mlir.global external @kernels_image() : i8
llvm.func @emulator_launch_f32(!llvm.ptr, i64, i64, i64, i64, i64)
llvm.func @main() {
  %image = llvm.mlir.addressof @kernels_image : !llvm.ptr
  %n0 = llvm.mlir.constant(0 : i64) : i64
  %n1 = llvm.mlir.constant(1 : i64) : i64
  %n2 = llvm.mlir.constant(2 : i64) : i64
  %n64 = llvm.mlir.constant(64 : i64) : i64
  %n128 = llvm.mlir.constant(128 : i64) : i64
  %n256 = llvm.mlir.constant(256 : i64) : i64
  llvm.call @emulator_launch_f32(%image, %n0, %n2, %n64, %n256, %n128) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  llvm.call @emulator_launch_f32(%image, %n1, %n2, %n64, %n0, %n128) : (!llvm.ptr, i64, i64, i64, i64, i64) -> ()
  llvm.return
}
