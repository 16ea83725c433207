"""What the memory of a step is made of, in bytes, known before the first step."""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class LiveBuffer:
    """Something that is alive when most is. `part` is residual, gradient, workspace, temporary, or call: all that a
    called function needs; `type` is as in 8x16xf32; `op` writes it first, at `line` of the model."""

    bytes: int
    part: str
    type: str
    op: str
    line: str


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes by class. `peak` is all that a step needs: what lives between steps (`parameters`, `optimizer_state`,
    `model_state`), the batch (`data`), `results`, and the `arena` with everything that lives within a step. What is in
    the arena when most is alive: `residuals` (of the forward, for the backward), `gradients`, `workspaces` and
    `temporaries`; their sum can be less than the arena where buffers do not fit without a gap."""

    parameters: int
    optimizer_state: int
    model_state: int
    data: int
    results: int
    arena: int
    residuals: int
    gradients: int
    workspaces: int
    temporaries: int
    constants: int
    recomputed_ops: int
    at_peak: tuple[LiveBuffer, ...]

    @property
    def peak(self) -> int:
        return (self.parameters + self.optimizer_state + self.model_state + self.data + self.results + self.arena)

    @classmethod
    def from_report(cls, text: str, function: str) -> "Memory":
        """Reads what `remat-train="report=FILE"` writes."""
        report = next(f for f in json.loads(text)["functions"] if f["name"] == function)
        arguments = {name: report["arguments"][name] for name in
                     ("parameters", "optimizer_state", "model_state", "data", "results")}
        parts = {name: report["peak"][name] for name in ("residuals", "gradients", "workspaces", "temporaries")}
        return cls(**arguments, **parts, arena=report["arena"], constants=report["constants"],
                   recomputed_ops=report["recomputed_ops"], at_peak=tuple(LiveBuffer(**b) for b in report["at_peak"]))

    def __repr__(self):
        rows = [("peak", self.peak, 0), ("parameters", self.parameters, 1), ("optimizer state", self.optimizer_state, 1),
                ("model state", self.model_state, 1), ("data", self.data, 1), ("results", self.results, 1),
                ("arena", self.arena, 1), ("residuals", self.residuals, 2), ("gradients", self.gradients, 2),
                ("workspaces", self.workspaces, 2), ("temporaries", self.temporaries, 2)]
        width = max(len(f"{size:,}") for _, size, _ in rows)
        return "\n".join(["memory of a step, in bytes"] +
                         [f"  {'  ' * level + name:<22}{size:>{width},}" for name, size, level in rows])
