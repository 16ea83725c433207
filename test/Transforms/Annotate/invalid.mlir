// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-annotate=blocks
// RUN: not remat-opt %s -split-input-file -remat-annotate=every=2 2>&1 | FileCheck %s --check-prefix=SELECTOR
// RUN: not remat-opt %s -split-input-file -remat-annotate="whole every=2" 2>&1 | FileCheck %s --check-prefix=EVERY
// RUN: not remat-opt %s -split-input-file -remat-annotate="whole policy=dots" 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not remat-opt %s -split-input-file -remat-annotate="whole function=nothing" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not remat-opt %S/blocks.mlir -split-input-file -remat-annotate="blocks pick=1-7" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not remat-opt %S/blocks.mlir -split-input-file -remat-annotate="blocks pick=first" 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not remat-opt %S/blocks.mlir -split-input-file -remat-annotate="blocks every=9" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not remat-opt %S/blocks.mlir -split-input-file -remat-annotate="blocks every=0" 2>&1 | FileCheck %s --check-prefix=POSITIVE
// RUN: not remat-opt %S/blocks.mlir -split-input-file -remat-annotate="blocks every=2 pick=0" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not remat-opt %S/blocks.mlir -split-input-file -remat-annotate=blocks -remat-annotate=blocks 2>&1 | FileCheck %s --check-prefix=TWICE

// RUN: not remat-opt %s -split-input-file -remat-annotate="scope=layers.*" 2>&1 | FileCheck %s --check-prefix=LOCATIONS
// RUN: not remat-opt %s -split-input-file -remat-annotate=whole 2>&1 | FileCheck %s --check-prefix=CFG

// LOCATIONS: error: scope=layers.* matches no scope in @nothing_repeats
// LOCATIONS: note: its locations name none; export with debug information, and print it everywhere with --mlir-print-debuginfo
// CFG: error: @several_blocks has several blocks; run -lift-cf-to-scf first
// SELECTOR: error: remat-annotate takes one selector
// EVERY: error: pick=, every= and group= are for blocks
// POLICY: error: policy=dots is no policy; choose nothing_saveable,
// FUNCTION: error: function=nothing: there is no such function with a body
// RANGE: error: pick=1-7: there are 3 blocks, 0 to 2
// INDEX: error: pick=first is no index such as 0 or -1 and no range such as 2-5
// FEW: error: every=9: there are only 3 blocks
// POSITIVE: error: every= and group= take a positive number
// BOTH: error: pick= and every= contradict each other; give one
// TWICE: error: @layers_share_a_mask has its layers in regions already

// expected-error@below {{@nothing_repeats has no layers: no sequence of operations repeats on other parameters}}
func.func @nothing_repeats(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %0 = arith.mulf %x, %w : tensor<4xf32>
  %1 = math.tanh %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error@below {{@several_blocks has no layers}}
func.func @several_blocks(%x: f32 {opt.param}) -> f32 {
  cf.br ^end(%x : f32)
^end(%y: f32):
  return %y : f32
}
