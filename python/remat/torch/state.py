# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State that a model's forward keeps in Python, rather than in buffers: an attribute, a global, a generator of random numbers.

A trace has the values that they had at the export, at all steps. So forward's changes are found by comparing before and after, and
undone. Not every one is state: a model may keep an intermediate result for a later part of the same forward, a size, or a table that it
makes once. A second trace, which starts from what the first one left, tells: state is a tensor that it reads, or anything else that
changes again or makes it another program.
"""
import contextlib
import dataclasses
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from remat.errors import ExportError
from remat.torch.places import DEPTH, LARGEST, Place, Places, Values

MISSING = object()
# Of a tensor, what does not read its elements.
DESCRIBES = [getattr(torch.Tensor, name).__get__ for name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad")] + [
    torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.__len__]
PLAIN = bool, int, float, complex, str, bytes, types.MethodType


def is_equal(old: Any, new: Any) -> bool:
    if isinstance(old, tuple) and type(old) is type(new):
        return len(old) == len(new) and all(map(is_equal, old, new))
    return old is new or type(old) is type(new) and isinstance(old, PLAIN) and bool(old == new)


def tensors_in(value: Any, depth: int = DEPTH) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0 or isinstance(value, (type, types.FunctionType, types.ModuleType, torch.nn.Module)):
        return []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else getattr(value, "__dict__", {}).values()
    return [tensor for item in list(inner)[:LARGEST] for tensor in tensors_in(item, depth - 1)]


@dataclasses.dataclass
class Change:
    place: Place
    key: Any
    old: Any
    new: Any
    left: Any = None  # `new`, as the second trace finds it
    tensors: set[int] = dataclasses.field(default_factory=set)  # ids of the new tensors in that

    @property
    def name(self) -> str:
        return self.place.label.format(self.key)

    @property
    def line(self) -> str:
        return self.place.line_of(self.key)

    @property
    def values(self) -> str:
        numbers = isinstance(self.old, (bool, int, float)) and isinstance(self.new, (bool, int, float))
        return f" (from {self.old} to {self.new})" if numbers else ""


def compare(before: list[tuple[Place, Values]]) -> list[Change]:
    """Returns the changes since `before`, each under the first name that it has."""
    changes: dict[str, Change] = {}
    for place, old in before:
        new = place.read()
        for key in {**old, **new}:
            change = Change(place, key, old.get(key, MISSING), new.get(key, MISSING))
            if not is_equal(change.old, change.new):
                changes.setdefault(change.name, change)
    return list(changes.values())


def put_back(before: list[tuple[Place, Values]]) -> None:
    for place, values in before:
        now = place.read()
        if now.keys() != values.keys() or not all(is_equal(values[key], now[key]) for key in now):
            place.write(values)


class State:
    """Finds the values that the forward of `module`, in which the user's module is called `inner`, changes while it is traced."""

    def __init__(self, module: torch.nn.Module, inner: str):
        self.module, self.inner = module, inner
        self.changes: list[Change] = []  # of the first trace
        self.again: set[str] = set()  # names that the second one changes
        self.tensors: dict[int, torch.Tensor] = {}  # that the second one finds
        self.read: set[int] = set()  # and reads

    def take(self) -> list[tuple[Place, Values]]:
        return [(place, place.read()) for place in Places(self.module, self.inner).found]

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Restores all values at the end, also those that torch.export changes: it leaves copies of containers."""
        before = self.take()
        try:
            yield
        finally:
            put_back(before)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Records the changes that forward makes meanwhile, and restores all values at the end."""
        with self.kept():
            for change in self.changes:
                others = {key: value for key, value in change.place.read().items() if key != change.key}
                change.place.write(others if change.new is MISSING else {**others, change.key: change.left})
            start = self.take()
            try:
                yield
            finally:
                changes = compare(start)
                put_back(start)
                if self.changes:
                    self.again = {change.name for change in changes}
                else:
                    self.changes = changes

    def make_real(self, change: Change, value: Any) -> Any:
        """Returns `value`, with tensors that have elements in the place of new ones, which belong to the first trace."""
        if any(value is tensor for tensor in tensors_in(change.old)):
            return value
        if isinstance(value, torch.Tensor):
            sizes = [size if isinstance(size, int) else size.node.hint for size in value.shape]
            value = torch.zeros(sizes, dtype=value.dtype)
        elif type(value) in (list, tuple):
            return type(value)(self.make_real(change, item) for item in value)
        elif type(value) is dict:
            return {key: self.make_real(change, item) for key, item in value.items()}
        for tensor in tensors_in(value):
            self.tensors[id(tensor)] = tensor
            change.tensors.add(id(tensor))
        return value

    def note(self, function: Any, values: Any) -> None:
        """Records that `function` is applied to `values`."""
        if self.tensors and function not in DESCRIBES:
            self.read |= self.tensors.keys() & {id(tensor) for tensor in tensors_in(values)}

    def check(self, program: Any, trace: Callable[[], Any]) -> None:
        """Raises an ExportError, or warns, where a step would not do as forward does, from which `program` was traced; `trace`
        traces it a second time."""
        drawn = [change for change in self.changes if change.place.is_generator]
        for change in drawn:
            warnings.warn(f"forward draws from {change.name}, of which a step repeats the numbers of the export; draw by torch (torch.rand), or "
                          "pass the numbers with the batch", stacklevel=2)
        self.changes = [change for change in self.changes if not change.place.is_generator]
        if not self.changes:
            return
        for change in self.changes:
            change.left = self.make_real(change, change.new)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                is_same = trace().graph_module.code == program.graph_module.code
        except Exception:  # of the model, which may not go on from what it left
            is_same, self.again = False, {change.name for change in self.changes}
        for change in self.changes:
            if change.name in self.again and change.tensors & self.read:
                raise ExportError(f"PyTorch cannot export the model: {change.line}forward keeps a tensor in {change.name}, which is no buffer, "
                                  "so that each step would read that of the export; register_buffer in __init__ makes it a state of the step")
            if change.tensors & self.read:
                warnings.warn(f"{change.line}forward makes a tensor for {change.name} once, but a step makes it each time; make it in __init__, "
                              "and keep it by register_buffer", stacklevel=2)
            elif not change.tensors and (change.name in self.again or not is_same):
                warnings.warn(f"{change.line}forward changes {change.name}{change.values}, which is no buffer: each step does what the first one "
                              "does; register_buffer in __init__ makes a tensor a state of the step", stacklevel=2)
