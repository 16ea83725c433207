# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints as PyTorch programs have them: checkpoints_torch.py FOLDER exports a module with several kinds."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from remat import export


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.dropout = nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.3)

    def inner(self, x):
        return self.dropout(torch.tanh(self.linear(x)))

    def outer(self, x):
        return self.norm(checkpoint(self.inner, x, use_reentrant=True))

    def forward(self, x):
        return checkpoint(self.outer, x, use_reentrant=False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow, self.blocks = nn.Linear(8, 8), nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.narrow(x)
        x = x.float()
        for block in self.blocks:
            x = block(x)
        return x.pow(2).mean()


torch.manual_seed(0)
export.from_torch(Net(), {"x": torch.randn(8, 8)}).save(sys.argv[1], "net")
