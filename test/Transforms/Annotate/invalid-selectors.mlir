// RUN: not remat-opt %s -remat-annotate="scope=layrs.*" 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not remat-opt %s -remat-annotate="scope=layers.[" 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not remat-opt %s -remat-annotate="calls=haed" 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not remat-opt %s -remat-annotate="ops=softmaks" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not remat-opt %s -remat-annotate="ops=softmax" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s -remat-annotate=checkpoints 2>&1 | FileCheck %s --check-prefix=CHECKPOINT
// RUN: not remat-opt %s -remat-annotate="blocks whole" 2>&1 | FileCheck %s --check-prefix=SELECTORS
// RUN: not remat-opt %s -remat-annotate="whole stop name=x" 2>&1 | FileCheck %s --check-prefix=ACTIONS
// RUN: not remat-opt %s -remat-annotate="scope=layers.* vjp=@rule" 2>&1 | FileCheck %s --check-prefix=RULE
// RUN: not remat-opt %s -remat-annotate="scope=layers.* recompute=dot" 2>&1 | FileCheck %s --check-prefix=RECOMPUTE
// RUN: not remat-opt %s -remat-annotate="scope=layers.0.* name=attn" -remat-annotate='scope=layers.* policy=save_only_names<"atn">' 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not remat-opt %s -remat-annotate="scope=layers.*" -remat-annotate="scope=layers.*.up policy=dots_saveable" 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not remat-opt %s -remat-annotate="scope=layers.0" -remat-annotate="scope=layers.0" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not remat-opt %s -remat-annotate="scope=mask stop" 2>&1 | FileCheck %s --check-prefix=STOP

// STOP: error: {{.*}}nothing outside of "mask" reads a floating-point value from it
// SCOPE: error: scope=layrs.* matches no scope in @loss
// SCOPE: note: the nearest are "layers.0", "layers.1"
// GLOB: error: "layers.[" is no pattern of scopes such as layers.* or checkpoint/layer_0
// CALL: error: calls=haed matches no called function in @loss
// CALL: note: the nearest are "head"
// KIND: error: ops=softmaks is no kind of operations; choose dot, elementwise, reduction, softmax, norm, attention, gather, or a name of operations such as math.tanh
// NONE: error: ops=softmax matches no operation in @loss
// NONE: note: it has none
// CHECKPOINT: error: nothing in @loss is under torch.utils.checkpoint or jax.checkpoint: apply it in the model, or select by layers, by scopes or everything; an export by hand needs its locations, as_text(debug_info=True)
// SELECTORS: error: remat-annotate takes one selector: blocks, whole, calls=, scope=, checkpoints or ops=
// ACTIONS: error: remat-annotate takes one action: policy= and save=, recompute=, name=, stop or vjp=
// RULE: error: {{.*}}vjp=@rule: there is no such function in the module
// RECOMPUTE: error: {{.*}}no operation in the region "layers.0" is one of recompute=dot
// POLICY: error: {{.*}}'remat.region' op policy names "atn", but no remat.name in this region carries it
// POLICY: note: {{.*}}the nearest name is "attn"
// INSIDE: error: {{.*}}'math.tanh' is selected for "layers.0.up", but it is in a region already; select what is inside before what is around it
// INSIDE: note: {{.*}}the region "layers.0" with policy #remat.nothing_saveable
// TWICE: error: {{.*}}'remat.region' is selected for "layers.0", but it is in a region already
func.func @loss(%x: f32 {opt.param}) -> f32 {
  %0 = math.tanh %x : f32 loc("layers.0.up")
  %1 = math.exp %0 : f32 loc("layers.0")
  %2 = math.tanh %1 : f32 loc("layers.1.up")
  %3 = math.exp %2 : f32 loc("layers.1")
  %m = arith.cmpf ogt, %3, %x : f32 loc("mask")
  %s = arith.select %m, %3, %x : f32
  %4 = call @head(%s) : (f32) -> f32
  return %4 : f32
}
func.func private @head(f32) -> f32
