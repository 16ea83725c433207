# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and losses in the forms that their authors have them in: checks of data, losses that come last, momentum encoders."""
import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
import remat  # noqa: E402
import remat.torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)

    def forward(self, x, labels):
        if labels is not None and labels.max() >= 6:
            raise ValueError(f"labels must be below {6}")
        if not torch.isfinite(x).all():
            message = "x must be finite"
            raise ValueError(message)
        if x.max() > 90 or (x < -90).any():
            raise OverflowError
        assert (labels != 5).all(), "5 is kept for later"
        if labels.min().item() < 0:
            raise IndexError("labels must not be negative")
        largest = x.max().item()
        if largest > 80:
            raise ValueError(f"x must be at most 80, but it is {largest}")
        if not -85 < x.min() < 85:
            raise ArithmeticError("x is too small")
        return F.cross_entropy(self.head(x), labels)


@pytest.fixture(scope="module")
def checked():
    torch.manual_seed(0)
    model = Checked()
    batch = torch.randn(4, 8), torch.tensor([0, 1, 2, 3])
    return model, batch, remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1), evaluate=True)


def test_should_train_a_model_that_checks_its_data(checked):
    model, batch, step = checked
    assert step.eval(*batch) == pytest.approx(model(*batch).item(), rel=1e-5)


@pytest.mark.parametrize("change, text", [
    (lambda x, labels: (x, labels + 3), r"test_torch_loops.py:\d+: ValueError\(f'labels must be below \{6\}'\)"),
    (lambda x, labels: (x * torch.nan, labels), r"test_torch_loops.py:\d+: ValueError\(message\)"),
    (lambda x, labels: (x * 0 + 91, labels), r"test_torch_loops.py:\d+: OverflowError"),
    (lambda x, labels: (x * 0 - 91, labels), r"test_torch_loops.py:\d+: OverflowError"),
    (lambda x, labels: (x, labels - 1), r"test_torch_loops.py:\d+: IndexError\('labels must not be negative'\)"),
    (lambda x, labels: (x * 0 + 81, labels), r"test_torch_loops.py:\d+: ValueError\(f'x must be at most 80, but it is \{largest\}'\)"),
    (lambda x, labels: (x * 0 - 86, labels), r"test_torch_loops.py:\d+: ArithmeticError\('x is too small'\)"),
    (lambda x, labels: (x, labels + 2), r"test_torch_loops.py:\d+: '5 is kept for later'")])
def test_should_raise_what_forward_raises(checked, change, text):
    _, batch, step = checked
    before = {name: value.copy() for name, value in step.state_dict().items()}
    with pytest.raises(remat.StepError, match=text):
        step(*change(*batch))
    assert all(np.array_equal(before[name], value) for name, value in step.state_dict().items())
    assert np.isfinite(step.eval(*batch))


class Decides(nn.Linear):
    def forward(self, x):
        if x.sum() > 0 and self.bias is None:
            raise ValueError
        if x.sum() > 0:
            return super().forward(x).sum()
        return x.sum()


class Branches(nn.Linear):
    """Uses a number for more than a check, and a condition that its first part does not decide."""

    def forward(self, x):
        largest = x.max().item()
        if self.bias is None:
            if 0 < x.max() < 9:
                raise ValueError
        elif largest > 3:
            return x.sum() + self.bias.sum()
        return super().forward(x).sum()


@pytest.mark.parametrize("bias", [True, False])
def test_should_refuse_conditions_that_do_more_or_less_than_raise(bias):
    with pytest.raises(remat.ExportError, match=r"test_torch_loops.py:\d+: forward decides by elements of a tensor"):
        remat.torch.train_step(Branches(3, 3, bias=bias), None, (torch.randn(2, 3),), optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("bias", [True, False])
def test_should_refuse_a_decision_that_does_more_than_raise(bias):
    with pytest.raises(remat.ExportError, match=r"test_torch_loops.py:\d+: forward decides by elements of a tensor"):
        remat.torch.train_step(Decides(3, 3, bias=bias), None, (torch.randn(2, 3),), optimizer=remat.SGD(0.1))


class LossLast(nn.Module):
    def __init__(self, *more):
        super().__init__()
        self.embedding, self.head, self.more = nn.Embedding(20, 8), nn.Linear(8, 20), more

    def forward(self, tokens, targets):
        logits = self.head(self.embedding(tokens))
        return (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()), *self.more)


def test_should_find_the_loss_after_the_logits():
    tokens = torch.arange(8).reshape(2, 4)
    model = LossLast()
    logits, loss = model(tokens, tokens)
    step = remat.torch.train_step(model, None, (tokens, tokens), optimizer=remat.SGD(0.1))
    got, results = step(tokens, tokens)
    assert got == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(results["output0"], logits.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_should_not_choose_between_two_losses():
    tokens = torch.zeros(2, 4, dtype=torch.long)
    with pytest.raises(TypeError, match=r"a tuple of float32\[2, 4, 20\], float32\[\], float32\[\]; several scalars are told apart"):
        remat.torch.train_step(LossLast(torch.tensor(1.0)), None, (tokens, tokens), optimizer=remat.SGD(0.1))


class Arc(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 32))

    def forward(self, z, y):
        return F.cross_entropy(10 * F.normalize(z) @ F.normalize(self.w).T, y)


def test_should_train_parameters_of_the_loss_with_torch_optim():
    torch.manual_seed(0)
    model, loss, batch = nn.Linear(16, 32), Arc(), (torch.randn(8, 16), torch.arange(8) % 3)
    step = remat.torch.train_step(model, loss, batch, optimizer=torch.optim.SGD(
        [{"params": model.parameters()}, {"params": loss.parameters(), "lr": 0.25}], 0.5))
    step(*batch)
    loss(model(batch[0]), batch[1]).backward()
    for name, tensor, rate in (("weight", model.weight, 0.5), ("loss_fn.w", loss.w, 0.25)):
        wanted = tensor.detach() - rate * tensor.grad
        np.testing.assert_allclose(step.state_dict()[name], wanted.numpy(), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="shape .*5.* neither the model's nor the loss_fn's"):
        remat.torch.train_step(model, loss, batch, optimizer=torch.optim.SGD([*model.parameters(), nn.Parameter(torch.zeros(5))], 0.5))


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(16, 8)
        self.key = copy.deepcopy(self.query).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        for key, query in zip(self.key.parameters(), self.query.parameters()):
            key.data = key.data * 0.9 + query.data * 0.1

    def forward(self, x, y):
        self.update()
        return F.cross_entropy(F.normalize(self.query(x)) @ F.normalize(self.key(y)).T / 0.1, torch.arange(len(x)))


def test_should_keep_frozen_parameters_that_forward_writes_as_states():
    torch.manual_seed(0)
    model, batch = MoCo(), (torch.randn(8, 16), torch.randn(8, 16))
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.5), policy=remat.whole())
    assert {a.name for a in step.arguments if a.role == "state"} == {"key.weight", "key.bias"}
    optimizer = torch.optim.SGD(model.query.parameters(), 0.5)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        assert step(*batch) == pytest.approx(loss.item(), rel=1e-4)
    for name, tensor in model.state_dict().items():
        np.testing.assert_allclose(step.state_dict()[name], tensor.numpy(), rtol=1e-4, atol=1e-6)


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.unused, self.used = nn.Linear(8, 8, bias=False), nn.Linear(8, 8)

    def forward(self, x):
        return self.used(x).pow(2).mean()


def test_should_warn_once_of_a_parameter_without_gradient():
    step = remat.torch.train_step(Unused(), None, (torch.randn(4, 8),), optimizer=remat.SGD(0.1))
    assert [str(warning).strip() for warning in step.warnings] == ["warning: parameter 'unused.weight' has no gradient: left alone"]


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 8), nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.embed(tokens))


def test_should_say_which_index_is_wrong():
    tokens, labels = torch.arange(5), torch.tensor([0, 1, 2, 0, -100])
    step = remat.torch.train_step(Tokens(), F.cross_entropy, (tokens, labels), optimizer=remat.SGD(0.1))
    for batch, text in (((tokens + 3, labels), r"test_torch_loops.py:\d+ \(embed\): a label, a token or another index is 7 or more, of a "
                                               "dimension that has 7"),
                        ((tokens - 1, labels), r"test_torch_loops.py:\d+ \(embed\): a label, a token or another index is negative"),
                        ((tokens, labels.clamp(0) + 1), "^a label, a token or another index is 3 or more, of a dimension that has 3")):
        with pytest.raises(remat.StepError, match=text):
            step(*batch)
    assert np.isfinite(step(tokens, labels))


def test_should_say_what_to_do_in_words_of_pytorch():
    batch = torch.randn(8, 16), torch.zeros(8, dtype=torch.long)

    def train(model, **arguments):
        return remat.torch.train_step(model, F.cross_entropy, batch, optimizer=remat.SGD(0.1), **arguments)

    with pytest.raises(ValueError, match=r"Linear has no parameter to train: none requires a gradient \(requires_grad_\(True\)\)"):
        train(nn.Linear(16, 3).requires_grad_(False))
    with pytest.raises(remat.CompileError, match=r"^error: nothing in @loss is under torch.utils.checkpoint or jax.checkpoint: apply"):
        train(nn.Linear(16, 3), policy=remat.checkpoints())
    step = train(nn.Linear(16, 3), accumulate=4)
    with pytest.raises(ValueError, match="with accumulate=4, a batch is 4 micro-batches, and the example"):
        step(*batch)


def test_should_compute_the_loss_of_concatenated_targets():
    class Recognizer(nn.Linear):
        def forward(self, x, labels):
            mask = labels >= 0
            scores = super().forward(x).log_softmax(-1).transpose(0, 1)
            return F.ctc_loss(scores, labels.masked_select(mask), torch.full((2,), 6), mask.sum(-1), reduction="sum")

    torch.manual_seed(0)
    model, batch = Recognizer(4, 5), (torch.randn(2, 6, 4), torch.tensor([[1, -100, 2], [3, 4, -100]]))
    step = remat.torch.train_step(model, None, batch, optimizer=remat.SGD(0.1))
    assert step(*batch) == pytest.approx(model(*batch).item(), rel=1e-4)
