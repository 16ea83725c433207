# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a region whose recompute starts from a chain of N values, each of which reads the one before twice.

Usage: shared_chains.py indices|views N
"""
import sys


def indices(n):
    """Index arithmetic in a loop: the backward recomputes it instead of reading a tape."""
    print("""\
func.func @shared_indices(%x: f32, %ct: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10xf32>
  %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %x, %t = %e) -> (f32, tensor<10xf32>) {
    %k0 = arith.index_cast %i : index to i64""")
    for i in range(n):
        print(f"    %k{i + 1} = arith.addi %k{i}, %k{i} : i64")
    print(f"""\
    %y, %r = remat.region (%a = %h : f32, %b = %k{n} : i64) -> f32 residuals(f32) {{
      %g = arith.sitofp %b : i64 to f32
      %0 = arith.mulf %a, %g : f32
      %1 = math.exp %0 : f32
      remat.yield %1 : f32 residuals(%1 : f32)
    }}
    %t1 = remat.tape_write %r into %t[%i] : f32 into tensor<10xf32>
    scf.yield %y, %t1 : f32, tensor<10xf32>
  }}
  %d = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %ct) -> (f32) {{
    %i0 = arith.subi %c9, %j : index
    %r = remat.tape_read %f#1[%i0] : tensor<10xf32> -> f32
    %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %dh : f32) -> f32 {{
      %0 = arith.mulf %dy, %s : f32
      remat.yield %0 : f32
    }}
    scf.yield %dx : f32
  }}
  return %f#0, %d : f32, f32
}}""")


def views(n):
    """Views and broadcasts, which cost nothing to take again."""
    print("""\
func.func @shared_views(%x: tensor<?xf32>, %ct: tensor<?xf32>, %m: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %y, %r = remat.region (%s0 = %x : tensor<?xf32>, %n = %m : index) -> tensor<?xf32> residuals(tensor<?xf32>) {""")
    for i in range(n):
        print(f"""\
    %e{i} = tensor.expand_shape %s{i} [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
    %b{i} = linalg.broadcast ins(%s{i} : tensor<?xf32>) outs(%e{i} : tensor<?x1xf32>) dimensions = [1]
    %s{i + 1} = tensor.collapse_shape %b{i} [[0, 1]] : tensor<?x1xf32> into tensor<?xf32>""")
    print(f"""\
    %e = math.exp %s{n} : tensor<?xf32>
    remat.yield %e : tensor<?xf32> residuals(%s{n} : tensor<?xf32>)
  }}
  %dx = remat.backward residuals(%s = %r : tensor<?xf32>) cotangents(%dy = %ct : tensor<?xf32>) -> tensor<?xf32> {{
    %0 = arith.mulf %dy, %s : tensor<?xf32>
    remat.yield %0 : tensor<?xf32>
  }}
  return %y, %dx : tensor<?xf32>, tensor<?xf32>
}}""")


{"indices": indices, "views": views}[sys.argv[1]](int(sys.argv[2]))
