// RUN: split-file %s %t
// RUN: remat-opt %t/model.mlir -transform-preload-library="transform-library-paths=%t/script.mlir" -transform-interpreter | FileCheck %s
// RUN: remat-opt %t/model.mlir -transform-preload-library="transform-library-paths=%t/unlabelled.mlir" -transform-interpreter | FileCheck %s --check-prefix=UNLABELLED
// RUN: not remat-opt %t/model.mlir -transform-preload-library="transform-library-paths=%t/nothing.mlir" -transform-interpreter 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not remat-opt %t/no-policy.mlir 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not remat-opt %t/model.mlir -transform-preload-library="transform-library-paths=%t/no-function.mlir" -transform-interpreter 2>&1 | FileCheck %s --check-prefix=FUNCTION

// CHECK-LABEL: func.func @loss
// CHECK: %[[A:.*]] = remat.region policy(#remat.save_only_names<"h">) {{.*}}label = "layers.0"
// CHECK-NEXT: %[[T:.*]] = math.tanh
// CHECK-NEXT: %[[N:.*]] = remat.name "h" %[[T]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[N]]
// CHECK-NEXT: remat.yield %[[E]]
// CHECK: remat.region policy(#remat.save_only_names<"h">) {{.*}}label = "layers.1"
// CHECK: %[[C:.*]] = call @head
// CHECK: remat.custom_vjp @rule for @head_0

// UNLABELLED-LABEL: func.func @loss
// UNLABELLED: math.tanh
// UNLABELLED: remat.region policy(#remat.dots_saveable)
// UNLABELLED-NEXT: math.exp
// UNLABELLED-NEXT: remat.yield
// UNLABELLED: math.tanh
// UNLABELLED: remat.region
// UNLABELLED-NEXT: math.exp
// UNLABELLED-NEXT: remat.yield
// UNLABELLED: remat.stop_gradient

// NOTHING: nothing.mlir:4:{{.*}}: error: "layer.*" matches nothing; the nearest are "layers.0"
// POLICY: error: 'transform.remat.wrap' op expects a policy, got 1 : i64; policies are nothing_saveable
// FUNCTION: error: the target of a matcher is a func.func

//--- model.mlir
func.func @loss(%x: f32) -> f32 {
  %0 = math.tanh %x : f32 loc("layers.0.up")
  %1 = math.exp %0 : f32 loc("layers.0")
  %2 = math.tanh %1 : f32 loc("layers.1.up")
  %3 = math.exp %2 : f32 loc("layers.1")
  %4 = call @head(%3) : (f32) -> f32
  return %4 : f32
}
func.func private @head(f32) -> f32
func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}

//--- script.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %f = transform.structured.match ops{["func.func"]} attributes{sym_name = "loss"} in %module : (!transform.any_op) -> !transform.any_op
    %up, %up_names = transform.remat.match_scope ["up"] in %f : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    transform.remat.name %up labels(%up_names) "h" : !transform.any_op, !transform.any_param
    %layers, %names = transform.remat.match_scope ["layers.*"] in %f : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    %regions = transform.remat.wrap %layers labels(%names) policy(#remat.save_only_names<"h">) : (!transform.any_op, !transform.any_param) -> !transform.any_op
    %calls, %call_names = transform.remat.match_calls ["head"] in %f : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    transform.remat.bind_vjp %calls labels(%call_names) to @rule : !transform.any_op, !transform.any_param
    transform.yield
  }
}

//--- unlabelled.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %exp = transform.structured.match ops{["math.exp"]} in %module : (!transform.any_op) -> !transform.any_op
    %regions = transform.remat.wrap %exp policy(#remat.dots_saveable) : (!transform.any_op) -> !transform.any_op
    %calls = transform.structured.match ops{["func.call"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.remat.stop_gradient %calls : !transform.any_op
    transform.yield
  }
}

//--- nothing.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %f = transform.structured.match ops{["func.func"]} attributes{sym_name = "loss"} in %module : (!transform.any_op) -> !transform.any_op
    %layers, %names = transform.remat.match_scope ["layer.*"] in %f : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    transform.yield
  }
}

//--- no-policy.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %regions = transform.remat.wrap %module policy(1) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

//--- no-function.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %layers, %names = transform.remat.match_blocks in %module : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    transform.yield
  }
}
