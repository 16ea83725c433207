// The mask of a dropout differs between layers, loop iterations and steps, and
// the backward recomputes it from the same state. Generators are threaded
// first: the layers take no state.
// RUN: remat-opt %s -remat-thread-rng -remat-lower-random -cse -canonicalize -remat-fuse -cse -remat-inline-regions -remat-fuse -remat-lower-tapes -cse -canonicalize -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: remat-opt %t.mlir -one-shot-bufferize=bufferize-function-boundaries -remat-lower-to-cpu | mlir-runner -e main -entry-point-result=void -shared-libs=%mlir_runner_utils,%mlir_c_runner_utils,%runtime | grep '^\[' > %t.masks

// Two layers in three iterations of two steps: twelve masks, each seen twice,
// forward and backward.
// RUN: grep -c . %t.masks | FileCheck %s --check-prefix=ALL
// ALL: {{^}}24{{$}}
// RUN: sort %t.masks | uniq | grep -c . | FileCheck %s --check-prefix=DISTINCT
// DISTINCT: {{^}}12{{$}}
// RUN: sort %t.masks | uniq -u | not grep .

// No mask is a tensor of its own.
// CHECK-NOT: xi1>

remat.generator @dropout seed(42)

#id = affine_map<(i) -> (i)>

// x where the mask is, 0 elsewhere; printed as numbers.
func.func private @layer(%x: tensor<32xi32>, %ct: tensor<32xi32>) {
  %rng = remat.get_rng @dropout
  %y, %next = remat.region (%a = %x : tensor<32xi32>, %r = %rng : !remat.rng) -> tensor<32xi32>, !remat.rng {
    %zero = arith.constant 0 : i32
    %e = tensor.empty() : tensor<32xi32>
    %m, %n = remat.random_bernoulli %r {p = 0.5 : f64} : tensor<32xi1>
    %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%m, %a : tensor<32xi1>, tensor<32xi32>) outs(%e : tensor<32xi32>) {
    ^bb0(%keep: i1, %in: i32, %out: i32):
      %s = arith.select %keep, %in, %zero : i32
      linalg.yield %s : i32
    } -> tensor<32xi32>
    remat.yield %d, %n : tensor<32xi32>, !remat.rng
  }
  remat.set_rng @dropout, %next
  %dx = remat.backward (%r0 = %rng : !remat.rng) cotangents(%c = %ct : tensor<32xi32>) -> tensor<32xi32> {
    %zero = arith.constant 0 : i32
    %r = remat.barrier %r0 after %c : !remat.rng after tensor<32xi32>
    %e = tensor.empty() : tensor<32xi32>
    %m, %n = remat.random_bernoulli %r {p = 0.5 : f64} : tensor<32xi1>
    %d = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%m, %c : tensor<32xi1>, tensor<32xi32>) outs(%e : tensor<32xi32>) {
    ^bb0(%keep: i1, %in: i32, %out: i32):
      %s = arith.select %keep, %in, %zero : i32
      linalg.yield %s : i32
    } -> tensor<32xi32>
    remat.yield %d : tensor<32xi32>
  }
  %0 = tensor.cast %y : tensor<32xi32> to tensor<*xi32>
  call @printMemrefI32(%0) : (tensor<*xi32>) -> ()
  %1 = tensor.cast %dx : tensor<32xi32> to tensor<*xi32>
  call @printMemrefI32(%1) : (tensor<*xi32>) -> ()
  return
}

func.func private @step() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant dense<1> : tensor<32xi32>
  scf.for %i = %c0 to %c3 step %c1 {
    func.call @layer(%one, %one) : (tensor<32xi32>, tensor<32xi32>) -> ()
    func.call @layer(%one, %one) : (tensor<32xi32>, tensor<32xi32>) -> ()
  }
  return
}

func.func private @two_steps() {
  call @step() : () -> ()
  call @step() : () -> ()
  return
}

func.func @main() {
  %seed = arith.constant 42 : i64
  %rng = remat.rng_init %seed
  remat.set_rng @dropout, %rng
  call @two_steps() : () -> ()
  return
}
func.func private @printMemrefI32(%ptr: tensor<*xi32>) attributes {llvm.emit_c_interface}
