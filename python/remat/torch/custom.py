# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of a PyTorch module whose derivative is given by hand: `torch.autograd.Function`.

What torch.export traces is what their forward computes, and their derivative is lost. So while it traces, each application is
an operator of its own, remat::custom_<n>, which becomes a call of a function @custom_<n>. Its backward becomes a function
@custom_<n>_vjp from operands, results and cotangents to cotangents of the operands, as `remat.custom_vjp` has it, which
recomputes the values saved by forward that it uses.

Applications of equal functions to tensors of equal types are one function. Where that is impossible, the export goes on with what
forward computes, and warns.
"""
import contextlib
import dataclasses
import functools
import itertools
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from remat.errors import ExportError
from remat.export.locations import from_forward
from remat.torch.reference import draws_nothing

NAME = "custom_"
NUMBERS = itertools.count()  # of operators, which are known to the whole process


class Impossible(Exception):
    """Says why a derivative by hand cannot be kept."""


class Context:
    """The argument `ctx` of forward and backward."""

    def __init__(self, kind: type, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self._remat_kind = kind
        self._remat_versions: list[Any] = []
        self._remat_saved: tuple[torch.Tensor | None, ...] = ()
        self._remat_fixed: tuple[torch.Tensor, ...] = ()
        self._remat_fills = True

    def save_for_backward(self, *tensors: torch.Tensor | None) -> None:
        self._remat_saved = tensors
        self._remat_versions = [tensor is not None and tensor._version for tensor in tensors]

    def check_saved(self) -> None:
        """Raises an ExportError if a saved tensor was written since, as PyTorch does when backward reads it."""
        if self._remat_versions != [tensor is not None and tensor._version for tensor in self._remat_saved]:
            raise ExportError(f"the forward of {self._remat_kind.__qualname__} writes to a tensor that it has saved for backward; "
                              "save a copy of it")

    def save_for_forward(self, *tensors: torch.Tensor | None) -> None:
        pass

    @property
    def saved_tensors(self) -> tuple[torch.Tensor | None, ...]:
        return self._remat_saved

    def mark_dirty(self, *tensors: torch.Tensor) -> None:
        raise ExportError(f"{self._remat_kind.__qualname__} writes to its arguments (mark_dirty); return new tensors instead")

    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None:
        self._remat_fixed = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self._remat_fills = value


class NoDraws(TorchDispatchMode):
    """Raises Impossible where forward draws random numbers, since its recomputation for backward would draw others."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in op.tags and not draws_nothing(op, args, kwargs or {}):
            raise Impossible("its forward draws random numbers; pass them as an argument")
        return op(*args, **(kwargs or {}))


def is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def is_in(value: Any, values: Any) -> bool:
    return any(value is other for other in values)


def as_tuple(returned: Any) -> tuple[Any, ...]:
    return tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)


@dataclasses.dataclass(frozen=True)
class Like:
    """A tensor without its contents."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @staticmethod
    def of(tensor: torch.Tensor) -> "Like":
        if not all(isinstance(size, int) for size in tensor.shape):
            raise Impossible("it is applied to a tensor of dynamic shape")
        return Like(tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device)

    def make(self) -> torch.Tensor:
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=self.device)


@dataclasses.dataclass
class Application:
    """One `kind.apply(*args)`. `likes` are those of its tensors, None for other arguments; `results` is what it returns, with
    likes for tensors, and `returns_one` whether that is no tuple."""

    kind: Any
    args: tuple[Any, ...]
    likes: tuple[Like | None, ...]
    name: str = ""
    results: tuple[Any, ...] = ()
    returns_one: bool = True

    def get_key(self) -> Any:
        """Of applications of one function; None if there may be no other one."""
        if any(type(arg) not in (type(None), bool, int, float, str) for arg, like in zip(self.args, self.likes) if like is None):
            return None
        return self.kind, tuple((type(arg), repr(arg)) if like is None else like
                                for arg, like in zip(self.args, self.likes))

    @property
    def operands(self) -> list[Like]:
        return [like for like in self.likes if like is not None]

    @property
    def outputs(self) -> list[Like]:
        return [result for result in self.results if isinstance(result, Like)]

    @property
    def rule_inputs(self) -> list[Like]:
        return [*self.operands, *self.outputs, *(like for like in self.outputs if like.dtype.is_floating_point)]

    def fill(self, tensors: Any) -> tuple[Any, ...]:
        """The arguments with `tensors` for those that are."""
        rest = iter(tensors)
        return tuple(arg if like is None else next(rest) for arg, like in zip(self.args, self.likes))

    def run_forward(self, tensors: Any) -> tuple[Context, Any]:
        kind, args = self.kind, self.fill(tensors)
        ctx = Context(kind, tuple(is_float(arg) for arg in args))
        versions = [tensor._version for tensor in tensors]
        if kind.setup_context is not torch.autograd.Function.setup_context:
            returned = kind.forward(*args)
            kind.setup_context(ctx, args, returned)
        else:
            returned = kind.forward(ctx, *args)
        ctx.check_saved()
        if versions != [tensor._version for tensor in tensors]:
            raise ExportError(f"the forward of {kind.__qualname__} writes to its arguments; return new tensors instead")
        return ctx, returned

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _, returned = self.run_forward(tensors)
        # An operand that is returned is a new tensor.
        return tuple(result.clone() if is_in(result, tensors) else result
                     for result in as_tuple(returned) if isinstance(result, torch.Tensor))

    def vjp(self, *values: torch.Tensor) -> list[torch.Tensor]:
        """The rule: from operands, results and cotangents of floating-point results."""
        count = len(self.operands)
        operands, known = values[:count], values[count:count + len(self.outputs)]
        given = iter(values[count + len(known):])
        ctx, returned = self.run_forward(operands)
        results, rest, cotangents = as_tuple(returned), iter(known), []
        named = {id(result): next(rest) for result in results if isinstance(result, torch.Tensor)}
        for result in results:
            cotangent = next(given) if is_float(result) else None
            if isinstance(result, torch.Tensor) and (cotangent is None or is_in(result, ctx._remat_fixed)):
                cotangent = torch.zeros_like(result) if ctx._remat_fills else None
            cotangents.append(cotangent)
        ctx._remat_saved = tuple(tensor if is_in(tensor, operands) else named.get(id(tensor), tensor)
                                 for tensor in ctx._remat_saved)
        backward = self.kind.backward if self.kind.backward is not torch.autograd.Function.backward else self.kind.vjp
        found = as_tuple(backward(ctx, *cotangents))
        if len(found) < len(self.args) or any(gradient is not None for gradient in found[len(self.args):]):
            raise ExportError(f"the backward of {self.kind.__qualname__} must return {len(self.args)} gradients, one for each "
                              f"argument of forward, but returned {len(found)}")
        return [self.fit(gradient, like) for gradient, like in zip(found, self.fill(operands)) if is_float(like)]

    def fit(self, gradient: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
        """As PyTorch takes it: without what was broadcast, and of the argument's type."""
        if gradient is None:
            return torch.zeros_like(like)
        if gradient.shape != like.shape:
            try:
                gradient = gradient.sum_to_size(like.shape)
            except RuntimeError:
                raise ExportError(f"the backward of {self.kind.__qualname__} returned a gradient of shape "
                                  f"{list(gradient.shape)} for an argument of shape {list(like.shape)}") from None
        return gradient.to(like.dtype)

    def try_out(self) -> None:
        """Runs forward and backward without contents, to know the results and what is impossible."""
        with FakeTensorMode(), torch.no_grad(), NoDraws():
            _, returned = self.run_forward([like.make() for like in self.operands])
            self.returns_one = not isinstance(returned, (tuple, list))
            self.results = tuple(Like.of(result) if isinstance(result, torch.Tensor) else result for result in as_tuple(returned))
            if not any(like.dtype.is_floating_point for like in self.outputs):
                raise Impossible("it returns no floating-point tensor")
            self.vjp(*(like.make() for like in self.rule_inputs))

    def trace(self) -> Iterator[tuple[str, torch.fx.GraphModule, list[torch.Tensor]]]:
        """Names of the function and of its rule, what they compute, and inputs."""
        for suffix, compute, likes in (("", self.forward, self.operands), ("_vjp", self.vjp, self.rule_inputs)):
            with FakeTensorMode(), torch.no_grad():
                inputs = [like.make() for like in likes]
                yield self.name + suffix, make_fx(compute, record_stack_traces=True)(*inputs), inputs


def is_of_operator(kind: Any) -> bool:
    """Returns true if PyTorch has made `kind` for an operator of `torch.library` with a derivative by hand: the operator stays
    one, and has a decomposition or is an error."""
    return bool(kind.__module__ == "torch._library.autograd")


def place_of_call() -> str:
    """`model.py:12: ` where a function is applied."""
    frames = from_forward(traceback.extract_stack())
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


class Functions:
    """Those that are applied while torch.export traces."""

    def __init__(self) -> None:
        self.applications: dict[str, Application] = {}  # by operator
        self.known: dict[Any, Callable[..., Any]] = {}
        self.lost: set[str] = set()
        self.library = torch.library.Library("remat", "FRAGMENT")
        self.is_tracing = True

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        plain = torch.autograd.Function.__dict__["apply"]

        def apply(kind: Any, *args: Any, **kwargs: Any) -> Any:
            inline = functools.partial(plain.__get__(None, kind), *args, **kwargs)
            if kwargs or not self.is_tracing or is_of_operator(kind):
                return inline()
            try:
                return self.call(kind, args, inline)
            except Impossible as error:
                self.warn(kind, str(error))
            return inline()

        torch.autograd.Function.apply = classmethod(apply)
        try:
            yield
        finally:
            torch.autograd.Function.apply = plain

    def warn(self, kind: Any, reason: str) -> None:
        text = (f"{place_of_call()}the backward of {kind.__qualname__} (torch.autograd.Function) is not kept: {reason}. Gradients "
                "are those of what its forward computes, unless remat-annotate says otherwise")
        if text not in self.lost:
            warnings.warn(text, stacklevel=2)
        self.lost.add(text)

    def call(self, kind: Any, args: tuple[Any, ...], inline: Callable[[], Any]) -> Any:
        tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
        if len(tensors) != sum(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(args)):
            raise Impossible("it takes tensors in a list, of which PyTorch has no gradient; pass each one as an argument")
        if not any(map(is_float, tensors)):
            return tree_map(lambda result: result.detach() if is_float(result) else result, inline())
        application = Application(kind, args, tuple(Like.of(arg) if isinstance(arg, torch.Tensor) else None for arg in args))
        if any(torch.is_autocast_enabled(tensor.device.type) for tensor in tensors):
            raise Impossible("it is applied under torch.autocast")
        key = application.get_key()
        if key is None or key not in self.known:
            with ThreadPoolExecutor(1) as executor:  # the modes that trace are those of a thread
                self.is_tracing = False
                try:
                    executor.submit(application.try_out).result()
                except (ExportError, Impossible):
                    raise
                except Exception as error:  # of the function
                    raise Impossible("its forward and backward must be functions of tensors that are their arguments, or saved "
                                     f"by forward, that can run without contents ({str(error).partition(chr(10))[0]})") from error
                finally:
                    self.is_tracing = True
            call = self.define(application)
            if key is not None:
                self.known[key] = call
        else:
            call = self.known[key]
        return call(*tensors)

    def define(self, application: Application) -> Callable[..., Any]:
        """Makes an operator of `application`, and returns a function of its tensors that calls it and returns what it does."""
        name, outputs = f"{NAME}{next(NUMBERS)}", application.outputs
        operands = ", ".join(f"Tensor a{i}" for i in range(len(application.operands)))
        self.library.define(f"{name}({operands}) -> ({', '.join(['Tensor'] * len(outputs))})")
        torch.library.register_fake(f"remat::{name}", lambda *_: tuple(like.make() for like in outputs) if len(outputs) > 1
                                    else outputs[0].make(), lib=self.library)
        application.name = f"{NAME}{len(self.applications)}"
        self.applications[f"torch.remat.{name}"] = application
        operator = getattr(torch.ops.remat, name)

        def call(*tensors: torch.Tensor) -> Any:
            found = iter(as_tuple(operator(*tensors)))
            results = tuple(next(found) if isinstance(result, Like) else result for result in application.results)
            return results[0] if application.returns_one else results
        return call
