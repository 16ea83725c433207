# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra in JAX, which lowers to calls of LAPACK, as loops over columns and, where that is most of the work, products of
blocks. Each is a function whose derivative is JAX's own rule (jax_custom.py), not that of the loop: the one of a Cholesky factor
is two triangular solutions."""

import functools
from collections.abc import Callable
from typing import Any

# Of that size or less, blocks are not split further.
BLOCK = 32


def over_batches(function: Callable[..., Any], *operands: Any) -> Any:
    """`function` of matrices, for each of those in the first dimensions."""
    import jax
    for _ in range(operands[0].ndim - 2):
        function = jax.vmap(function)
    return function(*operands)


# --- Triangular matrices ---------------------------------------------------------------------------


def solve_lower(a: Any, b: Any, unit_diagonal: bool) -> Any:
    """x with a x = b, where what is above the diagonal of `a` does not count."""
    from jax import lax
    from jax import numpy as jnp
    size = a.shape[0]
    if size > BLOCK:
        half = -(-size // (2 * BLOCK)) * BLOCK
        first = solve_lower(a[:half, :half], b[:half], unit_diagonal)
        return jnp.concatenate([first, solve_lower(a[half:, half:], b[half:] - a[half:, :half] @ first, unit_diagonal)])

    def step(i: Any, x: Any) -> Any:
        # Rows from i on are zero still.
        row = lax.dynamic_slice_in_dim(a, i, 1)
        rest = lax.dynamic_slice_in_dim(b, i, 1) - row @ x
        if not unit_diagonal:
            rest = rest / lax.dynamic_slice_in_dim(row, i, 1, 1)
        return lax.dynamic_update_slice_in_dim(x, rest, i, 0)

    return lax.fori_loop(0, size, step, jnp.zeros_like(b))


def triangular_solve(a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool,
                     **_: Any) -> Any:
    from jax import numpy as jnp

    def transposed(x: Any) -> Any:
        return jnp.swapaxes(x, -1, -2)

    if not left_side:
        return transposed(triangular_solve(a, transposed(b), left_side=True, lower=lower, transpose_a=not transpose_a,
                                           conjugate_a=conjugate_a, unit_diagonal=unit_diagonal))
    if transpose_a:
        a, lower = transposed(a), not lower
    if not lower:
        a, b = jnp.flip(a, (-1, -2)), jnp.flip(b, -2)
    x = over_batches(functools.partial(solve_lower, unit_diagonal=unit_diagonal), a, b)
    return x if lower else jnp.flip(x, -2)


# --- Factorizations ----------------------------------------------------------------------------------


def factor_cholesky(a: Any) -> Any:
    from jax import lax
    from jax import numpy as jnp
    size = a.shape[0]
    if size > BLOCK:
        half = -(-size // (2 * BLOCK)) * BLOCK
        first = factor_cholesky(a[:half, :half])
        below = solve_lower(first, a[half:, :half].T, unit_diagonal=False).T
        second = factor_cholesky(a[half:, half:] - below @ below.T)
        above = jnp.zeros((half, size - half), a.dtype)
        return jnp.concatenate([jnp.concatenate([first, above], 1), jnp.concatenate([below, second], 1)])
    rows = jnp.arange(size)

    def step(j: Any, state: Any) -> Any:
        rest, factor = state
        column = lax.dynamic_slice_in_dim(rest, j, 1, 1)
        column = jnp.where(rows[:, None] >= j, column / jnp.sqrt(lax.dynamic_slice_in_dim(column, j, 1)), 0)
        return rest - column * column.T, lax.dynamic_update_slice_in_dim(factor, column, j, 1)

    return lax.fori_loop(0, size, step, (a, jnp.zeros_like(a)))[1]


def cholesky(x: Any, **_: Any) -> Any:
    """All of it is NaN where the matrix is not positive definite."""
    from jax import numpy as jnp
    factor = over_batches(factor_cholesky, x)
    is_positive = jnp.isfinite(jnp.trace(factor, axis1=-2, axis2=-1))[..., None, None]
    return jnp.where(is_positive, factor, jnp.nan)


def swap(x: Any, i: Any, j: Any) -> Any:
    """`x` with its rows i and j exchanged."""
    from jax import lax
    from jax import numpy as jnp
    rows = jnp.arange(x.shape[0]).reshape(-1, *[1] * (x.ndim - 1))
    first, second = (lax.dynamic_slice_in_dim(x, row, 1) for row in (i, j))
    return jnp.where(rows == i, second, jnp.where(rows == j, first, x))


def factor_lu(a: Any) -> Any:
    from jax import lax
    from jax import numpy as jnp
    count = min(a.shape)
    rows, columns = jnp.arange(a.shape[0], dtype="int32"), jnp.arange(a.shape[1])

    def step(k: Any, state: Any) -> Any:
        a, pivots, permutation = state
        column = lax.dynamic_slice_in_dim(a, k, 1, 1)[:, 0]
        pivot = jnp.argmax(jnp.where(rows >= k, jnp.abs(column), -1)).astype("int32")
        a, permutation = swap(a, k, pivot), swap(permutation, k, pivot)
        row, column = lax.dynamic_slice_in_dim(a, k, 1), lax.dynamic_slice_in_dim(a, k, 1, 1)
        divisor = lax.dynamic_slice_in_dim(column, k, 1)
        factors = jnp.where(rows[:, None] > k, column / jnp.where(divisor == 0, 1, divisor), 0)
        a = jnp.where((rows[:, None] > k) & (columns == k), factors, a - factors * jnp.where(columns > k, row, 0))
        return a, jnp.where(jnp.arange(count) == k, pivot, pivots), permutation

    return lax.fori_loop(0, count, step, (a, jnp.zeros(count, "int32"), rows))


def lu(x: Any, **_: Any) -> Any:
    return over_batches(factor_lu, x)


def lu_pivots_to_permutation(pivots: Any, *, permutation_size: int) -> Any:
    import jax
    from jax import numpy as jnp

    def permute(pivots: Any) -> Any:
        return jax.lax.fori_loop(0, pivots.shape[0], lambda i, order: swap(order, i, pivots[i]),
                                 jnp.arange(permutation_size, dtype="int32"))

    for _ in range(pivots.ndim - 1):
        permute = jax.vmap(permute)
    return permute(pivots)


def factor_qr(a: Any, full_matrices: bool) -> tuple[Any, Any]:
    """By reflections, with LAPACK's signs."""
    from jax import lax
    from jax import numpy as jnp
    count = min(a.shape)
    rows = jnp.arange(a.shape[0])[:, None]

    def step(k: Any, state: Any) -> Any:
        rest, q = state
        column = jnp.where(rows >= k, lax.dynamic_slice_in_dim(rest, k, 1, 1), 0)
        first = lax.dynamic_slice_in_dim(column, k, 1)
        length = jnp.sqrt((column * column).sum())
        vector = column + jnp.where(rows == k, jnp.where(first < 0, -length, length), 0)
        # Nothing is reflected where nothing is below the diagonal.
        factor = jnp.where((jnp.where(rows > k, column, 0) == 0).all(), 0, 2 / jnp.maximum((vector * vector).sum(), tiny))
        return rest - factor * vector * (vector.T @ rest), q - factor * (q @ vector) * vector.T

    tiny = jnp.finfo(a.dtype).tiny
    rest, q = lax.fori_loop(0, count, step, (a, jnp.eye(a.shape[0], dtype=a.dtype)))
    return (q, jnp.triu(rest)) if full_matrices else (q[:, :count], jnp.triu(rest[:count]))


def qr(x: Any, *, full_matrices: bool, **_: Any) -> Any:
    return over_batches(functools.partial(factor_qr, full_matrices=full_matrices), x)


# --- Singular values and eigenvalues -----------------------------------------------------------------


def orthogonalize(a: Any) -> tuple[Any, Any]:
    """(a v, v) with an orthogonal v such that the columns of a v are, too, the longest first: by rotations of pairs of columns
    (Hestenes), half of them at a time. `a` has no fewer rows than columns."""
    import jax
    from jax import numpy as jnp
    rows, count = a.shape
    half = (count + 1) // 2
    tolerance = jnp.finfo(a.dtype).eps
    # A column of zeros beside an odd number of columns is rotated with none.
    stacked = jnp.concatenate([jnp.pad(a, ((0, 0), (0, 2 * half - count))), jnp.eye(count, 2 * half, dtype=a.dtype)])

    def rotate(_: Any, state: Any) -> Any:
        left, right, worst = state
        x, y = left[:rows], right[:rows]
        xx, yy, xy = (x * x).sum(0), (y * y).sum(0), (x * y).sum(0)
        angle = jnp.abs(xy) / jnp.sqrt(jnp.maximum(xx, tiny)) / jnp.sqrt(jnp.maximum(yy, tiny))
        is_rotated = angle > tolerance
        ratio = (yy - xx) / (2 * jnp.where(is_rotated, xy, 1))
        tangent = jnp.where(is_rotated, jnp.where(ratio < 0, -1, 1) / (jnp.abs(ratio) + jnp.sqrt(1 + ratio * ratio)), 0)
        cosine = 1 / jnp.sqrt(1 + tangent * tangent)
        sine = cosine * tangent
        left, right = cosine * left - sine * right, sine * left + cosine * right
        # Each column meets each other one in 2 half - 1 turns; the first one stays in its place.
        turned = jnp.concatenate([left[:, :1], right[:, :1], left[:, 1:-1]], 1) if half > 1 else left
        right = jnp.concatenate([right[:, 1:], left[:, -1:]], 1) if half > 1 else right
        return turned, right, jnp.maximum(worst, angle.max())

    def sweep(state: Any) -> Any:
        left, right, _, number = state
        return *jax.lax.fori_loop(0, 2 * half - 1, rotate, (left, right, jnp.zeros((), a.dtype))), number + 1

    tiny = jnp.finfo(a.dtype).tiny
    start = stacked[:, :half], stacked[:, half:], jnp.ones((), a.dtype), 0
    left, right, _, _ = jax.lax.while_loop(lambda state: (state[2] > 4 * tolerance) & (state[3] < 30), sweep, start)
    both = jnp.concatenate([left, right], 1)
    order = jnp.argsort(-(both[:rows] ** 2).sum(0), stable=True)
    both = both[:, order][:, :count]
    return both[:rows], both[rows:]


def factor_svd(a: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    from jax import numpy as jnp
    if a.shape[0] < a.shape[1]:
        values, u, vt = factor_svd(a.T, full_matrices)
        return values, vt.T, u.T
    scale = jnp.abs(a).max()
    scale = jnp.where((scale > 0) & jnp.isfinite(scale), scale, 1)
    product, v = orthogonalize(a / scale)
    values = jnp.sqrt((product * product).sum(0))
    # Columns of zeros have a direction that way, too.
    q, r = factor_qr(product, full_matrices)
    signs = jnp.where(jnp.diagonal(r) < 0, -1, 1).astype(a.dtype)
    rest = q.shape[1] - signs.shape[0]
    return values * scale, q * jnp.concatenate([signs, jnp.ones(rest, a.dtype)]), v.T


def svd(x: Any, *, full_matrices: bool, compute_uv: bool, **_: Any) -> Any:
    result = over_batches(functools.partial(factor_svd, full_matrices=full_matrices and compute_uv), x)
    return result if compute_uv else result[:1]


def factor_eigh(a: Any, lower: bool) -> tuple[Any, Any]:
    """By the singular values of a matrix whose eigenvalues are larger, so that none is negative."""
    from jax import numpy as jnp
    half = jnp.tril(a) if lower else jnp.triu(a)
    a = half + half.T - jnp.diag(jnp.diagonal(a))
    shift = jnp.abs(a).sum(1).max()
    shift = jnp.where(shift > 0, shift, 1)
    product, v = orthogonalize(a / shift + jnp.eye(a.shape[0], dtype=a.dtype))
    values = (jnp.sqrt((product * product).sum(0)) - 1) * shift
    return v[:, ::-1], values[::-1]


def eigh(x: Any, *, lower: bool, **_: Any) -> Any:
    return over_batches(functools.partial(factor_eigh, lower=lower), x)


# --- Tridiagonal matrices ------------------------------------------------------------------------------


def solve_tridiagonal(below: Any, diagonal: Any, above: Any, b: Any) -> Any:
    """Gaussian elimination that exchanges neighbouring rows where that makes factors smaller, as LAPACK does; the first of `below`
    and the last of `above` do not count. Rows of the upper triangle have two elements beside the diagonal then."""
    from jax import lax
    from jax import numpy as jnp
    zero = jnp.zeros((), b.dtype)
    above = above.at[-1].set(0)

    def eliminate(row: Any, following: Any) -> tuple[Any, Any]:
        (d, u, v, right), (low, next_d, next_u, next_right) = row, following
        is_swapped = jnp.abs(low) > jnp.abs(d)
        factor = jnp.where(is_swapped, d, low) / jnp.where(is_swapped, low, d)
        pivot = low, next_d, next_u, next_right
        rest = next_d - factor * u, next_u - factor * v, zero, next_right - factor * right
        swapped = u - factor * next_d, v - factor * next_u, zero, right - factor * next_right
        return tuple(jnp.where(is_swapped, x, y) for x, y in zip(swapped, rest)), \
            tuple(jnp.where(is_swapped, x, y) for x, y in zip(pivot, row))

    def substitute(known: Any, row: Any) -> tuple[Any, Any]:
        (first, second), (d, u, v, right) = known, row
        x = (right - u * first - v * second) / d
        return (x, first), x

    start = diagonal[0], above[0], zero, b[0]
    last, rows = lax.scan(eliminate, start, (below[1:], diagonal[1:], above[1:], b[1:]))
    rows = tuple(jnp.concatenate([some, end[None]]) for some, end in zip(rows, last))
    nothing = jnp.zeros_like(b[0])
    return lax.scan(substitute, (nothing, nothing), rows, reverse=True)[1]


def tridiagonal_solve(below: Any, diagonal: Any, above: Any, b: Any, **parameters: Any) -> Any:
    import jax
    function = solve_tridiagonal
    for _ in range(diagonal.ndim - 1):
        function = jax.vmap(function)
    return function(below, diagonal, above, b) if diagonal.shape[-1] else b


# What JAX has a rule for, and what computes it; a linear solution is what it consists of.
ALGORITHMS: dict[str, Callable[..., Any] | None] = {
    "cholesky": cholesky, "custom_linear_solve": None, "eigh": eigh, "lu": lu, "qr": qr, "svd": svd,
    "triangular_solve": triangular_solve, "tridiagonal_solve": tridiagonal_solve}
# What calls LAPACK, and what to do instead.
REFUSED = {"eig": "the eigenvalues of a matrix that need not be symmetric", "schur": "a Schur decomposition",
           "hessenberg": "a Hessenberg decomposition", "tridiagonal": "the tridiagonal form of a matrix",
           "householder_product": "a product of Householder reflections", "geqrf": "a QR factorization as reflections",
           "geqp3": "a QR factorization with pivoting", "ormqr": "a product of reflections with a matrix"}


def refuse(*_: Any, name: str, **__: Any) -> Any:
    from remat.export import ExportError
    raise ExportError(f"there is no way to MLIR for {REFUSED[name]} ({name}): compute that outside of the loss and pass it with the "
                      "batch; a step computes cholesky, eigh, lu, qr, svd and solutions of linear equations")


def is_factorization(equation: Any) -> bool:
    return equation.primitive.name in ALGORITHMS


def check(equation: Any) -> None:
    """Raises an error where `equation` is linear algebra that nothing here computes."""
    from remat.export import ExportError
    name, params = equation.primitive.name, equation.params
    if name != "custom_linear_solve" and any(v.aval.dtype.kind == "c" for v in equation.invars):
        raise ExportError(f"{name} of a complex matrix has no way to MLIR; write it with real and imaginary parts")
    if params.get("pivoting"):
        raise ExportError("a QR factorization with pivoting has no way to MLIR; there is one without")
    if params.get("subset_by_index") not in (None, (0, min(equation.invars[0].aval.shape[-2:]))):
        raise ExportError(f"{name} of a part of the values has no way to MLIR; compute all of them and slice")
