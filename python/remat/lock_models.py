# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m remat memory lock` and `check`: models in files, which are compiled up to where their memory is known."""
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from remat import locks
from remat.errors import CompileError, OverBudgetError
from remat.mlir import MemoryOfModel, make_request, measure


def _measure(path: str, settings: Mapping[str, str]) -> MemoryOfModel:
    request = make_request(Path(path).read_bytes(), file_name=path, optimizer=settings.get("optimizer") or None,
                           passes=settings.get("passes", ""), options=settings.get("options", ""))
    return measure(request)


def _measure_or_say(path: str, settings: Mapping[str, str]) -> MemoryOfModel | None:
    """The memory of a model; None, after a message, if it cannot be compiled."""
    try:
        return _measure(path, settings)
    except (CompileError, OSError, ValueError) as error:
        print(error if isinstance(error, CompileError) else f"error: {error}", file=sys.stderr)
        return None


def _report_errors(work: Callable[[], int]) -> int:
    """Does `work`, and returns its exit status, or 1 after a message about the lock."""
    logging.getLogger("remat").setLevel(logging.ERROR)  # which locks are not about
    try:
        return work()
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def lock(models: Iterable[str], path: str, settings: Mapping[str, str]) -> int:
    """Writes entries of the models to the lock `path`, which names them relative to its folder. Returns the exit status: 1, and
    nothing is written, if a model cannot be compiled."""
    folder = Path(path).absolute().parent

    def work() -> int:
        entries, removed, failed = {}, [], False
        for model in models:
            memory = _measure_or_say(model, settings)
            failed |= memory is None
            if memory is None:
                continue
            name = Path(os.path.relpath(Path(model).absolute(), folder)).as_posix()
            removed.append(("evaluation", name))
            for kind, part in (("model", memory.step), ("evaluation", memory.evaluation)):
                if part:
                    entries[kind, name] = locks.make_entry(part, settings if kind == "model" else None)
        if failed:
            return 1
        locks.write(path, entries, removed)
        for (kind, name), entry in entries.items():
            print(f"{kind} {name}: {entry.peak:,} bytes")
        return 0

    return _report_errors(work)


def check(path: str, tolerance: float) -> int:
    """Compiles the models of the lock `path` and prints a line for each entry. Returns the exit status: 1 if one takes more than
    the lock and the tolerance permit, or cannot be compiled."""
    folder = Path(path).parent

    def compare(key: locks.Key, entry: locks.Entry, memory: MemoryOfModel) -> bool:
        part = memory.step if key[0] == "model" else memory.evaluation
        if not part:
            print(f"error: {key[1]} has no evaluation, but {path} does: lock it again", file=sys.stderr)
            return False
        try:
            print(locks.compare(" ".join(key), path, entry, part, tolerance))
            return True
        except OverBudgetError as error:
            print(f"error: {error}", file=sys.stderr)
            return False

    def work() -> int:
        entries, measured, fits = locks.read(path), {}, True
        if not entries:
            raise ValueError(f"{path} has no entries")
        for key, entry in entries.items():
            if key[0] == "step":
                print(f"step {key[1]}: not compared here, but where it is made, by step.memory.check")
                continue
            name = key[1]
            if name not in measured:
                model = entries.get(("model", name))
                measured[name] = _measure_or_say(str(folder / name), model.settings if model else {})
            memory = measured[name]
            fits &= memory is not None and compare(key, entry, memory)
        return 0 if fits else 1

    return _report_errors(work)
