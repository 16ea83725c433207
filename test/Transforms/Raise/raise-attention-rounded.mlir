// RUN: remat-opt %s --remat-raise-attention=rounded --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,ROUNDED
// RUN: remat-opt %s --remat-raise-attention --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,SUMS
// RUN: remat-opt %s --remat-raise-attention=rounded --remat-differentiate --canonicalize --cse | FileCheck %s --check-prefix=GRADIENT

#q = affine_map<(m, n, d) -> (m, d)>
#k = affine_map<(m, n, d) -> (n, d)>
#p = affine_map<(m, n, d) -> (m, n)>
#v = affine_map<(m, n, d) -> (d, n)>

// The result has the type of the product that it replaces if it is asked for, and so have the gradients.
// CHECK-LABEL: func @rounded_product(
// ROUNDED: %[[Y:.*]]:2 = remat.attention {{.*}} outs({{.*}} : tensor<16x8xbf16>, tensor<16xf32>)
// ROUNDED: linalg.generic {{.*}} ins(%[[Y]]#0 :
// SUMS: remat.attention {{.*}} outs({{.*}} : tensor<16x8xf32>, tensor<16xf32>)
// SUMS: arith.truncf
// GRADIENT: remat.attention_backward {{.*}} cotangent({{.*}} : tensor<16x8xbf16>, tensor<16xf32>, tensor<16xf32>)
// GRADIENT-SAME: outs({{.*}} : tensor<16x8xbf16>, tensor<16x8xbf16>, tensor<16x8xbf16>)
func.func @rounded_product(%q: tensor<16x8xbf16> {opt.param = "q"}, %k: tensor<16x8xbf16> {opt.param = "k"},
                           %v: tensor<16x8xbf16> {opt.param = "v"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #p], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<16x8xbf16>, tensor<16x8xbf16>) outs(%z : tensor<16x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %f = linalg.softmax dimension(1) ins(%s : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %eb = tensor.empty() : tensor<16x16xbf16>
  %narrow = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                            iterator_types = ["parallel", "parallel"]} ins(%f : tensor<16x16xf32>) outs(%eb : tensor<16x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x16xbf16>
  %zb = arith.constant 0.0 : bf16
  %eo = tensor.empty() : tensor<16x8xbf16>
  %zo = linalg.fill ins(%zb : bf16) outs(%eo : tensor<16x8xbf16>) -> tensor<16x8xbf16>
  %y = linalg.matmul ins(%narrow, %v : tensor<16x16xbf16>, tensor<16x8xbf16>) outs(%zo : tensor<16x8xbf16>) -> tensor<16x8xbf16>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> ()>],
                          iterator_types = ["reduction", "reduction"]} ins(%y : tensor<16x8xbf16>) outs(%z0 : tensor<f32>) {
  ^bb0(%a: bf16, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %x = arith.addf %o, %w : f32
    linalg.yield %x : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

#p2 = affine_map<(m, v, n) -> (m, n)>
#v2 = affine_map<(m, v, n) -> (n, v)>
#y2 = affine_map<(m, v, n) -> (m, v)>
#h3 = affine_map<(m, g, v) -> (m, g, v)>

// Exporters print sums of f32 that are rounded later, after a reshape.
// CHECK-LABEL: func @rounded_later(
// ROUNDED: remat.attention {{.*}} outs({{.*}} : tensor<16x8xbf16>, tensor<16xf32>)
// SUMS: remat.attention {{.*}} outs({{.*}} : tensor<16x8xf32>, tensor<16xf32>)
func.func @rounded_later(%q: tensor<16x8xbf16>, %k: tensor<16x8xbf16>, %v: tensor<16x8xbf16>) -> tensor<16x2x4xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #p], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<16x8xbf16>, tensor<16x8xbf16>) outs(%z : tensor<16x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %f = linalg.softmax dimension(1) ins(%s : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %eb = tensor.empty() : tensor<16x16xbf16>
  %narrow = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                            iterator_types = ["parallel", "parallel"]} ins(%f : tensor<16x16xf32>) outs(%eb : tensor<16x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x16xbf16>
  %ey = tensor.empty() : tensor<16x8xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = linalg.generic {indexing_maps = [#p2, #v2, #y2], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%narrow, %v : tensor<16x16xbf16>, tensor<16x8xbf16>) outs(%zy : tensor<16x8xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %x = arith.extf %a : bf16 to f32
    %w = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %w : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x8xf32>
  %heads = tensor.expand_shape %y [[0], [1, 2]] output_shape [16, 2, 4] : tensor<16x8xf32> into tensor<16x2x4xf32>
  %eh = tensor.empty() : tensor<16x2x4xbf16>
  %h = linalg.generic {indexing_maps = [#h3, #h3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%heads : tensor<16x2x4xf32>) outs(%eh : tensor<16x2x4xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x2x4xbf16>
  return %h : tensor<16x2x4xbf16>
}

// A result that is read as f32, too, is of f32.
// CHECK-LABEL: func @rounded_and_read(
// CHECK: remat.attention {{.*}} outs({{.*}} : tensor<16x8xf32>, tensor<16xf32>)
func.func @rounded_and_read(%q: tensor<16x8xbf16>, %k: tensor<16x8xbf16>, %v: tensor<16x8xbf16>) -> (tensor<16x2x4xbf16>, tensor<16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #p], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<16x8xbf16>, tensor<16x8xbf16>) outs(%z : tensor<16x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %y : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %f = linalg.softmax dimension(1) ins(%s : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %eb = tensor.empty() : tensor<16x16xbf16>
  %narrow = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                            iterator_types = ["parallel", "parallel"]} ins(%f : tensor<16x16xf32>) outs(%eb : tensor<16x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x16xbf16>
  %ey = tensor.empty() : tensor<16x8xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = linalg.generic {indexing_maps = [#p2, #v2, #y2], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%narrow, %v : tensor<16x16xbf16>, tensor<16x8xbf16>) outs(%zy : tensor<16x8xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %x = arith.extf %a : bf16 to f32
    %w = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %w : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x8xf32>
  %heads = tensor.expand_shape %y [[0], [1, 2]] output_shape [16, 2, 4] : tensor<16x8xf32> into tensor<16x2x4xf32>
  %eh = tensor.empty() : tensor<16x2x4xbf16>
  %h = linalg.generic {indexing_maps = [#h3, #h3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%heads : tensor<16x2x4xf32>) outs(%eh : tensor<16x2x4xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<16x2x4xbf16>
  return %h, %y : tensor<16x2x4xbf16>, tensor<16x8xf32>
}

#id2 = affine_map<(m, n) -> (m, n)>

// Where results are rounded, scores are not: scale, bias and mask are arithmetic on f32.
// CHECK-LABEL: func @scores_stay_wide(
// CHECK: remat.attention
// CHECK-SAME: scores({{.*}} : tensor<16x16xbf16>)
// CHECK-NEXT: ^bb0(%[[M:.*]]: index, %[[N:.*]]: index, %[[S:.*]]: f32, %[[BIAS:.*]]: bf16):
// ROUNDED-NOT: truncf
// ROUNDED-DAG: %[[WIDE:.*]] = arith.extf %[[BIAS]] : bf16 to f32
// ROUNDED-DAG: %[[SCALED:.*]] = arith.mulf %[[S]], %{{.*}} : f32
// ROUNDED-DAG: %[[SUM:.*]] = arith.addf %[[SCALED]], %[[WIDE]] : f32
// ROUNDED-DAG: %[[SEEN:.*]] = arith.cmpi ule, %[[N]], %[[M]]
// ROUNDED: %[[T:.*]] = arith.select %[[SEEN]], %[[SUM]], %{{.*}} : f32
// ROUNDED-NEXT: remat.yield %[[T]] : f32
// SUMS: arith.truncf %[[S]] : f32 to bf16
// SUMS: arith.mulf {{.*}} : bf16
func.func @scores_stay_wide(%q: tensor<16x8xbf16>, %k: tensor<16x8xbf16>, %v: tensor<16x8xbf16>, %bias: tensor<16x16xbf16>) -> tensor<16x8xbf16> {
  %zero = arith.constant 0.0 : f32
  %zb = arith.constant 0.0 : bf16
  %scale = arith.constant 0.375 : bf16
  %low = arith.constant 0xFF80 : bf16
  %e = tensor.empty() : tensor<16x16xf32>
  %eb = tensor.empty() : tensor<16x16xbf16>
  %zs = linalg.fill ins(%zb : bf16) outs(%eb : tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %et = tensor.empty() : tensor<8x16xbf16>
  %kt = linalg.transpose ins(%k : tensor<16x8xbf16>) outs(%et : tensor<8x16xbf16>) permutation = [1, 0]
  %s = linalg.matmul ins(%q, %kt : tensor<16x8xbf16>, tensor<8x16xbf16>) outs(%zs : tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %t = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %m = linalg.index 0 : index
    %n = linalg.index 1 : index
    %scaled = arith.mulf %a, %scale : bf16
    %sum = arith.addf %scaled, %b : bf16
    %seen = arith.cmpi ule, %n, %m : index
    %masked = arith.select %seen, %sum, %low : bf16
    %w = arith.extf %masked : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<16x16xf32>
  %f = linalg.softmax dimension(1) ins(%t : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %narrow = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%f : tensor<16x16xf32>) outs(%eb : tensor<16x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<16x16xbf16>
  %eo = tensor.empty() : tensor<16x8xbf16>
  %zo = linalg.fill ins(%zb : bf16) outs(%eo : tensor<16x8xbf16>) -> tensor<16x8xbf16>
  %y = linalg.matmul ins(%narrow, %v : tensor<16x16xbf16>, tensor<16x8xbf16>) outs(%zo : tensor<16x8xbf16>) -> tensor<16x8xbf16>
  return %y : tensor<16x8xbf16>
}
