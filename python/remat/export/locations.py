# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Locations: which line of the user's source they name, and how the text of a module has them, without the stacks of calls that
IREE repeats at each operation."""

import functools
import importlib.util
import itertools
import linecache
import re
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

POSITION = re.compile(r'"([^"]*)":(\d+):(\d+)(?: to \d*:\d+)?')  # "model.py":3:4 to :9
NAME = re.compile(r'"[^"]*"')
FUSED = re.compile(r"fused(?:<[^>]*>)?\[")
ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.M)
# Packages that models are written with. A line of theirs says how a layer works, but not which layer of the model it is.
FRAMEWORKS = "torch", "torch_mlir", "jax", "jaxlib", "flax", "haiku", "equinox", "einops", "remat"


@functools.cache
def framework_folders() -> tuple[str, ...]:
    """Returns the folders of the FRAMEWORKS that are installed, with a separator at their ends."""
    specs = map(importlib.util.find_spec, FRAMEWORKS)
    return tuple(f"{Path(spec.origin).parent}/" for spec in specs if spec and spec.origin)


@functools.cache
def is_of_user(path: str) -> bool:
    """Returns true if `path` is a file of the model, rather than of a framework, of Python itself, or of generated code."""
    if path.startswith(framework_folders()) or path.startswith(("<eval_with_key>", "<frozen ")):
        return False
    library = f"{sysconfig.get_path('stdlib')}/"
    return not path.startswith(library) or "site-packages/" in path.removeprefix(library)


@functools.cache
def shorten(path: str) -> str:
    """Returns `path`, without its folder if there is no such file: that of a notebook's cell names the process."""
    return path if Path(path).exists() else Path(path).name


def find_position(text: str) -> str | None:
    """Returns the first position in `text`, the innermost one of a stack of calls, that is in the user's source, or None. JAX
    counts columns from 0, MLIR from 1."""
    found = (match for match in POSITION.finditer(text) if is_of_user(match[1]))
    return next((f'"{shorten(match[1])}":{match[2]}:{int(match[3]) + 1}' for match in found), None)


def find_in_trace(trace: str) -> tuple[str, int, int] | None:
    """File, line and column of the innermost call of the user's source in a stack trace as Python prints it, which has no
    columns: that of the line's first character."""
    for path, line in reversed(re.findall(r'^ *File "([^"\n]*)", line (\d+)', trace, re.M)):
        if is_of_user(path):
            source = linecache.getline(path, int(line))
            return shorten(path), int(line), len(source) - len(source.lstrip()) + 1
    return None


def describe_line(trace: str | None) -> str:
    """`model.py:12: `, or nothing where a stack trace has none of the user's source."""
    place = find_in_trace(trace or "")
    return f"{place[0]}:{place[1]}: " if place else ""


def from_forward(frames: Iterable[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Those of the user's source, from the model's `forward` on, or from a derivative by hand: what is outside calls the export."""
    inside = itertools.dropwhile(lambda frame: frame.name not in ("forward", "vjp"), frames)
    return [frame for frame in inside if is_of_user(frame.filename)]


def parse_location(text: str, at: int) -> tuple[str | None, int]:
    """The location at `text[at]`, of whose positions in files only those of the user's source are left, one for each name; None
    if nothing is left of it. And where it ends."""
    if match := POSITION.match(text, at):
        return find_position(match[0]), match.end()
    if match := NAME.match(text, at):
        name, end = match[0], match.end()
        if text.startswith("(", end):
            begin, end = end, parse_location(text, end + 1)[1] + 1
            position = find_position(text[begin:end])
            name += f"({position})" if position else ""
        return name, end
    if text.startswith("callsite(", at):
        callee, end = parse_location(text, at + len("callsite("))
        caller, end = parse_location(text, end + len(" at "))
        both = f"callsite({callee} at {caller})" if callee and caller else callee or caller
        return both, end + 1
    if match := FUSED.match(text, at):
        parts, end = [], match.end() - len(", ")
        while text[end] != "]":
            part, end = parse_location(text, end + len(", "))
            parts.append(part)
        kept = list(dict.fromkeys(part for part in parts if part))
        return f"fused[{', '.join(kept)}]" if len(kept) > 1 else kept[0] if kept else None, end + 1
    if not text.startswith("unknown", at):
        raise ValueError(f"expected a location: {text[at:at + 80]}")
    return None, at + len("unknown")


def keep_scopes(text: str) -> str:
    """Returns `text` with each location reduced to its names and their positions in the user's source, in call sites and fused
    as they are, and referred to by an alias."""
    pieces: list[str] = []
    aliases: dict[str, str] = {}
    parsed: dict[str, tuple[str | None, int]] = {}
    at, text = 0, text + "\n"
    for match in re.finditer(r'\bloc\((?=["ucf])', text):
        if match.start() < at:
            continue
        rest = text[match.end():text.find("\n", match.end())]  # few differ
        if rest not in parsed:
            parsed[rest] = parse_location(rest, 0)
        location, length = parsed[rest]
        alias = aliases.setdefault(location, f"#loc{len(aliases)}") if location else "unknown"
        pieces += [text[at:match.start()], f"loc({alias}"]
        at = match.end() + length
    definitions = [f"{alias} = loc({location})\n" for location, alias in aliases.items()]
    return "".join([*pieces, text[at:].rstrip("\n"), "\n", *definitions])


def describe_location(location: str) -> str:
    """Returns `model.py:12 (layers.0)`, or as much of it as the text `location` has; may be empty."""
    position = find_position(location)
    name = next((m[0][1:-1] for m in NAME.finditer(location) if not POSITION.match(location, m.start())), "")
    if not position:
        return name
    path, line, _ = position.rsplit(":", 2)
    return f"{path[1:-1]}:{line}" + (f" ({name})" if name else "")


def describe_next(text: str, at: int) -> str:
    """Describes the first location of the module `text` after the offset `at`; empty if there is no location."""
    match = re.compile(r"\bloc\((#loc\d*|[\"cf][^\n]*)\)").search(text, at)
    if not match:
        return ""
    aliases = dict(ALIAS.findall(text))

    def expand(location: str) -> str:
        return re.sub(r"#loc\d*", lambda alias: expand(aliases[alias[0]]), location)
    return describe_location(expand(match[1]))
