# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Locks of memory: text files with the bytes that steps take, which later versions of their models are held to.

A file has an entry for each step. Numbers stand at the start of a line and are not aligned, so that a change of one is a change
of one line; names and lines of the model come last, since they may have any character but the end of a line.
"""
import collections
import dataclasses
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from remat.errors import OverBudgetError
from remat.files import write_text

if TYPE_CHECKING:  # that module locks by this one
    from remat.memory import Memory

HEADER = """\
# The bytes that steps of training take, and the largest tensors where they take most. `python -m remat memory check` compiles
# these models and fails where one needs more; `python -m remat memory lock` writes this file.
"""
# A model that the command line compiles, its evaluation, and a step that Python makes.
KINDS = "model", "evaluation", "step"
SETTINGS = "optimizer", "passes", "options"
CLASSES = "parameters", "optimizer state", "model state", "data", "results", "arena"
LISTED = 16  # tensors in and outside of the arena
SHOWN = 5  # tensors that an error names

Key = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """`count` tensors of so many bytes each that are alike: `what` is the operation that writes them, at `line`, or a name."""

    bytes: int
    count: int
    part: str
    type: str
    what: str
    line: str = ""

    @property
    def total(self) -> int:
        return self.bytes * self.count

    def describe(self) -> str:
        """Returns a description for errors."""
        place = f"{self.line}: " if self.line else ""
        count = f"{self.count} x " if self.count > 1 else ""
        return f"{place}{self.part} {count}{self.type} of {self.what}: {self.total:,} bytes"

    def __str__(self) -> str:
        fields = [f"{self.bytes} x {self.count}" if self.count > 1 else str(self.bytes), self.part, self.type, self.what]
        return " | ".join(fields + [self.line] * bool(self.line))


@dataclasses.dataclass(frozen=True)
class Entry:
    """A step in a lock: the bytes of its classes, and the largest tensors. `rests` says of tensors outside and in the arena how
    many bytes those have that are not listed. `settings` is what the command line compiles it with."""

    classes: Mapping[str, int]
    held: tuple[Tensor, ...]
    live: tuple[Tensor, ...]
    rests: tuple[int, int]
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def peak(self) -> int:
        return sum(self.classes.values())


def _on_one_line(text: str) -> str:
    return text.encode("unicode_escape").decode() if re.search(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", text) else text


def _list(tensors: Iterable[Tensor], most: int) -> tuple[tuple[Tensor, ...], int]:
    """The largest tensors, with those that are alike as one, and the bytes of the others."""
    counts = collections.Counter(tensors)
    merged = [dataclasses.replace(tensor, count=count) for tensor, count in counts.items()]
    merged.sort(key=lambda t: (-t.bytes, t.part, t.type, t.what, t.line))
    return tuple(merged[:most]), sum(t.total for t in merged[most:])


def make_entry(memory: "Memory", settings: Mapping[str, str] | None = None, most: int = LISTED) -> Entry:
    """Returns the entry of a step, with so many tensors of each kind."""
    classes = {name: getattr(memory, name.replace(" ", "_")) for name in CLASSES}
    held, other_held = _list((Tensor(t.bytes, 1, t.part, t.type, _on_one_line(t.name)) for t in memory.held), most)
    live, other_live = _list((Tensor(b.bytes, 1, b.part, b.type, _on_one_line(b.op), _on_one_line(b.line))
                              for b in memory.at_peak), most)
    return Entry(classes, held, live, (other_held, other_live), {k: " ".join(v.split()) for k, v in (settings or {}).items() if v})


# --- Files -------------------------------------------------------------------------------------


def _format(key: Key, entry: Entry) -> str:
    lines = [f"\n{key[0]} {key[1]}"]
    lines += [f"  {name}: {value}" for name, value in entry.settings.items()]
    lines.append(f"  {entry.peak} peak")
    lines += [f"    {entry.classes[name]} {name}" for name in CLASSES]
    for title, tensors, rest in (("between steps", entry.held, entry.rests[0]), ("at the peak", entry.live, entry.rests[1])):
        lines.append(f"  {title}:")
        lines += [f"    {tensor}" for tensor in tensors]
        lines += [f"    {rest} in smaller ones"] * bool(rest)
    return "\n".join(lines) + "\n"


def _parse_tensor(text: str) -> Tensor | None:
    fields = text.split(" | ", 4)
    size = re.fullmatch(r"(\d+)(?: x (\d+))?", fields[0], re.ASCII)
    return Tensor(int(size[1]), int(size[2] or 1), *fields[1:]) if size and len(fields) >= 4 else None


class _Reader:
    """Reads a file line by line."""

    def __init__(self, path: Path):
        self.path, self.number = path, 0
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a lock of memory: it is not text") from None
        self.lines = text.split("\n")

    def fail(self, expected: str) -> ValueError:
        line = self.peek()
        return ValueError(f"{self.path}:{self.number + 1}: expected {expected}, but got {line!r}" if line is not None else
                          f"{self.path}: expected {expected}, but the file ends")

    def peek(self) -> str | None:
        """The next line that says something; None at the end."""
        while self.number < len(self.lines) and (not self.lines[self.number].strip() or self.lines[self.number].startswith("#")):
            self.number += 1
        return self.lines[self.number] if self.number < len(self.lines) else None

    def take(self, pattern: str, expected: str) -> re.Match[str]:
        found = self.take_if(pattern)
        if not found:
            raise self.fail(expected)
        return found

    def take_if(self, pattern: str) -> re.Match[str] | None:
        found = re.fullmatch(pattern, self.peek() or "", re.ASCII)
        self.number += found is not None
        return found

    def take_tensors(self, title: str) -> tuple[tuple[Tensor, ...], int]:
        self.take(f"  {title}:", f"'  {title}:'")
        tensors = []
        while found := self.take_if(r"    (\d.* \| .*)"):
            tensor = _parse_tensor(found[1])
            if not tensor:
                self.number -= 1
                raise self.fail("bytes, part, type and name of a tensor with ' | ' between them")
            tensors.append(tensor)
        rest = self.take_if(r"    (\d+) in smaller ones")
        return tuple(tensors), int(rest[1]) if rest else 0

    def take_entry(self) -> tuple[Key, Entry]:
        head = self.take(rf"({'|'.join(KINDS)}) (.+)", f"{', '.join(KINDS[:-1])} or {KINDS[-1]} and a name")
        settings = {}
        while found := self.take_if(rf"  ({'|'.join(SETTINGS)}): (.+)"):
            settings[found[1]] = found[2]
        peak = int(self.take(r"  (\d+) peak", "'  <bytes> peak'")[1])
        classes = {name: int(self.take(rf"    (\d+) {name}", f"'    <bytes> {name}'")[1]) for name in CLASSES}
        (held, other_held), (live, other_live) = self.take_tensors("between steps"), self.take_tensors("at the peak")
        entry = Entry(classes, held, live, (other_held, other_live), settings)
        if entry.peak != peak:
            raise ValueError(f"{self.path}: the peak of {head[2]} is {peak} bytes, but its classes have {entry.peak}; lock it "
                             "again")
        return (head[1], head[2]), entry


def read(path: str | os.PathLike[str]) -> dict[Key, Entry]:
    """Returns the entries of a file. Raises a ValueError that names the line where it is not a lock."""
    reader = _Reader(Path(path))
    entries: dict[Key, Entry] = {}
    while reader.peek() is not None:
        key, entry = reader.take_entry()
        if key in entries:
            raise ValueError(f"{path} has two entries for {' '.join(key)}")
        entries[key] = entry
    return entries


def write(path: str | os.PathLike[str], entries: Mapping[Key, Entry], without: Iterable[Key] = ()) -> None:
    """Adds entries to a file, or puts them in the place of those of their names. Those of `without` are removed."""
    for _, name in entries:
        if _on_one_line(name) != name or name != name.strip() or not name:
            raise ValueError(f"the name of a step must be some text on one line, but got {name!r}")
    removed = set(without)
    old = {key: entry for key, entry in (read(path) if os.path.exists(path) else {}).items() if key not in removed}
    both = sorted((old | dict(entries)).items(), key=lambda item: (item[0][1], KINDS.index(item[0][0])))
    text = HEADER + "".join(_format(key, entry) for key, entry in both)
    write_text(path, text)


# --- Comparison --------------------------------------------------------------------------------


def _list_growth(before: tuple[Tensor, ...], rest: int, tensors: tuple[Tensor, ...]) -> list[tuple[int, str]]:
    """Returns for each tensor that has more bytes than its counterpart in a lock, or none there, how many these are, and a line
    that says so. Of tensors that may be in the `rest` of the lock, which is not listed, nothing is known."""
    unmatched, known = list(before), min((t.bytes for t in before), default=0) if rest else 0
    grown = []

    left = list(tensors)
    # The same tensor; of another shape; at another line, as all are below of one that is added.
    for fields in (("part", "type", "what", "line"), ("part", "what", "line"), ("part", "type", "what")):
        for tensor in list(left):
            was = next((t for t in unmatched if all(getattr(t, f) == getattr(tensor, f) for f in fields)), None)
            if was:
                unmatched.remove(was)
                left.remove(tensor)
                kind = f" ({was.type})" if was.type != tensor.type else ""
                grown.append((tensor.total - was.total, f"  {tensor.describe()}, instead of {was.total:,}{kind}"))
    grown += [(t.total, f"  {t.describe()}, which the lock does not have") for t in left if t.bytes > known]
    return [(growth, line) for growth, line in grown if growth > 0]


def _explain_growth(old: Entry, new: Entry) -> list[str]:
    """Returns a line for each class and for the largest tensors that have more bytes."""
    lines = [f"  {name}: {new.classes[name]:,} bytes instead of {old.classes[name]:,}" for name in CLASSES
             if new.classes[name] > old.classes[name]]
    grown = _list_growth(old.held, old.rests[0], new.held) + _list_growth(old.live, old.rests[1], new.live)
    return lines + [line for _, line in sorted(grown, key=lambda item: -item[0])[:SHOWN]]


def compare(name: str, path: str | os.PathLike[str], old: Entry, memory: "Memory", tolerance: float = 0.0) -> str:
    """Returns the sentence of `Memory.check`, or raises its error."""
    if not 0 <= tolerance < float("inf"):
        raise ValueError(f"the tolerance must be a fraction of at least 0, such as 0.02, but got {tolerance}")
    new = make_entry(memory, most=len(memory.held) + len(memory.buffers))
    more = new.peak - old.peak
    if not more:
        return f"{name} takes {new.peak:,} bytes, as {path} says"
    if more < 0:
        return f"{name} takes {new.peak:,} bytes, {-more:,} fewer than {path} says; lock it to keep that"
    percent = f"{more:,} bytes ({100 * more / old.peak:.3g} %)" if old.peak else f"{more:,} bytes"
    if more <= tolerance * old.peak:
        return f"{name} takes {new.peak:,} bytes, {percent} more than {path} says, which the tolerance permits"
    raise OverBudgetError("\n".join([f"{name} takes {new.peak:,} bytes, {percent} more than the {old.peak:,} of {path}",
                                     *_explain_growth(old, new)]))


def check(path: str | os.PathLike[str], key: Key, memory: "Memory", tolerance: float = 0.0) -> str:
    """Compares with the entry `key` of a file. Raises a ValueError if there is no such entry."""
    entries = read(path)
    if key not in entries:
        raise ValueError(f"{path} has no entry '{' '.join(key)}'; it has "
                         f"{', '.join(repr(' '.join(known)) for known in entries) or 'none at all'}")
    return compare(key[1], path, entries[key], memory, tolerance)
