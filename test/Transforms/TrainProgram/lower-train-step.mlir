// RUN: remat-opt %s -remat-lower-train-step | FileCheck %s

// The train_step and its optimizer are gone; what main says of the arguments is text.
// CHECK-NOT: remat.train_step
// CHECK-NOT: opt.optimizer
// CHECK: memref.global "private" constant @__remat_train_description

opt.optimizer @adam = #opt.sgd<lr = 0.1, momentum = 0.9>
remat.train_step @step for @loss optimizer(@adam) eval(@accuracy) {steps = 3}

func.func private @step(memref<4xf32> {opt.param = "w"}, memref<2x4xi32> {remat.data = "x"}, memref<4xf32> {remat.state = "s"},
    vector<2xi64>, f32 {remat.state = "scale"}, memref<4xf32> {opt.state = "momentum", opt.state_of = 0}, i64 {remat.step},
    memref<bf16> {remat.loss, remat.result = 0}, memref<4xf32> {remat.result = 1, remat.updates = 2}, memref<64xi8> {remat.arena})
    -> (vector<2xi64> {remat.updates = 3}, f32 {remat.updates = 4})
func.func private @accuracy(memref<2x4xi32> {remat.data = "x"}, memref<4xf32> {remat.state = "s"}, memref<4xf32> {opt.param = "w"}) -> i1

// CHECK-LABEL: func.func @main()
// CHECK: call @remat_rt_train_begin
// CHECK: %[[B:.*]] = call @remat_rt_train_buffer
// CHECK: %[[W:.*]] = memref.view %[[B]][%{{.*}}][] : memref<?xi8> to memref<4xf32>
// CHECK: %[[X:.*]] = memref.view {{.*}} to memref<2x4xi32>
// CHECK: %[[S:.*]] = memref.view {{.*}} to memref<4xf32>
// CHECK: %[[RNG:.*]] = memref.view {{.*}} to memref<vector<2xi64>>
// CHECK: %[[SCALE:.*]] = memref.view {{.*}} to memref<f32>
// CHECK: %[[M:.*]] = memref.view {{.*}} to memref<4xf32>
// CHECK: %[[LOSS:.*]] = memref.view {{.*}} to memref<bf16>
// CHECK: %[[S1:.*]] = memref.view {{.*}} to memref<4xf32>
// CHECK: %[[ARENA:.*]] = memref.view {{.*}} to memref<64xi8>
// The evaluation's data has a buffer of its own; parameters and states are the step's.
// CHECK: %[[EX:.*]] = memref.view {{.*}} to memref<2x4xi32>
// CHECK-NOT: memref.view
// CHECK: scf.while
// CHECK: %[[NEXT:.*]] = func.call @remat_rt_train_next()
// CHECK: arith.cmpi sge, %[[NEXT]]
// CHECK: ^bb0(%[[T:.*]]: i64):
// CHECK: %[[R0:.*]] = memref.load %[[RNG]][]
// CHECK: %[[C0:.*]] = memref.load %[[SCALE]][]
// CHECK: %[[CALL:.*]]:2 = func.call @step(%[[W]], %[[X]], %[[S]], %[[R0]], %[[C0]], %[[M]], %[[T]], %[[LOSS]], %[[S1]], %[[ARENA]])
// A state that was not updated in place is copied; scalars are stored.
// CHECK-DAG: memref.copy %[[S1]], %[[S]]
// CHECK-DAG: memref.store %[[CALL]]#0, %[[RNG]][]
// CHECK-DAG: memref.store %[[CALL]]#1, %[[SCALE]][]
// CHECK: %[[L:.*]] = memref.load %[[LOSS]][]
// CHECK: %[[L64:.*]] = arith.extf %[[L]] : bf16 to f64
// CHECK: %[[N:.*]] = func.call @remat_rt_train_done(%[[L64]])
// CHECK: %[[UP:.*]] = arith.index_cast %[[N]]
// CHECK: scf.for %{{.*}} to %[[UP]]
// CHECK: func.call @remat_rt_train_eval_next()
// CHECK: %[[A:.*]] = func.call @accuracy(%[[EX]], %[[S]], %[[W]])
// CHECK: %[[A64:.*]] = arith.uitofp %[[A]] : i1 to f64
// CHECK: func.call @remat_rt_train_eval_result(%{{.*}}, %[[A64]])
// CHECK: call @remat_rt_train_end()
