# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of other sizes: `interpolate` in all its modes, with and without antialiasing, adaptive means, and `grid_sample`.

Each is a sum of few neighbours along one dimension after the other, whose places and weights only the sizes decide. PyTorch's own
decompositions take all neighbours of all dimensions at once, from places that are computed, so that gradients are added one by one to
wherever they belong. Here the gradient is a sum of the same kind, by the transposed table: each element collects what it has given.

While torch-mlir lowers the module, these sums are calls of functions that it does not look into. They get their body, and their
derivative, in the end.

Where the positions are data, they are computed once for all channels.
"""
import functools
import itertools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_mlir import ir

from remat.errors import ExportError
from remat.torch import stops

Taps = tuple[NDArray[np.int64], NDArray[Any]]

aten = torch.ops.aten
NAME = "resample"
stops.LIBRARY.define(f"{NAME}(Tensor x, int dim, int size, int filter, int has_corners, int factor, int is_transposed) -> Tensor")
FILTERS = "nearest", "nearest_exact", "linear", "cubic", "antialiased_linear", "antialiased_cubic", "antialiased_lanczos", "mean"
# Terms of a sum that are written one by one, in a loop over vectors of results; longer sums are loops.
MOST_TERMS = 8


def near(x: Any, a: float = -0.75) -> Any:
    """Returns Keys' kernel at distances up to 1, of NumPy or PyTorch."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def far(x: Any, a: float = -0.75) -> Any:
    """Returns the same kernel at distances from 1 to 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def weigh_cubic(rest: Any) -> list[Any]:
    """Returns the weights of the four neighbours of a point at the distance `rest` after the second one."""
    return [far(rest + 1), near(rest), near(1 - rest), far(2 - rest)]


# Functions of distances, and the distances from which on they are 0.
KERNELS: dict[str, tuple[Callable[[NDArray[Any]], NDArray[Any]], int]] = {
    "antialiased_linear": (lambda x: np.maximum(1 - x, 0), 1),
    "antialiased_cubic": (lambda x: np.where(x < 1, near(x, -0.5), np.where(x < 2, far(x, -0.5), 0)), 2),
    "antialiased_lanczos": (lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0), 3)}


def find_step(has_corners: bool, n: int, m: int, factor: float, dtype: Any) -> Any:
    """Returns the distance of two neighbouring results, in elements of the source."""
    if has_corners:
        return dtype(n - 1) / dtype(m - 1) if m > 1 else dtype(0)
    return dtype(1 / factor) if factor else dtype(n) / dtype(m)


def find_taps(kind: str, has_corners: bool, n: int, m: int, factor: float, dtype: Any) -> Taps:
    """Of `n` elements the places (k x m) and weights (k x m) whose sums are the `m` results, by PyTorch's formulas in `dtype`. A factor
    of 0 is that of the sizes; for most kinds it counts only where they differ."""
    number = np.arange(m)
    if kind == "mean":
        first, end = number * n // m, -(-(number + 1) * n // m)
        places = first + np.arange(np.max(end - first))[:, None]
        return np.minimum(places, end - 1), np.where(places < end, 1 / (end - first), 0).astype(dtype)
    if n == m and kind not in ("cubic", "nearest_exact") or 2 * n == m and kind == "nearest":
        return number[None] // (m // n), np.ones((1, m), dtype)
    step = find_step(has_corners, n, m, factor, dtype)
    if kind == "nearest":
        places = (step * number.astype(dtype)).astype(np.float32).astype(np.int64)
        return places[None].clip(0, n - 1), np.ones((1, m), dtype)
    middle, half = (number + 0.5).astype(dtype), dtype(0.5)
    if kind.startswith("antialiased"):
        shape, reach = KERNELS[kind]
        stretch = max(step, dtype(1))
        center, support = step * middle, dtype(reach) * stretch
        first = np.maximum((center - support + half).astype(np.int64), 0)
        end = np.minimum((center + support + half).astype(np.int64), n)
        places = first + np.arange(max(1, np.max(end - first)))[:, None]
        weights = np.where(places < end, shape(np.abs(places - center + half) / stretch), 0)
        return np.minimum(places, n - 1), (weights / weights.sum(0)).astype(dtype)
    # Rounded once, as by the processor's instruction.
    at = step * number.astype(dtype) if has_corners else (np.longdouble(step) * middle - half).astype(dtype)
    if kind == "nearest_exact":
        places = (np.maximum(at, 0) + half).astype(np.float32).astype(np.int64)
        return places[None].clip(0, n - 1), np.ones((1, m), dtype)
    if kind == "linear":
        at = np.maximum(at, 0)
        first = np.minimum(at.astype(np.int64), n - 1)
        rest = (at - first).clip(0, 1)
        return np.stack([first, np.minimum(first + 1, n - 1)]), np.stack([1 - rest, rest]).astype(dtype)
    first = np.floor(at.astype(np.float32)).astype(np.int64)
    return (first + np.arange(-1, 3)[:, None]).clip(0, n - 1), np.stack(weigh_cubic((at - first).clip(0, 1).astype(dtype)))


def transpose_taps(taps: Taps, n: int) -> Taps:
    """The taps by which each of the `n` elements collects what it has given."""
    places, weights = taps
    given: list[list[tuple[Any, Any]]] = [[] for _ in range(n)]
    for result, (own_places, own_weights) in enumerate(zip(places.T, weights.T)):
        for place, weight in zip(own_places, own_weights):
            if weight:
                given[place].append((result, weight))
    length = max(1, *map(len, given))
    padded = [own + [(own[-1][0] if own else 0, 0)] * (length - len(own)) for own in given]
    return (np.array([[result for result, _ in own] for own in padded], np.int64).T,
            np.array([[weight for _, weight in own] for own in padded], weights.dtype).T)


def get_type(x: Tensor) -> Any:
    """Of PyTorch's numbers in its formulas."""
    return np.float64 if x.dtype == torch.float64 else np.float32


def choose_taps(dtype: Any, n: int, m: int, kind: int, has_corners: int, factor: int, is_transposed: int) -> Taps:
    """From `n` elements to `m`, by the numbers of the operator; transposed, those by which elements collect what they gave."""
    if is_transposed:
        return transpose_taps(choose_taps(dtype, m, n, kind, has_corners, factor, 0), m)
    return find_taps(FILTERS[kind], bool(has_corners), n, m, decode(factor), dtype)


def apply(x: Tensor, dim: int, size: int, *numbers: int) -> Tensor:
    """Of constants, it is computed."""
    places, weights = choose_taps(get_type(x), x.shape[dim], size, *numbers)
    taken = x.index_select(dim, torch.from_numpy(places.ravel())).unflatten(dim, places.shape)
    return (taken * torch.from_numpy(weights).reshape(*weights.shape, *[1] * (x.ndim - dim - 1))).sum(dim)


def encode(factor: float) -> int:
    return int.from_bytes(struct.pack("<d", factor), "little")


def decode(bits: int) -> float:
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


stops.LIBRARY.impl(NAME, apply, "CompositeExplicitAutograd")
torch.library.register_fake(f"remat::{NAME}", lambda x, dim, size, *_: x.new_empty(*x.shape[:dim], size, *x.shape[dim + 1:]),
                            lib=stops.LIBRARY)


def repeat(x: Tensor, counts: list[int]) -> Tensor:
    """Each element of the last dimensions so often: gradients are sums of equal windows, and need no places."""
    inputs, leading = x.shape[x.ndim - len(counts):], x.shape[:x.ndim - len(counts)]
    x = x.reshape(*leading, *(size for n in inputs for size in (n, 1)))
    return x.expand(*leading, *(size for pair in zip(inputs, counts) for size in pair)).reshape(*leading, *map(math.prod, zip(inputs, counts)))


def find_repeats(taps: list[Taps], inputs: Sequence[int]) -> list[int] | None:
    """How often each element of nearest neighbours stands, if all stand equally often."""
    counts = [places.shape[1] // n for (places, _), n in zip(taps, inputs)]
    is_equal = all(places.shape[1] == n * count and (places[0] == np.arange(n * count) // count).all()
                   for (places, _), n, count in zip(taps, inputs, counts))
    return counts if is_equal else None


def resample(x: Tensor, kind: str, sizes: list[int], factors: list[float | None], has_corners: bool = False, is_transposed: bool = False) -> Tensor:
    """The last dimensions of `x` with these sizes; transposed, the gradient of a tensor of these sizes by that of its result. What
    shrinks does it first, so that the others have less to do."""
    inputs = x.shape[x.ndim - len(sizes):]
    if not all(isinstance(size, int) and size > 0 for size in (*inputs, *sizes)) or not x.is_floating_point():
        return NotImplemented
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    if kind.startswith("nearest") and not is_transposed:
        taps = [find_taps(kind, has_corners, n, m, factor or 0.0, get_type(wide)) for n, m, factor in zip(inputs, sizes, factors)]
        if counts := find_repeats(taps, inputs):
            return repeat(x, counts)
    for d in sorted(range(len(sizes)), key=lambda d: sizes[d] / inputs[d]):
        if inputs[d] != sizes[d] or kind == "cubic" and factors[d]:
            wide = torch.ops.remat.resample(wide, x.ndim - len(sizes) + d, sizes[d], FILTERS.index(kind), int(has_corners),
                                            encode(factors[d] or 0.0), int(is_transposed))
    return wide.to(x.dtype)


def split(options: Sequence[Any], kind: str, has_one_list: bool, count: int) -> tuple[bool, list[Any]]:
    """Returns whether corners are aligned, for which operators of nearest neighbours have no option, and a factor for each
    dimension, or None."""
    asks = not kind.startswith("nearest")
    rest = options[asks:]
    factors = (rest[0] if rest else None) if has_one_list else rest
    return bool(asks and options[0]), [*(factors or []), *[None] * count][:count]


def interpolate(operator: Any, kind: str) -> Callable[..., Tensor]:
    def compute(x: Tensor, sizes: list[int] | None, *options: Any) -> Tensor:
        has_corners, factors = split(options, kind, operator._overloadname == "vec", x.ndim - 2)
        if sizes is None and kind.startswith("nearest") and all(factor >= 1 and factor == int(factor) for factor in factors):
            return repeat(x, [int(factor) for factor in factors])  # of whatever size
        wanted = sizes if sizes is not None else [math.floor(size * factor) if isinstance(size, int) else size
                                                  for size, factor in zip(x.shape[2:], factors)]
        if 0 in (*x.shape[2:], *wanted):
            raise ExportError(f"it interpolates images of sizes {tuple(x.shape[2:])} to {tuple(wanted)}, but all of these must be at least 1")
        result = resample(x, kind, wanted, factors, has_corners)
        return by_places(x, sizes, *options) if result is NotImplemented and by_places else result

    by_places = torch._decomp.decomposition_table.get(operator)
    return compute


def interpolate_backward(kind: str) -> Callable[..., Tensor]:
    """The derivative that a model takes in its forward."""
    def compute(x: Tensor, _: list[int], sizes: list[int], *options: Any) -> Tensor:
        has_corners, factors = split(options, kind, False, x.ndim - 2)
        return resample(x, kind, sizes[2:], factors, has_corners, True)
    return compute


def mean(x: Tensor, sizes: list[int]) -> Tensor:
    """Of windows that may have other sizes. Those of equal ones in two dimensions are torch-mlir's."""
    inputs = x.shape[-len(sizes):]
    if not all(isinstance(size, int) and size > 0 for size in (*inputs, *sizes)) or \
            len(sizes) < 3 and all(n % m == 0 for n, m in zip(inputs, sizes)):
        return NotImplemented
    for d, (n, m) in enumerate(zip(inputs, sizes), x.ndim - len(sizes)):
        x = x if n % m else x.unflatten(d, (m, n // m)).mean(d + 1)
    return resample(x, "mean", sizes, [None] * len(sizes))


def adaptive_mean_backward(rank: int) -> Callable[..., Tensor]:
    return lambda x, of: resample(x, "mean", list(of.shape[-rank:]), [None] * rank, is_transposed=True)


def avg_pool_backward(x: Tensor, of: Tensor, kernel: list[int], stride: list[int], padding: list[int], is_ceiled: bool = False,
                      counts_padding: bool = True, divisor: int | None = None) -> Tensor:
    """Of an average over windows in two dimensions: each gives its elements the same."""
    sizes, stride, padding = of.shape[-2:], stride or kernel, padding or [0, 0]
    if not all(isinstance(size, int) for size in (*x.shape, *sizes)):
        return NotImplemented
    whole = []
    for d, (k, s, p, n) in enumerate(zip(kernel, stride, padding, sizes), x.ndim - 2):
        m = x.shape[d]
        first = torch.arange(m) * s - p
        end = (first + k).clamp(max=n + p)
        count = end - first if counts_padding else end.clamp(max=n) - first.clamp(min=0)
        if divisor is None:
            x = x / count.to(x.dtype).reshape(-1, *[1] * (x.ndim - d - 1))
        whole.append(max(n, s * (m - 1) + k - 2 * p))
    x = (x if divisor is None else x / divisor).flatten(-2).unsqueeze(-2)
    columns = x.expand(*x.shape[:-2], math.prod(kernel), x.shape[-1]).flatten(-3, -2)
    return aten.col2im(columns, whole, kernel, [1, 1], padding, stride)[..., :sizes[0], :sizes[1]]


# --- At positions that are data -------------------------------------------------------------------


def reflect(at: Tensor, first: float, last: float) -> Tensor:
    """Into [first, last], by mirrors at both ends."""
    if last <= first:
        return torch.zeros_like(at)
    distance, span = (at - first).abs(), last - first
    turns, rest = torch.floor(distance / span), torch.fmod(distance, span)
    return torch.where(turns % 2 == 0, rest + first, last - rest)


def place(at: Tensor, size: int, padding: int, has_corners: bool) -> Tensor:
    """Positions of elements, as `padding` (0: none, 1: the last element's, 2: mirrored) has it."""
    if padding == 2:
        at = reflect(at, 0, size - 1) if has_corners else reflect(at, -0.5, size - 0.5)
    return at.clamp(0, size - 1) if padding else at


def find_neighbours(at: Tensor, size: int, mode: int, padding: int, has_corners: bool) -> list[tuple[Tensor, Tensor, Tensor | None]]:
    """Of a position between -1 and 1 along one dimension, by `mode` (0: linear, 1: nearest, 2: cubic): the number of each neighbour, its
    weight, and whether there is one, where `padding` leaves that open."""
    at = (at + 1) / 2 * (size - 1) if has_corners else ((at + 1) * size - 1) / 2
    if mode != 2:  # a cubic's neighbours are padded one by one
        at = place(at, size, padding, has_corners)
    first = torch.round(at) if mode == 1 else torch.floor(at)
    weights = [torch.ones_like(at)] if mode == 1 else [1 - (at - first), at - first] if mode == 0 else weigh_cubic(at - first)
    neighbours: list[tuple[Tensor, Tensor, Tensor | None]] = []
    for k, weight in enumerate(weights, -1 if mode == 2 else 0):
        number = place(first + k, size, padding, has_corners) if mode == 2 else first + k
        is_inside = None if padding else (number >= 0) & (number <= size - 1)
        number = number.to(torch.int64)
        neighbours.append((number.clamp(0, size - 1) if is_inside is None else torch.where(is_inside, number, 0), weight, is_inside))
    return neighbours


def sample(x: Tensor, grid: Tensor, mode: int, padding: int, has_corners: bool) -> Tensor:
    """`x` at the positions that `grid` has in its last dimension, the last dimension's first, -1 and 1 at the ends."""
    sizes, kind = x.shape[2:], x.dtype
    if not all(isinstance(size, int) and size for size in (*x.shape, *grid.shape)):
        return NotImplemented
    x, grid = (v.to(torch.promote_types(kind, torch.float32)) for v in (x, grid))
    flat, result = x.flatten(2), torch.zeros((), dtype=x.dtype)
    for corner in itertools.product(*(find_neighbours(at, size, mode, padding, has_corners) for at, size in zip(reversed(grid.unbind(-1)), sizes))):
        numbers, weights, inside = zip(*corner)
        place_in_all = functools.reduce(lambda so_far, pair: so_far * pair[1] + pair[0], zip(numbers[1:], sizes[1:]), numbers[0])
        taken = flat.gather(2, place_in_all.reshape(grid.shape[0], 1, -1).expand(-1, x.shape[1], -1)).unflatten(2, grid.shape[1:-1])
        term = taken * functools.reduce(torch.mul, weights).unsqueeze(1)
        result = result + (term if padding else torch.where(functools.reduce(torch.logical_and, inside).unsqueeze(1), term, 0))
    return result.to(kind)


PACKETS = {
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest_exact": ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
    "linear": ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), "cubic": ("upsample_bicubic2d",),
    "antialiased_linear": ("_upsample_bilinear2d_aa",), "antialiased_cubic": ("_upsample_bicubic2d_aa",), "antialiased_lanczos": ("_upsample_lanczos2d_aa",)}
TABLE: dict[Any, Callable[..., Tensor]] = {}
for filter_, packets in PACKETS.items():
    for packet in packets:
        TABLE |= {operator: interpolate(operator, filter_) for operator in (getattr(aten, packet).default, getattr(aten, packet).vec)}
        TABLE[getattr(aten, f"{packet}_backward").default] = interpolate_backward(filter_)
TABLE |= {operator.default: mean for operator in (
    aten._adaptive_avg_pool2d, aten.adaptive_avg_pool2d, aten.adaptive_avg_pool3d, aten._adaptive_avg_pool3d)}
TABLE |= {aten._adaptive_avg_pool2d_backward.default: adaptive_mean_backward(2), aten._adaptive_avg_pool3d_backward.default: adaptive_mean_backward(3)}
TABLE[aten.avg_pool2d_backward.default] = avg_pool_backward
TABLE |= {operator.default: sample for operator in (aten.grid_sampler_2d, aten.grid_sampler_3d)}


# --- Functions ------------------------------------------------------------------------------------


def format_table(values: NDArray[Any], kind: str) -> str:
    """A constant of `values`; floating-point numbers by their bits."""
    shape = "x".join(map(str, values.shape))
    return f'arith.constant dense<"0x{values.astype(values.dtype.newbyteorder("<")).tobytes().hex().upper()}"> : tensor<{shape}x{kind}>'


def write_sums(source: str, kind: str, shape: list[str], dim: int, taps: Taps) -> str:
    """Returns operations that compute %sums, along dimension `dim`, of %source, which has the type `source`, of elements `kind`
    and sizes `shape`."""
    places, weights = taps[0].astype(np.int32), taps[1]
    (terms, m), rank = places.shape, len(shape)
    result = f"tensor<{'x'.join([*shape[:dim], str(m), *shape[dim + 1:]])}x{kind}>"
    dims = [d for d, size in enumerate(shape) if size == "?"]
    lines = [line for d in dims for line in (f"%d{d} = arith.constant {d} : index", f"%size{d} = tensor.dim %source, %d{d} : {source}")]
    lines += [f"%zero = arith.constant 0.0 : {kind}", f"%empty = tensor.empty({', '.join(f'%size{d}' for d in dims)}) : {result}"]
    loops, body = [f"d{d}" for d in range(rank)], []
    at = [f"%at{d}" for d in range(rank)]

    def write_term(k: int, has_gaps: bool) -> list[str]:
        """Returns operations for a product. With gaps, it is 0 where the weight is: 0 times infinity would be NaN."""
        position = ", ".join([*at[:dim], f"%index{k}", *at[dim + 1:]])
        gap = [f"%is_tap{k} = arith.cmpf une, %weight{k}, %zero : {kind}",
               f"%term{k} = arith.select %is_tap{k}, %product{k}, %zero : {kind}"]
        return [f"%index{k} = arith.index_cast %place{k} : i32 to index", f"%value{k} = tensor.extract %source[{position}] : {source}",
                f"%{'product' if has_gaps else 'term'}{k} = arith.mulf %value{k}, %weight{k} : {kind}", *(gap if has_gaps else [])]

    body += [f"{name} = linalg.index {d} : index" for d, name in enumerate(at) if d != dim]
    if terms <= MOST_TERMS:
        tables = [(places[k], weights[k]) for k in range(terms)]
        table_map, iterators, init = f"affine_map<({', '.join(loops)}) -> (d{dim})>", ["parallel"] * rank, "%empty"
        for k in range(terms):
            body += write_term(k, not weights[k].all())
        body += [f"%sum{k} = arith.addf %{'term0' if k == 1 else f'sum{k - 1}'}, %term{k} : {kind}" for k in range(1, terms)]
        last = f"%sum{terms - 1}" if terms > 1 else "%term0"
    else:
        tables, loops = [(np.ascontiguousarray(places.T), np.ascontiguousarray(weights.T))], [*loops, "k"]
        table_map, iterators, init = f"affine_map<({', '.join(loops)}) -> (d{dim}, k)>", ["parallel"] * rank + ["reduction"], "%zeros"
        lines.append(f"%zeros = linalg.fill ins(%zero : {kind}) outs(%empty : {result}) -> {result}")
        body += [*write_term(0, not weights.all()), f"%sum0 = arith.addf %old, %term0 : {kind}"]
        last = "%sum0"
    operands, types = [], []
    for k, table in enumerate(tables):
        shape_of = "x".join(map(str, table[0].shape))
        lines += [f"%places{k} = {format_table(table[0], 'i32')}", f"%weights{k} = {format_table(table[1], kind)}"]
        operands += [f"%places{k}", f"%weights{k}"]
        types += [f"tensor<{shape_of}xi32>", f"tensor<{shape_of}x{kind}>"]
    arguments = [f"%{name}{k}: {of}" for k in range(len(tables)) for name, of in (("place", "i32"), ("weight", kind))]
    maps = ", ".join([table_map] * len(operands) + [f"affine_map<({', '.join(loops)}) -> ({', '.join(loops[:rank])})>"])
    quoted = ", ".join(f'"{iterator}"' for iterator in iterators)
    joined = "\n      ".join(body)
    return "\n    ".join([*lines, f"""%sums = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{quoted}]}}
        ins({', '.join(operands)} : {', '.join(types)}) outs({init} : {result}) {{
    ^bb0({', '.join([*arguments, f'%old: {kind}'])}):
      {joined}
      linalg.yield {last} : {kind}
    }} -> {result}"""])


def write(name: str, x: ir.RankedTensorType, dim: int, size: int, *numbers: int) -> str:
    """The function `name` of a tensor, and its derivative."""
    element, n = str(x.element_type), x.shape[dim]
    shape = ["?" if x.is_dynamic_dim(d) else str(x.shape[d]) for d in range(x.rank)]
    taps = choose_taps(np.float64 if element == "f64" else np.float32, n, size, *numbers)
    result_shape = [*shape[:dim], str(size), *shape[dim + 1:]]
    result = f"tensor<{'x'.join(result_shape)}x{element}>"
    return f"""
  func.func private @{name}(%source: {x}) -> {result} {{
    {write_sums(str(x), element, shape, dim, taps)}
    return %sums : {result}
  }}
  func.func private @{name}_vjp(%x: {x}, %y: {result}, %source: {result}) -> {x} {{
    {write_sums(result, element, result_shape, dim, transpose_taps(taps, n))}
    return %sums : {x}
  }}
  "remat.custom_vjp"() {{rule = @{name}_vjp, target = @{name}}} : () -> ()
"""
