# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A script as benchmarks/exports.py takes it beside its models: exported_here.py FOLDER writes them."""
import sys

import torch
from remat import export


def export_torch(folder, name, module, inputs, *, dims):
    export.from_torch(module, inputs, dims=dims).save(folder, name)


def net(folder, name):
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.GELU(), torch.nn.Dropout(0.2),
                                 torch.nn.Linear(8, 3))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x, labels):
            return torch.nn.functional.cross_entropy(self.layers(x), labels)

    export_torch(folder, name, Net().train(), {"x": torch.randn(10, 6), "labels": torch.randint(0, 3, (10,))}, dims={})


MODELS = {"net": net}
if __name__ == "__main__":
    for name, make in MODELS.items():
        make(sys.argv[1], name)
