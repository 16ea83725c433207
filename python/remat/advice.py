# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes that would lower a step's peak, ranked by figures that are exact: of the report, or of variants that are compiled."""
import dataclasses
import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from remat import locks, policies
from remat.errors import CompileError, ExportError

if TYPE_CHECKING:  # that module asks this one
    from remat.memory import LiveBuffer, Memory

logger = logging.getLogger("remat")
BUDGET, SLOWDOWN = 0.9, 0.1  # of the arena, of the time
TILES = 4  # of the largest tensor, if that is the logits of a loss
SHOWN = 5  # tensors


@dataclasses.dataclass(frozen=True)
class Variants:
    """How to compile a step otherwise, up to where its memory is known: by the `arguments` of `remat.mlir.train_step`, of which
    `measure` and `halve` take some by name. `halve` is for a batch of half the size; None if nothing can export that."""

    arguments: Mapping[str, Any]
    measure: "Callable[..., Memory]"
    halve: "Callable[..., Memory] | None" = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # Figures may go to another process, what compiles them stays here.


@dataclasses.dataclass(frozen=True)
class Change:
    """One of the changes of an `Advice`: `text` is what to write. `about` are the classes of bytes that it is about, and `at_peak` how
    many of these are live at the peak. `memory` is that of the step with this change, None if it was not compiled; `note` says
    why. With `same_bits`, losses and parameters stay the same to the bit."""

    text: str
    about: str
    at_peak: int
    same_bits: bool = True
    memory: "Memory | None" = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Advice:
    """The result of `Memory.advise`: the `changes`, the best first, and the largest `tensors` that are live at the peak, each with
    the most bytes that would be live at once without it. Prints as two tables."""

    memory: "Memory"
    changes: tuple[Change, ...]
    tensors: tuple[tuple[locks.Tensor, int], ...]
    is_compiled: bool

    def __repr__(self) -> str:
        lines = [f"the peak is {self.memory.peak:,} bytes, {self.memory.arena:,} of them in the arena"]
        if self.tensors:
            lines += ["the largest tensors where most is live, and the most that is live without each:",
                      *_align((f"{tensor.total:,}", f"{live:,}", tensor.describe()) for tensor, live in self.tensors)]
        if not self.is_compiled:
            lines += ["bytes at the peak, and what is about them (advise(compile=True) says what each leaves):",
                      *_align((f"{c.at_peak:,}", f"{c.about}: {c.text}" + f" ({c.note})" * bool(c.note)) for c in self.changes)]
            return "\n".join(lines)
        compiled = [(change, change.memory) for change in self.changes if change.memory]
        rows = [("peak", "less", "recomputed", "")]
        rows += [(f"{memory.peak:,}", f"{self.memory.peak - memory.peak:,}", f"{memory.recomputed_ops:,}",
                  change.text + ("" if change.same_bits else " (other bits)")) for change, memory in compiled]
        lines += ["what a change leaves, and how many operations the backward recomputes then:", *_align(rows)] if compiled else []
        lines += [f"  not compiled: {c.text}: {c.note.splitlines()[0]}" for c in self.changes if not c.memory]
        return "\n".join(lines)


def _align(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in list(zip(*rows))[:-1]]
    return ["  " + "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)), row[-1]]).rstrip() for row in rows]


def count_live(buffers: "Collection[LiveBuffer]") -> int:
    """Returns the most bytes of these that are live at once."""
    changes = sorted(itertools.chain(*(((b.first, b.bytes), (b.last + 1, -b.bytes)) for b in buffers)))
    return max(itertools.accumulate(change for _, change in changes), default=0)


def _find_tensors(memory: "Memory") -> tuple[tuple[locks.Tensor, int], ...]:
    """Returns the largest tensors at the peak, and what is live without each."""
    groups: dict[tuple[Any, ...], list[LiveBuffer]] = {}
    for buffer in memory.at_peak:
        groups.setdefault((buffer.bytes, buffer.part, buffer.type, buffer.op, buffer.line), []).append(buffer)
    largest = sorted(groups.items(), key=lambda item: -len(item[1]) * item[0][0])[:SHOWN]
    return tuple((locks.Tensor(size, len(own), part, kind, op, line),
                  count_live([b for b in memory.buffers if not any(b is other for other in own)]))
                 for (size, part, kind, op, line), own in largest)


Candidate = tuple[Change, "Callable[..., Memory] | None", dict[str, Any]]


def _list_candidates(memory: "Memory", variants: Variants) -> Iterator[Candidate]:
    """Yields changes that make sense for a step of these arguments, each with the function and its arguments that compile it."""
    arguments = variants.arguments
    options, policy, is_trained_here = arguments["options"], arguments["policy"], arguments["optimizer"] is not None
    gradients, residuals = memory.gradients, memory.residuals
    if "budget=" not in options and "slowdown=" not in options:
        budget = memory.peak - int((1 - BUDGET) * memory.arena)
        yield (Change(f"budget={budget}", "residuals", residuals), variants.measure,
               {"budget": budget, "budget_of": "step", "slowdown": None})
        if arguments["slowdown"] is None:
            yield (Change(f"slowdown={SLOWDOWN}", "residuals", residuals), variants.measure, {"budget": None, "slowdown": SLOWDOWN})
    layers = policies.layers()
    if str(policy) != str(layers):
        yield Change("policy=remat.layers()", "residuals", residuals), variants.measure, {"policy": layers}
    text = arguments["text"]
    has_regions = (b"remat.region" if isinstance(text, bytes) else "remat.region") in text
    if has_regions and str(policy) != str(policies.nothing_saveable):
        yield (Change("policy=remat.nothing_saveable", "residuals", residuals), variants.measure,
               {"policy": policies.nothing_saveable})
    accumulates, clips = (arguments["accumulate"] or 1) > 1, arguments["clip_global_norm"] is not None
    if is_trained_here and not arguments["eager"] and (clips or accumulates or arguments["eager"] is False):
        note = ", and ".join(["the backward runs twice"] * clips + ["what the forward saves is kept for all micro-batches"] * accumulates)
        yield Change("eager=True", "gradients", gradients, note=note), variants.measure, {"eager": True}
    if is_trained_here:
        count = 2 * (arguments["accumulate"] or 1)
        about = sum(getattr(memory, part) for part in ("residuals", "recomputed", "workspaces", "temporaries"))
        note = "" if variants.halve else "remat.fit(make_step, memory, batch=...) compiles it"
        yield (Change(f"accumulate={count}, of half the batch", "all but gradients", about, same_bits=False, note=note),
               variants.halve, {"accumulate": count, "eager": None})
    largest = memory.at_peak[0] if memory.at_peak else None
    if largest and largest.type.count("x") > 1 and "loss-tile=" not in options:
        tile = f"loss-tile={largest.bytes // TILES}"
        yield (Change(f"options={tile!r}", "the largest tensor, if it is a loss's logits", largest.bytes, same_bits=False),
               variants.measure, {"options": f"{options} {tile}".strip()})


def _compile(candidate: Candidate, memory: "Memory") -> Change:
    """Returns the change with the memory that is left, or with a note that says why there is none."""
    change, measure, arguments = candidate
    if measure is None:
        return change
    logger.info("compiling a step with %s", change.text)
    try:
        left = measure(**arguments)
    except (CompileError, ExportError, ValueError) as error:
        return dataclasses.replace(change, note=str(error) or type(error).__name__)
    if left.data != memory.data:
        return dataclasses.replace(change, note=f"its data has {left.data:,} bytes, not {memory.data:,}")
    return dataclasses.replace(change, memory=left)


def advise(memory: "Memory", variants: Variants | None, compiles: bool) -> Advice:
    """Returns the result of `Memory.advise`. Raises a ValueError if `compiles` and there is nothing to compile variants by."""
    if compiles and variants is None:
        raise ValueError("these figures are not of a step of this process, so there is no model to compile; use step.memory or "
                         "remat.mlir.memory")
    # Which is known when a step is on its device.
    memory = dataclasses.replace(memory, runtime=0)
    candidates = list(_list_candidates(memory, variants)) if variants else []
    if compiles:
        changes = [_compile(candidate, memory) for candidate in candidates]
        # A model without a loss head has no tiles.
        changes = [c for c in changes if c.same_bits or not c.memory or c.memory.peak < memory.peak]
        changes.sort(key=lambda c: (c.memory is None, c.memory.peak if c.memory else -c.at_peak))
    else:
        changes = sorted((change for change, _, _ in candidates), key=lambda c: -c.at_peak)
    return Advice(memory, tuple(changes), _find_tensors(memory), compiles)
