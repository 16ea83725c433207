// RUN: remat-opt %s --remat-split --split-input-file --verify-diagnostics

// expected-error@+1 {{'shard.grid' op axis 0 has 2 ranks and 3 parts; the parts must be a multiple of the ranks}}
shard.grid @mesh(shape = 2) {remat.axes = ["data"], remat.parts = [3]}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) { return }

// -----

// expected-error@+1 {{'remat.axes' must have a name for each of the 2 axes, but is ["data"]}}
shard.grid @mesh(shape = 2x2) {remat.axes = ["data"]}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) { return }

// -----

// expected-error@+1 {{has two axes called 'data'}}
shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "data"]}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) { return }

// -----

// expected-error@+1 {{has an axis of unknown size; a program is compiled for a number of ranks}}
shard.grid @mesh(shape = 2x?) {remat.axes = ["data", "model"]}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) { return }

// -----

// expected-note@+1 {{the first one}}
shard.grid @mesh(shape = 2) {remat.axes = ["data"]}
// expected-error@+1 {{is the second grid with 'remat.axes'; a program runs on one}}
shard.grid @other(shape = 2) {remat.axes = ["data"]}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) { return }

// -----

shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "model"]}
// expected-error@+1 {{'remat.shard' of argument 0 has axis 'date', but the grid's axes are 'data', 'model'}}
func.func @f(%x: tensor<8xf32> {remat.shard = [["date"]]}) { return }

// -----

shard.grid @mesh(shape = 2) {remat.axes = ["data"], remat.parts = [4]}
// expected-error@+1 {{'remat.shard' of argument 0 splits dimension 0 of 'tensor<6xf32>' in the 4 parts of axis 'data', which do not divide it}}
func.func @f(%x: tensor<6xf32> {remat.shard = [["data"]]}) { return }

// -----

shard.grid @mesh(shape = 2) {remat.axes = ["data"]}
// expected-error@+1 {{splits dimension 0 of a 'tensor<?xf32>', whose size is not known}}
func.func @f(%x: tensor<?xf32> {remat.shard = [["data"]]}) { return }

// -----

shard.grid @mesh(shape = 2) {remat.axes = ["data"]}
// expected-error@+1 {{splits two dimensions along axis 'data'}}
func.func @f(%x: tensor<8x8xf32> {remat.shard = [["data"], ["data"]]}) { return }

// -----

shard.grid @mesh(shape = 2) {remat.axes = ["data"]}
// expected-error@+1 {{is for 2 dimensions, but the argument is a 'tensor<8xf32>'}}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"], []]}) { return }

// -----

shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "model"]}
// expected-error@+1 {{splits dimension 0 along several axes}}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data", "model"]]}) { return }

// -----

// expected-error@+1 {{has arguments with 'remat.shard', but the module has no grid; add one}}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) { return }

// -----

// expected-error@+1 {{'remat.shard' of argument 0 has a list of axes for each dimension}}
func.func @f(%x: tensor<8xf32> {remat.shard = ["data"]}) { return }

// -----

shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "model"]}
// expected-note@+1 {{the other argument}}
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]},
// expected-error@+1 {{'remat.shard' of argument 1 splits dimension 0 along axis 'model', but operations go through it together with a dimension of argument 0, which is split along axis 'data'}}
             %y: tensor<8xf32> {remat.shard = [["model"]]}) -> tensor<8xf32> {
  %s = arith.addf %x, %y : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

shard.grid @mesh(shape = 2) {remat.axes = ["data"]}
func.func private @foreign(tensor<8xf32>) -> tensor<8xf32>
func.func @f(%x: tensor<8xf32> {remat.shard = [["data"]]}) -> tensor<8xf32> {
  // expected-warning@+1 {{remat-split has no rule for 'func.call': each rank gathers its operands and computes all of it}}
  %s = func.call @foreign(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}
