// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @integers(%u: tensor<5xi32>, %t: tensor<9xi32>) -> tensor<9xi32> {
  // expected-error @+1 {{adds elements of type 'i32' to 'i32'; both must be the same floating-point type}}
  %0 = remat.scatter_add ins(%u : tensor<5xi32>) outs(%t : tensor<9xi32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xi32>
  return %0 : tensor<9xi32>
}

// -----

func.func @narrower(%u: tensor<5xf32>, %t: tensor<9xbf16>) -> tensor<9xbf16> {
  // expected-error @+1 {{adds elements of type 'f32' to 'bf16'}}
  %0 = remat.scatter_add ins(%u : tensor<5xf32>) outs(%t : tensor<9xbf16>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xbf16>
  return %0 : tensor<9xbf16>
}

// -----

func.func @result(%u: tensor<5xf32>, %t: tensor<9xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{returns 'tensor<8xf32>', but must return the type of its outs, 'tensor<9xf32>'}}
  %0 = remat.scatter_add ins(%u : tensor<5xf32>) outs(%t : tensor<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @arguments(%u: tensor<5x3xf32>, %t: tensor<9xf32>) -> tensor<9xf32> {
  // expected-error @+1 {{has a body with arguments ('index'), but it needs 2 of type index, the position in the updates}}
  %0 = remat.scatter_add ins(%u : tensor<5x3xf32>) outs(%t : tensor<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

func.func @indices(%u: tensor<5xf32>, %t: tensor<9x2xf32>) -> tensor<9x2xf32> {
  %0 = remat.scatter_add ins(%u : tensor<5xf32>) outs(%t : tensor<9x2xf32>) {
  ^bb0(%i: index):
    // expected-error @+1 {{yields ('index'), but must yield 2 of type index, the position in the outs}}
    remat.yield %i : index
  } -> tensor<9x2xf32>
  return %0 : tensor<9x2xf32>
}

// -----

func.func @bounds(%u: tensor<5x8xf32>, %t: tensor<9x4xf32>, %row: index) -> tensor<9x4xf32> {
  %0 = remat.scatter_add ins(%u : tensor<5x8xf32>) outs(%t : tensor<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    // expected-error @+1 {{adds all 8 positions in dimension 1 of the updates to the same ones in dimension 1 of the outs, which must be as large, but has size 4}}
    remat.yield %row, %j : index, index
  } -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

// -----

func.func @mixed(%u: tensor<5xf32>, %t: memref<9xf32>) {
  // expected-error @+1 {{adds 'tensor<5xf32>' to 'memref<9xf32>'; both must be tensors, or both memrefs}}
  remat.scatter_add ins(%u : tensor<5xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  }
  return
}

// -----

func.func @no_result(%u: tensor<5xf32>, %t: tensor<9xf32>) {
  // expected-error @+1 {{returns nothing, but must return the type of its outs, 'tensor<9xf32>'}}
  remat.scatter_add ins(%u : tensor<5xf32>) outs(%t : tensor<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  }
  return
}

// -----

func.func @result_of_memory(%u: memref<5xf32>, %t: memref<9xf32>) -> tensor<9xf32> {
  // expected-error @+1 {{adds to a memref, and must not return a result}}
  %0 = remat.scatter_add ins(%u : memref<5xf32>) outs(%t : memref<9xf32>) {
  ^bb0(%i: index):
    remat.yield %i : index
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

func.func @bounds_in_memory(%u: memref<5x8xf32>, %t: memref<9x4xf32>, %row: index) {
  remat.scatter_add ins(%u : memref<5x8xf32>) outs(%t : memref<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    // expected-error @+1 {{adds all 8 positions in dimension 1 of the updates}}
    remat.yield %row, %j : index, index
  }
  return
}
