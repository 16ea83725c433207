# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch with the derivatives that PyTorch has where pieces of them meet. torch-mlir makes maxima, minima and what
is made of these by comparisons, of which one operand has all of the derivative where both are equal: ELU and leaky ReLU had the
sum of both sides' at 0, log_sigmoid (and so the cross entropy of logits that start at 0) twice its own."""
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def extremum(takes_first: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Returns a maximum or minimum that propagates NaN, and in which equal operands share the derivative."""
    def compute(x: Tensor, y: Tensor) -> Tensor:
        kind = torch.result_type(x, y)
        x, y = x.to(kind), y.to(kind)
        if not kind.is_floating_point:
            return NotImplemented
        return torch.where(x == y, 0.5 * x + 0.5 * y, torch.where(takes_first(x, y) | (x != x), x, y))
    return compute


maximum, minimum = extremum(torch.gt), extremum(torch.lt)


def number_of(takes_first: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Returns a maximum or minimum that ignores NaNs; of equal operands, `takes_first` chooses the one with the derivative."""
    def compute(x: Tensor, y: Tensor) -> Tensor:
        kind = torch.result_type(x, y)
        x, y = x.to(kind), y.to(kind)
        return torch.where(takes_first(x, y) | (y != y), x, y) if kind.is_floating_point else NotImplemented
    return compute


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    return torch.where(x > 0, x, x * slope)


def elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * (alpha * scale))


def log_sigmoid(x: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the logarithm and, empty, the buffer that PyTorch keeps for its own backward, which has no users here."""
    return minimum(x, torch.zeros((), dtype=x.dtype)) - torch.log1p(torch.exp(-torch.abs(x))), torch.zeros(0, dtype=x.dtype)


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """Selects equal infinities themselves, since their difference is NaN."""
    larger = maximum(x, y)
    return torch.where((x == y) & (x.abs() == torch.inf), x, larger + torch.log1p(torch.exp(-torch.abs(x - y))))


def logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    return logaddexp(x * math.log(2), y * math.log(2)) / math.log(2)


def hardtanh(x: Tensor, low: float = -1, high: float = 1) -> Tensor:
    return torch.where(x <= low, low, torch.where(x >= high, high, x)) if x.is_floating_point() else NotImplemented


def hardswish(x: Tensor) -> Tensor:
    return torch.where(x <= -3, 0, torch.where(x < 3, x * (x + 3) / 6, x))


def hardsigmoid(x: Tensor) -> Tensor:
    return torch.where(x <= -3, 0, torch.where(x >= 3, 1, x / 6 + 0.5))


def root(variance: Tensor) -> Tensor:
    """With a derivative of 0 at 0."""
    return torch.where(variance == 0, 0, torch.sqrt(torch.where(variance == 0, 1, variance)))


def std(x: Tensor, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    return root(aten.var.correction(x, dim, correction=correction, keepdim=keepdim))


def std_mean(x: Tensor, dim: list[int] | None = None, *, correction: float | None = None,
             keepdim: bool = False) -> tuple[Tensor, Tensor]:
    variance, mean = aten.var_mean.correction(x, dim, correction=correction, keepdim=keepdim)
    return root(variance), mean


TABLE: dict[Any, Callable[..., Any]] = {
    aten.maximum.default: maximum,
    aten.minimum.default: minimum,
    aten.leaky_relu.default: leaky_relu,
    aten.elu.default: elu,
    aten.log_sigmoid_forward.default: log_sigmoid,
    aten.logaddexp.default: logaddexp,
    aten.logaddexp2.default: logaddexp2,
    aten.fmax.default: number_of(torch.ge),
    aten.fmin.default: number_of(torch.le),
    aten.hardtanh.default: hardtanh,
    aten.hardswish.default: hardswish,
    aten.hardsigmoid.default: hardsigmoid,
    aten.std.correction: std,
    aten.std_mean.correction: std_mean,
}
