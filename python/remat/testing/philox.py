# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The random operations of the remat dialect in NumPy, bit for bit.

A state is (key, counter), two Python integers of 64 bits. Every draw returns
its values and the state afterwards:

    state = philox.init(42)
    mask, state = philox.bernoulli(state, (8, 256), 0.9)

docs: `remat-lower-random` says which element takes which word. bfloat16, which
NumPy lacks, is returned as its bits in uint16.
"""

import numpy as np

_M64 = (1 << 64) - 1


def philox4x32_10(counter, key):
    """Four uint32 words for four words of counter and two of key (arrays)."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.asarray(word, np.uint64) for word in key]
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    for _ in range(10):
        product0 = c[0] * np.uint64(0xD2511F53)
        product1 = c[2] * np.uint64(0xCD9E8D57)
        c = [
            (product1 >> shift) ^ c[1] ^ k[0],
            product1 & low,
            (product0 >> shift) ^ c[3] ^ k[1],
            product0 & low,
        ]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return [word.astype(np.uint32) for word in c]


def _split(value):
    return value & 0xFFFFFFFF, (value >> 32) & 0xFFFFFFFF


def init(seed):
    return seed & _M64, 0


def fold_in(state, data):
    key, counter = state
    words = philox4x32_10([*_split(counter), *_split(data & _M64)], _split(key))
    return int(words[0]) | int(words[1]) << 32, 0


def _blocks(state, count):
    """Words of the first `count` blocks, as an array of count x 4."""
    key, counter = state
    numbers = np.uint64(counter) + np.arange(count, dtype=np.uint64)
    counter = [numbers & np.uint64(0xFFFFFFFF), numbers >> np.uint64(32), 0 * numbers, 0 * numbers]
    words = philox4x32_10(counter, [np.full(count, word, np.uint64) for word in _split(key)])
    return np.stack(words, axis=-1) if count else np.zeros((0, 4), np.uint32)


def _words(state, shape, per_element):
    """Words for each element (size x per_element) and the next state."""
    size = int(np.prod(shape, dtype=np.int64))
    count = -(-size * per_element // 4)
    words = _blocks(state, count).reshape(-1, per_element)[:size]
    return words, (state[0], (state[1] + count) & _M64)


def _wide(words):
    return words[..., 0].astype(np.uint64) | words[..., 1].astype(np.uint64) << np.uint64(32)


def bits(state, shape, width=32):
    words, state = _words(state, shape, 2 if width == 64 else 1)
    values = _wide(words) if width == 64 else words[:, 0]
    return values.astype(f"uint{width}").reshape(shape), state


def bernoulli(state, shape, p):
    words, state = _words(state, shape, 1)
    return (words[:, 0] < np.uint64(int(p * 2**32))).reshape(shape), state


def _round(values, dtype):
    """Rounds f32 or f64 values to `dtype`, to nearest even."""
    if dtype != "bfloat16":
        return values.astype(dtype)
    raw = values.astype(np.float32).view(np.uint32)
    return ((raw + np.uint32(0x7FFF) + (raw >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def _number(values, dtype):
    """The values of an array that `_round` made, exactly, as f64."""
    if dtype != "bfloat16":
        return values.astype(np.float64)
    return (values.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


_UNIFORM_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def _range(low, high, dtype):
    """The smallest number of `dtype` >= low and the largest one < high, as f64."""
    toward = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
    if dtype in toward:
        kind = toward[dtype]
        first, last = kind(low), kind(high)
        if first < low:
            first = np.nextafter(first, kind(np.inf))
        if last >= high:
            last = np.nextafter(last, kind(-np.inf))
        return float(first), float(last)
    # bfloat16: the upper half of f32 patterns, which are ordered by magnitude.
    grid = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32)
    grid = np.sort(grid[np.isfinite(grid)]).astype(np.float64)
    return grid[grid >= low][0], grid[grid < high][-1]


def uniform(state, shape, low=0.0, high=1.0, dtype="float32"):
    words, state = _words(state, shape, 2 if dtype == "float64" else 1)
    count = _UNIFORM_BITS[dtype]
    compute = np.float64 if dtype == "float64" else np.float32
    if dtype == "float64":
        source = _wide(words) >> np.uint64(64 - count)
    else:
        source = words[:, 0] >> np.uint32(32 - count)
    u = source.astype(compute) * compute(2.0**-count)
    if (low, high) != (0.0, 1.0):
        u = u * compute(high - low) + compute(low)
        first, last = _range(low, high, dtype)
        u = np.clip(_number(_round(u, dtype), dtype), first, last)
    return _round(u, dtype).reshape(shape), state


def _polynomial(x, coefficients):
    result = x.dtype.type(coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + x.dtype.type(coefficient)
    return result


def _log(x):
    real = x.dtype.type
    double = real is np.float64
    integer = np.int64 if double else np.int32
    mantissa = 52 if double else 23
    one, root = (0x3FF0000000000000, 0x3FE6A09E667F3BCD) if double else (0x3F800000, 0x3F3504F3)
    offset = x.view(integer) + integer(one - root)
    k = ((offset >> integer(mantissa)) - integer(1023 if double else 127)).astype(real)
    f = ((offset & integer((1 << mantissa) - 1)) + integer(root)).view(real) - real(1)
    if not double:
        f2 = f * f
        y = _polynomial(f, [7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                            -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                            2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1])
        y = y * f * f2
        y = y + k * real(-2.12194440e-4)
        y = y - f2 * real(0.5)
        return (f + y) + k * real(0.693359375)
    s = f / (f + 2.0)
    z = s * s
    w = z * z
    even = w * _polynomial(w, [1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01])
    odd = z * _polynomial(w, [1.479819860511658591e-01, 1.818357216161805012e-01,
                              2.857142874366239149e-01, 6.666666666666735130e-01])
    half = f * f * 0.5
    inner = s * (half + (odd + even)) + k * 1.90821492927058770002e-10
    return k * 6.93147180369123816490e-01 - ((half - inner) - f)


def _sin_cos_of_turns(fraction, count):
    """sin and cos of 2 pi fraction / 2^count for an array of int32 or int64."""
    integer = fraction.dtype.type
    real = np.float64 if integer is np.int64 else np.float32
    quarter = (fraction + integer(1 << (count - 3))) >> integer(count - 2)
    left = fraction - (quarter << integer(count - 2))
    x = left.astype(real) * real(np.ldexp(np.pi / 2, 2 - count))
    z = x * x
    if real is np.float64:
        s = _polynomial(z, [1.58969099521155010221e-10, -2.50507602534068634195e-08,
                            2.75573137070700676789e-06, -1.98412698298579493134e-04,
                            8.33333333332248946124e-03, -1.66666666666666324348e-01])
        sine = x + z * x * s
        c = _polynomial(z, [-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                            -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                            -1.38888888888741095749e-03, 4.16666666666666019037e-02])
        cosine = (z * z * c - z * real(0.5)) + real(1)
    else:
        sine = _polynomial(z, [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]) * z * x + x
        c = _polynomial(z, [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2])
        cosine = (c * z * z - z * real(0.5)) + real(1)
    odd = quarter & integer(1) != 0
    sine, cosine = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return (np.where(quarter & integer(2) != 0, -sine, sine),
            np.where((quarter + integer(1)) & integer(2) != 0, -cosine, cosine))


def normal(state, shape, mean=0.0, stddev=1.0, dtype="float32"):
    size = int(np.prod(shape, dtype=np.int64))
    double = dtype == "float64"
    count = -(-size // (2 if double else 4))
    words = _blocks(state, count)
    if double:
        pairs = np.stack([_wide(words[:, :2]), _wide(words[:, 2:])], axis=-1) >> np.uint64(11)
        pairs = pairs.astype(np.int64)
    else:
        pairs = (words.reshape(-1, 2) >> np.uint32(8)).astype(np.int32)
    real, width = (np.float64, 53) if double else (np.float32, 24)
    first = (pairs[:, 0] + 1).astype(real) * real(2.0**-width)
    radius = np.sqrt(_log(first) * real(-2.0))
    sine, cosine = _sin_cos_of_turns(np.ascontiguousarray(pairs[:, 1]), width)
    values = np.stack([radius * cosine, radius * sine], axis=-1).reshape(-1)[:size]
    if stddev != 1.0:
        values = values * real(stddev)
    if mean != 0.0:
        values = values + real(mean)
    return _round(values, dtype).reshape(shape), (state[0], (state[1] + count) & _M64)
