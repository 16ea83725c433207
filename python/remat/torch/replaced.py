# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and modules of PyTorch that look at elements of their arguments, or are not traced as they are: the same without that."""
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import _VF
from torch._subclasses import FakeTensor
from torch.fx.experimental import proxy_tensor
from torch.nn import functional as F
from torch.nn.modules import adaptive, batchnorm, transformer

from remat.errors import ExportError
from remat.torch import decompositions, recurrent, refused, stops

CONVOLUTIONS = F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d


def gaussian_nll_loss(input: torch.Tensor, target: torch.Tensor, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> torch.Tensor:
    """PyTorch's, which looks whether a variance is negative."""
    var = var * torch.ones_like(input) if isinstance(var, float) else var
    if var.shape != input.shape and (var.shape == input.shape[:-1] or var.ndim == input.ndim - 1):
        var = var.unsqueeze(-1)
    var = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def covariance(input: torch.Tensor, *, correction: int = 1, fweights: torch.Tensor | None = None,
               aweights: torch.Tensor | None = None) -> torch.Tensor:
    """PyTorch's, which looks whether there are as many degrees of freedom."""
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        centered = weighted = rows - rows.mean(1, keepdim=True)
        freedom: Any = max(rows.shape[1] - correction, 0)
    else:
        total = weights.sum()
        centered = rows - (rows * weights).sum(1, keepdim=True) / total
        weighted = centered * weights
        freedom = (total - correction * (1 if aweights is None else (weights * aweights).sum() / total)).clamp(min=0)
    return torch.true_divide(weighted @ centered.mT.conj(), freedom).squeeze()


def correlation(input: torch.Tensor) -> torch.Tensor:
    values = covariance(input)
    if not values.ndim:
        return values / values
    deviations = values.diagonal().real.sqrt()
    values = values / deviations[:, None] / deviations
    return torch.complex(values.real.clamp(-1, 1), values.imag.clamp(-1, 1)) if values.is_complex() else values.clamp(-1, 1)


def fill_diagonal(x: torch.Tensor, fill_value: float, wrap: bool = False) -> torch.Tensor:
    """PyTorch's, which cannot be made functional on some views."""
    if x.ndim != 2 or wrap and x.shape[0] > x.shape[1] + 1:
        return x.fill_diagonal_(fill_value, wrap)
    x.diagonal().fill_(fill_value)
    return x


def largest(sign: int) -> Callable[..., Any]:
    """amax and amin, of which equals share the derivative: torch-mlir gives it to the first. One that keeps the dimension stays as it is: by
    it softmaxes are found in what is written with exp, where the derivative of the largest cancels."""
    plain = torch.amax if sign > 0 else torch.amin

    def compute(input: torch.Tensor, dim: Any = (), keepdim: bool = False, **options: Any) -> torch.Tensor:
        value = plain(input, dim, keepdim, **options)
        if keepdim or not (input.requires_grad and input.is_floating_point() and input.ndim) or options:
            return value
        dims = [d % input.ndim for d in ([dim] if isinstance(dim, int) else dim)] or list(range(input.ndim))
        return decompositions.share(input, value, dims, keepdim)
    return compute


def select(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """`masked_select`, whose result remembers of what it is."""
    result = torch.ops.aten.masked_select(values, mask)
    result._remat_selected = values, mask
    return result


def pad_selected(targets: torch.Tensor, count: int) -> torch.Tensor:
    """Returns targets that a mask has selected from rows, one row for each example, with what is selected at its beginning."""
    values, mask = getattr(targets, "_remat_selected", (targets, targets))
    if values.ndim != 2 or values.shape[0] != count or mask.shape != values.shape:
        raise ExportError("ctc_loss has no rule for the targets of all examples in one tensor of one dimension, unless they are "
                          "labels.masked_select(mask) of labels of shape (N, S); pass them as (N, S), padded")
    places = torch.where(mask, mask.to(torch.int64).cumsum(1) - 1, -1)
    return torch.where(places.unsqueeze(1) == torch.arange(values.shape[1]).unsqueeze(1), values.unsqueeze(1), 0).sum(2)


def ctc_loss(log_probs: torch.Tensor, targets: torch.Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> torch.Tensor:
    """By the sums over all paths that end at each of the labels, with blanks between them, one time after the other."""
    is_batched = log_probs.ndim == 3
    log_probs = log_probs if is_batched else log_probs.unsqueeze(1)
    times, count, _ = log_probs.shape
    lengths, ends = (torch.as_tensor(n).reshape(-1).to(torch.int64) for n in (input_lengths, target_lengths))
    if targets.ndim == 1 and is_batched:
        targets = pad_selected(targets, count)
    targets = targets.reshape(count, -1).to(torch.int64)
    holds = torch.arange(targets.shape[1]) < ends.unsqueeze(1)
    targets = torch.where(holds, targets, blank)
    labels = F.pad(torch.stack([torch.full_like(targets, blank), targets], 2).flatten(1), (0, 1), value=blank)
    skips = F.pad((labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2]), (2, 0), value=False)
    each = log_probs.gather(2, labels.expand(times, -1, -1))
    places = torch.arange(labels.shape[1])
    nothing = torch.full_like(each[0], -math.inf)
    sums = torch.where(places < 2, each[0], nothing)
    for time in range(1, times):
        one, two = (torch.cat([nothing[:, :n], sums], 1)[:, :labels.shape[1]] for n in (1, 2))
        both = torch.logaddexp(torch.logaddexp(sums, one), torch.where(skips, two, nothing))
        sums = torch.where((time < lengths).unsqueeze(1), both + each[time], sums)
    last, before = (sums.gather(1, (2 * ends - n).clamp(min=0).unsqueeze(1)).squeeze(1) for n in (0, 1))
    losses = -torch.where(ends > 0, torch.logaddexp(last, before), last)
    losses = torch.where(losses == math.inf, 0, losses) if zero_infinity else losses
    if reduction == "mean":
        return (losses / ends.clamp(min=1)).mean()
    return losses.sum() if reduction == "sum" else losses if is_batched else losses.squeeze(0)


def convolve(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of complex numbers, four convolutions of their parts."""
    @functools.wraps(function)
    def compute(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *options: Any, **named: Any) -> torch.Tensor:
        if not input.is_complex() and not weight.is_complex():
            return function(input, weight, bias, *options, **named)
        (x, y), (w, v) = ((t.real, t.imag) if t.is_complex() else (t, torch.zeros_like(t)) for t in (input, weight))
        result = torch.complex(function(x, w, None, *options, **named) - function(y, v, None, *options, **named),
                               function(x, v, None, *options, **named) + function(y, w, None, *options, **named))
        return result if bias is None else result + bias.reshape([-1] + [1] * (weight.ndim - 2))
    return compute


def both_extremes(input: torch.Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    dims: Any = () if dim is None else dim
    return torch.return_types.aminmax((largest(-1)(input, dims, keepdim), largest(1)(input, dims, keepdim)))


def combinations(input: torch.Tensor, r: int = 2, with_replacement: bool = False) -> torch.Tensor:
    """By constant places, where PyTorch has a mask."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(choose(range(input.shape[0]), r))
    return input[torch.tensor(places, dtype=torch.int64).reshape(-1, r)]


# --- Elements at places that are tensors of no dimension --------------------------------------------


def is_place(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and not index.ndim and index.dtype in (torch.int64, torch.int32, torch.int16, torch.int8)


def find_places(x: torch.Tensor, index: Any) -> tuple[list[tuple[int, torch.Tensor]], Any]:
    """Dimensions of `x` and places there, and the index with 0 for these."""
    items = list(index) if isinstance(index, tuple) else [index]
    taken = sum(0 if i is None or i is Ellipsis else i.ndim if isinstance(i, torch.Tensor) and i.dtype == torch.bool else 1 for i in items)
    found, dim = [], 0
    for number, item in enumerate(items):
        if is_place(item):
            found.append((dim, item))
            items[number] = 0
        dim += (x.ndim - taken if item is Ellipsis else 0 if item is None else
                item.ndim if isinstance(item, torch.Tensor) and item.dtype == torch.bool else 1)
    return found, tuple(items)


def rows_at(x: torch.Tensor, dim: int, place: torch.Tensor) -> torch.Tensor:
    return torch.where(place < 0, place + x.shape[dim], place).to(torch.int64).reshape(1)


def find_value(tensor: torch.Tensor) -> torch.Tensor | None:
    """The elements of a tensor that forward makes of constants alone."""
    mode = proxy_tensor.get_proxy_mode()
    if not isinstance(tensor, FakeTensor):
        return tensor
    tracer: Any = mode.tracer if mode is not None else None
    slot = proxy_tensor.get_proxy_slot(tensor, tracer, None) if tracer is not None else None
    if slot is None:
        return None
    needed, rest = set(), [slot.proxy.node]
    while rest:
        node = rest.pop()
        if node in needed:
            continue
        needed.add(node)
        rest += node.all_input_nodes
        tags = getattr(node.target, "tags", (torch.Tag.nondeterministic_seeded,))
        is_operation = node.op == "call_function" and node.target is not operator.getitem
        if node.op == "placeholder" or is_operation and torch.Tag.nondeterministic_seeded in tags:
            return None
    for node in tracer.graph.nodes:
        if node.op == "call_function" and node.target is not torch.ops.aten.detach_.default and any(
                alias.is_write and stops.find_root(value) in needed for value, alias in stops.find_aliases(node)):
            return None

    def run() -> Any:
        values: dict[torch.fx.Node, Any] = {}
        for node in tracer.graph.nodes:
            if node in needed:
                args, named = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
                values[node] = getattr(tracer.root, str(node.target)) if node.op == "get_attr" else node.target(*args, **named)
                if isinstance(values[node], FakeTensor):
                    return None
        return values[slot.proxy.node]

    with ThreadPoolExecutor(1) as executor:  # the modes that trace are those of a thread
        found: torch.Tensor | None = executor.submit(run).result()
    return found


def known_places(index: Any) -> Any:
    """An index whose constant masks are places."""
    def find(item: Any) -> tuple[Any, ...]:
        known = find_value(item) if isinstance(item, torch.Tensor) and item.dtype == torch.bool and item.ndim else None
        if known is None:
            return item,
        with ThreadPoolExecutor(1) as executor:
            places = executor.submit(lambda: known.nonzero().tolist()).result()
        if not places:
            return tuple(torch.zeros(0, dtype=torch.int64) for _ in range(item.ndim))
        return tuple(torch.tensor(column, dtype=torch.int64) for column in zip(*places))

    found = tuple(itertools.chain.from_iterable(map(find, index if isinstance(index, tuple) else (index,))))
    return found if isinstance(index, tuple) or len(found) > 1 else found[0]


def get_item(x: torch.Tensor, index: Any) -> Any:
    index = known_places(index)
    try:
        return torch.Tensor.__getitem__(x, index)
    except Exception as error:
        if not find_places(x, index)[0]:
            raise
        raise ExportError("forward reads a tensor at a place that is a tensor without dimensions, a view that the export cannot say; read a copy "
                          "of it by x.index_select(0, i.reshape(1)), or x[i.reshape(1)]") from error


def set_item(x: torch.Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, where PyTorch looks at elements of the index."""
    index = known_places(index)
    found, rest = find_places(x, index)
    if not found:
        torch.Tensor.__setitem__(x, index, value)
        return
    (dim, place), others = found[0], found[1:]
    rows = rows_at(x, dim, place)
    part = x.index_select(dim, rows)
    if others:
        items = list(index)
        items[next(n for n, item in enumerate(items) if item is place)] = 0
        set_item(part, tuple(items), value)
    else:
        part[rest] = value
    x.index_copy_(dim, rows, part)


# --- Sequences of several lengths ---------------------------------------------------------------------


class Length(int):
    """The length of the longest sequence, to which `pad_packed_sequence` pads by default."""


@dataclasses.dataclass
class Packed:
    """The padded form of packed sequences: a mask of the elements that belong to them, with time first, and their lengths."""

    mask: torch.Tensor
    lengths: torch.Tensor


def packed_of(batch_sizes: Any) -> Packed | None:
    return getattr(batch_sizes, "_remat_packed", None)


def pack(input: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the elements that `lengths` selects, and the sizes of the batch by time, which carry the mask as a `Packed`."""
    padded = input.transpose(0, 1) if batch_first else input
    mask = torch.arange(padded.shape[0]).unsqueeze(1) < lengths
    sizes = mask.sum(1)
    sizes._remat_packed = Packed(mask, lengths)
    return padded[mask], sizes


def unpack(packed: Packed, data: torch.Tensor, value: float = 0.0) -> torch.Tensor:
    padded = torch.full((*packed.mask.shape, *data.shape[1:]), value, dtype=data.dtype)
    padded[packed.mask] = data
    return padded


def pad_packed(data: torch.Tensor, batch_sizes: torch.Tensor, batch_first: bool, value: float, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    packed = packed_of(batch_sizes)
    if packed is None:
        raise ExportError("the sequences have not been packed by forward; pack them there (pack_padded_sequence)")
    padded, lengths = unpack(packed, data, value), packed.lengths
    if isinstance(length, Length):  # what PyTorch returns is as long as the longest; an index is out of range if that is shorter
        count = lengths.shape[0]
        padded = padded.index_select(1, torch.arange(count) + torch.where(lengths.max() == length, 0, count))
    padded = F.pad(padded, [0, 0] * (padded.ndim - 1) + [0, length - padded.shape[0]], value=value)
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def recur(function: Callable[..., Any], kind: int) -> Callable[..., Any]:
    """An LSTM, GRU or RNN: as PyTorch's operator, or of packed sequences, with the arguments that it has of them."""
    def compute(data: torch.Tensor, sizes: Any, *rest: Any) -> Any:
        if (packed := packed_of(sizes)) is not None:
            run = recurrent.by_steps(kind, packed.mask)
            outputs, *ends = recurrent.run_layers(run, unpack(packed, data), *rest)
            return outputs[packed.mask], *ends
        # PyTorch decomposes what has unknown sizes, or takes them for those of the example.
        is_known = all(isinstance(size, int) for size in data.shape)
        return function(data, sizes, *rest) if is_known else recurrent.layers_of(kind)(data, sizes, *rest)
    return compute


# --- Modules ------------------------------------------------------------------------------------------


def cumulative_norm(plain: Callable[..., Any]) -> Callable[..., torch.Tensor]:
    """Batch normalization with momentum=None: its statistics are the mean of those of all batches so far."""
    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        if not (self.training and self.momentum is None and self.track_running_stats and self.num_batches_tracked is not None):
            return plain(self, input)
        self._check_input_dim(input)
        self.num_batches_tracked.add_(1)
        mean, variance = self.running_mean.clone(), self.running_var.clone()
        result = F.batch_norm(input, mean, variance, self.weight, self.bias, True, 1.0, self.eps)
        with torch.no_grad():
            for running, value in ((self.running_mean, mean), (self.running_var, variance)):
                running.add_((value - running) / self.num_batches_tracked)
        return result
    return forward


def adaptive_log_softmax(self: Any, input_: torch.Tensor, target_: torch.Tensor) -> Any:
    """Every cluster is computed of all rows, where PyTorch takes those of its targets."""
    is_batched = target_.ndim > 0
    rows, target = (input_, target_) if is_batched else (input_.unsqueeze(0), target_.unsqueeze(0))
    head = F.log_softmax(self.head(rows), dim=1)
    output = head.gather(1, target.clamp(max=self.shortlist_size - 1).unsqueeze(1)).squeeze(1)
    bounds = list(self.cutoffs)
    for i, (low, high) in enumerate(zip(bounds, bounds[1:])):
        own = target - low  # a target behind the last cluster is an index out of range
        own = own.clamp(min=0) if high == bounds[-1] else own.clamp(0, high - low - 1)
        cluster = F.log_softmax(self.tail[i](rows), dim=1).gather(1, own.unsqueeze(1)).squeeze(1)
        output = torch.where((target >= low) & (target < high), head[:, self.shortlist_size + i] + cluster, output)
    loss = -output.mean()
    return adaptive._ASMoutput(output if is_batched else output.squeeze(0), loss)


def is_said_to_be_causal(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """`nn.Transformer` looks at the elements of a mask, only to know whether it may leave it out."""
    return is_causal is True


# Functions that read elements of their arguments, which they can do without, or that cannot be traced as they are.
REPLACED: dict[Any, Any] = {
    F.gaussian_nll_loss: gaussian_nll_loss, torch.Tensor.fill_diagonal_: fill_diagonal, torch.cov: covariance, torch.Tensor.cov: covariance,
    torch.corrcoef: correlation, torch.Tensor.corrcoef: correlation, torch.amax: largest(1), torch.Tensor.amax: largest(1),
    torch.amin: largest(-1), torch.Tensor.amin: largest(-1), torch.aminmax: both_extremes, torch.Tensor.aminmax: both_extremes,
    torch.combinations: combinations, **{function: convolve(function) for function in CONVOLUTIONS}, F.ctc_loss: ctc_loss,
    torch.masked_select: select, torch.Tensor.masked_select: select,
    torch.linalg.lstsq: refused.TABLE[torch.ops.aten.linalg_lstsq.default], torch.Tensor.__setitem__: set_item, torch.Tensor.__getitem__: get_item,
    _VF._pack_padded_sequence: pack, _VF._pad_packed_sequence: pad_packed, _VF.lstm: recur(_VF.lstm, recurrent.LSTM),
    _VF.gru: recur(_VF.gru, recurrent.GRU), _VF.rnn_tanh: recur(_VF.rnn_tanh, recurrent.TANH),
    _VF.rnn_relu: recur(_VF.rnn_relu, recurrent.RELU)}


@contextlib.contextmanager
def replaced_modules() -> Iterator[None]:
    """The same of methods and functions that PyTorch calls in its own modules."""
    norms, softmaxes, looks = batchnorm._BatchNorm, adaptive.AdaptiveLogSoftmaxWithLoss, transformer
    saved = norms.forward, softmaxes.forward, looks._detect_is_causal_mask
    norms.forward, softmaxes.forward, looks._detect_is_causal_mask = cumulative_norm(norms.forward), adaptive_log_softmax, is_said_to_be_causal
    try:
        yield
    finally:
        norms.forward, softmaxes.forward, looks._detect_is_causal_mask = saved
