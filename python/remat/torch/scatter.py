# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Additions at computed positions: `scatter_add`, `index_add`, `index_put(accumulate=True)`, and what graph networks make of them.

While torch-mlir lowers the module, they are calls of functions that it does not look into, which would compare each place with each
update. These get their body in the end (scatter.py): a `remat.scatter_add`, which adds one update after the other.
"""

import torch
from torch import Tensor
from torch_mlir import ir

from remat.export import scatter
from remat.torch import stops

NAME = "scatter_add"
stops.LIBRARY.define(f"{NAME}(Tensor x, Tensor rows, Tensor places, int dim) -> Tensor")


def add(x: Tensor, rows: Tensor, places: Tensor, dim: int) -> Tensor:
    return x.index_add(dim, places, rows.to(x.dtype)) if places.ndim == 1 else x.scatter_add(dim, places, rows.to(x.dtype))


stops.LIBRARY.impl(NAME, add, "CompositeExplicitAutograd")
torch.library.register_fake(f"remat::{NAME}", lambda x, rows, places, dim: torch.empty_like(x), lib=stops.LIBRARY)


def along(places: Tensor, dim: int) -> Tensor:
    """One place for each row, where they are the same in all other dimensions."""
    if places.ndim == 1 or 0 in places.shape or any(stride for d, stride in enumerate(places.stride()) if d != dim and places.shape[d] != 1):
        return places
    return places[tuple(slice(None) if d == dim else 0 for d in range(places.ndim))]


def add_at(x: Tensor, dim: int, places: Tensor, rows: Tensor) -> Tensor:
    """`x` with `rows` added at `places` of `dim`: one for each of its positions, or for each element of `rows`. 16-bit numbers are
    added up in 32."""
    dim %= x.ndim
    wide = torch.float32 if x.dtype in (torch.bfloat16, torch.float16) else x.dtype
    return torch.ops.remat.scatter_add(x.to(wide), rows.to(x.dtype), along(places, dim).to(torch.int64), dim).to(x.dtype)


def write(name: str, x: ir.RankedTensorType, rows: ir.RankedTensorType, places: ir.RankedTensorType, dim: int) -> str:
    return scatter.write(name, str(x), str(rows), str(places), dim)
