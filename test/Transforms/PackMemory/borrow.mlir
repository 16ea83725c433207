// RUN: remat-opt %s --remat-pack-memory --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-pack-memory="reuse=false" --split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: remat-opt %s --remat-pack-memory="arena=none" --split-input-file | FileCheck %s --check-prefix=KEPT

// The temporary is in the memory of the result before that is written: no arena. It is smaller, and of another shape.
// CHECK-LABEL: func.func private @before_the_result(
// CHECK-SAME: %[[X:.*]]: memref<4x4xf32>, %[[Y:.*]]: memref<8xf32> {remat.result = 0 : i64})
// CHECK-NOT: memref.alloc
// CHECK: %[[T:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4], strides: [1] : memref<8xf32> to memref<4xf32>
// CHECK: linalg.reduce { arith.addf } ins(%[[X]] : memref<4x4xf32>) outs(%[[T]] : memref<4xf32>)
// CHECK: memref.load %[[T]]
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[Y]] : memref<8xf32>)
// KEPT-LABEL: func.func private @before_the_result(
// KEPT-NOT: memref.reinterpret_cast
func.func private @before_the_result(%x: memref<4x4xf32>, %y: memref<8xf32> {remat.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<4xf32>)
  linalg.reduce { arith.addf } ins(%x : memref<4x4xf32>) outs(%t : memref<4xf32>) dimensions = [1]
  %s = memref.load %t[%c0] : memref<4xf32>
  linalg.fill ins(%s : f32) outs(%y : memref<8xf32>)
  return
}
func.func @caller_0(%x: memref<4x4xf32>, %z: memref<8xf32>) {
  %y = memref.alloc() : memref<8xf32>
  call @before_the_result(%x, %y) : (memref<4x4xf32>, memref<8xf32>) -> ()
  memref.copy %y, %z : memref<8xf32> to memref<8xf32>
  return
}

// -----

// The second temporary is where the operand was, which every caller gives up; the first one is needed together with it.
// CHECK-LABEL: func.func private @behind_the_operand(
// CHECK-SAME: %[[X:.*]]: memref<16xf32>, %[[Z:.*]]: memref<16xf32>, %[[ARENA:.*]]: memref<64xi8> {remat.arena})
// CHECK: %[[A:.*]] = memref.view %[[ARENA]]
// CHECK: linalg.exp ins(%[[X]] : memref<16xf32>) outs(%[[A]] : memref<16xf32>)
// CHECK: linalg.add ins(%[[A]], %[[X]] : memref<16xf32>, memref<16xf32>) outs(%[[Z]] : memref<16xf32>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[X]] : memref<16xf32>)
func.func private @behind_the_operand(%x: memref<16xf32>, %z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  linalg.add ins(%a, %x : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.fill ins(%one : f32) outs(%b : memref<16xf32>)
  linalg.fill ins(%one : f32) outs(%c : memref<16xf32>)
  linalg.add ins(%b, %c : memref<16xf32>, memref<16xf32>) outs(%z : memref<16xf32>)
  return
}
func.func @caller_1(%z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  %x = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%one : f32) outs(%x : memref<4x4xf32>)
  %v = memref.collapse_shape %x [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  call @behind_the_operand(%v, %z) : (memref<16xf32>, memref<16xf32>) -> ()
  %y = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%y : memref<16xf32>)
  call @behind_the_operand(%y, %z) : (memref<16xf32>, memref<16xf32>) -> ()
  return
}

// -----

// Not where one caller reads it again, has it from elsewhere, or passes it twice.
// CHECK-LABEL: func.func private @is_read_again(
// CHECK-SAME: memref<64xi8> {remat.arena}
// CHECK-LABEL: func.func private @is_foreign(
// CHECK-SAME: memref<64xi8> {remat.arena}
// CHECK-LABEL: func.func private @is_passed_twice(
// CHECK-SAME: memref<64xi8> {remat.arena}
// CHECK-LABEL: func.func private @is_of_the_loop(
// CHECK-SAME: memref<64xi8> {remat.arena}
// CHECK-LABEL: func.func @is_public(
// CHECK-SAME: memref<64xi8> {remat.arena}
func.func private @is_read_again(%x: memref<16xf32>, %z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%b : memref<16xf32>)
  linalg.exp ins(%b : memref<16xf32>) outs(%z : memref<16xf32>)
  return
}
func.func private @is_foreign(%x: memref<16xf32>, %z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%b : memref<16xf32>)
  linalg.exp ins(%b : memref<16xf32>) outs(%z : memref<16xf32>)
  return
}
func.func private @is_passed_twice(%x: memref<16xf32>, %y: memref<4x4xf32>, %z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%b : memref<16xf32>)
  linalg.exp ins(%b : memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.fill ins(%one : f32) outs(%y : memref<4x4xf32>)
  return
}
func.func private @is_of_the_loop(%x: memref<16xf32>, %z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%b : memref<16xf32>)
  linalg.exp ins(%b : memref<16xf32>) outs(%z : memref<16xf32>)
  return
}
func.func @is_public(%x: memref<16xf32>, %z: memref<16xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%b : memref<16xf32>)
  linalg.exp ins(%b : memref<16xf32>) outs(%z : memref<16xf32>)
  return
}
func.func @caller_2(%f: memref<16xf32>, %z: memref<16xf32>, %n: index) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%x : memref<16xf32>)
  call @is_read_again(%x, %z) : (memref<16xf32>, memref<16xf32>) -> ()
  call @is_public(%x, %z) : (memref<16xf32>, memref<16xf32>) -> ()
  call @is_foreign(%f, %z) : (memref<16xf32>, memref<16xf32>) -> ()
  %y = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%y : memref<16xf32>)
  %v = memref.expand_shape %y [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  call @is_passed_twice(%y, %v, %z) : (memref<16xf32>, memref<4x4xf32>, memref<16xf32>) -> ()
  %l = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%l : memref<16xf32>)
  scf.for %i = %c0 to %n step %c1 {
    func.call @is_of_the_loop(%l, %z) : (memref<16xf32>, memref<16xf32>) -> ()
  }
  return
}

// -----

// A result goes where the operand was if that is read no more, or element by element by what writes the result; then callers go on
// with their operand, as the type of the result. The gap between is free for others.
// CHECK-LABEL: func.func private @in_its_place(
// CHECK-SAME: %[[X:.*]]: memref<16xf32>, %[[Z:.*]]: memref<16xf32>) {
// CHECK: %[[Y:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<16xf32> to memref<4x4xf32>
// CHECK: linalg.exp ins(%[[X]] : memref<16xf32>) outs(%[[Z]] : memref<16xf32>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[X]] : memref<16xf32>)
// CHECK: linalg.exp ins(%[[X]] : memref<16xf32>) outs(%[[Z]] : memref<16xf32>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[Y]] : memref<4x4xf32>)
// CHECK-LABEL: func.func private @at_once(
// CHECK-SAME: %[[X:.*]]: memref<16xf32>) {
// CHECK: linalg.exp ins(%[[X]] : memref<16xf32>) outs(%[[X]] : memref<16xf32>)
// CHECK-LABEL: func.func private @reads_others(
// CHECK-SAME: memref<4x4xf32>, %{{.*}}: memref<4x4xf32> {remat.result = 0 : i64}) {
// CHECK-LABEL: func.func @caller_3(
// CHECK: %[[X0:.*]] = memref.view %{{.*}} : memref<128xi8> to memref<16xf32>
// CHECK: %[[Y0:.*]] = memref.reinterpret_cast %[[X0]]
// CHECK: call @in_its_place(%[[X0]], %{{.*}}) : (memref<16xf32>, memref<16xf32>) -> ()
// CHECK: memref.copy %[[Y0]]
// CHECK: call @at_once(%[[A:.*]]) : (memref<16xf32>) -> ()
// CHECK: linalg.exp ins(%[[A]]
// CHECK: call @reads_others(%{{.*}}, %{{.*}}) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
func.func private @in_its_place(%x: memref<16xf32>, %z: memref<16xf32>, %y: memref<4x4xf32> {remat.result = 0 : i64}) {
  %one = arith.constant 1.0 : f32
  linalg.exp ins(%x : memref<16xf32>) outs(%z : memref<16xf32>)
  %t = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%t : memref<16xf32>)
  linalg.exp ins(%t : memref<16xf32>) outs(%z : memref<16xf32>)
  linalg.fill ins(%one : f32) outs(%y : memref<4x4xf32>)
  return
}
func.func private @at_once(%x: memref<16xf32>, %y: memref<16xf32> {remat.result = 0 : i64}) {
  linalg.exp ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}
func.func private @reads_others(%x: memref<4x4xf32>, %y: memref<4x4xf32> {remat.result = 0 : i64}) {
  linalg.transpose ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>) permutation = [1, 0]
  return
}
func.func @caller_3(%z: memref<16xf32>, %out: memref<4x4xf32>) {
  %one = arith.constant 1.0 : f32
  %x = memref.alloc() : memref<16xf32>
  %y = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%one : f32) outs(%x : memref<16xf32>)
  call @in_its_place(%x, %z, %y) : (memref<16xf32>, memref<16xf32>, memref<4x4xf32>) -> ()
  memref.copy %y, %out : memref<4x4xf32> to memref<4x4xf32>
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<16xf32>)
  call @at_once(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  linalg.exp ins(%b : memref<16xf32>) outs(%z : memref<16xf32>)
  %c = memref.alloc() : memref<4x4xf32>
  %d = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%one : f32) outs(%c : memref<4x4xf32>)
  call @reads_others(%c, %d) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  memref.copy %d, %out : memref<4x4xf32> to memref<4x4xf32>
  return
}
