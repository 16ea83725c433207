# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of a step by class, in bytes, known before the first step."""
import dataclasses
import functools
import html
import itertools
import json
import os

from remat import figures

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
class Memory:
    """Bytes by class. `peak` is all that a step needs: values that live between steps (`parameters`, `optimizer_state`,
    `model_state`), the batch (`data`), `results`, and the `arena` with the buffers that live within a step. The classes of the
    buffers that are live at the peak of the arena: `residuals` (of the forward, for the backward), `gradients`, `recomputed`
    (values that the backward recomputes), `workspaces` and `temporaries`; their sum can be less than the arena where buffers do
    not fit without a gap. On a GPU, `runtime` is the memory that its runtime keeps there, with the program's `constants`.

    `buffers` are all buffers of the arena, in program order; the backward begins at position `backward` (-1: there is no
    backward). A notebook shows `figure()`, which `save("memory.svg")` writes to a file."""

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
        return max((count for _, count in self.timeline), default=0)

    @property
    def at_peak(self) -> tuple[LiveBuffer, ...]:
        """The buffers that are live at the peak, the largest first."""
        most = self.live
        peak = next((position for position, count in self.timeline if count == most), -1)
        return tuple(sorted((b for b in self.buffers if b.first <= peak <= b.last), key=lambda b: -b.bytes))

    @classmethod
    def from_report(cls, text: str, function: str, runtime: int = 0) -> "Memory":
        """Reads the report that `remat-train="report=FILE"` writes. `runtime` is the memory that a GPU's runtime has for itself,
        or 0."""
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
                   runtime=runtime and runtime + report["constants"])

    def figure(self) -> str:
        """Returns the text of an SVG with the live bytes over the step, by class. It shows for the buffer under the pointer
        which tensor it is, and the line of the model."""
        return figures.draw_memory(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure to a file, `memory.svg`."""
        figures.save(self.figure(), path)

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
