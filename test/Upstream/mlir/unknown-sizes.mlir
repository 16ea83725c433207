// The metadata of a reshape to two sizes that are not known is computed from a null attribute: lib/Workarounds/SplitUnknownSizes.cpp.
// RUN: not --crash mlir-opt %s -expand-strided-metadata

func.func @sizes(%x: memref<?xf32>, %a: index, %b: index) -> memref<?x?x4xf32> {
  %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [%a, %b, 4] : memref<?xf32> into memref<?x?x4xf32>
  return %0 : memref<?x?x4xf32>
}
