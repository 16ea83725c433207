// RUN: remat-opt %s --remat-emulate-kernels --split-input-file --verify-diagnostics

gpu.module @m {
  llvm.func @unknown_operation(%p: !llvm.ptr<3>) attributes {gpu.kernel} {
    // expected-error @+1 {{'nvvm.cp.async.bulk.commit.group' has no emulation}}
    nvvm.cp.async.bulk.commit.group
    // All of them are named.
    // expected-error @+1 {{'nvvm.cp.async.bulk.wait_group' has no emulation}}
    nvvm.cp.async.bulk.wait_group 0
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @some_barrier(%n: i32) attributes {gpu.kernel} {
    // expected-error @+1 {{'nvvm.barrier' has no emulation}}
    nvvm.barrier id = %n
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @ptx(%a: i32) attributes {gpu.kernel} {
    // expected-error @+1 {{inline PTX has no emulation}}
    %0 = llvm.inline_asm "mov.u32 $0, $1;", "=r,r" %a : (i32) -> i32
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @external(%p: !llvm.ptr) attributes {gpu.kernel} {
    // expected-error @+1 {{the call of 'vprintf' has no emulation: it is neither in the kernel's module nor one of libdevice's functions that the C library has}}
    %0 = llvm.call @vprintf(%p, %p) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @__nv_fast_expf(f32) -> f32
  llvm.func @approximate(%f: f32) attributes {gpu.kernel} {
    // expected-error @+1 {{the call of '__nv_fast_expf' has no emulation}}
    %0 = llvm.call @__nv_fast_expf(%f) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @indirect(%p: !llvm.ptr) attributes {gpu.kernel} {
    // expected-error @+1 {{an indirect call has no emulation}}
    llvm.call %p() : !llvm.ptr, () -> ()
    llvm.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' has no emulation; kernels must be in the LLVM and NVVM dialects}}
  gpu.func @not_lowered() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{a variable in device memory has no emulation}}
  llvm.mlir.global internal @counter(0 : i32) {addr_space = 1 : i32} : i32
}

// -----

gpu.module @m {
  // expected-error @+1 {{workgroup memory cannot have initial values}}
  llvm.mlir.global internal @w(0 : i32) {addr_space = 3 : i32} : i32
}

// -----

gpu.module @m {
  // expected-error @+1 {{'remat.access' must be "read", "write" or "read_write", but is "none"}}
  llvm.func @access(%p: !llvm.ptr {remat.access = "none"}) attributes {gpu.kernel} {
    llvm.return
  }
}

// -----

// expected-error @+1 {{the image of emulated kernels needs the name 'm_image'}}
llvm.func @m_image()
gpu.module @m {
  llvm.func @kernel() attributes {gpu.kernel} {
    llvm.return
  }
}

// -----

llvm.func @expf(f64) -> f64
gpu.module @m {
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @kernel(%f: f32) attributes {gpu.kernel} {
    // expected-error @+1 {{an emulated kernel calls 'expf' as '!llvm.func<f32 (f32)>', but the module has another symbol of that name}}
    %0 = llvm.call @__nv_expf(%f) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @other_matrices(%a: i32, %c: f32) attributes {gpu.kernel} {
    // expected-error @+1 {{'nvvm.mma.sync' has no emulation}}
    %0 = nvvm.mma.sync A[%a, %a] B[%a] C[%c, %c, %c, %c]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>,
         multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 8>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}
