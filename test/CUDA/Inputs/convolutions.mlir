// Convolutions of both layouts and types, of all the kinds of windows for which operands are copied.
opt.optimizer @o = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 3, log_every = 1}

func.func private @f32_last(%x: tensor<2x9x8x3xf32>, %w0: tensor<3x3x3x6xf32>, %w1: tensor<3x2x6x4xf32>, %w2: tensor<2x3x4x6xf32>, %w3: tensor<3x3x1x6xf32>) -> tensor<f32> {
  // As many zeros on both sides.
  %e0 = tensor.empty() : tensor<2x9x8x6xf32>
  %y0 = remat.conv ins(%x, %w0 : tensor<2x9x8x3xf32>, tensor<3x3x3x6xf32>) outs(%e0 : tensor<2x9x8x6xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x9x8x6xf32>
  // Other zeros before than after, strides and dilations.
  %e1 = tensor.empty() : tensor<2x4x8x4xf32>
  %y1 = remat.conv ins(%y0, %w1 : tensor<2x9x8x6xf32>, tensor<3x2x6x4xf32>) outs(%e1 : tensor<2x4x8x4xf32>)
      {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, padding = array<i64: 0, 1, 2, 0>} -> tensor<2x4x8x4xf32>
  // Results that leave the last positions out.
  %e2 = tensor.empty() : tensor<2x3x4x6xf32>
  %y2 = remat.conv ins(%y1, %w2 : tensor<2x4x8x4xf32>, tensor<2x3x4x6xf32>) outs(%e2 : tensor<2x3x4x6xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>} -> tensor<2x3x4x6xf32>
  // A filter for each channel.
  %e3 = tensor.empty() : tensor<2x3x6x6xf32>
  %y3 = remat.conv ins(%y2, %w3 : tensor<2x3x4x6xf32>, tensor<3x3x1x6xf32>) outs(%e3 : tensor<2x3x6x6xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 2, 2>} -> tensor<2x3x6x6xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%y3 : tensor<2x3x6x6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%p: f32, %sum: f32):
    %0 = arith.mulf %p, %p : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

func.func private @f32_first(%x: tensor<2x3x9x8xf32>, %w0: tensor<6x3x3x3xf32>, %w1: tensor<4x6x3x2xf32>, %w2: tensor<6x4x2x3xf32>, %w3: tensor<6x1x3x3xf32>, %w4: tensor<4x3x1x1xf32>) -> tensor<f32> {
  // As many zeros on both sides.
  %e0 = tensor.empty() : tensor<2x6x9x8xf32>
  %y0 = remat.conv ins(%x, %w0 : tensor<2x3x9x8xf32>, tensor<6x3x3x3xf32>) outs(%e0 : tensor<2x6x9x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x6x9x8xf32>
  // Other zeros before than after, strides and dilations.
  %e1 = tensor.empty() : tensor<2x4x4x8xf32>
  %y1 = remat.conv ins(%y0, %w1 : tensor<2x6x9x8xf32>, tensor<4x6x3x2xf32>) outs(%e1 : tensor<2x4x4x8xf32>)
      {channels_first, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, padding = array<i64: 0, 1, 2, 0>} -> tensor<2x4x4x8xf32>
  // Results that leave the last positions out.
  %e2 = tensor.empty() : tensor<2x6x3x4xf32>
  %y2 = remat.conv ins(%y1, %w2 : tensor<2x4x4x8xf32>, tensor<6x4x2x3xf32>) outs(%e2 : tensor<2x6x3x4xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>} -> tensor<2x6x3x4xf32>
  // A filter for each channel.
  %e3 = tensor.empty() : tensor<2x6x3x6xf32>
  %y3 = remat.conv ins(%y2, %w3 : tensor<2x6x3x4xf32>, tensor<6x1x3x3xf32>) outs(%e3 : tensor<2x6x3x6xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 2, 2>} -> tensor<2x6x3x6xf32>
  // Groups, and strides that skip positions.
  %e4 = tensor.empty() : tensor<2x4x2x3xf32>
  %y4 = remat.conv ins(%y3, %w4 : tensor<2x6x3x6xf32>, tensor<4x3x1x1xf32>) outs(%e4 : tensor<2x4x2x3xf32>)
      {channels_first, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x4x2x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%y4 : tensor<2x4x2x3xf32>) outs(%z : tensor<f32>) {
  ^bb0(%p: f32, %sum: f32):
    %0 = arith.mulf %p, %p : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

func.func private @f64_last(%x: tensor<2x9x8x3xf64>, %w0: tensor<3x3x3x6xf64>, %w1: tensor<3x2x6x4xf64>, %w2: tensor<2x3x4x6xf64>, %w3: tensor<3x3x1x6xf64>) -> tensor<f32> {
  // As many zeros on both sides.
  %e0 = tensor.empty() : tensor<2x9x8x6xf64>
  %y0 = remat.conv ins(%x, %w0 : tensor<2x9x8x3xf64>, tensor<3x3x3x6xf64>) outs(%e0 : tensor<2x9x8x6xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x9x8x6xf64>
  // Other zeros before than after, strides and dilations.
  %e1 = tensor.empty() : tensor<2x4x8x4xf64>
  %y1 = remat.conv ins(%y0, %w1 : tensor<2x9x8x6xf64>, tensor<3x2x6x4xf64>) outs(%e1 : tensor<2x4x8x4xf64>)
      {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, padding = array<i64: 0, 1, 2, 0>} -> tensor<2x4x8x4xf64>
  // Results that leave the last positions out.
  %e2 = tensor.empty() : tensor<2x3x4x6xf64>
  %y2 = remat.conv ins(%y1, %w2 : tensor<2x4x8x4xf64>, tensor<2x3x4x6xf64>) outs(%e2 : tensor<2x3x4x6xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>} -> tensor<2x3x4x6xf64>
  // A filter for each channel.
  %e3 = tensor.empty() : tensor<2x3x6x6xf64>
  %y3 = remat.conv ins(%y2, %w3 : tensor<2x3x4x6xf64>, tensor<3x3x1x6xf64>) outs(%e3 : tensor<2x3x6x6xf64>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 2, 2>} -> tensor<2x3x6x6xf64>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%y3 : tensor<2x3x6x6xf64>) outs(%z : tensor<f32>) {
  ^bb0(%p: f64, %sum: f32):
    %0 = arith.mulf %p, %p : f64
    %1 = arith.truncf %0 : f64 to f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

func.func private @f64_first(%x: tensor<2x3x9x8xf64>, %w0: tensor<6x3x3x3xf64>, %w1: tensor<4x6x3x2xf64>, %w2: tensor<6x4x2x3xf64>, %w3: tensor<6x1x3x3xf64>, %w4: tensor<4x3x1x1xf64>) -> tensor<f32> {
  // As many zeros on both sides.
  %e0 = tensor.empty() : tensor<2x6x9x8xf64>
  %y0 = remat.conv ins(%x, %w0 : tensor<2x3x9x8xf64>, tensor<6x3x3x3xf64>) outs(%e0 : tensor<2x6x9x8xf64>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x6x9x8xf64>
  // Other zeros before than after, strides and dilations.
  %e1 = tensor.empty() : tensor<2x4x4x8xf64>
  %y1 = remat.conv ins(%y0, %w1 : tensor<2x6x9x8xf64>, tensor<4x6x3x2xf64>) outs(%e1 : tensor<2x4x4x8xf64>)
      {channels_first, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, padding = array<i64: 0, 1, 2, 0>} -> tensor<2x4x4x8xf64>
  // Results that leave the last positions out.
  %e2 = tensor.empty() : tensor<2x6x3x4xf64>
  %y2 = remat.conv ins(%y1, %w2 : tensor<2x4x4x8xf64>, tensor<6x4x2x3xf64>) outs(%e2 : tensor<2x6x3x4xf64>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>} -> tensor<2x6x3x4xf64>
  // A filter for each channel.
  %e3 = tensor.empty() : tensor<2x6x3x6xf64>
  %y3 = remat.conv ins(%y2, %w3 : tensor<2x6x3x4xf64>, tensor<6x1x3x3xf64>) outs(%e3 : tensor<2x6x3x6xf64>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 2, 2>} -> tensor<2x6x3x6xf64>
  // Groups, and strides that skip positions.
  %e4 = tensor.empty() : tensor<2x4x2x3xf64>
  %y4 = remat.conv ins(%y3, %w4 : tensor<2x6x3x6xf64>, tensor<4x3x1x1xf64>) outs(%e4 : tensor<2x4x2x3xf64>)
      {channels_first, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x4x2x3xf64>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%y4 : tensor<2x4x2x3xf64>) outs(%z : tensor<f32>) {
  ^bb0(%p: f64, %sum: f32):
    %0 = arith.mulf %p, %p : f64
    %1 = arith.truncf %0 : f64 to f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

func.func @loss(%x_f32_last: tensor<2x9x8x3xf32> {remat.data = "x_f32_last"},
                %w0_f32_last: tensor<3x3x3x6xf32> {opt.param = "w0_f32_last", opt.init = "normal(0.4)"},
                %w1_f32_last: tensor<3x2x6x4xf32> {opt.param = "w1_f32_last", opt.init = "normal(0.4)"},
                %w2_f32_last: tensor<2x3x4x6xf32> {opt.param = "w2_f32_last", opt.init = "normal(0.4)"},
                %w3_f32_last: tensor<3x3x1x6xf32> {opt.param = "w3_f32_last", opt.init = "normal(0.4)"},
                %x_f32_first: tensor<2x3x9x8xf32> {remat.data = "x_f32_first"},
                %w0_f32_first: tensor<6x3x3x3xf32> {opt.param = "w0_f32_first", opt.init = "normal(0.4)"},
                %w1_f32_first: tensor<4x6x3x2xf32> {opt.param = "w1_f32_first", opt.init = "normal(0.4)"},
                %w2_f32_first: tensor<6x4x2x3xf32> {opt.param = "w2_f32_first", opt.init = "normal(0.4)"},
                %w3_f32_first: tensor<6x1x3x3xf32> {opt.param = "w3_f32_first", opt.init = "normal(0.4)"},
                %w4_f32_first: tensor<4x3x1x1xf32> {opt.param = "w4_f32_first", opt.init = "normal(0.4)"},
                %x_f64_last: tensor<2x9x8x3xf64> {remat.data = "x_f64_last"},
                %w0_f64_last: tensor<3x3x3x6xf64> {opt.param = "w0_f64_last", opt.init = "normal(0.4)"},
                %w1_f64_last: tensor<3x2x6x4xf64> {opt.param = "w1_f64_last", opt.init = "normal(0.4)"},
                %w2_f64_last: tensor<2x3x4x6xf64> {opt.param = "w2_f64_last", opt.init = "normal(0.4)"},
                %w3_f64_last: tensor<3x3x1x6xf64> {opt.param = "w3_f64_last", opt.init = "normal(0.4)"},
                %x_f64_first: tensor<2x3x9x8xf64> {remat.data = "x_f64_first"},
                %w0_f64_first: tensor<6x3x3x3xf64> {opt.param = "w0_f64_first", opt.init = "normal(0.4)"},
                %w1_f64_first: tensor<4x6x3x2xf64> {opt.param = "w1_f64_first", opt.init = "normal(0.4)"},
                %w2_f64_first: tensor<6x4x2x3xf64> {opt.param = "w2_f64_first", opt.init = "normal(0.4)"},
                %w3_f64_first: tensor<6x1x3x3xf64> {opt.param = "w3_f64_first", opt.init = "normal(0.4)"},
                %w4_f64_first: tensor<4x3x1x1xf64> {opt.param = "w4_f64_first", opt.init = "normal(0.4)"}) -> tensor<f32> {
  %f32_last = call @f32_last(%x_f32_last, %w0_f32_last, %w1_f32_last, %w2_f32_last, %w3_f32_last) : (tensor<2x9x8x3xf32>, tensor<3x3x3x6xf32>, tensor<3x2x6x4xf32>, tensor<2x3x4x6xf32>, tensor<3x3x1x6xf32>) -> tensor<f32>
  %f32_first = call @f32_first(%x_f32_first, %w0_f32_first, %w1_f32_first, %w2_f32_first, %w3_f32_first, %w4_f32_first) : (tensor<2x3x9x8xf32>, tensor<6x3x3x3xf32>, tensor<4x6x3x2xf32>, tensor<6x4x2x3xf32>, tensor<6x1x3x3xf32>, tensor<4x3x1x1xf32>) -> tensor<f32>
  %f64_last = call @f64_last(%x_f64_last, %w0_f64_last, %w1_f64_last, %w2_f64_last, %w3_f64_last) : (tensor<2x9x8x3xf64>, tensor<3x3x3x6xf64>, tensor<3x2x6x4xf64>, tensor<2x3x4x6xf64>, tensor<3x3x1x6xf64>) -> tensor<f32>
  %f64_first = call @f64_first(%x_f64_first, %w0_f64_first, %w1_f64_first, %w2_f64_first, %w3_f64_first, %w4_f64_first) : (tensor<2x3x9x8xf64>, tensor<6x3x3x3xf64>, tensor<4x6x3x2xf64>, tensor<6x4x2x3xf64>, tensor<6x1x3x3xf64>, tensor<4x3x1x1xf64>) -> tensor<f32>
  %e = tensor.empty() : tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%f32_last, %f32_first, %f64_last, %f64_first : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %c, %d : f32
    %2 = arith.addf %0, %1 : f32
    %scale = arith.constant 1.0e-2 : f32
    %3 = arith.mulf %2, %scale : f32
    linalg.yield %3 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
