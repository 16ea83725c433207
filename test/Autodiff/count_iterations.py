#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Count how often compiled code runs the body of a loop that keeps a few states for its backward, and compare its gradient.

Each math.sin of the differentiated program, which is in the body only, is followed by a call that counts.
"""

import math
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing.libraries import Library, run, tool  # noqa: E402

FOR = """    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %start) -> f64 {
      %s = math.sin %x : f64
      %y = arith.mulf %s, %v : f64
      scf.yield %y : f64
    }
    remat.yield %r : f64"""
WHILE = """    %r:2 = scf.while (%x = %start, %i = %c0) : (f64, index) -> (f64, index) {
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %x, %i : f64, index
    } do {
    ^bb0(%x: f64, %i: index):
      %s = math.sin %x : f64
      %y = arith.mulf %s, %v : f64
      %j = arith.addi %i, %c1 : index
      scf.yield %y, %j : f64, index
    }
    remat.yield %r#0 : f64"""
PROGRAM = """func.func @loss(%w: tensor<f64> {opt.param}, %count: tensor<i64>) -> tensor<f64> {
  %u = tensor.extract %w[] : tensor<f64>
  %r = remat.region policy(#remat.snapshots<SNAPSHOTS>) (%start = %u : f64, %v = %u : f64, %counts = %count : tensor<i64>) -> f64 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    TRIPS
LOOP
  }
  %l = tensor.from_elements %r : tensor<f64>
  return %l : tensor<f64>
}
"""
KNOWN = "%n = arith.constant COUNT : index"
UNKNOWN = "%k = tensor.extract %counts[] : tensor<i64>\n    %n = arith.index_cast %k : i64 to index"
PASSES = "remat-differentiate, canonicalize, cse, remat-inline-regions, symbol-dce, canonicalize, remat-lower-tapes"
COUNTER = """
  memref.global "private" @ticks : memref<i64> = dense<0>
  func.func private @tick() {
    %m = memref.get_global @ticks : memref<i64>
    %one = arith.constant 1 : i64
    %old = memref.load %m[] : memref<i64>
    %new = arith.addi %old, %one : i64
    memref.store %new, %m[] : memref<i64>
    return
  }
  func.func @count() -> memref<i64> {
    %m = memref.get_global @ticks : memref<i64>
    return %m : memref<i64>
  }
}
"""


def count(iterations, snapshots, loop=FOR, trips=KNOWN):
    """Returns how often the body runs, without the forward's last time and each iteration's own backward."""
    text = (PROGRAM.replace("LOOP", loop).replace("TRIPS", trips).replace("COUNT", str(iterations))
            .replace("SNAPSHOTS", str(snapshots)))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.mlir"
        source.write_text(text)
        joint = run([tool("remat-opt", "REMAT_BIN"), source, f"--pass-pipeline=builtin.module({PASSES})"])
        joint = re.sub(r"(\n *)(%\w+ = math\.sin .*)", r"\1\2\1func.call @tick() : () -> ()", joint)
        library = Library(joint.rstrip().removesuffix("}") + COUNTER, folder, "canonicalize", "counted")
        value = np.array(0.9)
        loss, gradient = library.call("loss_grad", [value, np.array(iterations, "i8")], [("f64", 0), ("f64", 0)])
        ticks, = library.call("count", [], [("i64", 0)])
        # d(sin(x) * w) by hand.
        x, dx = 0.9, 1.0
        for _ in range(iterations):
            x, dx = math.sin(x) * 0.9, math.cos(x) * dx * 0.9 + math.sin(x)
        if not (np.isclose(loss, x, rtol=1e-12) and np.isclose(gradient, dx, rtol=1e-9)):
            raise SystemExit(f"{iterations} iterations, {snapshots} snapshots: {loss}, {gradient} instead of {x}, {dx}")
    return int(ticks) - iterations - 1


def main():
    for iterations, snapshots in ((100, 3), (100, 10), (1000, 10), (100, 100), (37, 1), (2, 1), (1, 5)):
        print(f"{iterations} iterations, {snapshots} snapshots: {count(iterations, snapshots)}")
    print("trip count unknown:", count(100, 3, trips=UNKNOWN))
    print("an scf.while:", count(100, 10, loop=WHILE, trips=UNKNOWN))


if __name__ == "__main__":
    main()
