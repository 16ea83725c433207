# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replacements of operations that torch-mlir folds to wrong numbers if their operands are constants."""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def compare(operator: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a comparison that first converts tensor and number to one type: where it folds constants, torch-mlir takes the bits
    of one type for those of the other, or crashes."""
    def compute(x: Tensor, other: float) -> Tensor:
        kind = torch.result_type(x, other)
        if kind.is_floating_point == isinstance(other, float) and kind == x.dtype:
            return NotImplemented
        return operator(x.to(kind), float(other) if kind.is_floating_point else int(other))
    return compute


def sign(x: Tensor) -> Tensor:
    """Replaces `aten.sign`, which torch-mlir folds to -1 for a constant."""
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype) if x.is_floating_point() else NotImplemented


def truncate(x: Tensor) -> Tensor:
    """Replaces `aten.trunc`, which torch-mlir folds to another number for a constant."""
    return torch.where(x < 0, x.ceil(), x.floor()) if x.is_floating_point() else NotImplemented


def remainder(x: Tensor, divisor: float) -> Tensor:
    """Divides by a tensor: torch-mlir folds the remainder of a negative constant to a negative one."""
    kind = torch.result_type(x, divisor)
    return aten.remainder.Tensor(x.to(kind), torch.full((), divisor, dtype=kind))


def settle_numbers(program: torch.export.ExportedProgram) -> None:
    """Makes whole numbers in computations of floating-point ones such numbers: torch-mlir folds the sum or product of a constant and
    a negative whole number to one near 2^64. Exponents stay whole."""
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if not isinstance(node.target, torch._ops.OpOverload) or not isinstance(value, torch.Tensor) or \
                not value.is_floating_point() or "pow" in node.target.__name__:
            continue
        takes_number = [str(argument.type) in ("number", "Optional[number]", "Tensor") for argument in node.target._schema.arguments]
        names = {argument.name: takes for argument, takes in zip(node.target._schema.arguments, takes_number)}
        node.args = tuple(float(arg) if takes and type(arg) is int else arg for arg, takes in zip(node.args, takes_number))
        node.kwargs = {name: float(arg) if names.get(name) and type(arg) is int else arg for name, arg in node.kwargs.items()}


TABLE: dict[Any, Callable[..., Any]] = {
    **{operator: compare(operator) for operator in (
        aten.eq.Scalar, aten.ne.Scalar, aten.lt.Scalar, aten.le.Scalar, aten.gt.Scalar, aten.ge.Scalar)},
    aten.sign.default: sign,
    aten.trunc.default: truncate,
    aten.remainder.Scalar: remainder,
}
