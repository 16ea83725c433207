"""What torch.export would lose in silence, or cannot say: parameters that share memory, hooks, buffers that a submodule assigns,
`data`."""
import contextlib
import functools
import itertools
import math
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.modules import transformer
from torch.overrides import TorchFunctionMode

from remat.export import ExportError

HOOKS = (torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook)
DATA, SET_DATA = torch.Tensor.data.__get__, torch.Tensor.data.__set__
LOGITS_IN_PIECES: Any = getattr(F, "linear_cross_entropy", None)  # PyTorch 2.13 has it.


def as_memory(tensor: torch.Tensor) -> Any:
    """An array in the same memory, wherever that is: its elements are not read."""
    size = tensor.element_size()
    interface = {"version": 3, "typestr": f"|V{size}", "data": (tensor.data_ptr(), True), "shape": tuple(tensor.shape),
                 "strides": tuple(stride * size for stride in tensor.stride())}
    return np.asarray(types.SimpleNamespace(__array_interface__=interface))


def check_parameters(module: torch.nn.Module, inner: str) -> None:
    """Fails where parameters would not be trained as PyTorch does: with hooks, or in the memory of another tensor."""
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
        if tensor.device.type != "meta":
            groups.setdefault(tensor.untyped_storage().data_ptr(), []).append((name, tensor))
    for group in groups.values():
        for (name, tensor), (other_name, other) in itertools.combinations(group, 2):
            if (tensor.requires_grad or other.requires_grad) and np.shares_memory(as_memory(tensor), as_memory(other)):
                raise ExportError(f"{name} and {other_name} are in the same memory, but are not one tensor, so that a step would train "
                                  "them apart; make them one parameter, or clone one")


def gaussian_nll_loss(input: torch.Tensor, target: torch.Tensor, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> torch.Tensor:
    """PyTorch's, which looks whether a variance is negative."""
    var = var * torch.ones_like(input) if isinstance(var, float) else var
    if var.shape != input.shape and (var.shape == input.shape[:-1] or var.ndim == input.ndim - 1):
        var = var.unsqueeze(-1)
    var = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def covariance(input: torch.Tensor, *, correction: int = 1, fweights: torch.Tensor | None = None,
               aweights: torch.Tensor | None = None) -> torch.Tensor:
    """PyTorch's, which looks whether there are as many degrees of freedom."""
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        centered = weighted = rows - rows.mean(1, keepdim=True)
        freedom: Any = max(rows.shape[1] - correction, 0)
    else:
        total = weights.sum()
        centered = rows - (rows * weights).sum(1, keepdim=True) / total
        weighted = centered * weights
        freedom = (total - correction * (1 if aweights is None else (weights * aweights).sum() / total)).clamp(min=0)
    return torch.true_divide(weighted @ centered.mT.conj(), freedom).squeeze()


def correlation(input: torch.Tensor) -> torch.Tensor:
    values = covariance(input)
    if not values.ndim:
        return values / values
    deviations = values.diagonal().real.sqrt()
    values = values / deviations[:, None] / deviations
    return torch.complex(values.real.clamp(-1, 1), values.imag.clamp(-1, 1)) if values.is_complex() else values.clamp(-1, 1)


def fill_diagonal(x: torch.Tensor, fill_value: float, wrap: bool = False) -> torch.Tensor:
    """PyTorch's, which cannot be made functional on some views."""
    if x.ndim != 2 or wrap and x.shape[0] > x.shape[1] + 1:
        return x.fill_diagonal_(fill_value, wrap)
    x.diagonal().fill_(fill_value)
    return x


def is_said_to_be_causal(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """`nn.Transformer` looks at the elements of a mask, only to know whether it may leave it out."""
    return is_causal is True


# What looks at elements of its arguments, without which it computes the same, or is not traced as it is.
REPLACED: dict[Any, Any] = {F.gaussian_nll_loss: gaussian_nll_loss, torch.Tensor.fill_diagonal_: fill_diagonal, torch.cov: covariance,
                            torch.Tensor.cov: covariance, torch.corrcoef: correlation, torch.Tensor.corrcoef: correlation}


class Semantics(TorchFunctionMode):
    """Of the thread it is entered in. Hooks are errors, `data` is a `detach`, which can be traced, and the arguments of a
    distribution are not looked at to see whether they are valid, which would be control flow on data."""

    def __torch_function__(self, function: Any, types: Any, arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None) -> Any:
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
        if function is LOGITS_IN_PIECES:
            # Its options say in which, but the compiler decides that.
            return function(*arguments, **{**(named or {}), "options": None})
        if function in REPLACED:
            return REPLACED[function](*arguments, **(named or {}))
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
def kept_semantics(module: torch.nn.Module) -> Iterator[None]:
    """While `module` is traced, what it does to its buffers in forward is a part of it, and hooks are errors."""
    forward = module.forward

    @functools.wraps(forward)  # whose arguments have names
    def run(*arguments: Any, **named: Any) -> Any:
        before = [(f"{path}.{name}".lstrip("."), owner, name, buffer) for path, owner in module.named_modules()
                  for name, buffer in owner._buffers.items() if buffer is not None]
        result = forward(*arguments, **named)
        write_back(module, before)
        return result

    had = module.__dict__.get("forward")
    module.__dict__["forward"] = run
    looks = transformer._detect_is_causal_mask
    transformer._detect_is_causal_mask = is_said_to_be_causal
    validates = torch.distributions.Distribution._validate_args  # which takes decisions on data for a matrix
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        with Semantics():
            yield
    finally:
        transformer._detect_is_causal_mask = looks
        torch.distributions.Distribution.set_default_validate_args(validates)
        if had is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = had
