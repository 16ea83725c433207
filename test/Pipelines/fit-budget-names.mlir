// A value that a policy names is kept under every budget, and what a policy recomputes is recomputed.

// DEFINE: %{plan} = plan-visits=3000000 budget-of=arena
// Without names, hidden layers are dropped.
// RUN: sed 's/POLICY/everything_saveable/' %s | remat-opt --remat-train-to-tensors="budget=80KiB %{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=FREE
// FREE: arena (exact peak) {{[0-9]+}}
// FREE: {{[1-9]}} recomputed operations

// RUN: sed 's/POLICY/save_anything_except_names<"other">/' %s | remat-opt --remat-train-to-tensors="budget=80KiB %{plan}" | FileCheck %s --check-prefix=TENSORS
// TENSORS-LABEL: func.func @step
// TENSORS-NOT: remat.saved
// TENSORS: return

// RUN: sed 's/POLICY/save_only_names<"h1", "h2", "h3">/' %s | not remat-opt --remat-train="budget=80KiB %{plan}" 2>&1 | FileCheck %s --check-prefix=NAMED
// NAMED: error: 'step' does not fit a budget of 81920 bytes; the smallest that was found is [[#]]
// NAMED: note: policies name values of 49152 bytes, which are kept for that

!matrix = tensor<64x64xf32>
func.func private @layer(%x: !matrix, %w: !matrix) -> !matrix {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !matrix
  %start = linalg.fill ins(%zero : f32) outs(%empty : !matrix) -> !matrix
  %p = linalg.matmul ins(%x, %w : !matrix, !matrix) outs(%start : !matrix) -> !matrix
  %y = linalg.map { math.tanh } ins(%p : !matrix) outs(%empty : !matrix)
  return %y : !matrix
}

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)

func.func @loss(%w0: !matrix {opt.param = "w0"}, %w1: !matrix {opt.param = "w1"}, %w2: !matrix {opt.param = "w2"},
                %w3: !matrix {opt.param = "w3"}, %w4: !matrix {opt.param = "w4"}, %x: !matrix {remat.data = "x"})
    -> (f32 {remat.loss}) {
  %h4 = remat.region policy(#remat.POLICY) (%a = %x : !matrix, %v0 = %w0 : !matrix, %v1 = %w1 : !matrix, %v2 = %w2 : !matrix, %v3 = %w3 : !matrix, %v4 = %w4 : !matrix) -> !matrix {
    %h0 = func.call @layer(%a, %v0) : (!matrix, !matrix) -> !matrix
    %h1 = func.call @layer(%h0, %v1) : (!matrix, !matrix) -> !matrix
    %n1 = remat.name "h1" %h1 : !matrix
    %h2 = func.call @layer(%n1, %v2) : (!matrix, !matrix) -> !matrix
    %n2 = remat.name "h2" %h2 : !matrix
    %h3 = func.call @layer(%n2, %v3) : (!matrix, !matrix) -> !matrix
    %n3 = remat.name "h3" %h3 : !matrix
    %n4 = remat.name "other" %n3 : !matrix
    %r = func.call @layer(%n4, %v4) : (!matrix, !matrix) -> !matrix
    remat.yield %r : !matrix
  }
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%h4 : !matrix) outs(%start : tensor<f32>) dimensions = [0, 1]
  %loss = tensor.extract %sum[] : tensor<f32>
  return %loss : f32
}
