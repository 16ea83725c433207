# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of PyTorch that torch-mlir has no lowering of, or lowers to a dialect of its own (`tm_tensor`), by others. They compute the
same; a scatter that does not add compares each place with each update. Those of which torch-mlir computes something else are in
`workarounds`."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from remat.errors import ExportError
from remat.export import orders
from remat.torch import refused
from remat.torch.scatter import add_at

aten = torch.ops.aten


def view(x: Tensor, shape: list[int]) -> Tensor:
    """Attention leaves its result with other strides than the operation had when the model was traced."""
    return NotImplemented if x.is_contiguous() else x.clone(memory_format=torch.contiguous_format).view(shape)


def pad(x: Tensor, widths: list[int], value: float = 0) -> Tensor:
    """By slices where widths are negative."""
    if not all(isinstance(width, int) for width in widths) or min(widths, default=0) >= 0:
        return NotImplemented
    for i in range(0, len(widths), 2):
        dim, low, high = x.ndim - 1 - i // 2, min(widths[i], 0), min(widths[i + 1], 0)
        x = x.narrow(dim, -low, x.shape[dim] + low + high)
    return aten.constant_pad_nd(x, [max(width, 0) for width in widths], value)


def adaptive_maximum(x: Tensor, sizes: list[int]) -> Any:
    """By windows as wide as the widest, in which the last element stands again: torch-mlir has windows of one size at equal distances."""
    inputs = x.shape[-len(sizes):]
    if not all(isinstance(size, int) for size in (*inputs, *sizes)):
        return NotImplemented
    if all(n % m == 0 for n, m in zip(inputs, sizes)) and x.ndim == len(sizes) + 2:
        return NotImplemented
    first_dim, flat = x.ndim - len(sizes), torch.zeros((), dtype=torch.int64)
    for i, (n, m) in enumerate(zip(inputs, sizes)):
        number = torch.arange(m)
        first, end = number * n // m, ((number + 1) * n + m - 1) // m
        width = max(((k + 1) * n + m - 1) // m - k * n // m for k in range(m))
        places = torch.minimum(first[:, None] + torch.arange(width), end[:, None] - 1)
        x = x.index_select(first_dim + 2 * i, places.reshape(-1)).unflatten(first_dim + 2 * i, (m, width))
        flat = flat[..., None, None] * n + places
    order = [*range(first_dim), *range(first_dim, x.ndim, 2), *range(first_dim + 1, x.ndim, 2)]
    windows = x.permute(order).flatten(-len(sizes))
    values, choice = windows.max(-1, keepdim=True)
    flat = flat.permute([d - first_dim for d in order[first_dim:]]).flatten(-len(sizes))
    return values.squeeze(-1), flat.expand(windows.shape).gather(-1, choice).squeeze(-1)


def empty(sizes: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    """Of zeros: a tensor that the model fills later, at places that the compiler does not know to be all of them."""
    return torch.zeros(sizes, dtype=dtype)


def empty_strided(sizes: list[int], strides: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    """Not by torch.zeros, which is decomposed to this and a fill."""
    return aten.expand(aten.scalar_tensor(0, dtype=dtype or torch.get_default_dtype()), sizes)


def empty_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.zeros(x.shape, dtype=dtype or x.dtype)


def new_empty(x: Tensor, sizes: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.zeros(sizes, dtype=dtype or x.dtype)


def norm(x: Tensor, order: float | None = None, dim: list[int] | None = None, keepdim: bool = False, *,
         dtype: torch.dtype | None = None) -> Tensor:
    """That of vectors. Of matrices, only Frobenius' is one."""
    if order is not None and (len(dim) if dim is not None else x.ndim) != 1:
        return NotImplemented
    return torch.linalg.vector_norm(x, 2 if order is None else order, dim, keepdim, dtype=dtype)


def matrix_norm(x: Tensor, order: str = "fro", dim: Sequence[int] | None = (-2, -1), keepdim: bool = False, *,
                dtype: torch.dtype | None = None) -> Tensor:
    if order != "fro":
        return refused.TABLE[aten._linalg_svd.default]()
    return torch.linalg.vector_norm(x, 2, dim, keepdim, dtype=dtype)


def distances_of_pairs(x: Tensor, order: float = 2) -> Tensor:
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return torch.linalg.vector_norm(x[first] - x[second], order, -1)


def distances(x: Tensor, other: Tensor, order: float, mode: int | None) -> Tensor:
    return torch.linalg.vector_norm(x.unsqueeze(-2) - other.unsqueeze(-3), order, -1)


def product_of_many(x: Any, count: int) -> Any:
    return math.prod([x] * (count - 1), start=x)


def power(x: Tensor, exponent: float) -> Tensor:
    """Of integers, by products."""
    if not x.is_floating_point() and isinstance(exponent, float):
        return torch.pow(x.to(torch.result_type(x, exponent)), exponent)
    if x.is_floating_point() or not isinstance(exponent, int) or not 0 < exponent < 64:
        return NotImplemented
    return product_of_many(x, exponent)


def power_of(base: float, x: Tensor) -> Tensor:
    """With whole exponents: torch-mlir has no conversion of these."""
    if x.is_floating_point() or x.is_complex():
        return NotImplemented
    return torch.pow(base, x.to(torch.result_type(x, base))) if isinstance(base, float) else power_of_whole(torch.full((), base, dtype=x.dtype), x)


def power_of_whole(x: Tensor, exponent: Tensor) -> Tensor:
    """Of integers by integers."""
    kind = torch.result_type(x, exponent)
    if kind.is_floating_point or kind.is_complex:
        return NotImplemented
    return torch.round(torch.pow(x.to(torch.float64), exponent.to(torch.float64))).to(kind)


def fmod(x: Tensor, divisor: Any) -> Tensor:
    """Whose derivative is 1 at 0, too, where that of |x| is 0."""
    rest = torch.remainder(torch.where(x < 0, -x, x), divisor.abs() if isinstance(divisor, Tensor) else abs(divisor))
    return torch.where(x < 0, -rest, rest)


def frequencies(count: int, spacing: float = 1, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    number = torch.arange(count)
    return torch.where(number > (count - 1) // 2, number - count, number).to(dtype or torch.get_default_dtype()) * (1 / (count * spacing))


def frequencies_of_real(count: int, spacing: float = 1, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.arange(count // 2 + 1).to(dtype or torch.get_default_dtype()) * (1 / (count * spacing))


def addmv(x: Tensor, matrix: Tensor, vector: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return beta * x + alpha * (matrix @ vector)


def distance(x: Tensor, y: Tensor, order: float = 2) -> Tensor:
    return torch.linalg.vector_norm(x - y, order)


def angle(x: Tensor) -> Tensor:
    return torch.where(x < 0, math.pi, 0 * x) if x.is_floating_point() else NotImplemented


def put(x: Tensor, places: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    return x.reshape(-1).index_put([places.reshape(-1)], source.reshape(-1), accumulate).reshape(x.shape)


def take(x: Tensor, places: Tensor) -> Tensor:
    return x.reshape(-1).gather(0, places.reshape(-1)).reshape(places.shape)


def search(ordered: Tensor, x: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None,
           sorter: Tensor | None = None) -> Tensor:
    """How many of the ordered numbers are less, or, from the right, not greater."""
    ordered = ordered if sorter is None else ordered.gather(-1, sorter)
    own, others = x.unsqueeze(-1), ordered if ordered.ndim == 1 else ordered.unsqueeze(-2)
    return (others <= own if right or side == "right" else others < own).sum(-1).to(torch.int32 if out_int32 else torch.int64)


def isfinite(x: Tensor) -> Tensor:
    return x.abs() < math.inf if x.is_floating_point() else torch.ones_like(x, dtype=torch.bool)


def hypot(x: Tensor, y: Tensor) -> Tensor:
    return torch.sqrt(x * x + y * y)


def histogram(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """By comparisons of each number with each bin, as experts are counted."""
    low, high = (x.amin(), x.amax()) if min == max else (torch.full((), min, dtype=x.dtype), torch.full((), max, dtype=x.dtype))
    if min == max:  # of one number, as PyTorch does
        low, high = torch.where(low == high, low - 1, low), torch.where(low == high, high + 1, high)
    x = x.reshape(-1, 1)
    place = torch.floor((x - low) / (high - low) * bins).clamp(max=bins - 1)
    return ((place == torch.arange(bins, dtype=x.dtype)) & (x >= low) & (x <= high)).to(x.dtype).sum(0)


def cumulative(combine: Callable[[Tensor, Tensor], Tensor], neutral: float) -> Callable[..., Tensor]:
    def compute(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
        size = x.shape[dim] if x.ndim else None
        if not isinstance(size, int):
            return NotImplemented
        x = x.to(dtype or (x.dtype if x.is_floating_point() or x.is_complex() else torch.int64))
        distance = 1
        while distance < size:  # each element combines `distance` elements up to its own
            before = torch.full_like(x.narrow(dim, 0, distance), neutral)
            x = combine(x, torch.cat([before, x.narrow(dim, 0, size - distance)], dim))
            distance *= 2
        return x
    return compute


def with_number(operator: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def compute(x: Tensor, other: int) -> Tensor:
        return operator(x, torch.full((), other, dtype=torch.result_type(x, other)))
    return compute


# --- Losses and tables ----------------------------------------------------------------------------


def multilabel_margin_loss(x: Tensor, target: Tensor, reduction: int) -> Any:
    """Ignores labels after the first -1, which PyTorch's own decomposition (2.13) counts."""
    if not x.ndim:
        return NotImplemented
    rows, labels = x.reshape(-1, x.shape[-1]), target.reshape(-1, x.shape[-1])
    numbers = torch.arange(rows.shape[1])
    holds = torch.cumsum((labels == -1).to(torch.int64), -1) == 0
    places = torch.where(holds, labels, 0)
    is_target = ((places.unsqueeze(-1) == numbers) & holds.unsqueeze(-1)).any(1)
    margins = (1 - rows.gather(-1, places).unsqueeze(-1) + rows.unsqueeze(1)).clamp(min=0) / rows.shape[1]
    losses = torch.where(holds.unsqueeze(-1) & ~is_target.unsqueeze(1), margins, 0).sum((1, 2))
    losses = losses.mean() if reduction == 1 else losses.sum() if reduction == 2 else losses.reshape(x.shape[:-1])
    return losses, is_target.to(x.dtype).reshape(target.shape)


def count_equal(indices: Tensor) -> Tensor:
    flat = indices.reshape(-1)
    return (flat == flat.unsqueeze(-1)).sum(-1).reshape(indices.shape)


def embedding(table: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Whose gradient of a row is divided by how often that is read."""
    if not scale_grad_by_freq:
        return NotImplemented
    rows = aten.embedding(table, indices, padding_idx)
    fixed = torch.ops.remat.stop_gradient(rows)
    return fixed + (rows - fixed) / count_equal(indices).unsqueeze(-1).to(rows.dtype)


def embedding_bag(table: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool,
                  weights: Tensor | None, include_last_offset: bool, padding_idx: int | None) -> Any:
    """The sum, mean or maximum of the rows of each bag. PyTorch divides gradients by the frequencies of other rows (2.13)."""
    if scale_grad_by_freq:
        return NotImplemented
    offsets, rows = offsets[:-1] if include_last_offset else offsets, table[indices]
    numbers = torch.arange(indices.shape[0])
    bag = (offsets <= numbers.unsqueeze(-1)).sum(-1) - 1
    counts = indices != (-1 if padding_idx is None else padding_idx)
    number = torch.zeros(offsets.shape[0], dtype=torch.float64).index_add(0, bag, counts.to(torch.float64))
    if mode == 2:
        holds = (bag == torch.arange(offsets.shape[0]).unsqueeze(-1)) & counts
        largest = torch.where(holds.unsqueeze(-1), rows, -math.inf).amax(1)
        result = torch.where(number.unsqueeze(-1) > 0, largest, 0)
    else:
        rows = torch.where(counts.unsqueeze(-1), rows if weights is None else rows * weights.unsqueeze(-1), 0)
        result = torch.zeros(offsets.shape[0], table.shape[1], dtype=rows.dtype).index_add(0, bag, rows)
        if mode == 1:
            result = result / number.unsqueeze(-1).clamp(min=1).to(rows.dtype)
    return result, bag, number.to(torch.int64), bag


def running(best: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """The largest, or smallest, element so far, and the last place of it."""
    def compute(x: Tensor, dim: int) -> Any:
        size = x.shape[dim] if x.ndim else None
        if not isinstance(size, int) or not x.is_floating_point():
            return NotImplemented
        moved = x.movedim(dim, -1)
        values = cumulative(best, -math.inf if best is torch.maximum else math.inf)(moved, -1)
        places = cumulative(torch.maximum, 0)(torch.where((moved == values) | moved.isnan(), torch.arange(size), 0), -1)
        return moved.gather(-1, places).movedim(-1, dim), places.movedim(-1, dim)
    return compute


# --- Integers of 8 bits ---------------------------------------------------------------------------


def is_of_8_bits(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype in (torch.uint8, torch.int8)


def truth(operator: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def compute(x: Tensor, *options: Any) -> Tensor:
        return operator(x != 0, *options).to(x.dtype if x.dtype == torch.uint8 else torch.bool) if is_of_8_bits(x) else NotImplemented
    return compute


# --- Sorts --------------------------------------------------------------------------------------


def in_order(x: Tensor, dim: int, descending: bool, first: int, count: int) -> Any:
    """The elements of the ranks from `first` on along `dim`, and their places; equal ones by place."""
    size = x.shape[dim] if x.ndim else None
    if not isinstance(size, int):
        return NotImplemented
    moved = x.movedim(dim, -1)
    fixed = torch.ops.remat.stop_gradient(moved) if x.is_floating_point() else moved
    places = orders.order(torch, [fixed], descending, first, count).to(torch.int64)
    return moved.gather(-1, places).movedim(-1, dim), places.movedim(-1, dim)


def sort(x: Tensor, dim: int = -1, descending: bool = False) -> Any:
    return in_order(x, dim, descending, 0, x.shape[dim] if x.ndim else 0)


def sort_stable(x: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any:
    return sort(x, dim, descending)


def top_k(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return in_order(x, dim, largest, 0, k)


def kth_value(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    found = in_order(x, dim, False, k - 1, 1)
    return found if keepdim or found is NotImplemented else tuple(part.squeeze(dim) for part in found)


def median(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    size = x.shape[dim] if x.ndim else None
    return kth_value(x, (size + 1) // 2, dim, keepdim) if isinstance(size, int) else NotImplemented


def median_of_all(x: Tensor) -> Tensor:
    """A NaN, if there is one. Equals share the derivative."""
    size = x.numel()
    if not isinstance(size, int) or not size:
        return NotImplemented
    value = kth_value(x.reshape(-1), (size + 1) // 2, 0)[0]
    return torch.where(x.isnan().any(), math.nan, share(x.reshape(-1), value, [0])) if x.is_floating_point() else value


def median_of_numbers(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Without NaNs, if there are others."""
    size = x.shape[dim] if x.ndim else None
    if not isinstance(size, int) or not x.is_floating_point():
        return NotImplemented
    middle = ((~x.isnan()).sum(dim, keepdim=True) - 1).clamp(min=0) // 2
    values, places = in_order(x, dim, False, 0, size)
    found = values.gather(dim, middle), places.gather(dim, middle)
    return found if keepdim else tuple(part.squeeze(dim) for part in found)


def median_of_all_numbers(x: Tensor) -> Any:
    if not x.is_floating_point():
        return NotImplemented
    return share(x.reshape(-1), median_of_numbers(x.reshape(-1), 0)[0], [0])


def share(x: Tensor, value: Tensor, dims: Sequence[int], keepdim: bool = False) -> Tensor:
    """`value`, one of the elements of `x` along `dims`, of which all that are equal share the derivative."""
    kept = value if keepdim else functools.reduce(lambda v, d: v.unsqueeze(d), sorted(d % x.ndim for d in dims), value)
    kept = torch.ops.remat.stop_gradient(kept)
    is_equal = x == kept
    rest = torch.where(torch.logical_and(is_equal, kept.abs() < math.inf), x - kept, 0).sum(list(dims), keepdim=keepdim)
    return torch.ops.remat.stop_gradient(value) + rest / is_equal.sum(list(dims), keepdim=keepdim).clamp(min=1)


def most_frequent(x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The least of the most frequent elements, and its last place."""
    size = x.shape[dim] if x.ndim else None
    if not isinstance(size, int):
        return NotImplemented
    moved, numbers = x.movedim(dim, -1), torch.arange(size)
    is_equal = moved.unsqueeze(-1) == moved.unsqueeze(-2)
    count = is_equal.sum(-1)
    is_most = count == count.amax(-1, keepdim=True)
    is_before = orders.is_less(torch, moved.unsqueeze(-2), moved.unsqueeze(-1)) & is_most.unsqueeze(-2)
    places = torch.where(is_most & ~is_before.any(-1), numbers, -1).amax(-1, keepdim=True)
    found = moved.gather(-1, places).movedim(-1, dim), places.movedim(-1, dim)
    return found if keepdim else tuple(part.squeeze(dim) for part in found)


# --- Scatters -----------------------------------------------------------------------------------


def add_rows(x: Tensor, dim: int, places: Tensor, rows: Tensor, accumulate: bool) -> Tensor:
    """`x` with `rows` added, or put, to its elements at `places` of `dim`, of which there is one for each element of `rows`, or
    one for each row. Of several at one place, the last one stays."""
    if not x.ndim or not rows.ndim:
        return NotImplemented
    if accumulate and x.is_floating_point():
        return add_at(x, dim, places, rows)
    size, count = x.shape[dim], rows.shape[dim]
    x, rows = x.movedim(dim, -1), rows.movedim(dim, -1)
    if not isinstance(size, int) or not isinstance(count, int) or x.shape[:-1] != rows.shape[:-1]:
        return NotImplemented
    places = places if places.ndim == 1 else places.movedim(dim, -1)
    hits = places.unsqueeze(-2) == torch.arange(size)[:, None]
    if accumulate:
        return (x + torch.where(hits, rows.unsqueeze(-2), torch.zeros((), dtype=rows.dtype)).sum(-1).to(x.dtype)).movedim(-1, dim)
    last = torch.where(hits, torch.arange(count), -1).amax(-1) if count else torch.full((size,), -1)
    there = last.clamp(min=0)
    new = rows.index_select(-1, there) if there.ndim == 1 else rows.gather(-1, there)
    return (torch.where(last >= 0, new.to(x.dtype), x) if count else x).movedim(-1, dim)


def narrow_to(source: Tensor, index: Tensor) -> Tensor:
    return source[tuple(slice(0, size) for size in index.shape)]


def scatter(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return add_rows(x, dim, index, narrow_to(source, index), False)


def scatter_value(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    return add_rows(x, dim, index, torch.full(index.shape, value, dtype=x.dtype), False)


def scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return add_rows(x, dim, index, narrow_to(source, index), True)


def scatter_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    size = x.shape[dim] if x.ndim else None
    if reduce not in ("sum", "mean", "amax", "amin") or not isinstance(size, int) or reduce != "sum" and not x.is_floating_point():
        return NotImplemented
    source = narrow_to(source, index)
    places, rows, own = index.movedim(dim, -1), source.movedim(dim, -1), x.movedim(dim, -1)
    if places.shape[:-1] != own.shape[:-1]:
        return NotImplemented
    count = add_rows(torch.zeros(own.shape, dtype=torch.float64), -1, places, torch.ones(rows.shape, dtype=torch.float64), True)
    if reduce in ("sum", "mean"):
        result = add_rows(own if include_self else torch.where(count == 0, own, 0), -1, places, rows, True)
        if reduce == "mean":
            result = result / (count + 1 if include_self else count.clamp(min=1)).to(x.dtype)
    else:
        sign, hits = 1 if reduce == "amax" else -1, places.unsqueeze(-2) == torch.arange(size)[:, None]
        result = sign * torch.where(hits, sign * rows.unsqueeze(-2), -math.inf).amax(-1)
        result = torch.where(count == 0, own, torch.maximum(sign * result, sign * own) * sign if include_self else result)
    return result.movedim(-1, dim)


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return add_rows(x, dim, index, source * alpha, True)


def index_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    if not x.ndim:
        return NotImplemented
    places = index.reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)]).expand(source.shape)
    return scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


def repeat_places(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """Out of range where the sum of `repeats` is another one."""
    if not isinstance(output_size, int):
        return NotImplemented
    ends = torch.cumsum(repeats, 0)
    places = search(ends, torch.arange(output_size), right=True)
    return places + torch.where(ends[-1] == output_size, 0, repeats.shape[0])


def repeat(x: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    if not isinstance(output_size, int):
        return NotImplemented
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    return x.index_select(dim, repeat_places(repeats.expand(x.shape[dim]), output_size=output_size))


def scatter_diagonal(x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    moved = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    if not all(isinstance(size, int) for size in (rows, columns, source.shape[-1])):
        return NotImplemented
    lines = aten.constant_pad_nd(source, [0, (rows if offset >= 0 else columns) - source.shape[-1]]).unsqueeze(-1 if offset >= 0 else -2)
    is_there = torch.arange(columns) - torch.arange(rows)[:, None] == offset
    return torch.where(is_there, lines, moved).movedim((-2, -1), (dim1, dim2))


def scatter_masked(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The next element of `source` where the mask holds; that there are enough is asserted."""
    x, mask = torch.broadcast_tensors(x, mask)
    holds = mask.reshape(-1)
    number = torch.cumsum(holds.to(torch.int64), 0) - 1
    return torch.where(mask, source.reshape(-1).index_select(0, torch.where(holds, number, 0)).reshape(x.shape), x)


def put_where(x: Tensor, first: int, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """`x[mask] = values`, of a mask of the dimensions from `first` on; the values may not be as many as the mask chooses."""
    behind = x.ndim - first - mask.ndim
    if values.ndim > behind:
        chosen = values.ndim - behind - 1
        if not isinstance(values.shape[chosen], int) or values.shape[chosen] != 1:
            raise ExportError("it assigns as many values as a mask chooses, which no shape says; write x = torch.where(mask, values, x), "
                              "with values for all elements")
        values = values.reshape(*values.shape[:chosen], *[1] * mask.ndim, *values.shape[chosen + 1:])
    values = values.to(x.dtype)
    return torch.where(mask.reshape(*mask.shape, *[1] * behind), x + values if accumulate else values, x)


def index_put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """By one mask, or by indices."""
    first = next((i for i, index in enumerate(indices) if index is not None), len(indices))
    used = [index for index in indices[first:] if index is not None]
    if len(used) == 1 and used[0].dtype == torch.bool:
        return put_where(x, first, used[0], values, accumulate)
    if any(not index.dtype.is_signed for index in used):
        return NotImplemented
    if len(used) < len(indices) - first:  # the indices' dimensions come first in the values then
        dims = [d for d, index in enumerate(indices) if index is not None]
        moved = index_put(x.movedim(dims, list(range(len(dims)))), used, values, accumulate)
        return moved if moved is NotImplemented else moved.movedim(list(range(len(dims))), dims)
    sizes, before, behind = x.shape[first:first + len(used)], x.shape[:first], x.shape[first + len(used):]
    if not all(isinstance(size, int) for size in sizes):
        return NotImplemented
    flat: Any = 0
    for size, index in zip(sizes, torch.broadcast_tensors(*used)):
        flat = flat * size + torch.where(index < 0, index + size, index)
    rows = values.expand(*before, *flat.shape, *behind).movedim(tuple(range(first, first + flat.ndim)), tuple(range(flat.ndim)))
    places, leading = tuple(range(first, first + len(used))), tuple(range(len(used)))
    moved = x.movedim(places, leading)
    new = add_rows(moved.reshape(-1, *before, *behind), 0, flat.reshape(-1), rows.reshape(-1, *before, *behind), accumulate)
    return new if new is NotImplemented else new.reshape(moved.shape).movedim(leading, places)


# --- Random numbers -------------------------------------------------------------------------------


def normal(mean: Tensor | float, std: Tensor | float, generator: None = None) -> Tensor:
    """PyTorch has no derivative of it."""
    mean, std = (torch.ops.remat.stop_gradient(v) if isinstance(v, Tensor) else torch.full((), v) for v in (mean, std))
    shape = torch.broadcast_shapes(mean.shape, std.shape)
    return mean + std * torch.randn(shape, dtype=torch.result_type(mean, std))


def log_normal(x: Tensor, mean: float = 1, std: float = 2, generator: None = None) -> Tensor:
    return torch.exp(mean + std * torch.randn_like(x))


def permutation(count: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.argsort(torch.rand(count)).to(dtype or torch.int64)


def multinomial(weights: Tensor, count: int, replacement: bool = False, *, generator: None = None) -> Tensor:
    """Without replacement, by a race of exponential numbers."""
    return NotImplemented if replacement else top_k(weights / -torch.log(torch.rand_like(weights)), count)[1]


TABLE = {
    aten.view.default: view,
    aten.fmod.Scalar: fmod,
    aten.fmod.Tensor: fmod,
    aten.hypot.default: hypot, aten.isfinite.default: isfinite,
    aten.empty.memory_format: empty,
    aten.empty_like.default: empty_like,
    aten.empty_strided.default: empty_strided,
    aten.embedding.default: embedding,
    aten.embedding_bag.padding_idx: embedding_bag,
    aten._embedding_bag.default: embedding_bag,
    aten._embedding_bag_forward_only.default: embedding_bag,
    aten.multilabel_margin_loss_forward.default: multilabel_margin_loss,
    **{number: with_number(whole) for number, whole in (
        (aten.bitwise_and.Scalar, aten.bitwise_and.Tensor), (aten.bitwise_or.Scalar, aten.bitwise_or.Tensor),
        (aten.bitwise_xor.Scalar, aten.bitwise_xor.Tensor))},
    aten.new_empty.default: new_empty,
    aten.histc.default: histogram,
    aten.addmv.default: addmv,
    aten.fft_fftfreq.default: frequencies,
    aten.fft_rfftfreq.default: frequencies_of_real,
    aten.normal.Tensor_float: normal,
    aten.normal.float_Tensor: normal,
    aten.normal.Tensor_Tensor: normal,
    aten.log_normal.default: log_normal,
    aten.randperm.default: permutation,
    aten.multinomial.default: multinomial,
    aten.repeat_interleave.Tensor: repeat_places,
    aten.repeat_interleave.self_Tensor: repeat,
    aten.diagonal_scatter.default: scatter_diagonal,
    aten.masked_scatter.default: scatter_masked,
    aten.searchsorted.Tensor: search,
    aten.pow.Tensor_Tensor: power_of_whole,
    aten._pdist_forward.default: distances_of_pairs,
    aten.adaptive_max_pool2d.default: adaptive_maximum,
    aten.adaptive_max_pool3d.default: adaptive_maximum,
    aten.dist.default: distance,
    aten.angle.default: angle,
    aten.take.default: take,
    aten.put.default: put,
    aten.cummax.default: running(torch.maximum),
    aten.cummin.default: running(torch.minimum),
    aten.median.default: median_of_all,
    aten.index_reduce.default: index_reduce,
    aten.pow.Tensor_Scalar: power,
    aten.pow.Scalar: power_of,
    aten._cdist_forward.default: distances,
    aten.linalg_norm.default: norm,
    aten.linalg_norm.ord_str: matrix_norm,
    aten.linalg_matrix_norm.str_ord: matrix_norm,
    aten.constant_pad_nd.default: pad,
    **{operator: truth(operator) for operator in (aten.all.default, aten.all.dim, aten.any.default, aten.any.dim)},
    aten.cumsum.default: cumulative(torch.add, 0),
    aten.cumprod.default: cumulative(torch.mul, 1),
    aten.logcumsumexp.default: cumulative(torch.logaddexp, -math.inf),
    aten.sort.default: sort,
    aten.sort.stable: sort_stable,
    aten.topk.default: top_k,
    aten.kthvalue.default: kth_value,
    aten.median.dim: median,
    aten.nanmedian.default: median_of_all_numbers,
    aten.nanmedian.dim: median_of_numbers,
    aten.mode.default: most_frequent,
    aten.scatter.src: scatter,
    aten.scatter.value: scatter_value,
    aten.scatter_add.default: scatter_add,
    aten.scatter_reduce.two: scatter_reduce,
    aten.index_add.default: index_add,
    aten.index_put.default: index_put,
    aten._unsafe_index_put.default: index_put,
}
