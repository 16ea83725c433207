// RUN: remat-opt %s -remat-lower-train-step | FileCheck %s

// A symbol of the module's own keeps its name.
// CHECK-DAG: memref.global "private" constant @[[INIT:__remat_init_0_[0-9]+]] : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: memref.global @__remat_init_0 : memref<3xf32>
memref.global @__remat_init_0 : memref<3xf32>

opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) {steps = 3}
func.func private @step(memref<2xf32> {opt.param = "w", remat.init = dense<[1.0, 2.0]> : tensor<2xf32>}, i64 {remat.step}) -> f32

// CHECK-LABEL: func.func @main()
// CHECK: %[[NEEDED:.*]] = call @remat_rt_train_needs
// CHECK: scf.if %[[NEEDED]]
// CHECK: %[[VALUE:.*]] = memref.get_global @[[INIT]] : memref<2xf32>
// CHECK: %[[POINTER:.*]] = memref.extract_aligned_pointer_as_index %[[VALUE]]
// CHECK: %[[ADDRESS:.*]] = arith.index_cast %[[POINTER]] : index to i64
// CHECK: call @remat_rt_train_fill(%{{.*}}, %[[ADDRESS]])
