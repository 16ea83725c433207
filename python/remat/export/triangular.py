# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solutions of triangular equations, by products alone, in the operations of `xp`: of PyTorch or of jax.numpy.

The inverse of a matrix whose diagonal blocks X are inverted, with B below them, is X - X B X. So blocks of twice the size are inverted
by two products, and all of them after as many pairs of products as the size has binary digits.
"""
from typing import Any


def invert_lower(xp: Any, a: Any, has_unit_diagonal: bool) -> Any:
    """Returns the inverse of the lower triangle of `a`; elements above the diagonal are not read."""
    place = xp.arange(a.shape[-1])
    row, column = place[:, None], place[None, :]
    diagonal = xp.where(row == column, xp.ones_like(a) if has_unit_diagonal else a, 1)
    result = xp.where(row == column, 1 / diagonal, 0)
    size = 1
    while size < a.shape[-1]:
        is_below = ((row // size) % 2 == 1) & (row // size == column // size + 1)
        result = result - result @ xp.where(is_below, a, 0) @ result
        size *= 2
    return result


def solve(xp: Any, a: Any, b: Any, *, is_upper: bool, is_left: bool = True, has_unit_diagonal: bool = False) -> Any:
    """Returns x with a x = b, or with x a = b if `a` is not on the left."""
    lower = xp.swapaxes(a, -1, -2) if is_upper else a
    inverse = invert_lower(xp, lower, has_unit_diagonal)
    inverse = xp.swapaxes(inverse, -1, -2) if is_upper else inverse
    return inverse @ b if is_left else b @ inverse
