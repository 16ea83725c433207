# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.nn.dot_product_attention` as one operation.

While a program is traced, what JAX computes there is a primitive of our own. It is batched as a whole; a derivative that the program itself
takes is that of JAX's products and softmax. While JAX lowers the program, an optimization barrier stands for a call of a function without
a body, which becomes a `remat.attention` in the end.
"""
import contextlib
import functools
import inspect
import math
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from remat.export.attention import KEYS, NONE, Indexed, split_type, write as write_attention
from remat.export.scalars import Scalars

NAME = "remat.attention"
PRIMITIVE = "dot_product_attention"
SCOPE = "attention#"
FUNCTION = "_dot_product_attention_xla"
CAUSAL, BIASED, MASKED = 1, 2, 4


@functools.cache
def jax_functions() -> Any:
    from jax._src.nn import functions
    return functions


@functools.cache
def by_parts() -> Callable[..., Any]:
    """JAX's own function."""
    function: Callable[..., Any] = getattr(jax_functions(), FUNCTION)
    return function


def compute(query: Any, key: Any, value: Any, *others: Any, form: int, scale: float) -> Any:
    rest = iter(others)
    bias, mask = (next(rest) if form & part else None for part in (BIASED, MASKED))
    return by_parts()(query, key, value, bias, mask, bool(form & CAUSAL), scale, None, None, None)


def batch(operands: Any, dims: Any, **options: Any) -> Any:
    """More of the batch, where all of query, key and value have such a dimension."""
    import jax
    from jax import numpy as jnp
    if any(dim is None for dim in dims[:3]):
        return jax.vmap(functools.partial(compute, **options), dims)(*operands), 0
    size, count = operands[0].shape[dims[0]], np.delete(operands[0].shape, dims[0])[0]

    def merge(x: Any, dim: int | None) -> Any:
        if dim is None and x.shape[0] == 1:
            return x
        x = jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)
        return jnp.broadcast_to(x, (size, count, *x.shape[2:])).reshape(size * count, *x.shape[2:])

    result = primitive().bind(*map(merge, operands, dims), **options)
    return result.reshape(size, count, *result.shape[1:]), 0


def differentiate(primals: Any, tangents: Any, **options: Any) -> Any:
    import jax
    from jax.interpreters import ad
    return jax.jvp(functools.partial(compute, **options), primals, tuple(map(ad.instantiate_zeros, tangents)))


@functools.cache
def primitive() -> Any:
    import jax
    from jax.extend import core
    from jax.interpreters import ad, batching, mlir
    found = core.Primitive(PRIMITIVE)
    found.def_impl(compute)
    found.def_abstract_eval(lambda query, *_, **__: jax.core.ShapedArray(query.shape, query.dtype))
    mlir.register_lowering(found, mlir.lower_fun(compute, multiple_results=False))
    ad.primitive_jvps[found] = differentiate
    batching.primitive_batchers[found] = batch
    return found


def is_whole(query: Any, key: Any, value: Any, bias: Any, scale: Any) -> bool:
    """Returns true if `remat.attention` can say it."""
    from jax import numpy as jnp
    wide = jnp.promote_types(query.dtype, np.float32)
    return isinstance(scale, (int, float, np.floating)) and math.isfinite(scale) and wide in (np.float32, np.float64) \
        and all(isinstance(size, int) and size for x in (query, key, value) for size in x.shape) \
        and (bias is None or jnp.issubdtype(bias.dtype, np.floating) and jnp.promote_types(bias.dtype, wide) == wide)


def attention(query: Any, key: Any, value: Any, bias: Any, mask: Any, is_causal: bool, scale: Any, q_seqlen: Any, kv_seqlen: Any,
              local_window_size: Any, return_residual: bool = False) -> Any:
    """JAX's, of batch x position x head x depth; masks by lengths and windows are part of `mask` here."""
    from jax import numpy as jnp
    if return_residual or not is_whole(query, key, value, bias, scale):
        return by_parts()(query, key, value, bias, mask, is_causal, scale, q_seqlen, kv_seqlen, local_window_size, return_residual)
    functions, lengths = jax_functions(), (query.shape[1], key.shape[1])
    masks = [] if mask is None else [mask]
    if local_window_size is not None:
        masks.append(functions._get_window_mask(*lengths, local_window_size))
    if q_seqlen is not None or kv_seqlen is not None:
        masks.append(functions._get_padding_mask_logits(*lengths, q_seqlen, kv_seqlen))
    others = [] if bias is None else [bias]
    if masks:
        others.append(functools.reduce(jnp.logical_and, masks))
    form = CAUSAL * bool(is_causal) + BIASED * (bias is not None) + MASKED * bool(masks)
    result = primitive().bind(query, key, value, *others, form=form, scale=float(scale))
    if q_seqlen is None:
        return result
    return result * functions._get_padding_mask_encoded(lengths[0], q_seqlen).astype(result.dtype)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """While this is entered, JAX traces its attention as the primitive. Not in a version of JAX that has another function there: what it
    computes is then found in the parts that it is made of."""
    functions = jax_functions()
    own = getattr(functions, FUNCTION, None)
    if own is None or inspect.signature(own).parameters.keys() != inspect.signature(attention).parameters.keys():
        yield
        return
    by_parts()  # before it is replaced
    setattr(functions, FUNCTION, attention)
    try:
        yield
    finally:
        setattr(functions, FUNCTION, own)


def stand_in(query: Any, key: Any, value: Any, *others: Any, form: int, scale: float) -> Any:
    """The primitive, to be found again in StableHLO. Heads that share keys have a dimension of their own."""
    import jax
    from jax import numpy as jnp
    (size, rows, heads, depth), groups = query.shape, key.shape[2]
    if groups != heads:
        query = query.reshape(size, rows, groups, heads // groups, depth)
        others = tuple(x.reshape(x.shape[0], *((1, 1) if x.shape[1] == 1 else query.shape[2:4]), *x.shape[2:]) for x in others)
    result = jnp.zeros(query.shape, jnp.promote_types(query.dtype, np.float32))
    with jax.named_scope(f"{SCOPE}{form}_{struct.pack('>d', scale).hex()}"):
        result = jax.lax.optimization_barrier((query, key, value, *others, result))[-1]
    return result.reshape(size, rows, heads, depth).astype(query.dtype)


def replace_barriers(module: Any, barriers: list[Any]) -> None:
    """Puts calls in place of those of the `barriers` in `module` that stand for them."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func
    known: dict[str, str] = {}
    for barrier in barriers:
        if not (found := re.search(rf"{SCOPE}(\w+)", str(barrier.location))):
            continue
        with barrier.context, barrier.location:
            operands, result = list(barrier.operands)[:-1], barrier.results[len(barrier.results) - 1]
            types = [operand.type for operand in operands]
            if (key := f"{found[1]} {types}") not in known:
                known[key] = f"{NAME}_{found[1]}_{len(known)}"
                with ir.InsertionPoint(module.body):
                    func.FuncOp(known[key], (types, [result.type]), visibility="private")
            with ir.InsertionPoint(barrier):
                call = func.CallOp([result.type], ir.FlatSymbolRefAttr.get(known[key]), operands)
        result.replace_all_uses_with(call.results[0])
        barrier.erase()


def write(name: str, form: int, scale: float, types: list[str]) -> str:
    """The function `name` of a query, a key and a value of these `types`, and of a bias and a mask, as `form` says."""
    query, key, value, *others = types
    heads = ["k", "g"] if len(split_type(query)[0]) == 5 else ["k"]
    kinds = [split_type(other)[1] for other in others]

    def indexed(other: str) -> Indexed:
        return Indexed(other, [NONE if size == "1" else loop for size, loop in zip(split_type(other)[0], ["b", *heads, "m", KEYS])])

    def score(s: Scalars, value: str, *elements: str) -> list[str]:
        value = s.add("arith.mulf", value, s.constant(scale))
        if form & BIASED:
            value = s.add("arith.addf", value, s.convert(elements[0], kinds[0]))
        shown = list(elements[-1:]) if form & MASKED else []
        if form & CAUSAL:
            shown.append(s.add("arith.cmpi ule,", f"%{KEYS}", "%m", kind="index"))
        for mask in shown:
            value = s.add("arith.select", mask, value, s.constant(-0.7 * float(np.finfo(np.float32 if s.kind == "f32" else np.float64).max)))
        if s.kind == "f64":  # the softmax is one in float32
            value = s.add("arith.extf", s.add("arith.truncf", value, kind="f64 to f32"), kind="f32 to f64")
        return [value]

    return write_attention(name, Indexed(query, ["b", "m", *heads, "d"]), Indexed(key, ["b", KEYS, "k", "d"]),
                           Indexed(value, ["b", KEYS, "k", "v"]), [indexed(other) for other in others], ["b", *heads, "m"],
                           ["b", "m", *heads, "v"], score)


def restore(text: str) -> str:
    """`text`, as IREE leaves it, with the bodies of these functions."""
    name = rf"(\w*{re.escape(NAME)}_(\d+)_([0-9a-f]{{16}})_\d+)\b"
    text = re.sub(rf"{SCOPE}\w+(\)*)/optimization_barrier", r"dot_product_attention\1", re.sub(rf"util\.call @{name}", r"func.call @\1", text))

    def body(match: re.Match[str]) -> str:
        scale, = struct.unpack(">d", bytes.fromhex(match[3]))
        return write(match[1], int(match[2]), scale, re.findall(r"tensor<[^>]*>", match[4]))

    return re.sub(rf"^ *util\.func private @{name}\(([^)]*)\) -> .*$", body, text, flags=re.M)
