# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on several processes, which `mpirun` starts: every one runs the same script, and compiles its part of the same step.

    mesh = remat.Mesh(data=2)                     # mpirun -n 2 python train.py
    step = remat.mlir.train_step(text, optimizer=remat.AdamW(3e-4), mesh=mesh)
    for batch in batches:
        loss = step(*mesh.rows(batch))
"""
import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from remat import _native
from remat.errors import RankError

Shard = str | Sequence[str | None]


class Mesh:
    """A grid of ranks with an axis for each keyword: `Mesh(data=2)`, `Mesh(data=2, model=2)`. Ranks are numbered row-major.

    `parts` says into how many parts a dimension that is split along an axis is cut for sums, by default one for each of its ranks:
    `Mesh(data=2, parts={"data": 4})`. The parts decide the bits of a step, and the ranks, which divide them, do not.

    `mesh.rank` is the number of this process, `mesh.size` how many there are. Raises a ValueError unless as many processes were
    started as the mesh has ranks. A mesh of one needs no mpirun."""

    def __init__(self, parts: Mapping[str, int] | None = None, **axes: int):
        if not axes:
            raise TypeError("a mesh needs an axis, as in remat.Mesh(data=2)")
        for name, ranks in axes.items():
            if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
                raise ValueError(f"axis {name!r} must have a number of ranks of at least 1, but got {ranks!r}")
        self.axes = dict(axes)
        self.parts = dict(axes)
        for name, count in (parts or {}).items():
            self._check_axis(name, "parts")
            if isinstance(count, bool) or not isinstance(count, int) or count < 1 or count % axes[name]:
                raise ValueError(f"axis {name!r} has {axes[name]} ranks, which must divide its parts, but got {count!r}")
            self.parts[name] = count
        self.size = 1
        for ranks in axes.values():
            self.size *= ranks
        self.rank, started = _start()
        if started != self.size:
            raise ValueError(f"{self} has {_count(self.size)}, but {_describe_start(started)}; start it with {_command(self.size)}")
        if self.size > 1:
            _end_all_by_exceptions()

    def __repr__(self) -> str:
        parts = {name: count for name, count in self.parts.items() if count != self.axes[name]}
        return f"remat.Mesh({', '.join(f'{name}={ranks}' for name, ranks in self.axes.items())}{f', parts={parts}' if parts else ''})"

    def coordinate(self, axis: str) -> int:
        """This rank's place along an axis."""
        self._check_axis(axis, "coordinate")
        stride = 1
        for name in reversed(self.axes):
            if name == axis:
                break
            stride *= self.axes[name]
        return self.rank // stride % self.axes[axis]

    def rows(self, batch: Any, axis: str = "data") -> Any:
        """Returns this rank's rows of a batch that all ranks have: of each array its part along dimension 0. `batch` is a sequence or
        a dictionary of arrays, or one array, of which it makes a tuple. What has no dimension stays as it is. For arrays that are
        split otherwise there is `step.rows`."""
        self._check_axis(axis, "rows")
        if isinstance(batch, Mapping):
            return {name: self._row(value, axis, repr(name)) for name, value in batch.items()}
        values = [batch] if hasattr(batch, "shape") else batch
        return tuple(self._row(value, axis, f"array {i}") for i, value in enumerate(values))

    def _row(self, value: Any, axis: str, what: str) -> Any:
        shape = getattr(value, "shape", ())
        return take(value, 0, self.axes[axis], self.coordinate(axis), what) if len(shape) else value

    def _check_axis(self, axis: str, what: str) -> None:
        if axis not in self.axes:
            raise ValueError(f"{what}: there is no axis {axis!r}; the axes of the mesh are {', '.join(map(repr, self.axes))}")

    # --- For the compiler ----------------------------------------------------------------------

    @property
    def option(self) -> str:
        """As `remat-train` has it."""
        return ",".join(f"{name}:{ranks}:{self.parts[name]}" for name, ranks in self.axes.items())

    def pairs(self, shard: Mapping[str, Shard]) -> list[tuple[str, list[str | None]]]:
        """Returns the names of `shard`, each with an axis or None for each dimension."""
        result: list[tuple[str, list[str | None]]] = []
        for name, axes in shard.items():
            listed: list[str | None] = [axes] if isinstance(axes, str) else list(axes)
            for axis in listed:
                if axis is not None:
                    self._check_axis(axis, f"shard[{name!r}]")
            result.append((name, listed))
        return result

    # --- With the other ranks ------------------------------------------------------------------

    def exchange(self, text: str) -> list[str]:
        """Returns the texts of all ranks, by rank."""
        if self.size == 1:
            return [text]
        problem, texts = _native.exchange_texts(text.encode())
        if problem is not None:
            raise RankError(problem)
        return [other.decode() for other in texts]

    def compare(self, records: Mapping[str, str]) -> None:
        """Raises a RankError on all ranks, which names one whose records are not those of the first rank."""
        texts = [json.loads(text) for text in self.exchange(json.dumps(records))]
        for rank, other in enumerate(texts):
            for what in texts[0]:
                if other.get(what) != texts[0][what]:
                    raise RankError(f"rank {rank} has another {what} than rank 0: {_shorten(other.get(what))} instead of "
                                    f"{_shorten(texts[0][what])}; all ranks must run the same program")

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Raises what this rank raises in the context, or a RankError that names another one that has raised something."""
        error: Exception | None = None
        try:
            yield
        except Exception as raised:
            error = raised
        texts = self.exchange(_message_of(error) if error else "")
        if error:
            raise error
        for rank, text in enumerate(texts):
            if text:
                raise RankError(f"rank {rank}: {text}")


def take(value: Any, dim: int, ranks: int, coordinate: int, what: str) -> Any:
    """Returns one of `ranks` equal parts of an array along `dim`."""
    size = value.shape[dim]
    if size % ranks:
        raise ValueError(f"{what} has {size} elements in dimension {dim}, which {ranks} ranks do not divide")
    part = size // ranks
    return value[(slice(None),) * dim + (slice(coordinate * part, (coordinate + 1) * part),)]


def fingerprint(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:16]


AnyError = TypeVar("AnyError", bound=Exception)


def as_told(error: AnyError) -> AnyError:
    """Marks an exception that all ranks have: of a step that they were in together."""
    error.remat_is_told = True  # type: ignore[attr-defined]
    return error


def tell_others(error: Exception) -> None:
    """Fails the step that the other ranks run, or are about to, unless they know of the exception."""
    if not getattr(error, "remat_is_told", False):
        _native.fail_step(_message_of(error))
        as_told(error)


def _message_of(error: Exception) -> str:
    return str(error) or type(error).__name__


def _shorten(text: Any) -> str:
    return text if isinstance(text, str) and len(text) <= 60 else f"{str(text)[:57]}..."


def _start() -> tuple[int, int]:
    problem, rank, size = _native.start_ranks()
    if problem is not None:
        raise RankError(problem)
    return int(rank), int(size)


def _count(ranks: int) -> str:
    return f"{ranks} rank{'s' * (ranks != 1)}"


def _describe_start(started: int) -> str:
    return "this process was started alone" if started == 1 else f"{started} processes were started"


def _command(ranks: int) -> str:
    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "train.py"
    if ranks == 1:
        return f"python {script}"
    without = "" if shutil.which("mpirun") else " (mpirun is not found: install Open MPI or MPICH, Debian's openmpi-bin or mpich)"
    return f"mpirun -n {ranks} python {script}{without}"


_hook: Any = None


def _end_all_by_exceptions() -> None:
    """Makes a process that an exception ends leave without waiting for the other ranks: who started them ends those then."""
    global _hook
    if _hook is not None:
        return
    _hook = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        _hook(kind, error, traceback)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)

    sys.excepthook = end
