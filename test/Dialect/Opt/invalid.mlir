// RUN: remat-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expects an update rule, but got "adamw"; rules are #opt.sgd<...>, #opt.adam<...>, #opt.adamw<...>, #opt.lion<...>, #opt.lamb<...>, #opt.adafactor<...>, #opt.apollo<...>, #opt.muon<...>, #opt.adam_mini<...>, #opt.custom<...>}}
opt.optimizer @o = "adamw"

// -----

// expected-error @+1 {{#opt.adamw has no hyperparameter 'beta1'; it has b1, b2, eps, lr, states, rounding, weight_decay}}
opt.optimizer @o = #opt.adamw<lr = 1.0e-3, beta1 = 0.9>

// -----

// expected-error @+1 {{#opt.sgd needs 'lr = ...'}}
opt.optimizer @o = #opt.sgd<momentum = 0.9>

// -----

// expected-error @+1 {{hyperparameter 'lr' twice}}
opt.optimizer @o = #opt.sgd<lr = 0.9, lr = 0.9>

// -----

// expected-error @+1 {{'b1' of #opt.adam must be at least 0 and below 1, but got 1.000000e+00}}
opt.optimizer @o = #opt.adam<lr = 1.0e-3, b1 = 1.0>

// -----

// expected-error @+1 {{'lr' of #opt.adam must be a number, a schedule (#opt.constant<...>, #opt.linear_warmup_cosine<...>, #opt.step_decay<...>) or a symbol of a function from i64 to f32 or f64, but got "fast"}}
opt.optimizer @o = #opt.adam<lr = "fast">

// -----

// expected-error @+1 {{'nesterov' of #opt.sgd must be true or false, but got 1}}
opt.optimizer @o = #opt.sgd<lr = 1.0e-3, nesterov = 1>

// -----

// expected-error @+1 {{#opt.step_decay needs 'every = ...'}}
opt.optimizer @o = #opt.adam<lr = #opt.step_decay<initial = 0.1, factor = 0.5>>

// -----

// expected-error @+1 {{#opt.sgd has no hyperparameter 'b1'; it has lr, states, momentum, nesterov, rounding, dampening, weight_decay}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"*", b1 = 0.9>]}

// -----

// expected-error @+1 {{group "*" is frozen, so its hyperparameters mean nothing}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"*", frozen, lr = 0.9>]}

// -----

// expected-error @+1 {{group "*" changes nothing; give it a hyperparameter or 'frozen'}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"*">]}

// -----

// expected-error @+1 {{pattern "[" of a parameter group: invalid glob pattern}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"[", lr = 0.1>]}

// -----

// expected-error @+1 {{'groups' takes #opt.group<"pattern", ...>, got "bias"}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = ["bias"]}

// -----

// expected-error @+1 {{'ema', the part of an average that a step keeps, must be at least 0 and below 1, but got 1}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {ema = 1.0}

// -----

// expected-error @+1 {{'clip_norm' must be at least 0, but got -1}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {clip_norm = -1.0}

// -----

// expected-error @+1 {{names @rate, but there is no such function}}
opt.optimizer @o = #opt.sgd<lr = @rate>

// -----

func.func private @rate(f32) -> f32
// expected-error @+1 {{a learning rate is a function of type '(i64) -> f32' or '(i64) -> f64', but @rate has type '(f32) -> f32'}}
opt.optimizer @o = #opt.sgd<lr = @rate>

// -----

// expected-note @+1 {{the rule is defined here}}
func.func private @rule(f32, f32, i64, f32) -> f32
// expected-error @+1 {{a rule with 1 states is a function of parameter, gradient, 1 states, step (i64) and learning rate (the type of the numbers) that returns the new parameter and 1 states}}
opt.optimizer @o = #opt.custom<@rule, states = 1>

// -----

func.func private @rule(f32, f32, i64, f32) -> f32
// expected-error @+1 {{a rule on scalars becomes the body of a kernel, so @rule needs a body of one block}}
opt.optimizer @o = #opt.custom<@rule>

// -----

func.func private @print(f32)
func.func @rule(%p: f32, %g: f32, %t: i64, %lr: f32) -> f32 {
  // expected-note @+1 {{this operation has one}}
  call @print(%p) : (f32) -> ()
  return %p : f32
}
// expected-error @+1 {{a rule on scalars has no effects, but @rule has}}
opt.optimizer @o = #opt.custom<@rule>

// -----

// expected-error @+1 {{'opt.param' of argument 0 must be a name or nothing, but got 4 : i64}}
func.func private @f(%w: tensor<4xf32> {opt.param = 4}) { return }

// -----

// expected-error @+1 {{'opt.init' of argument 0 must be one of zeros, ones, constant(c), normal(stddev), uniform(low, high), but got "gauss(1)"}}
func.func private @f(%w: tensor<4xf32> {opt.init = "gauss(1)"}) { return }

// -----

// expected-error @+1 {{unknown attribute 'opt.parm' on argument 0; the opt dialect knows opt.param, opt.init, opt.state, opt.state_of and opt.stored}}
func.func private @f(%w: tensor<4xf32> {opt.parm}) { return }

// -----

// expected-error @+1 {{unknown attribute 'remat.stat' on argument 1; the remat dialect knows remat.data, remat.state, remat.init, remat.seed, remat.step, remat.shard, remat.local, remat.result, remat.gradient_of and remat.updates}}
func.func private @misspelled_role(tensor<4xf32> {remat.data = "x"}, tensor<4xf32> {remat.stat = "s"})

// -----

// expected-error @+1 {{unknown attribute 'remat.los' on result 0; the remat dialect knows remat.loss, remat.metric, remat.state, remat.gradient_of and remat.updates}}
func.func private @misspelled_loss() -> (tensor<f32> {remat.los}, tensor<f32>)

// -----

func.func @f(%w: tensor<4xf32>, %t: i64) {
  // expected-error @+1 {{names @adam, but there is no such opt.optimizer}}
  %0 = opt.eager_step @adam(%w, %w) step %t : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

opt.optimizer @adam = #opt.adam<lr = 0.1>
func.func @f(%w: tensor<4xf32>, %t: i64) {
  // expected-error @+1 {{@adam keeps 2 states for a parameter (m, v), but got 1}}
  %0:2 = opt.eager_step @adam(%w, %w, %w) step %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1> {groups = [#opt.group<"e*", frozen>]}
func.func @f(%w: tensor<4xf32>, %t: i64) {
  // expected-error @+1 {{a group of @sgd freezes parameter 'embed'}}
  %0 = opt.eager_step @sgd(%w, %w) step %t {parameter = "embed"} : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func @f(%w: tensor<4xf32>, %g: tensor<3xf32>, %t: i64) {
  // expected-error @+1 {{the gradient of a parameter of type 'tensor<4xf32>' has its shape, got 'tensor<3xf32>'}}
  %0 = opt.eager_step @sgd(%w, %g) step %t : tensor<4xf32>, tensor<3xf32>
  return
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1, momentum = 0.9>
func.func @f(%w: tensor<4xbf16>, %t: i64) {
  // expected-error @+1 {{state 'momentum' of a parameter of type 'tensor<4xbf16>' must be a 'tensor<4xf32>', but got 'tensor<4xbf16>'}}
  %0:2 = opt.eager_step @sgd(%w, %w, %w) step %t : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
  return
}

// -----

opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func @f(%w: tensor<4xi32>, %t: i64) {
  // expected-error @+1 {{updates floating-point parameters, not 'tensor<4xi32>'}}
  %0 = opt.eager_step @sgd(%w, %w) step %t : tensor<4xi32>, tensor<4xi32>
  return
}

// -----

// expected-error @+1 {{unknown attribute `adamv` in dialect `opt`; there are adam, adamw, }}
opt.optimizer @misspelled_rule = #opt.adamv<lr = 0.1>

// -----

// expected-error @+1 {{'opt.state_of' of argument 1 is the index (i64) of one of 2 arguments, got 2 : i64}}
func.func private @state_of_nobody(tensor<4xf32> {opt.param}, tensor<4xf32> {opt.state = "m", opt.state_of = 2})

// -----

// expected-error @+1 {{'opt.state' of argument 0 must be a name, but got unit}}
func.func private @state_without_name(tensor<4xf32> {opt.state})

// -----

// expected-error @+1 {{'nesterov' of #opt.sgd needs a 'momentum' that is not 0, and no 'dampening'}}
opt.optimizer @o = #opt.sgd<lr = 0.1, nesterov = true>

// -----

// expected-error @+1 {{'nesterov' of #opt.sgd needs a 'momentum' that is not 0, and no 'dampening'}}
opt.optimizer @o = #opt.sgd<lr = 0.1, nesterov = true, momentum = 0.9, dampening = 0.1>

// -----

// expected-error @+1 {{'lr' of #opt.sgd must be at least 0, but got 0x7FF8000000000000}}
opt.optimizer @o = #opt.sgd<lr = 0x7FF8000000000000 : f64>

// -----

// expected-error @+1 {{'warmup' of #opt.linear_warmup_cosine must be at most 'total' (10), but got 11}}
opt.optimizer @o = #opt.sgd<lr = #opt.linear_warmup_cosine<peak = 0.1, warmup = 11, total = 10>>

// -----

func.func private @rule(tensor<?xf32>, tensor<?xf32>, i64, f32) -> tensor<?xf32>
// expected-error @+1 {{a group cannot override 'states' of #opt.custom, which is the number of states that @rule takes}}
opt.optimizer @o = #opt.custom<@rule, lr = 0.1> {groups = [#opt.group<"w", states = 1>]}

// -----

// expected-error @+1 {{expects an update rule as the 'rule' of group "w", but got 1}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"w", rule = 1.0>]}

// -----

// expected-error @+1 {{#opt.lion has no hyperparameter 'momentum'; it has }}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"w", rule = #opt.lion<lr = 0.1>, momentum = 0.1>]}

// -----

// expected-error @+1 {{'opt.param' of argument 0 must be a name or nothing, but got ""}}
func.func private @nameless(tensor<4xf32> {opt.param = ""})

// -----

// expected-error @+1 {{'remat.state' of argument 0 stands beside 'opt.param', but an argument must be a parameter, a state or data}}
func.func private @two_roles(tensor<4xf32> {opt.param, remat.state = "m"})

// -----

// expected-error @+1 {{'remat.data' of argument 0 stands beside 'opt.param', but an argument must be a parameter, a state or data}}
func.func private @data_and_parameter(tensor<4xf32> {opt.param, remat.data = "x"})

// -----

// A rule on scalars becomes the body of a kernel, of which each number has one type.

// expected-note @+1 {{the rule is defined here}}
func.func private @counting(%p: f32, %g: f32, %n: i32, %step: i64, %lr: f32) -> (f32, i32) {
  return %p, %n : f32, i32
}
// expected-error @+1 {{a rule with 1 states is a function of parameter, gradient, 1 states}}
opt.optimizer @own = #opt.custom<@counting, states = 1, lr = 0.1>

// -----

// expected-error @+1 {{'states' of #opt.adamw must be one of f32, bf16, int8, int4, but got "int2"}}
opt.optimizer @o = #opt.adamw<lr = 0.1, states = int2>

// -----

// expected-error @+1 {{'states' of #opt.adamw must be one of f32, bf16, int8, int4, but got 8 : i64}}
opt.optimizer @o = #opt.adamw<lr = 0.1, states = 8>

// -----

// expected-error @+1 {{'rounding' of #opt.lion must be one of nearest, stochastic, kahan, but got "up"}}
opt.optimizer @o = #opt.sgd<lr = 0.1> {groups = [#opt.group<"w", rule = #opt.lion<lr = 0.1>, rounding = up>]}

// -----

// expected-error @+1 {{#opt.adafactor has no hyperparameter 'states'; it has }}
opt.optimizer @o = #opt.adafactor<states = int8>

// -----

// expected-error @+1 {{'states' of #opt.sgd is how its momentum is stored, but got "int8" without a 'momentum'}}
opt.optimizer @o = #opt.sgd<lr = 0.1, states = int8>

// -----

opt.optimizer @o = #opt.lion<lr = 0.1, states = int8>
func.func @scales_are_missing(%w: tensor<4096xf32>, %m: tensor<4096xf32>, %t: i64) {
  // expected-error @+1 {{@o keeps 2 states for a parameter (m, m.scale), but got 1}}
  %0:2 = opt.eager_step @o(%w, %w, %m) step %t : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
  return
}

// -----

opt.optimizer @o = #opt.lion<lr = 0.1, states = int4>
func.func @blocks_of_another_size(%w: tensor<4096xf32>, %m: tensor<16x128xi8>, %s: tensor<16xf32>, %t: i64) {
  // expected-error @+1 {{state 'm' of a parameter of type 'tensor<4096xf32>' must be a 'tensor<32x64xi8>', but got 'tensor<16x128xi8>'}}
  %0:3 = opt.eager_step @o(%w, %w, %m, %s) step %t : tensor<4096xf32>, tensor<4096xf32>, tensor<16x128xi8>, tensor<16xf32>
  return
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1, rounding = stochastic>
func.func @no_key(%w: tensor<4xbf16>, %t: i64) {
  // expected-error @+1 {{draws random numbers for 'w', and needs a 'key'}}
  %0 = opt.eager_step @o(%w, %w) step %t {parameter = "w"} : tensor<4xbf16>, tensor<4xbf16>
  return
}

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1, rounding = stochastic>
func.func @stochastic_f16(%w: tensor<4xf16>, %t: i64) {
  // expected-error @+1 {{stochastic rounding is for parameters of bf16, but got 'tensor<4xf16>'; give it a group with 'rounding = nearest' or 'rounding = kahan'}}
  %0 = opt.eager_step @o(%w, %w) step %t : tensor<4xf16>, tensor<4xf16>
  return
}

// -----

// expected-error @+1 {{codes are int8 or int4, but got 'int2'}}
func.func @other_codes(%w: tensor<4x!opt.blockwise<int2, 256>>) { return }

// -----

// expected-error @+1 {{the elements of a block must be positive, and their codes whole bytes, but got 5}}
func.func @half_a_byte(%w: tensor<4x!opt.blockwise<int4, 5>>) { return }

// -----

// expected-error @+1 {{'opt.stored' of argument 0 must be a floating-point type or !opt.blockwise<...>, but got i8}}
func.func @stored_as_what(%m: f32 {opt.stored = i8}) { return }

// -----

opt.optimizer @o = #opt.custom<@rule, states = 2>
func.func @rule(%w: f32, %g: f32, %m: f32 {opt.stored = !opt.blockwise<int8, 16>}, %v: f32 {opt.stored = !opt.blockwise<int8, 32>}, %t: i64, %lr: f32) -> (f32, f32, f32) {
  return %w, %m, %v : f32, f32, f32
}
func.func @blocks_of_two_sizes(%w: tensor<64xf32>, %m: tensor<4x16xi8>, %ms: tensor<4xf32>, %v: tensor<2x32xi8>, %vs: tensor<2xf32>, %t: i64) {
  // expected-error @+1 {{quantized states of one rule have blocks of one size, but got 16 and 32}}
  %0:5 = opt.eager_step @o(%w, %w, %m, %ms, %v, %vs) step %t : tensor<64xf32>, tensor<64xf32>, tensor<4x16xi8>, tensor<4xf32>, tensor<2x32xi8>, tensor<2xf32>
  return
}

// -----

opt.optimizer @o = #opt.custom<@rule, states = 1>
func.func @rule(%w: f32, %g: f32, %m: f32 {opt.stored = !opt.blockwise<int8, 16>, opt.init = "ones"}, %t: i64, %lr: f32) -> (f32, f32) {
  return %w, %m : f32, f32
}
func.func @starts_from_ones(%w: tensor<64xf32>, %m: tensor<4x16xi8>, %ms: tensor<4xf32>, %t: i64) {
  // expected-error @+1 {{a quantized state starts from zeros, but 's0' starts from ones}}
  %0:3 = opt.eager_step @o(%w, %w, %m, %ms) step %t : tensor<64xf32>, tensor<64xf32>, tensor<4x16xi8>, tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{argument 2 of @rule has 'opt.stored', which is for rules on scalars; a state of a rule on tensors is stored as its type says}}
opt.optimizer @o = #opt.custom<@rule, states = 1>
func.func @rule(%w: tensor<?xf32>, %g: tensor<?xf32>, %m: tensor<?xf32> {opt.stored = bf16}, %t: i64, %lr: f32) -> (tensor<?xf32>, tensor<?xf32>) {
  return %w, %m : tensor<?xf32>, tensor<?xf32>
}

// -----

// expected-error @+1 {{'rank' of #opt.apollo must be }}
opt.optimizer @o = #opt.apollo<lr = 0.1, rank = 0>

// -----

// expected-error @+1 {{'states' of #opt.apollo must be one of f32, bf16, but got "int8"}}
opt.optimizer @o = #opt.apollo<lr = 0.1, states = int8>

// -----

opt.optimizer @o = #opt.apollo<lr = 0.1, rank = 2>
func.func @apollo_without_key(%w: tensor<4x8xf32>, %m: tensor<2x8xf32>, %norm: tensor<f32>, %t: i64) {
  // expected-error @+1 {{draws random numbers for 'w', and needs a 'key'}}
  %0:4 = opt.eager_step @o(%w, %w, %m, %m, %norm) step %t {parameter = "w"}
      : tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<f32>
  return
}

// -----

opt.optimizer @o = #opt.apollo<lr = 0.1, rank = 2>
func.func @apollo_of_unknown_size(%w: tensor<?x8xf32>, %t: i64) {
  // expected-error @+1 {{#opt.apollo needs to know the sizes of a parameter, but got 'tensor<?x8xf32>'; give it a group with another rule}}
  %0:3 = opt.eager_step @o(%w, %w, %w, %w) step %t {parameter = "w"} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

opt.optimizer @o = #opt.muon<>
func.func @muon_of_vector(%w: tensor<8xf32>, %t: i64) {
  // expected-error @+1 {{#opt.muon updates matrices, but got 'tensor<8xf32>'; give it a group with another rule, such as 'rule = #opt.adamw<lr = 3.0e-4>'}}
  %0:2 = opt.eager_step @o(%w, %w, %w) step %t : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

opt.optimizer @o = #opt.adam_mini<lr = 0.1, blocks = 3>
func.func @blocks_that_do_not_divide(%w: tensor<8x2xf32>, %v: tensor<3xf32>, %t: i64) {
  // expected-error @+1 {{the 3 blocks of #opt.adam_mini do not divide the 8 indices of dimension 0 of 'tensor<8x2xf32>'; give it a group with other 'blocks'}}
  %0:3 = opt.eager_step @o(%w, %w, %w, %v) step %t : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<3xf32>
  return
}

// -----

opt.optimizer @o = #opt.adam_mini<lr = 0.1, dim = 2>
func.func @no_such_dimension(%w: tensor<8x2xf32>, %v: tensor<8xf32>, %t: i64) {
  // expected-error @+1 {{'dim' of #opt.adam_mini is 2, but 'tensor<8x2xf32>' has 2 dimensions}}
  %0:3 = opt.eager_step @o(%w, %w, %w, %v) step %t : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8xf32>
  return
}
