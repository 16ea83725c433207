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


class Ordered(torch.nn.Module):
    """Sorts, scatters and cumulative products, with equal elements and places."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(6, 4))

    def forward(self, x, places):
        h = self.weight * x
        best, chosen = h.topk(2, dim=1)
        rows = h.sort(dim=0, descending=True)[0] + h.gather(0, h.argsort(dim=0)) + h.cumprod(1) + h.logcumsumexp(0)
        table = torch.zeros(5, 4).index_add(0, places, rows).scatter_add(0, places[:, None].expand(6, 4), h)
        table[places[:2]] = h[:2]
        table = table.index_put((places, places.flip(0) % 4), h[:, 0], accumulate=True)
        last = table.scatter(1, chosen[:5], best[:5]) * h.median(1)[0][:5, None]
        return (last * torch.arange(20.0).reshape(5, 4)).pow(2).mean()


export.from_torch(Ordered(), {"x": torch.randn(6, 4), "places": torch.tensor([1, 3, 1, 0, 4, 1])}).save(sys.argv[1], "ordered")
