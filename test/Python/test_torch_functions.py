# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch whose backward is written by hand: gradients are those that PyTorch has with it."""
import copy
import warnings

import numpy as np
import pytest

import remat
from conftest import as_bits

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
from torch import nn  # noqa: E402
from torch.autograd.function import once_differentiable  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Rounded(torch.autograd.Function):
    """A straight-through estimator."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x * 4) / 4

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Clipped(torch.autograd.Function):
    """The identity."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-0.01, 0.01)


class Gelu(torch.autograd.Function):
    """With a residual that is an intermediate, and 1.5 times the gradient."""

    @staticmethod
    def forward(ctx, x):
        t = torch.tanh(0.8 * (x + 0.04 * x**3))
        ctx.save_for_backward(x, t)
        return 0.5 * x * (1 + t)

    @staticmethod
    def backward(ctx, gradient):
        x, t = ctx.saved_tensors
        return 1.5 * gradient * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.8 * (1 + 0.12 * x * x))


class TwoResults(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a.sum(0)

    @staticmethod
    def backward(ctx, gradient, of_sum):
        a, b = ctx.saved_tensors
        return 2 * gradient * b + of_sum, 3 * gradient * a


class Scaled(torch.autograd.Function):
    """With a gradient that is None, arguments that are no tensors, and a result that is saved."""

    @staticmethod
    def forward(ctx, x, w, power, name):
        y = x * w**power
        ctx.power = power
        ctx.save_for_backward(w, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        w, y = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, True, False, False)
        return gradient * w * ctx.power + y, None, None, None


class SwiGLU(torch.autograd.Function):
    """Saves its operands, and recomputes the rest."""

    @staticmethod
    def forward(ctx, x, gate, up, down):
        ctx.save_for_backward(x, gate, up, down)
        return (F.silu(x @ gate) * (x @ up)) @ down

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, gate, up, down = ctx.saved_tensors
        g, u = x @ gate, x @ up
        s = torch.sigmoid(g)
        h = gradient @ down.T
        du, dg = h * g * s, h * u * (s + g * s * (1 - s))
        return dg @ gate.T + du @ up.T, x.T @ dg, x.T @ du, (g * s * u).T @ gradient


class RunsAgain(torch.autograd.Function):
    """A checkpoint by hand, of twice the gradient."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.tanh(x @ w)

    @staticmethod
    def backward(ctx, gradient):
        x, w = (tensor.detach().requires_grad_() for tensor in ctx.saved_tensors)
        with torch.enable_grad():
            y = torch.tanh(x @ w)
        return torch.autograd.grad(y, (x, w), 2 * gradient)


class Best(torch.autograd.Function):
    """In two parts, with a result that has no gradient and one that is no tensor."""

    @staticmethod
    def forward(x, factor):
        return torch.sin(x), torch.argmax(x, -1), x.max(-1)[0], 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.mark_non_differentiable(*output[1:3])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, None)

    @staticmethod
    def backward(ctx, gradient, of_place, of_best, _):
        assert of_place is None and of_best is None
        return gradient * ctx.saved_tensors[0].cos() * ctx.factor, None


class CrossEntropy(torch.autograd.Function):
    """The loss of a head, whose logits its backward recomputes."""

    @staticmethod
    def forward(ctx, h, w, labels):
        logits = h @ w
        total = torch.logsumexp(logits, -1)
        ctx.save_for_backward(h, w, labels, total)
        return (total - logits.gather(1, labels[:, None])[:, 0]).mean()

    @staticmethod
    def backward(ctx, gradient):
        h, w, labels, total = ctx.saved_tensors
        p = torch.exp(h @ w - total[:, None])
        p[torch.arange(len(labels)), labels] -= 1
        p *= gradient / len(labels)
        return p @ w.T, h.T @ p, None


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Rounded.apply(x) + 1

    @staticmethod
    def backward(ctx, gradient):
        return Gelu.apply(gradient) * 3


class Net(nn.Module):
    """`compute` of the module and its input."""

    def __init__(self, compute):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = (nn.Parameter(torch.randn(8, 8) / 2) for _ in range(3))
        self.v = nn.Parameter(torch.rand(8))
        self.compute = compute

    def forward(self, x):
        return self.compute(self, x)


def combine_two(m, x):
    first, second = TwoResults.apply(x @ m.a, x @ m.b)
    return first + second


def combine_best(m, x):
    first, place, best, three = Best.apply(x @ m.a, 0.3)
    return (first + best[:, None]) * (place[:, None] + three)


def without_gradients(m, x):
    with torch.no_grad():
        fixed = Gelu.apply(x @ m.a)
    return fixed + Rounded.apply(x @ m.b)


def in_layers(m, x):
    for w in (m.a, m.b, m.c):
        x = x + 0.3 * Gelu.apply(x @ w)
    return x


COMPUTATIONS = {
    "straight through": lambda m, x: Rounded.apply(x @ m.a), "clipped": lambda m, x: Clipped.apply(x @ m.a),
    "gelu": lambda m, x: Gelu.apply(x @ m.a), "two results": combine_two, "none": lambda m, x: Scaled.apply(x @ m.a, m.v, 2, "x"),
    "layers": in_layers, "swiglu": lambda m, x: SwiGLU.apply(x, m.a, m.b, m.c), "runs again": lambda m, x: RunsAgain.apply(x, m.a),
    "two parts": combine_best, "indices": lambda m, x: x * CrossEntropy.apply(x @ m.a, m.b, torch.tensor([1, 7, 3, 3])),
    "nested": lambda m, x: Nested.apply(x @ m.a), "no_grad": without_gradients}


def batch():
    torch.manual_seed(1)
    return torch.randn(4, 8), torch.randn(4, 8)


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_gradients_are_those_of_backward(name):
    model, data = Net(COMPUTATIONS[name]), batch()
    theirs = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        step = remat.torch.train_step(model, F.mse_loss, data, optimizer=remat.SGD(1.0))
    loss = F.mse_loss(theirs(data[0]), data[1])
    loss.backward()
    assert step(*data) == pytest.approx(loss.item(), rel=1e-5)
    step.copy_to(model)
    for (name, ours), other in zip(model.named_parameters(), theirs.parameters()):
        expected = other if other.grad is None else other - other.grad
        np.testing.assert_allclose(ours.detach(), expected.detach(), 1e-4, 1e-5, err_msg=name)


def test_layers_share_a_function():
    exported = remat.export.from_torch(Net(lambda m, x: in_layers(m, x).sum()), {"x": batch()[0]}, check=False)
    assert exported.text.count("call @custom_0(") == 3 and "@custom_1" not in exported.text
    exported = remat.export.from_torch(Net(lambda m, x: (Scaled.apply(x, m.v, 2, "x") + Scaled.apply(x, m.v, 3, "x")).sum()),
                                       {"x": batch()[0]}, check=False)
    assert "call @custom_0(" in exported.text and "call @custom_1(" in exported.text


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.last(Gelu.apply(self.first(x)))


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
        return x


def test_policies_change_no_bit():
    data, states = batch(), []
    for policy in (None, remat.layers(), remat.scopes("layers.*") | remat.dots_saveable, remat.checkpoints(), remat.whole()):
        step = remat.torch.train_step(Blocks(), F.mse_loss, data, optimizer=remat.SGD(0.1), policy=policy)
        losses = [step(*data) for _ in range(2)]
        assert (step.memory.recomputed_ops > 0) == (policy is not None)
        states.append((losses, {name: as_bits(array) for name, array in step.state_dict().items()}))
    for losses, state in states[1:]:
        assert losses == states[0][0] and all(np.array_equal(bits, states[0][1][name]) for name, bits in state.items())


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rows):
        ctx.save_for_backward(rows)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        rows, = ctx.saved_tensors
        return gradient[rows], None  # of the batch


class TakesRows(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 8))

    def forward(self, x, rows):
        return Rows.apply(self.weight * x, rows)


def test_indices_of_a_backward_are_checked():
    x, y = batch()
    step = remat.torch.train_step(TakesRows(), F.mse_loss, (x, torch.arange(4), y), optimizer=remat.SGD(0.1))
    step(x, torch.tensor([3, 1, 1, 0]), y)
    with pytest.raises(remat.StepError, match=r"test_torch_functions.py:\d+:9: the index of dimension 0 is not in 0\.\.3"):
        step(x, torch.tensor([3, 1, 4, 0]), y)


def make(forward, backward=lambda ctx, gradient: gradient):
    """A function, applied to a product."""
    kind = type("Made", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    return Net(lambda m, x: kind.apply(x @ m.a))


def saves_and_writes(ctx, x):
    y = x * 2
    ctx.save_for_backward(y)
    return y.add_(1) * y


def marks(ctx, x):
    ctx.mark_dirty(x)
    return x


@pytest.mark.parametrize("model, message", [
    (make(saves_and_writes), "the forward of Made writes to a tensor that it has saved for backward; save a copy of it"),
    (make(lambda ctx, x: x.add_(1) * 2), "the forward of Made writes to its arguments; return new tensors instead"),
    (make(marks), r"Made writes to its arguments \(mark_dirty\); return new tensors instead"),
    (make(lambda ctx, x: x * 2, lambda ctx, gradient: (gradient,) * 2),
     "must return 1 gradients, one for each argument of forward, but returned 2"),
    (make(lambda ctx, x: x * 2, lambda ctx, gradient: gradient[:3]),
     r"a gradient of shape \[3, 8\] for an argument of shape \[4, 8\]")])
def test_what_pytorch_refuses_or_changes_in_place_is_an_error(model, message):
    with pytest.raises(remat.export.ExportError, match=rf"test_torch_functions.py:\d+: .*{message}"):
        remat.torch.train_step(model, F.mse_loss, batch(), optimizer=remat.SGD(0.1))


def under_autocast(m, x):
    with torch.autocast("cpu", torch.bfloat16):
        return Gelu.apply(x @ m.a).float()


class OfList(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values[0] * 2

    @staticmethod
    def backward(ctx, gradient):
        return None


@pytest.mark.parametrize("model, message", [
    (make(lambda ctx, x: x * torch.rand_like(x)), "Made .*its forward draws random numbers; pass them as an argument"),
    (make(lambda ctx, x: torch.native_dropout(x, 0.5, True)[0]), "Made .*its forward draws random numbers; pass them as an argument"),
    (make(lambda ctx, x: x * CONSTANT), "Made .*must be functions of tensors that are their arguments"),
    (make(lambda ctx, x: x * 2, lambda ctx, gradient: torch.from_numpy(gradient.numpy())), "Made .*that can run without contents"),
    (Net(lambda m, x: OfList.apply([x @ m.a])), "OfList .*pass each one as an argument"),
    (Net(under_autocast), "Gelu .*it is applied under torch.autocast")])
def test_what_cannot_be_kept_is_warned_of(model, message):
    with pytest.warns(UserWarning, match=rf"test_torch_functions.py:\d+: the backward of {message}"):
        remat.torch.train_step(model, F.mse_loss, batch(), optimizer=remat.SGD(0.1))


@torch.library.custom_op("remat_test::rounded", mutates_args=())
def rounded(x: torch.Tensor) -> torch.Tensor:
    return torch.round(x * 4) / 4


rounded.register_fake(torch.empty_like)
rounded.register_autograd(lambda ctx, gradient: gradient, setup_context=lambda ctx, inputs, output: None)


def test_an_operator_of_a_library_is_an_error_alone():
    """Its derivative is registered, so that PyTorch applies a function of its own, of which nothing is said."""
    with warnings.catch_warnings(record=True) as caught, pytest.raises(remat.ExportError, match="no lowering of .*rounded"):
        remat.torch.train_step(Net(lambda m, x: rounded(x @ m.a)), F.mse_loss, batch(), optimizer=remat.SGD(0.1))
    assert not [str(warning.message) for warning in caught if "is not kept" in str(warning.message)]


CONSTANT = torch.arange(8.0)
