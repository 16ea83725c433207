# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of a step by class, in bytes, known before the first step."""
import dataclasses
import functools
import html
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from remat import figures, files, locks, pages
from remat.advice import Advice, Variants, advise, count_live

if TYPE_CHECKING:
    from remat.arrays import Argument

PARTS = "residuals", "gradients", "recomputed", "workspaces", "temporaries"


@dataclasses.dataclass(frozen=True)
class LiveBuffer:
    """Bytes of the arena from one position of the program to another, both included. `part` is residual, gradient,
    recomputed, workspace, temporary, or call: all that a called function needs; `type` is as in 8x16xf32; `op` writes it first, at
    `line` of the model, or, where an export has no lines, in that scope: a module of PyTorch's, a name scope of JAX's."""

    bytes: int
    part: str
    type: str
    op: str
    line: str
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class HeldTensor:
    """A tensor outside of the arena: `part` is parameter, optimizer state, model state or data; `type` is as in 8x16xf32."""

    bytes: int
    part: str
    type: str
    name: str


HELD_BY_STEP = {"parameter": "parameter", "optimizer": "optimizer state", "state": "model state", "data": "data"}
HELD_BY_EVALUATION = {"parameter": "parameter", "state": "model state", "eval_data": "data"}


def list_held(arguments: "Iterable[Argument]", parts: Mapping[str, str]) -> tuple[HeldTensor, ...]:
    """Returns the tensors outside of the arena, the largest first. `parts` are those of a step or of an evaluation, by roles."""
    held = [HeldTensor(a.nbytes, parts[a.role], "x".join([*map(str, a.shape), a.type]), a.name)
            for a in arguments if a.role in parts]
    return tuple(sorted(held, key=lambda tensor: -tensor.bytes))


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes by class. `peak` is all that a step needs: values that live between steps (`parameters`, `optimizer_state`,
    `model_state`), the batch (`data`), `results`, and the `arena` with the buffers that live within a step. The classes of the
    buffers that are live at the peak of the arena: `residuals` (of the forward, for the backward), `gradients`, `recomputed`
    (values that the backward recomputes), `workspaces` and `temporaries`; their sum can be less than the arena where buffers do
    not fit without a gap. On a GPU, `runtime` is the memory that its runtime keeps there, with the program's `constants`.

    `buffers` are all buffers of the arena, in program order; the backward begins at position `backward` (-1: there is no
    backward). `held` are the tensors outside of the arena, without results, the largest first; `variants` is what `advise` compiles
    by. A notebook shows `figure()`, which `save("memory.svg")` writes to a file."""

    parameters: int
    optimizer_state: int
    model_state: int
    data: int
    results: int
    arena: int
    residuals: int
    gradients: int
    recomputed: int
    workspaces: int
    temporaries: int
    constants: int
    recomputed_ops: int
    backward: int
    buffers: tuple[LiveBuffer, ...]
    runtime: int = 0
    held: tuple[HeldTensor, ...] = dataclasses.field(default=(), compare=False)
    variants: Variants | None = dataclasses.field(default=None, compare=False)

    @property
    def peak(self) -> int:
        return (self.parameters + self.optimizer_state + self.model_state + self.data + self.results + self.arena +
                self.runtime)

    @functools.cached_property
    def timeline(self) -> tuple[tuple[int, int], ...]:
        """How many bytes of the arena are in use: (position, bytes from there on) wherever that may change."""
        changes = sorted(itertools.chain(*(((b.first, b.bytes), (b.last + 1, -b.bytes)) for b in self.buffers)))
        live = itertools.accumulate(change for _, change in changes)
        return tuple(dict(zip((position for position, _ in changes), live)).items())

    @property
    def live(self) -> int:
        """The most bytes of the arena that are live at once. The arena is larger where buffers do not fit without a gap."""
        return count_live(self.buffers)

    @property
    def at_peak(self) -> tuple[LiveBuffer, ...]:
        """The buffers that are live at the peak, the largest first."""
        most = self.live
        peak = next((position for position, count in self.timeline if count == most), -1)
        return tuple(sorted((b for b in self.buffers if b.first <= peak <= b.last), key=lambda b: -b.bytes))

    @classmethod
    def from_report(cls, text: str, function: str, runtime: int = 0, held: tuple[HeldTensor, ...] = (),
                    variants: Variants | None = None) -> "Memory":
        """Reads the report that `remat-train="report=FILE"` writes. `runtime` is the memory that a GPU's runtime has for itself,
        or 0; the report does not name what is `held`."""
        report = next(f for f in json.loads(text)["functions"] if f["name"] == function)
        arguments = {name: report["arguments"][name] for name in
                     ("parameters", "optimizer_state", "model_state", "data", "results")}
        parts = {name: report["peak"][name] for name in PARTS}
        timeline = report["timeline"]
        buffers = tuple(LiveBuffer(size, part, shape, op, line, first, last)
                        for first, last, size, kind in timeline["live"]
                        for part, shape, op, line in [timeline["kinds"][kind]])
        return cls(**arguments, **parts, arena=report["arena"], constants=report["constants"],
                   recomputed_ops=report["recomputed_ops"], backward=timeline["backward"], buffers=buffers,
                   runtime=runtime and runtime + report["constants"], held=held, variants=variants)

    def figure(self) -> str:
        """Returns the text of an SVG with the live bytes over the step, by class. It shows for the buffer under the pointer
        which tensor it is, and the line of the model."""
        return figures.draw_memory(self)

    def save(self, path: str | os.PathLike[str], beside: "Mapping[str, Memory] | None" = None, name: str = "this step") -> None:
        """Writes the figure to a file, `memory.svg`, or a page, `memory.html`, that has no scripts and needs no network. A page can
        show other steps `beside` this one, such as those of several budgets, by name: their curves in one figure, the figures of all
        in one scale, and a table."""
        file = Path(path)
        if file.suffix.lower() not in (".svg", ".html"):
            raise ValueError(f"the file must be called {file.stem}.svg or {file.stem}.html, but got {file.name}")
        if file.suffix.lower() == ".svg":
            if beside:
                raise ValueError(f"a figure has one step; several are a page: the file must be called {file.stem}.html")
            figures.save(self.figure(), path)
            return
        if name in (beside or {}):
            raise ValueError(f"two steps are called '{name}'")
        files.write_text(file, pages.draw({name: self, **(beside or {})}))

    def lock(self, path: str | os.PathLike[str], name: str = "step") -> None:
        """Writes the peak and its largest tensors to a text file, for `check` of a later version. The file may have entries of
        other steps, by name, which stay. Memory that a GPU's runtime has for itself is not part of it."""
        locks.write(path, {("step", name): locks.make_entry(self)})

    def check(self, path: str | os.PathLike[str], name: str = "step", tolerance: float = 0.0) -> str:
        """Compares with what `lock` wrote, and returns a sentence that says how it differs. Raises a `remat.OverBudgetError`,
        which names tensors and their lines, if the step takes more than that and a `tolerance` (0.02: 2 %) on top."""
        return locks.check(path, ("step", name), self, tolerance)

    def advise(self, compile: bool = False) -> Advice:
        """Returns the changes that may lower the peak, ranked: a budget, a slowdown, policies, eager updates, micro-batches, tiles of
        a loss. A change has a figure of how many bytes at the peak it is about; with `compile`, it is compiled, up to where its memory
        is known, and has the figures that it leaves; those that change bits and leave no less are left out. No figure is an estimate,
        and memory that a GPU's runtime has for itself is in none."""
        return advise(self, self.variants, compile)

    def _repr_html_(self) -> str:
        return f"{self.figure()}<pre>{html.escape(repr(self))}</pre>"

    def __repr__(self) -> str:
        rows = [("peak", self.peak, 0), ("parameters", self.parameters, 1), ("optimizer state", self.optimizer_state, 1),
                ("model state", self.model_state, 1), ("data", self.data, 1), ("results", self.results, 1),
                ("arena", self.arena, 1), *((name, getattr(self, name), 2) for name in PARTS)]
        if self.runtime:
            rows.append(("runtime", self.runtime, 1))
        width = max(len(f"{size:,}") for _, size, _ in rows)
        return "\n".join(["memory of a step, in bytes"] +
                         [f"  {'  ' * level + name:<22}{size:>{width},}" for name, size, level in rows])
