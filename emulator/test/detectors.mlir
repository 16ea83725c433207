// Each detector fires at one planted fault, in all orders, and not at kernels without one.

// DEFINE: %{kernel} =
// DEFINE: %{check} =
// DEFINE: %{run} = env KERNEL=%{kernel} mlir-runner -e main --entry-point-result=void --shared-libs=%cuda_emulator,%emulator_launch %t.mlir
// DEFINE: %{good} = %{run} | FileCheck %s --check-prefix=%{check}
// DEFINE: %{bad} = not %{run} 2>&1 | FileCheck %s --check-prefix=%{check}
// DEFINE: %{backward} = not env REMAT_EMULATOR_ORDER=backward %{run} 2>&1 | FileCheck %s --check-prefix=%{check}
// DEFINE: %{random} = not env REMAT_EMULATOR_ORDER=random %{run} 2>&1 | FileCheck %s --check-prefix=%{check}
// RUN: remat-opt %s --remat-emulate-kernels=check -o %t.mlir
// REDEFINE: %{kernel} = reverse
// REDEFINE: %{check} = REVERSE
// RUN: %{good}
// REDEFINE: %{kernel} = neighbors
// REDEFINE: %{check} = NEIGHBORS
// RUN: %{good}
// REDEFINE: %{kernel} = count
// REDEFINE: %{check} = COUNT
// RUN: %{good}
// REDEFINE: %{kernel} = bytes
// REDEFINE: %{check} = BYTES
// RUN: %{good}
// REDEFINE: %{kernel} = race
// REDEFINE: %{check} = RACE
// RUN: %{bad}
// RUN: %{backward}
// RUN: %{random}
// REDEFINE: %{kernel} = copies
// REDEFINE: %{check} = COPIES
// RUN: %{good}
// REDEFINE: %{kernel} = copy_race
// REDEFINE: %{check} = COPY-RACE
// RUN: %{bad}
// RUN: %{backward}
// RUN: %{random}
// REDEFINE: %{kernel} = warp_race
// REDEFINE: %{check} = WARP-RACE
// RUN: %{bad}
// RUN: %{backward}
// RUN: %{random}
// REDEFINE: %{kernel} = global_race
// REDEFINE: %{check} = GLOBAL-RACE
// RUN: %{bad}
// RUN: %{backward}
// RUN: %{random}
// REDEFINE: %{kernel} = block_race
// REDEFINE: %{check} = BLOCK-RACE
// RUN: %{bad}
// RUN: %{backward}
// RUN: %{random}
// REDEFINE: %{kernel} = divergent
// REDEFINE: %{check} = DIVERGENT
// RUN: %{bad}
// REDEFINE: %{kernel} = two_barriers
// REDEFINE: %{check} = TWO-BARRIERS
// RUN: %{bad}
// REDEFINE: %{kernel} = divergent_shuffle
// REDEFINE: %{check} = DIVERGENT-SHUFFLE
// RUN: %{bad}
// REDEFINE: %{kernel} = past_the_end
// REDEFINE: %{check} = PAST-THE-END
// RUN: %{bad}
// REDEFINE: %{kernel} = workgroup_bounds
// REDEFINE: %{check} = WORKGROUP-BOUNDS
// RUN: %{bad}
// REDEFINE: %{kernel} = read_only
// REDEFINE: %{check} = READ-ONLY
// RUN: %{bad}
// REDEFINE: %{kernel} = write_only
// REDEFINE: %{check} = WRITE-ONLY
// RUN: %{bad}
// REDEFINE: %{kernel} = misaligned
// REDEFINE: %{check} = MISALIGNED
// RUN: %{bad}
// REDEFINE: %{kernel} = uninitialized
// REDEFINE: %{check} = UNINITIALIZED
// RUN: %{bad}
// REDEFINE: %{kernel} = wild
// REDEFINE: %{check} = WILD
// RUN: %{bad}

gpu.module @kernels {
  llvm.mlir.global internal @w() {addr_space = 3 : i32} : !llvm.array<64 x f32>

  // Through workgroup memory.
  // REVERSE: reverse: y =
  llvm.func @reverse(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %last = llvm.mlir.constant(63 : i32) : i32
    %r = llvm.sub %last, %t : i32
    %pr = llvm.getelementptr %w[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    llvm.store %v, %pw : f32, !llvm.ptr<3>
    nvvm.barrier0
    %u = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // A warp barrier orders what is in one warp.
  // NEIGHBORS: neighbors: y =
  llvm.func @neighbors(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %one = llvm.mlir.constant(1 : i32) : i32
    %mask = llvm.mlir.constant(-1 : i32) : i32
    %r = llvm.xor %t, %one : i32
    %pr = llvm.getelementptr %w[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    llvm.store %v, %pw : f32, !llvm.ptr<3>
    nvvm.bar.warp.sync %mask : i32
    %u = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // Atomic operations do not race with each other.
  // COUNT: count: y =
  llvm.func @count(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "read_write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %one = llvm.mlir.constant(1 : i32) : i32
    %old = llvm.atomicrmw add %y, %one monotonic : !llvm.ptr, i32
    llvm.return
  }

  // Threads write bytes of the same word.
  // BYTES: bytes: y =
  llvm.func @bytes(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %pb = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i8
    %b = llvm.mlir.constant(1 : i8) : i8
    llvm.store %b, %pb : i8, !llvm.ptr
    llvm.return
  }

  // The second barrier is missing. (Without the first one it would be a read of uninitialized memory.)
  // RACE: remat: error: emulator: kernel 'race': race on workgroup memory with the {{read|write}} of thread {{[0-9]+}} of the same block, llvm.{{load|store}} #{{[0-9]+}} at {{.*}}detectors.mlir:{{[0-9]+}}:{{[0-9]+}}: thread ({{[0-9]+}}, 0, 0) of block ({{[01]}}, 0, 0) {{reads|writes}} 4 bytes, llvm.{{load|store}} #{{[0-9]+}} at {{.*}}detectors.mlir:{{[0-9]+}}:{{[0-9]+}}
  llvm.func @race(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %last = llvm.mlir.constant(63 : i32) : i32
    %r = llvm.sub %last, %t : i32
    %pr = llvm.getelementptr %w[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %k, %pw : i32, !llvm.ptr<3>
    nvvm.barrier0
    %v = llvm.load %px : !llvm.ptr -> f32
    llvm.store %v, %pw : f32, !llvm.ptr<3>
    %u = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // A thread waits for its own copies, and at the barrier for those of others.
  // COPIES: copies: y = -5, 3, {{.*}} sum 22.125, bits 778b267327207f30
  llvm.func @copies(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %last = llvm.mlir.constant(63 : i32) : i32
    %r = llvm.sub %last, %t : i32
    %pr = llvm.getelementptr %w[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %g = llvm.addrspacecast %px : !llvm.ptr to !llvm.ptr<1>
    nvvm.cp.async.shared.global %pw, %g, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %u = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // Without that barrier.
  // COPY-RACE: remat: error: emulator: kernel 'copy_race': race on workgroup memory with the {{read|write}} of thread {{[0-9]+}} of the same block, {{nvvm.cp.async|asynchronous copy|llvm.load}}
  llvm.func @copy_race(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %last = llvm.mlir.constant(63 : i32) : i32
    %r = llvm.sub %last, %t : i32
    %pr = llvm.getelementptr %w[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %g = llvm.addrspacecast %px : !llvm.ptr to !llvm.ptr<1>
    llvm.store %k, %pw : i32, !llvm.ptr<3>
    nvvm.barrier0
    nvvm.cp.async.shared.global %pw, %g, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %u = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // Threads of one warp need a barrier as well.
  // WARP-RACE: remat: error: emulator: kernel 'warp_race': race on workgroup memory
  llvm.func @warp_race(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %one = llvm.mlir.constant(1 : i32) : i32
    %r = llvm.xor %t, %one : i32
    %pr = llvm.getelementptr %w[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %k, %pw : i32, !llvm.ptr<3>
    nvvm.barrier0
    %pw0 = llvm.load %px : !llvm.ptr -> f32
    llvm.store %pw0, %pw : f32, !llvm.ptr<3>
    %u = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // Within a block.
  // GLOBAL-RACE: remat: error: emulator: kernel 'global_race': race on global memory with the {{read|write}} of thread {{[0-9]+}} of the same block
  llvm.func @global_race(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "read_write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %one = llvm.mlir.constant(1 : i32) : i32
    %r = llvm.xor %i, %one : i32
    %pr = llvm.getelementptr %y[%r] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    llvm.store %v, %py : f32, !llvm.ptr
    %u = llvm.load %pr : !llvm.ptr -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.return
  }

  // Between blocks no barrier helps.
  // BLOCK-RACE: remat: error: emulator: kernel 'block_race': race on global memory with the write of thread 0 of block {{[01]}},
  llvm.func @block_race(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %first = llvm.icmp "eq" %t, %zero : i32
    llvm.cond_br %first, ^write, ^done
  ^write:
    llvm.store %v, %y : f32, !llvm.ptr
    llvm.br ^done
  ^done:
    nvvm.barrier0
    llvm.return
  }

  // Half of the threads come.
  // DIVERGENT: remat: error: emulator: kernel 'divergent': divergent barrier: 32 threads of block ({{[01]}}, 0, 0) wait at barrier #{{[0-9]+}} at {{.*}}detectors.mlir:{{[0-9]+}}:{{[0-9]+}}, but thread (32, 0, 0) of block ({{[01]}}, 0, 0) is done (32 threads are)
  llvm.func @divergent(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %half = llvm.mlir.constant(32 : i32) : i32
    %isLow = llvm.icmp "ult" %t, %half : i32
    llvm.cond_br %isLow, ^wait, ^done
  ^wait:
    nvvm.barrier0
    llvm.br ^done
  ^done:
    llvm.return
  }

  // All of them come, to one of two.
  // TWO-BARRIERS: remat: error: emulator: kernel 'two_barriers': divergent barrier: 32 threads of block ({{[01]}}, 0, 0) wait at barrier #{{[0-9]+}} at {{.*}}, but thread (32, 0, 0) of block ({{[01]}}, 0, 0) waits at barrier #
  llvm.func @two_barriers(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %half = llvm.mlir.constant(32 : i32) : i32
    %isLow = llvm.icmp "ult" %t, %half : i32
    llvm.cond_br %isLow, ^one, ^two
  ^one:
    nvvm.barrier0
    llvm.br ^done
  ^two:
    nvvm.barrier0
    llvm.br ^done
  ^done:
    llvm.return
  }

  // Ten lanes of a mask of 32.
  // DIVERGENT-SHUFFLE: remat: error: emulator: kernel 'divergent_shuffle': divergent warp: 10 threads of a warp of block ({{[01]}}, 0, 0) wait at shuffle #{{[0-9]+}} at {{.*}}, but thread (10, 0, 0) of block ({{[01]}}, 0, 0) is done
  llvm.func @divergent_shuffle(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    %mask = llvm.mlir.constant(-1 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %ten = llvm.mlir.constant(10 : i32) : i32
    %isLow = llvm.icmp "ult" %t, %ten : i32
    llvm.cond_br %isLow, ^shuffle, ^done
  ^shuffle:
    %u = nvvm.shfl.sync bfly %mask, %v, %one, %clamp : f32 -> f32
    llvm.store %u, %py : f32, !llvm.ptr
    llvm.br ^done
  ^done:
    llvm.return
  }

  // The last thread writes one element too far.
  // PAST-THE-END: remat: error: emulator: kernel 'past_the_end': out of bounds at byte 512 of argument #1 of 512 bytes (allocation #2 of 512 bytes + 512): thread (63, 0, 0) of block (1, 0, 0) writes 4 bytes, llvm.store #
  llvm.func @past_the_end(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    %next = llvm.getelementptr %py[1] : (!llvm.ptr) -> !llvm.ptr, f32
    llvm.store %v, %next : f32, !llvm.ptr
    llvm.return
  }

  // The same in workgroup memory.
  // WORKGROUP-BOUNDS: remat: error: emulator: kernel 'workgroup_bounds': out of bounds at byte 256 of workgroup memory of 256 bytes: thread (63, 0, 0) of block ({{[01]}}, 0, 0) writes 4 bytes
  llvm.func @workgroup_bounds(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %px : !llvm.ptr -> f32
    %next = llvm.getelementptr %pw[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    llvm.store %v, %next : f32, !llvm.ptr<3>
    llvm.return
  }

  // A write to what other kernels may read at the same time.
  // READ-ONLY: remat: error: emulator: kernel 'read_only': argument #0 is read-only: thread ({{[0-9]+}}, 0, 0) of block ({{[01]}}, 0, 0) writes 4 bytes
  llvm.func @read_only(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.store %zero, %px : f32, !llvm.ptr
    llvm.return
  }

  // A read of what a plan takes for overwritten.
  // WRITE-ONLY: remat: error: emulator: kernel 'write_only': argument #1 is write-only: thread ({{[0-9]+}}, 0, 0) of block ({{[01]}}, 0, 0) reads 4 bytes
  llvm.func @write_only(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %py : !llvm.ptr -> f32
    llvm.store %v, %py : f32, !llvm.ptr
    llvm.return
  }

  // A vector at an element's address.
  // MISALIGNED: remat: error: emulator: kernel 'misaligned': misaligned access, the alignment must be 16: thread ({{[0-9]+}}, 0, 0) of block ({{[01]}}, 0, 0) reads 16 bytes
  llvm.func @misaligned(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %p1 = llvm.getelementptr %x[1] : (!llvm.ptr) -> !llvm.ptr, f32
    %v = llvm.load %p1 {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
    llvm.return
  }

  // Values that another block left there do not count as initialized.
  // UNINITIALIZED: remat: error: emulator: kernel 'uninitialized': workgroup memory that nobody wrote: thread ({{[0-9]+}}, 0, 0) of block ({{[01]}}, 0, 0) reads 4 bytes
  llvm.func @uninitialized(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %w = llvm.mlir.addressof @w : !llvm.ptr<3>
    %pw = llvm.getelementptr %w[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %pw : !llvm.ptr<3> -> f32
    llvm.store %v, %py : f32, !llvm.ptr
    llvm.return
  }

  // A pointer from nowhere.
  // WILD: remat: error: emulator: kernel 'wild': out of bounds: no memory of the device: thread ({{[0-9]+}}, 0, 0) of block ({{[01]}}, 0, 0) reads 4 bytes
  llvm.func @wild(%x: !llvm.ptr {remat.access = "read", remat.bytes = 512 : i64},
      %y: !llvm.ptr {remat.access = "write", remat.bytes = 512 : i64}) attributes {gpu.kernel, nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %k = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %k, %n : i32
    %i = llvm.add %o, %t : i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %a = llvm.mlir.constant(4096 : i64) : i64
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    %v = llvm.load %p : !llvm.ptr -> f32
    llvm.store %v, %py : f32, !llvm.ptr
    llvm.return
  }
}

llvm.mlir.global external @kernels_image() : i8
llvm.func @emulator_launch_selected(!llvm.ptr, i64, i64, i64, i64)
llvm.func @main() {
  %image = llvm.mlir.addressof @kernels_image : !llvm.ptr
  %n0 = llvm.mlir.constant(0 : i64) : i64
  %n2 = llvm.mlir.constant(2 : i64) : i64
  %n64 = llvm.mlir.constant(64 : i64) : i64
  %n128 = llvm.mlir.constant(128 : i64) : i64
  llvm.call @emulator_launch_selected(%image, %n2, %n64, %n0, %n128) : (!llvm.ptr, i64, i64, i64, i64) -> ()
  llvm.return
}
