// RUN: remat-opt %s -remat-check-model -split-input-file -verify-diagnostics -o /dev/null

func.func @unknown_name(%x: f32 {opt.param}) -> f32 {
  // expected-error @+1 {{policy names "mlp_uot", but no remat.name in this region carries it}}
  %0 = remat.region policy(#remat.save_only_names<"mlp_uot">) (%a = %x : f32) -> f32 {
    %1 = math.sin %a : f32
    // expected-note @+1 {{the nearest name is "mlp_out"}}
    %2 = remat.name "mlp_out" %1 : f32
    %3 = remat.name "x" %2 : f32
    remat.yield %3 : f32
  }
  return %0 : f32
}

// -----

func.func private @layer(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  // expected-note @+1 {{the nearest name is "out"}}
  %1 = remat.name "out" %0 : f32
  return %1 : f32
}

func.func @name_that_no_called_function_has(%x: f32 {opt.param}) -> f32 {
  // expected-error @+1 {{policy names "uot", but no remat.name in this region, or in a function that it calls, carries it}}
  %0 = remat.region policy(#remat.save_only_names<"uot">) (%a = %x : f32) -> f32 {
    %1 = func.call @layer(%a) : (f32) -> f32
    remat.yield %1 : f32
  }
  return %0 : f32
}

// -----

func.func private @layer(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  %1 = remat.name "out" %0 : f32
  return %1 : f32
}

func.func @name_of_a_called_function(%x: f32 {opt.param}) -> f32 {
  %0 = remat.region policy(#remat.save_only_names<"out">) (%a = %x : f32) -> f32 {
    %1 = func.call @layer(%a) : (f32) -> f32
    remat.yield %1 : f32
  }
  return %0 : f32
}
