// A budget is met by recomputing the values for which that costs the least, or it is an error that says what would do.

// DEFINE: %{plan} = plan-visits=3000000
// RUN: remat-opt %s --remat-train-to-tensors="budget=1.0 budget-of=arena %{plan}" -o %t.all.mlir
// RUN: FileCheck %s --check-prefix=ALL < %t.all.mlir
// RUN: remat-opt %t.all.mlir --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE
// ALL-LABEL: func.func @step
// ALL-NOT: remat.phase = "recompute"
// WHOLE: arena (exact peak) 114688{{$}}

// One hidden layer is computed twice: a product and a tanh.
// RUN: remat-opt %s --remat-train-to-tensors="budget=96KiB budget-of=arena %{plan}" -o %t.less.mlir
// RUN: FileCheck %s --check-prefix=LESS < %t.less.mlir
// RUN: remat-opt %t.less.mlir --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=FITS
// LESS-LABEL: func.func @step
// LESS: %[[AGAIN:.*]]:2 = remat.barrier %{{.*}}, %{{.*}} after %{{.*}} repeated
// LESS: linalg.matmul {{.*}}remat.phase = "recompute"{{.*}} ins(%[[AGAIN]]#0, %[[AGAIN]]#1
// FITS: arena (exact peak) 98304{{$}}
// FITS: 2 recomputed operations

// RUN: remat-opt %s --remat-train-to-tensors="budget=81920 budget-of=arena %{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAN
// LEAN: arena (exact peak) 81920{{$}}
// LEAN: 5 recomputed operations

// The same plan each time.
// RUN: remat-opt %s --remat-train-to-tensors="budget=96KiB budget-of=arena %{plan}" | diff %t.less.mlir -

// The train step may say it, too; an option replaces that.
// RUN: sed 's/optimizer(@sgd)/optimizer(@sgd) {budget = "96KiB", budget_of = "arena"}/' %s > %t.says.mlir
// RUN: remat-opt %t.says.mlir --remat-train-to-tensors="%{plan}" | sed 's/ {budget = "96KiB", budget_of = "arena"}//' > %t.said.mlir
// RUN: sed 's/ {budget = "96KiB", budget_of = "arena"}//' %t.less.mlir | diff %t.said.mlir -
// RUN: remat-opt %t.says.mlir --remat-train-to-tensors="budget=81920 budget-of=arena %{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAN

// The fewest bytes for so much more time.
// RUN: remat-opt %s --remat-train-to-tensors="slowdown=0 %{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: remat-opt %s --remat-train-to-tensors="slowdown=0.12 %{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=FITS
// RUN: remat-opt %s --remat-train-to-tensors="slowdown=9 %{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAN
// RUN: sed 's/optimizer(@sgd)/optimizer(@sgd) {slowdown = 9.0}/' %s | remat-opt --remat-train-to-tensors="%{plan}" | remat-opt --remat-bufferize=report=- -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAN

// Parameters, states and data are part of what a step takes, unless the arena alone is asked for.
// RUN: not remat-opt %s --remat-train="budget=112KiB %{plan}" -o %t.none.mlir 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ls %t.none.mlir
// STEP: error: 'step' does not fit a budget of 114688 bytes, 98304 of which are parameters, states, data and results; the smallest that was found is 180224
// STEP: note: nothing is below 147456 bytes: what this reads and computes takes 49152

// RUN: not remat-opt %s --remat-train="budget=1KiB budget-of=arena %{plan}" 2>&1 | FileCheck %s --check-prefix=TINY
// TINY: error: 'step' does not fit a budget of 1024 bytes; the smallest that was found is [[#]]
// RUN: not remat-opt %s --remat-train="budget=5apples" 2>&1 | FileCheck %s --check-prefix=UNIT
// UNIT: error: budget '5apples' is neither a number of bytes such as 4096, 500MiB or 1.5GB, nor a fraction such as 0.8
// RUN: not remat-opt %s --remat-train="budget=1.5" 2>&1 | FileCheck %s --check-prefix=ABOVE
// ABOVE: error: budget '1.5' is a fraction of what the program takes before anything is recomputed for it, which must be above 0 and at most 1
// RUN: not remat-opt %s --remat-train="budget=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not remat-opt %s --remat-train="budget=9000000TiB" 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: budget '{{.*}}' must be at least one byte and below 2^63 bytes
// RUN: not remat-opt %s --remat-train="budget=1MiB budget-of=weights" 2>&1 | FileCheck %s --check-prefix=OF
// OF: error: unknown budget-of=weights; choose step or arena
// RUN: not remat-opt %s --remat-train="budget-of=arena" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: budget-of=arena says what a budget bounds, but there is none: give budget=, too
// RUN: not remat-opt %s --remat-train="budget=1MiB slowdown=0.1" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: budget= and slowdown= each decide about the other; give one of them
// RUN: not remat-opt %s --remat-train="slowdown=-1" 2>&1 | FileCheck %s --check-prefix=SLOW
// SLOW: error: slowdown '-1' must be a number from 0 to 100: how much more time may be spent

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
  %h0 = call @layer(%x, %w0) : (!matrix, !matrix) -> !matrix
  %h1 = call @layer(%h0, %w1) : (!matrix, !matrix) -> !matrix
  %h2 = call @layer(%h1, %w2) : (!matrix, !matrix) -> !matrix
  %h3 = call @layer(%h2, %w3) : (!matrix, !matrix) -> !matrix
  %h4 = call @layer(%h3, %w4) : (!matrix, !matrix) -> !matrix
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%h4 : !matrix) outs(%start : tensor<f32>) dimensions = [0, 1]
  %loss = tensor.extract %sum[] : tensor<f32>
  return %loss : f32
}
