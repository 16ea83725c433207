# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the runtime's products and convolutions beside NumPy's products and PyTorch's convolutions, which are OpenBLAS's and
oneDNN's, all on two threads (tools/benchmark sets them)."""
import ctypes
import importlib.util
import os
import statistics
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
THREADS = 2

# m, n, k, and which operands lie transposed in memory: the products of the workloads, forward, and the gradients of
# activations and weights.
PRODUCTS = [
    (2048, 384, 384, "nn"), (2048, 384, 384, "nt"), (384, 384, 2048, "tn"),
    (2048, 1536, 384, "nn"), (2048, 384, 1536, "nt"), (384, 1536, 2048, "tn"),
    (2048, 1000, 384, "nt"), (1000, 384, 2048, "tn"),
    (384, 1536, 1536, "nn"), (384, 1536, 1536, "nt"), (1536, 1536, 384, "tn"),
    (48, 320, 320, "nn"), (48, 320, 320, "nt"), (320, 320, 48, "tn"),
    (2048, 2048, 2048, "nn"), (2048, 2048, 2048, "nt"), (2048, 2048, 2048, "tn"),
    (8, 2048, 2048, "nn"), (8, 2048, 2048, "nt"), (48, 48, 36864, "tn"),
    (256, 32000, 512, "nn"), (256, 512, 32000, "nt"), (512, 32000, 256, "tn"), (512, 32000, 1024, "tn"),
    (256, 32000, 256, "nt"), (256, 256, 32000, "nn"), (32000, 256, 256, "tn"),
]
# Images, height and width, channels, filters, kernel, stride.
CONVOLUTIONS = [
    (16, 48, 48, 48, 3, 1), (16, 48, 48, 96, 3, 2), (16, 24, 96, 96, 3, 1), (16, 12, 192, 192, 3, 1),
    (16, 6, 384, 384, 3, 1), (32, 32, 64, 64, 3, 1), (32, 4, 512, 512, 3, 1), (8, 56, 64, 256, 1, 1),
    (8, 56, 256, 64, 1, 1), (4, 224, 3, 64, 7, 2),
]


def describe(array):
    """As compiled programs pass it."""
    words = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *(stride // array.itemsize for stride in array.strides)]
    return (ctypes.c_int64 * len(words))(*words)


class Runtime:
    def __init__(self):
        path = BUILD / "lib/libremat_runtime.so"
        if not path.exists():
            raise SystemExit(f"{path} is missing; run tools/setup, or set BUILD_DIR to where it was built")
        self.library = ctypes.CDLL(str(path))

    def __call__(self, name, *arguments):
        converted = (describe(v) if isinstance(v, np.ndarray) else ctypes.c_int64(v) for v in arguments)
        getattr(self.library, f"_mlir_ciface_{name}")(*converted)


def seconds_in_turns(*calls, at_least=0.3):
    """The medians of calls that take turns during some time; each follows one of its own, with its data where that left it."""
    times, start = [[] for _ in calls], time.perf_counter()
    while len(times[0]) < 5 or time.perf_counter() - start < at_least * len(calls):
        for call, found in zip(calls, times):
            call()
            before = time.perf_counter()
            call()
            found.append(time.perf_counter() - before)
    return [statistics.median(found) for found in times]


def seconds(call):
    return seconds_in_turns(call)[0]


def peer_convolution(images, filters, stride):
    """Functions for the forward and both gradients, and who computes them; channels last or first as in `layout`."""
    if importlib.util.find_spec("torch"):
        import torch
        torch.set_num_threads(THREADS)
        aten = torch.ops.aten
        x, w = torch.from_numpy(images.copy()), torch.from_numpy(filters.copy())
        pad = [w.shape[2] // 2] * 2

        def of(layout):
            a, b = (t.contiguous(memory_format=torch.channels_last) if layout == "last" else t for t in (x, w))
            y = torch.nn.functional.conv2d(a, b, stride=stride, padding=pad)

            def backward(mask):
                return aten.convolution_backward(y, a, b, None, [stride] * 2, pad, [1, 1], False, [0, 0], 1, mask)
            return (lambda: torch.nn.functional.conv2d(a, b, stride=stride, padding=pad),
                    lambda: backward([True, False, False]), lambda: backward([False, True, False]))
        return "torch", of
    return None, None


def line(what, flops, ours, peer):
    ratio = peer / ours
    print(f"| {what} | {flops / ours / 1e9:.0f} | {flops / peer / 1e9:.0f} | {ratio:.2f} |", flush=True)
    return ratio


def compare():
    runtime, random = Runtime(), np.random.default_rng(0)
    print("| product (m x n x k, transposed operands) | GFLOP/s | NumPy | ratio |\n|---|---:|---:|---:|")
    ratios = []
    for m, n, k, transposed in PRODUCTS:
        def operand(rows, columns, flag):
            values = random.standard_normal((columns, rows) if flag == "t" else (rows, columns)).astype(np.float32)
            return values.T if flag == "t" else values
        a, b = operand(m, k, transposed[0]), operand(k, n, transposed[1])
        c, out = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
        views = [v[None, None] for v in (a, b, c)]
        ours = seconds(lambda: runtime("remat_gemm_f32", *views, 0))
        ratios.append(line(f"{m} x {n} x {k} {transposed}", 2 * m * n * k, ours, seconds(lambda: np.matmul(a, b, out=out))))
        assert np.allclose(c, out, atol=1e-3 * k ** 0.5)
    print(f"products: geometric mean of ratios {statistics.geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")

    for layout in ("last", "first"):
        suffix = "" if layout == "last" else "_channels_first"
        print(f"| convolution, channels {layout} (images x side x channels -> filters, kernel, stride) | GFLOP/s | torch | ratio |"
              "\n|---|---:|---:|---:|")
        ratios = []
        for n, side, channels, filters, kernel, stride in CONVOLUTIONS:
            x = random.standard_normal((n, channels, side, side)).astype(np.float32)
            w = random.standard_normal((filters, channels, kernel, kernel)).astype(np.float32)
            pad = kernel // 2
            out = (side + 2 * pad - kernel) // stride + 1
            y = random.standard_normal((n, filters, out, out)).astype(np.float32)
            who, peer = peer_convolution(x, w, stride)
            if layout == "last":
                x, y, w = (np.ascontiguousarray(v) for v in
                           (x.transpose(0, 2, 3, 1), y.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)))
            dx, dw = np.empty_like(x), np.empty_like(w)
            window = (stride, stride, 1, 1, pad, pad)
            calls = (("forward", "", (x, w, y)), ("of images", "_backward_data", (y, w, dx)),
                     ("of filters", "_backward_filter", (x, y, dw)))
            peers = peer(layout) if who else [None] * 3
            for (what, name, arguments), other in zip(calls, peers):
                ours = seconds(lambda: runtime(f"remat_conv_2d{suffix}{name}_f32", *arguments, *window))
                flops = 2 * n * out * out * channels * filters * kernel ** 2
                label = f"{n} x {side} x {channels} -> {filters}, {kernel}, {stride}: {what}"
                if other:
                    ratios.append(line(label, flops, ours, seconds(other)))
                else:
                    print(f"| {label} | {flops / ours / 1e9:.0f} | | |", flush=True)
        if ratios:
            print(f"channels {layout}: geometric mean of ratios {statistics.geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")


if __name__ == "__main__":
    compare()
