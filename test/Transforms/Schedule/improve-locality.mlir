// RUN: remat-opt %s --remat-improve-locality --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-improve-locality --remat-improve-locality --split-input-file | FileCheck %s
// RUN: not remat-opt %s --remat-improve-locality=alignment=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// ALIGNMENT: error: alignment must be at least 1, but got 0

// Both make something of %x. What the second one needs is free, and the peak is elsewhere, where %big is.
// CHECK-LABEL: func.func @hoists(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<512x128xf32>
// CHECK: %[[A:.*]] = linalg.exp ins(%[[X]] :
// CHECK-NEXT: %[[X1:.*]] = remat.barrier %[[X]] after %[[A]]
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: %[[B:.*]] = linalg.negf ins(%[[X1]] :
// CHECK: %[[P:.*]] = linalg.matmul ins(%[[A]],
// CHECK: linalg.matmul ins(%[[B]],
func.func @hoists(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %v: tensor<128x64xf32>, %y: tensor<2048x512xf32>) -> (tensor<2048x2048xf32>, tensor<512x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<512x128xf32>
  %a = linalg.exp ins(%x : tensor<512x128xf32>) outs(%ea : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ep = tensor.empty() : tensor<512x2048xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %p = linalg.matmul ins(%a, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zp : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %x1 = remat.barrier %x after %p : tensor<512x128xf32> after tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x128xf32>
  %b = linalg.negf ins(%x1 : tensor<512x128xf32>) outs(%eb : tensor<512x128xf32>) -> tensor<512x128xf32>
  %eq = tensor.empty() : tensor<512x64xf32>
  %zq = linalg.fill ins(%zero : f32) outs(%eq : tensor<512x64xf32>) -> tensor<512x64xf32>
  %q = linalg.matmul ins(%b, %v : tensor<512x128xf32>, tensor<128x64xf32>) outs(%zq : tensor<512x64xf32>) -> tensor<512x64xf32>
  %ebig = tensor.empty() : tensor<2048x2048xf32>
  %zbig = linalg.fill ins(%zero : f32) outs(%ebig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %big = linalg.matmul ins(%y, %p : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%zbig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %big, %q : tensor<2048x2048xf32>, tensor<512x64xf32>
}

// -----

// The same, but the peak is the first product: nothing may live longer there.
// CHECK-LABEL: func.func @not_at_the_peak(
// CHECK: linalg.exp
// CHECK: linalg.matmul
// CHECK: remat.barrier %arg0 after
// CHECK: linalg.negf
func.func @not_at_the_peak(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %v: tensor<128x64xf32>) -> tensor<512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<512x128xf32>
  %a = linalg.exp ins(%x : tensor<512x128xf32>) outs(%ea : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ep = tensor.empty() : tensor<512x2048xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %p = linalg.matmul ins(%a, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zp : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %x1 = remat.barrier %x after %p : tensor<512x128xf32> after tensor<512x2048xf32>
  %eb = tensor.empty() : tensor<512x128xf32>
  %b = linalg.negf ins(%x1 : tensor<512x128xf32>) outs(%eb : tensor<512x128xf32>) -> tensor<512x128xf32>
  %eq = tensor.empty() : tensor<512x64xf32>
  %zq = linalg.fill ins(%zero : f32) outs(%eq : tensor<512x64xf32>) -> tensor<512x64xf32>
  %q = linalg.matmul ins(%b, %v : tensor<512x128xf32>, tensor<128x64xf32>) outs(%zq : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %q : tensor<512x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>

// The sum needs a product, and waits for it; the kernel that computes the operand of another product moves before it,
// and that product after both.
// CHECK-LABEL: func.func @sinks(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<512x128xf32>
// CHECK: %[[G:.*]] = linalg.matmul
// CHECK-NOT: linalg.matmul
// CHECK: %[[H:.*]] = linalg.exp ins(%[[X]] :
// CHECK-NOT: linalg.matmul
// CHECK: linalg.generic {{.*}}"reduction", "parallel"]} ins(%[[G]], %[[X]] :
// CHECK: linalg.matmul ins(%[[H]],
// CHECK: linalg.matmul
func.func @sinks(%x: tensor<512x128xf32>, %dy: tensor<512x64xf32>, %v: tensor<128x64xf32>, %w: tensor<64x128xf32>, %big: tensor<512x2048xf32>, %y: tensor<2048x512xf32>) -> (tensor<512x64xf32>, tensor<128xf32>, tensor<2048x2048xf32>) {
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<512x128xf32>
  %h = linalg.exp ins(%x : tensor<512x128xf32>) outs(%eh : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ew = tensor.empty() : tensor<512x64xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<512x64xf32>) -> tensor<512x64xf32>
  %dw = linalg.matmul ins(%h, %v : tensor<512x128xf32>, tensor<128x64xf32>) outs(%zw : tensor<512x64xf32>) -> tensor<512x64xf32>
  %eg = tensor.empty() : tensor<512x128xf32>
  %zg = linalg.fill ins(%zero : f32) outs(%eg : tensor<512x128xf32>) -> tensor<512x128xf32>
  %g = linalg.matmul ins(%dy, %w : tensor<512x64xf32>, tensor<64x128xf32>) outs(%zg : tensor<512x128xf32>) -> tensor<512x128xf32>
  %es = tensor.empty() : tensor<128xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<128xf32>) -> tensor<128xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #sum], iterator_types = ["reduction", "parallel"]} ins(%g, %x : tensor<512x128xf32>, tensor<512x128xf32>) outs(%zs : tensor<128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.cos %b : f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<128xf32>
  %ebig = tensor.empty() : tensor<2048x2048xf32>
  %zbig = linalg.fill ins(%zero : f32) outs(%ebig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %p = linalg.matmul ins(%y, %big : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%zbig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %dw, %s, %p : tensor<512x64xf32>, tensor<128xf32>, tensor<2048x2048xf32>
}

// -----

// The second one reads what an update has written since.
// CHECK-LABEL: func.func @not_past_an_update(
// CHECK: linalg.exp
// CHECK: linalg.matmul
// CHECK: linalg.add
// CHECK: linalg.negf
func.func @not_past_an_update(%x: tensor<512x128xf32>, %w: tensor<128x128xf32>, %big: tensor<512x2048xf32>, %y: tensor<2048x512xf32>) -> (tensor<512x128xf32>, tensor<512x128xf32>, tensor<2048x2048xf32>) {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<512x128xf32>
  %a = linalg.exp ins(%x : tensor<512x128xf32>) outs(%ea : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ep = tensor.empty() : tensor<512x128xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x128xf32>) -> tensor<512x128xf32>
  %p = linalg.matmul ins(%a, %w : tensor<512x128xf32>, tensor<128x128xf32>) outs(%zp : tensor<512x128xf32>) -> tensor<512x128xf32>
  %u = linalg.add ins(%x, %p : tensor<512x128xf32>, tensor<512x128xf32>) outs(%x : tensor<512x128xf32>) -> tensor<512x128xf32>
  %eb = tensor.empty() : tensor<512x128xf32>
  %b = linalg.negf ins(%u : tensor<512x128xf32>) outs(%eb : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ebig = tensor.empty() : tensor<2048x2048xf32>
  %zbig = linalg.fill ins(%zero : f32) outs(%ebig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %q = linalg.matmul ins(%y, %big : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%zbig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %u, %b, %q : tensor<512x128xf32>, tensor<512x128xf32>, tensor<2048x2048xf32>
}

// -----

// The loss is of the forward. That the gradient's kernel reads %x, too, is no reason to keep its result for the backward.
// CHECK-LABEL: func.func @not_into_the_forward(
// CHECK: linalg.exp
// CHECK: linalg.matmul
// CHECK: linalg.negf
func.func @not_into_the_forward(%x: tensor<512x128xf32>, %w: tensor<128x128xf32>, %big: tensor<512x2048xf32>, %y: tensor<2048x512xf32>) -> (tensor<512x128xf32>, tensor<512x128xf32> {remat.gradient_of = 0}, tensor<2048x2048xf32> {remat.gradient_of = 2}) {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<512x128xf32>
  %a = linalg.exp ins(%x : tensor<512x128xf32>) outs(%ea : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ep = tensor.empty() : tensor<512x128xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x128xf32>) -> tensor<512x128xf32>
  %p = linalg.matmul ins(%a, %w : tensor<512x128xf32>, tensor<128x128xf32>) outs(%zp : tensor<512x128xf32>) -> tensor<512x128xf32>
  %eb = tensor.empty() : tensor<512x128xf32>
  %b = linalg.negf ins(%x : tensor<512x128xf32>) outs(%eb : tensor<512x128xf32>) -> tensor<512x128xf32>
  %ebig = tensor.empty() : tensor<2048x2048xf32>
  %zbig = linalg.fill ins(%zero : f32) outs(%ebig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %q = linalg.matmul ins(%y, %big : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%zbig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %p, %b, %q : tensor<512x128xf32>, tensor<512x128xf32>, tensor<2048x2048xf32>
}

// -----

// Users of small tensors read them from a cache.
// CHECK-LABEL: func.func @small_tensors(
// CHECK: linalg.exp
// CHECK: linalg.matmul
// CHECK: linalg.negf
func.func @small_tensors(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %big: tensor<512x2048xf32>, %y: tensor<2048x512xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<2048x2048xf32>) {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<32x64xf32>
  %a = linalg.exp ins(%x : tensor<32x64xf32>) outs(%ea : tensor<32x64xf32>) -> tensor<32x64xf32>
  %ep = tensor.empty() : tensor<32x64xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<32x64xf32>) -> tensor<32x64xf32>
  %p = linalg.matmul ins(%a, %w : tensor<32x64xf32>, tensor<64x64xf32>) outs(%zp : tensor<32x64xf32>) -> tensor<32x64xf32>
  %eb = tensor.empty() : tensor<32x64xf32>
  %b = linalg.negf ins(%x : tensor<32x64xf32>) outs(%eb : tensor<32x64xf32>) -> tensor<32x64xf32>
  %ebig = tensor.empty() : tensor<2048x2048xf32>
  %zbig = linalg.fill ins(%zero : f32) outs(%ebig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %q = linalg.matmul ins(%y, %big : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%zbig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %p, %b, %q : tensor<32x64xf32>, tensor<32x64xf32>, tensor<2048x2048xf32>
}

// -----

// A body of a loop is a block as others are.
// CHECK-LABEL: func.func @in_a_loop(
// CHECK: scf.for
// CHECK: linalg.exp
// CHECK-NOT: linalg.matmul
// CHECK: linalg.negf
// CHECK-COUNT-3: linalg.matmul
func.func @in_a_loop(%x: tensor<512x128xf32>, %w: tensor<128x2048xf32>, %v: tensor<128x64xf32>, %y: tensor<2048x512xf32>, %n: index) -> tensor<512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %eq = tensor.empty() : tensor<512x64xf32>
  %zq = linalg.fill ins(%zero : f32) outs(%eq : tensor<512x64xf32>) -> tensor<512x64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zq, %f = %zero) -> (tensor<512x64xf32>, f32) {
    %ea = tensor.empty() : tensor<512x128xf32>
    %a = linalg.exp ins(%x : tensor<512x128xf32>) outs(%ea : tensor<512x128xf32>) -> tensor<512x128xf32>
    %ep = tensor.empty() : tensor<512x2048xf32>
    %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %p = linalg.matmul ins(%a, %w : tensor<512x128xf32>, tensor<128x2048xf32>) outs(%zp : tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %x1 = remat.barrier %x after %p : tensor<512x128xf32> after tensor<512x2048xf32>
    %eb = tensor.empty() : tensor<512x128xf32>
    %b = linalg.negf ins(%x1 : tensor<512x128xf32>) outs(%eb : tensor<512x128xf32>) -> tensor<512x128xf32>
    %q = linalg.matmul ins(%b, %v : tensor<512x128xf32>, tensor<128x64xf32>) outs(%s : tensor<512x64xf32>) -> tensor<512x64xf32>
    %ebig = tensor.empty() : tensor<2048x2048xf32>
    %zbig = linalg.fill ins(%zero : f32) outs(%ebig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    %big = linalg.matmul ins(%y, %p : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%zbig : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    %one = tensor.extract %big[%c0, %c0] : tensor<2048x2048xf32>
    scf.yield %q, %one : tensor<512x64xf32>, f32
  }
  return %r#0 : tensor<512x64xf32>
}
