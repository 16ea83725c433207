# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Diagnostics of the compiler, and the exceptions for models and for calls of a step."""
import dataclasses
from collections.abc import Iterable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler.

    `severity` is "error", "warning" or "remark"; `line` and `column` count from 1 and are 0 where `file` is empty, which
    means that the place is not known. `text` is all of it, as tools print it: with the line of the source, and with its
    `notes`. `code` is what a program may decide by, as texts change: "budget-missed" if no plan is within the budget,
    "out-of-memory" if the machine has no memory for the step, and otherwise empty.
    """

    severity: str
    message: str
    file: str
    line: int
    column: int
    text: str
    code: str = ""
    notes: tuple["Diagnostic", ...] = ()

    def __str__(self) -> str:
        return self.text or self.message


class CompileError(Exception):
    """The model cannot be compiled. The exception's text is that of the compiler's errors, with their places in the
    model; `diagnostics` has all messages, warnings included, and `code` is that of the first error with one."""

    def __init__(self, diagnostics: Iterable[Diagnostic]):
        self.diagnostics = tuple(diagnostics)
        errors = [d for d in self.diagnostics if d.severity == "error"]
        self.code = next((d.code for d in errors if d.code), "")
        super().__init__("\n".join(str(d).rstrip() for d in errors) or "the compiler failed without a message")

    def __reduce__(self) -> tuple[Any, ...]:
        return CompileError, (self.diagnostics,)  # so that it comes back from another process


class ExportError(Exception):
    """The front end cannot say in upstream dialects what the model does."""


class OverBudgetError(Exception):
    """A step takes more memory than it may: than what `remat.fit` gets, or than a lock says."""


class StepError(Exception):
    """A step that runs found something wrong with its data, such as an index outside of a table. Unless the text says
    otherwise, parameters and states are as before the call."""


class RankError(Exception):
    """Another rank has failed, runs another program, or cannot be reached (`remat.Mesh`)."""


def gather(records: Iterable[tuple[Any, ...]]) -> list[Diagnostic]:
    """The compiled module's tuples, with notes at what they belong to."""
    diagnostics: list[Diagnostic] = []
    for severity, *rest in records:
        diagnostic = Diagnostic(severity, *rest)
        if severity == "note" and diagnostics:
            last = diagnostics[-1]
            diagnostics[-1] = dataclasses.replace(last, notes=(*last.notes, diagnostic))
        else:
            diagnostics.append(diagnostic)
    return diagnostics
