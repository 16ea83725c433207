# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and their gradients in both layouts: numbers against the definition, summed up tap by tap in NumPy in
float64, bits for 1 and 2 threads."""
import sys

import numpy as np

import runtime

library = runtime.load(sys.argv[1])


def call(name, *arguments):
    runtime.call(library, f"remat_{name}_{'f32' if arguments[0].dtype == np.float32 else 'f64'}", *arguments)


def definition(x, w, strides, dilations, padding, size, cotangent):
    """y, and the gradients of sum(y * cotangent) with respect to x and w."""
    rank = len(size)
    image, kernel = x.shape[1:-1], w.shape[:rank]
    room = [max(s * o + d * k, n + p) for s, o, d, k, n, p in zip(strides, size, dilations, kernel, image, padding)]
    padded = np.zeros((x.shape[0], *room, x.shape[-1]), x.dtype)
    inside = (slice(None), *(slice(p, p + n) for p, n in zip(padding, image)))
    padded[inside] = x
    y, dx, dw_ = np.zeros_like(cotangent), np.zeros_like(padded), np.zeros_like(w)
    groups = x.shape[-1] // w.shape[-2]
    for g in range(groups):
        c, f = (slice(g * n, (g + 1) * n) for n in (w.shape[-2], w.shape[-1] // groups))
        for tap in np.ndindex(*kernel):
            at = (slice(None), *(slice(t * d, t * d + s * (o - 1) + 1, s) for t, d, s, o in zip(tap, dilations, strides, size)), c)
            y[..., f] += padded[at] @ w[(*tap, slice(None), f)]
            dx[at] += cotangent[..., f] @ w[(*tap, slice(None), f)].T
            dw_[(*tap, slice(None), f)] = np.tensordot(padded[at], cotangent[..., f], [range(rank + 1)] * 2)
    return y, dx[inside], dw_


CASES = [  # batch, image, channels, kernel, filters, strides, dilations, padding, groups if there are several
    (2, (8, 8), 3, (3, 3), 5, (1, 1), (1, 1), (1, 1)),
    (2, (9, 7), 4, (3, 3), 5, (2, 2), (1, 1), (1, 1)),
    (3, (8, 8), 16, (1, 1), 8, (2, 2), (1, 1), (0, 0)),
    (2, (8, 8), 16, (1, 1), 8, (1, 1), (1, 1), (0, 0)),
    (2, (11, 12), 5, (3, 2), 7, (2, 3), (2, 1), (2, 0)),
    (1, (16, 16), 300, (3, 3), 17, (1, 1), (1, 1), (1, 1)),
    (2, (7, 7), 300, (3, 3), 400, (2, 2), (1, 1), (1, 1)),
    (40, (9, 9), 6, (7, 7), 3, (2, 2), (1, 1), (3, 3)),
    (2, (40, 40), 3, (3, 3), 70, (1, 1), (1, 1), (1, 1)),
    (3, (2, 3), 5, (3, 3), 4, (1, 1), (3, 3), (3, 3)),
    (2, (24, 24), 70, (1, 1), 80, (1, 1), (1, 1), (0, 0)),
    (2, (9, 8), 70, (3, 3), 70, (1, 1), (1, 1), (1, 1), 70),
    (3, (11, 12), 5, (3, 2), 5, (2, 3), (2, 1), (2, 0), 5),
    (2, (1, 40), 6, (1, 7), 6, (1, 2), (1, 3), (0, 9), 6),
    (2, (40, 1), 6, (7, 1), 6, (2, 1), (3, 1), (9, 0), 6),
    (2, (40, 1), 3, (5, 1), 4, (2, 1), (1, 1), (2, 0)),
    (2, (9, 70), 3, (3, 3), 3, (2, 2), (1, 1), (1, 1), 3),
    (2, (9, 7), 4, (3, 3), 12, (2, 1), (1, 1), (1, 1), 4),
    (2, (9, 7), 6, (3, 3), 9, (1, 2), (1, 2), (1, 2), 3),
    (2, (9, 9), 32, (3, 3), 48, (2, 2), (1, 1), (1, 1), 2),
    (3, (40, 30), 30, (3, 3), 24, (1, 1), (1, 1), (1, 1), 3),
    (3, (8, 8), 32, (1, 1), 32, (1, 1), (1, 1), (0, 0), 4),
    # Of one tap: more channels than filters and the other way round, more terms than a panel holds, strides, padding.
    (3, (9, 7), 96, (1, 1), 20, (1, 1), (1, 1), (0, 0)),
    (3, (9, 7), 20, (1, 1), 96, (1, 1), (1, 1), (0, 0)),
    (2, (5, 4), 600, (1, 1), 33, (1, 1), (1, 1), (0, 0)),
    (2, (5, 4), 33, (1, 1), 600, (1, 1), (1, 1), (0, 0)),
    (3, (8, 9), 17, (1, 1), 40, (2, 3), (1, 1), (0, 0)),
    (2, (6, 5), 12, (1, 1), 9, (1, 1), (1, 1), (1, 2)),
    # One channel, one filter, one position, one row of many positions.
    (2, (10, 9), 1, (5, 5), 32, (1, 1), (1, 1), (2, 2)),
    (2, (10, 9), 24, (3, 3), 1, (1, 1), (1, 1), (1, 1)),
    (9, (3, 3), 70, (3, 3), 50, (1, 1), (1, 1), (0, 0)),
    (5, (1, 1), 20, (1, 1), 30, (1, 1), (1, 1), (0, 0)),
    (5, (1, 1), 30, (1, 1), 20, (1, 1), (1, 1), (0, 0)),
    (1, (1, 700), 5, (1, 3), 7, (1, 1), (1, 1), (0, 1)),
    (1, (1, 1300), 3, (1, 2), 6, (1, 2), (1, 1), (0, 0)),
    (2, (700, 1), 5, (3, 1), 7, (1, 1), (2, 1), (2, 0)),
    # Images smaller than filters; filters with more positions than a panel has rows; positions that no tap meets.
    (7, (2, 2), 20, (5, 5), 30, (1, 1), (1, 1), (2, 2)),
    (2, (24, 30), 2, (23, 24), 3, (1, 1), (1, 1), (4, 4)),
    (2, (24, 30), 2, (23, 24), 3, (2, 2), (1, 1), (8, 8)),
    (3, (5, 6), 8, (2, 2), 9, (3, 3), (1, 1), (4, 4)),
    (3, (4, 4), 130, (3, 3), 65, (1, 1), (1, 1), (1, 1)),
    # Three dimensions: strides, dilations, residues that meet no tap, more taps than a panel holds, one tap, one slice.
    (2, (6, 7, 5), 4, (3, 3, 3), 6, (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    (2, (6, 7, 5), 4, (2, 3, 1), 6, (2, 1, 3), (1, 2, 1), (0, 1, 1)),
    (2, (8, 8, 8), 16, (3, 3, 3), 24, (2, 2, 2), (1, 1, 1), (1, 1, 1)),
    (2, (5, 4, 6), 7, (2, 2, 2), 9, (3, 3, 3), (1, 1, 1), (1, 2, 0)),
    (1, (9, 9, 9), 3, (9, 9, 9), 5, (1, 1, 1), (1, 1, 1), (4, 4, 4)),
    (2, (4, 5, 3), 40, (1, 1, 1), 50, (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    (2, (4, 5, 3), 50, (1, 1, 1), 40, (2, 1, 1), (1, 1, 1), (0, 0, 0)),
    (2, (1, 9, 8), 5, (1, 3, 3), 6, (1, 2, 1), (1, 1, 1), (0, 1, 1)),
    (2, (9, 8, 1), 5, (3, 3, 1), 6, (1, 2, 1), (1, 1, 1), (1, 1, 0)),
    (3, (1, 1, 1), 20, (1, 1, 1), 30, (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    (2, (6, 5, 7), 5, (3, 2, 3), 5, (1, 2, 2), (2, 1, 1), (2, 0, 1), 5),
    (2, (6, 5, 7), 70, (3, 3, 3), 70, (1, 1, 1), (1, 1, 1), (1, 1, 1), 70),
    (2, (6, 5, 7), 6, (2, 3, 3), 9, (1, 2, 1), (1, 1, 2), (0, 1, 2), 3),
    (2, (4, 5, 6), 32, (3, 3, 3), 48, (2, 2, 1), (1, 1, 1), (1, 1, 1), 2),
]
rng = np.random.default_rng(0)


def random_case(rank):
    """Small enough to be computed by the definition at once, of any proportions."""
    def draw(low, high):
        return tuple(int(v) for v in rng.integers(low, high + 1, rank))

    while True:
        image, kernel, strides, dilations, padding = draw(1, 9), draw(1, 4), draw(1, 3), draw(1, 3), draw(0, 3)
        if all(n + 2 * p > d * (k - 1) for n, k, d, p in zip(image, kernel, dilations, padding)):
            break
    groups = int(rng.choice([1, 1, 2, 5]))
    c, f = (groups * int(rng.choice([1, 2, 3, 9, 40])) for _ in range(2))
    if rng.random() < 0.2:
        c = f = groups
    return int(rng.integers(1, 4)), image, c, kernel, f, strides, dilations, padding, groups


CASES += [random_case(rank) for rank in (2, 3) for _ in range(60)]


def channels_first(rank):
    """The order of dimensions of images and of filters."""
    return (0, rank + 1, *range(1, rank + 1)), (rank + 1, rank, *range(rank))


for kind, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
    for n, image, c, kernel, f, strides, dilations, padding, *rest in CASES:
        groups = rest[0] if rest else 1
        x = rng.standard_normal((n, *image, c)).astype(kind)
        w = rng.standard_normal((*kernel, c // groups, f)).astype(kind)
        rank = len(image)
        size = [(image[i] + 2 * padding[i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
        cotangent = rng.standard_normal((n, *size, f)).astype(kind)
        window = (*strides, *dilations, *padding)
        expected = definition(x.astype(np.float64), w.astype(np.float64), strides, dilations, padding, size,
                              cotangent.astype(np.float64))
        in_order = (range(rank + 2),) * 2
        for layout, (images, filters) in (("", in_order), ("_channels_first", channels_first(rank))):
            if not layout and groups > 1 and not groups == c == f:
                continue  # Channels last, a group has one channel and one filter.
            case = (layout, n, image, c, kernel, f, strides, dilations, padding, groups)
            a, b, ct = (np.ascontiguousarray(v.transpose(o)) for v, o in ((x, images), (w, filters), (cotangent, images)))
            found = []
            for threads in (1, 2):
                runtime.set_threads(threads)
                # Results must not depend on their previous contents.
                y, dx, dw = (np.full_like(v, np.nan) for v in (ct, a, b))
                call(f"conv_{rank}d{layout}", a, b, y, *window)
                call(f"conv_{rank}d{layout}_backward_data", ct, b, dx, *window)
                call(f"conv_{rank}d{layout}_backward_filter", a, ct, dw, *window)
                found.append(b"".join(v.tobytes() for v in (y, dx, dw)))
            assert found[0] == found[1], case
            error = max(np.abs(v - e.transpose(o)).max() / (np.abs(e).max() or 1)
                        for v, e, o in zip((y, dx, dw), expected, (images, images, filters)))
            assert error < tolerance, (case, error)
print("conv: ok")
