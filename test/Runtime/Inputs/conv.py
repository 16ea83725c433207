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
    (ph, pw), (sh, sw), (dh, dw), (oh, ow) = padding, strides, dilations, size
    kh, kw = w.shape[:2]
    room = max(sh * oh + dh * kh, x.shape[1] + ph), max(sw * ow + dw * kw, x.shape[2] + pw)
    padded = np.zeros((x.shape[0], *room, x.shape[3]), x.dtype)
    inside = (slice(None), slice(ph, ph + x.shape[1]), slice(pw, pw + x.shape[2]))
    padded[inside] = x
    y, dx, dw_ = np.zeros_like(cotangent), np.zeros_like(padded), np.zeros_like(w)
    groups = x.shape[3] // w.shape[2]
    for g in range(groups):
        c, f = (slice(g * n, (g + 1) * n) for n in (w.shape[2], w.shape[3] // groups))
        for i in range(kh):
            for j in range(kw):
                at = (slice(None), slice(i * dh, i * dh + sh * (oh - 1) + 1, sh),
                      slice(j * dw, j * dw + sw * (ow - 1) + 1, sw), c)
                y[..., f] += padded[at] @ w[i, j, :, f]
                dx[at] += cotangent[..., f] @ w[i, j, :, f].T
                dw_[i, j, :, f] = np.einsum("nhwc,nhwf->cf", padded[at], cotangent[..., f])
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
]
CHANNELS_FIRST = (0, 3, 1, 2), (3, 2, 0, 1)  # of images and filters
rng = np.random.default_rng(0)
for kind, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
    for n, image, c, kernel, f, strides, dilations, padding, *rest in CASES:
        groups = rest[0] if rest else 1
        x = rng.standard_normal((n, *image, c)).astype(kind)
        w = rng.standard_normal((*kernel, c // groups, f)).astype(kind)
        size = [(image[i] + 2 * padding[i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in (0, 1)]
        cotangent = rng.standard_normal((n, *size, f)).astype(kind)
        window = (*strides, *dilations, *padding)
        expected = definition(x.astype(np.float64), w.astype(np.float64), strides, dilations, padding, size,
                              cotangent.astype(np.float64))
        for layout, (images, filters) in (("", (range(4), range(4))), ("_channels_first", CHANNELS_FIRST)):
            if not layout and groups > 1 and not groups == c == f:
                continue  # Channels last, a group has one channel and one filter.
            case = (layout, n, image, c, kernel, f, strides, dilations, padding, groups)
            a, b, ct = (np.ascontiguousarray(v.transpose(o)) for v, o in ((x, images), (w, filters), (cotangent, images)))
            found = []
            for threads in (1, 2):
                runtime.set_threads(threads)
                # What the results held before must not matter.
                y, dx, dw = (np.full_like(v, np.nan) for v in (ct, a, b))
                call(f"conv_2d{layout}", a, b, y, *window)
                call(f"conv_2d{layout}_backward_data", ct, b, dx, *window)
                call(f"conv_2d{layout}_backward_filter", a, ct, dw, *window)
                found.append(b"".join(v.tobytes() for v in (y, dx, dw)))
            assert found[0] == found[1], case
            error = max(np.abs(v - e.transpose(o)).max() / np.abs(e).max()
                        for v, e, o in zip((y, dx, dw), expected, (images, images, filters)))
            assert error < tolerance, (case, error)
print("conv: ok")
