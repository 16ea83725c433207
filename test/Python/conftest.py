# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the tests of the Python package: models, and the same model as a program under mlir-runner."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ["REMAT_CACHE_DIR"] = ""  # tests of the cache name a folder of their own
sys.path.append(str(ROOT / "test" / "Laws" / "Inputs"))

MLP = """
#id = affine_map<(i, j) -> (i, j)>
#bias = affine_map<(i, j) -> (j)>
#scalar = affine_map<(i, j) -> ()>
TRAIN
func.func @loss(%x: tensor<6x5xf32> {remat.data = "x"}, %y: tensor<6x3xf32> {remat.data = "y"},
                %w0: tensor<5x4xf32> {opt.param = "first.weight", opt.init = "normal(0.5)"},
                %b0: tensor<4xf32> {opt.param = "first.bias", opt.init = "uniform(-0.1, 0.1)"},
                %w1: tensor<4x3xf32> {opt.param = "second.weight", opt.init = "normal(0.5)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.0555555 : f32
  %h = remat.region policy(#remat.nothing_saveable)
      (%a = %x : tensor<6x5xf32>, %w = %w0 : tensor<5x4xf32>, %b = %b0 : tensor<4xf32>) -> tensor<6x4xf32> {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
    %p = linalg.matmul ins(%a, %w : tensor<6x5xf32>, tensor<5x4xf32>) outs(%f : tensor<6x4xf32>) -> tensor<6x4xf32>
    %t = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p, %b : tensor<6x4xf32>, tensor<4xf32>) outs(%e : tensor<6x4xf32>) {
    ^bb0(%m: f32, %n: f32, %o: f32):
      %s = arith.addf %m, %n : f32
      %r = math.tanh %s : f32
      linalg.yield %r : f32
    } -> tensor<6x4xf32>
    remat.yield %t : tensor<6x4xf32>
  }
  %e = tensor.empty() : tensor<6x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x3xf32>) -> tensor<6x3xf32>
  %q = linalg.matmul ins(%h, %w1 : tensor<6x4xf32>, tensor<4x3xf32>) outs(%f : tensor<6x3xf32>) -> tensor<6x3xf32>
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%q, %y : tensor<6x3xf32>, tensor<6x3xf32>) outs(%start : tensor<f32>) {
  ^bb0(%p: f32, %t: f32, %acc: f32):
    %d = arith.subf %p, %t : f32
    %s = arith.mulf %d, %d : f32
    %m = arith.mulf %s, %scale : f32
    %r = arith.addf %acc, %m : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
"""


def mlp(train=""):
    """A net of two layers, with the operations that say how it is trained."""
    return MLP.replace("TRAIN", train)


def batches(count, seed=0, examples=6):
    """The data of `mlp` for so many steps."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((count * examples, 5)).astype("f4"),
            "y": rng.standard_normal((count * examples, 3)).astype("f4")}


def batch_of(step, arrays, number):
    """The batch that the runtime gives to step `number` without shuffling."""
    result = []
    for argument in step.data:
        array, shape = arrays[argument.name], argument.shape
        if not shape or array.ndim == len(shape) + 1:
            result.append(np.ascontiguousarray(array[number % len(array)]))
            continue
        count = len(array) // shape[0]
        start = number % count * shape[0]
        result.append(array[start:start + shape[0]])
    return result


class Program:
    """The same model under mlir-runner: compiled by remat-opt, run as a process of its own."""

    def __init__(self, text, folder, options=""):
        self.folder, self.path, self.report = folder, folder / "program.mlir", folder / "memory.json"
        (folder / "model.mlir").write_text(text)
        self.step = re.search(r"remat\.train_step @(\w+)", text)[1]
        run(["remat-opt", folder / "model.mlir", f"--remat-train=report={self.report} {options}", "-o", self.path])

    def memory(self):
        return next(f for f in json.loads(self.report.read_text())["functions"] if f["name"] == self.step)

    def train(self, arrays, steps, **settings):
        """Losses, the checkpoint's arrays and the runtime's report."""
        checkpoint, log, report, data = (self.folder / name for name in ("run.npz", "run.tsv", "run.json", "data.npz"))
        np.savez(data, **arrays)
        settings = {"STEPS": steps, "SHUFFLE": 0, "LOG_EVERY": 1, "DATA": data, "CHECKPOINT": checkpoint, "LOG": log,
                    "REPORT": report} | settings
        self.output = run(["mlir-runner", self.path, "-O3", "-e", "main", "-entry-point-result=void",
                           "--shared-libs=" + os.environ["LIBRARIES"]], **{f"REMAT_{k}": str(v) for k, v in settings.items()})
        with np.load(checkpoint) as saved:
            return ([float(line.split("\t")[1]) for line in log.read_text().splitlines()], dict(saved),
                    json.loads(report.read_text()))


def run(command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def as_bits(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def assert_same_bits(step, losses, program_losses, saved):
    """Losses, and everything that a checkpoint has."""
    assert losses == program_losses
    state = step.state_dict()
    assert set(state) == set(saved) - {"remat.seed", "remat.batch_size", "remat.shuffle", "remat.optimizer"}
    for name, array in state.items():
        assert array.shape == saved[name].shape
        assert np.array_equal(as_bits(array), as_bits(saved[name])), name


def snapshot(step):
    return {name: array.copy() for name, array in step.state_dict().items()}


def assert_unchanged(step, before):
    state = step.state_dict()
    assert state.keys() == before.keys()
    for name, array in state.items():
        assert np.array_equal(as_bits(array), as_bits(before[name])), name


@pytest.fixture
def trained():
    """A step of `mlp` under AdamW that has done three steps, and the data."""
    import remat
    step = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
    arrays = batches(8)
    for i in range(3):
        step(*batch_of(step, arrays, i))
    return step, arrays
