// RUN: remat-opt %s --remat-fuse-rows --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-fuse-rows --convert-linalg-to-kernels --split-input-file | FileCheck %s --check-prefix=KERNEL

// Two kinds of operations over one array of 8 MiB: each block of 4 rows stays
// in the cache until both are done. The fill that the second one starts with
// moves with it; the independent one of %z stays after them.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @rows
// CHECK: scf.parallel (%[[ROW:.*]]) = (%{{.*}}) to (%c4096{{.*}}) step (%c4
// CHECK:   linalg.fill {{.*}}memref<4xf32
// CHECK:   memref.subview %{{.*}}[%[[ROW]], 0] [4, 512] [1, 1]
// CHECK:   linalg.generic {{.*}}memref<4x512xf32{{.*}}remat.order = "along"
// CHECK:   linalg.generic {{.*}}"parallel", "parallel"
// CHECK: }
// CHECK: linalg.fill {{.*}}memref<64xf32>
// CHECK-NOT: linalg

// KERNEL-LABEL: func.func @rows
// KERNEL: call @kernel_rows(
// KERNEL: call @kernel_fill(
// KERNEL-LABEL: func.func private @kernel_rows
// KERNEL-SAME: memref<4096x512xf32>
// KERNEL: scf.parallel
// KERNEL-NOT: scf.parallel
// KERNEL-LABEL: func.func private @kernel_fill
func.func @rows(%x: memref<4096x512xf32>, %y: memref<4096x512xf32> {remat.result = 0 : i64}, %z: memref<64xf32>, %arena: memref<16384xi8> {remat.arena}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %sum = memref.view %arena[%c0][] : memref<16384xi8> to memref<4096xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<4096xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<4096x512xf32>) outs(%sum : memref<4096xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.fill ins(%zero : f32) outs(%z : memref<64xf32>)
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : memref<4096x512xf32>, memref<4096xf32>) outs(%y : memref<4096x512xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %d = arith.subf %a, %s : f32
    linalg.yield %d : f32
  }
  return
}

// -----

// Batches and positions are rows alike. No block near the wanted size divides
// 917 rows: the last one is smaller.

#id = affine_map<(b, t, c) -> (b, t, c)>
#row = affine_map<(b, t, c) -> (b, t)>

// CHECK-LABEL: func.func @collapsed
// CHECK: memref.collapse_shape {{.*}} : memref<7x131x768xf32> into memref<917x768xf32>
// CHECK: scf.parallel (%[[ROW:.*]]) = (%{{.*}}) to (%c917{{.*}})
// CHECK:   %[[SIZE:.*]] = affine.min
// CHECK:   memref.subview %{{.*}}[%[[ROW]], 0] [%[[SIZE]], 768]
func.func @collapsed(%x: memref<7x131x768xf32>, %y: memref<7x131x768xf32>, %sum: memref<7x131xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<7x131x768xf32>) outs(%sum : memref<7x131xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.maximumf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : memref<7x131x768xf32>, memref<7x131xf32>) outs(%y : memref<7x131x768xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %d = arith.subf %a, %s : f32
    linalg.yield %d : f32
  }
  return
}

// -----

// The second operation writes where the first one reads another row.

#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @other_rows
// CHECK-NOT: scf.parallel
func.func @other_rows(%arena: memref<8390656xi8> {remat.arena}, %y: memref<4096x512xf32>) {
  %c0 = arith.constant 0 : index
  %c2048 = arith.constant 2048 : index
  %a = memref.view %arena[%c0][] : memref<8390656xi8> to memref<4096x512xf32>
  %b = memref.view %arena[%c2048][] : memref<8390656xi8> to memref<4096x512xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<4096x512xf32>) outs(%y : memref<4096x512xf32>) {
  ^bb0(%e: f32, %o: f32):
    %n = arith.negf %e : f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<4096x512xf32>) outs(%a : memref<4096x512xf32>) {
  ^bb0(%e: f32, %o: f32):
    %n = math.absf %e : f32
    linalg.yield %n : f32
  }
  return
}

// -----

// Operations whose data fit into the cache need no loop of their own; those in
// an scf.parallel have threads already.

#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @small
// CHECK-NOT: scf.parallel
// CHECK-LABEL: func.func @threads
// CHECK: scf.parallel
// CHECK-NOT: scf.parallel
func.func @small(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %z: memref<64x64xf32>) {
  linalg.copy ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>)
  linalg.copy ins(%x : memref<64x64xf32>) outs(%z : memref<64x64xf32>)
  return
}
func.func @threads(%x: memref<4096x512xf32>, %y: memref<4096x512xf32>, %z: memref<4096x512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    linalg.copy ins(%x : memref<4096x512xf32>) outs(%y : memref<4096x512xf32>)
    linalg.copy ins(%x : memref<4096x512xf32>) outs(%z : memref<4096x512xf32>)
  }
  return
}

// -----

// In place, row by row; the sum that the third operation needs of what is
// between comes along, though it has no large array in common with the first.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @in_place
// CHECK: scf.parallel
// CHECK-COUNT-3: linalg.generic
// CHECK: scf.reduce
// CHECK-NOT: linalg
// KERNEL-LABEL: func.func @in_place
// KERNEL-COUNT-1: call
// KERNEL-NOT: call
// KERNEL-LABEL: func.func private @kernel_rows
func.func @in_place(%arena: memref<8404992xi8> {remat.arena}, %w: memref<4096x8xf32>) {
  %c0 = arith.constant 0 : index
  %end = arith.constant 8388608 : index
  %x = memref.view %arena[%c0][] : memref<8404992xi8> to memref<4096x512xf32>
  %sum = memref.view %arena[%end][] : memref<8404992xi8> to memref<4096xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<4096x512xf32>) {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%w : memref<4096x8xf32>) outs(%sum : memref<4096xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : memref<4096xf32>) outs(%x : memref<4096x512xf32>) {
  ^bb0(%s: f32, %e: f32):
    %d = arith.subf %e, %s : f32
    linalg.yield %d : f32
  }
  return
}

// -----

// A row that all rows read is written before.

#id = affine_map<(d0, d1) -> (d0, d1)>
#all = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @read_by_all
// CHECK-NOT: scf.parallel
func.func @read_by_all(%x: memref<4096x512xf32>, %y: memref<4096x512xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<4096x512xf32>) {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    linalg.yield %n : f32
  }
  %first = memref.subview %x[0, 0] [1, 512] [1, 1] : memref<4096x512xf32> to memref<512xf32, strided<[1]>>
  linalg.generic {indexing_maps = [#id, #all, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %first : memref<4096x512xf32>, memref<512xf32, strided<[1]>>) outs(%y : memref<4096x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  return
}

// -----

// No elements, and no rows.

// CHECK-LABEL: func.func @empty
// CHECK-NOT: scf.parallel
func.func @empty(%x: memref<4096x0xf32>, %y: memref<4096x0xf32>, %a: memref<0x4096xf32>, %b: memref<0x4096xf32>) {
  linalg.copy ins(%x : memref<4096x0xf32>) outs(%y : memref<4096x0xf32>)
  linalg.copy ins(%x : memref<4096x0xf32>) outs(%y : memref<4096x0xf32>)
  linalg.copy ins(%a : memref<0x4096xf32>) outs(%b : memref<0x4096xf32>)
  linalg.copy ins(%a : memref<0x4096xf32>) outs(%b : memref<0x4096xf32>)
  return
}

// -----

// A layout that is no strides is left to other lowerings; so are sizes that are
// not known. What a body loads may be in any row.

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: scf.parallel
func.func @left_alone(%t: memref<4096x512xf32, #turned>, %x: memref<4096x512xf32>, %y: memref<4096x512xf32>,
                      %d: memref<?x512xf32>, %e: memref<?x512xf32>, %i: memref<4096x512xindex>) {
  linalg.copy ins(%t : memref<4096x512xf32, #turned>) outs(%y : memref<4096x512xf32>)
  linalg.copy ins(%t : memref<4096x512xf32, #turned>) outs(%y : memref<4096x512xf32>)
  linalg.copy ins(%d : memref<?x512xf32>) outs(%e : memref<?x512xf32>)
  linalg.copy ins(%d : memref<?x512xf32>) outs(%e : memref<?x512xf32>)
  linalg.copy ins(%y : memref<4096x512xf32>) outs(%x : memref<4096x512xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<4096x512xindex>) outs(%y : memref<4096x512xf32>) {
  ^bb0(%row: index, %o: f32):
    %column = linalg.index 1 : index
    %element = memref.load %x[%row, %column] : memref<4096x512xf32>
    linalg.yield %element : f32
  }
  return
}

// -----

// A loop that somebody else wrote, on parts of which the types say where they are.

// CHECK-LABEL: func.func @parts
// KERNEL-LABEL: func.func @parts
// KERNEL: call @kernel_rows(
// KERNEL: func.func private @kernel_rows(%{{.*}}: memref<4x256xf32, strided<[256, 1], offset: 1024>>
func.func @parts(%x: memref<4x256xf32, strided<[256, 1], offset: 1024>>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %part = memref.subview %x[1, 0] [1, 256] [1, 1] : memref<4x256xf32, strided<[256, 1], offset: 1024>> to memref<256xf32, strided<[1], offset: 1280>>
    linalg.fill ins(%zero : f32) outs(%part : memref<256xf32, strided<[1], offset: 1280>>)
  }
  return
}
