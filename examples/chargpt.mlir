// A character GPT, annotated by hand: six pre-LN blocks with causal attention and dropout, tied head,
// cross entropy; 1 209 984 parameters. tools/demo trains it; examples/chargpt_data.py makes its data.
//
// One step sees 16 windows of 129 characters. Every block is a `remat.region`: its policy says what the
// backward pass may keep of it. Values with a `remat.name` can be mentioned by policies:
// "qkv" and "attention" in attention, "hidden" in the MLP.

#row = affine_map<(r, d) -> (r)>
#col = affine_map<(r, d) -> (d)>
#mat = affine_map<(r, d) -> (r, d)>

#tok3 = affine_map<(b, t, d) -> (b, t)>
#pos3 = affine_map<(b, t, d) -> (t, d)>
#all3 = affine_map<(b, t, d) -> (b, t, d)>

#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs_transposed = affine_map<(b, m, n, k) -> (b, n, k)>
#result = affine_map<(b, m, n, k) -> (b, m, n)>

#head_lhs = affine_map<(m, n, k) -> (m, k)>
#head_rhs = affine_map<(m, n, k) -> (n, k)>
#head_out = affine_map<(m, n, k) -> (m, n)>

opt.optimizer @adamw = #opt.adamw<
    lr = #opt.linear_warmup_cosine<peak = 3.0e-3, warmup = 30, total = 400, floor = 1.0e-4>,
    b2 = 0.98, weight_decay = 0.01>
remat.train_step @step for @loss optimizer(@adamw)
    {eager, steps = 400, log_every = 20, checkpoint_every = 20, data = "chargpt.npz"}

//===----------------------------------------------------------------------===//
// Layers, on 2048 = 16 x 128 rows
//===----------------------------------------------------------------------===//

func.func private @layer_norm(%x: tensor<2048x128xf32>, %gain: tensor<128xf32>) -> tensor<2048x128xf32> {
  %zero = arith.constant 0.0 : f32
  %inverse_width = arith.constant 7.8125e-03 : f32
  %epsilon = arith.constant 1.0e-05 : f32
  %rows = tensor.empty() : tensor<2048xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<2048xf32>) -> tensor<2048xf32>
  %sum = linalg.generic {indexing_maps = [#mat, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2048x128xf32>) outs(%zeros : tensor<2048xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<2048xf32>
  %squares = linalg.generic {indexing_maps = [#mat, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %sum : tensor<2048x128xf32>, tensor<2048xf32>) outs(%zeros : tensor<2048xf32>) {
  ^bb0(%v: f32, %s: f32, %acc: f32):
    %mean = arith.mulf %s, %inverse_width : f32
    %centered = arith.subf %v, %mean : f32
    %square = arith.mulf %centered, %centered : f32
    %t = arith.addf %acc, %square : f32
    linalg.yield %t : f32
  } -> tensor<2048xf32>
  %like = tensor.empty() : tensor<2048x128xf32>
  %y = linalg.generic {indexing_maps = [#mat, #row, #row, #col, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum, %squares, %gain : tensor<2048x128xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<128xf32>)
      outs(%like : tensor<2048x128xf32>) {
  ^bb0(%v: f32, %s: f32, %q: f32, %g: f32, %out: f32):
    %mean = arith.mulf %s, %inverse_width : f32
    %centered = arith.subf %v, %mean : f32
    %variance = arith.mulf %q, %inverse_width : f32
    %stable = arith.addf %variance, %epsilon : f32
    %scale = math.rsqrt %stable : f32
    %normal = arith.mulf %centered, %scale : f32
    %z = arith.mulf %normal, %g : f32
    linalg.yield %z : f32
  } -> tensor<2048x128xf32>
  return %y : tensor<2048x128xf32>
}

// Causal attention with four heads of width 32.
func.func private @attention(%x: tensor<2048x128xf32>, %gain: tensor<128xf32>, %qkv_w: tensor<128x384xf32>,
                             %proj_w: tensor<128x128xf32>) -> tensor<2048x128xf32> {
  %zero = arith.constant 0.0 : f32
  %minus_infinity = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.176776695 : f32
  %n = call @layer_norm(%x, %gain) : (tensor<2048x128xf32>, tensor<128xf32>) -> tensor<2048x128xf32>
  %qkv_empty = tensor.empty() : tensor<2048x384xf32>
  %qkv_zero = linalg.fill ins(%zero : f32) outs(%qkv_empty : tensor<2048x384xf32>) -> tensor<2048x384xf32>
  %product = linalg.matmul ins(%n, %qkv_w : tensor<2048x128xf32>, tensor<128x384xf32>)
      outs(%qkv_zero : tensor<2048x384xf32>) -> tensor<2048x384xf32>
  %qkv = remat.name "qkv" %product : tensor<2048x384xf32>

  // (batch, time, which, head, width) -> (which, batch, head, time, width)
  %split = tensor.expand_shape %qkv [[0, 1], [2, 3, 4]] output_shape [16, 128, 3, 4, 32]
      : tensor<2048x384xf32> into tensor<16x128x3x4x32xf32>
  %by_head_empty = tensor.empty() : tensor<3x16x4x128x32xf32>
  %by_head = linalg.transpose ins(%split : tensor<16x128x3x4x32xf32>)
      outs(%by_head_empty : tensor<3x16x4x128x32xf32>) permutation = [2, 0, 3, 1, 4]
  %heads = tensor.collapse_shape %by_head [[0], [1, 2], [3], [4]]
      : tensor<3x16x4x128x32xf32> into tensor<3x64x128x32xf32>
  %q = tensor.extract_slice %heads[0, 0, 0, 0] [1, 64, 128, 32] [1, 1, 1, 1]
      : tensor<3x64x128x32xf32> to tensor<64x128x32xf32>
  %k = tensor.extract_slice %heads[1, 0, 0, 0] [1, 64, 128, 32] [1, 1, 1, 1]
      : tensor<3x64x128x32xf32> to tensor<64x128x32xf32>
  %v = tensor.extract_slice %heads[2, 0, 0, 0] [1, 64, 128, 32] [1, 1, 1, 1]
      : tensor<3x64x128x32xf32> to tensor<64x128x32xf32>

  %square = tensor.empty() : tensor<64x128x128xf32>
  %square_zero = linalg.fill ins(%zero : f32) outs(%square : tensor<64x128x128xf32>) -> tensor<64x128x128xf32>
  %scores = linalg.batch_matmul indexing_maps = [#lhs, #rhs_transposed, #result]
      ins(%q, %k : tensor<64x128x32xf32>, tensor<64x128x32xf32>)
      outs(%square_zero : tensor<64x128x128xf32>) -> tensor<64x128x128xf32>
  %masked = linalg.generic {indexing_maps = [#all3, #all3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores : tensor<64x128x128xf32>) outs(%square : tensor<64x128x128xf32>) {
  ^bb0(%s: f32, %out: f32):
    %from = linalg.index 1 : index
    %to = linalg.index 2 : index
    %visible = arith.cmpi ule, %to, %from : index
    %scaled = arith.mulf %s, %scale : f32
    %m = arith.select %visible, %scaled, %minus_infinity : f32
    linalg.yield %m : f32
  } -> tensor<64x128x128xf32>
  %weights = linalg.softmax dimension(2) ins(%masked : tensor<64x128x128xf32>)
      outs(%square : tensor<64x128x128xf32>) -> tensor<64x128x128xf32>

  %mixed_empty = tensor.empty() : tensor<64x128x32xf32>
  %mixed_zero = linalg.fill ins(%zero : f32) outs(%mixed_empty : tensor<64x128x32xf32>) -> tensor<64x128x32xf32>
  %mixed = linalg.batch_matmul ins(%weights, %v : tensor<64x128x128xf32>, tensor<64x128x32xf32>)
      outs(%mixed_zero : tensor<64x128x32xf32>) -> tensor<64x128x32xf32>
  %mixed_heads = tensor.expand_shape %mixed [[0, 1], [2], [3]] output_shape [16, 4, 128, 32]
      : tensor<64x128x32xf32> into tensor<16x4x128x32xf32>
  %merged_empty = tensor.empty() : tensor<16x128x4x32xf32>
  %merged = linalg.transpose ins(%mixed_heads : tensor<16x4x128x32xf32>)
      outs(%merged_empty : tensor<16x128x4x32xf32>) permutation = [0, 2, 1, 3]
  %rows = tensor.collapse_shape %merged [[0, 1], [2, 3]] : tensor<16x128x4x32xf32> into tensor<2048x128xf32>
  %attention = remat.name "attention" %rows : tensor<2048x128xf32>

  %proj_empty = tensor.empty() : tensor<2048x128xf32>
  %proj_zero = linalg.fill ins(%zero : f32) outs(%proj_empty : tensor<2048x128xf32>) -> tensor<2048x128xf32>
  %y = linalg.matmul ins(%attention, %proj_w : tensor<2048x128xf32>, tensor<128x128xf32>)
      outs(%proj_zero : tensor<2048x128xf32>) -> tensor<2048x128xf32>
  return %y : tensor<2048x128xf32>
}

// Four times wider, with GELU.
func.func private @mlp(%x: tensor<2048x128xf32>, %gain: tensor<128xf32>, %up_w: tensor<128x512xf32>,
                       %down_w: tensor<512x128xf32>) -> tensor<2048x128xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %inverse_sqrt_2 = arith.constant 0.707106769 : f32
  %n = call @layer_norm(%x, %gain) : (tensor<2048x128xf32>, tensor<128xf32>) -> tensor<2048x128xf32>
  %up_empty = tensor.empty() : tensor<2048x512xf32>
  %up_zero = linalg.fill ins(%zero : f32) outs(%up_empty : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %product = linalg.matmul ins(%n, %up_w : tensor<2048x128xf32>, tensor<128x512xf32>)
      outs(%up_zero : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %hidden = remat.name "hidden" %product : tensor<2048x512xf32>
  %gelu = linalg.generic {indexing_maps = [#mat, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%hidden : tensor<2048x512xf32>) outs(%up_empty : tensor<2048x512xf32>) {
  ^bb0(%h: f32, %out: f32):
    %scaled = arith.mulf %h, %inverse_sqrt_2 : f32
    %erf = math.erf %scaled : f32
    %shifted = arith.addf %erf, %one : f32
    %halved = arith.mulf %shifted, %half : f32
    %g = arith.mulf %h, %halved : f32
    linalg.yield %g : f32
  } -> tensor<2048x512xf32>
  %down_empty = tensor.empty() : tensor<2048x128xf32>
  %down_zero = linalg.fill ins(%zero : f32) outs(%down_empty : tensor<2048x128xf32>) -> tensor<2048x128xf32>
  %y = linalg.matmul ins(%gelu, %down_w : tensor<2048x512xf32>, tensor<512x128xf32>)
      outs(%down_zero : tensor<2048x128xf32>) -> tensor<2048x128xf32>
  return %y : tensor<2048x128xf32>
}

// x + dropout(h): one value in ten is dropped, the others grow by 1 / 0.9.
func.func private @add_dropped(%x: tensor<2048x128xf32>, %h: tensor<2048x128xf32>, %rng: !remat.rng)
    -> (tensor<2048x128xf32>, !remat.rng) {
  %zero = arith.constant 0.0 : f32
  %growth = arith.constant 1.1111111 : f32
  %kept, %next = remat.random_bernoulli %rng {p = 0.9 : f64} : tensor<2048x128xi1>
  %like = tensor.empty() : tensor<2048x128xf32>
  %y = linalg.generic {indexing_maps = [#mat, #mat, #mat, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %h, %kept : tensor<2048x128xf32>, tensor<2048x128xf32>, tensor<2048x128xi1>)
      outs(%like : tensor<2048x128xf32>) {
  ^bb0(%a: f32, %b: f32, %keep: i1, %out: f32):
    %grown = arith.mulf %b, %growth : f32
    %dropped = arith.select %keep, %grown, %zero : f32
    %s = arith.addf %a, %dropped : f32
    linalg.yield %s : f32
  } -> tensor<2048x128xf32>
  return %y, %next : tensor<2048x128xf32>, !remat.rng
}

// The rows of the token table that `tokens` name, plus the positions'.
func.func private @embed(%tokens: tensor<16x128xi32>, %tok: tensor<96x128xf32>, %pos: tensor<128x128xf32>)
    -> tensor<2048x128xf32> {
  %like = tensor.empty() : tensor<16x128x128xf32>
  %sum = linalg.generic {indexing_maps = [#tok3, #pos3, #all3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%tokens, %pos : tensor<16x128xi32>, tensor<128x128xf32>) outs(%like : tensor<16x128x128xf32>) {
  ^bb0(%token: i32, %p: f32, %out: f32):
    %row = arith.index_cast %token : i32 to index
    %d = linalg.index 2 : index
    %e = tensor.extract %tok[%row, %d] : tensor<96x128xf32>
    %s = arith.addf %e, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x128x128xf32>
  %rows = tensor.collapse_shape %sum [[0, 1], [2]] : tensor<16x128x128xf32> into tensor<2048x128xf32>
  return %rows : tensor<2048x128xf32>
}

// Scores of the 96 characters by the token table itself (tied weights).
func.func private @head(%x: tensor<2048x128xf32>, %gain: tensor<128xf32>, %tok: tensor<96x128xf32>)
    -> tensor<2048x96xf32> {
  %zero = arith.constant 0.0 : f32
  %n = call @layer_norm(%x, %gain) : (tensor<2048x128xf32>, tensor<128xf32>) -> tensor<2048x128xf32>
  %empty = tensor.empty() : tensor<2048x96xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x96xf32>) -> tensor<2048x96xf32>
  %logits = linalg.matmul indexing_maps = [#head_lhs, #head_rhs, #head_out]
      ins(%n, %tok : tensor<2048x128xf32>, tensor<96x128xf32>)
      outs(%zeros : tensor<2048x96xf32>) -> tensor<2048x96xf32>
  return %logits : tensor<2048x96xf32>
}

// Mean over the rows of log(sum(exp(logits))) - logits[target].
func.func private @cross_entropy(%logits: tensor<2048x96xf32>, %targets: tensor<2048xi32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %minus_infinity = arith.constant 0xFF800000 : f32
  %inverse_rows = arith.constant 4.8828125e-04 : f32
  %rows = tensor.empty() : tensor<2048xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<2048xf32>) -> tensor<2048xf32>
  %lowest = linalg.fill ins(%minus_infinity : f32) outs(%rows : tensor<2048xf32>) -> tensor<2048xf32>
  %max = linalg.generic {indexing_maps = [#mat, #row], iterator_types = ["parallel", "reduction"]}
      ins(%logits : tensor<2048x96xf32>) outs(%lowest : tensor<2048xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %m = arith.maximumf %acc, %v : f32
    linalg.yield %m : f32
  } -> tensor<2048xf32>
  %sum = linalg.generic {indexing_maps = [#mat, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%logits, %max : tensor<2048x96xf32>, tensor<2048xf32>) outs(%zeros : tensor<2048xf32>) {
  ^bb0(%v: f32, %m: f32, %acc: f32):
    %shifted = arith.subf %v, %m : f32
    %e = math.exp %shifted : f32
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  } -> tensor<2048xf32>
  %right = linalg.generic {indexing_maps = [#mat, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%logits, %targets : tensor<2048x96xf32>, tensor<2048xi32>) outs(%zeros : tensor<2048xf32>) {
  ^bb0(%v: f32, %target: i32, %acc: f32):
    %c = linalg.index 1 : index
    %character = arith.index_cast %c : index to i32
    %is_target = arith.cmpi eq, %character, %target : i32
    %picked = arith.select %is_target, %v, %zero : f32
    %s = arith.addf %acc, %picked : f32
    linalg.yield %s : f32
  } -> tensor<2048xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>, affine_map<(r) -> (r)>,
                                           affine_map<(r) -> ()>], iterator_types = ["reduction"]}
      ins(%max, %sum, %right : tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>) outs(%start : tensor<f32>) {
  ^bb0(%m: f32, %s: f32, %r: f32, %acc: f32):
    %log = math.log %s : f32
    %all = arith.addf %log, %m : f32
    %row_loss = arith.subf %all, %r : f32
    %share = arith.mulf %row_loss, %inverse_rows : f32
    %t = arith.addf %acc, %share : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

// One block. The backward pass recomputes what the policy does not let it keep.
func.func private @block(%x: tensor<2048x128xf32>, %rng: !remat.rng,
                         %gain_1: tensor<128xf32>, %qkv_w: tensor<128x384xf32>, %proj_w: tensor<128x128xf32>,
                         %gain_2: tensor<128xf32>, %up_w: tensor<128x512xf32>, %down_w: tensor<512x128xf32>)
    -> (tensor<2048x128xf32>, !remat.rng) {
  %y, %next = remat.region policy(#remat.nothing_saveable)
      (%x0 = %x : tensor<2048x128xf32>, %r0 = %rng : !remat.rng,
       %g1 = %gain_1 : tensor<128xf32>, %qkv = %qkv_w : tensor<128x384xf32>, %proj = %proj_w : tensor<128x128xf32>,
       %g2 = %gain_2 : tensor<128xf32>, %up = %up_w : tensor<128x512xf32>, %down = %down_w : tensor<512x128xf32>)
      -> tensor<2048x128xf32>, !remat.rng {
    %a = func.call @attention(%x0, %g1, %qkv, %proj)
        : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>) -> tensor<2048x128xf32>
    %x1, %r1 = func.call @add_dropped(%x0, %a, %r0)
        : (tensor<2048x128xf32>, tensor<2048x128xf32>, !remat.rng) -> (tensor<2048x128xf32>, !remat.rng)
    %m = func.call @mlp(%x1, %g2, %up, %down)
        : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
    %x2, %r2 = func.call @add_dropped(%x1, %m, %r1)
        : (tensor<2048x128xf32>, tensor<2048x128xf32>, !remat.rng) -> (tensor<2048x128xf32>, !remat.rng)
    remat.yield %x2, %r2 : tensor<2048x128xf32>, !remat.rng
  }
  return %y, %next : tensor<2048x128xf32>, !remat.rng
}

// One block without dropout, for text generation.
func.func private @predicting_block(
    %x: tensor<2048x128xf32>, %gain_1: tensor<128xf32>, %qkv_w: tensor<128x384xf32>, %proj_w: tensor<128x128xf32>,
    %gain_2: tensor<128xf32>, %up_w: tensor<128x512xf32>, %down_w: tensor<512x128xf32>) -> tensor<2048x128xf32> {
  %a = call @attention(%x, %gain_1, %qkv_w, %proj_w)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>) -> tensor<2048x128xf32>
  %like = tensor.empty() : tensor<2048x128xf32>
  %x1 = linalg.add ins(%x, %a : tensor<2048x128xf32>, tensor<2048x128xf32>) outs(%like : tensor<2048x128xf32>)
      -> tensor<2048x128xf32>
  %m = call @mlp(%x1, %gain_2, %up_w, %down_w)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %x2 = linalg.add ins(%x1, %m : tensor<2048x128xf32>, tensor<2048x128xf32>) outs(%like : tensor<2048x128xf32>)
      -> tensor<2048x128xf32>
  return %x2 : tensor<2048x128xf32>
}

// Loss of 16 windows: every character but the last predicts its successor.
func.func @loss(
    %windows: tensor<16x129xi32> {remat.data = "windows"}, %r0: !remat.rng,
    %tok: tensor<96x128xf32> {opt.param = "tok", opt.init = "normal(0.05)"},
    %pos: tensor<128x128xf32> {opt.param = "pos", opt.init = "normal(0.05)"},
    %ln1_0: tensor<128xf32> {opt.param = "block0.ln1", opt.init = "ones"},
    %qkv_0: tensor<128x384xf32> {opt.param = "block0.qkv", opt.init = "normal(0.08)"},
    %proj_0: tensor<128x128xf32> {opt.param = "block0.proj", opt.init = "normal(0.02)"},
    %ln2_0: tensor<128xf32> {opt.param = "block0.ln2", opt.init = "ones"},
    %up_0: tensor<128x512xf32> {opt.param = "block0.up", opt.init = "normal(0.08)"},
    %down_0: tensor<512x128xf32> {opt.param = "block0.down", opt.init = "normal(0.02)"},
    %ln1_1: tensor<128xf32> {opt.param = "block1.ln1", opt.init = "ones"},
    %qkv_1: tensor<128x384xf32> {opt.param = "block1.qkv", opt.init = "normal(0.08)"},
    %proj_1: tensor<128x128xf32> {opt.param = "block1.proj", opt.init = "normal(0.02)"},
    %ln2_1: tensor<128xf32> {opt.param = "block1.ln2", opt.init = "ones"},
    %up_1: tensor<128x512xf32> {opt.param = "block1.up", opt.init = "normal(0.08)"},
    %down_1: tensor<512x128xf32> {opt.param = "block1.down", opt.init = "normal(0.02)"},
    %ln1_2: tensor<128xf32> {opt.param = "block2.ln1", opt.init = "ones"},
    %qkv_2: tensor<128x384xf32> {opt.param = "block2.qkv", opt.init = "normal(0.08)"},
    %proj_2: tensor<128x128xf32> {opt.param = "block2.proj", opt.init = "normal(0.02)"},
    %ln2_2: tensor<128xf32> {opt.param = "block2.ln2", opt.init = "ones"},
    %up_2: tensor<128x512xf32> {opt.param = "block2.up", opt.init = "normal(0.08)"},
    %down_2: tensor<512x128xf32> {opt.param = "block2.down", opt.init = "normal(0.02)"},
    %ln1_3: tensor<128xf32> {opt.param = "block3.ln1", opt.init = "ones"},
    %qkv_3: tensor<128x384xf32> {opt.param = "block3.qkv", opt.init = "normal(0.08)"},
    %proj_3: tensor<128x128xf32> {opt.param = "block3.proj", opt.init = "normal(0.02)"},
    %ln2_3: tensor<128xf32> {opt.param = "block3.ln2", opt.init = "ones"},
    %up_3: tensor<128x512xf32> {opt.param = "block3.up", opt.init = "normal(0.08)"},
    %down_3: tensor<512x128xf32> {opt.param = "block3.down", opt.init = "normal(0.02)"},
    %ln1_4: tensor<128xf32> {opt.param = "block4.ln1", opt.init = "ones"},
    %qkv_4: tensor<128x384xf32> {opt.param = "block4.qkv", opt.init = "normal(0.08)"},
    %proj_4: tensor<128x128xf32> {opt.param = "block4.proj", opt.init = "normal(0.02)"},
    %ln2_4: tensor<128xf32> {opt.param = "block4.ln2", opt.init = "ones"},
    %up_4: tensor<128x512xf32> {opt.param = "block4.up", opt.init = "normal(0.08)"},
    %down_4: tensor<512x128xf32> {opt.param = "block4.down", opt.init = "normal(0.02)"},
    %ln1_5: tensor<128xf32> {opt.param = "block5.ln1", opt.init = "ones"},
    %qkv_5: tensor<128x384xf32> {opt.param = "block5.qkv", opt.init = "normal(0.08)"},
    %proj_5: tensor<128x128xf32> {opt.param = "block5.proj", opt.init = "normal(0.02)"},
    %ln2_5: tensor<128xf32> {opt.param = "block5.ln2", opt.init = "ones"},
    %up_5: tensor<128x512xf32> {opt.param = "block5.up", opt.init = "normal(0.08)"},
    %down_5: tensor<512x128xf32> {opt.param = "block5.down", opt.init = "normal(0.02)"},
    %ln: tensor<128xf32> {opt.param = "ln", opt.init = "ones"})
    -> (tensor<f32> {remat.loss}, !remat.rng) {
  %inputs = tensor.extract_slice %windows[0, 0] [16, 128] [1, 1] : tensor<16x129xi32> to tensor<16x128xi32>
  %next = tensor.extract_slice %windows[0, 1] [16, 128] [1, 1] : tensor<16x129xi32> to tensor<16x128xi32>
  %targets = tensor.collapse_shape %next [[0, 1]] : tensor<16x128xi32> into tensor<2048xi32>
  %x0 = call @embed(%inputs, %tok, %pos)
      : (tensor<16x128xi32>, tensor<96x128xf32>, tensor<128x128xf32>) -> tensor<2048x128xf32>
  %x1, %r1 = call @block(%x0, %r0, %ln1_0, %qkv_0, %proj_0, %ln2_0, %up_0, %down_0)
      : (tensor<2048x128xf32>, !remat.rng, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> (tensor<2048x128xf32>, !remat.rng)
  %x2, %r2 = call @block(%x1, %r1, %ln1_1, %qkv_1, %proj_1, %ln2_1, %up_1, %down_1)
      : (tensor<2048x128xf32>, !remat.rng, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> (tensor<2048x128xf32>, !remat.rng)
  %x3, %r3 = call @block(%x2, %r2, %ln1_2, %qkv_2, %proj_2, %ln2_2, %up_2, %down_2)
      : (tensor<2048x128xf32>, !remat.rng, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> (tensor<2048x128xf32>, !remat.rng)
  %x4, %r4 = call @block(%x3, %r3, %ln1_3, %qkv_3, %proj_3, %ln2_3, %up_3, %down_3)
      : (tensor<2048x128xf32>, !remat.rng, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> (tensor<2048x128xf32>, !remat.rng)
  %x5, %r5 = call @block(%x4, %r4, %ln1_4, %qkv_4, %proj_4, %ln2_4, %up_4, %down_4)
      : (tensor<2048x128xf32>, !remat.rng, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> (tensor<2048x128xf32>, !remat.rng)
  %x6, %r6 = call @block(%x5, %r5, %ln1_5, %qkv_5, %proj_5, %ln2_5, %up_5, %down_5)
      : (tensor<2048x128xf32>, !remat.rng, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> (tensor<2048x128xf32>, !remat.rng)
  %logits = call @head(%x6, %ln, %tok)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<96x128xf32>) -> tensor<2048x96xf32>
  %loss = call @cross_entropy(%logits, %targets) : (tensor<2048x96xf32>, tensor<2048xi32>) -> tensor<f32>
  return %loss, %r6 : tensor<f32>, !remat.rng
}

// Scores of what follows each of the 128 characters of 16 texts.
func.func @predict(
    %texts: tensor<16x128xi32>,
    %tok: tensor<96x128xf32>,
    %pos: tensor<128x128xf32>,
    %ln1_0: tensor<128xf32>, %qkv_0: tensor<128x384xf32>, %proj_0: tensor<128x128xf32>,
    %ln2_0: tensor<128xf32>, %up_0: tensor<128x512xf32>, %down_0: tensor<512x128xf32>,
    %ln1_1: tensor<128xf32>, %qkv_1: tensor<128x384xf32>, %proj_1: tensor<128x128xf32>,
    %ln2_1: tensor<128xf32>, %up_1: tensor<128x512xf32>, %down_1: tensor<512x128xf32>,
    %ln1_2: tensor<128xf32>, %qkv_2: tensor<128x384xf32>, %proj_2: tensor<128x128xf32>,
    %ln2_2: tensor<128xf32>, %up_2: tensor<128x512xf32>, %down_2: tensor<512x128xf32>,
    %ln1_3: tensor<128xf32>, %qkv_3: tensor<128x384xf32>, %proj_3: tensor<128x128xf32>,
    %ln2_3: tensor<128xf32>, %up_3: tensor<128x512xf32>, %down_3: tensor<512x128xf32>,
    %ln1_4: tensor<128xf32>, %qkv_4: tensor<128x384xf32>, %proj_4: tensor<128x128xf32>,
    %ln2_4: tensor<128xf32>, %up_4: tensor<128x512xf32>, %down_4: tensor<512x128xf32>,
    %ln1_5: tensor<128xf32>, %qkv_5: tensor<128x384xf32>, %proj_5: tensor<128x128xf32>,
    %ln2_5: tensor<128xf32>, %up_5: tensor<128x512xf32>, %down_5: tensor<512x128xf32>,
    %ln: tensor<128xf32>)
    -> tensor<16x128x96xf32> attributes {llvm.emit_c_interface} {
  %x0 = call @embed(%texts, %tok, %pos)
      : (tensor<16x128xi32>, tensor<96x128xf32>, tensor<128x128xf32>) -> tensor<2048x128xf32>
  %x1 = call @predicting_block(%x0, %ln1_0, %qkv_0, %proj_0, %ln2_0, %up_0, %down_0)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %x2 = call @predicting_block(%x1, %ln1_1, %qkv_1, %proj_1, %ln2_1, %up_1, %down_1)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %x3 = call @predicting_block(%x2, %ln1_2, %qkv_2, %proj_2, %ln2_2, %up_2, %down_2)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %x4 = call @predicting_block(%x3, %ln1_3, %qkv_3, %proj_3, %ln2_3, %up_3, %down_3)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %x5 = call @predicting_block(%x4, %ln1_4, %qkv_4, %proj_4, %ln2_4, %up_4, %down_4)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %x6 = call @predicting_block(%x5, %ln1_5, %qkv_5, %proj_5, %ln2_5, %up_5, %down_5)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<128x384xf32>, tensor<128x128xf32>,
         tensor<128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32>
  %logits = call @head(%x6, %ln, %tok)
      : (tensor<2048x128xf32>, tensor<128xf32>, tensor<96x128xf32>) -> tensor<2048x96xf32>
  %by_text = tensor.expand_shape %logits [[0, 1], [2]] output_shape [16, 128, 96]
      : tensor<2048x96xf32> into tensor<16x128x96xf32>
  return %by_text : tensor<16x128x96xf32>
}
