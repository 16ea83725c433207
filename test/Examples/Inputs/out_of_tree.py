# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data for examples/out-of-tree, and its training in NumPy.

    out_of_tree.py data              writes data.npz: one batch, so that every order of it is the same
    out_of_tree.py check             compares out.ckpt, after 40 steps of train.mlir, with the same steps in float64
    out_of_tree.py repeat FILE ...   compares FILEs, after 40 steps of repeat.mlir, with the same, and their bits
"""
import sys

import numpy as np
from remat.testing import philox

STEPS = 40


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softplus(z):
    return np.log1p(np.exp(z))


def report(name, error):
    print(f"{name} as in NumPy" if error < 1e-5 else f"{name} differ by {error:.2g}")


def train(x, y):
    w, size = np.zeros((4, 3)), 1.0
    for _ in range(STEPS):
        z = x @ w
        g = x.T @ (np.tanh(softplus(z) - y) * sigmoid(z))
        size = 0.5 * size + 0.5 * np.abs(g).mean()
        w -= 0.0005 * size * np.sign(g)
    return w, size


def train_repeat(x, y):
    w, rng = np.zeros((4, 4)), philox.init(3)
    for _ in range(STEPS):
        h, tape = x, []
        for _ in range(3):
            z = h @ w
            mask, rng = philox.bernoulli(rng, z.shape, 0.75)
            tape.append((h, z, mask))
            h = np.where(mask, softplus(z), 0)
        g, dw = np.tanh(h - y), 0
        for h, z, mask in reversed(tape):
            dz = np.where(mask, g, 0) * sigmoid(z)
            dw = dw + h.T @ dz
            g = dz @ w.T
        w -= 0.002 * dw
    return w


def main():
    rng = np.random.default_rng(3)
    x, truth = rng.normal(size=(64, 4)), rng.normal(size=(4, 3))
    x[:, 3] = 0  # the gradient of a row of the weights is zero
    y, z = softplus(x @ truth), softplus(rng.normal(size=(64, 4)))
    if sys.argv[1] == "data":
        np.savez("data.npz", x=x.astype("f4"), y=y.astype("f4"), z=z.astype("f4"))
    elif sys.argv[1] == "check":
        w, size = train(x, y)
        out = np.load("out.ckpt")
        report("weights", max(np.abs(out["w"] - w).max(), np.abs(out["w.size"] / size - 1)))
    else:
        found = [np.load(file)["w"] for file in sys.argv[2:]]
        report("weights of the loop", np.abs(found[0] - train_repeat(x, z)).max())
        print(len({w.tobytes() for w in found}), "value of the weights in", len(found), "programs")


main()
