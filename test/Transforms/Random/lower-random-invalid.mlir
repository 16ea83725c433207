// RUN: remat-opt %s -remat-lower-random -split-input-file -verify-diagnostics

func.func @a_type_without_a_rule(%rng: !remat.rng) -> tensor<4xf8E4M3FN> {
  // expected-error @+1 {{draws f64, f32, f16 or bf16, not 'f8E4M3FN'; draw f32 and convert}}
  %u, %next = remat.random_uniform %rng : tensor<4xf8E4M3FN>
  return %u : tensor<4xf8E4M3FN>
}

// -----

func.func @a_range_without_numbers(%rng: !remat.rng) -> tensor<4xf16> {
  // expected-error @+1 {{has no finite 'f16' numbers in its range; choose other bounds or a wider type}}
  %u, %next = remat.random_uniform %rng {low = 1.0001 : f64, high = 1.0002 : f64} : tensor<4xf16>
  return %u : tensor<4xf16>
}

// -----

func.func @a_range_beyond_the_type(%rng: !remat.rng) -> tensor<4xf32> {
  // expected-error @+1 {{has no finite 'f32' numbers in its range}}
  %u, %next = remat.random_uniform %rng {low = -1.0e300 : f64, high = 1.0e300 : f64} : tensor<4xf32>
  return %u : tensor<4xf32>
}

// -----

remat.generator @dropout seed(7)
func.func @generator_that_is_not_threaded() {
  %0 = remat.get_rng @dropout
  // expected-error @+1 {{needs the state of a generator, which no function passes on yet; run -remat-thread-rng first}}
  remat.set_rng @dropout, %0
  return
}
