// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s -mlir-print-op-generic | remat-opt | FileCheck %s
// RUN: remat-opt %s -emit-bytecode | remat-opt | FileCheck %s

// Defaults are left out, numbers may be whole.
// CHECK: opt.optimizer @sgd = #opt.sgd<lr = 1.000000e+00>
opt.optimizer @sgd = #opt.sgd<lr = 1, momentum = 0.0>
// CHECK: opt.optimizer @nesterov = #opt.sgd<lr = 1.000000e-01, momentum = 0.89999999999999991, nesterov = true>
opt.optimizer @nesterov = #opt.sgd<nesterov = true, lr = 0.1, momentum = 0.8999999999999999>
// CHECK: opt.optimizer @adam = #opt.adam<lr = #opt.constant<value = 1.000000e-03>>
opt.optimizer @adam = #opt.adam<lr = #opt.constant<value = 1.0e-3>, b1 = 0.9>
// CHECK: opt.optimizer @lion = #opt.lion<lr = #opt.linear_warmup_cosine<peak = 1.000000e-04, warmup = 10, total = 100>, weight_decay = 1.000000e-01>
opt.optimizer @lion = #opt.lion<lr = #opt.linear_warmup_cosine<peak = 1.0e-4, warmup = 10, total = 100>, weight_decay = 0.1>
// CHECK: opt.optimizer @adamw = #opt.adamw<lr = @rate> {clip_norm = 1.000000e+00 : f64, clip_value = 5.000000e-01 : f64, groups = [#opt.group<"*.bias", weight_decay = 0.000000e+00>, #opt.group<"embed*", frozen>]}
opt.optimizer @adamw = #opt.adamw<lr = @rate>
    {groups = [#opt.group<"*.bias", weight_decay = 0.0>, #opt.group<"embed*", frozen>], clip_norm = 1.0, clip_value = 0.5}
// CHECK: opt.optimizer @custom = #opt.custom<@signum, states = 1, lr = #opt.step_decay<initial = 1.000000e-01, factor = 5.000000e-01, every = 30>>
opt.optimizer @custom = #opt.custom<@signum, states = 1, lr = #opt.step_decay<initial = 0.1, factor = 0.5, every = 30>>

// Values that torch accepts: no limit on the momentum, gradients clipped to 0.
// CHECK: opt.optimizer @torch = #opt.sgd<lr = 1.000000e-01, momentum = 1.000000e+00, dampening = 1.000000e+00> {clip_norm = 0.000000e+00 : f64, clip_value = 0.000000e+00 : f64}
opt.optimizer @torch = #opt.sgd<lr = 0.1, momentum = 1.0, dampening = 1.0> {clip_value = 0.0, clip_norm = 0.0}
// CHECK: opt.optimizer @lamb = #opt.lamb<lr = 1.000000e-01> {groups = [#opt.group<"norm", rule = #opt.adafactor<weight_decay = 1.000000e-01>>]}
opt.optimizer @lamb = #opt.lamb<lr = 0.1> {groups = [#opt.group<"norm", rule = #opt.adafactor<weight_decay = 0.1>>]}
// CHECK: opt.optimizer @apollo = #opt.apollo<lr = 1.000000e-02, rank = 1, scale = 1.280000e+02, scaling = tensor, states = bf16, rounding = stochastic>
opt.optimizer @apollo = #opt.apollo<lr = 0.01, rank = 1, scale = 128, scaling = tensor, rounding = stochastic, states = bf16>
// CHECK: opt.optimizer @muon = #opt.muon<> {groups = [#opt.group<"embed", rule = #opt.adam_mini<lr = 1.000000e-01, dim = -1, blocks = 4>>]}
opt.optimizer @muon = #opt.muon<lr = 1.0e-3> {groups = [#opt.group<"embed", rule = #opt.adam_mini<lr = 0.1, dim = -1, blocks = 4>>]}
// How states are stored and parameters are rounded.
// CHECK: opt.optimizer @int8 = #opt.adamw<lr = 1.000000e-01, states = int8> {groups = [#opt.group<"norm", states = f32>, #opt.group<"head", rounding = kahan, states = bf16>]}
opt.optimizer @int8 = #opt.adamw<lr = 0.1, states = "int8", rounding = nearest>
    {groups = [#opt.group<"norm", states = f32>, #opt.group<"head", states = bf16, rounding = kahan>]}
// CHECK: opt.optimizer @stochastic = #opt.sgd<lr = 1.000000e-01, momentum = 9.000000e-01, states = int4, rounding = stochastic>
opt.optimizer @stochastic = #opt.sgd<lr = 0.1, momentum = 0.9, states = int4, rounding = stochastic>
// CHECK: opt.optimizer @quantized = #opt.custom<@signum8, states = 1>
opt.optimizer @quantized = #opt.custom<@signum8, states = 1>
// CHECK: func.func @signum8({{.*}}, %{{.*}}: f32 {opt.stored = !opt.blockwise<int8, 16, unsigned>}
func.func @signum8(%p: f32, %g: f32, %s: f32 {opt.stored = !opt.blockwise<int8, 16, unsigned>}, %step: i64, %lr: f32) -> (f32, f32) {
  return %p, %s : f32, f32
}

func.func private @rate(i64) -> f32
func.func @signum(%p: f32, %g: f32, %s: f32, %step: i64, %lr: f32) -> (f32, f32) {
  return %p, %s : f32, f32
}

// CHECK-LABEL: func.func @a_parameter_with_its_start(
// CHECK-SAME: {opt.init = "normal(0.02)", opt.param = "w"}
func.func @a_parameter_with_its_start(%w: tensor<4xf32> {opt.param = "w", opt.init = "normal(0.02)"}) {
  return
}

// CHECK-LABEL: func.func @steps(
func.func @steps(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %t: i64, %s: f64,
                 %h: tensor<?xbf16>, %dh: tensor<?xbf16>, %mh: tensor<?xf32>) {
  // CHECK: %{{.*}}, %{{.*}}:2 = opt.eager_step @adamw(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) step %{{.*}} {parameter = "head"} : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %w1, %m1, %v1 = opt.eager_step @adamw(%w, %g, %m, %v) step %t {parameter = "head"}
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK: opt.eager_step @sgd(%{{.*}}, %{{.*}}) step %{{.*}} scale %{{.*}} : tensor<4xf32>, tensor<4xf32>
  %w2 = opt.eager_step @sgd(%w, %g) step %t scale %s : tensor<4xf32>, tensor<4xf32>
  // Parameters of 16 bits keep their state in f32.
  // CHECK: opt.eager_step @lion({{.*}}) step %{{.*}} : tensor<?xbf16>, tensor<?xbf16>, tensor<?xf32>
  %h1, %mh1 = opt.eager_step @lion(%h, %dh, %mh) step %t : tensor<?xbf16>, tensor<?xbf16>, tensor<?xf32>
  return
}

// Codes, whose last block may be a part, and scales; small parameters have neither.
// CHECK-LABEL: func.func @quantized_states(
func.func @quantized_states(%w: tensor<5x1000xf32>, %m: tensor<20x256xi8>, %ms: tensor<20xf32>, %v: tensor<20x256xi8>, %vs: tensor<20xf32>,
                            %u: tensor<4095xf32>, %um: tensor<4095xf32>, %uv: tensor<4095xf32>, %t: i64) {
  // CHECK: opt.eager_step @int8(%{{.*}}) step %{{.*}} : tensor<5x1000xf32>, tensor<5x1000xf32>, tensor<20x256xi8>, tensor<20xf32>, tensor<20x256xi8>, tensor<20xf32>
  %0:5 = opt.eager_step @int8(%w, %w, %m, %ms, %v, %vs) step %t
      : tensor<5x1000xf32>, tensor<5x1000xf32>, tensor<20x256xi8>, tensor<20xf32>, tensor<20x256xi8>, tensor<20xf32>
  // CHECK: opt.eager_step @int8(%{{.*}}) step %{{.*}} : tensor<4095xf32>, tensor<4095xf32>, tensor<4095xf32>, tensor<4095xf32>
  %1:3 = opt.eager_step @int8(%u, %u, %um, %uv) step %t : tensor<4095xf32>, tensor<4095xf32>, tensor<4095xf32>, tensor<4095xf32>
  return
}

// Two codes to a byte, and the key of random bits; what is rounded away is a state.
// CHECK-LABEL: func.func @rounded_parameters(
func.func @rounded_parameters(%w: tensor<4096xbf16>, %m: tensor<32x64xi8>, %ms: tensor<32xf32>, %t: i64, %key: i64,
                              %h: tensor<4xf16>, %hm: tensor<4xbf16>, %hc: tensor<4xf16>) {
  // CHECK: opt.eager_step @stochastic(%{{.*}}) step %{{.*}} key %{{.*}} : tensor<4096xbf16>, tensor<4096xbf16>, tensor<32x64xi8>, tensor<32xf32>
  %0:3 = opt.eager_step @stochastic(%w, %w, %m, %ms) step %t key %key : tensor<4096xbf16>, tensor<4096xbf16>, tensor<32x64xi8>, tensor<32xf32>
  // CHECK: opt.eager_step @int8(%{{.*}}) step %{{.*}} {parameter = "head"} : tensor<4xf16>, tensor<4xf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xf16>
  %1:4 = opt.eager_step @int8(%h, %h, %hm, %hm, %hc) step %t {parameter = "head"} : tensor<4xf16>, tensor<4xf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xf16>
  return
}
