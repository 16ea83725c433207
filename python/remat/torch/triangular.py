# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triangular equations in PyTorch, of which torch-mlir lowers nothing."""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from remat.errors import ExportError
from remat.export.triangular import solve

aten = torch.ops.aten


def solve_triangular(a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    if not isinstance(a.shape[-1], int):
        raise ExportError("a triangular equation has no rule for a matrix of unknown size; export the model with that known")
    return solve(torch, a, b, is_upper=upper, is_left=left, has_unit_diagonal=unitriangular)


def triangular_solve(b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    return solve_triangular(a.mT if transpose else a, b, upper=upper != transpose, unitriangular=unitriangular), a


def cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    first = solve_triangular(factor.mT if upper else factor, b, upper=False)
    return solve_triangular(factor if upper else factor.mT, first, upper=True)


TABLE: dict[Any, Callable[..., Any]] = {
    aten.linalg_solve_triangular.default: solve_triangular, aten.triangular_solve.default: triangular_solve,
    aten.cholesky_solve.default: cholesky_solve}
