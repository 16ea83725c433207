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
    w = np.zeros((4, 3))
    for _ in range(STEPS):
        z = x @ w
        w -= 0.01 * np.sign(x.T @ (np.tanh(np.log1p(np.exp(z)) - y) * sigmoid(z)))
    error = np.abs(np.load("out.ckpt")["w"] - w).max()
    print("weights as in NumPy" if error < 1e-6 else f"weights differ by {error:.2g}")


main()
