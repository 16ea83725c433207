# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses over a vocabulary as they are written in PyTorch: loss_heads_torch.py FOLDER exports one of each."""
import sys

import torch
import torch.nn.functional as F

from remat import export

B, T, D, V = 3, 14, 8, 50


def rows(net, x, labels):
    return F.cross_entropy(net(x).view(-1, V), labels.view(-1))


def channels(net, x, labels):
    """Classes in the second dimension; a label that is ignored."""
    return F.cross_entropy(net(x).transpose(1, 2), labels, ignore_index=7)


def smoothed(net, x, labels):
    return F.cross_entropy(net(x).view(-1, V), labels.view(-1), label_smoothing=0.1, reduction="sum")


def weighted(net, x, labels):
    return F.nll_loss(F.log_softmax(net(x), dim=-1).view(-1, V), labels.view(-1), weight=torch.arange(1.0, V + 1))


def soft(net, x, labels):
    return F.cross_entropy(net(x).view(-1, V), F.one_hot(labels.view(-1), V) * 0.8 + 0.004)


def shifted(net, x, labels):
    """The last position of each sequence has no label, as Hugging Face has it."""
    return F.cross_entropy(net(x)[:, :-1].reshape(-1, V), labels[:, 1:].reshape(-1))


class Net(torch.nn.Module):
    def __init__(self, loss, bias):
        super().__init__()
        self.body, self.head, self.loss = torch.nn.Linear(D, D), torch.nn.Linear(D, V, bias=bias), loss

    def forward(self, x, labels):
        return self.loss(lambda x: self.head(torch.tanh(self.body(x))), x, labels)


if __name__ == "__main__":
    for form in rows, channels, smoothed, weighted, soft, shifted:
        torch.manual_seed(0)
        net = Net(form, bias=form is not rows)
        inputs = {"x": torch.randn(B, T, D), "labels": torch.randint(0, V, (B, T))}
        export.from_torch(net, inputs).save(sys.argv[1], form.__name__)
