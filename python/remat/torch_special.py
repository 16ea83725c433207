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


def erfc(x: Tensor) -> Tensor:
    """Behind 2, where 1 - erf(x) has few digits, by a continued fraction (DLMF 7.9), of which so many terms have 15."""
    far = x.clamp(min=2.0)
    below = far
    for n in range(60, 0, -1):
        below = far + n / 2 / below
    return torch.where(x > 2.0, torch.exp(-far * far) / (below * math.sqrt(math.pi)), 1 - torch.erf(x))


TABLE: dict[Any, Callable[..., Any]] = {
    aten.erfc.default: in_64_bits(erfc),
    aten.lgamma.default: in_64_bits(lgamma),
    aten.digamma.default: in_64_bits(digamma),
    aten.polygamma.default: polygamma,
}
