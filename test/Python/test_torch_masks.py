# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask selects, of which data decides how many there are, beside PyTorch."""
import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import remat
import remat.torch
from remat.export import ExportError

N, D = 12, 6


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.linear, self.head = nn.Embedding(20, D), nn.Linear(D, D), nn.Linear(D, 5)
        self.function = function

    def forward(self, x, t, m):
        return self.function(self, torch.tanh(self.linear(x)), t, m) + 0 * self.embed.weight.sum() + 0 * self.head(x).sum()


def batch():
    return torch.randn(N, D), torch.randint(0, 5, (N,)), torch.rand(N) > 0.4


def compare(function, make_batch=batch, **options):
    compare_model(Model(function), make_batch, **options)


def compare_model(model, make_batch, **options):
    theirs = copy.deepcopy(model)
    optimizer = torch.optim.SGD(theirs.parameters(), 0.1)
    step = remat.torch.train_step(model, None, make_batch(), optimizer=remat.SGD(0.1), **options)
    for _ in range(3):
        data = make_batch()
        loss = theirs(*data)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        np.testing.assert_allclose(step(*data), loss.item(), 2e-6, 2e-6)
    step.copy_to(model)
    for (name, a), (_, b) in zip(model.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-5, 1e-5, err_msg=name)


def logarithm(s, h, t, m):
    """Elements that do not count are 0, whose logarithm would make each gradient NaN."""
    p = torch.relu(h)
    return torch.log(p[p > 0.1]).mean() + torch.sqrt(p[p > 0.1]).sum()


def by_shape(s, h, t, m):
    q = h[m]
    return q.pow(2).sum() / q.shape[0] + q.abs().sum() / q.numel()


def write(s, h, t, m):
    y = h * 2
    y[m] = torch.sin(h[m])
    y[m] *= 3
    return y.pow(2).mean()


def write_mean(s, h, t, m):
    y = h.clone()
    y[m] = y[m] - y[m].mean(0)
    return y.pow(2).mean() + h.mean()


def in_place(s, h, t, m):
    y = h[m]
    y.mul_(2)
    y += 1
    return y.pow(2).mean()


def mask_of_what_was_written(s, h, t, m):
    y = h * 1
    y[m] = -2 * y[m]
    return y[y > 0].mean() + y.sum()


def written_through_a_view(s, h, t, m):
    """Two masks, although both are `y > 0`."""
    y = h.clone()
    before = y[y > 0].sum()
    y[:3].mul_(-1)
    return before + 2 * y[y > 0].pow(2).sum()


def written_mask(s, h, t, m):
    k = m.clone()
    before = h[k].mean()
    k[:3] = False
    return before + h[k].pow(2).mean()


def old_huggingface(s, h, t, m):
    active = m.long().view(-1) == 1
    return F.cross_entropy(s.head(h).view(-1, 5)[active], t.view(-1)[active])


def detector(s, h, t, m):
    positive = t > 1
    return F.smooth_l1_loss(h[positive][:, :4], torch.ones_like(h)[positive][:, 1:5], reduction="sum") / positive.sum().clamp(min=1)


def switched(s, h, t, m):
    """Each row goes to one expert, whose result is added to a sum in place."""
    weights, choice = torch.softmax(s.head(h), -1).max(-1)
    total = torch.zeros_like(h)
    for expert in range(5):
        rows, = torch.where(choice == expert)
        total.index_add_(0, rows, torch.sin(s.linear(h[rows]) + expert) * weights[rows, None])
    return total.pow(2).mean()


def mixtral(s, h, t, m):
    """The two best experts of each row, expert by expert: numbers of rows and of places."""
    weights, chosen = torch.topk(torch.softmax(s.head(h), -1), 2)
    total = torch.zeros_like(h)
    for expert, mask in enumerate(F.one_hot(chosen, 5).permute(2, 1, 0)):
        place, row = torch.where(mask)
        total.index_add_(0, row, torch.sin(s.linear(h[None, row].reshape(-1, D)) + expert) * weights[row, place, None])
    return total.pow(2).mean()


def deepseek(s, h, t, m):
    weights, chosen = torch.topk(torch.sigmoid(s.head(h)), 2)
    total = torch.zeros_like(h)
    for expert in range(5):
        row, place = torch.where(chosen == expert)
        total[row] += torch.sin(s.linear(h[row]) + expert) * weights[row, place, None]
    return total.pow(2).mean()


def positions(s, h, t, m):
    rows = m.nonzero().squeeze(-1)
    out = h.clone()
    out[rows] = s.linear(h[rows])
    return (out.index_select(0, rows) * s.embed((rows + 1) % 20)).mean() + out.pow(2).sum() / rows.shape[0]


def positions_of_elements(s, h, t, m):
    row, column = torch.where(h > 0)
    both = (h < 0.1).nonzero()
    out = h.clone()
    out[row, column] = torch.sqrt(h[row, column])
    out = out.index_put((both[:, 0], both[:, 1]), h[both[:, 0], both[:, 1]].pow(2), accumulate=True)
    return torch.zeros(D).index_add(0, column, out[row, column], alpha=-0.5).pow(2).sum()


def scaled_in_place(s, h, t, m):
    """Views of the same memory are written to as well."""
    h = h * 1
    first = h[:, 0]
    h[:, 1] = h[:, 2] * 2
    h[..., -1].mul_(3)
    h[m] *= 0.5
    h[torch.where(t > 2)[0]] += 1
    return h.pow(2).mean() + first.sum()


def changed_positions(s, h, t, m):
    rows, = torch.where(m)
    rows.sub_(1).clamp_(min=0)
    return h[rows].mean()


LOSSES = {
    "mean of losses": lambda s, h, t, m: F.cross_entropy(s.head(h), t, reduction="none")[m].mean(),
    "cross entropy": lambda s, h, t, m: F.cross_entropy(s.head(h)[m], t[m]),
    "head of some": lambda s, h, t, m: F.cross_entropy(s.head(F.layer_norm(F.gelu(h[m]), (D,))), t[m]),
    "smoothed": lambda s, h, t, m: F.cross_entropy(s.head(h)[m], t[m], label_smoothing=0.1),
    "weighted": lambda s, h, t, m: F.cross_entropy(s.head(h)[m], t[m], weight=torch.arange(1.0, 6.0)),
    "nll": lambda s, h, t, m: F.nll_loss(F.log_softmax(s.head(h)[m], -1), t[m], reduction="sum"),
    "gathered": lambda s, h, t, m: -F.log_softmax(s.head(h)[m], -1).gather(1, t[m].unsqueeze(1)).mean(),
    "embedded": lambda s, h, t, m: F.mse_loss(s.embed(t[m]), h[m]),
    "mse": lambda s, h, t, m: F.mse_loss(h[m], 0.3 * h[m]),
    "huber, sum": lambda s, h, t, m: F.huber_loss(h[m], torch.zeros_like(h)[m], reduction="sum"),
    "logits": lambda s, h, t, m: F.binary_cross_entropy_with_logits(h[m], torch.sigmoid(2 * h)[m].detach()),
    "kl": lambda s, h, t, m: F.kl_div(F.log_softmax(h[m], -1), torch.softmax(h / 2, -1)[m], reduction="batchmean"),
    "by hand": lambda s, h, t, m: (h[m] - 1).pow(2).sum() / m.sum(),
    "masked_select": lambda s, h, t, m: torch.masked_select(h, m.unsqueeze(-1)).abs().mean(),
    "elements": lambda s, h, t, m: h[h > 0].pow(2).mean(),
    "mean of rows": lambda s, h, t, m: h[m].mean(0).pow(2).sum() + h[m].sum(0, keepdim=True).pow(2).sum() + h[m].mean(1).sum(),
    "variance": lambda s, h, t, m: h[m].std() + h[m].var(0, unbiased=False).sum() + h[m].var(1).sum(),
    "largest": lambda s, h, t, m: h[m].max() + h[m].amax(1).sum() - h[m].min(),
    "accuracy": lambda s, h, t, m: (s.head(h)[m].argmax(-1) == t[m]).float().mean() + h[m].mean(),
    "two masks": lambda s, h, t, m: h[m].mean() + h[t > 1].mean() + (h[m] * h[m]).sum(),
    "equal masks": lambda s, h, t, m: F.cross_entropy(s.head(h)[t > 1], (t[t > 1] > 2).long()) * torch.tensor([2.0]).sum(),
    "off the diagonal": lambda s, h, t, m: (h @ h.T)[~torch.eye(len(h), dtype=torch.bool)].view(len(h), len(h) - 1).logsumexp(1).mean(),
    "as many as there are": lambda s, h, t, m: (h[torch.arange(len(h)) < 3] * torch.ones(3, D)).sum() + h[torch.where(torch.eye(2))].reshape(2).sum(),
    "where": lambda s, h, t, m: torch.where(h[m] > 0, h[m], 0.1).mean(),
    "logarithm": logarithm, "by shape": by_shape, "write": write, "write mean": write_mean, "in place": in_place,
    "mask of what was written": mask_of_what_was_written, "written through a view": written_through_a_view,
    "old_huggingface": old_huggingface, "detector": detector,
    "switched": switched, "mixtral": mixtral, "deepseek": deepseek, "positions": positions, "positions of elements": positions_of_elements,
    "scaled in place": scaled_in_place,
}


@pytest.mark.parametrize("name", LOSSES)
def test_as_pytorch(name):
    torch.manual_seed(1)
    compare(LOSSES[name])


def test_batches_of_any_size():
    torch.manual_seed(1)

    def tokens():
        x, t, m = torch.randn(4, 7, D), torch.randint(0, 5, (4, 7)), torch.rand(4, 7) > 0.4
        return x, t, m
    compare(LOSSES["cross entropy"], tokens)
    compare(LOSSES["cross entropy"], tokens, dynamic=True)


def test_shapes_that_say_how_many_are_selected():
    x, t, m = batch()
    m = torch.arange(len(m)) < 2
    step = remat.torch.train_step(Model(lambda s, h, t, m: h[m].reshape(2 * D).pow(2).sum()), None, (x, t, m), optimizer=remat.SGD(0.1))
    step(x, t, m)
    for other in (m & False, torch.arange(len(m)) < 3):
        with pytest.raises(remat.StepError, match="the index of dimension 0 is not in"):
            step(x, t, other)


def test_no_row_is_selected():
    model = Model(lambda s, h, t, m: h[m].sum() + h.mean())
    x, t, m = batch()
    step = remat.torch.train_step(model, None, (x, t, m), optimizer=remat.SGD(0.1))
    assert step(x, t, m & False) == pytest.approx(model(x, t, m & False).item(), abs=1e-6)
    mean = remat.torch.train_step(Model(LOSSES["by hand"]), None, (x, t, m), optimizer=remat.SGD(0.1))
    assert np.isnan(mean(x, t, m & False))  # as in PyTorch


@pytest.mark.parametrize("function, operation", [
    (lambda s, h, t, m: h[m].sort(0)[0].mean(), "sort.default"),
    (lambda s, h, t, m: (h[m] @ h[m].t()).mean(), "t.default"),
    (lambda s, h, t, m: torch.softmax(h[m], 0).pow(2).sum(), "softmax.int"),
    (lambda s, h, t, m: torch.cat([h[m], h]).mean(), "cat.default"),
    (lambda s, h, t, m: h.gather(1, t[m].unsqueeze(1)).sum(), "gather.default"),  # of the first rows
    (lambda s, h, t, m: h[m][h[m][:, 0] > 0].sum(), "index.Tensor"),
    (written_mask, "index.Tensor"),
    (changed_positions, "where.default"),
    (lambda s, h, t, m: h[:, torch.where(m[:D])[0]].sum(), "index.Tensor"),
    (lambda s, h, t, m: h.index_copy(0, torch.where(m)[0], h[m]).sum(), "index_copy.default"),
    (lambda s, h, t, m: h[:, m[:D]].sum(), "index.Tensor")])
def test_what_there_is_no_rule_for(function, operation):
    with pytest.raises(ExportError, match=rf"test_torch_masks.py:\d+: how many elements .*{operation}"):
        remat.torch.train_step(Model(function), None, batch(), optimizer=remat.SGD(0.1))


class Recurrent(nn.Module):
    """Sequences of several lengths, through all of PyTorch's recurrent modules."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 4), nn.Linear(4, 7)
        self.lstm, self.gru = nn.LSTM(4, 5, 2, bidirectional=True, proj_size=2), nn.GRU(4, 3, bias=False, bidirectional=True)
        self.rnn, self.relu = nn.RNN(6, 3), nn.RNN(6, 3, nonlinearity="relu")

    def forward(self, tokens, lengths, targets):
        rnn = nn.utils.rnn
        packed = rnn.pack_padded_sequence(self.table(tokens), lengths, enforce_sorted=False)
        output, (hidden, cell) = self.lstm(packed)
        loss = F.cross_entropy(self.head(output.data), rnn.pack_padded_sequence(targets, lengths, enforce_sorted=False).data)
        output, state = self.gru(output, torch.ones(2, 3, 3))
        last = self.rnn(output)[1] + self.relu(output)[1]
        padded, counts = rnn.pad_packed_sequence(output, batch_first=True, padding_value=-1.0, total_length=8)
        constant, _ = rnn.pad_packed_sequence(self.rnn(rnn.pack_sequence([padded[0], padded[1, :2]]))[0])
        ends = cell.sum() + state.sum() + last.sum() + padded.pow(2).mean() + (padded.sum((1, 2)) / counts).sum()
        return loss + (hidden.sin().sum() + ends.sin() + constant.sum()) / 10


def test_packed_sequences():
    torch.manual_seed(0)
    compare_model(Recurrent(), lambda: (torch.randint(0, 7, (6, 3)), torch.tensor([2, 5, 4]), torch.randint(0, 7, (6, 3))))


def test_packed_sequences_that_are_shorter():
    class Model(nn.GRU):
        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
            return nn.utils.rnn.pad_packed_sequence(super().forward(packed)[0])[0].mean()

    x = torch.randn(4, 2, 3)
    step = remat.torch.train_step(Model(3, 2), None, (x, torch.tensor([4, 1])), optimizer=remat.SGD(0.1))
    step(x, torch.tensor([4, 3]))
    with pytest.raises(remat.StepError, match="the index of dimension 1 is not in"):
        step(x, torch.tensor([3, 1]))
