# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How numbers are sorted, for both frameworks, whose importers have no sort, in the operations of `xp`: of PyTorch or of jax.numpy.

Equal elements are in the order of their places, and NaN comes after all numbers, or before them where the largest is first.
"""
import math
from collections.abc import Iterator, Sequence
from typing import Any


def stages(size: int) -> Iterator[tuple[int, bool]]:
    """Those of Batcher's bitonic network for a power of two: half the size of the blocks in which each element of the lower half is
    exchanged with one of the upper half, and whether with the mirrored one."""
    block = 2
    while block <= size:
        half = block // 2
        yield half, True
        while half := half // 2:
            yield half, False
        block *= 2


def round_up(size: int) -> int:
    """To a power of two."""
    return 1 << (size - 1).bit_length()


def choose(size: int, passes: int) -> str:
    """The fastest way to have the places of the first `passes` elements of `size` in order, by nanoseconds for each element that were
    measured on two cores: "comparisons" of each element with each, a "network" of stages that exchange pairs, or "one by one",
    the next of those that are left. Few elements are compared, which makes the shortest program."""
    times = {"comparisons": 0.12 * size, "network": 2.5 * len(list(stages(round_up(size)))),
             "one by one": 0.4 * passes if passes <= 64 else float("inf")}
    return "comparisons" if size <= 64 else min(times, key=lambda way: times[way])


def has_nan(x: Any) -> bool:
    """Returns true if there is a NaN of the type of `x`."""
    return any(kind in str(x.dtype) for kind in ("float", "complex"))


def is_less(xp: Any, a: Any, b: Any) -> Any:
    return (a < b) | (xp.isnan(b) & ~xp.isnan(a)) if has_nan(a) else a < b


def find_last(xp: Any, x: Any, descending: bool) -> Any:
    """Returns what no number comes after."""
    if has_nan(x):
        return -math.inf if descending else math.inf
    if "bool" in str(x.dtype):
        return not descending
    return int(xp.iinfo(x.dtype).min if descending else xp.iinfo(x.dtype).max)


def comes_before(xp: Any, keys: Sequence[Any], others: Sequence[Any], descending: bool, is_earlier: Any) -> Any:
    """By the first key that differs, then by place."""
    result = is_earlier
    for key, other in reversed(list(zip(keys, others))):
        before, after = is_less(xp, key, other), is_less(xp, other, key)
        result = after | (~before & result) if descending else before | (~after & result)
    return result


def order_by_comparisons(xp: Any, keys: Sequence[Any], descending: bool, first: int, count: int) -> Any:
    """Each element is compared with each."""
    numbers = xp.arange(keys[0].shape[-1], dtype=xp.int32)
    ranks = comes_before(xp, [key[..., None, :] for key in keys], [key[..., :, None] for key in keys], descending,
                         numbers < numbers[:, None]).sum(-1, dtype=xp.int32)
    holds = ranks[..., None, :] == xp.arange(first, first + count, dtype=xp.int32)[:, None]
    return xp.where(holds, numbers, 0).sum(-1, dtype=xp.int32)


def order_by_network(xp: Any, keys: Sequence[Any], descending: bool, first: int, count: int) -> Any:
    """In each stage each element is compared with one other. Elements that make their number a power of two come last."""
    *batch, size = keys[0].shape
    whole = round_up(size)
    lasts = [math.nan if has_nan(key) and not descending else find_last(xp, key, descending) for key in keys]
    parts = [xp.concatenate([key, xp.full((*batch, whole - size), last, dtype=key.dtype)], -1) for key, last in zip(keys, lasts)]
    parts.append(xp.broadcast_to(xp.arange(whole, dtype=xp.int32), (*batch, whole)))
    is_upper = xp.arange(2, dtype=xp.int32)[:, None] == 1
    for half, is_mirrored in stages(whole):
        own = [part.reshape(-1, 2, half) for part in parts]
        other = [xp.flip(part, (1, 2) if is_mirrored else (1,)) for part in own]
        takes = comes_before(xp, other[:-1], own[:-1], descending, other[-1] < own[-1]) ^ is_upper
        parts = [xp.where(takes, theirs, ours) for theirs, ours in zip(other, own)]
    return parts[-1].reshape(*batch, whole)[..., first:first + count]


def order_one_by_one(xp: Any, keys: Sequence[Any], descending: bool, first: int, count: int) -> Any:
    """By one key: the next one of those that are left, again and again."""
    x, = keys
    is_nan = xp.isnan(x) if has_nan(x) else x != x
    numbers, rest, places = xp.arange(x.shape[-1], dtype=xp.int32), xp.ones_like(is_nan), []
    for _ in range(first + count):
        here = xp.where(rest & ~is_nan, x, find_last(xp, x, descending))
        best = xp.amax(here, -1, keepdims=True) if descending else xp.amin(here, -1, keepdims=True)
        nans = rest & is_nan
        takes_nan = xp.any(nans, -1, keepdims=True) if descending else ~xp.any(rest & ~is_nan, -1, keepdims=True)
        found = xp.where(takes_nan, nans, rest & (x == best))
        places.append(xp.amin(xp.where(found, numbers, x.shape[-1] - 1), -1, keepdims=True))
        rest = rest & (numbers != places[-1])
    return xp.concatenate(places[first:], -1)


def order(xp: Any, keys: Sequence[Any], descending: bool, first: int, count: int) -> Any:
    """Returns the places of the elements of the ranks from `first` on along the last dimension."""
    ways = {"comparisons": order_by_comparisons, "network": order_by_network, "one by one": order_one_by_one}
    return ways[choose(keys[0].shape[-1], first + count)](xp, keys, descending, first, count)
