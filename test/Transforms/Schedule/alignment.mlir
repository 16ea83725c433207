// RUN: remat-opt %s -remat-schedule="print-estimate alignment=64" -o /dev/null 2>&1 | FileCheck %s
// RUN: remat-opt %s -remat-schedule=print-estimate -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: not remat-opt %s -remat-schedule=alignment=0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: alignment must be at least 1, but got 0

// A scalar and 80 bytes, each at an address of its own, and a workspace.
// CHECK: remark: estimated peak: 256 bytes before, 256 after scheduling
// EXACT: remark: estimated peak: 85 bytes before, 85 after scheduling
func.func @small_tensors_occupy_whole_lines(%x: tensor<20xf32>, %zero: tensor<f32>) -> (tensor<f32>, tensor<20xf32>) {
  %e = tensor.empty() : tensor<20xf32>
  %w = linalg.exp ins(%x : tensor<20xf32>) outs(%e : tensor<20xf32>) -> tensor<20xf32>
  %e1 = tensor.empty() : tensor<f32>
  %m = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%w : tensor<20xf32>) outs(%e1 : tensor<f32>) attrs = {remat.workspace_bytes = 1 : i64} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<f32>
  return %m, %w : tensor<f32>, tensor<20xf32>
}
