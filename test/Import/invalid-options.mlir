// Descriptions and options that do not fit the function: each one message, and nothing is written.
// RUN: rm -rf %t && mkdir %t && cd %t
// DEFINE: %{model} = remat-opt %s -o %t/out.mlir -remat-import=
// RUN: not %{model}"spec=nowhere.json" 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: spec=nowhere.json: cannot be read: No such file
// RUN: echo '{"arguments": [' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: bad.json:2:0: error: no JSON: Unexpected EOF
// RUN: echo '{"arguments": 3}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: bad.json:1:1: error: expected array at description.arguments
// RUN: echo '{"arguments": [{"name": "w", "role": 3}]}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=STRING
// STRING: bad.json:1:1: error: expected string at description.arguments[0].role
// RUN: echo '{"arguments": [{"name": "w", "role": "weight"}]}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=ROLE
// ROLE: error: expected parameter, buffer or data at description.arguments[0].role
// RUN: echo '{"results": [{"name": "a", "role": "output"}]}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=LOSS
// LOSS: error: expects one result with the role loss, got 0
// RUN: echo '{"results": [{"name": "a", "role": "loss"}, {"name": "b", "role": "buffer_update"}]}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=BUFFER
// BUFFER: error: a result is the new value of the buffer 'b', which is no argument and no constant
// RUN: not %{model}"params=w,x data=x" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: params= and data= both name 'x'; it is one
// RUN: echo '{"arguments": [{"name": "w", "role": "data"}, {"name": "w", "role": "data"}]}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: two entries are called 'w'
// RUN: echo '{"arguments": [{"name": "w", "role": "parameter"}]}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: invalid-options.mlir:{{[0-9]+}}:1: error: @loss has 3 arguments, but bad.json lists 1
// RUN: echo '{"arguments": [{"name": "w", "role": "parameter", "shape": [5]}, {"name": "x", "role": "data"}, {"name": "n", "role": "data"}]}' > bad.json
// RUN: not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: argument 0 is 'w' by bad.json, which says shape [5], but has type 'tensor<4xf32>'
// RUN: echo '{"arguments": [{"name": "w", "role": "parameter", "dtype": "f64"}, {"name": "x", "role": "data"}, {"name": "n", "role": "data"}]}' > bad.json
// RUN: not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: argument 0 is 'w' by bad.json, which says dtype f64, but has type 'tensor<4xf32>'
// RUN: echo '{"arguments": [{"name": "w", "role": "parameter"}, {"name": "x", "role": "data"}, {"name": "n", "role": "parameter"}]}' > bad.json
// RUN: not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=INTEGER
// INTEGER: error: argument 2 ('n') is a parameter (bad.json says parameter), but has type 'tensor<4xi32>'; parameters are tensors of floating-point numbers
// RUN: echo '{"constants": [{"name": "c", "role": "parameter", "resource": "elsewhere"}]}' > bad.json
// RUN: not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=RESOURCE
// RESOURCE: error: 'c' is dense_resource<elsewhere> by bad.json, but no constant of @loss is
// RUN: echo '{"function": "other"}' > bad.json && not %{model}"spec=bad.json" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: error: there is no func.func @other
// RUN: not %{model}"params=w" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: params=w: no argument and no constant is called so; there are 'arg0', 'arg1', 'arg2'
// RUN: not %{model}"params=arg0 state=arg1:3" 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: error: state=arg1:3: expects name:result, where result is less than 2
// RUN: not %{model}"params=arg0 state=mean:1" 2>&1 | FileCheck %s --check-prefix=OWNER
// OWNER: error: state=mean:1: no argument is called 'mean'; there are 'arg0', 'arg1', 'arg2'
// RUN: not %{model}"params=arg0 state=arg2:1" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: result 1 is the new value of 'arg2', but has type 'tensor<4xf32>' instead of 'tensor<4xi32>'
// RUN: not %{model}"params=arg0 optimizer=#opt.adamw mode=lazy" 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: error: unknown mode=lazy; choose eager or deferred
// RUN: not %{model}"params=arg0 optimizer=adam" 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: error: optimizer=adam is no update rule; write one as #opt.adamw<lr=1.0e-3>
// RUN: not %{model}"params=arg0 report=nowhere/table" 2>&1 | FileCheck %s --check-prefix=REPORT
// REPORT: error: import report: cannot open output file 'nowhere/table'
// RUN: not ls out.mlir
#v = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @loss(%w: tensor<4xf32>, %x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = arith.mulf %w, %x : tensor<4xf32>
  %l = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]}
      ins(%y : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    %u = arith.addf %acc, %p : f32
    linalg.yield %u : f32
  } -> tensor<f32>
  return %l, %y : tensor<f32>, tensor<4xf32>
}
