# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions of PyTorch that torch-mlir has no lowering of, by elementary ones, whose derivatives are known. They are
computed in float64.

The gamma function and what is derived from it are sums of Stirling's series where it has all digits (DLMF 5.11 and 5.15), and of
the recurrence below that.
"""
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

# Bernoulli's numbers B_2, B_4, ...: after so many terms Stirling's series of `START` has 17 digits.
BERNOULLI = 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510
START = 10


def in_64_bits(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def compute(x: Tensor) -> Tensor:
        kind = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        return function(x.to(torch.float64)).to(kind)
    return compute


def shift(x: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
    """Returns x + `START` if x is less than that, else x; the arguments of the recurrence's terms; and a mask of elements with
    such terms."""
    small = x < START
    return torch.where(small, x + START, x), [torch.where(small, x + k, 1) for k in range(START)], small


def lgamma_of_positive(x: Tensor) -> Tensor:
    y, factors, _ = shift(x)
    series = sum(b / (2 * j * (2 * j - 1)) * y**(1 - 2 * j) for j, b in enumerate(BERNOULLI, 1))
    return (y - 0.5) * (torch.log(y) - 1) - 0.5 + 0.5 * math.log(2 * math.pi) + series - torch.log(math.prod(factors))


def from_whole(x: Tensor, reflected: Tensor) -> Tensor:
    """Returns the distance of `x` from the nearest whole number, of which a sine has all digits; a half where it is not used."""
    return torch.where(reflected, x - torch.round(x), 0.5)


def lgamma(x: Tensor) -> Tensor:
    reflected = x <= 0
    value = lgamma_of_positive(torch.where(reflected, 1 - x, x))
    sine = torch.sin(math.pi * from_whole(x, reflected))
    return torch.where(reflected, math.log(math.pi) - torch.log(sine.abs()) - value, value)


def digamma_of_positive(x: Tensor) -> Tensor:
    y, terms, small = shift(x)
    series = sum(b / (2 * j) * y**(-2 * j) for j, b in enumerate(BERNOULLI, 1))
    return torch.log(y) - 0.5 / y - series - torch.where(small, sum(1 / term for term in terms), 0)


def digamma(x: Tensor) -> Tensor:
    reflected = x < 0
    value = digamma_of_positive(torch.where(reflected, 1 - x, x))
    rest = math.pi * from_whole(x, reflected)
    return torch.where(reflected, value - math.pi * torch.cos(rest) / torch.sin(rest), value)


def erfcx_of_large(x: Tensor) -> Tensor:
    """Behind 2, where 1 - erf(x) has few digits, by a continued fraction (DLMF 7.9), of which so many terms have 15."""
    below = x
    for n in range(60, 0, -1):
        below = x + n / 2 / below
    return 1 / (below * math.sqrt(math.pi))


def erfc(x: Tensor) -> Tensor:
    far = x.clamp(min=2.0)
    return torch.where(x > 2.0, torch.exp(-far * far) * erfcx_of_large(far), 1 - torch.erf(x))


def inverse_erf(x: Tensor) -> Tensor:
    """Giles' approximation ("Approximating the erfinv function"), and two of Newton's steps, of which the last has the derivative."""
    w = -torch.log((1 - x) * (1 + x))
    near, far = w - 2.5, torch.sqrt(w.clamp(min=5.0)) - 3
    center: Any = 2.81022636e-08
    for c in (3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941):
        center = c + center * near
    tail: Any = -0.000200214257
    for c in (0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682):
        tail = c + tail * far
    y = torch.where(w < 5, center, tail) * x
    is_inside = x.abs() < 1
    target, y = torch.where(is_inside, x, 0), torch.ops.remat.stop_gradient(torch.where(is_inside, y, 0))
    for _ in range(3):
        y = torch.ops.remat.stop_gradient(y)
        y = y - (torch.erf(y) - target) * torch.exp(y * y) * (math.sqrt(math.pi) / 2)
    return torch.where(is_inside, y, torch.where(x.abs() == 1, x * math.inf, math.nan))


TABLE: dict[Any, Callable[..., Any]] = {
    aten.erfc.default: in_64_bits(erfc), aten.erfinv.default: in_64_bits(inverse_erf), aten.lgamma.default: in_64_bits(lgamma),
    aten.digamma.default: in_64_bits(digamma)}
