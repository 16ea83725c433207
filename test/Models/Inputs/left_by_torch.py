# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Features that torch-mlir alone would lose, or not lower: left_by_torch.py FOLDER exports a module with all of them."""
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


class Stopped(torch.nn.Module):
    """Where no gradient passes: detached values, blocks without gradients (with a buffer that is read after it was written
    there), a padded row, straight-through estimators."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.rows, self.last = torch.nn.Embedding(5, 4, padding_idx=1), torch.nn.Embedding(6, 4, padding_idx=-1)
        self.register_buffer("average", torch.zeros(4))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, places):
        h = self.linear(x)
        with torch.no_grad():
            waves, other = torch.sin(h) * 2, self.linear(x).cos()
            self.average.mul_(0.9).add_(h.mean(0))
            self.count += 1
        soft = torch.softmax(h, -1)
        hard = torch.nn.functional.one_hot(soft.argmax(-1), 4).float() - soft.detach() + soft
        rounded = h + (torch.round(h * 4) / 4 - h).detach()
        loss = (h - torch.tanh(h).detach()).square() + waves * h + other + hard * waves + (h - self.average) ** 3
        return (loss + self.rows(places) * self.last(places) * rounded).sum() + (self.average * self.linear.bias * self.count).sum()


export.from_torch(Stopped(), {"x": torch.randn(4, 4), "places": torch.tensor([0, 1, 4, 1])}).save(sys.argv[1], "stopped")


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.sign(x)

    @staticmethod
    def backward(context, gradient):
        return gradient


class Signs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))

    def forward(self, x):
        return (Sign.apply(self.weight) * x).sum()


export.from_torch(Signs(), {"x": torch.randn(3)}).save(sys.argv[1], "signs")


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
