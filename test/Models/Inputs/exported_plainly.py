# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A script that exports as it runs, without a table of models: what benchmarks/exports.py takes it beside its models is
the second one."""
import torch
from remat import export

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.GELU(), torch.nn.Linear(width, 3))

    def forward(self, x, labels):
        return torch.nn.functional.cross_entropy(self.layers(x), labels)


inputs = {"x": torch.randn(10, 6), "labels": torch.randint(0, 3, (10,))}
for name, width in ("narrow", 4), ("wide", 9):
    export.from_torch(Net(width), inputs).save("plainly", name)
