// RUN: remat-opt %s -remat-pack-memory=report=%t.json -o /dev/null
// RUN: FileCheck %s --input-file=%t.json

// A buffer is alive from its first use to its last, in the numbers of operations; the function's is 0, and allocations have some.
// CHECK: "name": "step"
// CHECK: "max_live": 384
// CHECK: "timeline": {
// CHECK-NEXT: "positions": 10,
// CHECK-NEXT: "backward": 4,
// CHECK-NEXT: "peak": 6,
// CHECK-NEXT: "live": [
// CHECK-NEXT: {{^}} [2, 8, 64, 0],
// CHECK-NEXT: {{^}} [4, 6, 64, 1],
// CHECK-NEXT: {{^}} [6, 7, 256, 2]
// CHECK-NEXT: ],
// CHECK-NEXT: "kinds": [
// CHECK-NEXT: {{^}} ["residual","16xf32","linalg.exp","timeline.mlir:[[#]]"],
// CHECK-NEXT: {{^}} ["temporary","16xf32","linalg.tanh","timeline.mlir:[[#]]"],
// CHECK-NEXT: {{^}} ["gradient","16x4xf32","linalg.broadcast","timeline.mlir:[[#]]"]
// CHECK-NEXT: ]
func.func @step(%w: memref<16x4xf32> {opt.param = "w"}, %x: memref<16xf32>, %y: memref<16xf32> {remat.result = 0 : i64}) {
  %h = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%h : memref<16xf32>)
  %t = memref.alloc() : memref<16xf32>
  linalg.tanh {remat.phase = "backward"} ins(%x : memref<16xf32>) outs(%t : memref<16xf32>)
  %g = memref.alloc() : memref<16x4xf32>
  linalg.broadcast {remat.phase = "backward"} ins(%t : memref<16xf32>) outs(%g : memref<16x4xf32>) dimensions = [1]
  linalg.sub {remat.phase = "update"} ins(%w, %g : memref<16x4xf32>, memref<16x4xf32>) outs(%w : memref<16x4xf32>)
  linalg.tanh {remat.phase = "backward"} ins(%h : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// Where a result takes over its operand's place, the bytes are the operand's before and its own from there on: never both.
// CHECK: "name": "taken_over"
// CHECK: "max_live": 64
// CHECK: "backward": -1,
// CHECK-NEXT: "peak": 2,
// CHECK-NEXT: "live": [
// CHECK-NEXT: {{^}} [2, 3, 64, 0],
// CHECK-NEXT: {{^}} [4, 5, 64, 1]
// CHECK-NEXT: ],
func.func @taken_over(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  linalg.exp ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// Buffers of one kind share an entry. One that a loop reads lives throughout it, one of its body in the body; one that is never
// used nowhere. A call holds its arena while it runs.
// CHECK: "name": "inside"
// CHECK: "name": "loop"
// CHECK: "max_live": 256
// CHECK: "timeline": {
// CHECK: "live": [
// CHECK-NEXT: {{^}} [7, 14, 64, 0],
// CHECK-NEXT: {{^}} [8, 14, 64, 0],
// CHECK-NEXT: {{^}} [11, 12, 64, 1],
// CHECK-NEXT: {{^}} [13, 13, 128, 2]
// CHECK-NEXT: ],
// CHECK-NEXT: "kinds": [
// CHECK-NEXT: {{^}} ["temporary","16xf32","linalg.exp","timeline.mlir:[[#]]"],
// CHECK-NEXT: {{^}} ["temporary","16xf32","linalg.tanh","timeline.mlir:[[#]]"],
// CHECK-NEXT: {{^}} ["call","","@inside","timeline.mlir:[[#]]"]
func.func private @inside(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16x2xf32>
  linalg.broadcast ins(%x : memref<16xf32>) outs(%a : memref<16x2xf32>) dimensions = [1]
  return
}
func.func @loop(%x: memref<16xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %a = memref.alloc() : memref<16xf32> %b = memref.alloc() : memref<16xf32> %unused = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>) linalg.exp ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  scf.for %i = %c0 to %c5 step %c1 {
    %c = memref.alloc() : memref<16xf32>
    linalg.tanh ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
    linalg.add ins(%b, %c : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>)
    func.call @inside(%a) : (memref<16xf32>) -> ()
  }
  return
}

// Exporters that keep no lines name modules and scopes.
// CHECK: "name": "scopes"
// CHECK: ["temporary","16xf32","linalg.exp","blocks.0.up"]
func.func @scopes(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>) loc("blocks.0.up")
  linalg.tanh ins(%a : memref<16xf32>) outs(%x : memref<16xf32>)
  return
}
