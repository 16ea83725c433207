# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations whose lowering by torch-mlir computes other numbers, is no valid program, or does not end."""
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from remat.torch import decompositions

aten = torch.ops.aten


def view(x: Tensor, shape: list[int]) -> Tensor:
    """Of nothing: torch-mlir divides by zero."""
    if 0 in x.shape:
        return torch.zeros([0 if size == -1 else size for size in shape], dtype=x.dtype)
    return decompositions.view(x, shape)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """By tanh: torch-mlir's own lowering has a factor of 0.79772 instead of 0.79788."""
    if approximate != "tanh":
        return NotImplemented
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def rms_norm(x: Tensor, shape: list[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Adds the epsilon of the type where `eps` is None, as PyTorch does; torch-mlir adds nothing."""
    return aten._fused_rms_norm(x, shape, weight, None)[0] if eps is None else NotImplemented


def roll(x: Tensor, shifts: list[int], dims: list[int] | None = None) -> Tensor:
    """Replaces `aten.roll`, for which torch-mlir takes a slice past the end where a shift is a whole turn."""
    if not all(isinstance(size, int) for size in x.shape):
        return NotImplemented
    if not dims:
        return roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims):
        if x.shape[dim] and (start := -shift % x.shape[dim]):
            x = torch.cat([aten.slice.Tensor(x, dim, start, x.shape[dim]), aten.slice.Tensor(x, dim, 0, start)], dim)
    return x


def reciprocal(x: Tensor) -> Tensor:
    """Replaces `aten.reciprocal`, whose lowering in torch-mlir aborts where x is 0."""
    x = x if x.is_floating_point() or x.is_complex() else x.to(torch.get_default_dtype())
    return torch.div(torch.scalar_tensor(1.0, dtype=x.dtype, device=x.device), x)


def dropout(x: Tensor, p: float, train: bool) -> Tensor:
    """Of everything: torch-mlir divides by 1 - p."""
    return x * 0.0 if p == 1 and train else NotImplemented


def native_dropout(x: Tensor, p: float, train: bool | None) -> Any:
    return (x * 0.0, torch.zeros_like(x, dtype=torch.bool)) if p == 1 and train is not False else NotImplemented


def integers(low: int, high: int, sizes: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    """From a negative number on: torch-mlir rounds all to zero."""
    return NotImplemented if low >= 0 else torch.randint(high - low, sizes, dtype=dtype or torch.int64) + low


def integers_like(x: Tensor, *bounds: int, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.randint(*bounds, x.shape, dtype=torch.int64).to(dtype or x.dtype)


def index(x: Tensor, indices: list[Tensor | None]) -> Tensor:
    """By integers of 64 bits: torch-mlir compares all others with a size of those."""
    if not any(index is not None and index.dtype == torch.int32 for index in indices):
        return NotImplemented
    return x[tuple(slice(None) if index is None else index.to(torch.int64) if index.dtype == torch.int32 else index for index in indices)]


def as_batch(operator: Callable[..., Tensor], rank: int) -> Callable[..., Tensor]:
    """Of a batch of one: torch-mlir crashes on windows of a single image, or refuses them."""
    def compute(x: Tensor, *options: Any, **more: Any) -> Tensor:
        return operator(x.unsqueeze(0), *options, **more).squeeze(0) if x.ndim == rank + 1 else NotImplemented
    return compute


TABLE: dict[Any, Callable[..., Any]] = {
    aten.view.default: view,
    aten.gelu.default: gelu,
    aten.rms_norm.default: rms_norm,
    aten.roll.default: roll,
    aten.reciprocal.default: reciprocal,
    aten.dropout.default: dropout,
    aten.native_dropout.default: native_dropout,
    aten.randint.low: integers,
    aten.randint_like.default: integers_like,
    aten.randint_like.low_dtype: integers_like,
    aten.index.Tensor: index,
    **{operator: as_batch(operator, rank) for rank, operators in enumerate((
        (aten.avg_pool1d.default, aten.max_pool1d.default), (aten.avg_pool2d.default, aten.max_pool2d.default),
        (aten.avg_pool3d.default, aten.max_pool3d.default)), 1) for operator in operators},
}
