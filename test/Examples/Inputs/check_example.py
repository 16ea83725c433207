# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares an example's gradients and loss curve with JAX, and the variants of its training program with each other.

    check_example.py chargpt|digits [gradients] [curve] [variants] [--target OPTIONS] [--steps N]

Run in an empty folder with LIBRARIES naming what mlir-runner loads. With --target "target=cuda emulate", programs are compiled for
that target, where two sizes of blocks stand for two numbers of threads.
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples")]
import oracle  # noqa: E402
from remat.testing import philox  # noqa: E402

SEED = 7
POLICIES = "none", "everything_saveable", "dots_saveable", "nothing_saveable"
# Instead of updating a parameter, this rule stores its gradient there.
STORE_GRADIENT = """
func.func private @store(%p: f32, %g: f32, %step: i64, %lr: f32) -> f32 {
  return %g : f32
}
opt.optimizer @NAME = #opt.custom<@store, states = 0, lr = 0.0>
"""


class Example:
    def __init__(self, name, target="target=cpu", steps=20):
        self.target, self.steps = target, steps
        self.name, self.text = name, (ROOT / f"examples/{name}.mlir").read_text()
        if name == "chargpt":
            import chargpt_data
            self.loss, self.batch, self.keep = oracle.chargpt_loss, 16, 0.9
            self.arrays = {"windows": chargpt_data.windows(chargpt_data.tokens())}
            self.rule = {"weight_decay": 0.01, "b2": 0.98}
            self.rate = lambda step: oracle.warmup_cosine(step, 3e-3, 30, 400, 1e-4)
        else:
            import digits_data
            self.loss, self.batch, self.keep = oracle.digits_loss, 40, 0.75
            self.arrays, self.test = digits_data.splits()
            np.savez("digits_test.npz", **self.test)
            self.rule, self.rate = {}, lambda step: oracle.warmup_cosine(step, 3e-3, 20, 400, 0.0)
        self.arrays = {k: v[:steps * self.batch] for k, v in self.arrays.items()}
        np.savez("data.npz", **self.arrays)
        rng = np.random.default_rng(0)
        self.params, self.state = {}, {}
        for kind, name, shape in self.arguments():
            value = rng.standard_normal(shape) * (0.1 if len(shape) > 1 else 0.2)
            if re.search("ln|gain|variance", name):
                value = 1 + 0.3 * np.abs(value)
            target = self.params if kind == "opt.param" else self.state
            target[name] = value.astype(np.float32)
        np.savez("init.npz", **self.params, **self.state)

    def arguments(self):
        found = {}
        for dims, kind, name in re.findall(r': tensor<([\dx]*)xf32> \{(opt\.param|remat\.state) = "([^"]+)"', self.text):
            found.setdefault(name, (kind, name, tuple(map(int, dims.split("x")))))
        return found.values()

    def batch_of(self, step):
        return {k: v[step * self.batch:(step + 1) * self.batch] for k, v in self.arrays.items()}

    def storing_gradients(self):
        """The model with an optimizer that stores gradients."""
        optimizer = re.search(r"opt\.optimizer @(\w+) = .*?(?=\nremat\.train_step)", self.text, re.S)
        return self.text.replace(optimizer[0], STORE_GRADIENT.replace("NAME", optimizer[1]))

    def run(self, name, steps, text=None, options="", threads=2):
        """Trains from init.npz; returns the losses and the checkpoint's arrays."""
        Path(f"{name}.mlir").write_text(text or self.text)
        if "cuda" in self.target:
            options += f" block-size={128 * threads}"
        subprocess.run(["remat-opt", f"{name}.mlir", f"--remat-train={self.target} {options}", "-o",
                        f"{name}.program.mlir"], check=True)
        for old in Path().glob(f"{name}.ckpt"):
            old.unlink()
        settings = {"REMAT_DATA": "data.npz", "REMAT_INIT": "init.npz", "REMAT_SHUFFLE": "0", "REMAT_LOG_EVERY": "1",
                    "REMAT_STEPS": str(steps), "REMAT_SEED": str(SEED), "REMAT_CHECKPOINT": f"{name}.ckpt",
                    "REMAT_LOG": f"{name}.log", "OMP_NUM_THREADS": str(threads)}
        subprocess.run(["mlir-runner", f"{name}.program.mlir", "-O3", "-e", "main", "-entry-point-result=void",
                        "--shared-libs=" + os.environ["LIBRARIES"]], check=True, env=os.environ | settings,
                       stdout=subprocess.DEVNULL)
        losses = [float(line.split("\t")[1]) for line in Path(f"{name}.log").read_text().splitlines()]
        with np.load(f"{name}.ckpt") as arrays:
            return losses, dict(arrays)


class Dropout:
    """Draws the masks that the program draws, one after the other."""

    def __init__(self, keep):
        self.keep, self.state = keep, philox.init(SEED)

    def masks(self, shapes):
        drawn = []
        for shape in shapes:
            mask, self.state = philox.bernoulli(self.state, shape, self.keep)
            drawn.append(mask)
        return drawn

    def shapes(self, example, params, data):
        found = []
        jax.eval_shape(lambda p: example.loss(p, data, lambda h: found.append(h.shape) or h), params)
        return found


def oracle_step(example):
    def loss(params, data, masks):
        masks = iter(masks)
        return example.loss(params, data, lambda h: jax.numpy.where(next(masks), h / example.keep, 0))
    return jax.jit(jax.value_and_grad(loss, has_aux=True))


def double(tree):
    return {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in tree.items()}


def distance(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-30)


def check_gradients(example, tolerance=2e-4):
    dropout, params, data = Dropout(example.keep), double(example.params), double(example.batch_of(0))
    masks = dropout.masks(dropout.shapes(example, params, data))
    (expected_loss, _), expected = oracle_step(example)(params, data, masks)
    losses, found = example.run("gradients", 1, example.storing_gradients())
    assert abs(losses[0] - expected_loss) < 1e-5 * abs(expected_loss), (losses[0], float(expected_loss))
    for name, gradient in expected.items():
        error = distance(found[name], np.asarray(gradient))
        assert error < tolerance, f"gradient of {name}: relative error {error:.2e}"
    print(f"{example.name}: loss and {len(expected)} gradients as in JAX")


def check_curve(example, tolerance=1e-3):
    dropout, step = Dropout(example.keep), oracle_step(example)
    params, state = double(example.params), double(example.state)
    moments = ({k: 0 * v for k, v in params.items()},) * 2
    expected = []
    for i in range(example.steps):
        data = double(example.batch_of(i))
        masks = dropout.masks(dropout.shapes(example, params, data))
        (loss, statistics), gradients = step(params, data, masks)
        params, moments = oracle.adam(params, gradients, moments, i, example.rate(i), **example.rule)
        state = {k: 0.9 * v + 0.1 * statistics[k] for k, v in state.items()}
        expected.append(float(loss))
    losses, found = example.run("curve", example.steps)
    worst = max(abs(a - b) / b for a, b in zip(losses, expected, strict=True))
    assert worst < tolerance, f"loss curve differs by {worst:.2e}\n{losses}\n{expected}"
    for name, value in state.items():
        assert distance(found[name], value) < tolerance, f"state {name} differs"
    print(f"{example.name}: {example.steps} losses as in JAX, {expected[0]:.4f} to {expected[-1]:.4f}")


def check_variants(example):
    """Law 1: every policy, update mode and number of threads gives the same bits."""
    reference = None
    for i, policy in enumerate(POLICIES):
        chosen = [("eager", 2), ("deferred", 2)] + ([("eager", 1)] if policy == "nothing_saveable" else [])
        if "cuda" in example.target:  # each kernel takes long to emulate
            chosen = [(("eager", "deferred")[i % 2], 1 + i // 2)]
        for update, threads in chosen:
            name = f"{policy}.{update}.{threads}"
            result = example.run(name, 3, options=f"policy={policy} mode={update}", threads=threads)
            reference = reference or result
            assert result[0] == reference[0], f"{name}: losses {result[0]} instead of {reference[0]}"
            for key, value in result[1].items():
                assert value.tobytes() == reference[1][key].tobytes(), f"{name}: {key} differs"
    print(f"{example.name}: same bits")


CHECKS = {"gradients": check_gradients, "curve": check_curve, "variants": check_variants}
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", choices=["chargpt", "digits"])
    parser.add_argument("checks", nargs="*", default=[], metavar="|".join(CHECKS))
    parser.add_argument("--target", default="target=cpu")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    subject = Example(given.example, given.target, given.steps)
    for check in given.checks or CHECKS:
        CHECKS[check](subject)
