# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and parameters of recurrent models have the same bits however many states their loop keeps, and the arena is measured
as predicted: a cell with dropout and layers in regions of their own, whose state is of two types.

    loop_states.py [--steps T ...] [--target OPTIONS]

With T steps, prints for each number of states how many bytes the arena has. LIBRARIES and CUDA_LIBRARIES are as for same_bits.py.
"""
import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
from programs import Failure, Program
from same_bits import STEPS, check_bits, check_memory

MODEL = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
opt.optimizer @adam = #opt.adam<lr = 1.0e-2>
remat.generator @generator seed(3)
func.func @loss(%w: tensor<16x16xf32> {opt.param = "w", opt.init = "normal(0.3)"}, %u: tensor<16x16xf32> {opt.param = "u", opt.init = "normal(0.3)"},
                %input: tensor<TIMESx4x16xf32> {remat.data = "input"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant TIMES : index
  %e = tensor.empty() : tensor<4x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %i0 = arith.constant dense<3> : tensor<4xi32>
  OPEN
  %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%h = %start, %total = %f, %count = %i0) -> (tensor<4x16xf32>, tensor<f32>, tensor<4xi32>) {
    %x = tensor.extract_slice %input[%t, 0, 0] [1, 4, 16] [1, 1, 1] : tensor<TIMESx4x16xf32> to tensor<4x16xf32>
    %rng = remat.get_rng @generator
    %mask, %next = remat.random_bernoulli %rng {p = 0.5 : f64} : tensor<4x16xi1>
    remat.set_rng @generator, %next
    %new = remat.region policy(#remat.dots_saveable) (%a = %h : tensor<4x16xf32>, %v = %w : tensor<16x16xf32>, %q = %u : tensor<16x16xf32>,
                                                      %xs = %x : tensor<4x16xf32>, %m = %mask : tensor<4x16xi1>) -> tensor<4x16xf32> {
      %z = arith.constant 0.0 : f32
      %g = arith.constant 2.0 : f32
      %o = tensor.empty() : tensor<4x16xf32>
      %fill = linalg.fill ins(%z : f32) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
      %p = linalg.matmul ins(%a, %v : tensor<4x16xf32>, tensor<16x16xf32>) outs(%xs : tensor<4x16xf32>) -> tensor<4x16xf32>
      %d = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
          ins(%p, %m : tensor<4x16xf32>, tensor<4x16xi1>) outs(%o : tensor<4x16xf32>) {
      ^bb0(%b: f32, %k: i1, %out: f32):
        %y = math.tanh %b : f32
        %grown = arith.mulf %y, %g : f32
        %kept = arith.select %k, %grown, %z : f32
        linalg.yield %kept : f32
      } -> tensor<4x16xf32>
      %l = linalg.matmul ins(%d, %q : tensor<4x16xf32>, tensor<16x16xf32>) outs(%fill : tensor<4x16xf32>) -> tensor<4x16xf32>
      %y = math.tanh %l : tensor<4x16xf32>
      remat.yield %y : tensor<4x16xf32>
    }
    %one = arith.constant dense<1> : tensor<4xi32>
    %more = arith.addi %count, %one : tensor<4xi32>
    %sum = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0)>, #none], iterator_types = ["reduction", "reduction"]}
        ins(%new, %more : tensor<4x16xf32>, tensor<4xi32>) outs(%total : tensor<f32>) {
    ^bb0(%b: f32, %k: i32, %acc: f32):
      %scale = arith.sitofp %k : i32 to f32
      %square = arith.mulf %b, %b : f32
      %part = arith.divf %square, %scale : f32
      %y = arith.addf %acc, %part : f32
      linalg.yield %y : f32
    } -> tensor<f32>
    scf.yield %new, %sum, %more : tensor<4x16xf32>, tensor<f32>, tensor<4xi32>
  }
  CLOSE
  return %loss : tensor<f32>
}
remat.train_step @step for @loss optimizer(@adam)
"""
KEPT = "", "#remat.snapshots<1>", "#remat.snapshots<2>", "#remat.snapshots<5>", "#remat.snapshots<33>", "#remat.snapshots<\"2KiB\">", \
    "#remat.any_of<#remat.snapshots<3>, #remat.dots_saveable>"

FRACTIONS = 0.6, 0.3, 0.12  # budgets for the model without a policy


def model(times, policy):
    """The text of the model; with a policy, its loop is in a region."""
    text = MODEL.replace("TIMES", str(times))
    if not policy:
        return text.replace("OPEN", "").replace("CLOSE", "%loss = tensor.cast %r#1 : tensor<f32> to tensor<f32>")
    operands = ["%start", "%f", "%i0", "%input", "%w", "%u", "%c0", "%n", "%c1"]
    kinds = ["tensor<4x16xf32>", "tensor<f32>", "tensor<4xi32>", f"tensor<{times}x4x16xf32>", *["tensor<16x16xf32>"] * 2, *["index"] * 3]
    inside = {name: f"%in_{name[1:]}" for name in operands}
    before, after = text.split("OPEN")
    loop, after = after.split("CLOSE")
    for name, local in inside.items():
        loop = loop.replace(f"{name} ", f"{local} ").replace(f"{name},", f"{local},").replace(f"{name}[", f"{local}[").replace(
            f"{name})", f"{local})")
    entry = ", ".join(f"{inside[name]} = {name} : {kind}" for name, kind in zip(operands, kinds))
    return (f"{before}%loss = remat.region policy({policy}) ({entry}) -> tensor<f32> {{{loop}remat.yield %r#1 : tensor<f32>\n  }}{after}")


def check(folder, times, target):
    """Returns the bytes of the arena for each policy of the loop. Raises Failure."""
    np.savez(folder / "data.npz", input=np.random.default_rng(0).standard_normal((2 * times, 4, 16)).astype("f4"))
    arenas, reference = [], None
    for i, policy in enumerate(KEPT):
        path = folder / f"model{i}.mlir"
        path.write_text(model(times, policy))
        program = Program(folder, path, mode=("eager", "deferred")[i % 2], target=target)
        *result, measured = program.train(STEPS, 1 + i % 2)
        reference = reference or result
        check_bits(program, 1 + i % 2, result, reference)
        check_memory(program, measured)
        arenas.append(program.memory()["arena"])
    for i, fraction in enumerate(FRACTIONS if times >= 40 else ()):
        program = Program(folder, folder / "model0.mlir", mode=("eager", "deferred")[i % 2],
                          target=f"{target} budget={fraction} budget-of=arena".strip())
        *result, measured = program.train(STEPS, 1 + i % 2)
        check_bits(program, 1 + i % 2, result, reference)
        check_memory(program, measured)
        if program.memory()["arena"] > math.ceil(fraction * arenas[0]):
            raise Failure(f"{program.name}: {program.memory()['arena']} bytes are more than {fraction} of {arenas[0]}")
    return arenas


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 2, 7, 40])
    parser.add_argument("--target", default="")
    options = parser.parse_args()
    for times in options.steps:
        with tempfile.TemporaryDirectory() as folder:
            try:
                arenas = check(Path(folder), times, options.target)
            except Failure as failure:
                raise SystemExit(f"{times} steps: {failure}") from None
        print(f"{times} steps: same bits; arena of tapes {arenas[0]} bytes,", ", ".join(
            f"{policy} {arena}" for policy, arena in zip(KEPT[1:], arenas[1:])))


if __name__ == "__main__":
    main()
