# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Additions at computed positions in JAX (`.at[i].add`, `jax.ops.segment_sum`), which IREE leaves in a dialect of its own.

They are brought to one form, rows of a table, and travel as calls of functions without a body (scatter.py): while JAX lowers the
program, an optimization barrier stands for such a call.
"""

import re
from typing import Any

from remat.export import scatter

SCOPE = "scatter_add#"


def add(table: Any, rows: Any, places: Any) -> Any:
    """`rows` added to those rows of `table`, to be found again in StableHLO."""
    import jax
    with jax.named_scope(SCOPE):
        return jax.lax.optimization_barrier((table, rows, places))[0]


def add_at(x: Any, indices: Any, updates: Any, numbers: Any, mode: Any) -> Any:
    """None for numbers that are not floating-point, and sizes that are not known."""
    import math

    from jax import lax
    from jax import numpy as jnp
    if not jnp.issubdtype(x.dtype, jnp.floating) or math.prod(x.shape) >= 2**31 or \
            not all(isinstance(size, int) and size for size in (*x.shape, *updates.shape)):
        return None
    kept = [d for d in range(x.ndim) if d not in numbers.inserted_window_dims + numbers.operand_batching_dims]
    axis = dict(zip(kept, numbers.update_window_dims))  # of the updates
    whole = [d for d in kept if d not in numbers.scatter_dims_to_operand_dims]
    indexed = [d for d in range(x.ndim) if d not in whole]
    windows = [d for d in indexed if d in axis]
    batch, ones = indices.shape[:-1], [1] * len(windows)
    columns = {d: indices[..., i] for i, d in enumerate(numbers.scatter_dims_to_operand_dims)}
    for dimension, source in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims):
        columns[dimension] = lax.broadcasted_iota("int32", batch, source)
    shape = (*batch, *(updates.shape[axis[d]] for d in windows))
    place, inside = jnp.zeros(shape, "int32"), jnp.ones((*batch, *ones), bool)
    for d in indexed:
        column = columns.get(d, jnp.zeros(batch, "int32")).reshape(*batch, *ones)
        safe = jnp.clip(column, 0, x.shape[d] - (updates.shape[axis[d]] if d in axis else 1))
        within = lax.broadcasted_iota("int32", shape, len(batch) + windows.index(d)) if d in axis else 0
        inside, place = inside & (safe == column), place * x.shape[d] + safe.astype("int32") + within
    rows = jnp.moveaxis(updates, [axis[d] for d in windows + whole], range(len(batch), updates.ndim))
    if mode == lax.GatherScatterMode.FILL_OR_DROP:
        rows = jnp.where(inside.reshape(*inside.shape, *[1] * len(whole)), rows, 0)
    order = indexed + whole
    table = jnp.transpose(x, order)
    wide = jnp.float32 if jnp.finfo(x.dtype).bits < 32 else x.dtype
    total = add(table.reshape(-1, *table.shape[len(indexed):]).astype(wide), rows.reshape(-1, *rows.shape[len(shape):]), place.reshape(-1))
    return jnp.transpose(total.astype(x.dtype).reshape(table.shape), [order.index(d) for d in range(x.ndim)])


def replace_barriers(module: Any, barriers: list[Any]) -> None:
    """Puts calls in place of those of the `barriers` in `module` that stand for them."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func
    known: dict[str, str] = {}
    for barrier in barriers:
        if SCOPE not in str(barrier.location):
            continue
        with barrier.context, barrier.location:
            types = [operand.type for operand in barrier.operands]
            if (key := str(types)) not in known:
                known[key] = f"{scatter.NAME}_{len(known)}"
                with ir.InsertionPoint(module.body):
                    func.FuncOp(known[key], (types, types[:1]), visibility="private")
            with ir.InsertionPoint(barrier):
                call = func.CallOp(types[:1], ir.FlatSymbolRefAttr.get(known[key]), list(barrier.operands))
        barrier.results[0].replace_all_uses_with(call.results[0])
        barrier.erase()


def restore(text: str) -> str:
    """`text`, as IREE leaves it, with the bodies of these functions."""
    call = rf"util\.call @(\w*{re.escape(scatter.NAME)}_\d+)\b"
    text = re.sub(rf"{SCOPE}(\)*)/optimization_barrier", r"scatter_add\1", re.sub(call, r"func.call @\1", text))
    return re.sub(rf"^ *util\.func private @(\w*{re.escape(scatter.NAME)}_\d+)\(%arg0: (\S+), %arg1: (\S+), %arg2: (\S+)\) -> .*$",
                  lambda match: scatter.write(match[1], match[2], match[3], match[4], 0, is_clamped=True), text, flags=re.M)
