// A convolutional net with batch norm and dropout on 8 x 8 images of handwritten digits.
//
// One step sees 40 images. Each layer (convolution, batch norm, ReLU) is a `remat.region`; the running
// statistics that it computes are model state, which moves once per step however often the layer is recomputed.
// examples/digits_data.py makes the data; `tools/demo digits` trains and prints the test accuracy.

#mat = affine_map<(r, c) -> (r, c)>
#col = affine_map<(r, c) -> (c)>
#row = affine_map<(r, c) -> (r)>
#channel = affine_map<(c) -> (c)>

opt.optimizer @adam = #opt.adam<lr = #opt.linear_warmup_cosine<peak = 3.0e-3, warmup = 20, total = 400, floor = 0.0>>
remat.train_step @step for @loss optimizer(@adam) eval(@test)
    {eager, steps = 400, log_every = 50, checkpoint_every = 50, data = "digits_train.npz",
     eval_data = "digits_test.npz"}

//===----------------------------------------------------------------------===//
// Layers, on 40 images
//===----------------------------------------------------------------------===//

// 3 x 3 convolutions that keep the image's size, as rows of channels.
func.func private @conv1(%x: tensor<40x8x8x1xf32>, %w: tensor<3x3x1x32xf32>) -> tensor<2560x32xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<40x8x8x1xf32> to tensor<40x10x10x1xf32>
  %empty = tensor.empty() : tensor<40x8x8x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x8x8x32xf32>) -> tensor<40x8x8x32xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<40x10x10x1xf32>, tensor<3x3x1x32xf32>) outs(%zeros : tensor<40x8x8x32xf32>) -> tensor<40x8x8x32xf32>
  %rows = tensor.collapse_shape %y [[0, 1, 2], [3]] : tensor<40x8x8x32xf32> into tensor<2560x32xf32>
  return %rows : tensor<2560x32xf32>
}

func.func private @conv2(%x: tensor<40x8x8x32xf32>, %w: tensor<3x3x32x32xf32>) -> tensor<2560x32xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<40x8x8x32xf32> to tensor<40x10x10x32xf32>
  %empty = tensor.empty() : tensor<40x8x8x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x8x8x32xf32>) -> tensor<40x8x8x32xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<40x10x10x32xf32>, tensor<3x3x32x32xf32>) outs(%zeros : tensor<40x8x8x32xf32>) -> tensor<40x8x8x32xf32>
  %rows = tensor.collapse_shape %y [[0, 1, 2], [3]] : tensor<40x8x8x32xf32> into tensor<2560x32xf32>
  return %rows : tensor<2560x32xf32>
}

func.func private @conv3(%x: tensor<40x4x4x32xf32>, %w: tensor<3x3x32x64xf32>) -> tensor<640x64xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<40x4x4x32xf32> to tensor<40x6x6x32xf32>
  %empty = tensor.empty() : tensor<40x4x4x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x4x4x64xf32>) -> tensor<40x4x4x64xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<40x6x6x32xf32>, tensor<3x3x32x64xf32>) outs(%zeros : tensor<40x4x4x64xf32>) -> tensor<40x4x4x64xf32>
  %rows = tensor.collapse_shape %y [[0, 1, 2], [3]] : tensor<40x4x4x64xf32> into tensor<640x64xf32>
  return %rows : tensor<640x64xf32>
}

// Normalizes each of 32 channels over the batch's 2560 pixels; also returns the running mean and (unbiased)
// variance, which move a tenth of the way to this batch's.
func.func private @batch_norm_32(%x: tensor<2560x32xf32>, %gain: tensor<32xf32>, %bias: tensor<32xf32>,
                                 %mean: tensor<32xf32>, %variance: tensor<32xf32>)
    -> (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %zero = arith.constant 0.0 : f32
  %inverse_count = arith.constant 0.0003906250058207661 : f32
  %unbias = arith.constant 1.0003907680511475 : f32
  %keep = arith.constant 0.9 : f32
  %move = arith.constant 0.1 : f32
  %epsilon = arith.constant 1.0e-05 : f32
  %channels = tensor.empty() : tensor<32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%channels : tensor<32xf32>) -> tensor<32xf32>
  %batch_mean = linalg.generic {indexing_maps = [#mat, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2560x32xf32>) outs(%zeros : tensor<32xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %share = arith.mulf %v, %inverse_count : f32
    %s = arith.addf %acc, %share : f32
    linalg.yield %s : f32
  } -> tensor<32xf32>
  %batch_variance = linalg.generic {indexing_maps = [#mat, #col, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x, %batch_mean : tensor<2560x32xf32>, tensor<32xf32>) outs(%zeros : tensor<32xf32>) {
  ^bb0(%v: f32, %m: f32, %acc: f32):
    %centered = arith.subf %v, %m : f32
    %square = arith.mulf %centered, %centered : f32
    %share = arith.mulf %square, %inverse_count : f32
    %s = arith.addf %acc, %share : f32
    linalg.yield %s : f32
  } -> tensor<32xf32>
  %like = tensor.empty() : tensor<2560x32xf32>
  %y = linalg.generic {indexing_maps = [#mat, #col, #col, #col, #col, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %batch_mean, %batch_variance, %gain, %bias
          : tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
      outs(%like : tensor<2560x32xf32>) {
  ^bb0(%v: f32, %m: f32, %s: f32, %g: f32, %b: f32, %out: f32):
    %centered = arith.subf %v, %m : f32
    %stable = arith.addf %s, %epsilon : f32
    %scale = math.rsqrt %stable : f32
    %normal = arith.mulf %centered, %scale : f32
    %scaled = arith.mulf %normal, %g : f32
    %shifted = arith.addf %scaled, %b : f32
    linalg.yield %shifted : f32
  } -> tensor<2560x32xf32>
  %next:2 = linalg.generic {indexing_maps = [#channel, #channel, #channel, #channel, #channel, #channel],
                            iterator_types = ["parallel"]}
      ins(%mean, %variance, %batch_mean, %batch_variance
          : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
      outs(%channels, %channels : tensor<32xf32>, tensor<32xf32>) {
  ^bb0(%m: f32, %v: f32, %bm: f32, %bv: f32, %out_m: f32, %out_v: f32):
    %kept_m = arith.mulf %m, %keep : f32
    %moved_m = arith.mulf %bm, %move : f32
    %next_m = arith.addf %kept_m, %moved_m : f32
    %unbiased = arith.mulf %bv, %unbias : f32
    %kept_v = arith.mulf %v, %keep : f32
    %moved_v = arith.mulf %unbiased, %move : f32
    %next_v = arith.addf %kept_v, %moved_v : f32
    linalg.yield %next_m, %next_v : f32, f32
  } -> (tensor<32xf32>, tensor<32xf32>)
  return %y, %next#0, %next#1 : tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// The same with running statistics, for the test.
func.func private @batch_norm_32_fixed(%x: tensor<2560x32xf32>, %gain: tensor<32xf32>, %bias: tensor<32xf32>,
                                       %mean: tensor<32xf32>, %variance: tensor<32xf32>)
    -> tensor<2560x32xf32> {
  %epsilon = arith.constant 1.0e-05 : f32
  %like = tensor.empty() : tensor<2560x32xf32>
  %y = linalg.generic {indexing_maps = [#mat, #col, #col, #col, #col, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean, %variance, %gain, %bias
          : tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
      outs(%like : tensor<2560x32xf32>) {
  ^bb0(%v: f32, %m: f32, %s: f32, %g: f32, %b: f32, %out: f32):
    %centered = arith.subf %v, %m : f32
    %stable = arith.addf %s, %epsilon : f32
    %scale = math.rsqrt %stable : f32
    %normal = arith.mulf %centered, %scale : f32
    %scaled = arith.mulf %normal, %g : f32
    %shifted = arith.addf %scaled, %b : f32
    linalg.yield %shifted : f32
  } -> tensor<2560x32xf32>
  return %y : tensor<2560x32xf32>
}

// Normalizes each of 64 channels over the batch's 640 pixels; also returns the running mean and (unbiased)
// variance, which move a tenth of the way to this batch's.
func.func private @batch_norm_64(%x: tensor<640x64xf32>, %gain: tensor<64xf32>, %bias: tensor<64xf32>,
                                 %mean: tensor<64xf32>, %variance: tensor<64xf32>)
    -> (tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %inverse_count = arith.constant 0.0015625000232830644 : f32
  %unbias = arith.constant 1.0015649795532227 : f32
  %keep = arith.constant 0.9 : f32
  %move = arith.constant 0.1 : f32
  %epsilon = arith.constant 1.0e-05 : f32
  %channels = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%channels : tensor<64xf32>) -> tensor<64xf32>
  %batch_mean = linalg.generic {indexing_maps = [#mat, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<640x64xf32>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %share = arith.mulf %v, %inverse_count : f32
    %s = arith.addf %acc, %share : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %batch_variance = linalg.generic {indexing_maps = [#mat, #col, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x, %batch_mean : tensor<640x64xf32>, tensor<64xf32>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%v: f32, %m: f32, %acc: f32):
    %centered = arith.subf %v, %m : f32
    %square = arith.mulf %centered, %centered : f32
    %share = arith.mulf %square, %inverse_count : f32
    %s = arith.addf %acc, %share : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %like = tensor.empty() : tensor<640x64xf32>
  %y = linalg.generic {indexing_maps = [#mat, #col, #col, #col, #col, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %batch_mean, %batch_variance, %gain, %bias
          : tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      outs(%like : tensor<640x64xf32>) {
  ^bb0(%v: f32, %m: f32, %s: f32, %g: f32, %b: f32, %out: f32):
    %centered = arith.subf %v, %m : f32
    %stable = arith.addf %s, %epsilon : f32
    %scale = math.rsqrt %stable : f32
    %normal = arith.mulf %centered, %scale : f32
    %scaled = arith.mulf %normal, %g : f32
    %shifted = arith.addf %scaled, %b : f32
    linalg.yield %shifted : f32
  } -> tensor<640x64xf32>
  %next:2 = linalg.generic {indexing_maps = [#channel, #channel, #channel, #channel, #channel, #channel],
                            iterator_types = ["parallel"]}
      ins(%mean, %variance, %batch_mean, %batch_variance
          : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      outs(%channels, %channels : tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%m: f32, %v: f32, %bm: f32, %bv: f32, %out_m: f32, %out_v: f32):
    %kept_m = arith.mulf %m, %keep : f32
    %moved_m = arith.mulf %bm, %move : f32
    %next_m = arith.addf %kept_m, %moved_m : f32
    %unbiased = arith.mulf %bv, %unbias : f32
    %kept_v = arith.mulf %v, %keep : f32
    %moved_v = arith.mulf %unbiased, %move : f32
    %next_v = arith.addf %kept_v, %moved_v : f32
    linalg.yield %next_m, %next_v : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  return %y, %next#0, %next#1 : tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// The same with running statistics, for the test.
func.func private @batch_norm_64_fixed(%x: tensor<640x64xf32>, %gain: tensor<64xf32>, %bias: tensor<64xf32>,
                                       %mean: tensor<64xf32>, %variance: tensor<64xf32>)
    -> tensor<640x64xf32> {
  %epsilon = arith.constant 1.0e-05 : f32
  %like = tensor.empty() : tensor<640x64xf32>
  %y = linalg.generic {indexing_maps = [#mat, #col, #col, #col, #col, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean, %variance, %gain, %bias
          : tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      outs(%like : tensor<640x64xf32>) {
  ^bb0(%v: f32, %m: f32, %s: f32, %g: f32, %b: f32, %out: f32):
    %centered = arith.subf %v, %m : f32
    %stable = arith.addf %s, %epsilon : f32
    %scale = math.rsqrt %stable : f32
    %normal = arith.mulf %centered, %scale : f32
    %scaled = arith.mulf %normal, %g : f32
    %shifted = arith.addf %scaled, %b : f32
    linalg.yield %shifted : f32
  } -> tensor<640x64xf32>
  return %y : tensor<640x64xf32>
}

func.func private @relu_32(%x: tensor<2560x32xf32>) -> tensor<2560x32xf32> {
  %zero = arith.constant 0.0 : f32
  %like = tensor.empty() : tensor<2560x32xf32>
  %y = linalg.generic {indexing_maps = [#mat, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2560x32xf32>) outs(%like : tensor<2560x32xf32>) {
  ^bb0(%v: f32, %out: f32):
    %r = arith.maximumf %v, %zero : f32
    linalg.yield %r : f32
  } -> tensor<2560x32xf32>
  return %y : tensor<2560x32xf32>
}

func.func private @relu_64(%x: tensor<640x64xf32>) -> tensor<640x64xf32> {
  %zero = arith.constant 0.0 : f32
  %like = tensor.empty() : tensor<640x64xf32>
  %y = linalg.generic {indexing_maps = [#mat, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<640x64xf32>) outs(%like : tensor<640x64xf32>) {
  ^bb0(%v: f32, %out: f32):
    %r = arith.maximumf %v, %zero : f32
    linalg.yield %r : f32
  } -> tensor<640x64xf32>
  return %y : tensor<640x64xf32>
}

// The largest of each 2 x 2 pixels.
func.func private @pool(%rows: tensor<2560x32xf32>) -> tensor<40x4x4x32xf32> {
  %minus_infinity = arith.constant 0xFF800000 : f32
  %x = tensor.expand_shape %rows [[0, 1, 2], [3]] output_shape [40, 8, 8, 32]
      : tensor<2560x32xf32> into tensor<40x8x8x32xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %empty = tensor.empty() : tensor<40x4x4x32xf32>
  %lowest = linalg.fill ins(%minus_infinity : f32) outs(%empty : tensor<40x4x4x32xf32>) -> tensor<40x4x4x32xf32>
  %y = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%x, %window : tensor<40x8x8x32xf32>, tensor<2x2xf32>) outs(%lowest : tensor<40x4x4x32xf32>)
      -> tensor<40x4x4x32xf32>
  return %y : tensor<40x4x4x32xf32>
}

// Mean of each channel over an image.
func.func private @average(%rows: tensor<640x64xf32>) -> tensor<40x64xf32> {
  %zero = arith.constant 0.0 : f32
  %inverse_count = arith.constant 6.250000e-02 : f32
  %x = tensor.expand_shape %rows [[0, 1], [2]] output_shape [40, 16, 64] : tensor<640x64xf32> into tensor<40x16x64xf32>
  %empty = tensor.empty() : tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x64xf32>) -> tensor<40x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, p, c) -> (n, p, c)>, affine_map<(n, p, c) -> (n, c)>],
                       iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<40x16x64xf32>) outs(%zeros : tensor<40x64xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %share = arith.mulf %v, %inverse_count : f32
    %s = arith.addf %acc, %share : f32
    linalg.yield %s : f32
  } -> tensor<40x64xf32>
  return %y : tensor<40x64xf32>
}

// A quarter of the features is dropped.
func.func private @dropout(%x: tensor<40x64xf32>, %rng: !remat.rng) -> (tensor<40x64xf32>, !remat.rng) {
  %zero = arith.constant 0.0 : f32
  %growth = arith.constant 1.33333337 : f32
  %kept, %next = remat.random_bernoulli %rng {p = 0.75 : f64} : tensor<40x64xi1>
  %like = tensor.empty() : tensor<40x64xf32>
  %y = linalg.generic {indexing_maps = [#mat, #mat, #mat], iterator_types = ["parallel", "parallel"]}
      ins(%x, %kept : tensor<40x64xf32>, tensor<40x64xi1>) outs(%like : tensor<40x64xf32>) {
  ^bb0(%v: f32, %keep: i1, %out: f32):
    %grown = arith.mulf %v, %growth : f32
    %d = arith.select %keep, %grown, %zero : f32
    linalg.yield %d : f32
  } -> tensor<40x64xf32>
  return %y, %next : tensor<40x64xf32>, !remat.rng
}

func.func private @linear(%x: tensor<40x64xf32>, %w: tensor<64x10xf32>, %bias: tensor<10xf32>) -> tensor<40x10xf32> {
  %empty = tensor.empty() : tensor<40x10xf32>
  %start = linalg.broadcast ins(%bias : tensor<10xf32>) outs(%empty : tensor<40x10xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<40x64xf32>, tensor<64x10xf32>) outs(%start : tensor<40x10xf32>)
      -> tensor<40x10xf32>
  return %y : tensor<40x10xf32>
}

// Largest score of each image.
func.func private @largest(%scores: tensor<40x10xf32>) -> tensor<40xf32> {
  %minus_infinity = arith.constant 0xFF800000 : f32
  %rows = tensor.empty() : tensor<40xf32>
  %lowest = linalg.fill ins(%minus_infinity : f32) outs(%rows : tensor<40xf32>) -> tensor<40xf32>
  %max = linalg.generic {indexing_maps = [#mat, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores : tensor<40x10xf32>) outs(%lowest : tensor<40xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %m = arith.maximumf %acc, %v : f32
    linalg.yield %m : f32
  } -> tensor<40xf32>
  return %max : tensor<40xf32>
}

// Score of each image's right class.
func.func private @right(%scores: tensor<40x10xf32>, %labels: tensor<40xi32>) -> tensor<40xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<40xf32>) -> tensor<40xf32>
  %right = linalg.generic {indexing_maps = [#mat, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores, %labels : tensor<40x10xf32>, tensor<40xi32>) outs(%zeros : tensor<40xf32>) {
  ^bb0(%v: f32, %label: i32, %acc: f32):
    %c = linalg.index 1 : index
    %class = arith.index_cast %c : index to i32
    %is_label = arith.cmpi eq, %class, %label : i32
    %picked = arith.select %is_label, %v, %zero : f32
    %s = arith.addf %acc, %picked : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  return %right : tensor<40xf32>
}

// Mean over the images of log(sum(exp(scores))) - scores[label].
func.func private @cross_entropy(%scores: tensor<40x10xf32>, %labels: tensor<40xi32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %inverse_count = arith.constant 2.500000e-02 : f32
  %max = call @largest(%scores) : (tensor<40x10xf32>) -> tensor<40xf32>
  %right = call @right(%scores, %labels) : (tensor<40x10xf32>, tensor<40xi32>) -> tensor<40xf32>
  %rows = tensor.empty() : tensor<40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<40xf32>) -> tensor<40xf32>
  %sum = linalg.generic {indexing_maps = [#mat, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores, %max : tensor<40x10xf32>, tensor<40xf32>) outs(%zeros : tensor<40xf32>) {
  ^bb0(%v: f32, %m: f32, %acc: f32):
    %shifted = arith.subf %v, %m : f32
    %e = math.exp %shifted : f32
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#channel, #channel, #channel, affine_map<(c) -> ()>],
                          iterator_types = ["reduction"]}
      ins(%max, %sum, %right : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) outs(%start : tensor<f32>) {
  ^bb0(%m: f32, %s: f32, %r: f32, %acc: f32):
    %log = math.log %s : f32
    %all = arith.addf %log, %m : f32
    %row_loss = arith.subf %all, %r : f32
    %share = arith.mulf %row_loss, %inverse_count : f32
    %t = arith.addf %acc, %share : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

func.func @loss(
    %images: tensor<40x8x8x1xf32> {remat.data = "images"}, %labels: tensor<40xi32> {remat.data = "labels"},
    %rng: !remat.rng,
    %w1: tensor<3x3x1x32xf32> {opt.param = "conv1.weight", opt.init = "normal(0.4714)"},
    %g1: tensor<32xf32> {opt.param = "bn1.gain", opt.init = "ones"},
    %b1: tensor<32xf32> {opt.param = "bn1.bias", opt.init = "zeros"},
    %w2: tensor<3x3x32x32xf32> {opt.param = "conv2.weight", opt.init = "normal(0.0833)"},
    %g2: tensor<32xf32> {opt.param = "bn2.gain", opt.init = "ones"},
    %b2: tensor<32xf32> {opt.param = "bn2.bias", opt.init = "zeros"},
    %w3: tensor<3x3x32x64xf32> {opt.param = "conv3.weight", opt.init = "normal(0.0833)"},
    %g3: tensor<64xf32> {opt.param = "bn3.gain", opt.init = "ones"},
    %b3: tensor<64xf32> {opt.param = "bn3.bias", opt.init = "zeros"},
    %wo: tensor<64x10xf32> {opt.param = "out.weight", opt.init = "normal(0.125)"},
    %bo: tensor<10xf32> {opt.param = "out.bias", opt.init = "zeros"},
    %m1: tensor<32xf32> {remat.state = "bn1.mean", opt.init = "zeros"},
    %v1: tensor<32xf32> {remat.state = "bn1.variance", opt.init = "ones"},
    %m2: tensor<32xf32> {remat.state = "bn2.mean", opt.init = "zeros"},
    %v2: tensor<32xf32> {remat.state = "bn2.variance", opt.init = "ones"},
    %m3: tensor<64xf32> {remat.state = "bn3.mean", opt.init = "zeros"},
    %v3: tensor<64xf32> {remat.state = "bn3.variance", opt.init = "ones"})
    -> (tensor<f32> {remat.loss}, !remat.rng,
        tensor<32xf32> {remat.state = "bn1.mean"}, tensor<32xf32> {remat.state = "bn1.variance"},
        tensor<32xf32> {remat.state = "bn2.mean"}, tensor<32xf32> {remat.state = "bn2.variance"},
        tensor<64xf32> {remat.state = "bn3.mean"}, tensor<64xf32> {remat.state = "bn3.variance"}) {
  %y1, %next_m1, %next_v1 = remat.region policy(#remat.nothing_saveable)
      (%x = %images : tensor<40x8x8x1xf32>, %w = %w1 : tensor<3x3x1x32xf32>, %g = %g1 : tensor<32xf32>, %b = %b1 : tensor<32xf32>,
       %m = %m1 : tensor<32xf32>, %v = %v1 : tensor<32xf32>) -> tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32> {
    %c = func.call @conv1(%x, %w) : (tensor<40x8x8x1xf32>, tensor<3x3x1x32xf32>) -> tensor<2560x32xf32>
    %conv = remat.name "conv" %c : tensor<2560x32xf32>
    %n, %nm, %nv = func.call @batch_norm_32(%conv, %g, %b, %m, %v)
        : (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>)
    %y = func.call @relu_32(%n) : (tensor<2560x32xf32>) -> tensor<2560x32xf32>
    remat.yield %y, %nm, %nv : tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  %x2 = tensor.expand_shape %y1 [[0, 1, 2], [3]] output_shape [40, 8, 8, 32]
      : tensor<2560x32xf32> into tensor<40x8x8x32xf32>
  %y2, %next_m2, %next_v2 = remat.region policy(#remat.nothing_saveable)
      (%x = %x2 : tensor<40x8x8x32xf32>, %w = %w2 : tensor<3x3x32x32xf32>, %g = %g2 : tensor<32xf32>, %b = %b2 : tensor<32xf32>,
       %m = %m2 : tensor<32xf32>, %v = %v2 : tensor<32xf32>) -> tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32> {
    %c = func.call @conv2(%x, %w) : (tensor<40x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<2560x32xf32>
    %conv = remat.name "conv" %c : tensor<2560x32xf32>
    %n, %nm, %nv = func.call @batch_norm_32(%conv, %g, %b, %m, %v)
        : (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>)
    %y = func.call @relu_32(%n) : (tensor<2560x32xf32>) -> tensor<2560x32xf32>
    remat.yield %y, %nm, %nv : tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  %x3 = call @pool(%y2) : (tensor<2560x32xf32>) -> tensor<40x4x4x32xf32>
  %y3, %next_m3, %next_v3 = remat.region policy(#remat.nothing_saveable)
      (%x = %x3 : tensor<40x4x4x32xf32>, %w = %w3 : tensor<3x3x32x64xf32>, %g = %g3 : tensor<64xf32>, %b = %b3 : tensor<64xf32>,
       %m = %m3 : tensor<64xf32>, %v = %v3 : tensor<64xf32>) -> tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32> {
    %c = func.call @conv3(%x, %w) : (tensor<40x4x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<640x64xf32>
    %conv = remat.name "conv" %c : tensor<640x64xf32>
    %n, %nm, %nv = func.call @batch_norm_64(%conv, %g, %b, %m, %v)
        : (tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>)
    %y = func.call @relu_64(%n) : (tensor<640x64xf32>) -> tensor<640x64xf32>
    remat.yield %y, %nm, %nv : tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %features = call @average(%y3) : (tensor<640x64xf32>) -> tensor<40x64xf32>
  %kept, %next = call @dropout(%features, %rng) : (tensor<40x64xf32>, !remat.rng) -> (tensor<40x64xf32>, !remat.rng)
  %scores = call @linear(%kept, %wo, %bo) : (tensor<40x64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<40x10xf32>
  %loss = call @cross_entropy(%scores, %labels) : (tensor<40x10xf32>, tensor<40xi32>) -> tensor<f32>
  return %loss, %next, %next_m1, %next_v1, %next_m2, %next_v2, %next_m3, %next_v3
      : tensor<f32>, !remat.rng, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>,
        tensor<64xf32>, tensor<64xf32>
}

// Share of the images whose highest score is their label's, and the loss, with running statistics.
func.func @test(
    %images: tensor<40x8x8x1xf32> {remat.data = "images"}, %labels: tensor<40xi32> {remat.data = "labels"},
    %w1: tensor<3x3x1x32xf32> {opt.param = "conv1.weight"}, %g1: tensor<32xf32> {opt.param = "bn1.gain"},
    %b1: tensor<32xf32> {opt.param = "bn1.bias"}, %w2: tensor<3x3x32x32xf32> {opt.param = "conv2.weight"},
    %g2: tensor<32xf32> {opt.param = "bn2.gain"}, %b2: tensor<32xf32> {opt.param = "bn2.bias"},
    %w3: tensor<3x3x32x64xf32> {opt.param = "conv3.weight"}, %g3: tensor<64xf32> {opt.param = "bn3.gain"},
    %b3: tensor<64xf32> {opt.param = "bn3.bias"}, %wo: tensor<64x10xf32> {opt.param = "out.weight"},
    %bo: tensor<10xf32> {opt.param = "out.bias"}, %m1: tensor<32xf32> {remat.state = "bn1.mean"},
    %v1: tensor<32xf32> {remat.state = "bn1.variance"}, %m2: tensor<32xf32> {remat.state = "bn2.mean"},
    %v2: tensor<32xf32> {remat.state = "bn2.variance"}, %m3: tensor<64xf32> {remat.state = "bn3.mean"},
    %v3: tensor<64xf32> {remat.state = "bn3.variance"})
    -> (tensor<f32> {remat.metric = "accuracy"}, tensor<f32> {remat.metric = "loss"}) {
  %zero = arith.constant 0.0 : f32
  %one_image = arith.constant 2.500000e-02 : f32
  %c1 = call @conv1(%images, %w1) : (tensor<40x8x8x1xf32>, tensor<3x3x1x32xf32>) -> tensor<2560x32xf32>
  %n1 = call @batch_norm_32_fixed(%c1, %g1, %b1, %m1, %v1) : (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<2560x32xf32>
  %y1 = call @relu_32(%n1) : (tensor<2560x32xf32>) -> tensor<2560x32xf32>
  %x2 = tensor.expand_shape %y1 [[0, 1, 2], [3]] output_shape [40, 8, 8, 32]
      : tensor<2560x32xf32> into tensor<40x8x8x32xf32>
  %c2 = call @conv2(%x2, %w2) : (tensor<40x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<2560x32xf32>
  %n2 = call @batch_norm_32_fixed(%c2, %g2, %b2, %m2, %v2) : (tensor<2560x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<2560x32xf32>
  %y2 = call @relu_32(%n2) : (tensor<2560x32xf32>) -> tensor<2560x32xf32>
  %x3 = call @pool(%y2) : (tensor<2560x32xf32>) -> tensor<40x4x4x32xf32>
  %c3 = call @conv3(%x3, %w3) : (tensor<40x4x4x32xf32>, tensor<3x3x32x64xf32>) -> tensor<640x64xf32>
  %n3 = call @batch_norm_64_fixed(%c3, %g3, %b3, %m3, %v3) : (tensor<640x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<640x64xf32>
  %y3 = call @relu_64(%n3) : (tensor<640x64xf32>) -> tensor<640x64xf32>
  %features = call @average(%y3) : (tensor<640x64xf32>) -> tensor<40x64xf32>
  %scores = call @linear(%features, %wo, %bo)
      : (tensor<40x64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<40x10xf32>
  %loss = call @cross_entropy(%scores, %labels) : (tensor<40x10xf32>, tensor<40xi32>) -> tensor<f32>
  %max = call @largest(%scores) : (tensor<40x10xf32>) -> tensor<40xf32>
  %right = call @right(%scores, %labels) : (tensor<40x10xf32>, tensor<40xi32>) -> tensor<40xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %accuracy = linalg.generic {indexing_maps = [#channel, #channel, affine_map<(c) -> ()>], iterator_types = ["reduction"]}
      ins(%max, %right : tensor<40xf32>, tensor<40xf32>) outs(%start : tensor<f32>) {
  ^bb0(%m: f32, %r: f32, %acc: f32):
    %is_right = arith.cmpf oeq, %m, %r : f32
    %share = arith.select %is_right, %one_image, %zero : f32
    %s = arith.addf %acc, %share : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %accuracy, %loss : tensor<f32>, tensor<f32>
}
