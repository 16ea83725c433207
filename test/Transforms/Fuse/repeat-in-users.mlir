// RUN: remat-opt %s -remat-fuse | FileCheck %s
// RUN: remat-opt %s -remat-fuse=keep-adjoints | FileCheck %s --check-prefix=KEEP

#id = affine_map<(b, c) -> (b, c)>
#col = affine_map<(b, c) -> (c)>

// The cotangent of a normalized batch: a sum over it and the input's cotangent read it, and the latter reads one of its operands
// anyway. Three passes over memory become two. Before differentiation it stays: its cotangent is a sum of two terms.
// CHECK-LABEL: func.func @normalized
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%arg0, %arg1 : tensor<4096x64xf32>, tensor<4096x64xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1, %[[SUM]] :
// CHECK-NOT: linalg.generic
// KEEP-LABEL: func.func @normalized
// KEEP-COUNT-3: linalg.generic
func.func @normalized(%x: tensor<4096x64xf32>, %dy: tensor<4096x64xf32>) -> tensor<4096x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x64xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %dy : tensor<4096x64xf32>, tensor<4096x64xf32>) outs(%e : tensor<4096x64xf32>) {
  ^bb0(%a: f32, %d: f32, %o: f32):
    %p = arith.cmpf ogt, %a, %zero : f32
    %s = arith.select %p, %d, %zero : f32
    %r = math.sqrt %s : f32
    linalg.yield %r : f32
  } -> tensor<4096x64xf32>
  %ec = tensor.empty() : tensor<64xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %x, %sum : tensor<4096x64xf32>, tensor<4096x64xf32>, tensor<64xf32>) outs(%e : tensor<4096x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %m = arith.mulf %b, %c : f32
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<4096x64xf32>
  return %dx : tensor<4096x64xf32>
}

// Readers that read nothing else: written once and read five times is less than read ten times.
// CHECK-LABEL: func.func @many_readers
// CHECK: math.sqrt
// CHECK-NOT: math.sqrt
// CHECK: return
func.func @many_readers(%x: tensor<4096x64xf32>, %y: tensor<4096x64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x64xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<4096x64xf32>, tensor<4096x64xf32>) outs(%e : tensor<4096x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = math.sqrt %p : f32
    linalg.yield %r : f32
  } -> tensor<4096x64xf32>
  %ec = tensor.empty() : tensor<64xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<64xf32>) -> tensor<64xf32>
  %r0 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r1 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r2 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.minimumf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r3 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r4 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = math.absf %a : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %r0, %r1, %r2, %r3, %r4 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Two tensors would stay alive instead of one, which costs memory, even if it takes less time.
// CHECK-LABEL: func.func @more_alive
// CHECK: math.sqrt
// CHECK-NOT: math.sqrt
// CHECK: return
func.func @more_alive(%x: tensor<4096x64xf32>, %y: tensor<4096x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x64xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<4096x64xf32>, tensor<4096x64xf32>) outs(%e : tensor<4096x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = math.sqrt %p : f32
    linalg.yield %r : f32
  } -> tensor<4096x64xf32>
  %ec = tensor.empty() : tensor<64xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<64xf32>) -> tensor<64xf32>
  %r0 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r1 = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<4096x64xf32>) outs(%zc : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %r0, %r1 : tensor<64xf32>, tensor<64xf32>
}
