opt.optimizer @o = #opt.custom<@rule, lr = 1.0e-1>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 2, log_every = 1}
func.func @loss(%x: tensor<4xf32> {remat.data = "x"}, %w: tensor<8xf32> {opt.param = "w", opt.init = "ones"}) -> tensor<f32> {
  %c = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%c : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %y1 = remat.region policy(#remat.nothing_saveable) (%a1 = %x : tensor<4xf32>, %v1 = %w : tensor<8xf32>) -> tensor<4xf32> {
    %e1 = tensor.empty() : tensor<4xf32>
    %s1 = tensor.extract_slice %v1[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %p1 = linalg.mul ins(%s1, %a1 : tensor<4xf32>, tensor<4xf32>) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %p1 : tensor<4xf32>
  }
  %y2 = remat.region policy(#remat.nothing_saveable) (%a2 = %x : tensor<4xf32>, %v2 = %w : tensor<8xf32>) -> tensor<4xf32> {
    %e2 = tensor.empty() : tensor<4xf32>
    %s2 = tensor.extract_slice %v2[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %p2 = linalg.mul ins(%s2, %a2 : tensor<4xf32>, tensor<4xf32>) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %p2 : tensor<4xf32>
  }
  %y = linalg.add ins(%y1, %y2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%z : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}
func.func private @rule(%p: f32, %g: f32, %t: i64, %lr: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %n = math.copysign %one, %g : f32
  return %n : f32
}
