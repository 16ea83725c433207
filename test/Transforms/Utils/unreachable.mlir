// RUN: remat-opt %s -remat-fuse | FileCheck %s --check-prefixes=CHECK,TENSOR
// RUN: remat-opt %s -remat-materialize | FileCheck %s --check-prefixes=CHECK,TENSOR
// RUN: remat-opt %s -remat-inline-regions | FileCheck %s --check-prefixes=CHECK,TENSOR
// RUN: remat-opt %s -remat-prepare-bufferization | FileCheck %s --check-prefixes=CHECK,BUFFER

#id = affine_map<(i) -> (i)>

// In blocks that no branch leads to, values may be computed from themselves.
// CHECK-LABEL: func.func @cycles(
// CHECK-NEXT: cf.br ^bb1
// CHECK-NEXT: ^bb1:
// TENSOR-NEXT: return
// BUFFER-NEXT: bufferization.to_buffer %arg0 read_only
// BUFFER-NEXT: return
func.func @cycles(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^kernels:
  %first = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%second : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %second = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%first : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %plan = remat.plan %second : tensor<4xf32> [#remat.decision<rebuild by "me" because "so">]
  %read = linalg.exp {remat.phase = "backward"} ins(%plan : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  cf.br ^end
^names:
  %name = remat.name "h" %other : tensor<4xf32>
  %other = remat.name "h" %name : tensor<4xf32>
  %barrier = remat.barrier %barrier : tensor<4xf32>
  %region = remat.region (%a = %region : tensor<4xf32>) -> tensor<4xf32> {
    remat.yield %a : tensor<4xf32>
  }
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
