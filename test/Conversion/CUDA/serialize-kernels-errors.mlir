// REQUIRES: cuda-toolkit
// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-serialize-kernels=chips=sm_80

gpu.module @a_function_that_nobody_defines {
  llvm.func @helper(f32) -> f32
  llvm.func @f(%x: !llvm.ptr) attributes {nvvm.kernel} {
    %0 = llvm.load %x : !llvm.ptr -> f32
    // expected-error @below {{kernel 'f' calls 'helper', which is defined nowhere}}
    %1 = llvm.call @helper(%0) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @a_function_that_libdevice_lacks {
  llvm.func @__nv_gelu(f32) -> f32
  llvm.func @f(%x: !llvm.ptr) attributes {nvvm.kernel} {
    %0 = llvm.load %x : !llvm.ptr -> f32
    // expected-error @below {{kernel 'f' calls '__nv_gelu', which is defined nowhere}}
    %1 = llvm.call @__nv_gelu(%0) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @too_much_workgroup_memory {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<20000 x f32>
  llvm.func @small() attributes {nvvm.kernel} {
    llvm.return
  }
  // expected-error @below {{kernel 'big' cannot be assembled for sm_80: Entry function 'big' uses too much shared data (0x13880 bytes, 0xc000 max)}}
  llvm.func @big(%x: !llvm.ptr, %i: i32) attributes {nvvm.kernel} {
    %0 = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %1 = llvm.getelementptr %0[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %2 = llvm.load %x : !llvm.ptr -> f32
    llvm.store volatile %2, %1 : f32, !llvm.ptr<3>
    llvm.return
  }
}

// -----

gpu.module @bad_inline_assembly {
  llvm.func @good() attributes {nvvm.kernel} {
    llvm.return
  }
  // expected-error @below {{kernel 'bad' cannot be assembled for sm_80: Not a name of any known instruction: 'nonsense'}}
  llvm.func @bad() attributes {nvvm.kernel} {
    llvm.inline_asm has_side_effects "nonsense;", "" : () -> ()
    llvm.return
  }
}

// -----

gpu.module @not_lowered {
  // expected-error @below {{'gpu.func' must be lowered to the LLVM and NVVM dialects before kernels are serialized}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @f() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @host(%n: index) {
    // expected-error @below {{refers to a kernel of 'kernels'; launches must be lowered before kernels are serialized}}
    gpu.launch_func @kernels::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}

// -----

module {
  // expected-error @below {{has the name that the image of the kernels in 'kernels' needs}}
  llvm.func @kernels_image()
  gpu.module @kernels {
    llvm.func @f() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}
