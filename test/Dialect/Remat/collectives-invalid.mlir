// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @no_ranks() -> index {
  // expected-error @+1 {{attribute 'size' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = remat.rank {size = 0 : i64, stride = 1 : i64} : index
  return %0 : index
}

// -----

func.func @no_stride(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'stride' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = remat.all_reduce sum {size = 2 : i64, stride = -1 : i64} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_parts(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{must have at least one part of this rank}}
  %0 = "remat.all_reduce"(%x) {kind = 0 : i32, size = 2 : i64, stride = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @other_shape(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has part 1 of type 'tensor<5xf32>', but all parts must have the shape and the elements of its outs, 'tensor<4xf32>'}}
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x, %y : tensor<4xf32>, tensor<5xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @other_elements(%x: tensor<4xf32>, %y: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{has part 0 of type 'tensor<4xf32>', but all parts must have the shape and the elements of its outs, 'tensor<4xf64>'}}
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{must have operands that are all tensors, or all memrefs}}
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

func.func @no_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{returns nothing, but must return the type of its outs, 'tensor<4xf32>'}}
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

func.func @result_of_memory(%x: memref<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{writes to a memref, and must not return a result}}
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @result(%x: tensor<4xf32>, %all: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{returns 'tensor<4xf32>', but must return the type of its outs, 'tensor<8xf32>'}}
  %0 = remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%all : tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @integers_have_signs(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{of kind maximum is of floating-point numbers, but its elements are 'i32'}}
  %0 = remat.all_reduce maximum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xi32>) outs(%x : tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @bits_of_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{of kind and is of integers, but its elements are 'f32'}}
  %0 = remat.all_reduce and {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values}}
  %0 = remat.all_reduce mean {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @elements(%x: tensor<4xindex>) -> tensor<4xindex> {
  // expected-error @+1 {{exchanges elements of type 'index'; they must be f16, bf16, f32, f64, i1, i8, i16, i32 or i64}}
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xindex>) outs(%x : tensor<4xindex>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----

func.func @gathers_other_elements(%x: tensor<4xf32>, %all: tensor<8xf64>) -> tensor<8xf64> {
  // expected-error @+1 {{gathers 'tensor<4xf32>' into 'tensor<8xf64>'; both must have the same elements and number of dimensions}}
  %0 = remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%all : tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

func.func @dimension(%x: tensor<4xf32>, %all: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{gathers along dimension 1, but its outs have 1}}
  %0 = remat.all_gather dim(1) {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%all : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @size(%x: tensor<4x3xf32>, %all: tensor<9x3xf32>) -> tensor<9x3xf32> {
  // expected-error @+1 {{has an input of size 4 in dimension 0, and 9 in its outs, which must be 2 times as large}}
  %0 = remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4x3xf32>) outs(%all : tensor<9x3xf32>) -> tensor<9x3xf32>
  return %0 : tensor<9x3xf32>
}

// -----

func.func @other_dimension(%x: tensor<4x3xf32>, %all: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{has an input of size 3 in dimension 1, and 4 in its outs, which must be 1 times as large}}
  %0 = remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<4x3xf32>) outs(%all : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
