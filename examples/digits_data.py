# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the data of digits.mlir from scikit-learn's bundled handwritten digits.

    digits_data.py TRAIN.npz TEST.npz

1797 images of 8 x 8 in shuffled order: 400 for the test, the others for training. Each file has `images`
(float32, N x 8 x 8 x 1, between 0 and 1) and `labels` (int32, N).
"""
import sys

import numpy as np
from sklearn.datasets import load_digits

TEST = 400


def splits():
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.images[order, :, :, None] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    return ({"images": images[TEST:], "labels": labels[TEST:]}, {"images": images[:TEST], "labels": labels[:TEST]})


if __name__ == "__main__":
    for path, arrays in zip(sys.argv[1:3], splits(), strict=True):
        np.savez(path, **arrays)
        print(f"{path}: {len(arrays['labels'])} images")
