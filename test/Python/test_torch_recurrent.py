# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTMs, GRUs and RNNs as loops, beside PyTorch in float64."""
import copy

import numpy as np
import pytest
import torch
from torch import nn

import remat
import remat.export
import remat.torch

ATOL = {torch.float32: 2e-5, torch.float64: 1e-11, torch.bfloat16: 4e-2}
KINDS = {
    "LSTM": lambda **more: nn.LSTM(3, 4, **more), "GRU": lambda **more: nn.GRU(3, 4, **more), "RNN": lambda **more: nn.RNN(3, 4, **more),
    "RNN of relu": lambda **more: nn.RNN(3, 4, nonlinearity="relu", **more), "LSTM with projection": lambda **more: nn.LSTM(3, 4, proj_size=2, **more)}
FORMS = {
    "one": {}, "layers": {"num_layers": 3}, "both directions": {"bidirectional": True, "num_layers": 2}, "without bias": {"bias": False},
    "batch first": {"batch_first": True, "bidirectional": True}}


class Model(nn.Module):
    """Outputs, last states and the states before count, and the input is trained, too."""

    def __init__(self, recurrent, shape):
        super().__init__()
        self.recurrent = recurrent
        self.scale = nn.Parameter(torch.randn(shape))
        layers = recurrent.num_layers * (2 if recurrent.bidirectional else 1)
        batch = shape[:0] if len(shape) == 2 else shape[:1] if recurrent.batch_first else shape[1:2]
        self.start = nn.ParameterList(torch.randn(layers, *batch, size) / 2 for size in
                                      ([recurrent.proj_size or 4, 4] if isinstance(recurrent, nn.LSTM) else [4]))

    def forward(self, x):
        start = tuple(self.start) if len(self.start) > 1 else self.start[0]
        output, last = self.recurrent(x * self.scale, start)
        last = last if isinstance(last, tuple) else (last,)
        return output.sin().sum() + sum((number + 2) * state.cos().sum() for number, state in enumerate(last))


def compare(model, x, dtype=torch.float32, **options):
    """Three steps, beside the same ones of PyTorch in float64."""
    theirs, model = copy.deepcopy(model).double(), model.to(dtype)
    optimizer = torch.optim.SGD(theirs.parameters(), 0.05)
    step = remat.torch.train_step(model, None, (x.to(dtype),), optimizer=remat.SGD(0.05), **options)
    for _ in range(3):
        loss = theirs(x.double())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        np.testing.assert_allclose(step(x.to(dtype)), loss.item(), ATOL[dtype], ATOL[dtype])
    step.copy_to(model)
    for (name, a), (_, b) in zip(model.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(a.detach().double().numpy(), b.detach().numpy(), 0, 3 * ATOL[dtype], err_msg=name)
    return step


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_forms(kind, form):
    torch.manual_seed(0)
    compare(Model(KINDS[kind](**FORMS[form]), (5, 2, 3)), torch.randn(5, 2, 3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_types(kind, dtype):
    torch.manual_seed(1)
    compare(Model(KINDS[kind](), (4, 2, 3)), torch.randn(4, 2, 3), dtype)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 5, 3), (7, 1, 3), (4, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_shapes(kind, shape):
    torch.manual_seed(2)
    compare(Model(KINDS[kind](bidirectional=True), shape), torch.randn(shape))


@pytest.mark.parametrize("kind", KINDS)
def test_policies_have_the_same_bits(kind):
    torch.manual_seed(3)
    model, x = Model(KINDS[kind](num_layers=2), (6, 2, 3)), torch.randn(6, 2, 3)
    policies = [None, remat.whole(), remat.scopes("recurrent"), remat.whole() | remat.dots_saveable]
    found = []
    for policy in policies:
        step = remat.torch.train_step(copy.deepcopy(model), None, (x,), optimizer=remat.SGD(0.05), policy=policy)
        found.append([np.asarray(step(x)).tobytes() for _ in range(3)] + [value.tobytes() for value in step.parameters.values()])
    assert all(other == found[0] for other in found[1:])


def test_layers_are_dropped_out():
    torch.manual_seed(4)
    model, x = Model(nn.LSTM(3, 4, 2, dropout=1.0), (5, 2, 3)), torch.randn(5, 2, 3)
    compare(model, x)
    step = remat.torch.train_step(Model(nn.GRU(3, 4, 2, dropout=0.5), (5, 2, 3)), None, (x,), optimizer=remat.SGD(0.0))
    assert len({float(step(x)) for _ in range(4)}) == 4


def test_time_steps_are_a_loop():
    """The program is as long for many as for few."""
    def length(steps):
        model = Model(nn.LSTM(3, 4), (steps, 2, 3))
        return len(remat.export.from_torch(model, {"x": torch.randn(steps, 2, 3)}, check=False).text.splitlines())

    assert length(200) == length(3)


def test_batch_without_sequences():
    """Of tensors without elements there is no loop."""
    assert "scf.for" not in remat.export.from_torch(Model(nn.LSTM(3, 4), (5, 0, 3)), {"x": torch.randn(5, 0, 3)}, check=False).text
