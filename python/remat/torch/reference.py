# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a PyTorch module compute what its export does, where these differ: for numbers to compare an export with.

Contexts around a call of the module, and of its backward:

- `Draws`: random draws as torch-mlir's lowering makes them, so that dropout masks are the same.
- `Wide`: float64 also where the module's code names float32 (`x.to(torch.float32)` in a normalization,
  `softmax(..., dtype=torch.float32)`).
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

aten = torch.ops.aten


def draws_nothing(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Returns true if `op`, which has the tag of operations that draw random numbers, draws none: a dropout outside of training, or
    of probability 0, also as a part of an attention."""
    given = {parameter.name: args[number] if number < len(args) else kwargs.get(parameter.name, parameter.default_value)
             for number, parameter in enumerate(op._schema.arguments)}
    if op is aten.native_dropout.default:
        return given["train"] is False or bool(given["p"] == 0)
    return "dropout_p" in given and bool(given["dropout_p"] == 0)


class Draws(TorchDispatchMode):
    """Draws from a fresh `@global_seed`: each one advances a 64-bit LCG in it, and element i of a draw is
    Squares(i, state), the counter-based generator of https://arxiv.org/abs/2004.06278, scaled to [0, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.state = 0

    def uniform(self, shape: Any) -> torch.Tensor:
        def swap(v: Any) -> Any:
            return (v << np.uint64(32)) | (v >> np.uint64(32))

        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        key = np.uint64(self.state)
        y = np.arange(int(np.prod(shape)), dtype=np.uint64) * key
        z = y + key
        t = swap(y * y + y)
        t = swap(t * t + z)
        t = swap(t * t + y)
        t = t * t + z
        bits = t ^ ((swap(t) * swap(t) + y) >> np.uint64(32))
        return torch.from_numpy((bits.astype(np.float64) * 5.4210108e-20).reshape(shape))

    def normal(self, shape: Any) -> torch.Tensor:
        """By Box and Muller, in float32 as the lowering does it at any precision of the model."""
        u, v = self.uniform(shape).float(), self.uniform(shape).float()
        return torch.sqrt(-2 * torch.log(u)) * torch.cos(6.28318 * v)

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if op in (aten.bernoulli_.float, aten.bernoulli.p):
            share = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
            drawn = (self.uniform(args[0].shape) < share).to(args[0].dtype)
            return args[0].copy_(drawn) if op is aten.bernoulli_.float else drawn
        if op is aten.native_dropout.default and args[2] is not False:
            keep = self.uniform(args[0].shape) < 1 - args[1]
            return args[0] * keep.to(args[0].dtype) / (1 - args[1]), keep
        if op in (aten.rand_like.default, aten.randn_like.default):
            draw = self.uniform if op is aten.rand_like.default else self.normal
            return draw(args[0].shape).to(kwargs.get("dtype") or args[0].dtype)
        if op in (aten.rand.default, aten.randn.default):
            draw = self.uniform if op is aten.rand.default else self.normal
            return draw(args[0]).to(kwargs.get("dtype") or torch.get_default_dtype())
        if torch.Tag.nondeterministic_seeded in op.tags and not draws_nothing(op, args, kwargs):
            raise NotImplementedError(f"{op} draws random numbers in a way that has no counterpart here")
        return op(*args, **kwargs)


class Wide(TorchDispatchMode):
    """Puts float64 in the place of every floating-point type that an operation is told to use."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def widen(value: Any) -> Any:
            narrow = isinstance(value, torch.dtype) and value.is_floating_point
            return torch.float64 if narrow else value

        return op(*tree_map(widen, args), **tree_map(widen, kwargs or {}))


@contextlib.contextmanager
def plain_checkpoints(found: list[tuple[int, int, Any]] | None = None) -> Iterator[None]:
    """Functions under `torch.utils.checkpoint` run once, so that nothing draws or counts twice. What torch.export traces
    says in its metadata which applications it is in, from the outermost: ("checkpoint#0", "checkpoint#1"). Adds to `found`, for each application, its number, how many are around
    it, and its `context_fn`."""
    from torch.fx.traceback import annotate
    from torch.utils import checkpoint as library
    numbers = itertools.count()
    around: list[str] = []

    @contextlib.contextmanager
    def application(context_fn: Any = None) -> Iterator[None]:
        number = next(numbers)
        if found is not None:
            found.append((number, len(around), context_fn))
        around.append(f"checkpoint#{number}")
        with annotate({"checkpoints": tuple(around)}):
            yield
        around.pop()

    def run_around(function: Any, preserve_state: bool = True, context_fn: Any = None, *_: Any, **__: Any) -> Iterator[None]:
        with application(context_fn):
            yield

    class Reentrant:
        @staticmethod
        def apply(function: Callable[..., Any], preserve_state: bool, *args: Any) -> Any:
            with application():
                return function(*args)

    saved = library.CheckpointFunction, library._checkpoint_without_reentrant_generator
    library.CheckpointFunction, library._checkpoint_without_reentrant_generator = Reentrant, run_around
    try:
        yield
    finally:
        library.CheckpointFunction, library._checkpoint_without_reentrant_generator = saved


@contextlib.contextmanager
def traced_bodies() -> Iterator[None]:
    """Decompositions keep the metadata of operations under `torch.autocast` or `torch.no_grad`, which stand in modules of
    their own in an exported program."""
    from torch._higher_order_ops.wrap import WrapWithAutocast, WrapWithSetGradEnabled
    saved = {kind: kind.__call__ for kind in (WrapWithAutocast, WrapWithSetGradEnabled)}

    def interpret(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            return call(self, *(torch.fx.Interpreter(a).run if isinstance(a, torch.fx.GraphModule) else a for a in args),
                        **kwargs)
        return wrapped

    for kind, call in saved.items():
        kind.__call__ = interpret(call)
    try:
        yield
    finally:
        for kind, call in saved.items():
            kind.__call__ = call
