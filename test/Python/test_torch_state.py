# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that forward keeps in Python, rather than in buffers: an error or a warning if they are state. All values are restored."""
import random
import warnings

import numpy as np
import pytest

import remat

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
from torch import nn  # noqa: E402

PAST, COUNT, LOG = torch.zeros(4, 8), 0, []


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.prepare()

    def prepare(self):
        pass

    def loss(self, x):
        return (self.layer(x)**2).mean()


class Memory(Model):
    def prepare(self):
        self.memory = torch.zeros(4, 8)

    def forward(self, x):
        h = torch.tanh(self.layer(x) + self.memory)
        self.memory = h.detach()
        return (h**2).mean()


class MemoryFromTheSecondOn(Memory):
    def prepare(self):
        self.memory = None

    def forward(self, x):
        h = self.layer(x)
        if self.memory is not None:
            h = h + self.memory
        self.memory = h.detach() * 1
        return (h**2).mean()


class Pair(Model):
    def prepare(self):
        self.state = torch.zeros(4, 8), torch.ones(4, 8)

    def forward(self, x):
        h = self.layer(x) * self.state[1] + self.state[0]
        self.state = h.detach(), self.state[1]
        return (h**2).mean()


class History(Model):
    def prepare(self):
        self.history = []

    def forward(self, x):
        loss = self.loss(x) + sum(self.history, torch.zeros(()))
        self.history.append(loss.detach())
        return loss


class Table(Model):
    def prepare(self):
        self.cache = {}

    def forward(self, x):
        h = self.layer(x)
        h = torch.cat([h, self.cache["last"]]) if "last" in self.cache else h
        self.cache["last"] = h[:4].detach()
        return (h**2).mean()


class Mean:
    def __init__(self):
        self.value = torch.zeros(8)

    def update(self, h):
        self.value = 0.9 * self.value + h.detach().mean(0)


class WithObject(Model):
    def prepare(self):
        self.mean = Mean()

    def forward(self, x):
        h = self.layer(x) - self.mean.value
        self.mean.update(h)
        return (h**2).mean()


class Global(Model):
    def forward(self, x):
        global PAST
        h = self.layer(x) + PAST
        PAST = h.detach()
        return (h**2).mean()


def make_closure():
    last = torch.zeros(())

    def smooth(value):
        nonlocal last
        result = value + last
        last = value.detach()
        return result

    class Closure(Model):
        def forward(self, x):
            return smooth(self.loss(x))

    return Closure()


def export(model):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        exported = remat.export.from_torch(model, {"x": torch.randn(4, 8)}, check=False)
    return exported, [str(warning.message) for warning in said if "forward" in str(warning.message)]


@pytest.mark.parametrize("make, line, name", [
    (Memory, "self.memory = h.detach()", "self.memory of Memory"), (MemoryFromTheSecondOn, "self.memory = h.detach() * 1", "self.memory of MemoryFromTheSecondOn"),
    (Pair, "self.state = h.detach(), self.state[1]", "self.state of Pair"), (History, None, "self.history of History"),
    (Table, None, "self.cache of Table"), (WithObject, "self.value = 0.9 * ", "self.mean of WithObject.value"),
    (Global, "PAST = h.detach()", "the global PAST"), (make_closure, "last = value.detach()", "last, a variable around make_closure.<locals>.smooth")])
def test_tensors_that_stay(make, line, name):
    model, past = make(), PAST
    before = dict(vars(model))
    place = f"test_torch_state.py:{find_line(line)}: " if line else ""
    with pytest.raises(remat.ExportError) as error:
        export(model)
    assert f"{place}forward keeps a tensor in {name}, which is no buffer" in str(error.value) and "register_buffer" in str(error.value)
    assert vars(model) == before and PAST is past


def find_line(text):
    with open(__file__) as lines:
        return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


class Counter(Model):
    def prepare(self):
        self.count = 0

    def forward(self, x):
        self.count += 1
        return self.loss(x) / self.count


class Warmup(Counter):
    def forward(self, x):
        self.count += 1
        return self.loss(x) if self.count > 100 else self.loss(x) / 10


class ClassCounter(Model):
    calls = 0

    def forward(self, x):
        ClassCounter.calls += 1
        return self.loss(x) / self.calls


class First(Model):
    def prepare(self):
        self.is_ready = False

    def forward(self, x):
        loss = self.loss(x) if self.is_ready else self.loss(x / 2)
        self.is_ready = True
        return loss


class GlobalCounter(Model):
    def forward(self, x):
        global COUNT
        COUNT += 1
        LOG.append(1)
        return self.loss(x) / (COUNT + len(LOG))


class Array(Model):
    def prepare(self):
        self.counts = np.zeros(3)

    def forward(self, x):
        self.counts[1] += 1
        return self.loss(x) * self.counts.sum()


@pytest.mark.parametrize("make, said", [
    (Counter, ["self.count of Counter (from 0 to 1)"]), (Warmup, ["self.count of Warmup (from 0 to 1)"]),
    (ClassCounter, ["ClassCounter.calls (from 0 to 1)"]), (First, ["self.is_ready of First (from False to True)"]),
    (GlobalCounter, ["the global COUNT (from 0 to 1)", "the global LOG"]), (Array, ["self.counts of Array"])])
def test_numbers_that_change(make, said):
    model = make()
    before = dict(vars(model))
    assert [text.partition("forward changes ")[2].partition(", which is no buffer: each step does what the first one does")[0]
            for text in export(model)[1]] == said
    assert vars(model) == before and (COUNT, LOG, ClassCounter.calls) == (0, [], 0)
    assert not getattr(model, "counts", np.zeros(1)).any()


class Drawing(Model):
    def prepare(self):
        self.generator, self.own = np.random.default_rng(0), random.Random(0)

    def forward(self, x):
        return self.loss(x) * (random.random() + np.random.rand() + self.generator.random() + self.own.random())


def test_numbers_of_other_generators():
    model = Drawing()
    states = random.getstate(), repr(np.random.get_state()), model.generator.bit_generator.state, model.own.getstate()
    said = export(model)[1]
    assert [text.partition("forward draws from ")[2].partition(", of which a step repeats the numbers of the export; draw by torch")[0] for text in said] \
        == ["Python's random", "NumPy's random", "self.generator of Drawing, a generator", "self.own of Drawing, a generator"]
    assert states == (random.getstate(), repr(np.random.get_state()), model.generator.bit_generator.state, model.own.getstate())


class Handed(Model):
    """For a later part of the same forward, or for who looks at the model later."""

    def prepare(self):
        self.seen = {}
        self.layer.register_forward_hook(lambda module, inputs, output: self.seen.update(last=output))

    def forward(self, x):
        self.size, self.distribution = x.shape[0], torch.distributions.Normal(self.layer(x), 1.0)
        self.part = (self.seen["last"]**2).mean()
        return self.part - self.distribution.log_prob(x).mean()


class Evaluating(Model):
    def prepare(self):
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        self.norm.eval()
        return self.loss(self.norm(x))


@pytest.mark.parametrize("make", [Handed, Evaluating])
def test_what_is_no_state(make):
    model = make()
    before = dict(vars(model))
    assert export(model)[1] == [] and vars(model) == before and all(part.training for part in model.modules())


class Once(Model):
    def prepare(self):
        self.angles = None

    def forward(self, x):
        if self.angles is None:
            self.angles = torch.arange(8.0).cos()
        return self.loss(x * self.angles)


def test_what_is_made_once():
    text, = export(Once())[1]
    assert f"test_torch_state.py:{find_line('self.angles = torch.arange')}: forward makes a tensor for self.angles of Once once, but a step" in text


def test_a_loss_that_counts():
    calls = []

    def loss(y, target):
        calls.append(1)
        return (y - target).square().mean() / len(calls)

    x = torch.ones(4, 8)
    with pytest.warns(UserWarning, match="forward changes calls, which is no buffer: each step does what the first one does"):
        step = remat.torch.train_step(nn.Linear(8, 8), loss, (x, x), optimizer=remat.SGD(0.0))
    assert calls == [] and step(x, x) == step(x, x)
