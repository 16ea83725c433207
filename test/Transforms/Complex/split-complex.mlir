// RUN: remat-opt %s -split-input-file -remat-split-complex -canonicalize -cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

// Kernels, constants and views; nothing is complex in between.

// CHECK-LABEL: func @kernels
// CHECK-NOT: complex
// CHECK-DAG: arith.constant dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK-DAG: arith.constant dense<[2.000000e+00, -1.000000e+00]> : tensor<2xf32>
// CHECK-COUNT-2: tensor.extract_slice
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: arith.subf
// CHECK-NOT: complex
// CHECK: return
func.func @kernels(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %c = arith.constant dense<[(1.0, 2.0), (3.0, -1.0)]> : tensor<2xcomplex<f32>>
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xcomplex<f32>>) {
  ^bb0(%x: f32, %y: f32, %out: complex<f32>):
    %p = math.tanh %x : f32
    %n = complex.create %p, %y : complex<f32>
    linalg.yield %n : complex<f32>
  } -> tensor<4xcomplex<f32>>
  %s = tensor.extract_slice %z[1] [2] [1] : tensor<4xcomplex<f32>> to tensor<2xcomplex<f32>>
  %f = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%s, %c : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) outs(%f : tensor<2xf32>) {
  ^bb0(%x: complex<f32>, %y: complex<f32>, %out: f32):
    %m = complex.mul %x, %y : complex<f32>
    %re = complex.re %m : complex<f32>
    linalg.yield %re : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// Named operations too; a product is four products of real matrices.

// CHECK-LABEL: func @product
// CHECK-SAME: %[[A:.*]]: tensor<2x3xcomplex<f32>>, %[[B:.*]]: tensor<3x4xcomplex<f32>>
// CHECK: linalg.generic
// CHECK: complex.re
// CHECK: arith.negf
// CHECK-COUNT-4: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3x4xf32>)
// CHECK: complex.create
// CHECK: return %{{.*}} : tensor<2x4xcomplex<f32>>
func.func @product(%a: tensor<2x3xcomplex<f32>>, %b: tensor<3x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %e = tensor.empty() : tensor<2x4xcomplex<f32>>
  %start = linalg.fill ins(%zero : complex<f32>) outs(%e : tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %c = linalg.matmul ins(%a, %b : tensor<2x3xcomplex<f32>>, tensor<3x4xcomplex<f32>>) outs(%start : tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  return %c : tensor<2x4xcomplex<f32>>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Regions, loops, branches and names, and what is read element by element.

// CHECK-LABEL: func @control
// CHECK: %[[P:.*]]:2 = linalg.generic
// CHECK: %[[R:.*]]:3 = remat.region policy(#remat.dots_saveable) (%{{.*}} = %[[P]]#0 : tensor<?xf32>, %{{.*}} = %[[P]]#1 : tensor<?xf32>, %{{.*}} = %{{.*}} : tensor<?xf32>) -> tensor<?xf32>, tensor<?xf32>, f32 attributes {prevent_cse = array<i1: false, false, true>}
// CHECK: remat.name "z"
// CHECK: remat.name "z"
// CHECK: remat.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xf32>, f32
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[R]]#0, %{{.*}} = %[[R]]#1) -> (tensor<?xf32>, tensor<?xf32>)
// CHECK: arith.select {{.*}} : tensor<?xf32>
// CHECK: arith.select {{.*}} : tensor<?xf32>
// CHECK-NOT: complex
// CHECK: tensor.extract
// CHECK: tensor.extract
// CHECK-NOT: complex
// CHECK: return
func.func @control(%a: tensor<?xf32>, %n: index, %flag: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?xcomplex<f32>>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<?xf32>) outs(%e : tensor<?xcomplex<f32>>) {
  ^bb0(%x: f32, %out: complex<f32>):
    %t = math.tanh %x : f32
    %k = complex.create %x, %t : complex<f32>
    linalg.yield %k : complex<f32>
  } -> tensor<?xcomplex<f32>>
  %r, %first = remat.region policy(#remat.dots_saveable) (%p = %z : tensor<?xcomplex<f32>>, %q = %a : tensor<?xf32>) -> tensor<?xcomplex<f32>>, f32 attributes {prevent_cse = array<i1: false, true>} {
    %named = remat.name "z" %p : tensor<?xcomplex<f32>>
    %zero = arith.constant 0 : index
    %element = tensor.extract %q[%zero] : tensor<?xf32>
    remat.yield %named, %element : tensor<?xcomplex<f32>>, f32
  }
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%c = %r) -> (tensor<?xcomplex<f32>>) {
    %b = scf.if %flag -> (tensor<?xcomplex<f32>>) {
      scf.yield %c : tensor<?xcomplex<f32>>
    } else {
      scf.yield %z : tensor<?xcomplex<f32>>
    }
    scf.yield %b : tensor<?xcomplex<f32>>
  }
  %x = tensor.extract %l[%c0] : tensor<?xcomplex<f32>>
  %length = complex.abs %x : complex<f32>
  %sum = arith.addf %length, %first : f32
  return %sum : f32
}

// -----

// Complex numbers that are created from parts, padded, selected, inserted.

// CHECK-LABEL: func @parts
// CHECK-NOT: complex
// CHECK: %[[TWO:.*]] = arith.constant 2.0
// CHECK: tensor.pad
// CHECK: tensor.yield %[[TWO]]
// CHECK-NOT: complex
// CHECK: return
func.func @parts(%a: f32, %b: f32, %flag: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %x = complex.create %a, %b : complex<f32>
  %y = complex.create %b, %a : complex<f32>
  %u = tensor.from_elements %x, %y : tensor<2xcomplex<f32>>
  %v = tensor.splat %y : tensor<2xcomplex<f32>>
  %s = arith.select %flag, %u, %v : tensor<2xcomplex<f32>>
  %w = tensor.insert %x into %s[%c0] : tensor<2xcomplex<f32>>
  %p = tensor.pad %w low[1] high[0] {
  ^bb0(%i: index):
    %one = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
    tensor.yield %one : complex<f32>
  } : tensor<2xcomplex<f32>> to tensor<3xcomplex<f32>>
  %e = tensor.extract %p[%c0] : tensor<3xcomplex<f32>>
  %q = arith.select %flag, %e, %x : complex<f32>
  %r = complex.im %q : complex<f32>
  return %r : f32
}

// -----

// Nothing that is not complex changes.

// CHECK-LABEL: func @real
// CHECK: linalg.matmul
func.func @real(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = linalg.matmul ins(%a, %b : tensor<2x2xf32>, tensor<2x2xf32>) outs(%b : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %c : tensor<2x2xf32>
}
