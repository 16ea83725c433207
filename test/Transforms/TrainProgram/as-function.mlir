// RUN: remat-opt %s -remat-lower-train-step=as-function -split-input-file -verify-diagnostics | FileCheck %s

// The caller has the buffers: arguments in their order, then the results that the step returns. What is written in place
// needs nothing; other next values go where the old ones are.

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) {steps = 3}
func.func private @step(memref<2xf32> {opt.param = "w", remat.init = dense<[1.0, 2.0]> : tensor<2xf32>},
                        memref<4x2xf32> {remat.data = "x"}, vector<2xi64> {remat.seed = 3}, i64 {remat.step},
                        memref<4xf32> {remat.result = 1})
    -> (f32 {remat.loss}, vector<2xi64> {remat.updates = 2}, i32 {remat.metric = "hits"})

// CHECK-NOT: remat_rt_train
// CHECK-LABEL: func.func @remat_step(
// CHECK-SAME: %[[BUFFERS:.*]]: i64, %[[STEP:.*]]: i64) {
// CHECK: %[[W:.*]] = call @remat_rt_step_buffer(%[[BUFFERS]], %c0_i64) : (i64, i64) -> memref<?xi8>
// CHECK-NEXT: %[[W_VIEW:.*]] = memref.view %[[W]]{{.*}} to memref<2xf32>
// CHECK: %[[X:.*]] = call @remat_rt_step_buffer(%[[BUFFERS]], %c1_i64)
// CHECK-NEXT: %[[X_VIEW:.*]] = memref.view %[[X]]{{.*}} to memref<4x2xf32>
// CHECK: call @remat_rt_step_buffer(%[[BUFFERS]], %c2_i64)
// CHECK-NEXT: %[[RANDOM:.*]] = memref.view {{.*}} to memref<vector<2xi64>>
// CHECK: call @remat_rt_step_buffer(%[[BUFFERS]], %c3_i64)
// CHECK-NEXT: %[[SECOND:.*]] = memref.view {{.*}} to memref<4xf32>
// CHECK: call @remat_rt_step_buffer(%[[BUFFERS]], %c4_i64)
// CHECK-NEXT: %[[LOSS:.*]] = memref.view {{.*}} to memref<f32>
// CHECK: call @remat_rt_step_buffer(%[[BUFFERS]], %c5_i64)
// CHECK-NEXT: %[[HITS:.*]] = memref.view {{.*}} to memref<i32>
// CHECK: %[[KEY:.*]] = memref.load %[[RANDOM]][]
// CHECK: %[[RESULTS:.*]]:3 = call @step(%[[W_VIEW]], %[[X_VIEW]], %[[KEY]], %[[STEP]], %[[SECOND]])
// CHECK: memref.store %[[RESULTS]]#1, %[[RANDOM]][]
// CHECK: memref.store %[[RESULTS]]#0, %[[LOSS]][]
// CHECK: memref.store %[[RESULTS]]#2, %[[HITS]][]
// CHECK: return

// -----

// An evaluation shares parameters, and has data, random states and results of its own. What it returns as a next value goes
// nowhere. A result that is called by no metric is the loss.

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) eval(@check)
func.func private @step(memref<2xf32> {opt.param = "w"}, i64 {remat.step}, memref<4xf32> {remat.state = "s"})
    -> (f32 {remat.loss})
func.func private @check(memref<3xf32> {remat.data = "x"}, memref<2xf32> {opt.param = "w"}, vector<2xi64>,
                         memref<4xf32> {remat.state = "s"}, memref<4xf32> {remat.state = "s", remat.result = 3})
    -> (i32 {remat.metric = "hits"}, vector<2xi64>, f64)

// CHECK-LABEL: func.func @remat_step(
// CHECK: call @step(
// CHECK-LABEL: func.func @remat_evaluate(
// CHECK-SAME: %[[BUFFERS:.*]]: i64, %{{.*}}: i64) {
// CHECK: call @remat_rt_step_buffer(%[[BUFFERS]], %c0_i64)
// CHECK-NEXT: %[[W:.*]] = memref.view {{.*}} to memref<2xf32>
// CHECK: %[[S:.*]] = memref.view {{.*}} to memref<4xf32>
// CHECK: %[[X:.*]] = memref.view {{.*}} to memref<3xf32>
// CHECK: %[[RANDOM:.*]] = memref.view {{.*}} to memref<vector<2xi64>>
// CHECK: %[[NEXT:.*]] = memref.view {{.*}} to memref<4xf32>
// CHECK: memref.view {{.*}} to memref<f32>
// CHECK: %[[HITS:.*]] = memref.view {{.*}} to memref<i32>
// CHECK: %[[LOSS:.*]] = memref.view {{.*}} to memref<f64>
// CHECK: %[[KEY:.*]] = memref.load %[[RANDOM]][]
// CHECK: %[[RESULTS:.*]]:3 = call @check(%[[X]], %[[W]], %[[KEY]], %[[S]], %[[NEXT]])
// CHECK-NEXT: memref.store %[[RESULTS]]#0, %[[HITS]][]
// CHECK-NEXT: memref.store %[[RESULTS]]#2, %[[LOSS]][]
// CHECK-NEXT: return

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
// expected-error @below {{becomes a function @remat_evaluate, but the module has one already}}
remat.train_step @step for @loss optimizer(@o)
func.func private @step(memref<2xf32> {opt.param = "w"}, i64 {remat.step}) -> (f32 {remat.loss})
func.func private @remat_evaluate()

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
// expected-error @below {{results 0 and 1 are both called 'loss'; give one of them another 'remat.metric'}}
func.func private @step(memref<2xf32> {opt.param = "w"}, i64 {remat.step}) -> (f32 {remat.loss}, f32 {remat.metric = "loss"})

// -----

opt.optimizer @o = #opt.sgd<lr = 0.1>
// expected-error @below {{becomes a function @remat_step, but the module has one already}}
remat.train_step @remat_step for @loss optimizer(@o)
func.func private @remat_step(memref<2xf32> {opt.param = "w"}, i64 {remat.step}) -> (f32 {remat.loss})

// -----

// Where an assertion may fail after a parameter is written, the runtime is told before the first write: not of reads, in a
// function, by a call of the runtime or of others.

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
// CHECK: func.func private @remat_conv(
func.func private @remat_conv(memref<2xf32> {remat.access = "read"}, memref<2xf32>)
func.func private @read(%x: memref<2xf32>) -> i1 {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<2xf32>
  %1 = arith.cmpf ord, %0, %0 : f32
  return %1 : i1
}
func.func private @write(%x: memref<2xf32>, %v: f32) {
  linalg.fill ins(%v : f32) outs(%x : memref<2xf32>)
  return
}
// CHECK-LABEL: func.func @step(
// CHECK: cf.assert %{{.*}}, "of a read"
// CHECK: call @remat_conv
// CHECK-NEXT: memref.cast
// CHECK-NEXT: call @remat_rt_begin_writes() : () -> ()
// CHECK-NEXT: call @write
// CHECK: cf.assert %{{.*}}, "of what is written"
// CHECK-NOT: remat_rt_begin_writes
func.func @step(%w: memref<2xf32> {opt.param = "w"}, %t: memref<2xf32> {remat.result = 1}, %n: i64 {remat.step}) -> f32 {
  %loss = arith.constant 0.0 : f32
  %0 = call @read(%w) : (memref<2xf32>) -> i1
  cf.assert %0, "of a read"
  call @remat_conv(%w, %t) : (memref<2xf32>, memref<2xf32>) -> ()
  %same = memref.cast %w : memref<2xf32> to memref<2xf32>
  call @write(%same, %loss) : (memref<2xf32>, f32) -> ()
  %1 = call @read(%w) : (memref<2xf32>) -> i1
  cf.assert %1, "of what is written"
  linalg.fill ins(%loss : f32) outs(%w : memref<2xf32>)
  return %loss : f32
}

// -----

// All assertions come first.

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
// CHECK-LABEL: func.func @step(
// CHECK-NOT: remat_rt_begin_writes
func.func @step(%w: memref<2xf32> {opt.param = "w"}, %x: memref<i1> {remat.data = "x"}, %n: i64 {remat.step}) -> f32 {
  %loss = arith.constant 0.0 : f32
  %0 = memref.load %x[] : memref<i1>
  cf.assert %0, "of data"
  linalg.fill ins(%loss : f32) outs(%w : memref<2xf32>)
  return %loss : f32
}
