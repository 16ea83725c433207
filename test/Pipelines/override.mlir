// RUN: remat-opt %s -remat-override="policy=dots_saveable mode=deferred" | FileCheck %s --check-prefixes=CHECK,DOTS
// RUN: remat-opt %s -remat-override='policy=save_only_names<"h">' | FileCheck %s --check-prefixes=CHECK,NAMES
// RUN: remat-opt %s -remat-override='policy=#remat.every_k<2>' | FileCheck %s --check-prefixes=CHECK,EVERY
// RUN: remat-opt %s -remat-override=policy=none | FileCheck %s --check-prefix=NONE
// RUN: not remat-opt %s -remat-override=policy=dots 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not remat-opt %s -remat-override='policy=save_only_names<"hh">' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: remat-opt %s -remat-override=policy=none -remat-override=policy=dots_saveable -o /dev/null 2>&1 | FileCheck %s --check-prefix=REGIONLESS
// RUN: not remat-opt %s -remat-override=mode=late 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: remat-opt %s -remat-strip-annotations | FileCheck %s --check-prefix=STRIPPED

// POLICY: policy=dots is no policy; choose none, nothing_saveable, everything_saveable, dots_saveable
// NAME: error: policy=save_only_names<"hh"> mentions "hh", which no remat.name in a region says; there are h
// NAME-NOT: see current operation
// REGIONLESS: warning: policy=dots_saveable has no effect: there is no remat.region
// MODE: error: unknown mode=late; choose eager or deferred

// CHECK-LABEL: func.func @loss
// DOTS: remat.region policy(#remat.dots_saveable)
// DOTS: remat.region policy(#remat.dots_saveable)
// NAMES: remat.region policy(#remat.save_only_names<"h">)
// EVERY: remat.region policy(#remat.every_k<2>)
// DOTS: remat.train_step @step for @loss optimizer(@sgd) {deferred}

// NONE-LABEL: func.func @loss
// NONE-NEXT: %[[E:.*]] = math.exp %arg0
// NONE-NEXT: %[[T:.*]] = math.tanh %[[E]]
// NONE-NEXT: %[[S:.*]] = math.sin %[[T]]
// NONE-NEXT: return %[[S]]

// STRIPPED-NOT: opt.
// STRIPPED-NOT: remat.phase
// STRIPPED-NOT: remat.loss
opt.optimizer @sgd = #opt.sgd<lr = 0.1>

func.func @loss(%x: f32 {opt.param = "x"}) -> (f32 {remat.loss}) {
  %0 = remat.region policy(#remat.everything_saveable) (%a = %x : f32) -> f32 {
    %1 = math.exp %a {remat.phase = "recompute"} : f32
    %h = remat.name "h" %1 : f32
    %2 = remat.region (%b = %h : f32) -> f32 {
      %3 = math.tanh %b : f32
      remat.yield %3 : f32
    }
    remat.yield %2 : f32
  }
  %4 = math.sin %0 : f32
  return %4 : f32
}

remat.train_step @step for @loss optimizer(@sgd)
