# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models written in PyTorch, trained by a step and by PyTorch itself."""
import copy
import functools
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import remat

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch import distributions as D  # noqa: E402


class Net(nn.Module):
    """A convolution with running statistics, a table with a padded row, and a head that is tied to it."""

    def __init__(self, width=6):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.table = nn.Embedding(5, width, padding_idx=0)
        self.head = nn.Linear(width, 5)
        self.head.weight = self.table.weight

    def forward(self, image, token):
        h = F.relu(self.norm(self.conv(image))).mean((2, 3))
        return self.head(h + self.table(token).detach() + self.table(token) ** 2)


def batches(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randn(4, 3, 5, 5, generator=generator), torch.randint(0, 5, (4,), generator=generator),
             torch.randint(0, 5, (4,), generator=generator)) for _ in range(count)]


def train(model, loss_fn, data, optimizer):
    losses = []
    for *inputs, target in data:
        loss = loss_fn(model(*inputs), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def assert_same_state(model, other, tolerance=2e-5):
    for (name, a), (_, b) in zip(model.state_dict().items(), other.state_dict().items(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance, err_msg=name)


def make(kind=Net, seed=0):
    torch.manual_seed(seed)
    return kind()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, 0.01, betas=(0.8, 0.99), weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
    "adafactor": lambda p: torch.optim.Adafactor(p, 0.02),
    # Optimizers without a rule of ours.
    "adadelta": lambda p: torch.optim.Adadelta(p, 0.5),
    "adagrad": lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.1),
    "adamax": lambda p: torch.optim.Adamax(p, 0.01),
    "amsgrad": lambda p: torch.optim.Adam(p, 0.01, amsgrad=True),
    "asgd": lambda p: torch.optim.ASGD(p, 0.05, t0=3),
    "maximize": lambda p: torch.optim.AdamW(p, 0.001, maximize=True),
    "nadam": lambda p: torch.optim.NAdam(p, 0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: torch.optim.RAdam(p, 0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, torch.tensor(0.002), centered=True, momentum=0.9),
    "rprop": lambda p: torch.optim.Rprop(p, 0.01),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_trains_as_pytorch_does(kind):
    model, data = make(), batches(6)
    theirs = copy.deepcopy(model)
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=OPTIMIZERS[kind](model.parameters()))
    losses = [step(*batch) for batch in data]
    expected = train(theirs, F.cross_entropy, data, OPTIMIZERS[kind](theirs.parameters()))
    np.testing.assert_allclose(losses, expected, 2e-5)
    assert_same_state(model, make())  # it was copied
    step.copy_to(model)
    assert_same_state(model, theirs)


def test_groups_of_an_optimizer_without_a_rule_of_ours(tmp_path):
    model, data = make(), batches(6)
    model.conv.weight.requires_grad_(False)
    theirs = copy.deepcopy(model)

    def optimizer(model):
        matrices = [p for p in model.parameters() if p.ndim > 1 and p.requires_grad]
        return torch.optim.RMSprop([{"params": matrices, "lr": 0.02}, {"params": [model.head.bias], "alpha": 0.9}], 0.01)

    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=optimizer(model))
    assert step.memory.gradients < sum(p.nbytes for p in step.parameters.values())
    for batch in data[:3]:
        step(*batch)
    step.save(tmp_path / "run.safetensors")
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=optimizer(model), eager=False)
    step.load(tmp_path / "run.safetensors")
    for batch in data[3:]:
        step(*batch)
    train(theirs, F.cross_entropy, data, optimizer(theirs))
    step.copy_to(model)
    assert_same_state(model, theirs)


def test_names_are_those_of_the_state_dict():
    model = make()
    step = remat.torch.train_step(model, F.cross_entropy, batches(1)[0], optimizer=remat.AdamW(0.01))
    own, theirs = step.state_dict(), model.state_dict()
    assert set(theirs) <= set(own) and {"conv.weight.m", "norm.bias.v", "remat.step"} <= set(own)
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(own[name], tensor.numpy())
    assert np.shares_memory(own["table.weight"], own["head.weight"])


def test_states_are_loaded_by_any_of_their_names():
    model, other = make(), make(seed=1)
    step = remat.torch.train_step(model, F.cross_entropy, batches(1)[0], optimizer=remat.SGD(0.01))
    step.load_state_dict(other.state_dict(), strict=False)
    step.copy_to(model)
    assert_same_state(model, other, 0)
    step.load_state_dict({"table.weight": torch.ones(5, 6)}, strict=False)
    assert (step.state_dict()["head.weight"] == 1).all()
    before = step.state_dict()["head.weight"].copy()
    with pytest.raises(ValueError, match="are one tensor in the step"):
        step.load_state_dict({"table.weight": torch.ones(5, 6), "head.weight": torch.zeros(5, 6)}, strict=False)
    assert (step.state_dict()["head.weight"] == before).all()
    step.load_state_dict(step.state_dict())


def test_groups_and_what_is_not_trained():
    model, data = make(), batches(4)
    model.conv.weight.requires_grad_(False)
    theirs = copy.deepcopy(model)

    def optimizer(model):
        return torch.optim.AdamW([{"params": [model.table.weight], "weight_decay": 0.0},
                                  {"params": [model.norm.weight], "lr": 0.1}], lr=0.01, weight_decay=0.3)
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=optimizer(model))
    losses = [step(*batch) for batch in data]
    np.testing.assert_allclose(losses, train(theirs, F.cross_entropy, data, optimizer(theirs)), 2e-5)
    step.copy_to(model)
    assert_same_state(model, theirs)


def test_a_loss_with_weights_of_its_own():
    model, data = make(), batches(3)
    loss_fn = nn.CrossEntropyLoss(weight=torch.arange(1.0, 6.0))
    theirs = copy.deepcopy(model)
    step = remat.torch.train_step(model, loss_fn, data[0], optimizer=remat.SGD(0.05))
    losses = [step(*batch) for batch in data]
    np.testing.assert_allclose(losses, train(theirs, loss_fn, data, torch.optim.SGD(theirs.parameters(), 0.05)), 2e-5)
    step.copy_to(model)
    assert_same_state(model, theirs)


@pytest.mark.parametrize("is_named", [False, True])
def test_what_is_called_in_the_place_of_the_model(is_named):
    """A loss that calls the model twice, as contrastive ones do."""
    def compare(model, first, second):
        a, b = (nn.functional.normalize(model(x), dim=-1) for x in (first, second))
        return nn.functional.cross_entropy(a @ b.T * 5, torch.arange(len(a)))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6))
    theirs = copy.deepcopy(model)
    data = [(torch.randn(5, 4), torch.randn(5, 4)) for _ in range(3)]
    ours = [dict(zip(("first", "second"), batch)) if is_named else batch for batch in data]
    step = remat.torch.train_step(model, None, ours[0], forward=compare, optimizer=remat.SGD(0.1))
    losses = [step(batch) if is_named else step(*batch) for batch in ours]
    optimizer = torch.optim.SGD(theirs.parameters(), 0.1)
    for loss, batch in zip(losses, data):
        optimizer.zero_grad()
        expected = compare(theirs, *batch)
        expected.backward()
        optimizer.step()
        np.testing.assert_allclose(loss, expected.item(), 2e-5)
    step.copy_to(model)
    assert_same_state(model, theirs)


class ReturnsTheLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2))

    def forward(self, x, *, target=None):
        y = x @ self.weight
        return ((y - target) ** 2).mean(), y


def test_a_model_that_returns_the_loss_takes_its_arguments_by_name():
    model, batch = make(ReturnsTheLoss), {"x": torch.randn(4, 3), "target": torch.randn(4, 2)}
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1))
    expected, output = model(**batch)
    loss, rest = step(**batch)
    np.testing.assert_allclose(loss, expected.item(), 1e-6)
    np.testing.assert_allclose(*[np.asarray(v) for v in (list(rest.values())[0], output.detach())], 1e-5, 1e-6)
    assert step(batch)[0] < loss
    with pytest.raises(TypeError, match="must be named x, target, but got x"):
        step(x=batch["x"])


@pytest.mark.parametrize("returns, names", [
    (lambda loss, y: loss, []),
    (lambda loss, y: (loss, y, y.sum()), ["output1", "output2"]),
    (lambda loss, y: (loss, {"logits": y, "mean": y.mean(), "nothing": None, "parts": {"first": y[0], "two": [y[1], y[2]]}}),
     ["logits", "mean", "parts.first", "parts.two.0", "parts.two.1"]),
    (lambda loss, y: {"accuracy": y.sum(), "loss": loss, "logits": y}, ["accuracy", "logits"])])
def test_further_results_have_their_names(returns, names):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)

        def forward(self, x):
            return self.norm(self.linear(x))

    def loss_fn(y, target):
        return returns(F.mse_loss(y, target), y)

    model, batch = make(Net), (torch.randn(4, 3), torch.randn(4, 2))
    step = remat.torch.train_step(model, loss_fn, batch, optimizer=remat.SGD(0.1), evaluate=True)
    for run, training in ((step.eval, False), (step, True)):
        expected = loss_fn(model.train(training)(batch[0]), batch[1])
        found = run(*batch)
        if not names:
            np.testing.assert_allclose(found, expected.item(), 1e-5)
            continue
        loss, rest = found
        assert list(rest) == names
        if isinstance(expected, dict):
            expected = expected["loss"], {name: expected[name] for name in names}
        np.testing.assert_allclose(loss, expected[0].item(), 1e-5)
        first = expected[1] if torch.is_tensor(expected[1]) else expected[1][names[0]]
        np.testing.assert_allclose(rest[names[0]], first.detach().numpy(), 1e-5, 1e-6)


BYTES = {  # torch-mlir crashed on some of these
    "scaled": lambda x: x * 60, "less": lambda x: x - 3, "from": lambda x: 9 - x, "halves": lambda x: x // 2, "rest": lambda x: x % 3,
    "quotient": lambda x: x // (x.flip(0) + 1), "ratio": lambda x: x / 3, "power": lambda x: x ** 3, "most": lambda x: x.max(),
    "least": lambda x: x.min(), "all": lambda x: x.all(), "any": lambda x: x.any(1), "wide": lambda x: x.to(torch.int32) ** 2}


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8])
def test_integers_of_8_bits(kind):
    def results(target):
        x = (target.abs() * 90 - (0 if kind == torch.uint8 else 70)).to(kind)
        return {name: function(x) for name, function in BYTES.items()}

    data, target = torch.randn(4, 3), torch.linspace(-1, 1, 8).reshape(4, 2)
    step = remat.torch.train_step(nn.Linear(3, 2), lambda y, t: (F.mse_loss(y, t), results(t)), (data, target),
                                  optimizer=remat.SGD(0.1))
    _, found = step(data, target)
    for name, value in results(target).items():
        np.testing.assert_allclose(found[name], value.numpy(), 1e-6, err_msg=name)


ROWS, COLUMNS = torch.tensor([[0, 2], [1, 1]]), torch.tensor([1, -1])


def fill_later(x):
    places = torch.empty_like(ROWS)
    places[:] = ROWS
    return x.new_empty(3, 4).copy_(x) * places.sum() + torch.empty(4).fill_(2.0)


def write_at(x, i):
    y = x.clone()
    y[i] = 2 * x[0]
    y[1:, i] = x[1:, 0] * x[2, 3]
    y[None, -1, i], y[..., i - 3, i] = 3.0, x[0, 0]
    return y * x[i]


def write_diagonals(x):
    x.diagonal().add_(2 * x[0])
    x.diagonal(1).mul_(3)
    x[:, :3].diagonal(-2).copy_(2 * x[3, :2])
    return torch.cov(x).fill_diagonal_(0.5) + x


PLACES = torch.tensor([2, 0, 0, 2, 1, 2])
DECOMPOSED = {
    "no place": ((3, 4), lambda x: x[:, torch.tensor([], dtype=torch.long)].sum(1) + x[:, 0]),
    "cropped": ((2, 3, 6, 5), lambda x: F.pad(x, (-1, 2, 3, -2), value=0.5)), "cropped 3d": ((1, 2, 4, 5, 6), lambda x: F.pad(x, (-1, -1) * 3)),
    "windows": ((2, 3, 8, 7, 4), lambda x: F.adaptive_avg_pool3d(x, (3, 7, 2))), "fold": ((2, 12, 9), lambda x: F.fold(x, (4, 4), 2)),
    "mean of one image": ((2, 6, 5), lambda x: F.avg_pool2d(x, 3, 2, 1)), "maximum of one": ((2, 6, 5), lambda x: F.max_pool2d(x, 2)),
    "mean of one volume": ((2, 4, 6, 5), lambda x: F.avg_pool3d(x, 2)), "maximum of one volume": ((2, 4, 6, 5), lambda x: F.max_pool3d(x, 2)),
    "mean of one signal": ((2, 9), lambda x: F.avg_pool1d(x, 3)), "maximum of one signal": ((2, 9), lambda x: F.max_pool1d(x, 3)),
    "columns": ((3, 4, 5), lambda x: torch.ones(3, 4, 5).index_put((torch.tensor([2, 0]), COLUMNS), x[0, :2])),
    "inner columns": ((3, 4, 5), lambda x: torch.ops.aten.index_put(x, [None, ROWS, COLUMNS], x[:, :2, :2] * 2, True)),
    "norm": ((3, 4), torch.linalg.norm), "norm of order 3": ((5,), lambda x: torch.linalg.norm(x, 3)),
    "norm of matrices": ((2, 3, 4), torch.linalg.matrix_norm), "norm by name": ((3, 4), lambda x: torch.linalg.norm(x, "fro", dim=(0, 1))),
    "rest": ((3, 4), lambda x: torch.fmod(2 * x, 0.7)), "rest by a tensor": ((3, 4), lambda x: torch.fmod(3 * x, x.detach().flip(0))),
    "places": ((3, 4), lambda x: x[ROWS, 1:3] * x[:, COLUMNS].sum() + torch.block_diag(x, ROWS).sum()),
    "turned round": ((3, 4), lambda x: x.roll((3, -1), (0, 1)) + x.roll(5)), "so far": ((3, 4), lambda x: x.cummax(0)[0] + x.cummin(1)[0]),
    "middle": ((3, 4), lambda x: x.median() * x), "taken": ((3, 4), lambda x: x.take(ROWS) + x.dist(2 * x, 3) + x.angle().detach().sum()),
    "matrix and vector": ((3, 3), lambda x: torch.addmv(x[0], x, x[1], alpha=-2)),
    "rows by places": ((3, 4), lambda x: torch.ones(3, 4).index_reduce(0, torch.tensor([2, 0, 2]), x, "mean")),
    "hypotenuse": ((3, 4), lambda x: torch.hypot(x, x.flip(0))), "filled later": ((3, 4), fill_later),
    "bits": ((3, 4), lambda x: x * ((10 * x.detach()).int() & 3 | 1) + ((10 * x.detach()).long() ^ 5)),
    "blocks": ((3, 4), lambda x: torch.block_diag(x, 2 * x[:2])),
    "labels": ((3, 4), lambda x: F.multilabel_margin_loss(x, torch.tensor([[1, 0, -1, 2], [-1, 3, 0, 1], [3, 2, 1, 0]]), reduction="none")),
    "Gaussian": ((3, 4), lambda x: F.gaussian_nll_loss(x, 2 * x.detach(), x[:, 0] ** 2, full=True, eps=0.5, reduction="none")),
    **{f"{how} of rows": ((6, 4), lambda x, how=how: sum(x[:3].detach().scatter_reduce(
        0, torch.tensor([2, 0, 0, 2, 0, 2])[:, None].expand(6, 4), x, how, include_self=include) for include in (False, True)))
       for how in ("sum", "mean", "amax", "amin")},
    "added at places": ((6, 4), lambda x: x[:3].index_add(0, PLACES, x, alpha=-2).sum(1) + torch.zeros(3).index_add(0, PLACES, x[:, 0])),
    "added in columns": ((4, 6), lambda x: x[:, :3].index_add(-1, PLACES, x.sin()) + torch.ones(2, 4, 3).index_add(2, PLACES, x.expand(2, 4, 6))),
    "added each at its own": ((6, 4), lambda x: x[:3].scatter_add(0, torch.arange(24).reshape(6, 4) % 3, x).sin().scatter_add(
        1, torch.tensor([[3, 3], [0, 1]]), x[:2, :2])),
    "added at pairs of places": ((4, 3), lambda x: torch.ones(4, 5).index_put((PLACES - 4, PLACES + 1), x.flatten()[:6], accumulate=True)),
    "added to itself": ((6, 4), lambda x: x.index_add(0, PLACES, x).index_add(0, PLACES, x.cos()) + x.index_add(0, PLACES[:0], x[:0])),
    "added by threads": ((8, 30, 16), lambda x: torch.zeros(8, 7, 16).index_add(1, torch.arange(300) % 7, x[:, torch.arange(300) % 30]).sum()
                         + torch.zeros(8, 30, 7).scatter_add(2, torch.arange(24000).reshape(8, 30, 100) * 3 % 7, x[:, :, torch.arange(100) % 16])),
    "sorted": ((300, 2), lambda x: x.sort(0)[0] * torch.linspace(0, 1, 300)[:, None] + x.median(0)[0]),
    "largest": ((2, 3000), lambda x: x.topk(5)[0] * torch.arange(5) + x.sort(descending=True)[0][:, 5:2500:499]
                + x.topk(5, largest=False)[0].sum() + x.kthvalue(20)[0].sum()),
    "repeated pixels": ((2, 3, 4, 5), lambda x: F.interpolate(x, scale_factor=2) + F.interpolate(x, (8, 10), mode="nearest-exact")
                        + F.interpolate(x[..., 0], 10)[:, :, :8, None] + F.interpolate(x[:, :, None], (2, 8, 10))[:, :, 1]),
    "pixels that are not repeated as often": ((2, 3, 4, 5), lambda x: F.interpolate(x, (6, 7)) + F.interpolate(x, (6, 7), mode="nearest-exact")),
    "largest so far": ((3, 40), lambda x: x.cummax(1)[0] * x.cummax(1)[1] + x.cummin(1)[0] * x.cummin(1)[1]),
    "histogram": ((9,), lambda x: x.sum() * torch.histc(x.detach(), 5, -1.0, 1.0)),
    "histogram of all": ((9,), lambda x: x.sum() * torch.histc(x.detach(), 3)),
    "root mean squares": ((4, 3), lambda x: F.rms_norm(x * 1e-4, (3,)) + F.rms_norm(0 * x, (3,), x[0]) + F.rms_norm(x, (3,), eps=0.1)),
    "windows of several sizes": ((2, 7, 5), lambda x: F.adaptive_max_pool2d(x, (4, 3)) + F.adaptive_max_pool1d(x[0], 3)[:4].sum()),
    "windows of volumes": ((2, 4, 5, 3), lambda x: F.adaptive_max_pool3d(x, (3, 3, 2))),
    "places of maxima": ((2, 7, 5), lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True)[1] * x[:, :3, :3]),
    "nothing": ((3, 4), lambda x: torch.cat([x, x[:0].reshape(0, 2, 2).flatten(1)]) + (x[:, :0] @ x[:0].T.reshape(0, 4))),
    "columns that do not follow": ((3, 2, 4), lambda x: torch.ops.aten.index_put(torch.ones(3, 2, 4), [ROWS[0], None, COLUMNS], x[:2, :, 0])),
    "places of 32 bits": ((3, 4), lambda x: x[ROWS.int()] * x[:, COLUMNS.int()].sum()),
    "on the diagonal": ((4, 4), lambda x: write_diagonals(x.clone())), "pairs": ((4, 3), lambda x: F.pdist(x) + F.pdist(x, 1)),
    "chosen by a mask": ((3, 4), lambda x: x.masked_scatter(x > 0, x.flip(0) * 3) * x.masked_scatter(x[0] > 0, x)),
    "searched": ((3, 4), lambda x: x * torch.searchsorted(torch.linspace(-1, 1, 5), x.detach()) + torch.searchsorted(
        torch.tensor([[0.0, 1.0], [1.0, 2.0], [0.0, 0.5]]), torch.ones(3, 4), right=True)),
    "whole powers": ((4,), lambda x: x * 2 ** torch.arange(4) + torch.tensor([3, -2, 5, 0]) ** torch.arange(4)),
    "repeated": ((3, 4), lambda x: x.repeat_interleave(torch.tensor([2, 0, 3]), 0, output_size=5)),
    "frequencies": ((5,), lambda x: x * torch.fft.fftfreq(5, 0.1) + x[:4].sum() * torch.fft.rfftfreq(9)),
    "covariances": ((3, 4), lambda x: torch.cov(x, fweights=torch.arange(4), aweights=torch.ones(4)) + x.T.cov(correction=0).sum() + x.corrcoef()),
    "dropped": ((3, 4), lambda x: F.dropout(x, 1.0) + x), "error function": ((3, 4), lambda x: torch.erfc(x) + torch.log(torch.erfc(x.abs() + 7)) + torch.log(torch.erfc(x + 2))),
    "inverse error function": ((6,), lambda x: torch.erfinv(torch.tensor([0.999999, -0.9999, 0.0, 0.3, -0.7, 0.99]) * x / x.detach() * 0.9999)),
    "placed by number": ((4, 3), lambda x: x.put(torch.tensor([1, 5]), x[0, :2]) + x.put(torch.tensor([1, 1]), x[0, :2], accumulate=True)),
    "windows of one image": ((3, 6, 4), lambda x: F.adaptive_max_pool2d(x, 2) + F.adaptive_max_pool2d(x, (2, 1), return_indices=True)[1]),
    "combinations": ((4,), lambda x: torch.combinations(x, 3).sum(1) + torch.combinations(x, 3, with_replacement=True)[:4, 0]),
    "places of no dimension": ((3, 4), lambda x: write_at(x, x.detach().sum(1).argmax())),
    "distances": ((2, 4, 3), lambda x: torch.cdist(x, 2 * x[:, :2] + 1)), "no distance": ((4, 3), lambda x: torch.cdist(x, x)),
    "distances of order 1": ((4, 3), lambda x: torch.cdist(x, x[:2] + 1, p=1)),
    "gamma function": ((3, 4), lambda x: torch.lgamma(3 * x) + torch.digamma(x.abs() + 0.1) + torch.lgamma(12 * x.abs())),
    "logits in pieces": ((6, 4), lambda x: F.linear_cross_entropy(
        x, x[:5].detach(), torch.arange(6) % 5, ignore_index=3, options=nn.LinearCrossEntropyOptions()) * x[0, 0].detach())}

# Whose constructors and methods look whether all numbers are valid.
DISTRIBUTIONS = {
    "normal": lambda x: D.Normal(x, x.exp()).log_prob(x.detach() + 1) + D.Normal(x, 1.0).entropy(),
    "independent": lambda x: D.Independent(D.Laplace(x, F.softplus(x)), 1).log_prob(torch.zeros(3, 4)),
    "divergence": lambda x: D.kl_divergence(D.Normal(x, x.exp()), D.Normal(0.0, 2.0)) + D.kl_divergence(D.Beta(x.exp(), 2.0), D.Beta(2.0, 1.0)),
    "categorical": lambda x: D.Categorical(logits=x).log_prob(torch.tensor([2, 0, 3])) + D.Categorical(probs=x.softmax(1)).entropy(),
    "squashed": lambda x: D.TransformedDistribution(D.Normal(x, 1.0), [D.TanhTransform(cache_size=1)]).log_prob(torch.full((3, 4), 0.3)),
    "mixture": lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, x.exp())).log_prob(torch.tensor([0.1, -1.0, 2.0])),
    "gamma": lambda x: D.Gamma(x.exp(), 1 + x * x).log_prob(x.detach().abs() + 0.1) + D.Dirichlet(x.exp()).entropy().sum(),
}


class Scaled(nn.Module):
    def __init__(self, shape, function):
        super().__init__()
        self.scale, self.function = nn.Parameter(1 + 0.1 * torch.randn(shape)), function

    def forward(self, x):
        y = self.function(self.scale * x)
        return (y * torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape)).sum()


def test_additions_at_places_take_no_comparisons():
    """Of each place with each update, which would be 1500 x 3000."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Parameter(torch.randn(3000, 2))

        def forward(self, places):
            total = torch.zeros(1500, 2).index_add(0, places, self.rows)
            return (total + torch.zeros(1500, 2).scatter_add(0, places[:, None].expand(3000, 2), self.rows)).pow(2).sum()

    model, places = Model(), torch.arange(3000) * 7 % 1500
    text = remat.export.from_torch(model, {"places": places}).text
    assert text.count("call @remat.scatter_add") == 2 and "1500x3000" not in text
    step = remat.torch.train_step(model, None, (places,), optimizer=remat.SGD(0.1))
    assert step.memory.residuals < 100_000
    assert step(places) == pytest.approx(model(places).item(), rel=1e-5)
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "total = torch.zeros(1500, 2)" in text)
    places[11] = 1500
    with pytest.raises(remat.StepError, match=rf"test_torch.py:{line}:\d+: the index of dimension 0 is not in 0..1499"):
        step(places)


@pytest.mark.parametrize("compute, shape, left_out", [
    (lambda x: x.sort(0)[0], (3000,), "3000x3000"), (lambda x: x.topk(5)[0], (3000,), "3000x3000"),
    (lambda x: x.cummax(0)[0], (3000,), "3000x3000"),
    (lambda x: F.embedding_bag(torch.arange(700) % 50, x, torch.arange(0, 700, 7)), (50, 4), "100x700xf32"),
    (lambda x: F.interpolate(x, scale_factor=2), (1, 2, 8, 8), "tensor.extract"),
    (lambda x: F.conv_transpose2d(x, x[:, :, :3, :3], stride=2), (1, 1, 8, 8), None)])
def test_what_is_left_out(compute, shape, left_out):
    """Comparisons of all pairs, places of pixels, and memory for zeros between elements."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.x = nn.Parameter(torch.randn(shape))

        def forward(self, factor):
            return (compute(self.x * factor) ** 2).sum()

    model, factor = Model(), torch.tensor(1.5)
    assert left_out is None or left_out not in remat.export.from_torch(model, {"factor": factor}).text
    if left_out is None:
        step = remat.torch.train_step(model, None, (factor,), optimizer=remat.SGD(0.1))
        assert step.memory.residuals < 4 * 17 * 17  # the image with zeros between its elements has more


@pytest.mark.parametrize("name", DECOMPOSED)
def test_what_torch_mlir_lacks_is_made_of_other_operations(name):
    check_gradient(*DECOMPOSED[name])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    check_gradient((3, 4), DISTRIBUTIONS[name])


SOFTMAXES = {
    "function": lambda x: x.softmax(-1), "largest": lambda x: normalize((x - x.amax(-1, keepdim=True)).exp()),
    "value and place": lambda x: normalize((x - x.max(-1, keepdim=True)[0]).exp())}


def normalize(rows):
    return rows / rows.sum(-1, keepdim=True)


def test_softmax_written_with_exp_is_one():
    """No array of scores stays for the backward."""
    def residuals(name):
        def forward(x):
            heads = x.view(2, 64, 2, 8).transpose(1, 2)
            return SOFTMAXES[name](heads @ heads.mT) @ heads
        x = torch.ones(2, 64, 16)
        step = remat.torch.train_step(Scaled((2, 64, 16), forward), lambda y, t: y * t, (x, torch.ones(())), optimizer=remat.SGD(0.1))
        return step.memory.residuals
    found = {name: residuals(name) for name in SOFTMAXES}
    assert found == dict.fromkeys(SOFTMAXES, found["function"])


HIDDEN = torch.rand(48, 48, generator=torch.Generator().manual_seed(0)) < 0.5
HIDDEN[3] = HIDDEN[7] = True  # rows without a key
ATTENTIONS = {
    "plain": {}, "causal": {"is_causal": True}, "scaled": {"scale": 0.7}, "mask": {"attn_mask": ~HIDDEN},
    "masks": {"attn_mask": ~torch.stack([HIDDEN, HIDDEN.mT])[:, None]}, "added": {"attn_mask": torch.where(HIDDEN, -math.inf, 0.3)},
    "row": {"attn_mask": ~HIDDEN[5:6]}, "grouped": {"enable_gqa": True}, "grouped mask": {"enable_gqa": True, "attn_mask": ~HIDDEN},
    "one batch": {}, "dropped": {"dropout_p": 0.2}, "dropped causal": {"dropout_p": 0.2, "is_causal": True}, "unlimited": {"scale": math.inf},
    "einsum": {}}


def attend(name, x):
    heads = x.view(2, 48, 4, 8).transpose(1, 2)
    others = heads.flip(2)[:, :2] if "grouped" in name else heads.flip(2)[:1] if name == "one batch" else heads.flip(2)
    if name == "einsum":
        return torch.einsum("bhts,bhsd->bhtd", torch.einsum("bhtd,bhsd->bhts", heads, others).softmax(-1), others.sin())
    return F.scaled_dot_product_attention(heads, 0.8 * others, others.sin(), **ATTENTIONS[name])


@pytest.mark.parametrize("name", [name for name in ATTENTIONS if "dropped" not in name and name != "unlimited"])
def test_attention(name):
    check_gradient((2, 48, 32), functools.partial(attend, name))


def train_once(model, x):
    """The loss and the gradients of a step, and those of PyTorch."""
    loss = model(x)
    loss.backward()
    start = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    step = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(1.0))
    own = step(x), {name: start[name] - np.asarray(step.parameters[name], np.float64) for name in start}
    return own, (loss.item(), {name: p.grad.double().numpy() for name, p in model.named_parameters()})


class Wide(nn.Module):
    """Attention in float64, with a bias that is learned and values of another size, of sequences without heads, and by a module with a
    mask for each head and padding."""

    def __init__(self):
        super().__init__()
        self.queries, self.bias = nn.Linear(6, 18), nn.Parameter(torch.randn(7, 7).tril())
        self.module = nn.MultiheadAttention(6, 2, batch_first=True, add_bias_kv=True)
        self.double()

    def forward(self, x):
        q, k, v = self.queries(x).split((4, 4, 10), -1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
        mask, padding = torch.ones(6, 7, 7, dtype=torch.bool).triu(1), torch.arange(7) >= torch.tensor([[7], [5], [6]])
        z, _ = self.module(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)
        return (y ** 2).mean() + z.sin().mean()


def test_attention_in_float64():
    torch.manual_seed(0)
    (loss, gradients), (their_loss, theirs) = train_once(Wide(), torch.randn(3, 7, 6, dtype=torch.float64))
    np.testing.assert_allclose(loss, their_loss, 1e-6)  # a loss is reported in float32
    for name, gradient in theirs.items():
        np.testing.assert_allclose(gradients[name], gradient, 1e-10, 1e-12, err_msg=name)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_is_exported_whole(name):
    """One operation, unless a model writes its parts, or it has no such form."""
    text = remat.export.from_torch(Scaled((2, 48, 32), functools.partial(attend, name)), {"x": torch.ones(2, 48, 32)}, check=False).text
    is_whole = name not in ("einsum", "unlimited")
    assert ("remat.attention" in text, "math.exp" in text) == (is_whole, not is_whole)


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(24))

    def forward(self, x):
        q, k, v = (x * self.scale.to(torch.bfloat16)).unflatten(-1, (3, -1)).unbind(-2)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).float().square().mean()


def test_attention_in_bfloat16_has_sums_in_float32():
    """Neither the step nor its residuals have heads in float32."""
    x = torch.randn(2, 4, 64, 24).bfloat16()
    module = Halves()
    text = remat.export.from_torch(module, {"x": x}, check=False).text
    assert f" : ({'tensor<2x4x64x8xbf16>, ' * 3}tensor<2x4x64x8xf32>, " in text
    (loss, gradients), (their_loss, theirs) = train_once(module, x)
    np.testing.assert_allclose(loss, their_loss, 2e-3)
    np.testing.assert_allclose(gradients["scale"], theirs["scale"], 2e-2, 2e-4)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_keeps_no_scores(name):
    x = torch.ones(2, 48, 32)
    step = remat.torch.train_step(Scaled((2, 48, 32), functools.partial(attend, name)), lambda y, t: y * t, (x, torch.ones(())),
                                  optimizer=remat.SGD(0.1))
    assert step.memory.residuals < 2 * 48 * 32 * 4 * 5 < 2 * 4 * 48 * 48 * 4


POINTS = torch.tensor([0.0, 1.0, -1.0, 3.0, -3.0, 6.0])
KINKS = {
    **{f.__name__: f for f in (F.relu, F.relu6, F.elu, F.selu, F.celu, F.leaky_relu, F.hardtanh, F.hardswish, F.hardsigmoid, F.softplus,
                               F.logsigmoid, F.silu, torch.abs)},
    "maximum": lambda w: torch.maximum(w, torch.zeros(6)) + torch.minimum(w, w.flip(0).detach()),
    "logaddexp": lambda w: torch.logaddexp(w, torch.zeros(())),
    "infinities": lambda w: torch.logaddexp(w, torch.full((6,), -math.inf)) + torch.maximum(w, torch.full((6,), -math.inf)),
    "logits": lambda w: F.binary_cross_entropy_with_logits(w, torch.full((6,), 0.3), reduction="none"),
    "numbers": lambda w: torch.fmax(w, torch.ones(6)) + torch.fmin(w.flip(0), torch.ones(6)) + torch.fmax(torch.tensor([math.nan]), w),
    "logaddexp2": lambda w: torch.logaddexp2(w, torch.zeros(6)), "rest": lambda w: torch.fmod(1.3 * w, 0.7),
    "middle": lambda w: torch.cat([w[:2], w[:2], w[:1]]).median() + torch.cat([w, w]).nanmedian() + torch.cat([w, w]).reshape(2, 6).nanmedian(0)[0],
    "most frequent": lambda w: torch.stack([w, w, w.flip(0)], 1).mode()[0] + torch.stack([w, w.flip(0)]).mode(0)[0],
    "largest": lambda w: torch.stack([w, w.flip(0), w.relu()]).amax(0) + torch.stack([w, w.relu()], 1).amin(1) + torch.cat([w, w]).amax()
    + torch.stack([w, w.relu()]).aminmax(dim=0)[1],
    "clamp": lambda w: w.clamp(-1, 3), "deviation of equals": lambda w: (0 * w + w[0]).std() + torch.std_mean(0 * w + w[1], dim=0)[0] + w}


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_where_pieces_meet(name):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(POINTS.clone())

        def forward(self, weights):
            return (KINKS[name](self.w) * weights).sum()
    model, weights = Model(), torch.linspace(0.5, 1.5, 6)
    loss = model(weights)
    loss.backward()
    step = remat.torch.train_step(model, None, (weights,), optimizer=remat.SGD(1.0))
    np.testing.assert_allclose(step(weights), loss.item(), 1e-5, 1e-5)
    np.testing.assert_allclose(POINTS.numpy() - step.parameters["w"], model.w.grad.numpy(), 1e-5, 1e-6)


def check_gradient(shape, function):
    torch.manual_seed(0)
    model, x = Scaled(shape, function), torch.randn(shape)
    loss = model(x)
    loss.backward()
    start, gradient = model.scale.detach().numpy().copy(), model.scale.grad.numpy()
    step = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(0.1))
    np.testing.assert_allclose(step(x), loss.item(), 1e-5, 1e-5)
    np.testing.assert_allclose(step.parameters["scale"], start - 0.1 * gradient, 1e-5, 1e-5)


DRAWS = {  # from n elements of 1, what PyTorch draws around 1
    "permutation": lambda x: torch.randperm(len(x)) * 2.0 / (len(x) - 1), "integers": lambda x: torch.randint_like(x, 3) * 1.0,
    "integers from": lambda x: torch.randint_like(x, -2, 5) * 1.0, "normal": lambda x: torch.normal(x, 0.5) + torch.normal(0.0, x) + 0 * x,
    "log-normal": lambda x: torch.empty_like(x).log_normal_(-0.02, 0.2),
    "some": lambda x: torch.multinomial(torch.tensor([1.0, 2.0, 1.0]).expand(len(x), 3), 1)[:, 0] * 1.0,
    "all": lambda x: torch.multinomial(torch.ones(len(x), 3), 3).flatten() * 1.0}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name):
    model, x = Scaled((400,), lambda x: x), torch.ones(400)
    step = remat.torch.train_step(model, lambda y, t: (y, DRAWS[name](t)), (x, x), optimizer=remat.SGD(0.1))
    (_, first), (_, second) = (step(x, x) for _ in range(2))
    assert abs(first["output1"].mean() - 1) < 0.2 and not np.array_equal(first["output1"], second["output1"])
    expected = DRAWS[name](x).numpy()
    assert first["output1"].shape == expected.shape and abs(first["output1"].std() - expected.std()) < 0.15


def turn(x):
    """Positions by rotation, as LLaMA's own code has them."""
    angles = torch.outer(torch.arange(x.shape[0]), 1 / 10.0 ** torch.arange(0, x.shape[1], 2))
    pairs = torch.view_as_complex(x.float().reshape(x.shape[0], -1, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(1).type_as(x)


def filter_frequencies(x):
    frequencies = torch.fft.rfft2(x, norm="ortho")
    weights = torch.complex(*torch.linspace(-1, 1, 2 * frequencies.numel()).reshape(2, *frequencies.shape))
    return torch.fft.irfft2(frequencies * weights, s=x.shape[-2:], norm="ortho")


def shifted(x):
    return torch.fft.ifftshift(torch.fft.fftshift(torch.fft.fft(x)) * torch.arange(x.shape[-1])).imag


def keep_low_frequencies(x):
    """A layer of a Fourier neural operator: products with some of the frequencies, which are written to zeros."""
    frequencies = torch.fft.rfft2(x)
    weights = torch.complex(*torch.linspace(-1, 1, 36).reshape(2, 2, 3, 3, 1))
    kept = torch.zeros_like(frequencies[:, :1]).repeat(1, 3, 1, 1)
    kept[:, :, :3, :3] = torch.einsum("bixy,ioxy->boxy", frequencies[:, :, :3, :3], weights.expand(2, 3, 3, 3))
    kept[:, :, -2:, 0] += 2 * frequencies[:, :1, -2:, 0]
    return torch.fft.irfft2(kept, s=x.shape[-2:])


def transform(x, size, hop):
    return torch.stft(x, size, hop, window=torch.hann_window(size), return_complex=True)


def write_to_parts(x):
    numbers = torch.fft.fft(x)
    numbers[0] *= 2
    numbers.mul_(numbers.conj() + 1)
    numbers[:, 1] = 0
    return numbers.real + numbers.roll(1, 0).imag


@torch.no_grad()
def without_gradients(numbers):
    return numbers * numbers


def pair(x):
    return torch.complex(x, x.flip(-1) * x)


COMPLEX = {
    "neural operator": ((2, 2, 6, 8), keep_low_frequencies), "written to": ((3, 4), write_to_parts),
    "product of frequencies": ((3, 8), lambda x: (torch.fft.rfft(x) @ torch.fft.rfft(x).mH).abs().sum(0)),
    "detached": ((4,), lambda x: (pair(x) * torch.fft.fft(x).detach() + pair(x).detach()).imag),
    "without gradients": ((4,), lambda x: (pair(x) * without_gradients(pair(x))).real),
    "products and sums": ((3, 3), lambda x: (torch.addcmul(pair(x), pair(x), pair(x.T), value=2) + torch.mv(pair(x), pair(x)[0])
                                             + torch.vdot(pair(x)[0], pair(x)[1]) + torch.lerp(pair(x), pair(x.T), 0.3)
                                             + torch.baddbmm(pair(x)[None], pair(x)[None], pair(x)[None], beta=0.5, alpha=2)[0]).imag),
    "placed": ((3, 3), lambda x: (torch.diag(pair(x)[0]) + pair(x).index_put((COLUMNS,), pair(x)[:2] * 2) + torch.diag_embed(pair(x)).sum(0)).imag),
    "moved": ((3, 3), lambda x: (pair(x).tril() * pair(x).roll(1, 0) + torch.diag(pair(x)) + torch.trace(pair(x)) * torch.rot90(pair(x))
                                 + pair(x).unfold(1, 3, 1)[:, 0] * torch.ones_like(pair(x))).imag),
    "deviations": ((3, 3), lambda x: pair(x).std(1) + pair(x).std() + (pair(x).sigmoid()).imag),
    "convolution": ((1, 2, 6), lambda x: (F.conv1d(pair(x), pair(x)[..., :3], pair(x)[0, :1, 0], padding="same")
                                      * F.conv1d(pair(x), x[..., :1] + 0j)).imag),
    "convolution, transposed": ((1, 2, 3, 3), lambda x: F.conv_transpose2d(pair(x), pair(x)[..., :2, :2].transpose(0, 1), stride=2).abs()),
    "positions": ((5, 4), turn), "frequencies": ((2, 6, 5), filter_frequencies), "shifted": ((3, 7), shifted),
    "frequencies of many": ((2, 96), filter_frequencies), "of a prime": ((67,), lambda x: torch.fft.fft(x).abs()),
    "Fourier net": ((2, 6, 5), lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real),
    "all dimensions": ((3, 2, 5), lambda x: torch.fft.ifftn(torch.fft.rfftn(x, s=(2, 6))).real),
    "longer and shorter": ((3, 5), lambda x: torch.fft.irfft(torch.complex(x, x * x), n=12)[:, :5] + torch.fft.irfft(torch.complex(x, x), n=5)),
    "inverse": ((3, 8), lambda x: torch.fft.ifft(torch.complex(x, x * x), n=6, norm="forward").imag),
    "Hermitian": ((3, 5), lambda x: torch.fft.hfft(torch.complex(x, x * x))[:, :3] + torch.fft.ihfft(x, norm="ortho").imag),
    "spectrogram": ((2, 40), lambda x: torch.stft(x, 16, 5, 12, torch.hann_window(12), return_complex=True).abs()),
    "spectrogram of one": ((40,), lambda x: torch.stft(x, 8, center=False, onesided=False, normalized=True, return_complex=True).real),
    "back from a spectrogram": ((2, 40), lambda x: torch.istft(transform(x, 16, 4) * transform(x, 16, 4).abs(), 16, 4, 12,
                                                               torch.hann_window(12))),
    "back, of a length": ((40,), lambda x: torch.istft(transform(x, 8, 2) * (1 + 2j), 8, 2, window=torch.hann_window(8), normalized=True,
                                                       length=35)
                          * torch.istft(transform(x, 8, 2)[:, 1:], 8, 2, window=torch.hann_window(8), length=35)),
    "back from both sides": ((40,), lambda x: torch.istft(torch.stft(x, 8, 3, window=torch.hann_window(8), onesided=False, return_complex=True)
                                                          * torch.arange(8)[:, None], 8, 3, window=torch.hann_window(8))),
    "arithmetic": ((4,), lambda x: ((1 - 2 * torch.complex(x, x.flip(0)) ** 3 / 5 + x) / torch.complex(x + 3, x)).imag),
    "functions": ((4,), lambda x: (torch.exp(torch.complex(x, x)) * torch.complex(x, x).conj()).abs() + torch.complex(x + 4, x).angle()),
    "products": ((4, 4), lambda x: (torch.complex(x, x.T) @ torch.complex(x.T, x)).sum(0).imag),
    "numbers": ((4,), lambda x: ((x * 2j + (1 + 2j) - x / (1 + 2j)) * (2j / (x + 3)) + (1j - x)).abs()),
    "numbers, complex": ((4,), lambda x: torch.add((2 - 1j) / torch.complex(x + 3, x) - torch.complex(x, x) * (1 - 3j), 2j, alpha=3).mul_(2j).imag),
    "numbers, chosen": ((4,), lambda x: (torch.where(x > 0, 2j, torch.complex(x, x)) * torch.full((4,), 1 + 2j) * torch.arange(4) * 1j).real),
    "powers of e": ((4,), lambda x: torch.exp(-1j * math.pi * torch.arange(4) * x).imag),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    check_gradient(*COMPLEX[name])


class WithBytes(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.weight, self.function = nn.Parameter(torch.linspace(-1, 2, 9).reshape(3, 3)), function

    def forward(self, x):
        return self.function(self.weight, x).sum()


# torch-mlir takes bytes above 127 for negative numbers, if nothing is done about it.
UNSIGNED = {
    "product": lambda w, x: x * w, "image": lambda w, x: F.conv2d((x / 255.0 - 0.5)[None, None], w[None, None], padding=1),
    "sums": lambda w, x: x.sum() * w + x.sum(1, keepdim=True) * w + x.cumsum(1) * w, "division": lambda w, x: (x // 3 + x % 7) * w,
    "extrema": lambda w, x: x.max(1)[0] * w + x.min() * w + x.amax() * w + x.argmax() * w + torch.maximum(x, x.flip(1)) * w,
    "clamp": lambda w, x: x.clamp(5, 180) * w, "order": lambda w, x: x.topk(2)[0].sum() * w + x.sort(1)[0][0, 2] * w,
    "bits": lambda w, x: ((x >> 1) + 0.5) * w + (x << 1) * w + (x + 100) * w + (x * 2) * w + (x & 15) * w + (~x) * w + (-x) * w,
    "comparison": lambda w, x: torch.where(x > x.flip(1), w, 0) + torch.where(x >= 150, w, 0) + torch.where(x == 200, w, 0),
    "moved": lambda w, x: torch.cat([x.float(), x * 1.0]).sum() * w + torch.stack([x, x])[0] * w[0] + x.where(x > 3, 0).T * w,
    "conversions": lambda w, x: x.int() * w + x.long() * w + ((w * 0 + 200.7).to(torch.uint8)) * w + x.to(torch.int8) * w,
    "indices": lambda w, x: F.embedding((x % 3).long(), w) + w.repeat(90, 1)[x.long()],
}


@pytest.mark.parametrize("name", UNSIGNED)
def test_bytes(name):
    model, x = WithBytes(UNSIGNED[name]), torch.tensor([[200, 3, 129], [255, 0, 7], [128, 127, 1]], dtype=torch.uint8)
    loss = model(x)
    loss.backward()
    start, gradient = model.weight.detach().numpy().copy(), model.weight.grad.numpy()
    step = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(1e-3))
    np.testing.assert_allclose(step(x), loss.item(), 1e-5)
    np.testing.assert_allclose(step.parameters["weight"], start - 1e-3 * gradient, 1e-5, 1e-6)


def test_bytes_that_come_back():
    class Model(WithBytes):
        def forward(self, x):
            return (self.weight * x).sum(), x // 2 + 100

    x = torch.tensor([[200, 3, 129]], dtype=torch.uint8)
    step = remat.torch.train_step(Model(None), None, (x,), optimizer=remat.SGD(1e-3))
    _, found = step(x)
    np.testing.assert_array_equal(np.asarray(next(iter(found.values())) if isinstance(found, dict) else found), (x // 2 + 100).numpy())


MASK = [True, False, True, True]


def put_at_constants(x):
    y, mask = x.clone(), torch.tensor(MASK)
    y[:, mask.clone()] = 3 * x[:, :3]
    y[torch.ones(3, 4, dtype=torch.bool).tril()] = x.flatten()[:6]
    mask[0] = False  # no constant any more
    return y * (x[:, mask] * torch.arange(2)).sum()


CONSTANT_MASKS = {
    "columns": lambda x: x[:, torch.tensor(MASK)] + x[..., torch.tensor(MASK)], "written": put_at_constants,
    "nothing": lambda x: x[:, torch.zeros(4, dtype=torch.bool)].sum(1) + x[0, 0],
    "triangle": lambda x: x[torch.ones(3, 4, dtype=torch.bool).tril()] * x[(torch.arange(12).reshape(3, 4) % 2).bool()],
}


@pytest.mark.parametrize("name", CONSTANT_MASKS)
def test_constant_masks(name):
    check_gradient((3, 4), CONSTANT_MASKS[name])


def ctc(x, reduction):
    """The second has one path less than it needs, the third no label."""
    return F.ctc_loss(x.reshape(4, 3, 5).log_softmax(-1), torch.tensor([[1, 2], [3, 3], [4, 4]]), torch.tensor([4, 2, 3]), torch.tensor([2, 2, 0]),
                      reduction=reduction, zero_infinity=True)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc(reduction):
    check_gradient((4, 15), lambda x: ctc(x, reduction).reshape(-1))
    check_gradient((4, 5), lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([1, 2]), torch.tensor(4), torch.tensor(2), blank=3).reshape(1))


def test_results_that_are_numbers():
    class Model(nn.Linear):
        def forward(self, x, item=False):
            loss = super().forward(x).sum().reshape(1)
            return loss, {"count": 3, "share": 0.5, "own": loss.item() if self.item else None}

    x, model = torch.ones(2, 3), Model(3, 2)
    model.item = False
    _, found = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(0.1))(x)
    assert found == {"count": 3, "share": 0.5}
    model.item = True
    with pytest.raises(TypeError, match=r"the result own must be a tensor, but it is SymFloat, an element of a tensor; return that without item\(\)"):
        remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(0.1))


REFUSED = {
    "forward decides by elements of a tensor": lambda x: x if x.sum() > 0 else -x,
    "forward computes with NumPy": lambda x: x * torch.from_numpy(x.detach().numpy()),
    "forward draws numbers from a torch.Generator": lambda x: x * torch.rand(3, generator=torch.Generator()),
    "ctc_loss has no rule for the targets of all examples in one tensor": lambda x: F.ctc_loss(x[:, None].log_softmax(-1), torch.tensor([1]), (3,), (1,)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(remat.ExportError, match=rf"test_torch.py:\d+.*: {message}"):
        remat.torch.train_step(Scaled((3, 3), REFUSED[message]), None, (torch.eye(3),), optimizer=remat.SGD(0.1))


NO_LIBRARY = {
    **{name: ("linear algebra", function) for name, function in {
        "linalg_cholesky_ex": torch.linalg.cholesky, "cholesky": torch.cholesky, "linalg_solve_ex": lambda x: torch.linalg.solve(x, x),
        "linalg_inv_ex": torch.linalg.inv, "linalg_det": torch.linalg.det, "linalg_slogdet": torch.logdet,
        "linalg_qr": lambda x: torch.linalg.qr(x)[0], "linalg_svd": torch.linalg.svdvals, "linalg_eigh": torch.linalg.eigvalsh,
        "linalg_eig": lambda x: torch.linalg.eigvals(x).real, "linalg_pinv": torch.linalg.pinv, "linalg_lstsq": lambda x: torch.linalg.lstsq(x, x)[0],
        "linalg_matrix_exp": torch.matrix_exp, "linalg_householder_product": lambda x: torch.linalg.householder_product(x, x[0]),
        "linalg_lu": lambda x: torch.linalg.lu(x)[2]}.items()},
    "special_erfcx": ("a special function", torch.special.log_ndtr), "i0": ("a special function", torch.i0),
    "polygamma": ("a special function", lambda x: torch.polygamma(2, x)),
    "hamming_window": ("a window", lambda x: x * torch.hamming_window(3)),
    "fake_quantize_per_tensor_affine_cachemask": ("quantization", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.3, 1, -4, 7))}


@pytest.mark.parametrize("name", NO_LIBRARY)
def test_what_needs_a_library(name):
    what, function = NO_LIBRARY[name]
    with pytest.raises(remat.ExportError, match=rf"test_torch.py:\d+.*: {name} has no rule \({what}\): [^\n]*$"):
        remat.torch.train_step(Scaled((3, 3), function), None, (torch.eye(3),), optimizer=remat.SGD(0.1))


def test_a_decomposition_of_a_refused_operator_is_used(monkeypatch):
    from remat.torch import decompositions
    monkeypatch.setitem(decompositions.TABLE, torch.ops.aten.special_erfcx.default, lambda x: torch.exp(x * x) * torch.erfc(x))
    check_gradient((3, 4), torch.special.erfcx)


def shifted_by(x, number):
    return x + number * torch.eye(x.shape[-1])


def weighted(x):
    return x * torch.cos(torch.arange(x.numel(), dtype=x.dtype)).reshape(x.shape)


def gated_delta_rule(x):
    """The part of it that solves: of a chunk, of which the strict lower triangle is small."""
    system = torch.eye(40) + (x @ x.mT * 0.02).tril(-1)
    return torch.linalg.solve_triangular(system, x, upper=False, unitriangular=True)


TRIANGULAR = {
    "upper": ((2, 3, 3), lambda x: weighted(torch.linalg.solve_triangular(shifted_by(x, 3), torch.arange(6.0).reshape(3, 2), upper=True))),
    "lower, of many": ((7, 7), lambda x: weighted(torch.linalg.solve_triangular(shifted_by(x, 4), torch.arange(42.0).reshape(2, 7, 3) / 9, upper=False))),
    "from the right": ((3, 3), lambda x: weighted(torch.linalg.solve_triangular(x, torch.ones(2, 3), upper=False, left=False, unitriangular=True))),
    "upper, from the right": ((5, 5), lambda x: weighted(torch.linalg.solve_triangular(shifted_by(x, 3), torch.ones(2, 5), upper=True, left=False))),
    "of one": ((1, 1), lambda x: torch.linalg.solve_triangular(x, x * x, upper=True)), "gated delta rule": ((3, 40, 8), gated_delta_rule),
    "with a factor": ((3, 3), lambda x: weighted(torch.cholesky_solve(torch.ones(3, 2), shifted_by(x, 3).tril()))),
    "with an upper factor": ((3, 3), lambda x: weighted(torch.cholesky_solve(torch.ones(3, 2), shifted_by(x, 3).triu(), upper=True))),
    "density": ((4, 5), lambda x: torch.distributions.MultivariateNormal(torch.zeros(4), scale_tril=shifted_by(x[:, :4].tril(), 3)).log_prob(x[:, 4]))}


@pytest.mark.parametrize("name", TRIANGULAR)
def test_triangular_equations(name):
    check_gradient(*TRIANGULAR[name])


def test_triangular_equations_grow_with_the_digits_of_their_size():
    def count(size):
        model = Scaled((size, size), lambda x: torch.linalg.solve_triangular(shifted_by(x, size), x, upper=False))
        return remat.export.from_torch(model, {"x": torch.eye(size)}, check=False).text.count("linalg.matmul")

    assert [count(size) for size in (8, 64, 512)] == [7, 13, 19]


def test_linear_algebra_of_complex_numbers():
    def solve(x):
        return torch.linalg.solve(torch.complex(x, x), torch.complex(x, x)).real

    with pytest.raises(remat.ExportError, match=r"test_torch.py:\d+.*: linalg_solve_ex has no rule \(linear algebra\)"):
        remat.torch.train_step(Scaled((3, 3), solve), None, (torch.eye(3),), optimizer=remat.SGD(0.1))


def test_what_is_written_in_the_place_of_quantization():
    scale, zero, low, high = 0.3, 1, -4, 7

    def quantize(x):
        y = x.clamp((low - zero) * scale, (high - zero) * scale)
        return y + ((y / scale).round() * scale - y).detach()

    x = torch.linspace(-3, 3, 40)
    assert torch.allclose(quantize(x), torch.fake_quantize_per_tensor_affine(x, scale, zero, low, high))
    check_gradient((6,), quantize)


class Turned(nn.Module):
    """Complex numbers that come from outside: a buffer and a constant; and, if asked for, where there can be none."""

    def __init__(self, weight=False, result=False):
        super().__init__()
        self.layer, self.result = nn.Linear(8, 8), result
        self.register_buffer("turns", torch.polar(torch.ones(4), torch.arange(4.0)))
        self.others = torch.polar(torch.ones(4), torch.linspace(-1, 1, 4))
        self.weight = nn.Parameter(torch.ones(4, dtype=torch.cfloat)) if weight else 1

    def forward(self, x):
        pairs = torch.view_as_complex(self.layer(x).reshape(*x.shape[:-1], 4, 2))
        turned = pairs * self.turns + pairs.conj() * self.others * self.weight
        loss = torch.view_as_real(turned).square().sum(0).sin().mean()
        return (loss, turned) if self.result else loss


def test_complex_numbers_from_outside():
    model, x = make(Turned), torch.randn(3, 8)
    step = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(0.01))
    other = copy.deepcopy(model)
    losses = train(other, lambda loss, _: loss, [(x, None)] * 3, torch.optim.SGD(other.parameters(), 0.01))
    np.testing.assert_allclose([step(x) for _ in range(3)], losses, 2e-5)
    step.copy_to(model)
    assert_same_state(model.layer, other.layer)
    step.load_state_dict(step.state_dict() | model.state_dict())
    for model, x, what in ((Turned(weight=True), x, "the parameter weight has complex numbers"), (nn.Identity(), x.to(torch.cfloat), "the batch has"),
                           (Turned(result=True), x, r"test_torch.py:\d+: a result is complex")):
        with pytest.raises(remat.ExportError, match=what):
            remat.torch.train_step(model, None if isinstance(model, Turned) else lambda y, x: y.real.sum(),
                                   (x,) if isinstance(model, Turned) else (x, x), optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("options, what", [
    (dict(hop_length=9), r"test_torch.py:\d+.*expected 0 < hop_length <= win_length"),
    (dict(hop_length=2, return_complex=True, onesided=False), r"test_torch.py:\d+.* make a real signal of each of the two parts")])
def test_signals_without_a_rule(options, what):
    class Back(nn.Linear):
        def forward(self, x):
            parts = torch.stft(super().forward(x), 8, 2, window=torch.ones(8), onesided=options.get("onesided"), return_complex=True)
            return torch.istft(parts, 8, window=torch.ones(8), **options).real
    with pytest.raises(remat.ExportError, match=what):
        remat.torch.train_step(Back(40, 40), lambda y, t: (y - t).sum(), (torch.zeros(1, 40), torch.zeros(1)), optimizer=remat.SGD(0.1))


def test_complex_numbers_without_a_rule():
    with pytest.raises(remat.ExportError, match=r"test_torch.py:\d+: aten.pow.Tensor_Scalar has no rule for the complex number 2j; make it a tensor"):
        remat.torch.train_step(nn.Linear(3, 3), lambda y, x: (y**2j).abs().sum(), (torch.randn(2, 3), torch.randn(2, 3)), optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("make_table", [
    lambda: nn.Embedding(7, 4, scale_grad_by_freq=True, padding_idx=2), lambda: nn.EmbeddingBag(7, 4),
    lambda: nn.EmbeddingBag(7, 4, mode="max"), lambda: nn.EmbeddingBag(7, 4, mode="sum", padding_idx=2)])
def test_tables(make_table):
    table, places = make(make_table), torch.tensor([[2, 1, 1], [0, 6, 2], [1, 1, 5]])
    bags = (places.flatten(), torch.tensor([0, 4, 4])) if isinstance(table, nn.EmbeddingBag) else None
    for batch in [(places,)] + [bags] * (bags is not None):
        other = copy.deepcopy(table)
        step = remat.torch.train_step(WithLoss(table), None, batch, optimizer=remat.SGD(0.1))
        losses = train(WithLoss(other), lambda loss, _: loss, [(*batch, None)] * 3, torch.optim.SGD(other.parameters(), 0.1))
        np.testing.assert_allclose([step(*batch) for _ in range(3)], losses, 2e-5)


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return (self.model(*inputs) ** 2).sum()


def test_a_causal_mask_of_a_transformer():
    class Masked(nn.Transformer):
        def forward(self, x):
            return super().forward(x, x[:, :3], tgt_mask=self.generate_square_subsequent_mask(3))
    model, x = make(lambda: WithLoss(Masked(8, 2, 1, 1, 16, 0.0, batch_first=True))), torch.randn(2, 5, 8)
    other = copy.deepcopy(model)
    step = remat.torch.train_step(model, None, (x,), optimizer=remat.SGD(0.001))
    losses = train(other, lambda loss, _: loss, [(x, None)] * 3, torch.optim.SGD(other.parameters(), 0.001))
    np.testing.assert_allclose([step(x) for _ in range(3)], losses, 2e-5)


class Experts(nn.Module):
    """Two matrices for each group of rows, one of them stored as `nn.Linear` does."""

    def __init__(self, groups, kind):
        super().__init__()
        self.up = nn.Parameter(0.3 * torch.randn(groups, 16, 32, dtype=kind))
        self.down = nn.Parameter(0.3 * torch.randn(groups, 8, 32, dtype=kind))

    def forward(self, x, ends):
        # PyTorch exports the product of bf16 only; a package that falls back to an operator of its own has that decomposed.
        product = F.grouped_mm if x.dtype == torch.bfloat16 or not torch.compiler.is_exporting() else by_rule
        h = torch.tanh(product(x, self.up, offs=ends))
        return (product(h, self.down.transpose(-2, -1), offs=ends).float() ** 2).sum() / 20


def by_rule(rows, matrices, offs):
    from remat.torch import grouped
    return grouped.grouped_mm(rows, matrices, offs)


@pytest.mark.parametrize("ends, kind", [
    ([7, 7, 24], torch.float32), ([0, 300, 517, 517, 600], torch.float32), ([1], torch.float32), ([33, 80], torch.bfloat16)])
def test_products_of_groups_of_rows(ends, kind):
    torch.manual_seed(0)
    model, x, ends = Experts(len(ends), kind), torch.randn(ends[-1], 16, dtype=kind), torch.tensor(ends, dtype=torch.int32)
    loss = model(x, ends)
    loss.backward()
    expected = {name: (p - 0.1 * p.grad).detach().float().numpy() for name, p in model.named_parameters()}
    step = remat.torch.train_step(model, None, (x, ends), optimizer=remat.SGD(0.1))
    tolerance = {"rtol": 2e-2, "atol": 1e-2} if kind == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(step(x, ends), loss.item(), **tolerance)
    step.copy_to(model)
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameter.detach().float().numpy(), expected[name], **tolerance, err_msg=name)


def test_constants_are_folded_to_what_they_are():
    def results():  # torch-mlir's folders get these wrong, or crash
        one, many, whole = torch.ones(2, 3), torch.full((4,), 2.5), torch.full((3,), 2, dtype=torch.int64)
        return {"equal": one == 1, "other": one != 1, "less": many < 2, "greater": many > -1, "most": one <= 0, "least": many >= 2,
                "whole": whole == 2.0, "half": whole > 1.5, "cut": many.trunc(), "cut below": (-many).trunc(),
                "rest": torch.full((2,), -1.5) % 2, "rest of whole": -whole % 3, "sign": many.sign(), "times": many * -1,
                "plus": many + -1, "minus": -2 - many, "scaled": torch.add(many, many, alpha=-2), "power": whole ** 2.0,
                "filled": many.masked_fill(many > 1, -3), "quotient": many / -2, "mask": (1 - one) * -10000}

    x = torch.ones(1, 1)
    step = remat.torch.train_step(nn.Linear(1, 1), lambda y, x: (y.sum(), results()), (x, x), optimizer=remat.SGD(0.1))
    _, found = step(x, x)
    for name, value in results().items():
        np.testing.assert_array_equal(found[name], value.numpy(), name)


# Sizes that are sorted in each of the ways: by comparisons, by a network, and the first ones one by one.
@pytest.mark.parametrize("size", [8, 200, 2500])
def test_sorts_have_nans_last(size):
    def results(x):
        values, places = x.topk(4)
        return {"sorted": x.sort()[0], "up": x.sort(stable=True)[1], "down": torch.sort(x, descending=True, stable=True)[1], "values": values,
                "places": places, "least": x.topk(3, largest=False)[0], "order": (3 * x.nan_to_num(0, 9, -9)).int().sort(stable=True)[1]}

    x = torch.tensor([3, math.nan, -0.0, 0, math.inf, -math.inf, 1, 2])
    x = torch.cat([x, 2 + torch.randperm(size - 8) % 500]) / 4
    x[100:110] = 300 - torch.arange(len(x[100:110]))  # of equal ones, topk of PyTorch takes any
    step = remat.torch.train_step(nn.Linear(1, 1), lambda y, x: (y.sum(), results(x)), (torch.ones(1, 1), x),
                                  optimizer=remat.SGD(0.1))
    _, found = step(torch.ones(1, 1), x)
    for name, value in results(x).items():
        np.testing.assert_array_equal(found[name], value.numpy(), name)


@pytest.mark.parametrize("returns, message", [
    (lambda loss, y: {"accuracy": loss}, "a dictionary with 'loss', but returned dict"),
    (lambda loss, y: loss.sum().shape, "but returned Size"), (lambda loss, y: 3.0, "but returned float"),
    (lambda loss, y: (loss, {"loss": y}), "two results are called loss"),
    (lambda loss, y: (loss, {"epoch": "3"}), "the result epoch must be a tensor, but it is str")])
def test_what_is_no_loss_is_said(returns, message):
    with pytest.raises(TypeError, match=message):
        remat.torch.train_step(nn.Linear(3, 2), lambda y, target: returns(F.mse_loss(y, target), y),
                               (torch.randn(4, 3), torch.randn(4, 2)), optimizer=remat.SGD(0.1))


class Stops(nn.Module):
    """Gradients that end, beside the operation that once stood for that."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.table = nn.Embedding(5, 3, padding_idx=1)

    def forward(self, x, token):
        h = x @ self.weight
        with torch.no_grad():
            mean = torch.erf(h).mean(0)
        scale = torch.tensor(2.0)  # detached by the export itself
        return ((scale * torch.erf(h - mean) + h.t().detach().t() * F.gelu(h) + h.detach() + self.table(token)) ** 2).mean()


def test_gradients_end_where_the_model_says_so(monkeypatch):
    from remat import export
    from remat.torch import lowering, operators
    model, batch = make(Stops), (torch.randn(4, 3), torch.tensor([0, 1, 1, 3]))
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(1.0))
    model(*batch).backward()
    step(*batch)
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(step.parameters[name], (parameter - parameter.grad).detach(), 1e-4, 1e-5)
    inputs = dict(zip(("x", "token"), batch))
    text = export.from_torch(model, inputs, dynamic={"x": {0: "n"}, "token": {0: "n"}}, check=False).text
    assert text.count('"remat.stop_gradient"') == 4 and "stop_gradient_" not in text

    # A lowering that loses them is an error.
    add_stops = operators.add_stops

    def add_stops_that_may_be_inlined(module):
        add_stops(module)
        for function in operators.find(module, "func.func"):
            if "no_inline" in function.attributes:
                del function.attributes["no_inline"]
    monkeypatch.setattr(operators, "add_stops", add_stops_that_may_be_inlined)
    monkeypatch.setattr(lowering, "PIPELINES", ("inline", *lowering.PIPELINES))
    with pytest.raises(export.ExportError, match="torch-mlir has lost where it calls stop_gradient_0"):
        export.from_torch(model, inputs, check=False)


def test_the_mode_is_what_is_compiled():
    model, data = make().eval(), batches(2)
    before = model.norm.running_mean.clone()
    with pytest.warns(UserWarning, match=r"in the mode of evaluation: .* in norm \(BatchNorm2d, running statistics\)"):
        step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=remat.SGD(0.0))
    np.testing.assert_allclose(step(*data[0]), F.cross_entropy(model(*data[0][:-1]), data[0][-1]).item(), 1e-5)
    np.testing.assert_array_equal(step.state_dict()["norm.running_mean"], before.numpy())
    model.train()
    model.norm.eval()  # as when a backbone's statistics are frozen
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=remat.SGD(0.0))
    step(*data[0])
    np.testing.assert_array_equal(step.state_dict()["norm.running_mean"], before.numpy())
    assert model.training and not model.norm.training


def said_of_modes(model):
    from remat.torch import modes
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        modes.warn_of_evaluation(model)
    return [str(warning.message) for warning in said]


def test_evaluation_where_training_is_meant_is_said():
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.1)
            self.head = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.LSTM(8, 8, 2, dropout=0.5), nn.Dropout(0.0))

    model = Wrapper()
    assert said_of_modes(model) == []
    model.encoder.eval()  # as a library returns it
    text, = said_of_modes(model)
    assert "in encoder.self_attn (MultiheadAttention, p=0.1), encoder.dropout (Dropout, p=0.1), encoder.dropout1 (Dropout, p=0.1), " \
        "encoder.dropout2 (Dropout, p=0.1); call model.train() first" in text
    model.eval()
    text, = said_of_modes(model)
    assert "encoder.dropout2 (Dropout, p=0.1), head.1 (BatchNorm1d, running statistics) and 1 more; call" in text
    model.encoder.requires_grad_(False)
    model.head.train()[1].eval()
    model.training = True
    assert said_of_modes(model) == []  # frozen, and statistics that are to stay


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.5)) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
        return x


@pytest.mark.parametrize("policy", [remat.checkpoints(), remat.layers(every=2),
                                    remat.scopes("layers.1", "layers.3")])
def test_policies_change_no_bit(policy):
    model, data = make(Checkpointed), [(torch.randn(6, 8), torch.randn(6, 8)) for _ in range(3)]
    steps = [remat.torch.train_step(model, F.mse_loss, data[0], optimizer=remat.AdamW(0.01), policy=p)
             for p in (None, policy)]
    for batch in data:
        losses = [step(*batch) for step in steps]
        assert losses[0] == losses[1]
    first, second = (step.state_dict() for step in steps)
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
    assert steps[0].memory.recomputed_ops == 0 < steps[1].memory.recomputed_ops


class Attends(nn.Module):
    """Attention in PyTorch leaves its result in an order of memory in which this view is allowed."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = (h.view(2, 5, 2, 4).transpose(1, 2) for h in self.project(x).split(8, dim=-1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).view(10, 8)


def test_views_of_attention():
    model, data = make(Attends), [(torch.randn(2, 5, 8), torch.randn(10, 8)) for _ in range(3)]
    theirs = copy.deepcopy(model)
    step = remat.torch.train_step(model, F.mse_loss, data[0], optimizer=remat.SGD(0.1))
    losses = [step(*batch) for batch in data]
    np.testing.assert_allclose(losses, train(theirs, F.mse_loss, data, torch.optim.SGD(theirs.parameters(), 0.1)), 2e-5)


def test_bfloat16_comes_back():
    model = make(ReturnsTheLoss).bfloat16()
    batch = {"x": torch.randn(4, 3).bfloat16(), "target": torch.randn(4, 2).bfloat16()}
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1))
    step(batch)
    before = model.weight.detach().clone()
    step.copy_to(model)
    assert model.weight.dtype == torch.bfloat16 and not torch.equal(before, model.weight)
    assert model.weight.detach().view(torch.int16).numpy().tobytes() == step.parameters["weight"].tobytes()


class Regularized(nn.Module):
    """Dropout, running statistics and a dropout that users write with `self.training`."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        h = self.drop(F.relu(self.norm(self.first(x))))
        return self.last(F.dropout(h, 0.3, self.training))


def test_evaluation_is_that_of_the_mode_for_it():
    model, loss_fn = make(Regularized), nn.CrossEntropyLoss()
    model.drop.eval()
    data = [(torch.randn(6, 8), torch.randint(0, 3, (6,))) for _ in range(4)]
    held_out = torch.randn(9, 8), torch.randint(0, 3, (9,))
    optimizer = remat.AdamW(0.01)
    step = remat.torch.train_step(model, loss_fn, data[0], optimizer=optimizer, evaluate=held_out)
    plain = remat.torch.train_step(model, loss_fn, data[0], optimizer=optimizer)
    assert model.training and model.norm.training and not model.drop.training and loss_fn.training
    for batch in data:
        before = {name: array.copy() for name, array in step.state_dict().items()}
        found = step.eval(*held_out)
        assert all(np.array_equal(array, before[name]) for name, array in step.state_dict().items())
        theirs = copy.deepcopy(model)
        step.copy_to(theirs)
        np.testing.assert_allclose(found, loss_fn(theirs.eval()(held_out[0]), held_out[1]).item(), 1e-5)
        assert step(*batch) == plain(*batch)


def test_evaluation_of_tied_tensors_and_of_what_is_not_trained():
    model, data = make(), batches(2)
    model.conv.weight.requires_grad_(False)
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=remat.SGD(0.05), evaluate=True)
    step(*data[0])
    step.copy_to(model)
    *inputs, target = data[1]
    np.testing.assert_allclose(step.eval(*data[1]), F.cross_entropy(model.eval()(*inputs), target).item(), 1e-5)


def test_evaluation_by_name():
    model, batch = make(ReturnsTheLoss), {"x": torch.randn(4, 3), "target": torch.randn(4, 2)}
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1), evaluate=True)
    loss, rest = step.eval(**batch)
    expected, output = model(**batch)
    np.testing.assert_allclose(loss, expected.item(), 1e-6)
    np.testing.assert_allclose(list(rest.values())[0], output.detach().numpy(), 1e-5, 1e-6)
    with pytest.raises(TypeError, match="must be named x, target, but got x"):
        step.eval(x=batch["x"])
    with pytest.raises(TypeError, match="pass evaluate=True to remat.torch.train_step"):
        remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1)).eval(**batch)
    with pytest.raises(TypeError, match="must be named x, target, but got x"):
        remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1), evaluate={"x": batch["x"]})


def line_of(text):
    """`test_torch.py:12`, of the first line of this file that has `text`."""
    before, _, _ = Path(__file__).read_text().partition(text)
    return f"{Path(__file__).name}:{before.count(chr(10)) + 1}"


def next_number(x):
    return torch.nextafter(x, x + 1)


def narrowed(x):
    x = x.to(torch.float8_e4m3fn)
    return x.float()


class Narrows(nn.Module):
    def forward(self, x):
        return narrowed(x)


class Lines(nn.Module):
    """Two layers that a loop makes, and one that `act` computes."""

    def __init__(self, act=torch.tanh):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.act = act

    def forward(self, x):
        for layer in self.layers:
            x = torch.exp(layer(x))
        with torch.no_grad():
            mean = x.mean()
        return self.layers[0](self.act(x - mean))  # the last line


def test_lines_of_the_model():
    data = torch.randn(4, 8), torch.randn(4, 8)
    step = remat.torch.train_step(make(Lines), F.mse_loss, data, optimizer=remat.SGD(0.1))
    assert re.search(rf"save .* {line_of('torch.exp(layer')} \(layers.0\)", step.explain())
    assert f"{line_of('mean = x')} (root)" in {buffer.line for buffer in step.memory.buffers}
    with pytest.raises(remat.export.ExportError, match=rf"{line_of('return torch.nextafter')} \(root\): torch-mlir has "
                       "no lowering of torch.aten.nextafter"):
        remat.torch.train_step(make(lambda: Lines(next_number)), F.mse_loss, data, optimizer=remat.SGD(0.1))
    with pytest.raises(remat.CompileError) as caught:
        remat.torch.train_step(make(lambda: nn.Sequential(nn.Linear(8, 8), Narrows())), lambda x, _: x.sum(), data,
                               optimizer=remat.SGD(0.1))
    error = caught.value.diagnostics[0]
    assert error.notes[-1].message == "in 1"
    assert (error.file, f"test_torch.py:{error.line}") == (__file__, line_of("x = x.to("))
    assert "    x = x.to(torch.float8_e4m3fn)\n    ^" in str(caught.value)


def test_operations_without_a_lowering_are_named():
    with pytest.raises(remat.ExportError, match=r"test_torch.py:\d+.*: torch-mlir has no lowering of torch.aten.view.dtype"):
        remat.torch.train_step(Scaled((3,), lambda x: torch.copysign(x, torch.tensor(-1.0))), None, (torch.ones(3),),
                               optimizer=remat.SGD(0.1))


SCHEDULERS = {
    "cosine": (lambda p: torch.optim.AdamW(p, 0.05), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 5)),
    "lambda": (lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda k: 1 / (k + 1))),
    "sequence": (lambda p: torch.optim.NAdam(p, 0.05), lambda o: torch.optim.lr_scheduler.SequentialLR(
        o, [torch.optim.lr_scheduler.LinearLR(o, 0.1, 1.0, 2), torch.optim.lr_scheduler.ExponentialLR(o, 0.8)], [2])),
    "step": (lambda p: torch.optim.Adafactor(p, 0.05), lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.5)),
}


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("kind", SCHEDULERS)
def test_schedulers_of_pytorch(kind, is_late):
    make_optimizer, make_scheduler = SCHEDULERS[kind]
    model, data = make(), batches(6)
    theirs = copy.deepcopy(model)
    optimizer = make_optimizer(model.parameters())
    scheduler = None if is_late else make_scheduler(optimizer)
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=optimizer)
    scheduler = scheduler or make_scheduler(optimizer)
    their_optimizer = make_optimizer(theirs.parameters())
    their_scheduler = make_scheduler(their_optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the scheduler has come first
        for batch in data:
            loss = step(*batch)
            scheduler.step()
            assert loss == pytest.approx(train(theirs, F.cross_entropy, [batch], their_optimizer)[0], rel=2e-5)
            their_scheduler.step()


def test_what_a_scheduler_may_not_change():
    model, data = make(), batches(2)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    step = remat.torch.train_step(model, F.cross_entropy, data[0], optimizer=optimizer)
    step(*data[0])
    optimizer.param_groups[0]["weight_decay"] = 0.1
    with pytest.raises(ValueError, match="weight_decay of the optimizer was 0.01 when the step was compiled, and is 0.1 now"):
        step(*data[1])


def test_reciprocals_of_zero():
    class Reciprocals(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return sum((torch.exp(-y) * self.weight).sum() for y in (torch.reciprocal(x), 1 / x, x**-1, 2 / x.int()))

    model, x = Reciprocals(), torch.tensor([0.0, 1.0, 2.0])
    step = remat.torch.train_step(model, None, x, optimizer=remat.SGD(0.1))
    assert step(x) == pytest.approx(model(x).item())


class Cumulative(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv1d(2, 3, 1), nn.BatchNorm1d(3, momentum=None), nn.Flatten(), nn.Linear(12, 4))

    def forward(self, x, target):
        return F.cross_entropy(super().forward(x), target)


class Clusters(nn.AdaptiveLogSoftmaxWithLoss):
    def __init__(self):
        super().__init__(8, 4, [1, 3], head_bias=True)

    def forward(self, x, target):
        output, loss = super().forward(x.flatten(1), target)
        return loss + super().forward(x[0].flatten(), target[0]).output.sin() + output.mean()


@pytest.mark.parametrize("kind", [Cumulative, Clusters])
def test_modules_that_look_at_elements(kind):
    model, batches = make(kind), [(torch.randn(4, 2, 4), torch.randint(0, 4, (4,))) for _ in range(3)]
    theirs = copy.deepcopy(model)
    step = remat.torch.train_step(model, None, batches[0], optimizer=remat.SGD(0.05))
    losses = [step(*batch) for batch in batches]
    np.testing.assert_allclose(losses, train(theirs, lambda loss, _: loss, [(*batch, None) for batch in batches],
                                             torch.optim.SGD(theirs.parameters(), 0.05)), 2e-5)
    step.copy_to(model)
    assert_same_state(model, theirs)
    if kind is Clusters:
        with pytest.raises(remat.StepError, match="another index is 1 or more, of a dimension that has 1"):
            step(batches[0][0], torch.tensor([0, 1, 4, 2]))


def test_what_is_wrong_is_said():
    model, data = make(), batches(1)[0]
    compile = remat.torch.train_step
    with pytest.raises(TypeError, match="must be a torch.nn.Module, but got function"):
        compile(F.relu, F.cross_entropy, data, optimizer=remat.SGD(0.1))
    with pytest.raises(TypeError, match="must be of tensors, but 1 is int"):
        compile(model, F.cross_entropy, (data[0], 3, data[2]), optimizer=remat.SGD(0.1))
    with pytest.raises(TypeError, match="must be a floating-point scalar, but it is f32"):
        compile(model, lambda output, _: output, data, optimizer=remat.SGD(0.1))
    with pytest.raises(TypeError, match="LBFGS.* has no counterpart here: it does not update each parameter by its own gradient"):
        compile(model, F.cross_entropy, data, optimizer=torch.optim.LBFGS(model.parameters()))
    with pytest.raises(TypeError, match="SGD.*maximize=True.* its state 'momentum_buffer' is not there from the start"):
        compile(model, F.cross_entropy, data, optimizer=torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, maximize=True))

    hooked = torch.optim.SGD(model.parameters(), 0.1)
    hooked.register_step_post_hook(lambda *_: None)
    with pytest.raises(ValueError, match="the optimizer has hooks on its step"):
        compile(model, F.cross_entropy, data, optimizer=hooked)

    class Own(torch.optim.SGD):
        pass

    with pytest.raises(TypeError, match="Own is no optimizer of torch.optim; beside those there are remat.SGD"):
        compile(model, F.cross_entropy, data, optimizer=Own(model.parameters(), 0.1))
    with pytest.raises(ValueError, match=r"a parameter of shape \[2\] that is neither the model's nor"):
        compile(model, F.cross_entropy, data, optimizer=torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1))
    used = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    train(copy.deepcopy(model), F.cross_entropy, [], used)
    F.cross_entropy(model(*data[:-1]), data[-1]).backward()
    used.step()
    with pytest.raises(ValueError, match="has made steps already"):
        compile(model, F.cross_entropy, data, optimizer=used)

    class Data(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.weight * (x if x.sum() > 0 else -x)
    with pytest.raises(remat.export.ExportError, match=r"PyTorch cannot export the model: .*test_torch.py:\d+: "):
        compile(Data(), F.mse_loss, (torch.ones(3), torch.ones(3)), optimizer=remat.SGD(0.1))
    step = compile(model, F.cross_entropy, data, optimizer=remat.SGD(0.1))
    with pytest.raises(ValueError, match=r"argument 0 \('batch.0'\) must be of float32\[4, 3, 5, 5\]"):
        step(data[0][:2], *data[1:])
    with pytest.raises(KeyError, match="the model has no conv.weight"):
        step.copy_to(nn.Linear(2, 2))


def test_a_tensor_of_a_batch_may_be_empty():
    model, (x, boxes) = nn.Linear(4, 3), (torch.randn(2, 4), torch.zeros(0, 3))
    step = remat.torch.train_step(model, lambda y, t: torch.cat([y, t * y[0]]).pow(2).sum(), (x, boxes), optimizer=remat.SGD(0.1))
    np.testing.assert_allclose(step(x, boxes), model(x).pow(2).sum().item(), 1e-5)


def test_a_batch_by_name_may_be_any_mapping():
    from collections import UserDict  # as tokenizers return
    model, batch = make(ReturnsTheLoss), UserDict(x=torch.randn(4, 3), target=torch.randn(4, 2))
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.0))
    assert step(batch)[0] == step(**batch)[0]


class Applies(nn.Module):
    """`function` of itself and a batch; it has a weight and a buffer, as its only submodule does."""

    def __init__(self, function, depth=1):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.register_buffer("mean", torch.ones(3))
        self.inner = Applies(function, depth - 1) if depth else None
        self.function = function

    def forward(self, x):
        return self.function(self, self.inner(x) if self.inner is not None else x)


def assign(m, x):
    h = x @ m.weight
    m.mean = 0.9 * m.mean + 0.1 * h.detach().mean(0)
    return h - m.mean


def write_data(m, x):
    h = x @ m.weight
    m.mean.data.mul_(0.9).add_(0.1 * h.data.mean(0))
    return h - m.mean


def write_detached(m, x):
    h = x @ m.weight
    m.mean.detach().lerp_(h.detach().mean(0), 0.1)
    scale = h.detach()
    scale.abs_().add_(1)
    return (x @ m.weight - m.mean) / scale


def write_batch(m, x):
    x.mul_(2)
    return x @ m.weight


def write_out(m, x):
    h = x @ m.weight
    with torch.no_grad():
        F.normalize(m.mean + h.mean(0), dim=0, out=m.mean)
        torch.mul(m.mean, 0.5, out=m.mean)
    return h - m.mean


def assign_data(m, x):
    h = x @ m.weight
    m.mean.data = 0.9 * m.mean.data + 0.1 * h.mean(0)
    return h - m.mean


def write_where(m, x):
    h = (x @ m.weight).clone()
    h[h < 0] = h[h < 0].sort()[0]  # as many as it chooses
    return h


def take_number(m, x):
    h = x @ m.weight
    return h * h.mean().item() + h / (1 + h.square().sum().item()) + m.mean.sum().item()


def mean_of_some(m, x):
    h = x @ m.weight
    return torch.masked_select(h, h > 0).sort()[0].mean()


def write_masked(m, x):
    h = (x @ m.weight).clone()
    h[h > 1] = 0.5
    h[h.sum(1) > 0] = torch.arange(3.0)
    h[:, torch.tensor([True, False, True])] = h[:, 1:2]
    h[None, h < -1] = m.mean[:1]
    m.mean[m.mean > 0] = 0.25
    return h - m.mean


@pytest.mark.parametrize("function", [assign, assign_data, take_number, write_data, write_detached, write_batch, write_masked, write_out])
def test_what_forward_writes(function):
    model, data = make(lambda: Applies(function)), [(torch.randn(4, 3), torch.randn(4, 3)) for _ in range(3)]
    theirs = copy.deepcopy(model)
    step = remat.torch.train_step(model, F.mse_loss, data[0], optimizer=remat.SGD(0.05))
    losses = [step(*batch) for batch in data]
    expected = train(theirs, F.mse_loss, [(x.clone(), y) for x, y in data], torch.optim.SGD(theirs.parameters(), 0.05))
    np.testing.assert_allclose(losses, expected, 2e-5)
    assert_same_state(model, make(lambda: Applies(function)), 0)
    step.copy_to(model)
    assert_same_state(model, theirs)


def write_parameter(m, x):
    with torch.no_grad():
        m.weight.clamp_(-1, 1)
    return x @ m.weight


def assign_parameter(m, x):
    m.weight.data = m.weight.data.clamp(-1, 1)
    return x @ m.weight


def assign_other_data(m, x):
    m.mean.data = x.mean(1)
    return x @ m.weight


def read_what_was_detached(m, x):
    h = x @ m.weight
    h.detach().mul_(2)
    return h


def hook(m, x):
    h = x @ m.weight
    h.register_hook(lambda gradient: 2 * gradient)
    return h


def assign_other(m, x):
    m.mean = x.mean()
    return x @ m.weight


@pytest.mark.parametrize("norm", [nn.utils.parametrizations.spectral_norm, nn.utils.spectral_norm, nn.utils.parametrizations.weight_norm])
def test_normalized_weights(norm):
    """The buffers of a spectral norm are written without gradients, as `out=` of what they are computed from."""
    model = make(lambda: nn.Sequential(norm(nn.Linear(3, 8)), nn.Tanh(), nn.Linear(8, 3)))
    theirs, data = copy.deepcopy(model), [(torch.randn(4, 3), torch.randn(4, 3)) for _ in range(4)]
    step = remat.torch.train_step(model, F.mse_loss, data[0], optimizer=remat.SGD(0.05))
    losses = [step(*batch) for batch in data]
    np.testing.assert_allclose(losses, train(theirs, F.mse_loss, data, torch.optim.SGD(theirs.parameters(), 0.05)), 2e-5)
    step.copy_to(model)
    assert_same_state(model, theirs)


@pytest.mark.parametrize("make_model, message", [
    (lambda: Applies(write_parameter), r"test_torch.py:\d+: forward writes to the parameter (inner\.)?weight, which only the optimizer"),
    (lambda: Applies(assign_parameter), r"test_torch.py:\d+: forward writes to the parameter (inner\.)?weight, which only the optimizer"),
    (lambda: Applies(assign_other_data), r"forward assigns data of shape \[4\] and type torch.float32 to a tensor of shape \[3\]"),
    (lambda: nn.Sequential(nn.Embedding(5, 3, max_norm=1.0)), "forward writes to the parameter 0.weight"),
    (lambda: Applies(read_what_was_detached), r"test_torch.py:\d+: the model writes to a tensor through its detach\(\) or data, and reads"),
    (lambda: Applies(write_where), r"test_torch.py:\d+: how many elements index.Tensor returns depends on data"),
    (lambda: Applies(mean_of_some, 0), r"test_torch.py:\d+: how many elements masked_select.default returns depends on data"),
    (lambda: Applies(hook), r"test_torch.py:\d+: a hook on the gradient of a tensor is no part of what is exported"),
    (lambda: Applies(assign_other, 0), r"forward assigns to the buffer model.mean what is not of its shape \[3\]")])
def test_what_forward_must_not_write(make_model, message):
    x = torch.tensor([1, 2, 3, 4]) if "0.weight" in message else torch.randn(4, 3)
    with pytest.raises(remat.export.ExportError, match=message):
        remat.torch.train_step(make(make_model), F.mse_loss, (x, torch.randn(4, 3)), optimizer=remat.SGD(0.1))
    h = torch.ones(3, requires_grad=True)
    h.register_hook(lambda gradient: 2 * gradient)  # outside, hooks are what they were
    h.sum().backward()
    assert (h.grad == 2).all() and h.data.data_ptr() == h.data_ptr() and not h.data.requires_grad


def share_memory(model):
    model.inner.weight = nn.Parameter(model.weight.data)


def share_a_part(model):
    model.register_buffer("part", model.weight.data[1:, ::2])


def take_turns(model):
    both = torch.randn(3, 6)
    model.weight, model.inner.weight = nn.Parameter(both[:, ::2]), nn.Parameter(both[:, 1::2])


def expand(model):
    model.weight = nn.Parameter(torch.randn(3).expand(3, 3))


@pytest.mark.parametrize("change, message", [
    (expand, "the parameter weight has elements in the same memory"),
    (share_memory, "weight and inner.weight are in the same memory, but are not one tensor"),
    (share_a_part, "weight and part are in the same memory"), (take_turns, None),
    (lambda model: model.weight.register_hook(lambda gradient: 2 * gradient), "the parameter weight has a hook on its gradient"),
    (lambda model: model.inner.register_full_backward_hook(lambda *_: None), "the module inner has a hook on gradients"),
    (lambda model: model.register_full_backward_pre_hook(lambda *_: None), "the module itself has a hook on gradients")])
def test_parameters_that_would_be_trained_otherwise(change, message):
    model, batch = make(lambda: Applies(lambda m, x: x @ m.weight)), (torch.randn(4, 3), torch.randn(4, 3))
    change(model)
    if message is None:
        assert remat.torch.train_step(model, F.mse_loss, batch, optimizer=remat.SGD(0.1))(*batch) > 0
        return
    with pytest.raises(remat.export.ExportError, match=message):
        remat.torch.train_step(model, F.mse_loss, batch, optimizer=remat.SGD(0.1))
