// Policies that choose among all values of a region.

// DEFINE: %{policy} = min_cut
// DEFINE: %{plan} = sed 's/POLICY/%{policy}/' %s | remat-opt -remat-plan="report=true" -remat-materialize 2>&1

// The tanh is cheap to make of the product, and as large.
// RUN: %{plan} | FileCheck %s --check-prefixes=CUT
// CUT: remark: saves 1 values (16384 bytes), recomputes 1 operations
// CUT: remat.region
// CUT: %[[P:.*]] = linalg.matmul
// CUT: remat.saved %[[P]] : tensor<64x64xf32> #remat.decision<save by "#remat.min_cut" because "chosen among all values">
// CUT: remat.backward
// CUT: linalg.map { math.tanh }
// CUT-NOT: linalg.matmul

// Everything fits.
// REDEFINE: %{policy} = budget<"64KiB">
// RUN: %{plan} | FileCheck %s --check-prefix=ALL
// ALL: remark: saves 2 values (32768 bytes), recomputes 0 operations

// The result of the tanh makes both the product and the tanh dispensable, but the backward reads the product, too.
// REDEFINE: %{policy} = budget<16384>
// RUN: %{plan} | FileCheck %s --check-prefix=ONE
// ONE: remark: saves 1 values (16384 bytes), recomputes 1 operations
// ONE: linalg.matmul
// ONE: remat.saved %{{.*}} : tensor<64x64xf32> #remat.decision<save by "#remat.budget<16384>" because "chosen among all values">

// REDEFINE: %{policy} = budget<16383>
// RUN: %{plan} | FileCheck %s --check-prefix=NONE
// NONE: remark: saves 0 values (0 bytes), recomputes 2 operations

!matrix = tensor<64x64xf32>
func.func @layer(%x: !matrix, %w: !matrix, %zeros: !matrix, %ct: !matrix) -> (!matrix, !matrix) {
  %y, %r:2 = remat.region policy(#remat.POLICY) (%a = %x : !matrix, %b = %w : !matrix, %z = %zeros : !matrix)
      -> !matrix residuals(!matrix, !matrix) {
    %p = linalg.matmul ins(%a, %b : !matrix, !matrix) outs(%z : !matrix) -> !matrix
    %t = linalg.map { math.tanh } ins(%p : !matrix) outs(%z : !matrix)
    %u = linalg.map { math.exp } ins(%t : !matrix) outs(%z : !matrix)
    remat.yield %u : !matrix residuals(%p, %t : !matrix, !matrix)
  }
  %dx = remat.backward (%z = %zeros : !matrix) residuals(%p = %r#0 : !matrix, %t = %r#1 : !matrix) cotangents(%dy = %ct : !matrix) -> !matrix {
    %0 = linalg.map { arith.mulf } ins(%dy, %t : !matrix, !matrix) outs(%z : !matrix)
    %1 = linalg.map { arith.addf } ins(%0, %p : !matrix, !matrix) outs(%z : !matrix)
    remat.yield %1 : !matrix
  }
  return %y, %dx : !matrix, !matrix
}
