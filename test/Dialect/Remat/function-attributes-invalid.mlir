// RUN: remat-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'remat.state' of argument 0 is a name, got 3 : i64}}
func.func private @state_without_name(tensor<4xf32> {remat.state = 3})

// -----

// expected-error @+1 {{'remat.data' of argument 0 is a name, got ""}}
func.func private @data_without_name(tensor<4xf32> {remat.data = ""})

// -----

// expected-error @+1 {{'remat.seed' of argument 0 is an integer, got "x"}}
func.func private @seed_that_is_no_number(i64 {remat.seed = "x"})

// -----

// expected-error @+1 {{'remat.step' of argument 0 has no value, got 2 : i64}}
func.func private @step_with_value(i64 {remat.step = 2})

// -----

// expected-error @+1 {{'remat.loss' of result 0 has no value, got "x"}}
func.func private @loss_with_value() -> (f32 {remat.loss = "x"})

// -----

// expected-error @+1 {{'remat.metric' of result 0 is a name, got unit}}
func.func private @metric_without_name() -> (f32 {remat.metric})

// -----

// expected-error @+1 {{'remat.gradient_of' of result 0 is the index (i64) of one of 1 arguments, got -1 : i64}}
func.func private @gradient_of_nobody(f32) -> (f32 {remat.gradient_of = -1})

// -----

// expected-error @+1 {{'remat.updates' of result 0 is the index (i64) of one of 1 arguments, got 0 : i32}}
func.func private @update_of_a_narrow_index(f32) -> (f32 {remat.updates = 0 : i32})

// -----

// expected-error @+1 {{'remat.updates' of result 0 names argument 0 of type 'tensor<4xf32>', but the result, which is its next value, is a 'tensor<3xf32>'}}
func.func private @update_of_another_shape(tensor<4xf32>) -> (tensor<3xf32> {remat.updates = 0})

// -----

// expected-error @+1 {{'remat.updates' of result 0 names argument 0, which is the number of the step}}
func.func private @update_of_the_step(i64 {remat.step}) -> (i64 {remat.updates = 0})

// -----

// expected-error @+1 {{'remat.updates' of argument 1 is the index (i64) of one of 2 arguments, got 99 : i64}}
func.func private @memory_of_nobodys_update(memref<4xf32>, memref<4xf32> {remat.result = 0, remat.updates = 99})

// -----

// expected-error @+1 {{'remat.result' of argument 0 is an integer, got "x"}}
func.func private @result_that_is_no_number(memref<4xf32> {remat.result = "x"})

// -----

func.func @phase_that_does_not_exist(%x: f32) -> f32 {
  // expected-error @+1 {{'remat.phase' is "backward", "recompute" or "update", got "forward"}}
  %y = math.sin %x {remat.phase = "forward"} : f32
  return %y : f32
}

// -----

func.func @workspace_of_no_size(%x: f32) -> f32 {
  // expected-error @+1 {{'remat.workspace_bytes' must be an i64 of at least 0, but got -8 : i64}}
  %y = math.sin %x {remat.workspace_bytes = -8 : i64} : f32
  return %y : f32
}

// -----

func.func @workspace_without_a_number(%x: f32) -> f32 {
  // expected-error @+1 {{'remat.workspace_bytes' must be an i64 of at least 0, but got "much"}}
  %y = math.sin %x {remat.workspace_bytes = "much"} : f32
  return %y : f32
}

// -----

func.func @region_without_yield(%x: f32) {
  // expected-error @+2 {{expects regions to end with 'remat.yield', found 'llvm.unreachable'}}
  // expected-note @+1 {{in custom textual format}}
  %y = remat.region (%a = %x : f32) -> f32 {
    llvm.unreachable
  }
  return
}

// -----

func.func @backward_without_yield(%x: f32) {
  // expected-error @+2 {{expects regions to end with 'remat.yield', found 'llvm.unreachable'}}
  // expected-note @+1 {{in custom textual format}}
  %y = remat.backward cotangents(%a = %x : f32) -> f32 {
    llvm.unreachable
  }
  return
}
