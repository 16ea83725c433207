# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of a JAX program whose derivative is given by hand, by `jax.custom_vjp` or `jax.custom_jvp`.

Lowered, they are what they compute, and their derivative is lost. So each application becomes a call of a function of its
own, @custom_<n>. The derivative that JAX has for it becomes a function @custom_<n>_vjp from operands, results and cotangents
to cotangents of the operands, as `remat.custom_vjp` has it, which recomputes the values that it uses of those that the forward
would have saved.
"""

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SCOPE = "custom_derivative#"
# Of JAX itself: the derivative of what they compute is the same (docs/kinks.md), and a call would hide it from fusion.
PLAIN = "relu", "relu6", "_softmax", "logaddexp", "logaddexp2"
# Of JAX itself, too: series, approximations, a sampler and iterations until something is solved, whose derivative is not that of what they
# compute but a rule that JAX has.
RULED = "bessel_i0e", "bessel_i1e", "custom_linear_solve", "igamma", "igammac", "random_gamma"


def get_name(equation: Any) -> tuple[str, str]:
    """Returns the name of the function that `equation` calls, and the file in which it is."""
    name, _, source = equation.params["call_jaxpr"].jaxpr.debug_info.func_src_info.partition(" at ")
    return name, source


def is_custom(equation: Any) -> bool:
    """Returns true if `equation` calls a function with a derivative by hand, other than PLAIN ones."""
    import jax
    if equation.primitive.name not in ("custom_jvp_call", "custom_vjp_call"):
        return False
    name, source = get_name(equation)
    return name not in PLAIN or not source.startswith(str(Path(jax.__file__).parent))


def is_ruled(equation: Any) -> bool:
    """Returns true if `equation` is an operation of JAX with a derivative that is not that of what it lowers to."""
    return equation.primitive.name in RULED


def with_own_derivative(equation: Any) -> Any:
    """Returns a function that computes the RULED `equation`, with the derivative that JAX has for it as one by hand."""
    import jax

    def ruled(*operands: Any) -> Any:
        return equation.primitive.bind(*operands, **equation.params)

    function: Any = jax.custom_jvp(ruled)
    function.defjvp(functools.partial(jax.jvp, ruled))
    return function


def is_own(equation: Any) -> bool:
    """Returns true if `equation` calls a function that `with_own_derivative` made."""
    inner = equation.params["call_jaxpr"].jaxpr.eqns
    return len(inner) == 1 and is_ruled(inner[0])


def is_key(x: Any) -> bool:
    """Returns true if `x` is an array of random keys as `jax.random.key` makes them."""
    import jax
    return bool(jax.dtypes.issubdtype(getattr(x, "dtype", float), jax.dtypes.prng_key))


def to_keys(numbers: Any, like: Any) -> Any:
    """Returns the random keys that consist of these `numbers`, of the kind that `like` has."""
    import jax
    kinds: list[Any] = []
    jax.eval_shape(lambda keys: kinds.append(jax.random.key_impl(keys)), like)
    return jax.random.wrap_key_data(numbers, impl=kinds[0])


def split(values: Sequence[Any]) -> list[Any]:
    """Returns `values` with real and imaginary parts for complex arrays and numbers for random keys: functions with a derivative by
    hand have neither as operands or results."""
    import jax

    def parts(v: Any) -> tuple[Any, ...]:
        return (v.real, v.imag) if np.iscomplexobj(v) else (jax.random.key_data(v) if is_key(v) else v,)

    return [part for v in values for part in parts(v)]


def split_avals(avals: Sequence[Any]) -> list[Any]:
    import jax

    def parts(aval: Any) -> list[Any]:
        if np.iscomplexobj(aval):
            return [jax.ShapeDtypeStruct(aval.shape, np.finfo(aval.dtype).dtype)] * 2
        return [jax.eval_shape(jax.random.key_data, aval) if is_key(aval) else aval]

    return [part for aval in avals for part in parts(aval)]


def join(parts: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Returns the values of which `split` made these `parts`."""
    import jax
    remaining = iter(parts)

    def whole(aval: Any) -> Any:
        part = next(remaining)
        return jax.lax.complex(part, next(remaining)) if np.iscomplexobj(aval) else to_keys(part, aval) if is_key(aval) else part

    return list(map(whole, avals))


def in_parts(program: Any) -> Any:
    """Returns the closed jaxpr `program` as one from parts to parts; itself where nothing is split."""
    import jax
    from jax.extend import core
    if not any(np.iscomplexobj(aval) or is_key(aval) for aval in (*program.in_avals, *program.out_avals)):
        return program
    function = core.jaxpr_as_fun(program)
    return jax.make_jaxpr(lambda *parts: split(function(*join(parts, program.in_avals))))(*split_avals(program.in_avals))


def stand_in(equation: Any, number: int) -> Callable[..., Any]:
    """A function like the one that `equation` calls, to be found again in StableHLO: a barrier, in a scope with `number`."""
    import jax
    from jax import numpy as jnp

    def compute(*operands: Any) -> Any:
        avals = [v.aval for v in equation.outvars]
        operands = tuple(split(operands))
        with jax.named_scope(f"{SCOPE}{number}"):
            results = [jnp.zeros(aval.shape, aval.dtype) for aval in split_avals(avals)]
            results = jax.lax.optimization_barrier((*operands, *results))[len(operands):]
        return join(results, avals)

    return compute


def apply(equation: Any) -> Callable[..., Any]:
    """A function of its operands that does what `equation` does."""
    from jax.extend import core
    operands, results = ([core.Var(v.aval) for v in values] for values in (equation.invars, equation.outvars))
    program = equation.params["call_jaxpr"]
    program = program.replace(consts=(), jaxpr=program.jaxpr.replace(
        constvars=[], invars=operands, outvars=results, eqns=[equation.replace(invars=operands, outvars=results)]))
    function: Callable[..., Any] = core.jaxpr_as_fun(program)
    return function


def get_vjp(equation: Any) -> tuple[Callable[..., list[Any]], tuple[list[Any], list[Any], list[Any]]]:
    """Cotangents of the floating-point operands of `equation`, from operands, results and cotangents of floating-point
    results, in real parts."""
    import jax

    def is_float(value: Any) -> bool:
        return bool(jax.numpy.issubdtype(value.dtype, np.floating))

    constants = equation.params["num_consts"]  # closed over: JAX has no derivative by these
    operands, results = ([v.aval for v in values] for values in (equation.invars, equation.outvars))

    def call(*parts: Any) -> Any:
        values = join(parts, operands)
        return split(apply(equation)(*map(jax.lax.stop_gradient, values[:constants]), *values[constants:]))

    def vjp(operands: Any, results: Any, cotangents: Any) -> list[Any]:
        given = iter(cotangents)
        seeds = [next(given) if is_float(r) else np.zeros(r.shape, jax.dtypes.float0) for r in results]
        found = jax.vjp(call, *operands)[1](seeds)
        return [c for c, o in zip(found, operands) if is_float(o)]

    split_results = split_avals(results)
    return vjp, (split_avals(operands), split_results, [r for r in split_results if is_float(r)])


def replace_barriers(barriers: list[Any], names: Sequence[Any]) -> None:
    """Puts calls of the functions `names`, by number, in place of those of the `barriers` that stand for them."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func
    for barrier in barriers:
        if not (found := re.search(rf"{SCOPE}(\d+)", str(barrier.location))):
            continue
        name, operand_count = names[int(found[1])]
        results = list(barrier.results)[operand_count:]
        with barrier.context, barrier.location, ir.InsertionPoint(barrier):
            call = func.CallOp([r.type for r in results], ir.FlatSymbolRefAttr.get(name),
                               list(barrier.operands)[:operand_count])
        for old, new in zip(results, call.results):
            old.replace_all_uses_with(new)
        barrier.erase()


def merge(module: Any, text: str, name: str) -> None:
    """Adds the functions of the module `text` to `module`: its @main is called `name` and stays a function, others get a
    prefix."""
    from jaxlib.mlir import ir
    with module.context:
        copy = ir.Module.parse(text)
        renamed = {}
        for function in copy.body.operations:
            old = function.attributes["sym_name"].value
            renamed[old] = name if old == "main" else f"{name}_{old}"

        def rename_callee(operation: Any) -> Any:
            if operation.name == "func.call" and (old := operation.attributes["callee"].value) in renamed:
                operation.attributes["callee"] = ir.FlatSymbolRefAttr.get(renamed[old])
            return ir.WalkResult.ADVANCE

        copy.operation.walk(rename_callee)
        for function in list(copy.body.operations):
            old = function.attributes["sym_name"].value
            function.attributes["sym_name"] = ir.StringAttr.get(renamed[old])
            if old == "main":
                for attribute in "no_inline", "noinline":  # MLIR's, and IREE's
                    function.attributes[attribute] = ir.UnitAttr.get()
            module.body.append(function)


def restore(text: str, count: int) -> str:
    """`text`, as IREE leaves it, with `count` such functions and what says that their derivatives are that."""
    text = re.sub(rf"{SCOPE}\d+(\)*)/optimization_barrier", r"custom_vjp\1", text)
    text = re.sub(r"util\.func (?:public|private) @(custom_\d+(?:_vjp)?)\b", r"func.func private @\1", text)
    text = text.replace("util.call @custom_", "func.call @custom_")
    text = text.replace(" attributes {inlining_policy = #util.inline.never}", "")
    rules = "".join(f"  remat.custom_vjp @custom_{n}_vjp for @custom_{n}\n" for n in range(count))
    head, brace, tail = text.rpartition("\n}")
    return f"{head}\n{rules.rstrip()}{brace}{tail}" if rules else text
