// A small model with much in it: an embedding (gathered forward, added up backward), a product, dropout, a state that counts
// what was kept, a table of constants, an evaluation, a metric that is a plain f32, AdamW with a schedule. MODE is replaced.

#mat = affine_map<(r, d) -> (r, d)>
#row = affine_map<(r, d) -> (r)>
#col = affine_map<(r, d) -> (d)>
#none = affine_map<(r, d) -> ()>

opt.optimizer @adamw = #opt.adamw<lr = #opt.linear_warmup_cosine<peak = 5.0e-2, warmup = 3, total = 8, floor = 1.0e-3>>
remat.train_step @step for @loss optimizer(@adamw) eval(@error)
    {MODE, steps = 6, seed = 3, log_every = 1, checkpoint_every = 2}

func.func private @features(%tokens: tensor<4x20xi64>, %table: tensor<9x8xf32>) -> tensor<4x160xf32> {
  %flat = tensor.collapse_shape %tokens [[0, 1]] : tensor<4x20xi64> into tensor<80xi64>
  %empty = tensor.empty() : tensor<80x8xf32>
  %rows = linalg.generic {indexing_maps = [#row, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%flat : tensor<80xi64>) outs(%empty : tensor<80x8xf32>) {
  ^bb0(%token: i64, %out: f32):
    %r = arith.index_cast %token : i64 to index
    %d = linalg.index 1 : index
    %e = tensor.extract %table[%r, %d] : tensor<9x8xf32>
    linalg.yield %e : f32
  } -> tensor<80x8xf32>
  %split = tensor.expand_shape %rows [[0, 1], [2]] output_shape [4, 20, 8] : tensor<80x8xf32> into tensor<4x20x8xf32>
  %x = tensor.collapse_shape %split [[0], [1, 2]] : tensor<4x20x8xf32> into tensor<4x160xf32>
  return %x : tensor<4x160xf32>
}

func.func private @dense(%x: tensor<4x160xf32>, %w: tensor<160x40xf32>, %b: tensor<40xf32>) -> tensor<4x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x40xf32>) -> tensor<4x40xf32>
  %product = linalg.matmul ins(%x, %w : tensor<4x160xf32>, tensor<160x40xf32>) outs(%zeros : tensor<4x40xf32>) -> tensor<4x40xf32>
  %h = linalg.generic {indexing_maps = [#mat, #col, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b : tensor<4x40xf32>, tensor<40xf32>) outs(%empty : tensor<4x40xf32>) {
  ^bb0(%p: f32, %bias: f32, %out: f32):
    %s = arith.addf %p, %bias : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<4x40xf32>
  return %h : tensor<4x40xf32>
}

func.func private @distance(%h: tensor<4x40xf32>, %y: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e4 = tensor.empty() : tensor<4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %sums = linalg.generic {indexing_maps = [#mat, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<4x40xf32>) outs(%z4 : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %weights = arith.constant dense<[1.0, 0.5, 2.0, 1.5]> : tensor<4xf32>
  %total = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                           iterator_types = ["reduction"]}
      ins(%sums, %y, %weights : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %weight: f32, %acc: f32):
    %d = arith.subf %a, %b : f32
    %q = arith.mulf %d, %d : f32
    %e = arith.mulf %q, %weight : f32
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %mean = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%total : tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%sum: f32, %out: f32):
    %quarter = arith.constant 0.25 : f32
    %m = arith.mulf %sum, %quarter : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  return %mean : tensor<f32>
}

func.func @loss(%tokens: tensor<4x20xi64> {remat.data = "tokens"}, %y: tensor<4xf32> {remat.data = "y"},
                %table: tensor<9x8xf32> {opt.param = "table", opt.init = "normal(0.5)"},
                %w: tensor<160x40xf32> {opt.param = "w", opt.init = "normal(0.2)"},
                %b: tensor<40xf32> {opt.param = "b", opt.init = "zeros"},
                %kept: tensor<40xi64> {remat.state = "kept", opt.init = "zeros"},
                %rng: !remat.rng) -> (tensor<f32>, tensor<40xi64> {remat.state = "kept"}, !remat.rng) {
  %x = func.call @features(%tokens, %table) : (tensor<4x20xi64>, tensor<9x8xf32>) -> tensor<4x160xf32>
  %h = func.call @dense(%x, %w, %b) : (tensor<4x160xf32>, tensor<160x40xf32>, tensor<40xf32>) -> tensor<4x40xf32>
  %mask, %next = remat.random_bernoulli %rng {p = 0.5 : f64} : tensor<4x40xi1>
  %empty = tensor.empty() : tensor<4x40xf32>
  %dropped = linalg.generic {indexing_maps = [#mat, #mat, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%h, %mask : tensor<4x40xf32>, tensor<4x40xi1>) outs(%empty : tensor<4x40xf32>) {
  ^bb0(%a: f32, %keep: i1, %out: f32):
    %zero = arith.constant 0.0 : f32
    %two = arith.addf %a, %a : f32
    %s = arith.select %keep, %two, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x40xf32>
  // Other bits are multiplied by three: a history of masks, not only a count.
  %kept1 = linalg.generic {indexing_maps = [#mat, #col], iterator_types = ["reduction", "parallel"]}
      ins(%mask : tensor<4x40xi1>) outs(%kept : tensor<40xi64>) {
  ^bb0(%keep: i1, %acc: i64):
    %three = arith.constant 3 : i64
    %k = arith.extui %keep : i1 to i64
    %m = arith.muli %acc, %three : i64
    %s = arith.addi %m, %k : i64
    linalg.yield %s : i64
  } -> tensor<40xi64>
  %l = func.call @distance(%dropped, %y) : (tensor<4x40xf32>, tensor<4xf32>) -> tensor<f32>
  return %l, %kept1, %next : tensor<f32>, tensor<40xi64>, !remat.rng
}

func.func @error(%tokens: tensor<4x20xi64> {remat.data = "tokens"}, %y: tensor<4xf32> {remat.data = "y"},
                 %table: tensor<9x8xf32> {opt.param = "table"}, %w: tensor<160x40xf32> {opt.param = "w"},
                 %b: tensor<40xf32> {opt.param = "b"})
    -> (f32 {remat.metric = "error"}, i64 {remat.metric = "examples"}) {
  %x = func.call @features(%tokens, %table) : (tensor<4x20xi64>, tensor<9x8xf32>) -> tensor<4x160xf32>
  %h = func.call @dense(%x, %w, %b) : (tensor<4x160xf32>, tensor<160x40xf32>, tensor<40xf32>) -> tensor<4x40xf32>
  %e = func.call @distance(%h, %y) : (tensor<4x40xf32>, tensor<4xf32>) -> tensor<f32>
  %four = arith.constant 4 : i64
  %plain = tensor.extract %e[] : tensor<f32>
  return %plain, %four : f32, i64
}
