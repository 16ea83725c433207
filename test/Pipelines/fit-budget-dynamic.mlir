// No budget can be promised where a size is not known: the error names the tensor.

// RUN: not remat-opt %s --remat-train-to-tensors="budget=1GiB" -o %t.none.mlir 2>&1 | FileCheck %s
// CHECK: fit-budget-dynamic.mlir:[[#]]:[[#]]: error: a budget needs sizes that are known when the program is compiled, but this is a 'tensor<?x64xf32>'
// CHECK: note: give the data of 'step' static shapes, or leave the budget out
// RUN: not ls %t.none.mlir

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)

func.func @loss(%w: tensor<64x64xf32> {opt.param = "w"}, %x: tensor<?x64xf32> {remat.data = "x"}) -> (f32 {remat.loss}) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%rows) : tensor<?x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<?x64xf32>) -> tensor<?x64xf32>
  %square = linalg.map { arith.mulf } ins(%y, %y : tensor<?x64xf32>, tensor<?x64xf32>) outs(%empty : tensor<?x64xf32>)
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<?x64xf32>) outs(%start : tensor<f32>) dimensions = [0, 1]
  %loss = tensor.extract %sum[] : tensor<f32>
  return %loss : f32
}
