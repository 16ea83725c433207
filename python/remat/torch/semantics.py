# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles what torch.export would lose in silence or cannot express: parameters that share memory, hooks, buffers that a submodule
assigns, `data`."""
import contextlib
import functools
import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from remat.errors import ExportError
from remat.torch import described, guards, replaced
from remat.torch.state import State

HOOKS = (torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook)
DATA, SET_DATA = torch.Tensor.data.__get__, torch.Tensor.data.__set__
LOGITS_IN_PIECES: Any = getattr(F, "linear_cross_entropy", None)  # PyTorch 2.13 has it.


def as_memory(tensor: torch.Tensor) -> Any:
    """Returns an array in the same memory, wherever that is: its elements are not read."""
    size = tensor.element_size()
    interface = {"version": 3, "typestr": f"|V{size}", "data": (tensor.data_ptr(), True), "shape": tuple(tensor.shape),
                 "strides": tuple(stride * size for stride in tensor.stride())}
    return np.asarray(types.SimpleNamespace(__array_interface__=interface))


def check_parameters(module: torch.nn.Module, inner: str) -> None:
    """Raises an ExportError if parameters would not be trained as PyTorch does: with hooks, or in the memory of another tensor."""
    named = {id(tensor): (name.removeprefix(f"{inner}."), tensor)
             for name, tensor in itertools.chain(module.named_parameters(), module.named_buffers())}
    for path, owner in module.named_modules():
        if owner._backward_hooks or owner._backward_pre_hooks:
            raise ExportError(f"the module {path.removeprefix(inner).removeprefix('.') or 'itself'} has a hook on gradients, which a step "
                              "does not run; remove it")
    groups: dict[int, list[tuple[str, torch.Tensor]]] = {}
    for name, tensor in named.values():
        if tensor.requires_grad and (tensor._backward_hooks or tensor._post_accumulate_grad_hooks):
            raise ExportError(f"the parameter {name} has a hook on its gradient, which a step does not run; remove it")
        if tensor.layout != torch.strided or not tensor.numel():
            continue
        if tensor.requires_grad and any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride())):
            raise ExportError(f"the parameter {name} has elements in the same memory (expand), so that a step would train them apart; "
                              "clone it")
        if not described.is_described(tensor):
            groups.setdefault(tensor.untyped_storage().data_ptr(), []).append((name, tensor))
    for group in groups.values():
        for (name, tensor), (other_name, other) in itertools.combinations(group, 2):
            if (tensor.requires_grad or other.requires_grad) and np.shares_memory(as_memory(tensor), as_memory(other)):
                raise ExportError(f"{name} and {other_name} are in the same memory, but are not one tensor, so that a step would train "
                                  "them apart; make them one parameter, or clone one")


class Semantics(TorchFunctionMode):
    """Of the thread it is entered in. Hooks are errors, `data` is a `detach`, which can be traced, and the arguments of a
    distribution are not looked at to see whether they are valid, which would be control flow on data."""

    def __init__(self, state: State | None = None):
        super().__init__()
        self.state = state

    def __torch_function__(self, function: Any, types: Any, arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None) -> Any:
        if self.state:
            self.state.note(function, (arguments, named))
        if function in HOOKS:
            raise ExportError("a hook on the gradient of a tensor is no part of what is exported; write a torch.autograd.Function")
        if function is torch.Tensor.backward:
            raise ExportError("forward calls backward; take gradients by torch.autograd.grad")
        if function == DATA:
            return arguments[0].detach()
        if function == SET_DATA:
            return set_data(*arguments)
        if function is torch._is_all_true:
            return True
        if function is torch.Tensor.__bool__ and (decided := guards.decide(sys._getframe(1), arguments[0])) is not None:
            return decided
        if function is torch.Tensor.item and guards.is_only_checked(sys._getframe(1)):
            return arguments[0].detach()
        if function is LOGITS_IN_PIECES:
            # Its options say in which, but the compiler decides that.
            return function(*arguments, **{**(named or {}), "options": None})
        if any(isinstance(value, torch.Generator) for value in (named or {}).values()):
            raise ExportError("forward draws numbers from a torch.Generator, whose state a step does not have; leave the generator out (a step "
                              "draws by its own seed), or pass the numbers as an argument")
        if arguments and (packed := replaced.packed_of(arguments[0])) is not None:
            if function is torch.Tensor.size and arguments[1:] == (0,):
                return replaced.Length(packed.mask.shape[0])
            if function is torch.Tensor.__getitem__ and arguments[1] == 0:
                return packed.mask.shape[1]
        if function in replaced.REPLACED:
            return replaced.REPLACED[function](*arguments, **(named or {}))
        return function(*arguments, **(named or {}))


def set_data(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """`tensor.data = value`, as a write that no gradient notices."""
    if tensor.shape != value.shape or tensor.dtype != value.dtype:
        raise ExportError(f"forward assigns data of shape {list(value.shape)} and type {value.dtype} to a tensor of shape "
                          f"{list(tensor.shape)} and type {tensor.dtype}")
    tensor.detach().copy_(value.detach())


def write_back(module: torch.nn.Module, before: list[tuple[str, torch.nn.Module, str, torch.Tensor]]) -> None:
    """Makes assignments to buffers writes to what they were before."""
    for path, owner, name, buffer in before:
        value = owner._buffers.get(name)
        if value is buffer:
            continue
        if value is None or value.shape != buffer.shape or value.dtype != buffer.dtype:
            raise ExportError(f"forward assigns to the buffer {path} what is not of its shape {list(buffer.shape)} and type "
                              f"{buffer.dtype}")
        with torch.no_grad():
            buffer.copy_(value)
        owner._buffers[name] = buffer


@contextlib.contextmanager
def kept_semantics(module: torch.nn.Module, state: State | None = None) -> Iterator[None]:
    """While `module` is traced, what it does to its buffers in forward is a part of it, and hooks are errors. `state` sees what it does to all
    else."""
    forward = module.forward

    @functools.wraps(forward)  # whose arguments have names
    def run(*arguments: Any, **named: Any) -> Any:
        before = [(f"{path}.{name}".lstrip("."), owner, name, buffer) for path, owner in module.named_modules()
                  for name, buffer in owner._buffers.items() if buffer is not None]
        with state.watched() if state else contextlib.nullcontext():
            result = forward(*arguments, **named)
        write_back(module, before)
        return result

    had = module.__dict__.get("forward")
    module.__dict__["forward"] = run
    validates = torch.distributions.Distribution._validate_args  # which takes decisions on data for a matrix
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        with Semantics(state), replaced.replaced_modules():
            yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validates)
        if had is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = had
