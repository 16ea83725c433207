# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of booleans and unsigned integers in JAX. The way from StableHLO to linalg takes the conversion of an operand into the
product, and has forgotten by then that the integer had no sign: true became -1, and 200 became -56. Something that changes no
value stands between the two."""

from collections.abc import Callable, Sequence
from typing import Any

PRODUCTS = "dot_general", "conv_general_dilated", "ragged_dot_general"
# Conversions are moved past these, and complex numbers taken apart.
VIEWS = ("broadcast_in_dim", "complex", "concatenate", "copy", "dynamic_slice", "expand_dims", "imag", "real", "reshape", "rev",
         "slice", "squeeze", "transpose")


def is_widened(narrow: Any, wide: Any) -> bool:
    return narrow.kind in "bu" and (wide.itemsize > narrow.itemsize or wide.kind != narrow.kind)


def find(jaxpr: Any) -> dict[int, Any]:
    """Returns the products in `jaxpr`, and in all jaxprs in it, of which an operand may be such a conversion, by their identity."""
    found: dict[int, Any] = {}
    walk(jaxpr, [False] * len(jaxpr.invars), found)
    return found


def walk(jaxpr: Any, are_widened: Sequence[bool], found: dict[int, Any]) -> list[bool]:
    """Collects the products in `jaxpr`, and returns which of its results may be conversions if these of its arguments are."""
    from jax.extend import core
    widened = {v for v, is_one in zip(jaxpr.invars, are_widened) if is_one}

    def has(value: Any) -> bool:
        return not isinstance(value, core.Literal) and value in widened

    for equation in jaxpr.eqns:
        operands, results = list(map(has, equation.invars)), equation.outvars
        for inner, arguments in get_called(equation, operands):
            returned = walk(inner, arguments, found)
            if len(returned) == len(results):
                widened.update(v for v, is_one in zip(results, returned) if is_one)
        name = equation.primitive.name
        if name in PRODUCTS:
            if any(operands) or any(is_widened(v.aval.dtype, results[0].aval.dtype) for v in equation.invars):
                found[id(equation)] = equation
        elif name == "convert_element_type":
            if operands[0] or is_widened(equation.invars[0].aval.dtype, equation.params["new_dtype"]):
                widened.update(results)
        elif name in VIEWS and any(operands):
            widened.update(results)
    return list(map(has, jaxpr.outvars))


def get_jaxprs(value: Any) -> list[Any]:
    from jax.extend import core
    if isinstance(value, core.ClosedJaxpr):
        return [value.jaxpr]
    if isinstance(value, core.Jaxpr):
        return [value]
    return [each for part in value for each in get_jaxprs(part)] if isinstance(value, tuple | list) else []


def get_called(equation: Any, operands: list[bool]) -> list[tuple[Any, list[bool]]]:
    """Returns the jaxprs that `equation` runs and, for each, which of its arguments may be conversions if these `operands` are:
    values that are invariant in a loop reach its body as they are."""
    params = equation.params
    if equation.primitive.name == "cond":
        return [(jaxpr, operands[1:]) for jaxpr in get_jaxprs(params["branches"])]
    if equation.primitive.name == "while":
        tests, bodies = params["cond_nconsts"], params["body_nconsts"]
        carried = operands[tests + bodies:]
        return [(jaxpr, constants + carried) for key, constants in
                (("cond_jaxpr", operands[:tests]), ("body_jaxpr", operands[tests:tests + bodies])) for jaxpr in get_jaxprs(params[key])]
    return [(jaxpr, operands if len(jaxpr.invars) == len(operands) else [False] * len(jaxpr.invars))
            for value in params.values() for jaxpr in get_jaxprs(value)]


def hold(x: Any) -> Any:
    """Returns the same values, by an operation that nothing takes for a conversion."""
    from jax import lax
    from jax import numpy as jnp
    if x.dtype.kind == "c":
        return lax.complex(hold(x.real), hold(x.imag))
    if x.dtype == bool:
        return x
    least = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    return lax.max(x, jnp.full(x.shape, least, x.dtype))


def product(equation: Any, compute: Callable[..., Any] | None) -> Callable[..., Any]:
    """Returns a function that computes `equation` from operands that are held, by `compute` if that is not None."""
    kind = equation.outvars[0].aval.dtype

    def multiply(*operands: Any, **params: Any) -> Any:
        wide = [x.astype(kind) if is_widened(x.dtype, kind) else x for x in operands[:2]]
        return (compute or equation.primitive.bind)(*map(hold, wide), *operands[2:], **params)

    return multiply
