# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps what a JAX program says of rematerialization and derivatives through its lowering, which drops all of it but a scope.

`jax.checkpoint` leaves "checkpoint" in the scope of its operations, the same one each time that a function is applied;
`checkpoint_name` and `stop_gradient` leave nothing. So the applications are numbered ("checkpoint#2"), and names and stopped
gradients travel as optimization barriers, which become `remat.name` and `remat.stop_gradient` in the end. Other barriers do
not change a value, and are taken out. Functions with a derivative by hand stay functions (custom.py).
"""

import contextlib
import functools
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from remat.errors import ExportError
from remat.jax import attention, custom, decompositions, scatter, written
from remat.jax.workarounds import widening

NAME_SCOPE = "checkpoint_name#"
STOP_SCOPE = "stop_gradient#"


class Decomposer:
    """Decomposes what has no way to linalg, in jaxprs."""

    def __init__(self) -> None:
        self.widened: dict[int, Any] = {}

    def mark_program(self, program: Any) -> Any:
        """The closed jaxpr `program` marked."""
        self.widened |= widening.find(program.jaxpr)
        return self.mark(program)

    def mark(self, value: Any) -> Any:
        """`value` with all jaxprs in it marked; itself if there is nothing to mark, so that functions stay shared."""
        from jax.extend import core
        if isinstance(value, core.Jaxpr):
            equations = [self.mark_equation(equation) for equation in value.eqns if not is_debugging(equation)]
            return value if is_same(equations, value.eqns) else value.replace(eqns=equations)
        if isinstance(value, core.ClosedJaxpr):
            jaxpr = self.mark(value.jaxpr)
            return value if jaxpr is value.jaxpr else value.replace(jaxpr=jaxpr)
        if isinstance(value, tuple):
            parts = tuple(map(self.mark, value))
            return value if is_same(parts, value) else type(value)(*parts) if hasattr(value, "_fields") else parts
        return value

    def mark_equation(self, equation: Any) -> Any:
        compute = decompositions.find(equation)
        if id(equation) in self.widened:
            compute = widening.product(equation, compute)
        with located(equation):
            if compute:
                compute = functools.partial(compute, **equation.params)
                equation = computed_by(equation, compute, equation.primitive.name)
            params = {key: self.mark(value) for key, value in equation.params.items()}
        return equation if is_same(params.values(), equation.params.values()) else equation.replace(params=params)


@contextlib.contextmanager
def located(equation: Any) -> Iterator[None]:
    """Says where `equation` is in errors about what is in it; within JAX's own functions no line is known."""
    from jax.extend import source_info_util
    try:
        yield
    except ExportError as error:
        where = source_info_util.summarize(equation.source_info)
        if not where or hasattr(error, "where"):
            raise
        found = ExportError(f"{where}: {error}")
        found.where = where  # type: ignore[attr-defined]
        raise found from error


class Marker(Decomposer):
    """The same, numbers applications of `jax.checkpoint`, and puts barriers in the place of stopped gradients and of the
    names and custom derivatives that it collects."""

    def __init__(self, asker: written.Asker | None = None) -> None:
        super().__init__()
        import jax
        self.asker = asker
        from jax.extend.core import primitives
        self.name, self.checkpoint = primitives.name_p, primitives.remat_p
        self.barrier = jax.make_jaxpr(jax.lax.optimization_barrier)(0.0).eqns[0].primitive
        self.names: list[str] = []
        self.custom: list[Any] = []
        self.applications = itertools.count()

    def mark_equation(self, equation: Any) -> Any:
        if custom.is_custom(equation):
            self.custom.append(equation)
            return computed_by(equation, custom.stand_in(equation, len(self.custom) - 1), custom.get_name(equation)[0])
        if custom.is_ruled(equation):
            with located(equation):
                equation = computed_by(equation, custom.with_own_derivative(equation), equation.primitive.name)
        if equation.primitive.name == "stop_gradient":
            return self.make_barrier(equation, STOP_SCOPE)
        if equation.primitive is self.name:
            self.names.append(equation.params["name"])
            return self.make_barrier(equation, f"{NAME_SCOPE}{len(self.names) - 1}")
        if equation.primitive is self.checkpoint:
            number = next(self.applications)
            if self.asker:
                self.asker.enter(number, equation)
            marked = super().mark_equation(equation.replace(source_info=in_scope(equation, f"checkpoint#{number}")))
            if self.asker:
                self.asker.leave()
            return marked
        marked = super().mark_equation(equation)
        scope = self.asker.find_scope(equation) if self.asker else None
        return marked.replace(source_info=in_scope(equation, scope)) if scope else marked

    def make_barrier(self, equation: Any, scope: str) -> Any:
        return equation.replace(primitive=self.barrier, params={}, source_info=in_scope(equation, scope))


def computed_by(equation: Any, compute: Any, name: str) -> Any:
    """Returns `equation` as a call of `compute`, which is called `name` in locations."""
    import jax
    call, = jax.make_jaxpr(jax.jit(compute))(*(v.aval for v in equation.invars)).eqns
    return equation.replace(primitive=call.primitive, params=call.params | {"name": name})


def is_debugging(equation: Any) -> bool:
    """Returns true if `equation` calls Python and computes nothing, and warns that a step leaves it out."""
    if equation.primitive.name not in ("debug_print", "debug_callback"):
        return False
    from jax.extend import source_info_util
    warnings.warn(f"{source_info_util.summarize(equation.source_info)}: the step leaves out {equation.primitive.name}: it cannot "
                  "call Python; to see a value, return it beside the loss", stacklevel=2)
    return True


def is_same(values: Iterable[Any], others: Iterable[Any]) -> bool:
    values, others = list(values), list(others)
    return len(values) == len(others) and all(value is other for value, other in zip(values, others))


def in_scope(equation: Any, scope: str) -> Any:
    return equation.source_info.replace(name_stack=equation.source_info.name_stack.extend(scope))


def erase_barriers(module: Any) -> None:
    """Erases the barriers of `module` (in StableHLO) that stand for nothing."""
    for barrier in find_barriers(module):
        if not re.search(f"{NAME_SCOPE}|{STOP_SCOPE}|{custom.SCOPE}", str(barrier.location)):
            for result, operand in zip(barrier.results, barrier.operands):
                result.replace_all_uses_with(operand)
            barrier.erase()


def find_barriers(module: Any) -> list[Any]:
    from jaxlib.mlir import ir
    barriers = []

    def collect(operation: Any) -> Any:
        if operation.name == "stablehlo.optimization_barrier":
            barriers.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    return barriers


def to_stablehlo(program: Any, name: str, avals: Sequence[Any]) -> Any:
    """The closed jaxpr `program` as a module whose function `main` is called `name` in locations."""
    import jax
    from jax.extend import core
    function = core.jaxpr_as_fun(program)

    def called(*operands: Any) -> Any:
        return function(*operands)

    called.__name__ = name
    module = jax.jit(called, keep_unused=True).lower(*avals).compiler_ir("stablehlo")
    scatter.replace_barriers(module, find_barriers(module))
    attention.replace_barriers(module, find_barriers(module))
    erase_barriers(module)
    return module


def add_functions(module: Any, marker: Marker) -> int:
    """Adds to `module` the functions with a derivative by hand, whose stand-ins `marker` has put into it, and their
    derivatives; returns how many."""
    import jax
    functions: list[tuple[Any, Any, int]] = []
    while len(functions) < len(marker.custom):  # a function may call others
        equation = marker.custom[len(functions)]
        name, _ = custom.get_name(equation)
        program = custom.in_parts(equation.params["call_jaxpr"])
        program = (Decomposer() if custom.is_own(equation) else marker).mark_program(program)
        forward = to_stablehlo(program, name, program.in_avals)
        vjp, avals = custom.get_vjp(equation)
        rule = Decomposer().mark_program(jax.jit(vjp, keep_unused=True).trace(*avals).jaxpr)
        if len(rule.in_avals) != len(jax.tree.leaves(avals)):
            raise ExportError(f"the derivative of {name} reads a value that is computed around it, which JAX does not "
                              "differentiate under jit either; make it an argument")
        rule = to_stablehlo(rule, f"{name}_vjp", jax.tree.leaves(avals))
        functions.append((forward, rule, len(program.in_avals)))
    known: dict[tuple[str, str], str] = {}
    names: list[tuple[str, int] | None] = [None] * len(functions)
    for number, (forward, rule, operand_count) in reversed(list(enumerate(functions))):
        texts = [m.operation.get_asm(enable_debug_info=True) for m in (forward, rule)]
        custom.replace_barriers(find_barriers(forward), names)
        key = str(forward), str(rule)  # without locations
        if key not in known:
            known[key] = f"custom_{len(known)}"
            for text, suffix in zip(texts, ("", "_vjp")):
                custom.merge(module, text, known[key] + suffix)
        names[number] = known[key], operand_count
    custom.replace_barriers(find_barriers(module), names)
    return len(known)


def lower(loss: Callable[..., Any], params: Any, inputs: list[Any], more: dict[str, str],
          asker: written.Asker | None = None) -> tuple[str, list[str], int]:
    """`loss(params, *inputs)` in StableHLO with locations and `more` modules as functions, the names that its barriers stand for,
    and how many of its functions have a derivative by hand. An `asker` asks the policies of its checkpoints."""
    import jax
    marker = Marker(asker)
    with attention.kept():
        program = jax.jit(loss, keep_unused=True).trace(params, *inputs).jaxpr
    program = marker.mark_program(program)
    module = to_stablehlo(program, getattr(loss, "__name__", "loss"), jax.tree.leaves((params, inputs)))
    customs = add_functions(module, marker)
    for name, text in more.items():
        custom.merge(module, text, name)
    return module.operation.get_asm(enable_debug_info=True), marker.names, customs


def restore(text: str, names: list[str], customs: int) -> str:
    """`text`, as IREE leaves it, with a `remat.name`, `remat.stop_gradient` or `remat.custom_vjp` for what stood for it, and
    one component for each `jax.checkpoint`."""
    # Behind a scope, transformations such as `vmap` close their parentheses.
    text = re.sub(rf"util\.optimization_barrier (%[^\n]*{STOP_SCOPE}\)*/)", r"remat.stop_gradient \1", text)
    name = re.compile(rf"util\.optimization_barrier (%[^\n]*{NAME_SCOPE}(\d+)\)*/)")
    text = name.sub(lambda match: f"remat.name {json.dumps(names[int(match[2])])} {match[1]}", text)
    text = re.sub(rf"{NAME_SCOPE}\d+(\)*)/optimization_barrier", r"name\1", text)
    text = re.sub(rf"{STOP_SCOPE}(\)*)/optimization_barrier", r"stop_gradient\1", text)
    text = attention.restore(scatter.restore(custom.restore(text, customs)))
    return re.sub(r"(checkpoint#\d+\)*)/checkpoint\b", r"\1", text)  # ours, and JAX's behind it
