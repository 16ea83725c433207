// RUN: remat-opt %s --remat-reuse-results --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-reuse-results --remat-fuse --split-input-file | FileCheck %s --check-prefix=FUSED

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#inner = affine_map<(d0, d1) -> (d1)>
#outer = affine_map<(d0, d1) -> (d0)>

// The masked cotangent is stored for %sum anyway: the reduction needs neither
// %y nor %dy, whatever the order of its loops.
// CHECK-LABEL: func @reads_mask
// CHECK-SAME: (%[[Y:[^:]*]]: tensor<8x4xf32>, %[[DY:[^:]*]]: tensor<8x4xf32>, %[[H:[^:]*]]: tensor<8x4xf32>
// CHECK: %[[DX:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[DY]] :
// CHECK: %[[DB:.*]] = linalg.generic
// CHECK-SAME: ins(%[[H]], %[[DX]] :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[B]], %[[A]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[ACC]], %[[P]]
// CHECK-NEXT: linalg.yield %[[S]]
func.func @reads_mask(%y: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %h: tensor<8x4xf32>, %dz: tensor<8x4xf32>,
                      %db: tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %c, %b, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %sum_h = linalg.generic {indexing_maps = [#swap, #swap, #swap, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%y, %dy, %h : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) outs(%db : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %g: f32, %out: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %c, %b, %zero : f32
    %p = arith.mulf %m, %g : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %sum = linalg.add ins(%dx, %dz : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %sum_h, %sum : tensor<4xf32>, tensor<8x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#inner = affine_map<(d0, d1) -> (d1)>

// Of two results, the scaled one is made from the other: its only reader makes
// it.
// CHECK-LABEL: func @separates
// CHECK: %[[DX:.*]] = linalg.generic
// CHECK: linalg.yield %{{[^,]*}} : f32
// CHECK: %[[DH:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[DX]] : tensor<4xf32>, tensor<8x4xf32>)
// FUSED-LABEL: func @separates
// FUSED-COUNT-2: linalg.generic
// FUSED-NOT: linalg.generic
// FUSED: linalg.exp
func.func @separates(%y: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %g: tensor<4xf32>, %h: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %d:2 = linalg.generic {indexing_maps = [#id, #id, #inner, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy, %g : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>) outs(%e, %e : tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32, %out2: f32):
    %p = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %p, %b, %zero : f32
    %s = arith.mulf %m, %c : f32
    linalg.yield %s, %m : f32, f32
  } -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %dh = linalg.mul ins(%d#0, %h : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = remat.barrier %dh : tensor<8x4xf32>
  %dx = linalg.exp ins(%d#1 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %dx : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#inner = affine_map<(d0, d1) -> (d1)>
#outer = affine_map<(d0, d1) -> (d0)>

// With the mask out of its body the sum would be a library's product, which adds
// in another order.
// CHECK-LABEL: func @no_product
// CHECK: arith.select
// CHECK: arith.select
func.func @no_product(%y: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %v: tensor<4xf32>, %out: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %c, %b, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #inner, #outer], iterator_types = ["parallel", "reduction"]}
      ins(%y, %dy, %v : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>) outs(%out : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %f: f32, %o: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %c, %b, %zero : f32
    %q = arith.mulf %m, %f : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %dx2 = linalg.exp ins(%dx : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %p, %dx2 : tensor<8xf32>, tensor<8x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#inner = affine_map<(d0, d1) -> (d1)>

// A value that only a branch of the body uses stays an operand.
// CHECK-LABEL: func @in_branch
// CHECK: %[[DX:.*]] = linalg.generic
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[DX]] :
// CHECK: ^bb0(%[[H:.*]]: f32, %[[M:.*]]: f32, %{{.*}}: f32):
// CHECK: scf.if
// CHECK-NEXT: scf.yield %[[H]]
// CHECK: scf.yield %[[M]]
// CHECK: arith.mulf %[[M]], %
func.func @in_branch(%y: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %h: tensor<8x4xf32>, %db: tensor<4xf32>, %flag: i1)
    -> (tensor<4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %c, %b, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %sum_h = linalg.generic {indexing_maps = [#id, #id, #id, #inner], iterator_types = ["reduction", "parallel"]}
      ins(%y, %dy, %h : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) outs(%db : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %g: f32, %out: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %m = arith.select %c, %b, %zero : f32
    %p = scf.if %flag -> f32 {
      scf.yield %g : f32
    } else {
      scf.yield %m : f32
    }
    %q = arith.mulf %m, %p : f32
    %s = arith.addf %out, %q : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %dx2 = linalg.exp ins(%dx : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %sum_h, %dx2 : tensor<4xf32>, tensor<8x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Cases that must stay as they are: each second kernel keeps its body.
// CHECK-LABEL: func @stay
func.func @stay(%y: tensor<8xf32>, %dy: tensor<8xf32>, %h: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>

  // A forward value that the backward recomputes: it would be saved.
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  %f = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%y, %dy : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK: arith.mulf
  // CHECK: arith.subf
  remat.begin_backward
  %g = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%y, %dy, %h : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>)
      attrs = {remat.phase = "backward"} {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.subf %m, %c : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>

  // Nothing reads %f2 later: it would live longer.
  %f2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%y, %h : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.divf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %used = linalg.exp ins(%f2 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  // CHECK: linalg.exp
  // CHECK: linalg.generic
  // CHECK: arith.divf
  // CHECK: math.tanh
  %g2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%y, %h : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.divf %a, %b : f32
    %s = math.tanh %m : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>

  // %y and %dy are needed all the same: one tensor more would be read.
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  // CHECK: arith.addf
  // CHECK: arith.divf
  %g3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%y, %dy : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %a : f32
    %t = arith.divf %s, %b : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  // CHECK: return
  return %f, %g, %used, %g2, %g3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#line = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @results_that_other_blocks_read(
// CHECK: %[[STORED:.*]]:2 = linalg.generic
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]#{{[01]}} :
func.func @results_that_other_blocks_read(%x: tensor<4xf32>, %m: tensor<4xf32>, %e: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>) {
  %a:2 = linalg.generic {indexing_maps = [#line, #line, #line, #line], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e, %e : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o0: f32, %o1: f32):
    %s = arith.mulf %p, %q : f32
    %t = math.cos %s : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %b = linalg.generic {indexing_maps = [#line, #line, #line], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %u = math.exp %s : f32
    linalg.yield %u : f32
  } -> tensor<4xf32>
  cf.cond_br %c, ^left, ^right
^left:
  return %a#0, %b : tensor<4xf32>, tensor<4xf32>
^right:
  return %a#1, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#inner = affine_map<(d0, d1) -> (d1)>

// No result makes the other one, but both are made from the masked cotangent:
// it is stored in their place, and the sum reads it, too.
// CHECK-LABEL: func @stores_what_both_are_made_from(
// CHECK-SAME: %[[Y:[^:]*]]: tensor<8x4xf32>, %[[DY:[^:]*]]: tensor<8x4xf32>, %[[G:[^:]*]]: tensor<4xf32>, %[[H:[^:]*]]: tensor<4xf32>
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[DY]] :
// CHECK: arith.select
// CHECK-NEXT: linalg.yield
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[M]] :
// CHECK: linalg.generic {{.*}} ins(%[[G]], %[[M]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: linalg.yield
// CHECK: linalg.add
// CHECK: linalg.generic {{.*}} ins(%[[H]], %[[M]] :
// CHECK: linalg.sub
// FUSED-LABEL: func @stores_what_both_are_made_from(
// FUSED-COUNT-4: linalg.generic
// FUSED-NOT: linalg.{{generic|add|sub}}
// FUSED: return
func.func @stores_what_both_are_made_from(%y: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>,
    %a: tensor<8x4xf32>, %db: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %d:2 = linalg.generic {indexing_maps = [#id, #id, #inner, #inner, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy, %g, %h : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%e, %e : tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %u: f32, %v: f32, %o: f32, %o2: f32):
    %c = arith.cmpf ogt, %p, %zero : f32
    %m = arith.select %c, %q, %zero : f32
    %s = arith.mulf %m, %u : f32
    %t = arith.mulf %m, %v : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %sum = linalg.generic {indexing_maps = [#id, #id, #inner], iterator_types = ["reduction", "parallel"]}
      ins(%y, %dy : tensor<8x4xf32>, tensor<8x4xf32>) outs(%db : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %c = arith.cmpf ogt, %p, %zero : f32
    %m = arith.select %c, %q, %zero : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %dg = linalg.add ins(%d#0, %a : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %dh = linalg.sub ins(%d#1, %a : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %dg, %dh, %sum : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#inner = affine_map<(d0, d1) -> (d1)>

// Kernels that stay as they are: one whose results need a tensor of full size
// besides what they share, one whose results go into one reader (and disappear
// with it), and one with a result that two read.
// CHECK-LABEL: func @stores_both(
// CHECK: %{{.*}}:2 = linalg.generic
// CHECK: %{{.*}}:2 = linalg.generic
// CHECK: %{{.*}}:2 = linalg.generic
func.func @stores_both(%y: tensor<8x4xf32>, %dy: tensor<8x4xf32>, %g: tensor<4xf32>, %h: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %a:2 = linalg.generic {indexing_maps = [#id, #id, #inner, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy, %g, %h : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>)
      outs(%e, %e : tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %u: f32, %v: f32, %o: f32, %o2: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.mulf %m, %u : f32
    %t = arith.mulf %m, %v : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %a0 = linalg.exp ins(%a#0 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %a1 = linalg.tanh ins(%a#1 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %b:2 = linalg.generic {indexing_maps = [#id, #id, #inner, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy, %g : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>) outs(%e, %e : tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %u: f32, %o: f32, %o2: f32):
    %m = arith.addf %p, %q : f32
    %s = arith.mulf %m, %u : f32
    %t = arith.addf %m, %u : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %b0 = linalg.mul ins(%b#0, %b#1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c:2 = linalg.generic {indexing_maps = [#id, #id, #inner, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %dy, %g : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>) outs(%e, %e : tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%p: f32, %q: f32, %u: f32, %o: f32, %o2: f32):
    %m = arith.subf %p, %q : f32
    %s = arith.mulf %m, %u : f32
    %t = arith.addf %m, %u : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %c0 = linalg.exp ins(%c#0 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c1 = linalg.exp ins(%c#1 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c2 = linalg.tanh ins(%c#1 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %a0, %a1, %b0, %c0, %c1, %c2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// The mask reads two tensors that the sums read, too. The sums read the masked cotangent in place of the plain one, so
// that nothing stores the latter: fusion adds up where it is masked.
// CHECK-LABEL: func @sums_read_what_is_masked(
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK: %[[MASKED:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[SUM]] :
// CHECK: linalg.generic {{.*}}"reduction", "parallel"]} ins(%{{.*}}, %{{.*}}, %[[MASKED]] :
// FUSED-LABEL: func @sums_read_what_is_masked(
// FUSED-NOT: linalg.add
// FUSED: arith.cmpf
// FUSED-NOT: arith.cmpf
func.func @sums_read_what_is_masked(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %g: tensor<8x4xf32>, %h: tensor<8x4xf32>, %da: tensor<4xf32>, %db: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %sum = linalg.add ins(%g, %h : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %masked = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %sum : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %out: f32):
    %s = arith.addf %x, %y : f32
    %c = arith.cmpf ogt, %s, %zero : f32
    %m = arith.select %c, %z, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %sums:2 = linalg.generic {indexing_maps = [#id, #id, #id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%a, %b, %sum : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) outs(%da, %db : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %o: f32, %p: f32):
    %s = arith.addf %x, %y : f32
    %c = arith.cmpf ogt, %s, %zero : f32
    %m = arith.select %c, %z, %zero : f32
    %mx = arith.mulf %m, %x : f32
    %my = arith.mulf %m, %y : f32
    %0 = arith.addf %o, %mx : f32
    %1 = arith.addf %p, %my : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %ea = linalg.mul ins(%masked, %a : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %eb = linalg.mul ins(%masked, %b : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %sums#0, %sums#1, %ea, %eb : tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
