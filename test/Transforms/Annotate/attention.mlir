// RUN: remat-opt %s -remat-annotate="whole save=attention" | FileCheck %s --check-prefix=SAVE
// RUN: remat-opt %s -remat-annotate="whole recompute=attention" | FileCheck %s --check-prefix=RECOMPUTE
// RUN: remat-opt %s -remat-annotate="ops=attention name=a" | FileCheck %s --check-prefix=NAME
// RUN: remat-opt %s -remat-annotate="ops=attention" | FileCheck %s --check-prefix=REGION
// RUN: remat-opt %s -remat-print-operations -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: remat-opt %s -remat-annotate="whole save=attention" -convert-elementwise-to-linalg -remat-raise-attention -remat-differentiate -remat-plan -remat-materialize | FileCheck %s --check-prefix=KEPT

// Attention by hand: its result is what can be saved, not scores or weights.
// The softmax of a gate, which multiplies what a layer computes, is not one.

// SAVE: remat.region policy(#remat.save_only_names<"saved">)
// SAVE: linalg.batch_matmul
// SAVE-NOT: remat.name
// SAVE: linalg.softmax
// SAVE-NOT: remat.name
// SAVE: %[[A:.*]] = linalg.batch_matmul
// SAVE-NEXT: remat.name "saved" %[[A]]
// SAVE-NOT: remat.name

// RECOMPUTE: linalg.transpose
// RECOMPUTE-NEXT: linalg.batch_matmul
// RECOMPUTE-NEXT: remat.name "recomputed"
// RECOMPUTE-NEXT: arith.mulf
// RECOMPUTE-NEXT: remat.name "recomputed"
// RECOMPUTE-NEXT: linalg.softmax
// RECOMPUTE-NEXT: remat.name "recomputed"
// RECOMPUTE: linalg.batch_matmul
// RECOMPUTE-NEXT: remat.name "recomputed"
// RECOMPUTE-NOT: remat.name

// NAME-COUNT-1: remat.name "a"
// NAME-NOT: remat.name "a"

// REGION: remat.region
// REGION: linalg.batch_matmul
// REGION: linalg.softmax
// REGION: linalg.batch_matmul
// REGION: remat.yield
// REGION-NOT: remat.region

// LIST: "op":"linalg.batch_matmul","kinds":["dot","attention"]
// LIST: "op":"linalg.softmax","kinds":["softmax","attention"]
// LIST: "op":"linalg.batch_matmul","kinds":["dot","attention"]
// LIST: "op":"linalg.softmax","kinds":["softmax"]

// With the number for each row, it is what the backward reads: attention is
// not recomputed.
// KEPT: remat.region
// KEPT: remat.attention ins
// KEPT: remat.backward
// KEPT-NOT: remat.attention ins
// KEPT: remat.attention_backward
func.func @loss(%x: tensor<2x8x4xf32>, %q: tensor<2x4x4xf32> {opt.param}, %k: tensor<2x4x4xf32> {opt.param},
                %g: tensor<2x4x4xf32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<0.5> : tensor<2x8x8xf32>
  %act = tensor.empty() : tensor<2x8x4xf32>
  %score = tensor.empty() : tensor<2x8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%act : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %squares = linalg.fill ins(%zero : f32) outs(%score : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %query = linalg.batch_matmul ins(%x, %q : tensor<2x8x4xf32>, tensor<2x4x4xf32>) outs(%zeros : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %key = linalg.batch_matmul ins(%x, %k : tensor<2x8x4xf32>, tensor<2x4x4xf32>) outs(%zeros : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %turned = tensor.empty() : tensor<2x4x8xf32>
  %keys = linalg.transpose ins(%key : tensor<2x8x4xf32>) outs(%turned : tensor<2x4x8xf32>) permutation = [0, 2, 1]
  %s = linalg.batch_matmul ins(%query, %keys : tensor<2x8x4xf32>, tensor<2x4x8xf32>) outs(%squares : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %scaled = arith.mulf %s, %one : tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%scaled : tensor<2x8x8xf32>) outs(%score : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %a = linalg.batch_matmul ins(%p, %query : tensor<2x8x8xf32>, tensor<2x8x4xf32>) outs(%zeros : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %logits = linalg.batch_matmul ins(%a, %g : tensor<2x8x4xf32>, tensor<2x4x4xf32>) outs(%zeros : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %gate = linalg.softmax dimension(2) ins(%logits : tensor<2x8x4xf32>) outs(%act : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %gated = arith.mulf %gate, %a : tensor<2x8x4xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> ()>],
                          iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%gated : tensor<2x8x4xf32>) outs(%start : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
