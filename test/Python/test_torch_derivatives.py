# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives that a PyTorch module takes in its forward: losses and updates are PyTorch's."""
import copy

import numpy as np
import pytest

import remat

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

grad, vmap = torch.func.grad, torch.func.vmap


class Model(nn.Module):
    def __init__(self, loss, net):
        super().__init__()
        self.loss, self.net = loss, net

    def forward(self, *batch):
        return self.loss(self.net, *batch)


def equation(net, points):
    """Burgers' equation."""
    x, t = points[:, :1].clone().requires_grad_(True), points[:, 1:].clone().requires_grad_(True)
    u = net(torch.cat([x, t], 1))
    by_x, by_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    twice, = torch.autograd.grad(by_x, x, torch.ones_like(by_x), create_graph=True)
    return (by_t + u * by_x - 0.1 * twice).pow(2).mean()


def equation_by_functions(net, points):
    def at(point):
        return net(point)[0]
    value, slope, curve = vmap(at)(points), vmap(grad(at))(points), vmap(torch.func.hessian(at))(points)
    return (value * slope[:, 0] - slope[:, 1] + 0.1 * curve[:, 0, 0]).pow(2).mean()


def penalty(net, x):
    """Of a critic, in the input."""
    x = x.requires_grad_()
    slope, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def two_steps(net, x, y):
    """Meta-learning: the loss after two updates."""
    parameters = dict(net.named_parameters())
    for _ in range(2):
        loss = F.mse_loss(torch.func.functional_call(net, parameters, (x,)), y)
        slopes = torch.autograd.grad(loss, list(parameters.values()), create_graph=True)
        parameters = {name: p - 0.1 * slope for (name, p), slope in zip(parameters.items(), slopes)}
    return F.mse_loss(torch.func.functional_call(net, parameters, (x,)), y)


def forces(net, places):
    places = places.detach().requires_grad_()
    rows, columns = torch.triu_indices(len(places), len(places), 1)
    distance = (places[rows] - places[columns]).pow(2).sum(-1).sqrt()
    energy = net(torch.stack([distance, distance ** -2], 1)).sum()
    return energy ** 2 + torch.autograd.grad(-energy, places, create_graph=True)[0].pow(2).sum()


def without_graph(net, x):
    """The derivative is a constant, as are those within no_grad."""
    for _ in range(2):
        x = x.detach().requires_grad_()
        x = x - 0.1 * torch.autograd.grad(net(x).sum(), x)[0]
    x = x.detach().requires_grad_()
    with torch.no_grad():
        scale = net(x)
    slope, = torch.autograd.grad((net(x) * scale * x.detach()).sum(), x, create_graph=True)
    return net(x).sum() + slope.pow(2).sum()


def written(net, x):
    """In place, between the two."""
    x = x.requires_grad_()
    y, rows = net(x), torch.zeros(len(x), 3)
    rows[:, 1] = y[:, 0]
    rows[:, 0] += 2 * x[:, 0] * y[:, 0]
    rows.mul_(2)
    return torch.autograd.grad(rows.tanh().sum(), x, create_graph=True)[0].pow(2).sum()


def other_functions(net, x):
    def values(x):
        return net(x).sum(0) * x[0, 0]
    result, pull = torch.func.vjp(values, x)
    rows = torch.func.jacrev(values)(x) + torch.func.jacfwd(values)(x)
    both, (value, last) = torch.func.grad_and_value(lambda x: (values(x).sum(), x[0]), has_aux=True)(x)
    tangent = torch.func.jvp(values, (x,), (x.detach(),))[1]
    return pull(result)[0].sin().sum() + rows.pow(2).sum() + both.pow(2).sum() * value + last.sum() + tangent.sum()


def of_examples(net, x, y):
    """Gradients of the parameters for each example."""
    parameters = dict(net.named_parameters())
    slopes = vmap(grad(lambda p, x, y: F.mse_loss(torch.func.functional_call(net, p, (x,)), y)), in_dims=(None, 0, 0))(parameters, x, y)
    return sum((slope.flatten(1).norm(dim=1) - 1).pow(2).mean() for slope in slopes.values())


def unused(net, x):
    x, other = x.requires_grad_(), net(x)
    first, second = torch.autograd.grad(x.sin().sum(), (x, other), allow_unused=True, create_graph=True)
    zero, = torch.autograd.grad(first.sum(), other, allow_unused=True, materialize_grads=True)
    assert second is None
    return other.sum() + zero.sum()


def dense():
    return nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Dropout(0.0), nn.Linear(5, 1))


def normalized():
    """PyTorch 2.13 has the second derivative of nn.LayerNorm, but not the third."""
    return nn.Sequential(nn.Linear(2, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 1))


def convolutional():
    return nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1), nn.GroupNorm(1, 3), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 1))


class Recurrent(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0]


LOSSES = {
    "equation": (equation, dense, [(6, 2)]), "equation by functions": (equation_by_functions, dense, [(6, 2)]),
    "penalty": (penalty, dense, [(6, 2)]), "penalty of what is normalized": (penalty, normalized, [(6, 2)]),
    "penalty of images": (penalty, convolutional, [(2, 2, 8, 8)]),
    "penalty of sequences": (penalty, lambda: Recurrent(3, 4), [(4, 2, 3)]),
    "two steps": (two_steps, dense, [(6, 2), (6, 1)]), "forces": (forces, dense, [(4, 3)]), "without graph": (without_graph, dense, [(6, 2)]),
    "written": (written, dense, [(6, 2)]), "other functions": (other_functions, dense, [(3, 2)]),
    "of examples": (of_examples, dense, [(3, 2), (3, 1)]),
    "unused": (unused, dense, [(3, 2)]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_trains_as_pytorch_does(name):
    torch.manual_seed(0)
    loss, net, shapes = LOSSES[name]
    model, batch = Model(loss, net()), [torch.randn(shape) for shape in shapes]
    theirs = copy.deepcopy(model)
    step = remat.torch.train_step(model, None, tuple(batch), optimizer=remat.SGD(0.01))
    optimizer, expected = torch.optim.SGD(theirs.parameters(), 0.01), []
    found = [step(*batch) for _ in range(3)]
    for _ in range(3):
        value = theirs(*(x.clone() for x in batch))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        expected.append(value.item())
    np.testing.assert_allclose(found, expected, 1e-4, 1e-6)
    for parameter, value in theirs.state_dict().items():
        np.testing.assert_allclose(step.parameters[parameter], value.numpy(), 1e-3, 1e-5)


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient * ctx.saved_tensors[0]


def call_backward(net, x):
    x = x.clone().requires_grad_()
    net(x).sum().backward()
    return x.grad.sum()


REFUSED = {
    "random numbers that are drawn between them": lambda net, x: penalty(lambda x: net(F.dropout(x, 0.5)), x),
    r"random numbers that are drawn between them \(dropout\)": lambda net, x: penalty(lambda x: net(torch.native_dropout(x, 0.5, True)[0]), x),
    "torch.autograd.Function, whose backward it cannot follow": lambda net, x: penalty(lambda x: Squared.apply(net(x)), x),
    "a write to a tensor that it does not make itself": lambda net, x: penalty(lambda y: net(x.mul_(y)), x[:, :1]),
    "is not used in what it is taken of": lambda net, x: torch.autograd.grad(net(x).sum(), x.clone().requires_grad_())[0].sum(),
    "calls backward; take gradients by torch.autograd.grad": call_backward,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(remat.ExportError, match=rf"test_torch_derivatives.py:\d+: .*{message}"):
        remat.torch.train_step(Model(REFUSED[message], dense()), None, (torch.randn(3, 2),), optimizer=remat.SGD(0.1))
