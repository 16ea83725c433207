"""What a JAX program says of rematerialization, kept through its lowering, which drops all of it but a scope.

`jax.checkpoint` leaves "checkpoint" in the scope of its operations, the same one each time that a function is applied, and
`checkpoint_name` nothing. So the applications are numbered ("checkpoint#2"), and a name travels as an optimization barrier,
which becomes a `remat.name` in the end. Other barriers do not change a value, and are taken out.
"""

import functools
import itertools
import json
import re

from remat import jax_decompositions

NAME_SCOPE = "checkpoint_name#"


class Marker:
    """Numbers applications of `jax.checkpoint` in jaxprs, puts barriers in the place of the names that it collects, and
    decomposes what has no way to linalg."""

    def __init__(self):
        import jax
        from jax.extend.core import primitives
        self.name, self.checkpoint = primitives.name_p, primitives.remat_p
        self.barrier = jax.make_jaxpr(jax.lax.optimization_barrier)(0.0).eqns[0].primitive
        self.decompositions = jax_decompositions.table()
        self.names, self.applications = [], itertools.count()

    def mark(self, value):
        """`value` with all jaxprs in it marked; itself if there is nothing to mark, so that functions stay shared."""
        from jax.extend import core
        if isinstance(value, core.Jaxpr):
            equations = [self.mark_equation(equation) for equation in value.eqns]
            return value if is_same(equations, value.eqns) else value.replace(eqns=equations)
        if isinstance(value, core.ClosedJaxpr):
            jaxpr = self.mark(value.jaxpr)
            return value if jaxpr is value.jaxpr else value.replace(jaxpr=jaxpr)
        if type(value) is tuple:
            parts = tuple(map(self.mark, value))
            return value if is_same(parts, value) else parts
        return value

    def mark_equation(self, equation):
        import jax
        if compute := self.decompositions.get(equation.primitive.name):
            inner = jax.jit(functools.partial(compute, **equation.params))
            call, = jax.make_jaxpr(inner)(*(v.aval for v in equation.invars)).eqns
            equation = equation.replace(primitive=call.primitive, params=call.params | {"name": equation.primitive.name})
        if equation.primitive is self.name:
            self.names.append(equation.params["name"])
            return equation.replace(primitive=self.barrier, params={},
                                    source_info=in_scope(equation, f"{NAME_SCOPE}{len(self.names) - 1}"))
        if equation.primitive is self.checkpoint:
            equation = equation.replace(source_info=in_scope(equation, f"checkpoint#{next(self.applications)}"))
        params = {key: self.mark(value) for key, value in equation.params.items()}
        return equation if is_same(params.values(), equation.params.values()) else equation.replace(params=params)


def is_same(values, others):
    return all(value is other for value, other in zip(values, others, strict=True))


def in_scope(equation, scope):
    return equation.source_info.replace(name_stack=equation.source_info.name_stack.extend(scope))


def erase_barriers(module):
    """Takes out the barriers of `module` (in StableHLO) that stand for no name."""
    from jaxlib.mlir import ir
    barriers = []

    def collect(operation):
        if operation.name == "stablehlo.optimization_barrier" and NAME_SCOPE not in str(operation.location):
            barriers.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    for barrier in barriers:
        for result, operand in zip(barrier.results, barrier.operands):
            result.replace_all_uses_with(operand)
        barrier.erase()


def lower(loss, params, inputs):
    """`loss(params, *inputs)` in StableHLO with locations, and the names that its barriers stand for."""
    import jax
    from jax.extend import core
    marker = Marker()
    program = marker.mark(jax.jit(loss, keep_unused=True).trace(params, *inputs).jaxpr)

    def marked(params, *inputs):
        return core.jaxpr_as_fun(program)(*jax.tree.leaves((params, inputs)))

    marked.__name__ = getattr(loss, "__name__", "loss")
    module = jax.jit(marked, keep_unused=True).lower(params, *inputs).compiler_ir("stablehlo")
    erase_barriers(module)
    return module.operation.get_asm(enable_debug_info=True), marker.names


def restore_names(text, names):
    """`text`, as IREE leaves it, with a `remat.name` for each barrier, and one component for each `jax.checkpoint`."""
    barrier = re.compile(rf"util\.optimization_barrier (%[^\n]*{NAME_SCOPE}(\d+)/)optimization_barrier")
    text = barrier.sub(lambda match: f"remat.name {json.dumps(names[int(match[2])])} {match[1]}name", text)
    text = re.sub(rf"{NAME_SCOPE}\d+/(?:optimization_barrier|name)", "name", text)
    return re.sub(r"(checkpoint#\d+\)*)/checkpoint\b", r"\1", text)  # ours, and JAX's behind it
