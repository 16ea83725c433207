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

# Bernoulli's numbers B_2, B_4, ...: behind so many terms Stirling's series of `START` has 17 digits.
BERNOULLI = 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510
START = 10


def in_64_bits(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def compute(x: Tensor) -> Tensor:
        kind = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        return function(x.to(torch.float64)).to(kind)
    return compute


def shift(x: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
    """x or, if that is less than `START`, so much more; what the recurrence takes a term of, for each; and whether there are any."""
    small = x < START
    return torch.where(small, x + START, x), [torch.where(small, x + k, 1) for k in range(START)], small


def lgamma_of_positive(x: Tensor) -> Tensor:
    y, factors, _ = shift(x)
    series = sum(b / (2 * j * (2 * j - 1)) * y**(1 - 2 * j) for j, b in enumerate(BERNOULLI, 1))
    return (y - 0.5) * (torch.log(y) - 1) - 0.5 + 0.5 * math.log(2 * math.pi) + series - torch.log(math.prod(factors))


def from_whole(x: Tensor, reflected: Tensor) -> Tensor:
    """How far from a whole number `x` is, of which a sine has all digits; a half where nobody asks."""
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


def polygamma(order: int, x: Tensor) -> Tensor:
    """Of positive numbers, the only ones that PyTorch has it of if the order is not zero."""
    def compute(x: Tensor) -> Tensor:
        y, terms, small = shift(x)
        factorial = float(math.factorial(order))
        series = sum(b * math.factorial(2 * j + order - 1) / math.factorial(2 * j) * y**(-2 * j - order)
                     for j, b in enumerate(BERNOULLI, 1))
        recurrence = torch.where(small, sum(factorial * term**(-order - 1) for term in terms), 0)
        return (-1)**(order + 1) * (factorial / order * y**-order + factorial / 2 * y**(-order - 1) + series + recurrence)
    return in_64_bits(compute if order else digamma)(x)


def erfcx_of_large(x: Tensor) -> Tensor:
    """Behind 2, where 1 - erf(x) has few digits, by a continued fraction (DLMF 7.9), of which so many terms have 15."""
    below = x
    for n in range(60, 0, -1):
        below = x + n / 2 / below
    return 1 / (below * math.sqrt(math.pi))


def erfc(x: Tensor) -> Tensor:
    far = x.clamp(min=2.0)
    return torch.where(x > 2.0, torch.exp(-far * far) * erfcx_of_large(far), 1 - torch.erf(x))


def erfcx(x: Tensor) -> Tensor:
    near = x.clamp(max=2.0)
    return torch.where(x > 2.0, erfcx_of_large(x.clamp(min=2.0)), torch.exp(near * near) * (1 - torch.erf(near)))


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


def bessel(order: int) -> Callable[[Tensor], Tensor]:
    """exp(-|x|) I_order(x), an integral over half a turn of exp(|x| (cos t - 1)) cos(order t) (DLMF 10.32.3), of which the mean of so many
    values has 15 digits up to 100; behind that, by Hankel's series (DLMF 10.40.1)."""
    count = 96

    def compute(x: Tensor) -> Tensor:
        near = x.abs().clamp(max=100.0)
        angles = (torch.arange(count, dtype=torch.float64) + 0.5) * (math.pi / count)
        small = (torch.exp(near.unsqueeze(-1) * (torch.cos(angles) - 1)) * torch.cos(order * angles)).sum(-1) / count
        far, term = x.abs().clamp(min=100.0), 1.0
        value: Any = 1.0
        for k in range(1, 9):
            term = term * -(4 * order**2 - (2 * k - 1)**2) / (8 * k)
            value = value + term * far**-k
        result = torch.where(x.abs() <= 100, small, value / torch.sqrt(2 * math.pi * far))
        return torch.where(x < 0, -result, result) if order % 2 else result
    return compute


def times_exponential(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.exp(torch.where(x < 0, -x, x)) * function(x)


def normal_quantile(x: Tensor) -> Tensor:
    return math.sqrt(2) * inverse_erf(2 * x - 1)


TABLE: dict[Any, Callable[..., Any]] = {
    aten.erfc.default: in_64_bits(erfc),
    aten.special_erfcx.default: in_64_bits(erfcx),
    aten.erfinv.default: in_64_bits(inverse_erf),
    aten.special_ndtri.default: in_64_bits(normal_quantile),
    aten.special_i0e.default: in_64_bits(bessel(0)),
    aten.special_i1e.default: in_64_bits(bessel(1)),
    aten.i0.default: in_64_bits(times_exponential(bessel(0))),
    aten.special_i1.default: in_64_bits(times_exponential(bessel(1))),
    aten.lgamma.default: in_64_bits(lgamma),
    aten.digamma.default: in_64_bits(digamma),
    aten.polygamma.default: polygamma,
}
