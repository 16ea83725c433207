// RUN: remat-opt %s -split-input-file --remat-tile-loss-heads="tile-bytes=800 threshold=1200" -canonicalize -cse -verify-diagnostics | FileCheck %s

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// Tiles of 5 rows do not divide 12; those of 4 do.
// CHECK-LABEL: @computes_logits_of_four_rows_at_a_time
// CHECK-SAME: %[[X:.*]]: tensor<12x8xf32>, %[[W:.*]]: tensor<8x40xf32>, %[[LABELS:.*]]: tensor<12xi64>
// CHECK-NOT: 12x40
// CHECK: %[[ROWS:.*]] = scf.for %[[I:.*]] = %c0 to %c3 step %c1 iter_args(%[[SUM:.*]] = {{.*}}) -> (tensor<12xf32>)
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]], %c4
// CHECK: %[[PART:.*]] = remat.region ({{.*}}) -> tensor<4xf32> attributes {remat.always} {
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [4, 8] [1, 1]
// CHECK: linalg.matmul {{.*}} -> tensor<4x40xf32>
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<4xf32>)
// CHECK: linalg.index 1
// CHECK: arith.cmpi eq
// CHECK: remat.yield
// CHECK: tensor.insert_slice %[[PART]] into %[[SUM]][%[[FIRST]]] [4] [1]
// CHECK-NOT: scf.for
// CHECK: linalg.generic {{.*}}["reduction"]{{.*}} ins(%[[ROWS]]
func.func @computes_logits_of_four_rows_at_a_time(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %labels: tensor<12xi64>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
  %er = tensor.empty() : tensor<12xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<12xf32>) -> tensor<12xf32>
  %chosen = linalg.generic {indexing_maps = [#all, #rows, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%logits, %labels : tensor<12x40xf32>, tensor<12xi64>) outs(%zr : tensor<12xf32>) {
  ^bb0(%l: f32, %label: i64, %sum: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %label : i64 to index
    %is = arith.cmpi eq, %j, %k : index
    %s = arith.select %is, %l, %zero : f32
    %n = arith.addf %sum, %s : f32
    linalg.yield %n : f32
  } -> tensor<12xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%chosen : tensor<12xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %n = arith.addf %sum, %a : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// Numbers of rows stay those of all rows, but for what is read of the tile. No number of tiles divides 11: there are four of two
// rows and three of one row.
// CHECK-LABEL: @reads_rows_by_their_numbers
// CHECK: %[[TWOS:.*]] = scf.for %{{.*}} = %c0 to %c4
// CHECK: remat.region ({{.*}}) -> tensor<2xf32>
// CHECK: %[[LOGITS:.*]] = linalg.matmul {{.*}} -> tensor<2x40xf32>
// CHECK: %[[R:.*]] = linalg.index 0
// CHECK: %[[ROW:.*]] = arith.addi %[[R]], %{{.*}}
// CHECK: %[[LABEL:.*]] = tensor.extract %{{.*}}[%[[ROW]]] : tensor<12xindex>
// CHECK: tensor.extract %[[LOGITS]][%[[R]], %[[LABEL]]] : tensor<2x40xf32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c3 {{.*}} iter_args(%[[SUM:.*]] = %[[TWOS]])
// CHECK: %[[FIRST:.*]] = arith.addi %[[I]], %c8
// CHECK: %[[LAST:.*]] = remat.region ({{.*}}) -> tensor<1xf32>
// CHECK: tensor.insert_slice %[[LAST]] into %[[SUM]][%[[FIRST]]] [1] [1]
func.func @reads_rows_by_their_numbers(%x: tensor<11x8xf32>, %w: tensor<8x40xf32>, %labels: tensor<12xindex>) -> tensor<11xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<11x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<11x40xf32>) -> tensor<11x40xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<11x8xf32>, tensor<8x40xf32>) outs(%z : tensor<11x40xf32>) -> tensor<11x40xf32>
  %er = tensor.empty() : tensor<11xf32>
  %chosen = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>], iterator_types = ["parallel"]} outs(%er : tensor<11xf32>) {
  ^bb0(%out: f32):
    %r = linalg.index 0 : index
    %label = tensor.extract %labels[%r] : tensor<12xindex>
    %l = tensor.extract %logits[%r, %label] : tensor<11x40xf32>
    linalg.yield %l : f32
  } -> tensor<11xf32>
  return %chosen : tensor<11xf32>
}

// -----

#all = affine_map<(b, t, v) -> (b, t, v)>
// A sum over everything becomes one over columns; rows have two dimensions of which a tile is a part of the second.
// CHECK-LABEL: @adds_up_columns_first
// CHECK: %[[ROWS:.*]] = scf.for %{{.*}} = %c0 to %c6
// CHECK: remat.region ({{.*}}) -> tensor<1x4xf32>
// CHECK: tensor.expand_shape {{.*}} : tensor<4x40xf32> into tensor<1x4x40xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]
// CHECK: scf.yield
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]{{.*}} ins(%[[ROWS]] : tensor<2x12xf32>)
func.func @adds_up_columns_first(%x: tensor<24x8xf32>, %w: tensor<8x40xf32>, %soft: tensor<2x12x40xf32>, %start: tensor<f32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24x40xf32>) -> tensor<24x40xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<24x8xf32>, tensor<8x40xf32>) outs(%z : tensor<24x40xf32>) -> tensor<24x40xf32>
  %rows = tensor.expand_shape %logits [[0, 1], [2]] output_shape [2, 12, 40] : tensor<24x40xf32> into tensor<2x12x40xf32>
  %loss = linalg.generic {indexing_maps = [#all, #all, affine_map<(b, t, v) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%rows, %soft : tensor<2x12x40xf32>, tensor<2x12x40xf32>) outs(%start : tensor<f32>) {
  ^bb0(%l: f32, %s: f32, %sum: f32):
    %p = arith.mulf %l, %s : f32
    %n = arith.addf %sum, %p : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// CHECK-LABEL: @leaves_logits_that_are_returned
// CHECK-NOT: scf.for
func.func @leaves_logits_that_are_returned(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %zr: tensor<12xf32>) -> (tensor<12x40xf32>, tensor<12xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
  // expected-remark @+1 {{logits stay whole, with their cotangent as many bytes: they are results}}
  %logits = linalg.matmul ins(%x, %w : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
  %top = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%logits : tensor<12x40xf32>) outs(%zr : tensor<12xf32>) {
  ^bb0(%l: f32, %max: f32):
    %n = arith.maximumf %l, %max : f32
    linalg.yield %n : f32
  } -> tensor<12xf32>
  // expected-note @+1 {{here}}
  return %logits, %top : tensor<12x40xf32>, tensor<12xf32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// Names of logits are gone, and the loop stands in the region of the last kernel, with what that reads passed into it. Names of
// the activations and of the result stay.
// CHECK-LABEL: @looks_through_names_and_regions
// CHECK-SAME: %[[X:.*]]: tensor<12x8xf32>, %[[W:.*]]: tensor<8x40xf32>
// CHECK-NOT: 12x40
// CHECK: %[[H:.*]] = remat.region ({{.*}} = %[[X]]{{.*}}) -> tensor<12x8xf32>
// CHECK: math.tanh
// CHECK: remat.name "hidden"
// CHECK-NOT: 12x40
// CHECK: %[[TOP:.*]] = remat.region ({{.*}} = %[[H]]{{.*}} = %[[W]]{{.*}}) -> tensor<12xf32>
// CHECK: scf.for
// CHECK: remat.region ({{.*}}) -> tensor<4xf32> attributes {remat.always}
// CHECK: linalg.matmul {{.*}} -> tensor<4x40xf32>
// CHECK: arith.maximumf
// CHECK: arith.addf
// CHECK: remat.name "losses"
// CHECK: return %[[TOP]]
func.func @looks_through_names_and_regions(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %zr: tensor<12xf32>) -> tensor<12xf32> {
  %logits = remat.region (%a = %x : tensor<12x8xf32>, %b = %w : tensor<8x40xf32>) -> tensor<12x40xf32> {
    %zero = arith.constant 0.0 : f32
    %eh = tensor.empty() : tensor<12x8xf32>
    %t = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<12x8xf32>) outs(%eh : tensor<12x8xf32>) {
    ^bb0(%l: f32, %o: f32):
      %n = math.tanh %l : f32
      linalg.yield %n : f32
    } -> tensor<12x8xf32>
    %h = remat.name "hidden" %t : tensor<12x8xf32>
    %e = tensor.empty() : tensor<12x40xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
    %y = linalg.matmul ins(%h, %b : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
    // expected-remark @+1 {{the name "logits" is gone: loss heads compute this value a few rows at a time}}
    %named = remat.name "logits" %y : tensor<12x40xf32>
    remat.yield %named : tensor<12x40xf32>
  }
  %losses = remat.region (%l0 = %logits : tensor<12x40xf32>, %z0 = %zr : tensor<12xf32>) -> tensor<12xf32> {
    %top = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%l0 : tensor<12x40xf32>) outs(%z0 : tensor<12xf32>) {
    ^bb0(%l: f32, %max: f32):
      %n = arith.maximumf %l, %max : f32
      linalg.yield %n : f32
    } -> tensor<12xf32>
    // expected-remark @+1 {{the name "top" is gone}}
    %name = remat.name "top" %top : tensor<12xf32>
    %both = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%l0 : tensor<12x40xf32>) outs(%name : tensor<12xf32>) {
    ^bb0(%l: f32, %max: f32):
      %n = arith.addf %l, %max : f32
      linalg.yield %n : f32
    } -> tensor<12xf32>
    %r = remat.name "losses" %both : tensor<12xf32>
    remat.yield %r : tensor<12xf32>
  }
  return %losses : tensor<12xf32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// The sum of maxima is read before the last kernel of the head, in another region: it comes after the loop now, and goes back from there.
// CHECK-LABEL: @moves_what_reads_results_behind_the_loop
// CHECK-NOT: 12x40
// CHECK: %[[BOTH:.*]]:2 = remat.region
// CHECK: %[[LOOP:.*]]:2 = scf.for
// CHECK: %[[TOPS:.*]] = remat.name "tops" %[[LOOP]]#0
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[TOPS]]
// CHECK: remat.yield %[[LOOP]]#1, %[[SUM]]
// CHECK: return %[[BOTH]]#1, %[[BOTH]]#0
func.func @moves_what_reads_results_behind_the_loop(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %zr: tensor<12xf32>, %z0: tensor<f32>) -> (tensor<f32>, tensor<12xf32>) {
  %logits, %sum = remat.region (%a = %x : tensor<12x8xf32>, %b = %w : tensor<8x40xf32>, %c = %zr : tensor<12xf32>, %d = %z0 : tensor<f32>) -> tensor<12x40xf32>, tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<12x40xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
    %y = linalg.matmul ins(%a, %b : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
    %top = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<12x40xf32>) outs(%c : tensor<12xf32>) {
    ^bb0(%l: f32, %max: f32):
      %n = arith.maximumf %l, %max : f32
      linalg.yield %n : f32
    } -> tensor<12xf32>
    %tops = remat.name "tops" %top : tensor<12xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> ()>], iterator_types = ["reduction"]} ins(%tops : tensor<12xf32>) outs(%d : tensor<f32>) {
    ^bb0(%l: f32, %acc: f32):
      %n = arith.addf %acc, %l : f32
      linalg.yield %n : f32
    } -> tensor<f32>
    remat.yield %y, %s : tensor<12x40xf32>, tensor<f32>
  }
  %least = remat.region (%l0 = %logits : tensor<12x40xf32>, %c = %zr : tensor<12xf32>) -> tensor<12xf32> {
    %r = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%l0 : tensor<12x40xf32>) outs(%c : tensor<12xf32>) {
    ^bb0(%l: f32, %min: f32):
      %n = arith.minimumf %l, %min : f32
      linalg.yield %n : f32
    } -> tensor<12xf32>
    remat.yield %r : tensor<12xf32>
  }
  return %sum, %least : tensor<f32>, tensor<12xf32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// CHECK-LABEL: @leaves_logits_whose_rows_depend_on_each_other
// CHECK-NOT: scf.for
func.func @leaves_logits_whose_rows_depend_on_each_other(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %zr: tensor<12xf32>, %zc: tensor<40xf32>) -> tensor<12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
  // expected-remark @+1 {{a kernel combines rows}}
  %logits = linalg.matmul ins(%x, %w : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
  // expected-note @+1 {{here}}
  %sums = linalg.generic {indexing_maps = [#all, affine_map<(r, v) -> (v)>], iterator_types = ["reduction", "parallel"]} ins(%logits : tensor<12x40xf32>) outs(%zc : tensor<40xf32>) {
  ^bb0(%l: f32, %sum: f32):
    %n = arith.addf %l, %sum : f32
    linalg.yield %n : f32
  } -> tensor<40xf32>
  %top = linalg.generic {indexing_maps = [#all, affine_map<(r, v) -> (v)>, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%logits, %sums : tensor<12x40xf32>, tensor<40xf32>) outs(%zr : tensor<12xf32>) {
  ^bb0(%l: f32, %s: f32, %max: f32):
    %d = arith.subf %l, %s : f32
    %n = arith.maximumf %d, %max : f32
    linalg.yield %n : f32
  } -> tensor<12xf32>
  return %top : tensor<12xf32>
}

// -----

// A layer in the middle of a network is no loss, and nothing is said of it.
// CHECK-LABEL: @leaves_layers
// CHECK-NOT: scf.for
func.func @leaves_layers(%x: tensor<12x8xf32>, %w: tensor<8x40xf32>, %v: tensor<40x8xf32>) -> tensor<12x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<12x40xf32>) -> tensor<12x40xf32>
  %hidden = linalg.matmul ins(%x, %w : tensor<12x8xf32>, tensor<8x40xf32>) outs(%z : tensor<12x40xf32>) -> tensor<12x40xf32>
  %e2 = tensor.empty() : tensor<12x8xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %y = linalg.matmul ins(%hidden, %v : tensor<12x40xf32>, tensor<40x8xf32>) outs(%z2 : tensor<12x8xf32>) -> tensor<12x8xf32>
  return %y : tensor<12x8xf32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// CHECK-LABEL: @leaves_small_logits
// CHECK-NOT: scf.for
func.func @leaves_small_logits(%x: tensor<7x8xf32>, %w: tensor<8x40xf32>, %zr: tensor<7xf32>) -> tensor<7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<7x40xf32>) -> tensor<7x40xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<7x8xf32>, tensor<8x40xf32>) outs(%z : tensor<7x40xf32>) -> tensor<7x40xf32>
  %top = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%logits : tensor<7x40xf32>) outs(%zr : tensor<7xf32>) {
  ^bb0(%l: f32, %max: f32):
    %n = arith.maximumf %l, %max : f32
    linalg.yield %n : f32
  } -> tensor<7xf32>
  return %top : tensor<7xf32>
}

// -----

#rows = affine_map<(r, v) -> (r)>
#all = affine_map<(r, v) -> (r, v)>
// The last position of each sequence is cut off the activations, then there are 22 rows.
// CHECK-LABEL: @cuts_rows_off_the_activations
// CHECK-SAME: %[[X:.*]]: tensor<24x8xf32>
// CHECK-NOT: 24x40
// CHECK: %[[SEQUENCES:.*]] = tensor.expand_shape %[[X]] {{\[}}[0, 1], [2]] output_shape [2, 12, 8]
// CHECK: %[[CUT:.*]] = tensor.extract_slice %[[SEQUENCES]][0, 0, 0] [2, 11, 8] [1, 1, 1]
// CHECK: %[[LEFT:.*]] = tensor.collapse_shape %[[CUT]] {{\[}}[0, 1], [2]] : tensor<2x11x8xf32> into tensor<22x8xf32>
// CHECK: scf.for
// CHECK: remat.region ({{.*}} = %[[LEFT]] : tensor<22x8xf32>
func.func @cuts_rows_off_the_activations(%x: tensor<24x8xf32>, %w: tensor<8x40xf32>, %zr: tensor<22xf32>) -> tensor<22xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x40xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24x40xf32>) -> tensor<24x40xf32>
  %logits = linalg.matmul ins(%x, %w : tensor<24x8xf32>, tensor<8x40xf32>) outs(%z : tensor<24x40xf32>) -> tensor<24x40xf32>
  %sequences = tensor.expand_shape %logits [[0, 1], [2]] output_shape [2, 12, 40] : tensor<24x40xf32> into tensor<2x12x40xf32>
  %cut = tensor.extract_slice %sequences[0, 0, 0] [2, 11, 40] [1, 1, 1] : tensor<2x12x40xf32> to tensor<2x11x40xf32>
  %left = tensor.collapse_shape %cut [[0, 1], [2]] : tensor<2x11x40xf32> into tensor<22x40xf32>
  %top = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%left : tensor<22x40xf32>) outs(%zr : tensor<22xf32>) {
  ^bb0(%l: f32, %max: f32):
    %n = arith.maximumf %l, %max : f32
    linalg.yield %n : f32
  } -> tensor<22xf32>
  return %top : tensor<22xf32>
}

// -----

// Sizes whose product is in no integer's range, and none.
// CHECK-LABEL: func.func @of_sizes_that_no_memory_has
// CHECK-NOT: scf.for
// CHECK: return
func.func @of_sizes_that_no_memory_has(%x: tensor<4611686018427387904x16xf32>, %w: tensor<16x64xf32>, %e: tensor<0x16xf32>)
    -> (tensor<4611686018427387904x64xf32>, tensor<0x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4611686018427387904x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4611686018427387904x64xf32>) -> tensor<4611686018427387904x64xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<4611686018427387904x16xf32>, tensor<16x64xf32>)
      outs(%1 : tensor<4611686018427387904x64xf32>) -> tensor<4611686018427387904x64xf32>
  %3 = tensor.empty() : tensor<0x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<0x64xf32>) -> tensor<0x64xf32>
  %5 = linalg.matmul ins(%e, %w : tensor<0x16xf32>, tensor<16x64xf32>) outs(%4 : tensor<0x64xf32>) -> tensor<0x64xf32>
  return %2, %5 : tensor<4611686018427387904x64xf32>, tensor<0x64xf32>
}
