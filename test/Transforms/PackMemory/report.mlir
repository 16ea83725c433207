// RUN: remat-opt %s -remat-pack-memory=report=- -o /dev/null 2>&1 | FileCheck %s
// RUN: remat-opt %s -remat-pack-memory=report=%t.json -o /dev/null
// RUN: %python -m json.tool %t.json | FileCheck %s --check-prefix=JSON

// Alive together at most: the residual %h (64), the gradient %g (256) and a
// temporary of the backward (64).
// CHECK: memory of @step (bytes)
// CHECK-NEXT: arena (exact peak) 384
// CHECK-NEXT: live at the peak 384
// CHECK-NEXT: residuals 64
// CHECK-NEXT: gradients 256
// CHECK-NEXT: workspaces 0
// CHECK-NEXT: temporaries 64
// CHECK-NEXT: residuals at most 64
// CHECK-NEXT: parameters 256
// CHECK-NEXT: optimizer state 256
// CHECK-NEXT: model state 16
// CHECK-NEXT: data 64
// CHECK-NEXT: results 64
// CHECK-NEXT: constants 0
// CHECK-NEXT: copied per call 64
// CHECK-NEXT: 3 buffers, 0 took over a dying operand, 0 left to the allocator; 5 recomputed operations

// JSON: "name": "step"
// JSON-NEXT: "arena": 384
// JSON-NEXT: "max_live": 384
// JSON-NEXT: "peak": {
// JSON-NEXT: "residuals": 64
// JSON-NEXT: "gradients": 256
// JSON-NEXT: "workspaces": 0,
// JSON-NEXT: "temporaries": 64
// JSON: "residuals": 64
// JSON: "parameters": 256
// JSON: "optimizer_state": 256
// JSON: "recomputed_ops": 5
func.func @step(%w: memref<16x4xf32> {opt.param = "w"}, %m: memref<16x4xf32> {opt.state = "m"},
                %s: memref<4xf32> {remat.state = "mean"}, %x: memref<16xf32>, %y: memref<16xf32> {remat.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %h = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%h : memref<16xf32>)
  scf.for %i = %c0 to %c5 step %c1 {
    linalg.exp {remat.phase = "recompute"} ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  }
  %t = memref.alloc() : memref<16xf32>
  linalg.tanh {remat.phase = "backward"} ins(%x : memref<16xf32>) outs(%t : memref<16xf32>)
  %g = memref.alloc() : memref<16x4xf32>
  linalg.broadcast {remat.phase = "backward"} ins(%t : memref<16xf32>) outs(%g : memref<16x4xf32>) dimensions = [1]
  linalg.sub {remat.phase = "update"} ins(%w, %g : memref<16x4xf32>, memref<16x4xf32>) outs(%w : memref<16x4xf32>)
  linalg.tanh {remat.phase = "backward"} ins(%h : memref<16xf32>) outs(%y : memref<16xf32>)
  memref.copy %y, %x : memref<16xf32> to memref<16xf32>
  return
}

// A convolution is a call of the runtime, and a function that is called to
// recompute runs all that is in it: two, thrice, and one.
// CHECK: memory of @recomputed_calls (bytes)
// CHECK: 0 left to the allocator; 7 recomputed operations
func.func private @remat_conv(memref<16xf32>)
func.func private @two(%x: memref<16xf32>, %y: memref<16xf32>) {
  linalg.exp ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  linalg.tanh ins(%y : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}
func.func @recomputed_calls(%x: memref<16xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  call @remat_conv(%x) : (memref<16xf32>) -> ()
  call @two(%x, %y) : (memref<16xf32>, memref<16xf32>) -> ()
  scf.for %i = %c0 to %c3 step %c1 {
    func.call @two(%x, %y) {remat.phase = "recompute"} : (memref<16xf32>, memref<16xf32>) -> ()
  }
  call @remat_conv(%x) {remat.phase = "recompute"} : (memref<16xf32>) -> ()
  return
}
