# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The largest batch whose step fits in so many bytes."""
import dataclasses
import inspect
import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from remat import _native, locks
from remat.errors import CompileError, OverBudgetError
from remat.figures import show_bytes
from remat.step import Step

logger = logging.getLogger("remat")
COMPILATIONS = 10
LARGEST_JUMP = 64  # times the largest batch that fits: small ones may say little of large ones
SHOWN = 5  # tensors that an error names
# Codes of errors of compilations that are no errors here.
MISSES = "budget-missed", "out-of-memory"


@dataclasses.dataclass(frozen=True)
class Trial:
    """A step that was compiled: the examples of one of its `accumulate` micro-batches, and the `bytes` that it takes; or the
    error with which it does not fit in a budget of its own, or in this machine."""

    batch: int
    accumulate: int
    bytes: int | None
    error: str | None = None


class Fit:
    """The result of `remat.fit`: `step` takes `bytes`, of `memory` that there are, for `accumulate` micro-batches of `batch`
    examples. `is_largest` is true if the next larger batch was tried, too, or if there is none; `trials` are all steps that were
    compiled, in order. Prints as a table of these."""

    def __init__(self, step: Step, trial: Trial, memory: int, trials: tuple[Trial, ...], is_largest: bool):
        self.step, self.memory, self.trials, self.is_largest = step, memory, trials, is_largest
        self.batch, self.accumulate, self.bytes = trial.batch, trial.accumulate, trial.bytes

    def __repr__(self) -> str:
        times = f", {self.accumulate} times," if self.accumulate > 1 else ""
        lines = [f"batch {self.batch}{times} takes {self.bytes:,} of {self.memory:,} bytes" +
                 ("" if self.is_largest else "; a larger one may fit")]
        rows = [("batch", "accumulate", "bytes", "")]
        for trial in self.trials:
            fits = trial.bytes is not None and trial.bytes <= self.memory
            rows.append((f"{trial.batch:,}", f"{trial.accumulate:,}", "-" if trial.bytes is None else f"{trial.bytes:,}",
                         "fits" if fits else (trial.error or "too large").splitlines()[0]))
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(lines + ["  " + "  ".join([*(c.rjust(w) for c, w in zip(row[:3], widths)), row[3]]).rstrip() for row in rows])


class _Choice(NamedTuple):
    """A micro-batch and how many of them make a batch."""

    batch: int
    accumulate: int


def parse_bytes(memory: str | int) -> int:
    """Returns the bytes of `memory`, which is written as a budget is ("16GiB"), but is no fraction."""
    if isinstance(memory, bool) or not isinstance(memory, (str, int)):
        raise TypeError(f"memory must be text such as '16GiB' or a number of bytes, but got {type(memory).__name__}")
    count, problem = _native.parse_bytes(str(memory))
    if count is None:
        raise ValueError(f"memory: {problem}")
    return int(count)


def count_bytes(step: Step) -> int:
    """Returns what a step takes, and its evaluation, if it has one: the larger arena, and the larger one of what else they need."""
    memories = [step.memory, step.eval_memory] if step._native.evaluation else [step.memory]
    return max(m.arena for m in memories) + max(m.peak - m.arena for m in memories)


def fit(make_step: Callable[..., Step], memory: str | int, *, batch: int | None = None) -> Fit:
    """Finds the largest batch whose step fits in `memory`, by compiling at most ten steps. Nothing is run.

    - `make_step(batch)` compiles a step for so many examples: `lambda batch: remat.torch.train_step(model, loss, examples(batch),
      optimizer=...)`, and the same with `remat.jax` or `remat.mlir`.
    - `memory`: all that a step may take, as a `budget` is written ("16GiB", 8_000_000_000).
    - `batch`: how many examples a step is to have. Then `make_step(batch, accumulate)` compiles a step of `accumulate`
      micro-batches of so many examples each, and the largest micro-batch is found. `accumulate` is None where one is all.

    The memory of nearly all models is an affine function of the batch: what two sizes take says which one to try next, and the
    figures of the compiled step say if it fits. A step that does not fit in a budget of its own, or in this machine, does not fit.

    Raises a `remat.OverBudgetError` if not even one example fits, which names the largest tensors, and a ValueError if the step
    is the same for all batches.
    """
    limit = parse_bytes(memory)
    if not callable(make_step) or isinstance(make_step, Step):
        raise TypeError(f"make_step must be a function of a batch that returns a step, but got {type(make_step).__name__}")
    if batch is None:
        return _Search(lambda choice: make_step(choice.batch), limit, None).find()
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ValueError(f"batch must be a number of examples of at least 1, but got {batch!r}")
    _check_takes_two(make_step)
    choices = [_Choice(size, batch // size) for size in range(1, batch + 1) if batch % size == 0]
    return _Search(lambda c: make_step(c.batch, None if c.accumulate == 1 else c.accumulate), limit, choices).find()


def _check_takes_two(make_step: Callable[..., Step]) -> None:
    try:
        signature = inspect.signature(make_step)
    except ValueError:  # a function in C
        return
    try:
        signature.bind(1, 1)
    except TypeError:
        raise TypeError("with batch=, make_step must take a micro-batch and how many of them there are, "
                        f"but it takes {signature}") from None


class _Search:
    """Looks for the last of a sequence of choices whose step fits: `choices`, or all numbers from 1 on."""

    def __init__(self, make_step: Callable[[_Choice], Step], limit: int, choices: list[_Choice] | None):
        self.make_step, self.limit, self.choices = make_step, limit, choices
        self.trials: dict[int, Trial] = {}  # by the number of the choice
        self.data: dict[int, str] = {}
        self.best: Step | None = None

    def find(self) -> Fit:
        low, high = 0, None if self.choices is None else len(self.choices)
        self.attempt(0)
        # Of a curve, a line misses on one side again and again. So the end that stays counts half (the Illinois method).
        weights, was_low = [1.0, 1.0], None
        while len(self.trials) < COMPILATIONS and (high is None or high - low > 1):
            number = self.guess(low, high, weights)
            if fits := self.attempt(number):
                low = number
            else:
                high = number
            weights[not fits] = 1.0
            weights[fits] = weights[fits] / 2 if fits == was_low else 1.0
            was_low = fits
        assert self.best is not None
        return Fit(self.best, self.trials[low], self.limit, tuple(self.trials.values()), high is not None and high - low == 1)

    def get_choice(self, number: int) -> _Choice:
        return _Choice(number + 1, 1) if self.choices is None else self.choices[number]

    def attempt(self, number: int) -> bool:
        """Compiles a step, and returns true if it fits."""
        choice = self.get_choice(number)
        name = f"batch {choice.batch}" + (f", {choice.accumulate} times" if choice.accumulate > 1 else "")
        step, size, error = None, None, None
        try:
            step = self.make_step(choice)
        except CompileError as raised:
            if raised.code not in MISSES:
                raise
            error = str(raised)
        except MemoryError as raised:
            error = str(raised) or "the machine has not so much memory"
        if step is not None:
            if not isinstance(step, Step):
                raise TypeError(f"make_step must return a remat.Step, but for {name} it returned {type(step).__name__}")
            size = count_bytes(step)
            self.check_data(number, name, step)
        self.trials[number] = Trial(choice.batch, choice.accumulate, size, error)
        logger.info("%s takes %s", name, "too much" if size is None else f"{size:,} bytes")
        fits = size is not None and size <= self.limit
        if not fits and number == 0:
            self.fail(name, step, error)
        if fits:
            self.best = step
        return fits

    def check_data(self, number: int, name: str, step: Step) -> None:
        """Raises a ValueError if steps that are to differ have the same data, or the other way round."""
        self.data[number] = ", ".join(f"{a.name}: {a}" for a in step.data)
        for other, data in self.data.items():
            if other != number and (data == self.data[number]) == (self.choices is None):
                before = self.get_choice(other)
                if self.choices is None:
                    raise ValueError(f"make_step ignores the batch: its steps for {before.batch} and for "
                                     f"{self.get_choice(number).batch} have the same data ({data})")
                raise ValueError(f"make_step does not make the same batch of its micro-batches: {before.accumulate} of {before.batch} "
                                 f"are {data}, but {name} {self.data[number]}")

    def guess(self, low: int, high: int | None, weights: list[float]) -> int:
        """Returns the choice to try next, between `low`, which fits, and `high`, which does not. `weights` are for what is between
        these and the limit."""
        if len(self.trials) == 1:
            return low + 1
        size = min(self.cross(low, high, weights), LARGEST_JUMP * self.get_choice(low).batch)
        number = size - 1 if self.choices is None else sum(choice.batch <= size for choice in self.choices) - 1
        return max(low + 1, number if high is None else min(number, high - 1))

    def cross(self, low: int, high: int | None, weights: list[float]) -> int:
        """Returns the batch at which a line reaches the limit: one through the trials at `low` and at `high`, or, if the bytes
        there are not known, through the two largest that fit."""
        start, start_bytes = self.get_choice(low).batch, self.trials[low].bytes or 0
        missed = self.trials.get(high) if high is not None else None
        if missed and missed.bytes is None:
            return math.isqrt(start * missed.batch)
        if missed and missed.bytes is not None:
            left, right = (self.limit - start_bytes) * weights[0], (missed.bytes - self.limit) * weights[1]
            return start + int((missed.batch - start) * left / (left + right))
        other = self.trials[max(n for n, trial in self.trials.items() if n < low)]
        growth = (start_bytes - (other.bytes or 0)) / (start - other.batch)
        return start + int((self.limit - start_bytes) / growth) if growth > 0 else LARGEST_JUMP * start

    def fail(self, name: str, step: Step | None, error: str | None) -> None:
        """Raises the error that nothing fits."""
        if step is None:
            raise OverBudgetError(f"not even {name} fits in {self.limit:,} bytes: {error}")
        entry = locks.make_entry(step.memory, most=SHOWN)
        lines = [f"not even {name} fits in {self.limit:,} bytes ({show_bytes(self.limit)}): it takes {count_bytes(step):,} "
                 f"({show_bytes(count_bytes(step))})"]
        lines += [f"  {size:,} {kind}" for kind, size in entry.classes.items() if size]
        tensors = sorted((*entry.held, *entry.live), key=lambda t: -t.total)[:SHOWN]
        lines += ["the largest tensors:"] + [f"  {t.describe()}" for t in tensors]
        raise OverBudgetError("\n".join(lines))
