// RUN: remat-opt %s -remat-print-operations -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: remat-opt %s -remat-annotate="blocks save=#4,#8" | FileCheck %s --check-prefix=NUMBERS
// RUN: remat-opt %s -remat-annotate="blocks policy=dots_saveable save=math.tanh" | FileCheck %s --check-prefix=BOTH
// RUN: remat-opt %s -remat-annotate="blocks save=dot" -remat-annotate="whole save=math.exp" | FileCheck %s --check-prefix=NESTED
// RUN: remat-opt %s -remat-annotate="whole recompute=#1" | FileCheck %s --check-prefix=RECOMPUTE
// RUN: remat-opt %s -remat-annotate="ops=#8 name=h" | FileCheck %s --check-prefix=SELECTED
// RUN: not remat-opt %s -remat-annotate="blocks save=#x" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not remat-opt %s -remat-annotate="blocks save=#4,#99" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not remat-opt %s -remat-annotate="calls=act save=math.exp" 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not remat-opt %s -remat-annotate="blocks save=dot name=a" 2>&1 | FileCheck %s --check-prefix=ACTION

// An array of objects, without operations that are always recomputed.
// LIST: [
// LIST-NEXT: {"number":1,"function":"loss","op":"math.exp","kinds":["elementwise"],"types":["tensor<4x4xf32>"],"bytes":64,"cost":{{[0-9]+}},"name":null,"scope":"embed","line":null},
// LIST-NEXT: {"number":4,"function":"loss","op":"linalg.matmul","kinds":["dot"]
// LIST-NEXT: {"number":5,"function":"loss","op":"func.call","kinds":[]
// LIST-NEXT: {"number":6,"function":"loss","op":"linalg.matmul"
// LIST-NEXT: {"number":7,"function":"loss","op":"func.call"
// LIST-NEXT: {"number":8,"function":"act","op":"math.tanh","kinds":["elementwise"],"types":["tensor<4x4xf32>"],"bytes":64,"cost":{{[0-9]+}},"name":"t","scope":null,"line":"save.mlir:{{[0-9]+}}"}
// LIST-NEXT: ]

// The first block's product, and what both call.
// NUMBERS-LABEL: func.func @loss
// NUMBERS: remat.region policy(#remat.save_only_names<"saved">)
// NUMBERS: %[[P:.*]] = linalg.matmul
// NUMBERS-NEXT: remat.name "saved" %[[P]]
// NUMBERS: remat.region policy(#remat.save_only_names<"saved">)
// NUMBERS: linalg.matmul
// NUMBERS-NOT: remat.name
// NUMBERS-LABEL: func.func private @act
// NUMBERS: math.tanh
// NUMBERS-NEXT: remat.name "saved"
// NUMBERS-NOT: remat.number

// BOTH-COUNT-2: remat.region policy(#remat.any_of<#remat.dots_saveable, #remat.save_only_names<"saved">>)

// The outer region does not save what the inner ones do.
// NESTED: remat.region policy(#remat.save_only_names<"saved_1">)
// NESTED: math.exp
// NESTED-NEXT: remat.name "saved_1"
// NESTED: remat.region policy(#remat.save_only_names<"saved">)

// RECOMPUTE: remat.region policy(#remat.save_anything_except_names<"recomputed">)
// RECOMPUTE: math.exp
// RECOMPUTE-NEXT: remat.name "recomputed"

// SELECTED-NOT: remat.name "h"
// SELECTED-LABEL: func.func private @act
// SELECTED: math.tanh
// SELECTED: remat.name "h"

// NUMBER: error: {{.*}}#x is no number of an operation, such as #17
// RANGE: error: save=#99 matches no operation in @loss
// OUTSIDE: error: no operation in a region is one of save=math.exp
// ACTION: error: remat-annotate takes one action

func.func @loss(%x: tensor<4x4xf32>, %v: tensor<4x4xf32> {opt.param}, %w: tensor<4x4xf32> {opt.param}) -> tensor<4x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %h = math.exp %x : tensor<4x4xf32> loc("embed")
  %like = tensor.empty() : tensor<4x4xf32>
  %f = linalg.copy ins(%zero : tensor<4x4xf32>) outs(%like : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%h, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = func.call @act(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.matmul ins(%1, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = func.call @act(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func private @act(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = math.tanh %x : tensor<4x4xf32>
  %1 = remat.name "t" %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
