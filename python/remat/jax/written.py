# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies of `jax.checkpoint`, which are asked about the equations under it as JAX asks them: with a primitive, types and parameters.

JAX asks about the equations of the linearized function; here they are those of the function itself. A policy that saves all of
them, all products or no product becomes the policy of the dialect of that name, which leaves the compiler free to fuse the rest.
"""
from collections.abc import Iterator
from typing import Any

from remat.written import Application, Written


class Frame:
    """An application, and which of the equations in it get a mark, by their ids."""

    def __init__(self, application: Application, policy: Any, body: Any):
        from jax.extend.core import primitives
        self.application = application
        self.marked: dict[int, bool] = {}
        if policy is None:
            return
        answers = [(equation, ask(policy, equation)) for equation in equations_in(body)]
        kept = [(equation, answer) for equation, answer in answers if answer is not None]
        if kept and len(kept) == len(answers) and not any(answer for _, answer in kept):
            application.attributes.append("everything_saveable")
            return
        names = [(equation, offloads) for equation, offloads in kept if equation.primitive is primitives.name_p]
        for equation, offloads in names:
            (application.offloaded if offloads else application.saved).add(equation.params["name"])
        for attribute, offloads, products in self.find_products([equation for equation, _ in answers]):
            chosen = {id(equation) for equation, answer in kept if answer is offloads and is_product(equation)}
            if chosen and chosen == products:
                application.attributes.append(attribute)
                kept = [(equation, answer) for equation, answer in kept if id(equation) not in chosen]
        self.marked = {id(equation): offloads for equation, offloads in kept if equation.primitive is not primitives.name_p}

    @staticmethod
    def find_products(equations: list[Any]) -> Iterator[tuple[str, bool, set[int]]]:
        """Attributes, whether they offload, and which of the equations they are about."""
        products = [equation for equation in equations if is_product(equation)]
        every = {id(equation) for equation in products}
        yield "dots_saveable", False, every
        yield "offload_dots", True, every
        if all(equation.primitive.name == "dot_general" for equation in products):
            yield "dots_with_no_batch_dims_saveable", False, {
                id(equation) for equation in products if not any(equation.params["dimension_numbers"][1])}


def is_product(equation: Any) -> bool:
    return equation.primitive.name in ("dot_general", "conv_general_dilated")


def bodies_of(value: Any) -> Iterator[Any]:
    """The jaxprs in a parameter of an equation."""
    from jax.extend import core
    if isinstance(value, core.Jaxpr):
        yield value
    elif isinstance(value, core.ClosedJaxpr):
        yield value.jaxpr
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from bodies_of(part)


def equations_in(jaxpr: Any) -> Iterator[Any]:
    """The equations that compute something themselves, in those that call others as well."""
    for equation in jaxpr.eqns:
        bodies = [body for value in equation.params.values() for body in bodies_of(value)]
        if not bodies:
            yield equation
        for body in bodies:
            yield from equations_in(body)


def ask(policy: Any, equation: Any) -> bool | None:
    """Returns None if the results are recomputed, else whether they are offloaded."""
    from jax._src.interpreters import partial_eval
    answer = policy(equation.primitive, *(v.aval for v in equation.invars), **equation.params)
    answer = partial_eval.ensure_enum(answer)
    if isinstance(answer, partial_eval.Offloadable):
        return True
    return False if answer is partial_eval.Saveable else None


class Asker:
    """The frames around the equation that is marked now."""

    def __init__(self) -> None:
        self.written = Written()
        self.frames: list[Frame] = []

    def enter(self, number: int, equation: Any) -> None:
        policy = equation.params["policy"]
        application = self.written.add(number, len(self.frames), policy)
        self.frames.append(Frame(application, policy, equation.params["jaxpr"]))

    def leave(self) -> None:
        self.frames.pop()

    def find_scope(self, equation: Any) -> str | None:
        """Returns the scope of an equation whose results are kept."""
        kept = [(frame.application, frame.marked[id(equation)]) for frame in self.frames if id(equation) in frame.marked]
        return self.written.mark(kept) if kept else None
