# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a function of JAX's to a `remat.export.Export`."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from remat.errors import ExportError
from remat.export.exported import Export, Value, upstream
from remat.export.locations import describe_location, keep_scopes
from remat.jax import lowering, written


def as_jax(value: Any) -> Any:
    """A NumPy array of the type in which JAX takes `value`: of 32 bits where it has 64, but under `jax_enable_x64`."""
    import jax
    array = np.asarray(value)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def run_jax(loss: Callable[..., Any], params: Any, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Outputs, and gradients by leaf."""
    import jax

    def seed(index: int, output: Any) -> Any:
        if not jax.numpy.issubdtype(output.dtype, np.floating):
            return np.zeros(output.shape, jax.dtypes.float0)
        return np.full(output.shape, float(index == 0), output.dtype)

    outputs, pull = jax.vjp(lambda p: as_tuple(loss(p, *inputs)), params)
    gradients, = pull(tuple(seed(i, o) for i, o in enumerate(outputs)))
    return [np.asarray(o) for o in outputs], [np.asarray(g) for g in jax.tree.leaves(gradients)]


@contextlib.contextmanager
def narrow_draws() -> Iterator[None]:
    """Random numbers in float32 and int32 also where 64 bits are the default, so that both precisions draw the same."""
    import jax
    from jax._src.random import core

    def narrow(draw: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(key: Any, minval: Any, maxval: Any, shape: Any, dtype: Any) -> Any:
            narrower = {"float64": "float32", "int64": "int32"}.get(np.dtype(dtype).name, dtype)
            return draw(key, minval, maxval, shape, np.dtype(narrower)).astype(dtype)
        return wrapped

    saved = {name: getattr(core, name) for name in ("_uniform", "_randint")}
    for name, draw in saved.items():
        setattr(core, name, narrow(draw))
    jax.clear_caches()  # of functions that call these
    try:
        yield
    finally:
        for name, draw in saved.items():
            setattr(core, name, draw)
        jax.clear_caches()


def as_tuple(returned: Any) -> tuple[Any, ...]:
    return returned if isinstance(returned, tuple) else (returned,)


def widen(tree: Any) -> Any:
    import jax
    return jax.tree.map(lambda a: np.asarray(a, np.float64) if jax.numpy.issubdtype(a.dtype, np.floating)
                        else np.asarray(a), tree)


def describe_refusal(text: str) -> str:
    """Returns the operation that IREE cannot lower and its location, from the `text` of its error; else all of `text`."""
    match = re.search(r"^(\S.*?:\d+):\d+: error: (.*)", text, re.M)
    if not match:
        return text
    place, message = match.groups()
    stack = re.search(r" loc\((.*)\)$", message)
    called = re.search(r'call_target_name = "([^"]*)"', message)
    text = f"it has no {called[1]}" if called else message.partition(": %")[0].partition(" loc(")[0]
    return f"{stack and describe_location(stack[1]) or place}: {text}"


def stablehlo_to_linalg(text: str) -> str:
    """Returns linalg on tensors by IREE's input conversion, with MLIR's functions in the place of IREE's. Raises an ExportError if
    IREE cannot lower the text."""
    from iree.compiler import tools
    try:
        text = tools.compile_str(text, input_type="stablehlo", output_mlir_debuginfo=True, extra_args=[
            "--compile-to=input", "--iree-input-demote-f64-to-f32=false", "--iree-input-demote-i64-to-i32=false"]).decode()
    except tools.CompilerToolError as error:
        raise ExportError(f"IREE cannot lower the function: {describe_refusal(str(error))}") from error
    return text.replace("util.func public @main", "func.func @loss").replace("util.return", "return")


def from_jax(loss: Callable[..., Any], params: Any, inputs: dict[str, Any], *, outputs: Sequence[str] = ("loss",),
             dims: dict[str, Any] | None = None, x64: bool | None = None, check: bool = True, functions: Any = None,
             as_written: bool = False) -> Export:
    """Exports `loss(params, *inputs.values())`, the scalar loss or a tuple that starts with it.

    params: a pytree of floating-point arrays. x64: the model itself is in float64; JAX's own setting if it is not given.
    outputs, dims, check: as for `from_torch`. functions: those of an optimizer (`optax_traced.Functions`).
    as_written: ask the policies of `jax.checkpoint`; the answers are in `written` of the export.
    """
    import jax
    values = list(inputs.values())
    x64 = jax.config.jax_enable_x64 if x64 is None else x64
    asker = written.Asker() if as_written else None
    with jax.enable_x64(x64):
        own = run_jax(loss, params, values) if check else ([], [])
        text, names, customs = lowering.lower(loss, params, values, functions.texts if functions else {}, asker)
        text = keep_scopes(lowering.restore(stablehlo_to_linalg(text), names, customs))
        text = functions.restore(text) if functions else text
        shapes = as_tuple(jax.eval_shape(loss, params, *values))
        arguments = [Value(jax.tree_util.keystr(path, simple=True, separator="."), "parameter", as_jax(leaf))
                     for path, leaf in jax.tree_util.tree_leaves_with_path(params)]
        data = [Value(name, "data", as_jax(value)) for name, value in inputs.items()]
    results = [Value(name, "output" if i else "loss", None, shape=list(like.shape), kind=like.dtype.name)
               for i, (name, like) in enumerate(zip(outputs, shapes))]
    if check:
        with jax.enable_x64(True), contextlib.nullcontext() if x64 else narrow_draws():
            wide = run_jax(loss, widen(params), widen(values))
        for argument, narrow, wider in zip(arguments, own[1], wide[1], strict=True):
            argument.gradient = narrow, wider
        for result, *pair in zip(results, own[0], wide[0], strict=True):
            result.own, result.wide = pair
    return Export(upstream(text), "jax", arguments + data, results, dims or {}, asker.written if asker else None)
