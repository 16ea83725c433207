// RUN: remat-opt %s -remat-train-to-tensors | FileCheck %s

// The name of a dead value is erased with it; a policy that mentions the name
// is no mistake.

// CHECK-LABEL: func.func @name_of_what_nobody_needs_grad
func.func @name_of_what_nobody_needs(%x: f32 {opt.param}) -> f32 {
  %0:2 = remat.region policy(#remat.save_only_names<"h">) (%a = %x : f32) -> f32, f32 {
    %1 = math.sin %a : f32
    %2 = remat.name "h" %1 : f32
    %3 = math.cos %a : f32
    remat.yield %2, %3 : f32, f32
  }
  return %0#1 : f32
}
