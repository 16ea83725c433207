# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms as products with matrices, in JAX's or PyTorch's operations: of n = a b numbers by those of a and of b
numbers (Cooley and Tukey), so that there are n (a + b) multiplications, or n^2 if n is a prime. `xp` is jax.numpy or torch, and
complex numbers are two arrays, of real and of imaginary parts."""

import math
from typing import Any

from remat.errors import ExportError

# Of fewer numbers, one product is as fast as two and what is between them.
DIRECT = 64
# Products of two positions are 32-bit integers in JAX.
LARGEST = 46340


def rotations(xp: Any, rows: int, columns: int, size: int, like: Any) -> tuple[Any, Any]:
    """Cosine and sine of 2 pi j k / size. Whole turns are left out, so that angles are small."""
    turns = xp.arange(rows)[:, None] * xp.arange(columns) % size
    angles = turns * xp.ones((), dtype=like.dtype) * (2 * math.pi / size)
    return xp.cos(angles), xp.sin(angles)


def find_factor(size: int) -> int:
    """The largest one up to the square root; 1 if the transform is best done as it is."""
    return 1 if size <= DIRECT else max(a for a in range(1, math.isqrt(size) + 1) if size % a == 0)


def check_size(size: int) -> None:
    if size > LARGEST:
        raise ExportError(f"a Fourier transform of {size} numbers, a prime, would be a product with {size}^2 numbers; pad "
                          "to a size with small factors")


def transform(xp: Any, real: Any, imaginary: Any, direction: int, count: int | None = None) -> tuple[Any, Any]:
    """The first `count` sums over the last dimension, with exp(direction 2 pi i j k / n). `imaginary` may be None for zeros."""
    size = real.shape[-1]
    count = size if count is None else count
    first = find_factor(size)
    if first == 1:
        check_size(size)
        cosine, sine = rotations(xp, size, count, size, real)
        sine = sine * direction
        if imaginary is None:
            return real @ cosine, real @ sine
        return real @ cosine - imaginary @ sine, imaginary @ cosine + real @ sine
    second = size // first

    def take_apart(x: Any) -> Any:
        return None if x is None else xp.swapaxes(x.reshape(*x.shape[:-1], first, second), -1, -2)

    real, imaginary = transform(xp, take_apart(real), take_apart(imaginary), direction)
    cosine, sine = rotations(xp, second, first, size, real)
    sine = sine * direction
    real, imaginary = real * cosine - imaginary * sine, imaginary * cosine + real * sine
    found = transform(xp, xp.swapaxes(real, -1, -2), xp.swapaxes(imaginary, -1, -2), direction)
    real, imaginary = (xp.swapaxes(x, -1, -2).reshape(*x.shape[:-2], size)[..., :count] for x in found)
    return real, imaginary


def to_real(xp: Any, real: Any, imaginary: Any, size: int) -> Any:
    """The sums, with exp(2 pi i j k / size), over all frequencies of a real signal, of which the first half is given."""
    if find_factor(size) == 1:
        check_size(size)
        count = real.shape[-1]
        number = xp.arange(count)
        # There are two of each but of the first one and, of an even size, the last.
        times = xp.where((number == 0) | (2 * number == size), 1, 2) * xp.ones((), dtype=real.dtype)
        cosine, sine = rotations(xp, count, size, size, real)
        return (real * times) @ cosine - (imaginary * times) @ sine
    rest = slice(1, size - real.shape[-1] + 1)
    real = xp.concatenate([real, xp.flip(real[..., rest], (-1,))], -1)
    imaginary = xp.concatenate([imaginary, -xp.flip(imaginary[..., rest], (-1,))], -1)
    return transform(xp, real, imaginary, 1)[0]


def along(xp: Any, axis: int, real: Any, imaginary: Any, direction: int, count: int | None = None) -> tuple[Any, Any]:
    """`transform` over the dimension `axis`."""
    imaginary = None if imaginary is None else xp.moveaxis(imaginary, axis, -1)
    real, imaginary = transform(xp, xp.moveaxis(real, axis, -1), imaginary, direction, count)
    return xp.moveaxis(real, -1, axis), xp.moveaxis(imaginary, -1, axis)
