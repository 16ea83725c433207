"""Data for examples/out-of-tree, and its training in NumPy.

    out_of_tree.py data       writes data.npz: one batch, so that every order of it is the same
    out_of_tree.py check      compares out.ckpt, after 40 steps, with the same steps in float64
"""
import sys

import numpy as np

STEPS = 40


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def main():
    rng = np.random.default_rng(3)
    x, truth = rng.normal(size=(64, 4)), rng.normal(size=(4, 3))
    x[:, 3] = 0  # the gradient of a row of the weights is zero
    y = np.log1p(np.exp(x @ truth))
    if sys.argv[1] == "data":
        np.savez("data.npz", x=x.astype("f4"), y=y.astype("f4"))
        return
    w, size = np.zeros((4, 3)), 1.0
    for _ in range(STEPS):
        z = x @ w
        g = x.T @ (np.tanh(np.log1p(np.exp(z)) - y) * sigmoid(z))
        size = 0.5 * size + 0.5 * np.abs(g).mean()
        w -= 0.0005 * size * np.sign(g)
    out = np.load("out.ckpt")
    error = max(np.abs(out["w"] - w).max(), np.abs(out["w.size"] / size - 1))
    print("weights as in NumPy" if error < 1e-5 else f"weights differ by {error:.2g}")


main()
