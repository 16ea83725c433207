// RUN: remat-opt %s --remat-repeat-at-peak | FileCheck %s
// RUN: remat-opt %s --remat-repeat-at-peak --cse --canonicalize --cse | FileCheck %s
// RUN: remat-opt %s --remat-repeat-at-peak --remat-repeat-at-peak | FileCheck %s
// RUN: not remat-opt %s --remat-repeat-at-peak=alignment=0 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// ALIGNMENT: error: alignment must be at least 1, but got 0

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#id3 = affine_map<(i, j, k) -> (i, j, k)>
#last = affine_map<(i, j, k) -> (j, k)>
#first = affine_map<(i, j, k) -> (i)>
#left = affine_map<(i, j, k) -> (k, i)>
#right = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>

// The peak is where the product's result and what is made of it are alive together; %x is an argument, alive all the time.
// CHECK-LABEL: func.func @waits_out_the_peak(
// CHECK-SAME: %[[X:.*]]: tensor<512x128xf32>
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: %[[H:.*]] = linalg.matmul ins(%[[N]],
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[H]],
// CHECK: %[[X1:.*]] = remat.barrier %[[X]] after %[[B]] repeated
// CHECK: %[[N1:.*]] = linalg.generic {{.*}} ins(%[[X1]] : {{.*}} attrs = {{.*}}remat.phase = "recompute"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.mulf
// CHECK-NOT: remat.barrier
// CHECK: linalg.generic {{.*}} ins(%[[N1]], %[[B]] :
func.func @waits_out_the_peak(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>) -> (tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %dw : tensor<128x2048xf32>
}

// The destination of what reads it again stands in front of what it is made of.
// CHECK-LABEL: func.func @behind_the_destination(
// CHECK: linalg.fill {{.*}}tensor<128x2048xf32>
// CHECK: %[[Y:.*]] = linalg.exp
// CHECK: %[[B:.*]] = linalg.generic {{.*}}tensor<512x2048xf32>) outs
// CHECK: remat.barrier %[[Y]] after %[[B]] repeated
func.func @behind_the_destination(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>) -> (tensor<512x128xf32>, tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %ey = tensor.empty() : tensor<512x128xf32>
  %y = linalg.exp ins(%x : tensor<512x128xf32>) outs(%ey : tensor<512x128xf32>) -> tensor<512x128xf32>
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %y, %dw : tensor<512x128xf32>, tensor<128x2048xf32>
}

// The later reader sees it in another shape.
// CHECK-LABEL: func.func @through_a_view(
// CHECK: %[[B:.*]] = linalg.generic {{.*}}tensor<512x2048xf32>) outs
// CHECK: remat.barrier %{{.*}} after %[[B]]
// CHECK: %[[N1:.*]] = linalg.generic {{.*}}remat.phase = "recompute"
// CHECK: %[[V1:.*]] = tensor.expand_shape %[[N1]]
// CHECK: linalg.generic {{.*}} ins(%[[V1]], %[[B]] :
func.func @through_a_view(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>) -> (tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %v = tensor.expand_shape %n [[0], [1, 2]] output_shape [512, 128, 1] : tensor<512x128xf32> into tensor<512x128x1xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i, 0)>, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v, %b : tensor<512x128x1xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %dw : tensor<128x2048xf32>
}

// CHECK-LABEL: func.func @must_not_change_what_the_forward_keeps(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_change_what_the_forward_keeps(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>) -> (tensor<512xf32>, tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %el = tensor.empty() : tensor<512xf32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<512xf32>) -> tensor<512xf32>
  %loss = linalg.reduce {arith.addf} ins(%n : tensor<512x128xf32>) outs(%zl : tensor<512xf32>) dimensions = [1]
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %loss, %dw : tensor<512xf32>, tensor<128x2048xf32>
}

// A kernel's start takes longer than all of this may.
// CHECK-LABEL: func.func @must_not_take_long(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_take_long(%x: tensor<64x32xf32>, %w: tensor<32x512xf32>, %dy: tensor<64x512xf32>) -> tensor<32x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %eh = tensor.empty() : tensor<64x512xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<64x512xf32>) -> tensor<64x512xf32>
  %h = linalg.matmul ins(%n, %w : tensor<64x32xf32>, tensor<32x512xf32>) outs(%zh : tensor<64x512xf32>) -> tensor<64x512xf32>
  %et = tensor.empty() : tensor<64x512xf32>
  %t = linalg.exp ins(%h : tensor<64x512xf32>) outs(%et : tensor<64x512xf32>) -> tensor<64x512xf32>
  %eb = tensor.empty() : tensor<64x512xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<64x512xf32>, tensor<64x512xf32>) outs(%eb : tensor<64x512xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<64x512xf32>
  %ew = tensor.empty() : tensor<32x512xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<32x512xf32>) -> tensor<32x512xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<64x32xf32>, tensor<64x512xf32>) outs(%zw : tensor<32x512xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<32x512xf32>
  return %dw : tensor<32x512xf32>
}

// %y, of f16, would have to live through the peak instead, for half as much and a number of each row.
// CHECK-LABEL: func.func @must_not_keep_what_it_reads(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_keep_what_it_reads(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>) -> (tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %e16 = tensor.empty() : tensor<512x128xf16>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<512x128xf32>) outs(%zr : tensor<512xf32>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e16 : tensor<512x128xf16>) {
  ^bb0(%a: f32, %o: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<512x128xf16>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %r : tensor<512x128xf16>, tensor<512xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f16, %c: f32, %o: f32):
    %b = arith.extf %a : f16 to f32
    %0 = arith.mulf %b, %c : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %dw : tensor<128x2048xf32>
}

// %r dies before the peak, but it is small.
// CHECK-LABEL: func.func @keeps_a_number_of_each_row(
// CHECK: remat.barrier
func.func @keeps_a_number_of_each_row(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>) -> (tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<512x128xf32>) outs(%zr : tensor<512xf32>) dimensions = [1]
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<512x128xf32>, tensor<512xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %dw : tensor<128x2048xf32>
}

// An update stands in between.
// CHECK-LABEL: func.func @must_not_read_a_new_value(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_read_a_new_value(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>, %gain: tensor<512x128xf32> {bufferization.writable = true}) -> (tensor<128x2048xf32> {remat.gradient_of = 1}, tensor<512x128xf32> {remat.updates = 3}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %gain : tensor<512x128xf32>, tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %g: f32, %o: f32):
    %0 = arith.mulf %a, %g : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %gain1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%gain : tensor<512x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.subf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %dw, %gain1 : tensor<128x2048xf32>, tensor<512x128xf32>
}

// A gather is no stream of memory.
// CHECK-LABEL: func.func @must_not_pick_elements_again(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_pick_elements_again(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>, %table: tensor<64x128xf32>, %rows: tensor<512xindex>) -> (tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<512xindex>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%r: index, %o: f32):
    %j = linalg.index 1 : index
    %0 = tensor.extract %table[%r, %j] : tensor<64x128xf32>
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x2048xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %et = tensor.empty() : tensor<512x2048xf32>
  %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x2048xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x2048xf32>
  %ew = tensor.empty() : tensor<128x2048xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x2048xf32>
  return %dw : tensor<128x2048xf32>
}

// 256 KiB of 32 MiB.
// CHECK-LABEL: func.func @must_not_repeat_without_gain(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_repeat_without_gain(%x: tensor<512x128xf32>, %w: tensor<128x8192xf32>, %dy: tensor<512x8192xf32>) -> (tensor<128x8192xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x128xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x128xf32>
  %eh = tensor.empty() : tensor<512x8192xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x8192xf32>) -> tensor<512x8192xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x8192xf32>) outs(%zh : tensor<512x8192xf32>) -> tensor<512x8192xf32>
  %et = tensor.empty() : tensor<512x8192xf32>
  %t = linalg.exp ins(%h : tensor<512x8192xf32>) outs(%et : tensor<512x8192xf32>) -> tensor<512x8192xf32>
  %eb = tensor.empty() : tensor<512x8192xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x8192xf32>, tensor<512x8192xf32>) outs(%eb : tensor<512x8192xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = math.cos %a : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<512x8192xf32>
  %ew = tensor.empty() : tensor<128x8192xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x8192xf32>) -> tensor<128x8192xf32>
  %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x8192xf32>) outs(%zw : tensor<128x8192xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x8192xf32>
  return %dw : tensor<128x8192xf32>
}

// Once more is a part in 64 of the time here.
// CHECK-LABEL: func.func @a_product_waits_out_the_peak(
// CHECK-SAME: %[[X:.*]]: tensor<512x64xf32>, %[[W:.*]]: tensor<64x4096xf32>
// CHECK: linalg.matmul ins(%[[X]], %[[W]]
// CHECK: linalg.exp
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: %[[B:.*]]:2 = remat.barrier %[[X]], %[[W]] after %[[R]] repeated
// CHECK: %[[H1:.*]] = linalg.matmul {remat.phase = "recompute"} ins(%[[B]]#0, %[[B]]#1
// CHECK: linalg.generic {{.*}} ins(%[[H1]], %[[R]]
func.func @a_product_waits_out_the_peak(%x: tensor<512x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x4096xf32>) -> (tensor<512x4096xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<512x4096xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %h = linalg.matmul ins(%x, %w : tensor<512x64xf32>, tensor<64x4096xf32>) outs(%zh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %et = tensor.empty() : tensor<512x4096xf32>
  %t = linalg.exp ins(%h : tensor<512x4096xf32>) outs(%et : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %ep = tensor.empty() : tensor<512x4096xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %p = linalg.matmul ins(%t, %v : tensor<512x4096xf32>, tensor<4096x4096xf32>) outs(%zp : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %eb = tensor.empty() : tensor<512x4096xf32>
  %b = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %r : tensor<512x4096xf32>, tensor<512xf32>) outs(%eb : tensor<512x4096xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<512x4096xf32>
  return %b : tensor<512x4096xf32>
}

// With what it is made of, which is not alive any more: a square of %x, a product, a sum with a bias in another shape.
// CHECK-LABEL: func.func @a_chain_waits_out_the_peak(
// CHECK-SAME: %[[X:.*]]: tensor<512x64xf32>, %[[W:.*]]: tensor<64x4096xf32>, %{{.*}}: tensor<4096x4096xf32>, %[[C:.*]]: tensor<64x64xf32>
// CHECK: linalg.exp
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: %[[B:.*]]:3 = remat.barrier %[[X]], %[[W]], %[[C]] after %[[R]] repeated
// CHECK: %[[N1:.*]] = linalg.generic {{.*}} ins(%[[B]]#0
// CHECK: %[[H1:.*]] = linalg.matmul {remat.phase = "recompute"} ins(%[[N1]], %[[B]]#1
// CHECK: %[[V1:.*]] = tensor.expand_shape %[[H1]]
// CHECK: %[[Q1:.*]] = linalg.generic {{.*}} ins(%[[V1]], %[[B]]#2 {{.*}}remat.phase = "recompute"
// CHECK-NOT: remat.barrier
// CHECK: linalg.generic {{.*}} ins(%[[Q1]], %[[R]]
func.func @a_chain_waits_out_the_peak(%x: tensor<512x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x4096xf32>, %c: tensor<64x64xf32>) -> (tensor<512x64x64xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %en = tensor.empty() : tensor<512x64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x64xf32>) outs(%en : tensor<512x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x64xf32>
  %eh = tensor.empty() : tensor<512x4096xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x64xf32>, tensor<64x4096xf32>) outs(%zh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %view = tensor.expand_shape %h [[0], [1, 2]] output_shape [512, 64, 64] : tensor<512x4096xf32> into tensor<512x64x64xf32>
  %eq = tensor.empty() : tensor<512x64x64xf32>
  %q = linalg.generic {indexing_maps = [#id3, #last, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%view, %c : tensor<512x64x64xf32>, tensor<64x64xf32>) outs(%eq : tensor<512x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<512x64x64xf32>
  %flat = tensor.collapse_shape %q [[0], [1, 2]] : tensor<512x64x64xf32> into tensor<512x4096xf32>
  %et = tensor.empty() : tensor<512x4096xf32>
  %t = linalg.exp ins(%flat : tensor<512x4096xf32>) outs(%et : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %ep = tensor.empty() : tensor<512x4096xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %p = linalg.matmul ins(%t, %v : tensor<512x4096xf32>, tensor<4096x4096xf32>) outs(%zp : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %eb = tensor.empty() : tensor<512x64x64xf32>
  %b = linalg.generic {indexing_maps = [#id3, #first, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %r : tensor<512x64x64xf32>, tensor<512xf32>) outs(%eb : tensor<512x64x64xf32>) {
  ^bb0(%a: f32, %d: f32, %o: f32):
    %0 = arith.mulf %a, %d : f32
    linalg.yield %0 : f32
  } -> tensor<512x64x64xf32>
  return %b : tensor<512x64x64xf32>
}

// Nor with what the forward made.
// CHECK-LABEL: func.func @must_not_make_the_forward_again(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_make_the_forward_again(%x: tensor<512x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x4096xf32>, %c: tensor<64x64xf32>) -> (tensor<512xf32>, tensor<512x64x64xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %en = tensor.empty() : tensor<512x64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x64xf32>) outs(%en : tensor<512x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512x64xf32>
  %el = tensor.empty() : tensor<512xf32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<512xf32>) -> tensor<512xf32>
  %loss = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%n : tensor<512x64xf32>) outs(%zl : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %eh = tensor.empty() : tensor<512x4096xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %h = linalg.matmul ins(%n, %w : tensor<512x64xf32>, tensor<64x4096xf32>) outs(%zh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %view = tensor.expand_shape %h [[0], [1, 2]] output_shape [512, 64, 64] : tensor<512x4096xf32> into tensor<512x64x64xf32>
  %eq = tensor.empty() : tensor<512x64x64xf32>
  %q = linalg.generic {indexing_maps = [#id3, #last, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%view, %c : tensor<512x64x64xf32>, tensor<64x64xf32>) outs(%eq : tensor<512x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<512x64x64xf32>
  %flat = tensor.collapse_shape %q [[0], [1, 2]] : tensor<512x64x64xf32> into tensor<512x4096xf32>
  %et = tensor.empty() : tensor<512x4096xf32>
  %t = linalg.exp ins(%flat : tensor<512x4096xf32>) outs(%et : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %ep = tensor.empty() : tensor<512x4096xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %p = linalg.matmul ins(%t, %v : tensor<512x4096xf32>, tensor<4096x4096xf32>) outs(%zp : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %eb = tensor.empty() : tensor<512x64x64xf32>
  %b = linalg.generic {indexing_maps = [#id3, #first, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %r : tensor<512x64x64xf32>, tensor<512xf32>) outs(%eb : tensor<512x64x64xf32>) {
  ^bb0(%a: f32, %d: f32, %o: f32):
    %0 = arith.mulf %a, %d : f32
    linalg.yield %0 : f32
  } -> tensor<512x64x64xf32>
  return %loss, %b : tensor<512xf32>, tensor<512x64x64xf32>
}

// The plan has decided what the forward keeps.
// CHECK-LABEL: func.func @must_not_repeat_a_product_of_the_forward(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_repeat_a_product_of_the_forward(%x: tensor<512x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x4096xf32>) -> (tensor<512xf32>, tensor<512x4096xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<512x4096xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %h = linalg.matmul ins(%x, %w : tensor<512x64xf32>, tensor<64x4096xf32>) outs(%zh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %el = tensor.empty() : tensor<512xf32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<512xf32>) -> tensor<512xf32>
  %loss = linalg.reduce {arith.addf} ins(%h : tensor<512x4096xf32>) outs(%zl : tensor<512xf32>) dimensions = [1]
  %et = tensor.empty() : tensor<512x4096xf32>
  %t = linalg.exp ins(%h : tensor<512x4096xf32>) outs(%et : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %ep = tensor.empty() : tensor<512x4096xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %p = linalg.matmul ins(%t, %v : tensor<512x4096xf32>, tensor<4096x4096xf32>) outs(%zp : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<512x4096xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %eb = tensor.empty() : tensor<512x4096xf32>
  %b = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %r : tensor<512x4096xf32>, tensor<512xf32>) outs(%eb : tensor<512x4096xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<512x4096xf32>
  return %loss, %b : tensor<512xf32>, tensor<512x4096xf32>
}

// A tenth of the time.
// CHECK-LABEL: func.func @must_not_repeat_a_product_that_takes_long(
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_repeat_a_product_that_takes_long(%x: tensor<512x64xf32>, %w: tensor<64x4096xf32>, %v: tensor<4096x512xf32>) -> (tensor<512x4096xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<512x4096xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %h = linalg.matmul ins(%x, %w : tensor<512x64xf32>, tensor<64x4096xf32>) outs(%zh : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %et = tensor.empty() : tensor<512x4096xf32>
  %t = linalg.exp ins(%h : tensor<512x4096xf32>) outs(%et : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %ep = tensor.empty() : tensor<512x512xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.matmul ins(%t, %v : tensor<512x4096xf32>, tensor<4096x512xf32>) outs(%zp : tensor<512x512xf32>) -> tensor<512x512xf32>
  %er = tensor.empty() : tensor<512xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<512x512xf32>) outs(%zr : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %eb = tensor.empty() : tensor<512x4096xf32>
  %b = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %r : tensor<512x4096xf32>, tensor<512xf32>) outs(%eb : tensor<512x4096xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<512x4096xf32>
  return %b : tensor<512x4096xf32>
}

// In the loop over micro-batches that runs at the peak.
// CHECK-LABEL: func.func @waits_out_the_peak_of_a_loop(
// CHECK: scf.for
// CHECK: linalg.matmul
// CHECK: %[[B:.*]] = linalg.generic {{.*}}tensor<512x2048xf32>) outs
// CHECK: remat.barrier %arg0 after %[[B]] repeated
// CHECK: scf.yield
func.func @waits_out_the_peak_of_a_loop(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>, %times: index) -> (tensor<128x2048xf32> {remat.gradient_of = 1}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %es = tensor.empty() : tensor<128x2048xf32>
  %start = linalg.fill ins(%zero : f32) outs(%es : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %r = scf.for %i = %c0 to %times step %c1 iter_args(%sum = %start) -> (tensor<128x2048xf32>) {
    %e = tensor.empty() : tensor<512x128xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %a, %a : f32
      linalg.yield %0 : f32
    } -> tensor<512x128xf32>
    %eh = tensor.empty() : tensor<512x2048xf32>
    %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %et = tensor.empty() : tensor<512x2048xf32>
    %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %eb = tensor.empty() : tensor<512x2048xf32>
    %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %0 = math.cos %a : f32
      %1 = arith.mulf %0, %c : f32
      linalg.yield %1 : f32
    } -> tensor<512x2048xf32>
    %ew = tensor.empty() : tensor<128x2048xf32>
    %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %0 = arith.mulf %a, %c : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<128x2048xf32>
    %next = linalg.add ins(%sum, %dw : tensor<128x2048xf32>, tensor<128x2048xf32>) outs(%sum : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    scf.yield %next : tensor<128x2048xf32>
  }
  return %r : tensor<128x2048xf32>
}

// Not in a loop where few bytes are alive.
// CHECK-LABEL: func.func @must_not_repeat_in_a_loop_beside_the_peak(
// CHECK: scf.for
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_repeat_in_a_loop_beside_the_peak(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>, %times: index) -> (tensor<128x2048xf32> {remat.gradient_of = 1}, tensor<8192x8192xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %es = tensor.empty() : tensor<128x2048xf32>
  %start = linalg.fill ins(%zero : f32) outs(%es : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %r = scf.for %i = %c0 to %times step %c1 iter_args(%sum = %start) -> (tensor<128x2048xf32>) {
    %e = tensor.empty() : tensor<512x128xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %a, %a : f32
      linalg.yield %0 : f32
    } -> tensor<512x128xf32>
    %eh = tensor.empty() : tensor<512x2048xf32>
    %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %et = tensor.empty() : tensor<512x2048xf32>
    %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %eb = tensor.empty() : tensor<512x2048xf32>
    %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %0 = math.cos %a : f32
      %1 = arith.mulf %0, %c : f32
      linalg.yield %1 : f32
    } -> tensor<512x2048xf32>
    %ew = tensor.empty() : tensor<128x2048xf32>
    %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %0 = arith.mulf %a, %c : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<128x2048xf32>
    %next = linalg.add ins(%sum, %dw : tensor<128x2048xf32>, tensor<128x2048xf32>) outs(%sum : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    scf.yield %next : tensor<128x2048xf32>
  }
  %el = tensor.empty() : tensor<8192x8192xf32>
  %large = linalg.fill ins(%zero : f32) outs(%el : tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  return %r, %large : tensor<128x2048xf32>, tensor<8192x8192xf32>
}

// Nor where much is alive around the loop, beside which what it saves is little.
// CHECK-LABEL: func.func @must_not_repeat_for_a_small_part_of_the_peak(
// CHECK: scf.for
// CHECK-NOT: remat.barrier
// CHECK: return
func.func @must_not_repeat_for_a_small_part_of_the_peak(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %dy: tensor<512x2048xf32>, %times: index, %given: tensor<8192x8192xf32>) -> (tensor<128x2048xf32> {remat.gradient_of = 1}, tensor<8192x8192xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %el = tensor.empty() : tensor<8192x8192xf32>
  %large = linalg.exp ins(%given : tensor<8192x8192xf32>) outs(%el : tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  %es = tensor.empty() : tensor<128x2048xf32>
  %start = linalg.fill ins(%zero : f32) outs(%es : tensor<128x2048xf32>) -> tensor<128x2048xf32>
  %r = scf.for %i = %c0 to %times step %c1 iter_args(%sum = %start) -> (tensor<128x2048xf32>) {
    %e = tensor.empty() : tensor<512x128xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x128xf32>) outs(%e : tensor<512x128xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.mulf %a, %a : f32
      linalg.yield %0 : f32
    } -> tensor<512x128xf32>
    %eh = tensor.empty() : tensor<512x2048xf32>
    %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %h = linalg.matmul ins(%n, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zh : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %et = tensor.empty() : tensor<512x2048xf32>
    %t = linalg.exp ins(%h : tensor<512x2048xf32>) outs(%et : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %eb = tensor.empty() : tensor<512x2048xf32>
    %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %t : tensor<512x2048xf32>, tensor<512x2048xf32>) outs(%eb : tensor<512x2048xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %0 = math.cos %a : f32
      %1 = arith.mulf %0, %c : f32
      linalg.yield %1 : f32
    } -> tensor<512x2048xf32>
    %ew = tensor.empty() : tensor<128x2048xf32>
    %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    %dw = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%n, %b : tensor<512x128xf32>, tensor<512x2048xf32>) outs(%zw : tensor<128x2048xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %0 = arith.mulf %a, %c : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<128x2048xf32>
    %next = linalg.add ins(%sum, %dw : tensor<128x2048xf32>, tensor<128x2048xf32>) outs(%sum : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    scf.yield %next : tensor<128x2048xf32>
  }
  return %r, %large : tensor<128x2048xf32>, tensor<8192x8192xf32>
}
