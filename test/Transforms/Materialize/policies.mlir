// Each policy on one chain of four sines of which three are needed, the first
// three named: which sines the backward recomputes.

// DEFINE: %{policy} = nothing_saveable
// DEFINE: %{saves} = sed 's/POLICY/#remat.%{policy}/' %s | remat-opt -remat-plan="report=true" -remat-materialize 2>&1 | grep -o "saves [0-9]* values ([0-9]* bytes), recomputes [0-9]* operations"
// RUN: %{saves} | FileCheck %s --check-prefix=NOTHING
// NOTHING: saves 0 values (0 bytes), recomputes 3 operations
// REDEFINE: %{policy} = everything_saveable
// RUN: %{saves} | FileCheck %s --check-prefix=EVERYTHING
// EVERYTHING: saves 3 values (48 bytes), recomputes 0 operations
// REDEFINE: %{policy} = save_only_names<"a">
// RUN: %{saves} | FileCheck %s --check-prefix=ONE
// ONE: saves 1 values (16 bytes), recomputes 2 operations
// REDEFINE: %{policy} = save_only_names<"a", "b">
// RUN: %{saves} | FileCheck %s --check-prefix=TWO
// TWO: saves 2 values (32 bytes), recomputes 1 operations
// REDEFINE: %{policy} = save_only_names<"a", "b", "c">
// RUN: %{saves} | FileCheck %s --check-prefix=EVERYTHING
// Names that the backward does not need are not saved.
// REDEFINE: %{policy} = save_only_names<"d">
// RUN: %{saves} | FileCheck %s --check-prefix=NOTHING
// REDEFINE: %{policy} = save_any_names_but<"b">
// RUN: %{saves} | FileCheck %s --check-prefix=TWO
// The operand of an excluded name is the same bits.
// REDEFINE: %{policy} = save_anything_except_names<"b">
// RUN: %{saves} | FileCheck %s --check-prefix=TWO
// A value with an excluded name is excluded under its other name, too.
// REDEFINE: %{policy} = save_anything_except_names<"b again">
// RUN: %{saves} | FileCheck %s --check-prefix=TWO
// REDEFINE: %{policy} = save_any_names_but<"b again">
// RUN: %{saves} | FileCheck %s --check-prefix=TWO
// REDEFINE: %{policy} = offload_names<"a">
// RUN: %{saves} | FileCheck %s --check-prefix=ONE
// REDEFINE: %{policy} = any_of<#remat.save_only_names<"a">, #remat.save_only_names<"c">>
// RUN: %{saves} | FileCheck %s --check-prefix=TWO
// REDEFINE: %{policy} = dots_saveable
// RUN: %{saves} | FileCheck %s --check-prefix=NOTHING

func.func @four_sines(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r:3 = remat.region policy(POLICY) (%p = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = math.sin %p : tensor<4xf32>
    %a = remat.name "a" %0 : tensor<4xf32>
    %1 = math.sin %a : tensor<4xf32>
    %b = remat.name "b" %1 : tensor<4xf32>
    %bb = remat.name "b again" %b : tensor<4xf32>
    %2 = math.sin %bb : tensor<4xf32>
    %c = remat.name "c" %2 : tensor<4xf32>
    %3 = math.sin %c : tensor<4xf32>
    %d = remat.name "d" %3 : tensor<4xf32>
    remat.yield %d : tensor<4xf32> residuals(%0, %bb, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  }
  %dx = remat.backward (%p = %x : tensor<4xf32>) residuals(%a = %r#0 : tensor<4xf32>, %b = %r#1 : tensor<4xf32>, %c = %r#2 : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %0 = math.cos %c : tensor<4xf32>
    %1 = arith.mulf %0, %dy : tensor<4xf32>
    %2 = math.cos %b : tensor<4xf32>
    %3 = arith.mulf %1, %2 : tensor<4xf32>
    %4 = math.cos %a : tensor<4xf32>
    %5 = arith.mulf %3, %4 : tensor<4xf32>
    %6 = math.cos %p : tensor<4xf32>
    %7 = arith.mulf %5, %6 : tensor<4xf32>
    remat.yield %7 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}
