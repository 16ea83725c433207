// RUN: remat-opt %s -remat-differentiate -split-input-file -verify-diagnostics

func.func @too_few_bytes(%w: tensor<4xf64> {opt.param}) -> f64 {
  %c0 = arith.constant 0 : index
  %r = remat.region policy(#remat.snapshots<"40B">) (%start = %w : tensor<4xf64>) -> tensor<4xf64> {
    %d0 = arith.constant 0 : index
    %d1 = arith.constant 1 : index
    %d9 = arith.constant 9 : index
    // expected-error@+1 {{no snapshot of this loop fits, by #remat.snapshots<"40">: a state has 32 bytes, and one is kept besides the snapshots}}
    %r = scf.for %i = %d0 to %d9 step %d1 iter_args(%a = %start) -> tensor<4xf64> {
      %y = math.sin %a : tensor<4xf64>
      scf.yield %y : tensor<4xf64>
    }
    remat.yield %r : tensor<4xf64>
  }
  %l = tensor.extract %r[%c0] : tensor<4xf64>
  return %l : f64
}

// -----

func.func @bytes_of_unknown_size(%w: tensor<?xf64> {opt.param}) -> f64 {
  %c0 = arith.constant 0 : index
  %r = remat.region policy(#remat.snapshots<"4MiB">) (%start = %w : tensor<?xf64>) -> tensor<?xf64> {
    %d0 = arith.constant 0 : index
    %d1 = arith.constant 1 : index
    %d9 = arith.constant 9 : index
    // expected-error@+1 {{no snapshot of this loop fits, by #remat.snapshots<"4194304">: a state has no static size; give a number of snapshots}}
    %r = scf.for %i = %d0 to %d9 step %d1 iter_args(%a = %start) -> tensor<?xf64> {
      %y = math.sin %a : tensor<?xf64>
      scf.yield %y : tensor<?xf64>
    }
    remat.yield %r : tensor<?xf64>
  }
  %l = tensor.extract %r[%c0] : tensor<?xf64>
  return %l : f64
}

// -----

// A state whose size changes.
func.func @growing(%w: tensor<4xf64> {opt.param}) -> f64 {
  %c0 = arith.constant 0 : index
  %r = remat.region policy(#remat.snapshots<2>) (%start = %w : tensor<4xf64>) -> tensor<?xf64> {
    %d0 = arith.constant 0 : index
    %d1 = arith.constant 1 : index
    %d9 = arith.constant 9 : index
    %first = tensor.cast %start : tensor<4xf64> to tensor<?xf64>
    // expected-error@+1 {{the backward of this loop needs a value of type 'tensor<?xf64>' from each iteration, but its size is not known before the loop; give it a static size, or one that does not change in the loop}}
    %r = scf.for %i = %d0 to %d9 step %d1 iter_args(%a = %first) -> tensor<?xf64> {
      %y = math.sin %a : tensor<?xf64>
      %n = tensor.dim %y, %d0 : tensor<?xf64>
      %more = arith.addi %n, %d1 : index
      %zero = arith.constant 0.0 : f64
      %z = tensor.pad %y low[0] high[1] {
      ^bb0(%j: index):
        tensor.yield %zero : f64
      } : tensor<?xf64> to tensor<?xf64>
      scf.yield %z : tensor<?xf64>
    }
    remat.yield %r : tensor<?xf64>
  }
  %l = tensor.extract %r[%c0] : tensor<?xf64>
  return %l : f64
}

// -----

func.func private @draw(tensor<4xf64>) -> tensor<4xf64>

// An effect that the state depends on.
func.func @effects(%w: tensor<4xf64> {opt.param}) -> f64 {
  %c0 = arith.constant 0 : index
  %r = remat.region policy(#remat.snapshots<2>) (%start = %w : tensor<4xf64>) -> tensor<4xf64> {
    %d0 = arith.constant 0 : index
    %d1 = arith.constant 1 : index
    %d9 = arith.constant 9 : index
    %m = memref.alloc() : memref<f64>
    // expected-note@+1 {{loop is here}}
    %r = scf.for %i = %d0 to %d9 step %d1 iter_args(%a = %start) -> tensor<4xf64> {
      // expected-error@+1 {{operation with side effects would run again in the backward of its loop; move it out of the loop, or out of the remat.region with this policy: #remat.snapshots<2>}}
      %v = memref.load %m[] : memref<f64>
      %s = tensor.splat %v : tensor<4xf64>
      %y = arith.mulf %a, %s : tensor<4xf64>
      scf.yield %y : tensor<4xf64>
    }
    remat.yield %r : tensor<4xf64>
  }
  %l = tensor.extract %r[%c0] : tensor<4xf64>
  return %l : f64
}
