# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra in PyTorch, of which torch-mlir lowers nothing, column by column. There is no loop: each column is operations of
its own, so that matrices are small, of up to LARGEST rows."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from remat.export import ExportError

aten = torch.ops.aten

LARGEST = 128
# Of that size or less, blocks are not split further.
BLOCK = 16


def check_size(shape: Sequence[Any]) -> None:
    if not all(isinstance(size, int) for size in shape) or max(shape) > LARGEST:
        raise ExportError(f"linear algebra is unrolled for matrices of up to {LARGEST} rows and columns, but here they have "
                          f"the shape {list(shape)}")


def of_small(compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute`, whose first operand is a matrix, if that is small enough and everything is real."""
    @functools.wraps(compute)
    def checked(a: Tensor, *operands: Any, **options: Any) -> Any:
        if not all(x.is_floating_point() for x in (a, *operands) if isinstance(x, Tensor)):
            return NotImplemented
        check_size(a.shape[-2:])
        return compute(a, *operands, **options)
    return checked


def nothing(*sizes: int) -> Tensor:
    """In the place of what PyTorch returns for its own derivatives and checks."""
    return torch.zeros(sizes, dtype=torch.int32)


def solve_lower(a: Tensor, b: Tensor, unit_diagonal: bool) -> Tensor:
    """x with a x = b, where what is above the diagonal of `a` does not count."""
    size = a.shape[-1]
    if size > BLOCK:
        half = -(-size // (2 * BLOCK)) * BLOCK
        first = solve_lower(a[..., :half, :half], b[..., :half, :], unit_diagonal)
        rest = b[..., half:, :] - a[..., half:, :half] @ first
        return torch.cat([first, solve_lower(a[..., half:, half:], rest, unit_diagonal)], -2)
    rows = []
    for i in range(size):
        row = b[..., :1, :] if unit_diagonal else b[..., :1, :] / a[..., i:i + 1, i:i + 1]
        b = b[..., 1:, :] - a[..., i + 1:, i:i + 1] * row
        rows.append(row)
    return torch.cat(rows, -2)


@of_small
def solve_triangular(a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    if not left:
        return solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = a.expand(*shape, *a.shape[-2:]), b.expand(*shape, *b.shape[-2:])
    if upper:
        return solve_lower(a.flip(-1, -2), b.flip(-2), unitriangular).flip(-2)
    return solve_lower(a, b, unitriangular)


def triangular_solve(b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    x = solve_triangular(a.mT if transpose else a, b, upper=upper != transpose, unitriangular=unitriangular)
    return x if x is NotImplemented else (x, a)


def factor_cholesky(a: Tensor) -> Tensor:
    size = a.shape[-1]
    if size > BLOCK:
        half = -(-size // (2 * BLOCK)) * BLOCK
        first = factor_cholesky(a[..., :half, :half])
        below = solve_lower(first, a[..., half:, :half].mT, False).mT
        second = factor_cholesky(a[..., half:, half:] - below @ below.mT)
        return torch.cat([F.pad(first, (0, size - half)), torch.cat([below, second], -1)], -2)
    columns = []
    for j in range(size):
        column = a[..., :, :1] / torch.sqrt(a[..., :1, :1])
        a = a[..., 1:, 1:] - column[..., 1:, :] * column[..., 1:, :].mT
        columns.append(F.pad(column, (0, 0, j, 0)))
    return torch.cat(columns, -1)


@of_small
def cholesky(x: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """What is not positive definite has NaNs in it, where PyTorch raises an error."""
    # The gradient is that of a symmetric matrix, as PyTorch's.
    factor = factor_cholesky((x + x.mT) / 2)
    return factor.mT if upper else factor, nothing(*x.shape[:-2])


def cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Any:
    first = solve_triangular(factor.mT if upper else factor, b, upper=False)
    return first if first is NotImplemented else solve_triangular(factor if upper else factor.mT, first, upper=True)


def eliminate(a: Tensor, b: Tensor | None = None) -> tuple[list[Tensor], Tensor, Tensor]:
    """Rows from the diagonal on of the upper triangle that `a` becomes, with those of `b` behind; the diagonal; and the sign of the
    permutation of rows. The largest pivot comes first."""
    size = a.shape[-1]
    rest = a if b is None else torch.cat([a, b], -1)
    rows, sign = [], torch.ones(a.shape[:-2], dtype=a.dtype)
    for k in range(size):
        column = rest[..., :, 0]
        pivot = column.abs().argmax(-1, keepdim=True)
        is_pivot = (torch.arange(size - k) == pivot).unsqueeze(-1)
        row = torch.where(is_pivot, rest, 0).sum(-2, keepdim=True)
        # The first row takes the pivot's place.
        rest = torch.where(is_pivot, rest[..., :1, :], rest)[..., 1:, :]
        sign = torch.where(pivot[..., 0] == 0, sign, -sign)
        first = row[..., :1]
        factors = rest[..., :, :1] / torch.where(first == 0, 1, first)
        rest = rest[..., :, 1:] - factors * row[..., 1:]
        rows.append(row)
    return rows, torch.stack([row[..., 0, 0] for row in rows], -1), sign


def solve_by_elimination(a: Tensor, b: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    size = a.shape[-1]
    rows, _, _ = eliminate(a.expand(*shape, size, size), b.expand(*shape, *b.shape[-2:]))
    upper = torch.cat([F.pad(row[..., :size - k], (k, 0)) for k, row in enumerate(rows)], -2)
    return solve_triangular(upper, torch.cat([row[..., size - k:] for k, row in enumerate(rows)], -2), upper=True)


def has_one_right_side(a: Tensor, b: Tensor) -> bool:
    """Whether `b` of the equations a x = b is a vector, or one for each matrix of a batch."""
    return bool(b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]))


@of_small
def solve(a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    is_vector = has_one_right_side(a, b)
    columns = b.unsqueeze(-1) if is_vector else b
    x = solve_by_elimination(a, columns) if left else solve_by_elimination(a.mT, columns.mT).mT
    return x.squeeze(-1) if is_vector else x, a, nothing(*a.shape[:-1]), nothing(*a.shape[:-2])


@of_small
def inverse(a: Tensor, *, check_errors: bool = False) -> Any:
    return solve_by_elimination(a, torch.eye(a.shape[-1], dtype=a.dtype)), nothing(*a.shape[:-2])


@of_small
def determinant(a: Tensor) -> Any:
    _, diagonal, sign = eliminate(a)
    return sign * diagonal.prod(-1), a, nothing(*a.shape[:-1])


@of_small
def logarithm_of_determinant(a: Tensor) -> Any:
    _, diagonal, sign = eliminate(a)
    return sign * torch.sign(diagonal).prod(-1), diagonal.abs().log().sum(-1), a, nothing(*a.shape[:-1])


@of_small
def qr(a: Tensor, mode: str = "reduced") -> Any:
    """By reflections, with LAPACK's signs."""
    size, count = a.shape[-2], min(a.shape[-2:])
    q, rows, rest = torch.eye(size, dtype=a.dtype).expand(*a.shape[:-2], size, size), [], a
    for k in range(count):
        if rest.shape[-2] > 1:  # nothing is reflected where nothing is below the diagonal
            column = rest[..., :, :1]
            first = column[..., :1, :]
            below = (column[..., 1:, :] * column[..., 1:, :]).sum(-2, keepdim=True)
            is_zero = below == 0
            length = torch.sqrt(torch.where(is_zero, 1, first * first + below))
            head = torch.where(is_zero, 1, first + torch.where(first < 0, -length, length))
            vector = torch.cat([head, column[..., 1:, :]], -2)
            factor = torch.where(is_zero, 0, 2 / (head * head + below))
            rest = rest - factor * vector * (vector.mT @ rest)
            turned = q[..., :, k:]
            q = torch.cat([q[..., :, :k], turned - factor * (turned @ vector) * vector.mT], -1)
        rows.append(F.pad(rest[..., :1, :], (k, 0)))
        rest = rest[..., 1:, 1:]
    r = torch.cat(rows, -2)
    if mode == "complete":
        return q, F.pad(r, (0, 0, 0, size - count))
    return (torch.empty(0, dtype=a.dtype) if mode == "r" else q[..., :, :count]), r


PADE = 13
LARGEST_NORM = 5.371920351148152  # of which that approximant has 16 digits


def matrix_exponential(a: Tensor) -> Tensor:
    """By Pade's approximant and as many squares as the norm asks for (Higham, "The scaling and squaring method for the matrix exponential
    revisited"). So many are there that norms may be up to 1375; of others, the result is no number."""
    squares = 8
    norm = torch.ops.remat.stop_gradient(a).abs().sum(-2).amax(-1)[..., None, None]
    needed = torch.ceil(torch.log2((norm / LARGEST_NORM).clamp(min=1.0)))
    a = a * torch.exp2(-needed)
    coefficients = [1.0]
    for k in range(1, PADE + 1):
        coefficients.append(coefficients[-1] * (PADE - k + 1) / (k * (2 * PADE - k + 1)))
    identity = torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)
    power, even, odd, square = identity, coefficients[0] * identity, coefficients[1] * identity, a @ a
    for k in range(2, PADE + 1, 2):
        power = power @ square
        even = even + coefficients[k] * power
        odd = odd + coefficients[k + 1] * power if k < PADE else odd
    odd = a @ odd
    result = solve_by_elimination(even - odd, even + odd)
    for k in range(squares):
        result = torch.where(k < needed, result @ result, result)
    return torch.where(needed > squares, math.nan, result)


@of_small
def exponential(a: Tensor) -> Tensor:
    return matrix_exponential(a.to(torch.float64)).to(a.dtype)


def reflect(a: Tensor, factors: Tensor) -> Tensor:
    """The first columns of the product of the reflections of which `a` has the vectors below its diagonal."""
    size, count = a.shape[-2:]
    result = torch.eye(size, count, dtype=a.dtype).expand(*a.shape[:-2], size, count)
    for k in reversed(range(factors.shape[-1])):
        below = a[..., k + 1:, k:k + 1]
        vector = torch.cat([torch.zeros_like(a[..., :k, :1]), torch.ones_like(a[..., :1, :1]), below], -2)
        result = result - factors[..., k:k + 1].unsqueeze(-1) * vector * (vector.mT @ result)
    return result


def refuse(what: str, instead: str) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise ExportError(f"{what} has no rule, because it iterates until it converges; {instead}")
    return fail


def first_of(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that also checks for errors, which would be an effect of the model."""
    def result(*operands: Any, **options: Any) -> Any:
        found = compute(*operands, **options)
        return found if found is NotImplemented else found[0]
    return result


TABLE: dict[Any, Callable[..., Any]] = {
    aten.linalg_cholesky_ex.default: cholesky, aten.cholesky_solve.default: cholesky_solve,
    aten.linalg_solve_triangular.default: solve_triangular, aten.triangular_solve.default: triangular_solve,
    aten._linalg_solve_ex.default: solve, aten.linalg_inv_ex.default: inverse, aten._linalg_det.default: determinant,
    aten._linalg_slogdet.default: logarithm_of_determinant, aten.linalg_qr.default: qr,
    aten.linalg_matrix_exp.default: exponential, aten.linalg_householder_product.default: of_small(reflect),
    **{operator: refuse("a singular value decomposition", "use torch.linalg.qr, cholesky or solve, norms by 'fro', and for the largest singular "
                        "value some steps of power iteration (torch.nn.utils.parametrizations.spectral_norm)")
       for operator in (aten._linalg_svd.default, aten.linalg_svd.default, aten.linalg_svdvals.default)},
    **{operator: refuse("an eigenvalue decomposition", "use torch.linalg.cholesky, qr, solve, slogdet or matrix_exp")
       for operator in (aten._linalg_eigh.default, aten.linalg_eigh.default, aten.linalg_eigvalsh.default, aten.linalg_eig.default,
                        aten.linalg_eigvals.default)},
    **{operator: refuse("a pseudo-inverse", "solve the normal equations, torch.linalg.solve(a.mT @ a, a.mT)")
       for operator in (aten.linalg_pinv.atol_rtol_tensor, aten.linalg_pinv.atol_rtol_float, aten.linalg_pinv.default)},
    aten.linalg_cholesky.default: first_of(cholesky), aten.linalg_inv.default: first_of(inverse), aten.inverse.default: first_of(inverse),
    aten.linalg_solve.default: first_of(solve), aten.cholesky.default: lambda x, upper=False: first_of(cholesky)(x, upper=upper),
}
