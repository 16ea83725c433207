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
// CHECK-NEXT: recomputed 0
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
// CHECK-NEXT: at the peak:
// CHECK-NEXT: {{^}} 256 gradient 16x4xf32 linalg.broadcast report.mlir:{{[0-9]+$}}
// CHECK-NEXT: {{^}} 64 residual 16xf32 linalg.exp report.mlir:{{[0-9]+$}}
// CHECK-NEXT: {{^}} 64 temporary 16xf32 linalg.tanh report.mlir:{{[0-9]+$}}

// JSON: "name": "step"
// JSON-NEXT: "arena": 384
// JSON-NEXT: "max_live": 384
// JSON-NEXT: "peak": {
// JSON-NEXT: "residuals": 64
// JSON-NEXT: "gradients": 256
// JSON-NEXT: "recomputed": 0,
// JSON-NEXT: "workspaces": 0,
// JSON-NEXT: "temporaries": 64
// JSON: "at_peak": [
// JSON: "bytes": 256,
// JSON-NEXT: "part": "gradient",
// JSON-NEXT: "type": "16x4xf32",
// JSON-NEXT: "op": "linalg.broadcast",
// JSON-NEXT: "line": "report.mlir:
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

// Results of recomputation are a class of their own, also where an update reads them; so are the temporaries of a function that
// is called to recompute. A value that the backward computes from one is a temporary, and a residual stays one.
// CHECK: memory of @computed_again (bytes)
// CHECK-NEXT: arena (exact peak) 320
// CHECK-NEXT: live at the peak 320
// CHECK-NEXT: residuals 64
// CHECK-NEXT: gradients 0
// CHECK-NEXT: recomputed 128
// CHECK-NEXT: workspaces 0
// CHECK-NEXT: temporaries 128
// CHECK: at the peak:
// CHECK-NEXT: {{^}} 128 temporary 16x2xf32 linalg.broadcast report.mlir:
// CHECK-DAG: {{^}} 64 residual 16xf32 linalg.exp report.mlir:
// CHECK-DAG: {{^}} 64 recomputed 16xf32 linalg.tanh report.mlir:
// CHECK-DAG: {{^}} 64 recomputed 16xf32 linalg.log report.mlir:
func.func @computed_again(%w: memref<16xf32> {opt.param = "w"}, %x: memref<16xf32>, %z: memref<16x2xf32>) {
  %h = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%h : memref<16xf32>)
  %a = memref.alloc() : memref<16xf32>
  linalg.tanh {remat.phase = "recompute"} ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.log {remat.phase = "recompute"} ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  %t = memref.alloc() : memref<16x2xf32>
  linalg.broadcast {remat.phase = "backward"} ins(%a : memref<16xf32>) outs(%t : memref<16x2xf32>) dimensions = [1]
  linalg.exp {remat.phase = "backward"} ins(%t : memref<16x2xf32>) outs(%z : memref<16x2xf32>)
  linalg.mul {remat.phase = "backward"} ins(%h, %b : memref<16xf32>, memref<16xf32>) outs(%x : memref<16xf32>)
  linalg.sub {remat.phase = "update"} ins(%w, %b : memref<16xf32>, memref<16xf32>) outs(%w : memref<16xf32>)
  return
}
// CHECK: memory of @called_again (bytes)
// CHECK: recomputed 128
// CHECK-NEXT: workspaces 0
// CHECK-NEXT: temporaries 0
// CHECK: {{^}} 128 call @inside report.mlir:
func.func @called_again(%x: memref<16xf32>) {
  call @inside(%x) {remat.phase = "recompute"} : (memref<16xf32>) -> ()
  return
}

// The operations that write to a view of a buffer, in a loop or by a call, but for fills; the smallest in one line. A call needs
// its arena, which is not a buffer here.
// CHECK: memory of @many (bytes)
// CHECK: at the peak:
// CHECK-NEXT: {{^}} 128 temporary 2x12xf32 @remat_conv report.mlir:
// CHECK-NEXT: {{^}} 128 temporary 20xf32 linalg.exp report.mlir:
// CHECK-NEXT: {{^}} 128 call @inside report.mlir:
// CHECK-COUNT-9: {{^}} 64 temporary 16xf32 linalg.tanh report.mlir:
// CHECK-NEXT: {{^}} 128 in 2 others
func.func private @inside(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16x2xf32>
  linalg.broadcast ins(%x : memref<16xf32>) outs(%a : memref<16x2xf32>) dimensions = [1]
  return
}
func.func @many(%x: memref<16xf32>, %y: memref<20xf32>, %z: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c = memref.alloc() : memref<2x12xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<2x12xf32>)
  %flat = memref.collapse_shape %c [[0, 1]] : memref<2x12xf32> into memref<24xf32>
  %part = memref.reinterpret_cast %flat to offset: [0], sizes: [16], strides: [1] : memref<24xf32> to memref<16xf32>
  call @remat_conv(%part) : (memref<16xf32>) -> ()
  %l = memref.alloc() : memref<20xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    linalg.exp ins(%y : memref<20xf32>) outs(%l : memref<20xf32>)
  }
  %t0 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t0 : memref<16xf32>)
  %t1 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t1 : memref<16xf32>)
  %t2 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t2 : memref<16xf32>)
  %t3 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t3 : memref<16xf32>)
  %t4 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t4 : memref<16xf32>)
  %t5 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t5 : memref<16xf32>)
  %t6 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t6 : memref<16xf32>)
  %t7 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t7 : memref<16xf32>)
  %t8 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t8 : memref<16xf32>)
  %t9 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t9 : memref<16xf32>)
  %t10 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%t10 : memref<16xf32>)
  call @inside(%z) : (memref<16xf32>) -> ()
  linalg.add ins(%z, %t0 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t1 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t2 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t3 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t4 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t5 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t6 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t7 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t8 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t9 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.add ins(%z, %t10 : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.exp ins(%l : memref<20xf32>) outs(%y : memref<20xf32>)
  linalg.add ins(%z, %part : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  return
}
