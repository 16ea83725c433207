# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products: numbers against NumPy in float64, bits for 1, 2 and 3 threads."""
import sys

import numpy as np

import runtime

library = runtime.load(sys.argv[1])
random = np.random.default_rng(0)


def view(shape, transposed, dtype):
    b, r, c = shape
    x = random.standard_normal((b, c, r) if transposed else (b, r, c)).astype(dtype)
    return x.transpose(0, 2, 1) if transposed else x


def gemm(a, b, c, accumulate, threads):
    runtime.set_threads(threads)
    # Same memory layout, so that a transposed result is computed transposed.
    out = c.transpose(0, 2, 1).copy().transpose(0, 2, 1) if c.strides[1] < c.strides[2] else c.copy()
    runtime.call(library, "remat_gemm_f32" if a.dtype == np.float32 else "remat_gemm_f64", a[:, None], b[:, None], out[:, None],
                 int(accumulate))
    return out


shapes = [(1, 1, 1, 1), (1, 1, 7, 300), (1, 300, 1, 17), (1, 64, 64, 64), (1, 129, 65, 33), (3, 5, 4, 0),
          (8, 128, 128, 64), (7, 16, 16, 600), (1, 1000, 600, 300), (1, 513, 1025, 129), (64, 9, 10, 11),
          (1, 4096, 48, 16), (1, 24, 2100, 700), (0, 3, 3, 3), (1, 0, 4, 4)]
for batch, m, n, k in shapes:
    for flags in range(8):
        dtype = np.float64 if (m + flags) % 5 == 0 else np.float32
        a = view((batch, m, k), flags & 1, dtype)
        b = view((batch, k, n), flags & 2, dtype)
        c = view((batch, m, n), flags & 4, dtype)
        for accumulate in (False, True):
            got = gemm(a, b, c, accumulate, 1)
            for threads in (2, 3):
                assert got.tobytes() == gemm(a, b, c, accumulate, threads).tobytes(), (batch, m, n, k, flags, threads)
            want = a.astype(np.float64) @ b.astype(np.float64) + (c if accumulate else 0)
            bound = (k + 2) * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b) + np.abs(c))
            assert (np.abs(got - want) <= bound + 1e-300).all(), (batch, m, n, k, flags)
print("gemm: ok")
