# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose batches are of sizes that the program does not know: every gradient, in the same bits under all policies."""
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import remat.export

ROOT = Path(__file__).resolve().parents[2]


class Sum(nn.Module):
    """Adds the results of two modules, each of which is reshaped to sizes that only the batch has."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x):
        return (self.a(x).tanh() + self.b(x).sin()).pow(3).mean()


class Transposed(Sum):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(8, 9)

    def forward(self, x):
        return self.c(torch.cat([self.a(x).tanh(), self.b(x).sin()], -1).transpose(0, 1)).sin().mean()


class Flat(Sum):
    def forward(self, x):
        return (self.a(x).tanh().transpose(0, 1).flatten(0, 1) @ self.b.weight).sin().mean()


class Made(nn.Linear):
    """Tensors that forward makes as large as the batch."""

    def __init__(self):
        super().__init__(3, 4)

    def forward(self, x):
        return (torch.zeros(x.shape[0], x.shape[1], 4) + super().forward(x)).sin().mean() + torch.arange(x.shape[0]).sum() / 2


class Views(Sum):
    """Views that merge and split sizes, one of which PyTorch computes from the others."""

    def forward(self, x):
        b, t = x.shape[:2]
        rows = self.a(x).view(-1, 4).sin().view(t, b, 2, 2)
        return rows.reshape(-1, b).tanh().pow(2).mean() + rows.reshape(t, -1, 4).cos().sum(1).tanh().mean()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), nn.GRU(4, 3, batch_first=True)

    def forward(self, x):
        return self.gru(self.lstm(x)[0])[0].sin().mean()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs, self.layer = nn.Linear(3, 8), nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)

    def forward(self, x):
        h = self.layer(self.inputs(x))
        q = h.unflatten(-1, (2, 4)).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True).transpose(1, 2).flatten(2).sin().mean()


MODELS = [(kind, dims) for kind in (Sum, Transposed, Flat, Made, Recurrent, Attention) for dims in ((0,), (1,), (0, 1))]


@pytest.mark.parametrize("kind, dims", [*MODELS, (Views, (0, 1))])
def test_unknown(tmp_path, kind, dims):
    torch.manual_seed(5)
    exported = remat.export.from_torch(kind(), {"x": torch.randn(5, 2, 3)}, dynamic={"x": {dim: f"size{dim}" for dim in dims}})
    sizes = "x".join("?" if dim in dims else str(size) for dim, size in enumerate((5, 2)))
    assert f"tensor<{sizes}x3xf32>" in exported.text
    exported.save(tmp_path, "model")
    checked = subprocess.run([sys.executable, ROOT / "tools/check-model", tmp_path / "model.mlir"], capture_output=True, text=True)
    assert "model: ok" in checked.stdout, checked.stdout + checked.stderr
