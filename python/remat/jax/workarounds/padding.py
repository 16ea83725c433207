# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding between elements."""
from typing import Any


def pad(x: Any, value: Any, *, padding_config: Any) -> Any:
    """Pads without interior padding, before which IREE loses another padding: pads in a new dimension after each element, and drops
    what follows the last one."""
    from jax import lax
    for dim, (_, _, interior) in enumerate(padding_config):
        size = x.shape[dim]
        if interior and size:
            x = lax.pad(lax.expand_dims(x, [dim + 1]), value, [(0, interior if d == dim + 1 else 0, 0) for d in range(x.ndim + 1)])
            x = x.reshape(*x.shape[:dim], size * (interior + 1), *x.shape[dim + 2:])
            x = lax.slice_in_dim(x, 0, size * (interior + 1) - interior, axis=dim)
    return lax.pad(x, value, [(low, high, 0) for low, high, _ in padding_config])
