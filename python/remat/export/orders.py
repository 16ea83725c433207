# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How numbers are sorted, for both frameworks, whose importers have no sort."""

from collections.abc import Iterator


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
