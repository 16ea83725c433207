// RUN: remat-opt %s -split-input-file -remat-differentiate -canonicalize | FileCheck %s

// A parameter is there anyway: of its slice only the offset is recorded, whatever that depends on, and the backward
// reads it where it lies.

// CHECK-LABEL: func.func @slice_of_a_parameter_is_read_in_place_grad(
// CHECK-SAME: %[[W:.*]]: tensor<8x4x4xf64> {opt.param}
// CHECK: %[[F:.*]]:{{[0-9]+}} = scf.for
// CHECK-NOT: tensor<4x4xf64> into
// CHECK:   remat.tape_write %{{.*}} : index into tensor<2xindex>
// CHECK-NOT: tensor<4x4xf64> into
// CHECK: scf.for
// CHECK:   %[[O:.*]] = remat.tape_read %{{.*}} : tensor<2xindex> -> index
// CHECK:   tensor.extract_slice %[[W]][%[[O]], 0, 0] [1, 4, 4] [1, 1, 1]
func.func @slice_of_a_parameter_is_read_in_place(%w: tensor<8x4x4xf64> {opt.param}, %x: tensor<2x4xf64>, %i: tensor<2xi64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = scf.for %t = %c0 to %c2 step %c1 iter_args(%sum = %f) -> tensor<f64> {
    %part = tensor.extract_slice %i[%t] [1] [1] : tensor<2xi64> to tensor<i64>
    %scalar = tensor.empty() : tensor<i64>
    %doubled = linalg.add ins(%part, %part : tensor<i64>, tensor<i64>) outs(%scalar : tensor<i64>) -> tensor<i64>
    %number = tensor.extract %doubled[] : tensor<i64>
    %offset = arith.index_cast %number : i64 to index
    %m = tensor.extract_slice %w[%offset, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<8x4x4xf64> to tensor<4x4xf64>
    %e = tensor.empty() : tensor<2x4xf64>
    %z = linalg.fill ins(%zero : f64) outs(%e : tensor<2x4xf64>) -> tensor<2x4xf64>
    %p = linalg.matmul ins(%x, %m : tensor<2x4xf64>, tensor<4x4xf64>) outs(%z : tensor<2x4xf64>) -> tensor<2x4xf64>
    %q = linalg.matmul ins(%p, %m : tensor<2x4xf64>, tensor<4x4xf64>) outs(%z : tensor<2x4xf64>) -> tensor<2x4xf64>
    %r = linalg.reduce {arith.addf} ins(%q : tensor<2x4xf64>) outs(%sum : tensor<f64>) dimensions = [0, 1]
    scf.yield %r : tensor<f64>
  }
  return %l : tensor<f64>
}

// -----

// The same through a region, which reads the whole parameter.

// CHECK-LABEL: func.func @slice_in_a_region_is_read_in_place_grad(
// CHECK-SAME: %[[W:.*]]: tensor<8x4xf64> {opt.param}
// CHECK: remat.region
// CHECK: %[[O:.*]] = remat.tape_read %{{.*}} : tensor<2xindex> -> index
// CHECK: remat.backward (%[[IN:.*]] = %[[W]] : tensor<8x4xf64>) residuals(%[[OFFSET:.*]] = %[[O]] : index)
// CHECK:   tensor.extract_slice %[[IN]][%[[OFFSET]], 0] [1, 4] [1, 1]
func.func @slice_in_a_region_is_read_in_place(%w: tensor<8x4xf64> {opt.param}, %i: tensor<2xi64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = scf.for %t = %c0 to %c2 step %c1 iter_args(%sum = %f) -> tensor<f64> {
    %part = tensor.extract_slice %i[%t] [1] [1] : tensor<2xi64> to tensor<i64>
    %r = remat.region (%whole = %w : tensor<8x4xf64>, %p = %part : tensor<i64>, %before = %sum : tensor<f64>) -> tensor<f64> {
      %scalar = tensor.empty() : tensor<i64>
      %doubled = linalg.add ins(%p, %p : tensor<i64>, tensor<i64>) outs(%scalar : tensor<i64>) -> tensor<i64>
      %number = tensor.extract %doubled[] : tensor<i64>
      %offset = arith.index_cast %number : i64 to index
      %m = tensor.extract_slice %whole[%offset, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
      %d = linalg.dot ins(%m, %m : tensor<4xf64>, tensor<4xf64>) outs(%before : tensor<f64>) -> tensor<f64>
      remat.yield %d : tensor<f64>
    }
    scf.yield %r : tensor<f64>
  }
  return %l : tensor<f64>
}

// -----

// Of what is computed, the slices are recorded if that is less than all of it.

// CHECK-LABEL: func.func @few_slices_of_what_is_computed_are_saved_grad(
// CHECK: remat.tape_write %{{.*}} : tensor<4xf64> into tensor<2x4xf64>
func.func @few_slices_of_what_is_computed_are_saved(%w: tensor<8x4xf64> {opt.param}, %i: tensor<2xi64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %e = tensor.empty() : tensor<8x4xf64>
  %v = linalg.exp ins(%w : tensor<8x4xf64>) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
  %l = scf.for %t = %c0 to %c2 step %c1 iter_args(%sum = %f) -> tensor<f64> {
    %part = tensor.extract_slice %i[%t] [1] [1] : tensor<2xi64> to tensor<i64>
    %scalar = tensor.empty() : tensor<i64>
    %doubled = linalg.add ins(%part, %part : tensor<i64>, tensor<i64>) outs(%scalar : tensor<i64>) -> tensor<i64>
    %number = tensor.extract %doubled[] : tensor<i64>
    %offset = arith.index_cast %number : i64 to index
    %m = tensor.extract_slice %v[%offset, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
    %d = linalg.dot ins(%m, %m : tensor<4xf64>, tensor<4xf64>) outs(%sum : tensor<f64>) -> tensor<f64>
    scf.yield %d : tensor<f64>
  }
  return %l : tensor<f64>
}

// -----

// CHECK-LABEL: func.func @many_slices_of_what_is_computed_are_read_in_place_grad(
// CHECK: %[[V:.*]] = linalg.exp
// CHECK-NOT: tensor<9x4xf64>
// CHECK: remat.tape_write %{{.*}} : index into tensor<9xindex>
// CHECK-NOT: tensor<9x4xf64>
// CHECK: scf.for
// CHECK: tensor.extract_slice %[[V]][%{{.*}}, 0] [1, 4] [1, 1]
func.func @many_slices_of_what_is_computed_are_read_in_place(%w: tensor<8x4xf64> {opt.param}, %i: tensor<9xi64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %e = tensor.empty() : tensor<8x4xf64>
  %v = linalg.exp ins(%w : tensor<8x4xf64>) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
  %l = scf.for %t = %c0 to %c9 step %c1 iter_args(%sum = %f) -> tensor<f64> {
    %part = tensor.extract_slice %i[%t] [1] [1] : tensor<9xi64> to tensor<i64>
    %scalar = tensor.empty() : tensor<i64>
    %doubled = linalg.add ins(%part, %part : tensor<i64>, tensor<i64>) outs(%scalar : tensor<i64>) -> tensor<i64>
    %number = tensor.extract %doubled[] : tensor<i64>
    %offset = arith.index_cast %number : i64 to index
    %m = tensor.extract_slice %v[%offset, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<4xf64>
    %d = linalg.dot ins(%m, %m : tensor<4xf64>, tensor<4xf64>) outs(%sum : tensor<f64>) -> tensor<f64>
    scf.yield %d : tensor<f64>
  }
  return %l : tensor<f64>
}

// -----

// The gradient of the slice is added to that of the parameter by the product, which starts from what is there.

// CHECK-LABEL: func.func @product_adds_to_the_slice_grad(
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<8x4x4xf64>)
// CHECK:   %[[PART:.*]] = tensor.extract_slice %[[SUM]][%[[O:.*]], 0, 0] [1, 4, 4] [1, 1, 1] {{.*}} : tensor<8x4x4xf64> to tensor<4x4xf64>
// CHECK:   %[[ADDED:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x4xf64>, tensor<2x4xf64>) outs(%[[PART]] : tensor<4x4xf64>)
// CHECK:   %[[NEXT:.*]] = tensor.insert_slice %[[ADDED]] into %[[SUM]][%[[O]], 0, 0] [1, 4, 4] [1, 1, 1]
// CHECK:   scf.yield {{.*}}%[[NEXT]]
func.func @product_adds_to_the_slice(%w: tensor<8x4x4xf64> {opt.param}, %x: tensor<2x4xf64>, %i: tensor<3xindex>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = scf.for %t = %c0 to %c3 step %c1 iter_args(%sum = %f) -> tensor<f64> {
    %offset = tensor.extract %i[%t] : tensor<3xindex>
    %one = tensor.extract_slice %w[%offset, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<8x4x4xf64> to tensor<1x4x4xf64>
    %m = tensor.collapse_shape %one [[0, 1], [2]] : tensor<1x4x4xf64> into tensor<4x4xf64>
    %e = tensor.empty() : tensor<2x4xf64>
    %z = linalg.fill ins(%zero : f64) outs(%e : tensor<2x4xf64>) -> tensor<2x4xf64>
    %p = linalg.matmul ins(%x, %m : tensor<2x4xf64>, tensor<4x4xf64>) outs(%z : tensor<2x4xf64>) -> tensor<2x4xf64>
    %h = linalg.tanh ins(%p : tensor<2x4xf64>) outs(%e : tensor<2x4xf64>) -> tensor<2x4xf64>
    %r = linalg.reduce {arith.addf} ins(%h : tensor<2x4xf64>) outs(%sum : tensor<f64>) dimensions = [0, 1]
    scf.yield %r : tensor<f64>
  }
  return %l : tensor<f64>
}

// -----

// A product of more terms than one chain has adds up its own first: the bits do not depend on what may come between it
// and the slice.

// CHECK-LABEL: func.func @long_product_is_added_grad(
// CHECK: %[[PRODUCT:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<513x4xf64>, tensor<513x4xf64>) outs(%{{.*}} : tensor<4x4xf64>)
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]] : tensor<4x4xf64>) outs(%{{.*}} : tensor<4x4xf64>)
// CHECK: tensor.insert_slice
func.func @long_product_is_added(%w: tensor<8x4x4xf64> {opt.param}, %x: tensor<513x4xf64>, %i: tensor<3xindex>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = scf.for %t = %c0 to %c3 step %c1 iter_args(%sum = %f) -> tensor<f64> {
    %offset = tensor.extract %i[%t] : tensor<3xindex>
    %m = tensor.extract_slice %w[%offset, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<8x4x4xf64> to tensor<4x4xf64>
    %e = tensor.empty() : tensor<513x4xf64>
    %z = linalg.fill ins(%zero : f64) outs(%e : tensor<513x4xf64>) -> tensor<513x4xf64>
    %p = linalg.matmul ins(%x, %m : tensor<513x4xf64>, tensor<4x4xf64>) outs(%z : tensor<513x4xf64>) -> tensor<513x4xf64>
    %h = linalg.tanh ins(%p : tensor<513x4xf64>) outs(%e : tensor<513x4xf64>) -> tensor<513x4xf64>
    %r = linalg.reduce {arith.addf} ins(%h : tensor<513x4xf64>) outs(%sum : tensor<f64>) dimensions = [0, 1]
    scf.yield %r : tensor<f64>
  }
  return %l : tensor<f64>
}
