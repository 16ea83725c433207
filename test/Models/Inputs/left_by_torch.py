"""What torch-mlir alone would lose or leave: left_by_torch.py FOLDER exports a module with all of it."""
import sys

import torch
from remat import export


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = torch.nn.Embedding(9, 5, padding_idx=0)
        self.frozen = torch.nn.Linear(5, 5).requires_grad_(False)
        self.weight = torch.nn.Parameter(torch.randn(7, 5))

    def forward(self, tokens, x):
        # As RoBERTa counts positions: padding stays where it is.
        mask = tokens.ne(self.rows.padding_idx)
        positions = mask.cumsum(1) * mask
        sums = torch.cumsum(x * self.weight, 0) + torch.cumsum(self.weight[:1], 0).cumsum(-1, dtype=torch.float32)
        return torch.tanh(self.frozen(self.rows(positions)) * sums).square().mean()


torch.manual_seed(0)
inputs = {"tokens": torch.randint(0, 3, (4, 7)), "x": torch.randn(7, 5)}
export.from_torch(Net(), inputs).save(sys.argv[1], "net")
