# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of JAX that StableHLO's way to linalg leaves in a dialect of IREE's own, or has none for, by others that it does not:
cumulative sums and the like, sorts, scatters, products of groups of rows, Fourier transforms. They compute the
same. Products and convolutions of 16 bits, which linalg would add up in these, by ones that XLA's devices compute: added up in
float32."""

import functools
from collections.abc import Callable
from typing import Any

from remat.errors import ExportError
from remat.export import orders, triangular
from remat.jax import attention, fourier, grouped
from remat.jax.scatter import add_at
from remat.jax.workarounds import padding

# Of several devices, inside of `jax.shard_map`.
COLLECTIVES = ("all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "pmax", "pmin", "ppermute", "psum",
               "psum_invariant", "reduce_scatter")


def cumulative(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(x: Any, *, axis: int, reverse: bool) -> Any:
        from jax import lax
        return lax.associative_scan(combine, x, reverse=reverse, axis=axis)
    return compute


def sort(*arrays: Any, dimension: int, is_stable: bool, num_keys: int) -> tuple[Any, ...]:
    from jax import numpy as jnp
    moved = [jnp.moveaxis(a, dimension, -1) for a in arrays]
    size = moved[0].shape[-1]
    places = orders.order(jnp, moved[:num_keys], descending=False, first=0, count=size)
    return tuple(jnp.moveaxis(jnp.take_along_axis(a, places, -1), -1, dimension) for a in moved)


def top_k(x: Any, *, k: int, axis: int = -1, **_: Any) -> tuple[Any, Any]:
    from jax import numpy as jnp
    moved = jnp.moveaxis(x, axis, -1)
    places = orders.order(jnp, [moved], descending=True, first=0, count=k)
    return jnp.moveaxis(jnp.take_along_axis(moved, places, -1), -1, axis), jnp.moveaxis(places, -1, axis)


def approximate_top_k(x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, aggregate_to_topk: bool,
                      **_: Any) -> tuple[Any, Any]:
    if not aggregate_to_topk:
        raise ExportError("candidates of an approximate maximum have no way to MLIR; leave out aggregate_to_topk=False")
    values, places = top_k(x if is_max_k else -x, k=k, axis=reduction_dimension)
    return values if is_max_k else -values, places


def reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """By casts, which have the derivative that StableHLO's lowering loses among the bits: that of x."""
    from jax import numpy as jnp

    own = jnp.finfo(x.dtype)
    if exponent_bits >= own.nexp and mantissa_bits >= own.nmant:
        return x
    kinds = {(8, 7): jnp.bfloat16, (5, 10): jnp.float16, (8, 23): jnp.float32}
    kind = kinds.get((exponent_bits, mantissa_bits))
    if kind is None:
        raise ExportError(f"there is no type of {exponent_bits} exponent and {mantissa_bits} mantissa bits, which "
                          "reduce_precision rounds to; use those of bfloat16 (8, 7) or float16 (5, 10)")
    rounded = x.astype(kind).astype(x.dtype)
    smallest = jnp.finfo(kind).smallest_normal.astype(x.dtype)
    return jnp.where(jnp.abs(rounded) < smallest, 0 * rounded, rounded) if kind == jnp.float16 else rounded


def scatter(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any) -> Any:
        return scatter_in_order(combine, x, indices, updates, dimension_numbers, mode)
    return compute


def scatter_add(x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any) -> Any:
    from jax import lax
    result = add_at(x, indices, updates, dimension_numbers, mode)
    return scatter_in_order(lax.add, x, indices, updates, dimension_numbers, mode) if result is None else result


def scatter_in_order(combine: Callable[[Any, Any], Any], x: Any, indices: Any, updates: Any, numbers: Any, mode: Any) -> Any:
    """One window of `updates` after the other."""
    import jax
    from jax import lax
    from jax import numpy as jnp
    kept = [d for d in range(x.ndim) if d not in numbers.inserted_window_dims + numbers.operand_batching_dims]
    window = [1] * x.ndim
    for dimension, size in zip(kept, (updates.shape[d] for d in numbers.update_window_dims)):
        window[dimension] = size
    batch = indices.shape[:-1]
    updates = jnp.moveaxis(updates, numbers.update_window_dims, range(len(batch), updates.ndim)).reshape(-1, *window)
    columns = [jnp.zeros(batch, indices.dtype)] * x.ndim
    for dimension, source in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims):
        columns[dimension] = lax.broadcasted_iota(indices.dtype, batch, source)
    for number, dimension in enumerate(numbers.scatter_dims_to_operand_dims):
        columns[dimension] = indices[..., number]
    starts = jnp.stack(columns, -1).reshape(-1, x.ndim)
    last = jnp.array(x.shape, starts.dtype) - jnp.array(window, starts.dtype)
    if mode == lax.GatherScatterMode.CLIP:
        starts = jnp.clip(starts, 0, last)
    inside = ((starts >= 0) & (starts <= last)).all(-1)

    def step(x: Any, update: Any) -> tuple[Any, None]:
        start, is_inside, values = update
        old = lax.dynamic_slice(x, start, window)
        return lax.dynamic_update_slice(x, jnp.where(is_inside, combine(old, values), old), start), None

    return jax.lax.scan(step, x, (starts, inside, updates))[0]


def refuse_callback(*_: Any, **__: Any) -> Any:
    raise ExportError("a compiled step cannot call Python; compute the value in JAX, or outside and pass it with the batch")


def refuse_collective(*_: Any, **__: Any) -> Any:
    raise ExportError("a compiled step runs on one device, and cannot communicate with others; leave out shard_map")


def is_collective(equation: Any) -> bool:
    """Returns true if `equation` communicates with other devices. Those under `jax.vmap` with a name do not: JAX has replaced the
    name by the number of a dimension."""
    axes = equation.params.get("axes", equation.params.get("axis_name", ()))
    axes = axes if isinstance(axes, tuple) else (axes,)
    return equation.primitive.name in COLLECTIVES and not all(isinstance(axis, int) for axis in axes)


def gather(x: Any, indices: Any, *, primitive: Any, **params: Any) -> Any:
    """Gathers with indices in bounds, since a step checks them, and without small unsigned integers, which would become an index as if
    they had a sign."""
    from jax import lax
    from jax import numpy as jnp
    numbers, mode, sizes, value = (params[name] for name in ("dimension_numbers", "mode", "slice_sizes", "fill_value"))
    if indices.dtype.itemsize < 4:
        indices = indices.astype("int32")
    params |= {"mode": lax.GatherScatterMode.PROMISE_IN_BOUNDS, "fill_value": None}
    if mode == lax.GatherScatterMode.PROMISE_IN_BOUNDS:
        return primitive.bind(x, indices, **params)
    last = jnp.array([x.shape[d] - sizes[d] for d in numbers.start_index_map], indices.dtype)
    inside = jnp.clip(indices, 0, last)
    found = primitive.bind(x, inside, **params)
    if mode == lax.GatherScatterMode.CLIP:
        return found
    batch = [d for d in range(found.ndim) if d not in numbers.offset_dims]
    is_inside = lax.broadcast_in_dim((inside == indices).all(-1), found.shape, batch)
    return jnp.where(is_inside, found, jnp.array(get_fill_value(value, x.dtype), x.dtype))


def is_to_be_checked(equation: Any) -> bool:
    """Returns true if `equation`, a gather, has indices that may be out of bounds, or that are small unsigned integers."""
    from jax import lax
    kind = equation.invars[1].aval.dtype
    return bool(equation.params["mode"] != lax.GatherScatterMode.PROMISE_IN_BOUNDS or kind.kind == "u" and kind.itemsize < 4)


def get_fill_value(value: Any, kind: Any) -> Any:
    """Returns the value of elements that are out of bounds in an array of this `kind`: `value` if it is given, else JAX's."""
    from jax import numpy as jnp
    if value is not None:
        return value
    if jnp.issubdtype(kind, jnp.integer):
        return jnp.iinfo(kind).min if jnp.issubdtype(kind, jnp.signedinteger) else jnp.iinfo(kind).max
    return True if kind == bool else jnp.nan


def complex_abs(x: Any) -> Any:
    """Does not overflow, and has the derivative 0 at 0; StableHLO's way to linalg takes the root of a sum of squares."""
    from jax import lax
    from jax import numpy as jnp
    real, imaginary = lax.abs(lax.real(x)), lax.abs(lax.imag(x))
    longer, shorter = lax.max(real, imaginary), lax.min(real, imaginary)
    ratio = shorter / jnp.where((longer == 0) | (longer == jnp.inf), 1, longer)
    return longer * lax.sqrt(1 + ratio * ratio)


def complex_sign(x: Any) -> Any:
    """Which has no derivative in JAX, though it has one."""
    import jax
    from jax import numpy as jnp
    length = complex_abs(x)
    return jax.lax.stop_gradient(x / jnp.where(length == 0, 1, length))


def reverse(x: Any, *, dimensions: Any) -> Any:
    """Of unsigned integers by signed ones, as StableHLO's way to linalg has the reversal only of those."""
    from jax import lax
    from jax import numpy as jnp
    if jnp.iinfo(x.dtype).bits < 8:
        return lax.rev(x.astype("int8"), dimensions).astype(x.dtype)
    return lax.bitcast_convert_type(lax.rev(lax.bitcast_convert_type(x, f"int{x.dtype.itemsize * 8}"), dimensions), x.dtype)


def keep(x: Any, **_: Any) -> Any:
    """Replaces a sharding, which has no effect on one device."""
    return x


def sum_in_float32(*operands: Any, primitive: Any, kind: Any, **params: Any) -> Any:
    return primitive.bind(*operands, **params | {"preferred_element_type": "float32"}).astype(kind)


def has_algorithm(equation: Any) -> bool:
    """Returns true if `equation` is a product that says in which types it multiplies and adds, which StableHLO's way to linalg
    ignores."""
    from jax import lax
    return isinstance(equation.params.get("precision"), (lax.DotAlgorithm, lax.DotAlgorithmPreset))


def multiply_by_algorithm(*operands: Any, primitive: Any, precision: Any, **params: Any) -> Any:
    """Multiplies operands in the types of the algorithm, and adds in float32 or more. Algorithms that make one product of several have
    all digits of float32."""
    from jax import lax
    from jax import numpy as jnp
    kinds: tuple[Any, Any]
    if isinstance(precision, lax.DotAlgorithm):
        is_one = precision.num_primitive_operations == 1
        kinds = (precision.lhs_precision_type, precision.rhs_precision_type) if is_one else (None, None)
    else:
        kind = {"F16": "float16", "BF16": "bfloat16", "F64": "float64"}.get(precision.name.partition("_")[0])
        kinds = (None, None) if "_X" in precision.name else (kind, kind)
    result = jnp.dtype(params["preferred_element_type"] or jnp.result_type(*operands[:2]))
    operands = tuple(x if kind is None else x.astype(kind) for x, kind in zip(operands, kinds))
    sums = jnp.float32 if result.itemsize == 2 else result
    return primitive.bind(*operands, **params | {"precision": None, "preferred_element_type": sums}).astype(result)


def adds_in_16_bits(equation: Any) -> bool:
    from jax import numpy as jnp
    if equation.primitive.name not in ("dot_general", "conv_general_dilated"):
        return False
    kind = equation.outvars[0].aval.dtype
    return bool(jnp.issubdtype(kind, jnp.floating) and kind.itemsize == 2)


# Primitives that JAX computes by LAPACK.
LINEAR_ALGEBRA = ("cholesky", "cholesky_update", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "ormqr", "qr", "schur",
                  "svd", "symmetric_product", "tridiagonal", "tridiagonal_solve")


def refuse_linear_algebra(*_: Any, name: str, **__: Any) -> Any:
    raise ExportError(f"there is no way to MLIR for linear algebra ({name}), as a compiled step has no LAPACK: compute what depends on data alone "
                      "outside of the loss, and pass it with the batch; let triangular factors be the parameters, whose equations and determinants "
                      "there are; or solve equations by jax.scipy.sparse.linalg.cg or bicgstab")


def triangular_solve(a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any) -> Any:
    from jax import numpy as jnp
    if jnp.iscomplexobj(a) or jnp.iscomplexobj(b):
        refuse_linear_algebra(name="triangular_solve of complex numbers")
    return triangular.solve(jnp, jnp.swapaxes(a, -1, -2) if transpose_a else a, b, is_upper=lower == transpose_a, is_left=left_side,
                            has_unit_diagonal=unit_diagonal)


def find(equation: Any) -> Callable[..., Any] | None:
    """Returns a function that computes the same as `equation`, or refuses it, or None if it needs no decomposition."""
    from jax import numpy as jnp
    if has_algorithm(equation):
        return functools.partial(multiply_by_algorithm, primitive=equation.primitive)
    if adds_in_16_bits(equation):
        return functools.partial(sum_in_float32, primitive=equation.primitive, kind=equation.outvars[0].aval.dtype)
    if is_collective(equation):
        return refuse_collective
    if equation.primitive.name == "gather" and is_to_be_checked(equation):
        return functools.partial(gather, primitive=equation.primitive)
    if equation.primitive.name == "rev" and jnp.issubdtype(equation.invars[0].aval.dtype, jnp.unsignedinteger):
        return reverse
    if equation.primitive.name in ("abs", "sign") and equation.invars[0].aval.dtype.kind == "c":
        return {"abs": complex_abs, "sign": complex_sign}[equation.primitive.name]
    if equation.primitive.name == "pad" and not any(interior for _, _, interior in equation.params["padding_config"]):
        return None
    return table().get(equation.primitive.name)


@functools.cache
def table() -> dict[str, Callable[..., Any]]:
    """By the primitive's name."""
    from jax import lax
    from jax import numpy as jnp
    combinations = {"scatter": lambda old, new: new, "scatter-mul": lax.mul, "scatter-min": lax.min, "scatter-max": lax.max}
    return {"cumsum": cumulative(lax.add), "cumprod": cumulative(lax.mul),
            "cummax": cumulative(lax.max), "cummin": cumulative(lax.min),
            "cumlogsumexp": cumulative(jnp.logaddexp), "sort": sort, "top_k": top_k, "approx_top_k": approximate_top_k,
            "pad": padding.pad, "fft": fourier.fft, "reduce_precision": reduce_precision, "ragged_dot_general": grouped.ragged_dot,
            attention.PRIMITIVE: attention.stand_in,
            "pure_callback": refuse_callback, "io_callback": refuse_callback, "sharding_constraint": keep, "reshard": keep,
            **{name: functools.partial(refuse_linear_algebra, name=name) for name in LINEAR_ALGEBRA},
            "triangular_solve": triangular_solve,
            **{name: scatter(combine) for name, combine in combinations.items()},
            "scatter-add": scatter_add, "scatter-sub": lambda x, indices, updates, **params: scatter_add(x, indices, -updates, **params)}
