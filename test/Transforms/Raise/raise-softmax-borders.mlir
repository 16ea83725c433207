// RUN: remat-opt %s --remat-raise-softmax --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// A softmax is found wherever names and borders of regions stand: bits must not depend on them.

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @named_parts(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4xf32>
// CHECK-NEXT: %[[E:.*]] = tensor.empty()
// CHECK-NEXT: %[[Y:.*]] = linalg.softmax dimension(1) ins(%[[X]] : tensor<4x8xf32>) outs(%[[E]]
// CHECK-NEXT: return %[[Y]]
func.func @named_parts(%x: tensor<4x8xf32>, %low: tensor<4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %es = tensor.empty() : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%es : tensor<4xf32>) -> tensor<4xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%low : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32):
    %n = arith.maximumf %a, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  // expected-remark @+1 {{the name "maximum" is gone: a softmax computes this value for itself; name what it reads or its result}}
  %nm = remat.name "maximum" %max : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %nm : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  // expected-remark @+1 {{the name "differences" is gone}}
  %nd = remat.name "differences" %d : tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%nd : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  // expected-remark @+1 {{the name "powers" is gone}}
  %np = remat.name "powers" %p : tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%np : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // expected-remark @+1 {{the name "sum" is gone}}
  %ns = remat.name "sum" %s : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%np, %ns : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Its operand and its result keep their names.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @keeps_names_outside(
// CHECK: %[[X:.*]] = remat.name "scores"
// CHECK: %[[Y:.*]] = linalg.softmax dimension(1) ins(%[[X]]
// CHECK: %[[N:.*]] = remat.name "probabilities" %[[Y]]
// CHECK: return %[[N]]
func.func @keeps_names_outside(%scores: tensor<4x8xf32>, %low: tensor<4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %es = tensor.empty() : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%es : tensor<4xf32>) -> tensor<4xf32>
  %x = remat.name "scores" %scores : tensor<4x8xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores : tensor<4x8xf32>) outs(%low : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32):
    %n = arith.maximumf %a, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %n = remat.name "probabilities" %y : tensor<4x8xf32>
  return %n : tensor<4x8xf32>
}

// -----

// In several regions, one of which passes on what enters it; it stays in that of its division.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @across_regions(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4xf32>
// CHECK-NEXT: remat.region policy(#remat.everything_saveable) (%[[IN:.*]] = %[[X]] : tensor<4x8xf32>)
// CHECK-NEXT: %[[E:.*]] = tensor.empty()
// CHECK-NEXT: %[[Y:.*]] = linalg.softmax dimension(1) ins(%[[IN]] : tensor<4x8xf32>) outs(%[[E]]
// CHECK-NEXT: remat.yield %[[Y]]
// CHECK-NOT: remat.region
func.func @across_regions(%x: tensor<4x8xf32>, %low: tensor<4xf32>) -> tensor<4x8xf32> {
  %d, %same = remat.region policy(#remat.nothing_saveable) (%x0 = %x : tensor<4x8xf32>, %low0 = %low : tensor<4xf32>) -> tensor<4x8xf32>, tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x0 : tensor<4x8xf32>) outs(%low0 : tensor<4xf32>) {
    ^bb0(%a: f32, %m: f32):
      %n = arith.maximumf %a, %m : f32
      linalg.yield %n : f32
    } -> tensor<4xf32>
    %d0 = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
        ins(%x0, %max : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %m: f32, %o: f32):
      %r = arith.subf %a, %m : f32
      linalg.yield %r : f32
    } -> tensor<4x8xf32>
    remat.yield %d0, %x0 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  %y = remat.region policy(#remat.everything_saveable) (%d1 = %d : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %es = tensor.empty() : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%es : tensor<4xf32>) -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
        ins(%d1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = math.exp %a : f32
      linalg.yield %r : f32
    } -> tensor<4x8xf32>
    %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
        ins(%p : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = arith.addf %a, %o : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %q = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
        ins(%p, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = arith.divf %a, %b : f32
      linalg.yield %r : f32
    } -> tensor<4x8xf32>
    remat.yield %q : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// Without its name the sum is that of the exponentials that are returned as well: neither is part of a softmax.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @must_not_hide_equal_exponentials(
// CHECK-NOT: linalg.softmax
// CHECK: return
func.func @must_not_hide_equal_exponentials(%x: tensor<4x8xf32>, %low: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %es = tensor.empty() : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%es : tensor<4xf32>) -> tensor<4xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%low : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32):
    %n = arith.maximumf %a, %m : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.subf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %nd = remat.name "differences" %d : tensor<4x8xf32>
  %other = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%nd : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %y, %other : tensor<4x8xf32>, tensor<4x8xf32>
}
