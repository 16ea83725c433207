# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose weights are on the device `meta`: described, without memory. Their steps can be compiled up to where memory is known.

torch.export would mix devices, of weights and of what forward makes. So while such a model is exported, its tensors are fake ones of the
processor's memory.
"""
import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


def is_described(tensor: Any) -> bool:
    return isinstance(tensor, FakeTensor) or tensor.device.type == "meta"


def find_described(module: torch.nn.Module) -> list[str]:
    """Returns the names of the tensors of `module` that have no memory."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return [name for name, tensor in tensors if is_described(tensor)]


def make_empty(tensor: torch.Tensor) -> Any:
    """Returns an array of the type and shape of `tensor`, of one element in memory."""
    import ml_dtypes
    kind = ml_dtypes.bfloat16 if tensor.dtype == torch.bfloat16 else str(tensor.dtype).removeprefix("torch.")
    return np.broadcast_to(np.zeros((), kind), tuple(tensor.shape))


@contextlib.contextmanager
def as_if_there(module: torch.nn.Module) -> Iterator[None]:
    """While this is entered, tensors of `module` on `meta` are fake ones of the processor's memory."""
    mode, made, before = FakeTensorMode(allow_non_fake_inputs=True), dict[int, torch.Tensor](), []

    def make(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in made:
            with mode:
                fake = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
            is_parameter = isinstance(tensor, torch.nn.Parameter)
            made[id(tensor)] = torch.nn.Parameter(fake, tensor.requires_grad) if is_parameter else fake
        return made[id(tensor)]

    for owner in module.modules():
        for tensors in (owner._parameters, owner._buffers):
            for name, tensor in tensors.items():
                if tensor is not None and is_described(tensor):
                    before.append((tensors, name, tensor))
    try:
        for tensors, name, tensor in before:
            tensors[name] = make(tensor)
        yield
    finally:
        for tensors, name, tensor in before:
            tensors[name] = tensor
