# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code in the tables of docs/python-torch.md and docs/python-jax.md compiles, and does what they say."""
import re

import numpy as np
import pytest

import remat
from conftest import ROOT

FAST = {"optimization_level": 0}


def policies(page):
    """Each expression after `policy=` in what is to be written by a table of the page."""
    text = (ROOT / "docs" / page).read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    found = sorted({code.replace("\\|", "|") for code in re.findall(r"`policy=(remat.*?)`", "\n".join(rows))})
    assert len(found) > 4
    return found


def optimizers(page):
    rows = [line for line in (ROOT / "docs" / page).read_text().splitlines() if line.startswith("|")]
    return sorted(set(re.findall(r"`(?:optimizer=)?(remat\.AdamW\(.*?\))`", "\n".join(rows))))


def make_torch():
    """Four layers under checkpoints, and a batch."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")
    from torch.utils.checkpoint import checkpoint

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
                                              for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = torch.sin(x + checkpoint(layer, x, use_reentrant=False))
            return x

    torch.manual_seed(0)
    model, batch = Net(), (torch.randn(16, 8), torch.randn(16, 8))
    return lambda **arguments: remat.torch.train_step(model, torch.nn.functional.mse_loss, batch, **arguments, **FAST), batch


def make_jax():
    """The same in JAX, with a name for a value of each layer."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("iree.compiler")
    from jax.ad_checkpoint import checkpoint_name
    rng = np.random.default_rng(0)
    params = [{"kernel": (rng.normal(size=(2, 8, 8)) / 4).astype("f4"), "bias": np.zeros(8, "f4")} for _ in range(4)]
    x, y = rng.normal(size=(2, 16, 8)).astype("f4")

    @jax.checkpoint
    def layer(weights, x):
        hidden = checkpoint_name(jax.numpy.tanh(x @ weights["kernel"][0] + weights["bias"]), "hidden")
        return jax.numpy.sin(x + hidden @ weights["kernel"][1])

    def loss(params, x, y):
        for i, weights in enumerate(params):
            with jax.named_scope(f"layer_{i}"):
                x = layer(weights, x)
        return jax.numpy.mean((x - y)**2)
    return lambda **arguments: remat.jax.train_step(loss, params, x, y, **arguments, **FAST), (x, y)


def check(make, batch, expression):
    saved = make(optimizer=remat.SGD(0.1))
    policy = eval(expression, {"remat": remat})
    again = make(optimizer=remat.SGD(0.1), policy=policy)
    assert [saved(*batch) for _ in range(3)] == [again(*batch) for _ in range(3)]
    assert str(policy) in again.pipeline and saved.memory.recomputed_ops == 0
    if "|" not in expression:
        assert again.memory.recomputed_ops > 0 and again.memory.residuals < saved.memory.residuals
    if "everything_saveable" in expression:
        assert again.memory.recomputed_ops == 0


@pytest.mark.parametrize("expression", policies("python-torch.md"))
def test_policies_of_torch(expression):
    check(*make_torch(), expression)


@pytest.mark.parametrize("expression", policies("python-jax.md"))
def test_policies_of_jax(expression):
    check(*make_jax(), expression)


@pytest.mark.parametrize("page, make", [("python-torch.md", make_torch), ("python-jax.md", make_jax)])
def test_optimizers_and_settings(page, make):
    step, batch = make()
    for expression in optimizers(page):
        assert np.isfinite(step(optimizer=eval(expression, {"remat": remat}))(*batch))
    text = (ROOT / "docs" / page).read_text()
    clipping = set(re.findall(r"`(clip_global_norm=1\.0.*?)`", text))
    assert clipping and "`accumulate=4`" in text
    for arguments in clipping:
        clipped = step(optimizer=remat.SGD(0.1), **eval(f"dict({arguments})"))
        assert np.isfinite(clipped(*batch))


def test_optax_adamw():
    """With the defaults of the table, the same training."""
    optax, jax = pytest.importorskip("optax"), pytest.importorskip("jax")
    pytest.importorskip("iree.compiler")
    rng = np.random.default_rng(0)
    params, x = rng.normal(size=(8, 8)).astype("f4"), rng.normal(size=(16, 8)).astype("f4")

    def loss(params, x):
        return jax.numpy.mean(jax.numpy.tanh(x @ params)**2)
    expression = next(e for e in optimizers("python-jax.md") if "weight_decay=1e-4" in e)
    step = remat.jax.train_step(loss, params, x, optimizer=eval(expression, {"remat": remat}), **FAST)
    optimizer = optax.adamw(3e-4)
    theirs, state = jax.numpy.asarray(params), optimizer.init(params)
    for _ in range(5):
        value, gradient = jax.value_and_grad(loss)(theirs, x)
        updates, state = optimizer.update(gradient, state, theirs)
        theirs = optax.apply_updates(theirs, updates)
        np.testing.assert_allclose(step(x), value, 1e-5)
    np.testing.assert_allclose(step.params, theirs, 1e-5, 1e-6)
