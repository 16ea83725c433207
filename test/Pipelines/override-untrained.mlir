// Options that only a train step can have are an error where there is none, not silence.
// RUN: not remat-opt %s -remat-override=budget=1MiB 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not remat-opt %s -remat-override=budget-of=arena 2>&1 | FileCheck %s --check-prefix=OF
// RUN: not remat-opt %s -remat-override=slowdown=0.1 2>&1 | FileCheck %s --check-prefix=SLOWDOWN
// RUN: not remat-opt %s -remat-override=mode=deferred 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not remat-opt %s --remat-train-to-tensors=budget=1MiB 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not remat-opt %s --remat-train=mode=deferred 2>&1 | FileCheck %s --check-prefix=MODE

// Regions have policies without one, and an empty module has nothing to train.
// RUN: remat-opt %s -remat-override=policy=none | FileCheck %s --implicit-check-not=remat.region
// RUN: echo "module {}" | remat-opt --remat-train-to-tensors="budget=1MiB mode=eager" | FileCheck %s --check-prefix=EMPTY

// BUDGET: override-untrained.mlir:[[#@LINE+8]]:1: error: budget=1MiB has no effect: there is no remat.train_step; write 'remat.train_step @step for @loss optimizer(@sgd)', with an opt.optimizer @sgd, or leave it out
// OF: override-untrained.mlir:[[#@LINE+7]]:1: error: budget-of=arena has no effect
// SLOWDOWN: override-untrained.mlir:[[#@LINE+6]]:1: error: slowdown=0.1 has no effect
// MODE: override-untrained.mlir:[[#@LINE+5]]:1: error: mode=deferred has no effect
// EMPTY: module {
// EMPTY-NEXT: }

// CHECK: math.exp
func.func @loss(%x: f32 {opt.param = "x"}) -> (f32 {remat.loss}) {
  %0 = remat.region (%a = %x : f32) -> f32 {
    %1 = math.exp %a : f32
    remat.yield %1 : f32
  }
  return %0 : f32
}
