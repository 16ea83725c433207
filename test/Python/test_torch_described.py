# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of steps of models whose weights are only described, on the device meta."""
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
import remat  # noqa: E402
import remat.torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Tied(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = nn.Embedding(50, width)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, 2, 2 * width, batch_first=True) for _ in range(3))
        self.norm, self.head = nn.BatchNorm1d(width), nn.Linear(width, 50, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.norm(x.transpose(1, 2)).transpose(1, 2)).flatten(0, 1), targets.flatten())


BATCH = torch.zeros(2, 6, dtype=torch.long), torch.zeros(2, 6, dtype=torch.long)


@pytest.mark.parametrize("arguments", [
    {"optimizer": remat.AdamW(1e-3)}, {"optimizer": remat.SGD(0.1), "policy": remat.layers()},
    {"optimizer": remat.SGD(0.1), "policy": remat.modules(nn.TransformerEncoderLayer), "accumulate": 2}])
def test_a_described_model_has_the_memory_of_a_real_one(arguments):
    with torch.device("meta"):
        described = Tied(16)
    memory = remat.torch.train_step(described, None, BATCH, compile_only=True, **arguments)
    assert memory == remat.torch.train_step(Tied(16), None, BATCH, **arguments).memory
    assert all(tensor.device.type == "meta" for tensor in described.state_dict().values())
    assert described.head.weight is described.tokens.weight


def test_a_large_model_takes_no_memory_itself():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(2**16, 2**17), nn.ReLU(), nn.Linear(2**17, 2**16)).bfloat16()
    memory = remat.torch.train_step(model, F.mse_loss, (torch.zeros(1, 2**16).bfloat16(),) * 2, optimizer=remat.SGD(0.1), compile_only=True)
    assert memory.parameters == 2 * (2 * 2**33 + 2**17 + 2**16)


def test_a_described_model_cannot_be_trained():
    with torch.device("meta"):
        model = nn.Linear(3, 3)
    with pytest.raises(ValueError, match="weight is on the device meta and has no values to train from: say compile_only=True"):
        remat.torch.train_step(model, F.mse_loss, (torch.zeros(2, 3),) * 2, optimizer=remat.SGD(0.1))


MODEL = """
import torch, remat
def make():
    with torch.device("meta"):
        model = torch.nn.Linear(1024, 1024)
    return dict(model=model, loss_fn=torch.nn.functional.mse_loss, example_batch=(torch.zeros(8, 1024), torch.zeros(8, 1024)),
                optimizer=remat.SGD(0.1))
"""


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "remat", "memory", *arguments], capture_output=True, text=True)


def test_the_command_prints_the_table(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "errors.py").write_text("def wrong(): return 3")
    done = run(f"{tmp_path}/model.py:make")
    assert done.returncode == 0, done.stderr
    assert "memory of a step, in bytes" in done.stdout and f"{4 * (2**20 + 2**10):,}" in done.stdout
    for name, text in (("errors.py:wrong", "wrong must return a dictionary of the arguments of remat.torch.train_step, but got int"),
                       ("errors.py:none", "errors.py has no function none"), ("other.py:make", "other.py"), ("model.py", "FILE.py:FUNCTION")):
        done = run("of", f"{tmp_path}/{name}")
        assert done.returncode == 1 and text in done.stderr and "Traceback" not in done.stderr, done.stderr
