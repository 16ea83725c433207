# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peak memory and step time of a model under several policies."""
import dataclasses
import html
import logging
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remat import figures
from remat.errors import CompileError, OverBudgetError
from remat.fitting import parse_bytes
from remat.memory import Memory
from remat.step import Step

logger = logging.getLogger("remat")


@dataclasses.dataclass(frozen=True)
class Row:
    """One policy: the memory of its step, and the median and the quartiles of its time in seconds; or the error with which it
    does not compile."""

    name: str
    memory: Memory | None = None
    seconds: float = 0.0
    quartiles: tuple[float, float] = (0.0, 0.0)
    error: str | None = None


class Comparison:
    """The result of `remat.compare`: a table as text, and a picture and the table in a notebook. `rows` are in the order of
    the policies. With `limit`, bytes that a step may take, the table says which fit."""

    def __init__(self, rows: Iterable[Row], limit: int | None = None):
        self.rows, self.limit = tuple(rows), limit

    @property
    def is_timed(self) -> bool:
        return any(row.seconds for row in self.rows) or not any(row.memory for row in self.rows)

    def fits(self, row: Row) -> bool:
        """Returns true if the step of `row` compiled and takes no more than the limit."""
        return row.memory is not None and (self.limit is None or row.memory.peak <= self.limit)

    @property
    def fastest(self) -> Row:
        """The row of the fastest step that fits, or, where no steps were timed, of the one with the fewest recomputed operations.
        Raises a `remat.OverBudgetError` that says what the smallest one takes if none fits."""
        fitting = [row for row in self.rows if self.fits(row)]
        if not fitting:
            peaks = [(row.memory.peak, row.name) for row in self.rows if row.memory]
            smallest = f"the smallest step, of {min(peaks)[1]}, takes {min(peaks)[0]:,} bytes" if peaks else "no policy compiles"
            raise OverBudgetError(f"no policy is within {self.limit:,} bytes: {smallest}" if self.limit is not None else smallest)
        return min(fitting, key=lambda row: (row.seconds, row.memory.recomputed_ops if row.memory else 0))

    def __getitem__(self, name: str) -> Row:
        return {row.name: row for row in self.rows}[name]

    def figure(self) -> str:
        """Peak against time, as the text of an SVG: the lower left is best. Raises a ValueError if no steps were timed."""
        if not self.is_timed:
            raise ValueError("no steps were timed, so there is no time to draw peaks against; print the table")
        return figures.draw_comparison(self.rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure to a file, `policies.svg`."""
        figures.save(self.figure(), path)

    def __repr__(self) -> str:
        is_timed = self.is_timed
        table = [("policy", "peak", "arena", "residuals", "recomputed", *["step time"] * is_timed, *["fits"] * (self.limit is not None))]
        rows = [row for row in self.rows if row.memory]
        if not is_timed:
            rows.sort(key=lambda row: row.memory.peak if row.memory else 0)
        for row in rows:
            assert row.memory
            sizes = (figures.show_bytes(size) for size in (row.memory.peak, row.memory.arena, row.memory.residuals))
            table.append((row.name, *sizes, f"{row.memory.recomputed_ops:,}", *[f"{row.seconds * 1e3:,.3f} ms"] * is_timed,
                          *["yes" if self.fits(row) else "no"] * (self.limit is not None)))
        widths = [max(map(len, column)) for column in zip(*table)]
        widths[0] = max([widths[0], *(len(row.name) for row in self.rows)])
        head, *lines = [cells[0].ljust(widths[0]) + "".join(f"  {c:>{w}}" for c, w in zip(cells[1:], widths[1:])) for cells in table]
        texts = {row.name: line for row, line in zip(rows, lines)}
        texts |= {row.name: f"{row.name:<{widths[0]}}  {row.error.splitlines()[0]}" for row in self.rows if row.error}
        order = [row.name for row in self.rows] if is_timed else list(texts)
        return "\n".join([head, *(texts[name] for name in order)])

    def _repr_html_(self) -> str:
        return f"{self.figure() if self.is_timed else ''}<pre>{html.escape(repr(self))}</pre>"


def compare(make: Callable[[Any], Step], policies: Mapping[str, Any] | Iterable[Any], batch: Any, *, steps: int = 20,
            warmup: int = 3, memory: str | int | None = None) -> Comparison:
    """Compiles a model under each policy and measures its steps on one batch.

    - `make(policy)` returns the step: `lambda policy: remat.torch.train_step(..., policy=policy)`, and the same with
      `remat.jax` or `remat.mlir`. It says what a policy is: as here, or a number of layers.
    - `policies`: what to make steps of, by name, or a list, in which their text names them.
    - `batch`: a tuple of what a step takes, or its only argument.
    - `steps`: how many are timed, after `warmup` others. The time of a policy is their median. With 0, none runs: rows are
      sorted by their peak.
    - `memory`: what a step may take, text with a unit ("16GiB") or bytes. The table says which fit, and `fastest` is of these.

    One step is in memory at a time. A policy that does not compile, or whose step does not fit in the machine, becomes a row
    with the error.
    """
    if not callable(make):
        raise TypeError(f"make must be a function of a policy that returns a step, but got {type(make).__name__}")
    if isinstance(policies, str):
        raise TypeError("policies must be a list, or a dictionary with a name for each, but got one text")
    if steps < 0 or steps == 1 or warmup < 0:
        raise ValueError(f"steps must be 0 or at least 2 and warmup at least 0, but got {steps} and {warmup}")
    if not isinstance(policies, Mapping):
        named = [(str(policy), policy) for policy in policies]
        if len(dict(named)) < len(named):
            raise ValueError("two policies have the same text: name them in a dictionary")
        policies = dict(named)
    batch = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
    limit = None if memory is None else parse_bytes(memory)
    return Comparison([_measure(str(name), make, policy, batch, steps, warmup) for name, policy in policies.items()], limit)


def _measure(name: str, make: Callable[[Any], Step], policy: Any, batch: tuple[Any, ...], steps: int, warmup: int) -> Row:
    logger.info("compiling a step with %s", name)
    try:
        step = make(policy)
    except (CompileError, MemoryError) as error:
        return Row(name, error=str(error) or type(error).__name__)
    if not isinstance(step, Step):
        raise TypeError(f"make must return a remat.Step, but for {name} it returned {type(step).__name__}")
    if steps == 0:
        return Row(name, step.memory)
    times = []
    for _ in range(warmup + steps):
        start = time.perf_counter()
        step(*batch)
        times.append(time.perf_counter() - start)
    low, median, high = statistics.quantiles(times[warmup:], n=4, method="inclusive")
    return Row(name, step.memory, median, (low, high))
