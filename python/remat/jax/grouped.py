# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.lax.ragged_dot`, the product of mixtures of experts: each row by the matrix of its group.

JAX's own way on a CPU is one product with a copy of the rows for each group, of which one is not zero: as many times the
memory and the arithmetic. Here rows are taken in tiles (groups.py).
"""

from typing import Any

from remat.export.groups import choose_tile


def find_pairs(group_sizes: Any, tile: int, count: int) -> tuple[Any, Any, Any, Any]:
    """Returns, for each of `count` pairs of a group and a tile with rows of it, both numbers, and the group's first row and the one
    after its last. Pairs in excess have no rows."""
    from jax import numpy as jnp
    sizes = group_sizes.astype("int32")
    ends = jnp.cumsum(sizes, dtype="int32")
    starts = ends - sizes
    first = starts // tile
    tiles = jnp.where(sizes > 0, (ends - 1) // tile - first + 1, 0)
    pair_ends = jnp.cumsum(tiles, dtype="int32")
    numbers = jnp.arange(count, dtype="int32")
    group = (pair_ends[None, :] <= numbers[:, None]).sum(1, dtype="int32").clip(0, sizes.shape[0] - 1)
    return group, first[group] + numbers - (pair_ends - tiles)[group], starts[group], ends[group]


def ragged_dot(lhs: Any, rhs: Any, group_sizes: Any, *, ragged_dot_dimension_numbers: Any, precision: Any,
               preferred_element_type: Any, **others: Any) -> Any:
    import jax
    from jax import lax
    from jax import numpy as jnp
    numbers = ragged_dot_dimension_numbers
    (contracted, rhs_contracted), (batch, _) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    if batch or ragged in contracted or not lhs.shape[ragged]:  # of vmap, and of derivatives by JAX
        from jax._src.lax.lax import _ragged_dot_general_impl
        return _ragged_dot_general_impl(lhs, rhs, group_sizes, ragged_dot_dimension_numbers=numbers, precision=precision,
                                        preferred_element_type=preferred_element_type, **others)
    (group_dim,) = numbers.rhs_group_dimensions
    rows, groups = lhs.shape[ragged], rhs.shape[group_dim]
    tile = choose_tile(rows, groups)
    tiles = -(-rows // tile)
    padded = lax.pad(lhs, jnp.zeros((), lhs.dtype), [(0, (tiles * tile - rows) * (d == ragged), 0) for d in range(lhs.ndim)])
    contracted_of_one = [d - (d > group_dim) for d in rhs_contracted]
    column = [-1 if d == ragged else 1 for d in range(lhs.ndim)]
    place = sum(d not in contracted for d in range(ragged))  # of the rows in the result

    def multiply(result: Any, pair: Any) -> tuple[Any, None]:
        group, number, start, end = pair
        row = number * tile + jnp.arange(tile, dtype="int32")
        part = lax.dynamic_slice_in_dim(padded, number * tile, tile, ragged)
        part = jnp.where(((row >= start) & (row < end)).reshape(column), part, 0)
        matrix = lax.dynamic_index_in_dim(rhs, group, group_dim, keepdims=False)
        product = lax.dot_general(part, matrix, ((contracted, contracted_of_one), ((), ())), precision=precision,
                                  preferred_element_type=preferred_element_type)
        old = lax.dynamic_slice_in_dim(result, number * tile, tile, place)
        return lax.dynamic_update_slice_in_dim(result, old + product, number * tile, place), None

    like = jax.eval_shape(lambda a, b: lax.dot_general(a, lax.index_in_dim(b, 0, group_dim, keepdims=False), (
        (contracted, contracted_of_one), ((), ())), preferred_element_type=preferred_element_type), padded, rhs)
    pairs = find_pairs(group_sizes, tile, tiles + groups - 1)
    result = jax.lax.scan(multiply, jnp.zeros(like.shape, like.dtype), pairs)[0]
    return lax.slice_in_dim(result, 0, rows, axis=place)
