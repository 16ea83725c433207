# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms of JAX, which have no way to linalg."""

import math
from typing import Any

from remat.export.fourier import along, to_real


def fft(x: Any, *, fft_type: Any, fft_lengths: Any, **_: Any) -> Any:
    """`jax.lax.fft`, over as many of the last dimensions as there are `fft_lengths`."""
    import jax
    from jax import numpy as jnp
    name, lengths = jax.lax.FftType(fft_type).name, tuple(fft_lengths)
    if x.size == 0:
        result = jax.eval_shape(lambda x: jax.lax.fft(x, fft_type, lengths), x)
        return jnp.zeros(result.shape, result.dtype)
    direction = 1 if name in ("IFFT", "IRFFT") else -1
    real: Any = x if name == "RFFT" else x.real
    imaginary: Any = None if name == "RFFT" else x.imag
    *others, last = range(-len(lengths), 0)
    if name == "RFFT":
        real, imaginary = along(jnp, last, real, imaginary, direction, lengths[-1] // 2 + 1)
    for axis in others if name in ("RFFT", "IRFFT") else (*others, last):
        real, imaginary = along(jnp, axis, real, imaginary, direction)
    scale = 1 / math.prod(lengths) if direction > 0 else 1.0
    if name == "IRFFT":
        return to_real(jnp, real, imaginary, lengths[-1]) * scale
    return jax.lax.complex(real * scale, imaginary * scale)
