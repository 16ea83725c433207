// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @misspelled_policy() {
  // expected-error @+1 {{unknown attribute `dots_savable` in dialect `remat`; there are dots_saveable, }}
  remat.region policy(#remat.dots_savable) () {
    remat.yield
  }
  return
}

// -----

func.func @policy_without_dialect() {
  // expected-error @+2 {{expected attribute value}}
  // expected-error @+1 {{expects a policy: nothing_saveable, everything_saveable, dots_saveable}}
  remat.region policy(dots_saveable) () {
    remat.yield
  }
  return
}

// -----

func.func @not_a_policy() {
  // expected-error @+1 {{expects a policy, got "dots"; policies are nothing_saveable, everything_saveable, dots_saveable}}
  remat.region policy("dots") () {
    remat.yield
  }
  return
}

// -----

// expected-error @+1 {{any_of takes policies, but 4 : i64 is none}}
func.func private @any_of() attributes {p = #remat.any_of<#remat.dots_saveable, 4>}

// -----

// expected-error@+1 {{#remat.min_cut chooses among all values of a region and cannot be a member of any_of}}
func.func private @any_of() attributes {p = #remat.any_of<#remat.dots_saveable, #remat.min_cut>}

// -----

// expected-error@+1 {{budget needs bytes from 0 on, got -1}}
func.func private @negative() attributes {p = #remat.budget<-1>}

// -----

// expected-error@+1 {{budget '5 apples' is neither a number of bytes such as 4096}}
func.func private @apples() attributes {p = #remat.budget<"5 apples">}

// -----

// expected-error@+1 {{a fraction has no whole here; give bytes, such as "10MiB"}}
func.func private @fraction() attributes {p = #remat.budget<"0.5">}

// -----

// expected-error @+1 {{policy names "a" twice}}
func.func private @twice() attributes {p = #remat.save_only_names<"a", "a">}

// -----

func.func @yields_too_little(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    // expected-note @+1 {{region branch point}}
    remat.yield
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @yields_a_residual_as_an_output(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 1 outputs, but its body yields 0}}
  %0 = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    remat.yield residuals(%a : tensor<4xf32>)
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @yields_another_type(%x: tensor<4xf32>) -> tensor<4xf64> {
  // expected-error @+1 {{successor operand type #0 'tensor<4xf32>' should match successor input type #0 'tensor<4xf64>'}}
  %0 = remat.backward cotangents(%a = %x : tensor<4xf32>) -> tensor<4xf64> {
    // expected-note @+1 {{region branch point}}
    remat.yield %a : tensor<4xf32>
  }
  return %0 : tensor<4xf64>
}

// -----

func.func @takes_too_few(%x: f32) {
  // expected-error @+2 {{region branch point has 1 operands, but region successor needs 0 inputs}}
  // expected-note @+1 {{region branch point}}
  "remat.backward"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>}> ({
    remat.yield
  }) : (f32) -> ()
  return
}

// -----

func.func @backward_with_residuals(%x: f32) -> f32 {
  // expected-error @+1 {{yields residuals; only a remat.region has them}}
  %0 = remat.backward cotangents(%a = %x : f32) -> f32 {
    remat.yield residuals(%a : f32)
  }
  return %0 : f32
}

// -----

func.func @backward_without_cotangent(%x: f32) -> f32 {
  // expected-error @+1 {{has no cotangent, for which a recompute would wait; pass one of an output of its region, even if the body does not read it}}
  %0 = remat.backward (%a = %x : f32) -> f32 {
    remat.yield %a : f32
  }
  return %0 : f32
}

// -----

func.func @backward_that_keeps_a_sum(%x: f32, %sum: f32) -> f32 {
  // expected-error @+1 {{adds to a sum of type 'f32', but has no result of that type to return it; pass as 'sums' what comes back as a result only}}
  %0 = remat.backward cotangents(%a = %x : f32) sums(%b = %sum : f32, %c = %x : f32) -> f32 {
    %1 = arith.addf %a, %b : f32
    remat.yield %1 : f32
  }
  return %0 : f32
}

// -----

func.func @groups_out_of_order(%x: f32) {
  // expected-error @+1 {{expected '{' to begin a region}}
  remat.backward cotangents(%a = %x : f32) residuals(%b = %x : f32) {
    remat.yield
  }
  return
}

// -----

func.func @prevent_cse(%x: tensor<4xf32>) {
  // expected-error @+1 {{prevent_cse has 2 entries for 1 operands}}
  remat.region (%a = %x : tensor<4xf32>) attributes {prevent_cse = array<i1: true, false>} {
    remat.yield
  }
  return
}

// -----

func.func @bernoulli(%rng: !remat.rng) {
  // expected-error @+1 {{needs a probability between 0 and 1}}
  %0:2 = remat.random_bernoulli %rng {p = 1.5 : f64} : tensor<4xi1>
  return
}

// -----

func.func @conv_of_wrong_size(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %e: tensor<2x8x8x4xf32>) {
  // expected-error @+1 {{the height of the result must be at most 6, got 8}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%e : tensor<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x8x8x4xf32>
  return
}

// -----

func.func @conv_of_wrong_size_channels_first(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %e: tensor<2x4x6x8xf32>) {
  // expected-error @+1 {{the width of the result must be at most 6, got 8}}
  %0 = remat.conv ins(%x, %w : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%e : tensor<2x4x6x8xf32>)
      {channels_first, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x4x6x8xf32>
  return
}

// -----

func.func @conv_without_window(%x: tensor<2x8x8x3xf32>, %w: tensor<3x0x3x4xf32>, %e: tensor<2x6x9x4xf32>) {
  // expected-error @+1 {{a filter needs at least one position}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<3x0x3x4xf32>) outs(%e : tensor<2x6x9x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x6x9x4xf32>
  return
}

// -----

func.func @conv_of_wrong_channels(%x: tensor<2x8x8x3xf32>, %w: tensor<1x1x5x4xf32>, %e: tensor<2x8x8x4xf32>) {
  // expected-error @+1 {{the number of input channels must be 3, or a part of it that makes groups of equal size, got 5 for 4 output channels}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<1x1x5x4xf32>) outs(%e : tensor<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>} -> tensor<2x8x8x4xf32>
  return
}

// -----

func.func @conv_with_huge_dilation(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %e: tensor<2x8x8x4xf32>) {
  // expected-error @+1 {{strides and dilations must be positive, and at most 2147483647, got 9223372036854775807}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%e : tensor<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 9223372036854775807, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x8x8x4xf32>
  return
}

// -----

func.func @conv_with_huge_padding(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %e: tensor<2x8x8x4xf32>) {
  // expected-error @+1 {{padding must not be negative, and at most 2147483647, got 9223372036854775807}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%e : tensor<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 9223372036854775807, 1, 1, 1>} -> tensor<2x8x8x4xf32>
  return
}

// -----

func.func @conv_with_huge_window(%x: tensor<2x8x8x3xf32>, %w: tensor<4611686018427387904x3x3x4xf32>, %e: tensor<2x8x8x4xf32>) {
  // expected-error @+1 {{the height of images and filters must be at most 2147483647, got 4611686018427387904}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x3xf32>, tensor<4611686018427387904x3x3x4xf32>) outs(%e : tensor<2x8x8x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>} -> tensor<2x8x8x4xf32>
  return
}

// -----

func.func @conv_of_several_ranks(%x: tensor<2x8x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %e: tensor<2x6x6x6x4xf32>) {
  // expected-error @+1 {{operands must have one number of dimensions}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x8x3xf32>, tensor<3x3x3x4xf32>) outs(%e : tensor<2x6x6x6x4xf32>)
      {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0, 0, 0, 0>} -> tensor<2x6x6x6x4xf32>
  return
}

// -----

func.func @conv_with_too_few_strides(%x: tensor<2x8x8x8x3xf32>, %w: tensor<3x3x3x3x4xf32>, %e: tensor<2x6x6x6x4xf32>) {
  // expected-error @+1 {{needs 3 strides, 3 dilations and 6 paddings}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x8x3xf32>, tensor<3x3x3x3x4xf32>) outs(%e : tensor<2x6x6x6x4xf32>)
      {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0, 0, 0, 0>} -> tensor<2x6x6x6x4xf32>
  return
}

// -----

func.func @conv_of_wrong_depth(%x: tensor<2x8x8x8x3xf32>, %w: tensor<3x3x3x3x4xf32>, %e: tensor<2x8x6x6x4xf32>) {
  // expected-error @+1 {{the depth of the result must be at most 6, got 8}}
  %0 = remat.conv ins(%x, %w : tensor<2x8x8x8x3xf32>, tensor<3x3x3x3x4xf32>) outs(%e : tensor<2x8x6x6x4xf32>)
      {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0, 0, 0, 0>} -> tensor<2x8x6x6x4xf32>
  return
}

// -----

// expected-error@+1 {{snapshots needs a number of states from 1 on, or text with bytes, such as "4MiB", got 0}}
func.func private @none() attributes {p = #remat.snapshots<0>}

// -----

// expected-error@+1 {{snapshots needs a number of states from 1 on, or text with bytes, such as "4MiB", got -2}}
func.func private @below_none() attributes {p = #remat.snapshots<-2>}

// -----

// expected-error@+1 {{a fraction has no whole here; give bytes, such as "10MiB"}}
func.func private @fraction_of_states() attributes {p = #remat.snapshots<"0.5">}
