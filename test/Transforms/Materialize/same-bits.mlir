// Law 1: whatever the policies, the loss and its gradient have the same bits; also
// when passes clean up in between.
// DEFINE: %{policy} = everything_saveable
// DEFINE: %{clean} = canonicalize
// DEFINE: %{run} = sed 's/POLICY/#remat.%{policy}/' %s | remat-opt -remat-differentiate | sed '/^}$/d' > %t.mlir && cat %t.mlir %S/Inputs/same-bits-main.mlir | remat-opt -pass-pipeline="builtin.module(%{clean},remat-materialize,%{clean},remat-inline-regions,%{clean},remat-fuse,remat-lower-tapes,one-shot-bufferize{bufferize-function-boundaries=true allow-return-allocs-from-loops=true function-boundary-type-conversion=identity-layout-map},remat-lower-to-cpu)" | mlir-runner -e main -entry-point-result=void --shared-libs=%mlir_c_runner_utils,%runtime
// RUN: %{run} > %t.everything
// RUN: FileCheck %s < %t.everything
// CHECK-COUNT-5: {{^[0-9]+$}}
// REDEFINE: %{policy} = nothing_saveable
// RUN: %{run} | diff %t.everything -
// REDEFINE: %{policy} = save_only_names<"t">
// RUN: %{run} | diff %t.everything -
// REDEFINE: %{policy} = every_k<1>
// RUN: %{run} | diff %t.everything -
// REDEFINE: %{clean} = func.func(loop-invariant-code-motion),cse,sccp,canonicalize
// RUN: %{run} | diff %t.everything -
// REDEFINE: %{policy} = nothing_saveable
// RUN: %{run} | diff %t.everything -

#id = affine_map<(i) -> (i)>

// Regions in a loop in a region.
func.func @loss(%w: tensor<4xf32> {opt.param}, %x: tensor<4xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = remat.region policy(POLICY) (%u = %x : tensor<4xf32>, %v = %w : tensor<4xf32>, %b = %c0 : index, %e = %c3 : index, %s = %c1 : index) -> tensor<4xf32> {
    %z = scf.for %i = %b to %e step %s iter_args(%h = %u) -> tensor<4xf32> {
      %r = remat.region policy(POLICY) (%p = %h : tensor<4xf32>, %q = %v : tensor<4xf32>) -> tensor<4xf32> {
        %e0 = tensor.empty() : tensor<4xf32>
        %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%p, %q : tensor<4xf32>, tensor<4xf32>) outs(%e0 : tensor<4xf32>) {
        ^bb0(%a: f32, %c: f32, %o: f32):
          %m = arith.mulf %a, %c : f32
          %t = math.tanh %m : f32
          linalg.yield %t : f32
        } -> tensor<4xf32>
        %1 = remat.name "t" %0 : tensor<4xf32>
        %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%1, %p : tensor<4xf32>, tensor<4xf32>) outs(%e0 : tensor<4xf32>) {
        ^bb0(%a: f32, %c: f32, %o: f32):
          %m = math.exp %a : f32
          %t = arith.addf %m, %c : f32
          linalg.yield %t : f32
        } -> tensor<4xf32>
        remat.yield %2 : tensor<4xf32>
      }
      scf.yield %r : tensor<4xf32>
    }
    remat.yield %z : tensor<4xf32>
  }
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%y, %w : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
