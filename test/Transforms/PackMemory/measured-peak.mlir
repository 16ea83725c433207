// A program allocates the bytes that the compiler predicts, exactly, and the
// packed program computes the same with a single allocation.

// DEFINE: %{lower} = remat-opt -convert-linalg-to-loops -expand-strided-metadata -lower-affine \
// DEFINE:   -convert-scf-to-cf -finalize-memref-to-llvm="use-generic-functions use-aligned-alloc" -convert-math-to-libm \
// DEFINE:   -convert-func-to-llvm -convert-arith-to-llvm -convert-cf-to-llvm -reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -e main -entry-point-result=void \
// DEFINE:   --shared-libs=%counting_allocator,%mlir_runner_utils,%mlir_c_runner_utils

// RUN: remat-opt %s -remat-bufferize="arena=none report=-" 2> %t.kept.txt | %{lower} | %{run} > %t.kept.out
// RUN: remat-opt %s -remat-bufferize="report=-" 2> %t.packed.txt | %{lower} | %{run} > %t.packed.out
// RUN: remat-opt %s -remat-bufferize="arena=none reuse=false report=-" 2> %t.apart.txt | %{lower} | %{run} > %t.apart.out
// RUN: cat %t.kept.txt %t.kept.out | FileCheck %s --check-prefix=KEPT
// RUN: cat %t.packed.txt %t.packed.out | FileCheck %s --check-prefix=PACKED
// RUN: cat %t.apart.txt %t.apart.out | FileCheck %s --check-prefix=APART
// RUN: grep "^ *\[" %t.kept.out > %t.kept.numbers
// RUN: grep "^ *\[" %t.packed.out | diff - %t.kept.numbers
// RUN: grep "^ *\[" %t.apart.out | diff - %t.kept.numbers

// KEPT-LABEL: memory of @main
// KEPT: arena (exact peak) {{ *}}[[PEAK:[0-9]+]]
// KEPT: peak [[PEAK]] bytes in

// APART-LABEL: memory of @main
// APART: arena (exact peak) {{ *}}[[PEAK:[0-9]+]]
// APART: peak [[PEAK]] bytes in

// PACKED-LABEL: memory of @main
// PACKED: arena (exact peak) {{ *}}[[PEAK:[0-9]+]]
// PACKED: peak [[PEAK]] bytes in 1 allocations

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#outer = affine_map<(d0, d1) -> (d0)>

// Two residuals are returned in memory that the caller provides; one temporary
// is larger than everything else.
func.func private @block(%w: tensor<16x16xf32>, %x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.03125 : f32
  %e0 = tensor.empty() : tensor<8x16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%z0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %e1 = tensor.empty() : tensor<8x16x32xf32>
  %big = linalg.broadcast ins(%h : tensor<8x16xf32>) outs(%e1 : tensor<8x16x32xf32>) dimensions = [2]
  %e2 = tensor.empty() : tensor<8x16xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %sum = linalg.reduce { arith.addf } ins(%big : tensor<8x16x32xf32>) outs(%z2 : tensor<8x16xf32>) dimensions = [2]
  %e3 = tensor.empty() : tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<8x16xf32>) outs(%e3 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %half : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %y, %h : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func private @step(%w: tensor<16x16xf32>, %x: tensor<8x16xf32>) -> (tensor<16x16xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y, %h = func.call @block(%w, %x) : (tensor<16x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %y1, %h1 = func.call @block(%w, %y) : (tensor<16x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y1 : tensor<8x16xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  // A loop that carries a tensor, with a temporary of its own.
  %carried = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %h1) -> tensor<8x16xf32> {
    %e1 = tensor.empty() : tensor<8x16xf32>
    %t0 = linalg.add ins(%d, %h : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %e2 = tensor.empty() : tensor<16x8xf32>
    %t1 = linalg.transpose ins(%t0 : tensor<8x16xf32>) outs(%e2 : tensor<16x8xf32>) permutation = [1, 0]
    %e3 = tensor.empty() : tensor<16x8xf32>
    %t2 = linalg.tanh ins(%t1 : tensor<16x8xf32>) outs(%e3 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %e4 = tensor.empty() : tensor<8x16xf32>
    %t3 = linalg.transpose ins(%t2 : tensor<16x8xf32>) outs(%e4 : tensor<8x16xf32>) permutation = [1, 0]
    scf.yield %t3 : tensor<8x16xf32>
  }
  %e5 = tensor.empty() : tensor<16x16xf32>
  %z5 = linalg.fill {remat.phase = "backward"} ins(%zero : f32) outs(%e5 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (c, a)>, affine_map<(a, b, c) -> (c, b)>, affine_map<(a, b, c) -> (a, b)>],
       iterator_types = ["parallel", "parallel", "reduction"], remat.phase = "backward"}
      ins(%x, %carried : tensor<8x16xf32>, tensor<8x16xf32>) outs(%z5 : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %w1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"], remat.phase = "update"}
      ins(%g : tensor<16x16xf32>) outs(%w : tensor<16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.subf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %w1, %loss : tensor<16x16xf32>, tensor<f32>
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.01 : f32
  %e0 = tensor.empty() : tensor<16x16xf32>
  %w = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e0 : tensor<16x16xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.subi %i, %j : index
    %l = arith.index_cast %k : index to i32
    %f = arith.sitofp %l : i32 to f32
    %s = arith.mulf %f, %scale : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<8x16xf32>
  %x = linalg.fill ins(%scale : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %w1, %l1 = func.call @step(%w, %x) : (tensor<16x16xf32>, tensor<8x16xf32>) -> (tensor<16x16xf32>, tensor<f32>)
  %w2, %l2 = func.call @step(%w1, %x) : (tensor<16x16xf32>, tensor<8x16xf32>) -> (tensor<16x16xf32>, tensor<f32>)
  %u = tensor.cast %l1 : tensor<f32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  %u2 = tensor.cast %l2 : tensor<f32> to tensor<*xf32>
  call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  %part = tensor.extract_slice %w2[0, 0] [4, 16] [1, 1] : tensor<16x16xf32> to tensor<4x16xf32>
  %u3 = tensor.cast %part : tensor<4x16xf32> to tensor<*xf32>
  call @printMemrefF32(%u3) : (tensor<*xf32>) -> ()
  call @remat_test_print_allocations() : () -> ()
  return
}
func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}
func.func private @remat_test_print_allocations()
