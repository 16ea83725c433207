# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchtune RFC 2114: one way to say what is rematerialized (all layers, every k-th, these operations), in a file of settings, too."""
import remat
import remat.torch
import torch
from torch import nn
from torch.nn import functional as F

SETTINGS = {
    "nothing": "none",
    "all layers": "- layers",
    "every second layer": "- layers: {every: 2}",
    "modules of a class": "- modules: torch.nn.TransformerEncoderLayer",
    "these operations": "- ops: [dot, elementwise, norm]",
}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 128, batch_first=True) for _ in range(4))
        self.head = nn.Linear(32, 64)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x).transpose(1, 2)


tokens = torch.arange(4 * 32).reshape(4, 32) % 64
losses = {}
for name, policy in SETTINGS.items():
    torch.manual_seed(0)
    step = remat.torch.train_step(Model(), F.cross_entropy, (tokens, tokens), optimizer=remat.AdamW(1e-2), policy=policy)
    losses[name] = [step(tokens, tokens) for _ in range(3)]
    print(f"{name:20} {step.memory.residuals:9,} bytes of residuals, peak {step.memory.peak:9,}")
assert all(each == losses["nothing"] for each in losses.values())
print("the same losses, to the bit")
