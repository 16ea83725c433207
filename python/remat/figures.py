# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of memory and time, as SVG without scripts: they open in a browser, and notebooks show them in place.

Text has the colour of the page around a figure, or, in a file of its own, that of the reader's scheme; areas have colours
that stand out on light and on dark. What is under the pointer is named by `<title>` elements.
"""
import bisect
import html
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remat.files import write_text

if TYPE_CHECKING:  # these modules draw with this one
    from remat.comparison import Row
    from remat.memory import LiveBuffer, Memory

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Box = tuple[float, float, float, float]

WIDTH, LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 860, 78, 44, 560, 290
BOTTOM = TOP + PLOT_HEIGHT
STYLE = """
.remat-figure { font: 12px system-ui, sans-serif; fill: currentColor; max-width: 100%; height: auto; }
.remat-figure .buffers path:hover, .remat-figure circle:hover { fill-opacity: .6; }
svg.remat-figure:root { color: #222; background: #fff; }
@media (prefers-color-scheme: dark) { svg.remat-figure:root { color: #ddd; background: #111; } }
"""
# In the order of the stack: what lives between steps is at the bottom.
COLOURS = {
    "parameters": "#4c78a8", "optimizer state": "#72b7b2", "model state": "#83bcb6", "data": "#b279a2", "results": "#d6a5c9",
    "residuals": "#e45756", "gradients": "#f58518", "recomputed": "#ff9da6", "workspaces": "#d8a400", "temporaries": "#54a24b",
    "calls": "#9d755d",
}
CLASS_OF = {"residual": "residuals", "gradient": "gradients", "recomputed": "recomputed", "workspace": "workspaces",
            "temporary": "temporaries", "call": "calls"}
# Programs with more states than columns are shown by the fullest state of each column, and small buffers together, so that
# a figure of thousands of buffers has some hundred kilobytes.
MOST_COLUMNS, MOST_SHAPES = 560, 300


def show_bytes(count: float) -> str:
    """As in 1.5 MiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} TiB"


def show_seconds(seconds: float) -> str:
    """As in 1.25 ms."""
    scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{seconds * scale:.3g} {unit}"


def save(figure: str, path: str | os.PathLike[str]) -> None:
    """Writes a figure to a file."""
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise ValueError(f"figures are SVG: the file must be called {path.stem}.svg, but got {path.name}")
    write_text(path, figure)


def _escape(text: object) -> str:
    return html.escape(str(text))


def _document(title: str, height: int, parts: Iterable[str]) -> str:
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="remat-figure" role="img" aria-label="{_escape(title)}" '
        f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">', f"<style>{STYLE}</style>",
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="600">{_escape(title)}</text>', *parts, "</svg>\n"])


def _text(x: float, y: float, text: object, anchor: str = "start", **attributes: object) -> str:
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{_escape(text)}</text>'


def _line(x0: float, y0: float, x1: float, y1: float, **attributes: object) -> str:
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="currentColor"{more}/>'


def _ticks(most: float, base: int) -> list[float]:
    """Some round numbers from 0 to `most`: 1, 2 or 5 of a power of `base`, or, for bytes, a power of two."""
    step = 1.0 if base == 2 else 10.0 ** math.floor(math.log10(most / 5))
    factors = (2.0,) if base == 2 else (2.0, 2.5, 2.0)
    number = 0
    while most / step > 6:
        step *= factors[number % len(factors)]
        number += 1
    return [step * i for i in range(int(most / step) + 1)]


def _axis_of_bytes(most: float, width: float) -> tuple[list[str], Callable[[float], float]]:
    """Grid and labels, and where a number of bytes is."""
    def y(count: float) -> float:
        return BOTTOM - PLOT_HEIGHT * count / most
    parts = []
    for tick in _ticks(most, 2):
        parts += [_line(LEFT, y(tick), LEFT + width, y(tick), stroke_opacity=0.15),
                  _text(LEFT - 8, y(tick) + 4, show_bytes(tick) if tick else "0", "end", fill_opacity=0.8)]
    return parts, y


# --- Memory over a step ------------------------------------------------------------------------


def _columns(buffers: "Sequence[LiveBuffer]") -> list[int]:
    """A position of the program for each column of the figure: those where something begins or has ended, of many the ones at
    which most is alive."""
    first, last, size = (np.array([getattr(b, name) for b in buffers], np.int64) for name in ("first", "last", "bytes"))
    positions = np.unique(np.concatenate([first, last + 1]))[:-1]
    live = np.zeros(len(positions) + 1, np.int64)
    np.add.at(live, np.searchsorted(positions, first), size)
    np.add.at(live, np.searchsorted(positions, last + 1), -size)
    live = np.cumsum(live)[:-1]
    groups = np.array_split(np.arange(len(positions)), min(len(positions), MOST_COLUMNS))
    return [int(positions[group[np.argmax(live[group])]]) for group in groups]


def _shape(lower: Numbers, upper: Numbers, begin: int, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    """The path around the columns from `begin` on between two step functions."""
    def walk(values: Numbers, columns: Iterable[int]) -> list[tuple[int, int]]:
        points: list[tuple[int, int]] = []
        for column in columns:
            if not points or values[column] != points[-1][1]:
                points.append((column, values[column]))
        return points
    width = len(lower)
    path = ""
    for column, value in walk(upper, range(width)):
        path += f"{'H' if path else 'M'}{x(begin + column):.1f}{'V' if path else ' '}{y(value):.1f}"
    path += f"H{x(begin + width):.1f}"
    for column, value in walk(lower, range(width - 1, -1, -1)):
        path += f"H{x(begin + column + 1):.1f}V{y(value):.1f}"
    return path + f"H{x(begin):.1f}Z"


def _describe(buffer: "LiveBuffer") -> str:
    return "\n".join(filter(None, [f"{buffer.part} {buffer.type}".strip(), f"{buffer.bytes:,} bytes", buffer.op, buffer.line]))


def draw_memory(memory: "Memory", most: int = 0) -> str:
    """The figure of a `remat.Memory`: what is alive at each point of the step, a step of the curve where that changes. The axis
    has room for `most` bytes, so that several figures can have one scale."""
    fixed = [(name, getattr(memory, name.replace(" ", "_"))) for name in list(COLOURS)[:5]]
    columns = _columns(memory.buffers) if memory.buffers else [0]
    title = f"Memory of a step: {show_bytes(memory.peak)} ({memory.peak:,} bytes)"
    parts, y = _axis_of_bytes(max(1, memory.peak, most) * 1.06, PLOT_WIDTH)

    def x(column: float) -> float:
        return LEFT + PLOT_WIDTH * column / len(columns)
    parts.append('<g class="buffers" stroke="#fff" stroke-opacity=".4" stroke-width=".5">')
    base = np.zeros(len(columns), np.int64)

    def add(name: str, size: int | Numbers, begin: int, end: int, text: str) -> None:
        nonlocal base
        lower = base[begin:end].copy()
        base[begin:end] += size
        border = ' stroke="none"' if y(0) - y(float(np.max(size))) < 3 else ""  # which would cover what is thin
        parts.append(f'<path fill="{COLOURS[name]}"{border} d="{_shape(lower, base[begin:end], begin, x, y)}">'
                     f'<title>{_escape(text)}</title></path>')
    for name, size in fixed:
        if size:
            add(name, size, 0, len(columns), f"{name}\n{size:,} bytes")

    spans = [(buffer, bisect.bisect_left(columns, buffer.first), bisect.bisect_right(columns, buffer.last))
             for buffer in memory.buffers]
    area = sorted((buffer.bytes * (end - begin) for buffer, begin, end in spans), reverse=True)
    least = area[MOST_SHAPES] if len(area) > MOST_SHAPES else 0
    for part, name in CLASS_OF.items():
        own = [span for span in spans if span[0].part == part]
        rest = np.zeros(len(columns), np.int64)
        count = 0
        # Buffers that begin first are at the bottom: residuals are freed in the opposite order, so those below do not move.
        for buffer, begin, end in sorted(own, key=lambda b: (b[0].first, -b[0].last)):
            if begin < end and buffer.bytes * (end - begin) > least:
                add(name, buffer.bytes, begin, end, _describe(buffer))
            else:
                rest[begin:end] += buffer.bytes
                count += 1
        if rest.any():
            add(name, rest, 0, len(columns), f"{count:,} smaller {name}\n{rest.max():,} bytes at most")
    parts.append("</g>")

    # Where the backward begins, and the peak.
    if 0 <= memory.backward and memory.buffers:
        middle = x(bisect.bisect_left(columns, memory.backward))
        parts += [_line(middle, TOP, middle, BOTTOM + 22, stroke_opacity=0.5, stroke_dasharray="2 3"),
                  _text((LEFT + middle) / 2, BOTTOM + 18, "forward", "middle", fill_opacity=0.8),
                  _text((middle + LEFT + PLOT_WIDTH) / 2, BOTTOM + 18, "backward", "middle", fill_opacity=0.8)]
    parts += [_line(LEFT, BOTTOM, LEFT + PLOT_WIDTH, BOTTOM),
              _line(LEFT, y(memory.peak), LEFT + PLOT_WIDTH, y(memory.peak), stroke_dasharray="5 3"),
              _text(LEFT + PLOT_WIDTH, y(memory.peak) - 5, f"peak {show_bytes(memory.peak)}", "end")]
    parts += _legend(memory, fixed)
    return _document(title, BOTTOM + 36, parts)


def draw_curves(memories: "Mapping[str, Memory]") -> str:
    """The figure of several steps, by name: the bytes that are in use over each. Forwards end at the same place."""
    parts, y = _axis_of_bytes(max(1, *(memory.peak for memory in memories.values())) * 1.06, PLOT_WIDTH)
    columns = {name: _columns(memory.buffers) if memory.buffers else [0] for name, memory in memories.items()}
    starts = {name: bisect.bisect_left(columns[name], memory.backward) for name, memory in memories.items()}
    border = next((starts[name] / len(columns[name]) for name in memories if 0 < starts[name] < len(columns[name])), 0.5)
    colours = list(COLOURS.values())[5:]
    at, right = LEFT + PLOT_WIDTH + 24, WIDTH - 8
    parts.append(_text(right, TOP + 8, "peak", "end", fill_opacity=0.8))
    for i, (name, memory) in enumerate(memories.items()):
        count, start = len(columns[name]), starts[name]

        def x(column: int, count: int = count, start: int = start) -> float:
            share = column / count if not 0 < start < count else border * column / start if column < start else \
                border + (1 - border) * (column - start) / (count - start)
            return LEFT + PLOT_WIDTH * share
        colour = colours[i % len(colours)]
        positions = [position for position, _ in memory.timeline]
        fixed, path = memory.peak - memory.arena, ""
        for column, position in enumerate(columns[name]):
            index = bisect.bisect_right(positions, position) - 1
            live = memory.timeline[index][1] if index >= 0 else 0
            path += f"{'V' if path else f'M{x(0):.1f} '}{y(fixed + live):.1f}H{x(column + 1):.1f}"
        title = f"<title>{_escape(name)}\npeak {memory.peak:,} bytes</title>"
        parts += [f'<path fill="none" stroke="{colour}" stroke-width="2" d="{path}">{title}</path>',
                  f'<line x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{y(memory.peak):.1f}" y2="{y(memory.peak):.1f}" '
                  f'stroke="{colour}" stroke-dasharray="5 3"/>']
        top = TOP + 20 + 22 * i
        shown = name if len(name) <= 20 else name[:19] + "…"
        parts += [f'<rect x="{at}" y="{top}" width="13" height="13" rx="2" fill="{colour}"/>', _text(at + 20, top + 11, shown),
                  _text(right, top + 11, show_bytes(memory.peak), "end")]
    middle = LEFT + PLOT_WIDTH * border
    parts += [_line(middle, TOP, middle, BOTTOM + 22, stroke_opacity=0.5, stroke_dasharray="2 3"),
              _text((LEFT + middle) / 2, BOTTOM + 18, "forward", "middle", fill_opacity=0.8),
              _text((middle + LEFT + PLOT_WIDTH) / 2, BOTTOM + 18, "backward", "middle", fill_opacity=0.8),
              _line(LEFT, BOTTOM, LEFT + PLOT_WIDTH, BOTTOM)]
    return _document("Bytes in use over a step", max(BOTTOM + 36, TOP + 28 + 22 * len(memories)), parts)


def _legend(memory: "Memory", fixed: list[tuple[str, int]]) -> list[str]:
    """Classes from the top of the stack down, with the bytes that each has at the peak."""
    sums = dict(fixed)
    for buffer in memory.at_peak:
        sums[CLASS_OF[buffer.part]] = sums.get(CLASS_OF[buffer.part], 0) + buffer.bytes
    used = {name for name, size in fixed if size} | {CLASS_OF[b.part] for b in memory.buffers}
    rows = [(name, COLOURS[name], sums.get(name, 0)) for name in reversed(COLOURS) if name in used]
    if gaps := memory.arena - memory.live:
        rows.insert(0, ("gaps of the arena", "none", gaps))
    at, right = LEFT + PLOT_WIDTH + 24, WIDTH - 8
    parts = [_text(right, TOP + 8, "at the peak", "end", fill_opacity=0.8)]
    for i, (name, colour, size) in enumerate(rows):
        top = TOP + 20 + 22 * i
        border = ' stroke="currentColor" stroke-dasharray="2 2"' if colour == "none" else ""
        parts += [f'<rect x="{at}" y="{top}" width="13" height="13" rx="2" fill="{colour}"{border}/>',
                  _text(at + 20, top + 11, name), _text(right, top + 11, show_bytes(size) if size else "0", "end")]
    return parts


# --- Memory against time -----------------------------------------------------------------------


def _place_label(point: Box, width: float, taken: list[Box]) -> tuple[float, str, float]:
    """(x, anchor, y) of a label beside a box around a point and its quartiles, where it covers no other label or point if that
    is possible."""
    left, top, right, bottom = point
    center, middle = (left + right) / 2, (top + bottom) / 2 + 4
    choices = [(right + 5, "start", middle), (left - 5, "end", middle), (center, "middle", top - 5),
               (center, "middle", bottom + 13)]
    choices += [(x, anchor, y + dy) for dy in (-15, 15, -30, 30) for x, anchor, y in choices[:2]]
    for x, anchor, y in choices:
        start = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
        box = start, y - 11, start + width, y + 3
        if start >= LEFT and box[2] <= WIDTH and not any(
                box[0] < o[2] and o[0] < box[2] and box[1] < o[3] and o[1] < box[3] for o in taken):
            break
    taken.append(box)
    return x, anchor, y


def draw_comparison(rows: "Iterable[Row]") -> str:
    """The figure of a `remat.Comparison`: a point for each policy that compiles, the lower left is best."""
    drawn = [(row, row.memory.peak) for row in rows if row.memory]
    width = WIDTH - LEFT - 40
    parts, y = _axis_of_bytes(1.12 * max((peak for _, peak in drawn), default=1) or 1, width)
    slowest = 1.25 * max((row.quartiles[1] for row, _ in drawn), default=1)

    def x(seconds: float) -> float:
        return LEFT + width * seconds / slowest
    for tick in _ticks(slowest, 10):
        parts += [_line(x(tick), TOP, x(tick), BOTTOM, stroke_opacity=0.15),
                  _text(x(tick), BOTTOM + 18, show_seconds(tick) if tick else "0", "middle", fill_opacity=0.8)]
    parts += [_line(LEFT, BOTTOM, LEFT + width, BOTTOM), _line(LEFT, TOP, LEFT, BOTTOM),
              _text(LEFT + width, BOTTOM + 36, "time of a step: median and quartiles", "end", fill_opacity=0.8)]
    points = [(min(x(row.seconds) - 6, x(row.quartiles[0])), y(peak) - 6,
               max(x(row.seconds) + 6, x(row.quartiles[1])), y(peak) + 6) for row, peak in drawn]
    taken = list(points)
    colours = list(COLOURS.values())
    for i, (row, peak) in enumerate(drawn):
        at, height = x(row.seconds), y(peak)
        low, high = map(x, row.quartiles)
        name = row.name if len(row.name) <= 36 else row.name[:35] + "…"
        label_x, anchor, label_y = _place_label(points[i], 6.6 * len(name), taken)
        title = f"{row.name}\npeak {peak:,} bytes\nstep {show_seconds(row.seconds)}"
        colour = colours[(5 + i) % len(colours)]
        parts += [_line(low, height, high, height, stroke_opacity=0.6),
                  f'<circle cx="{at:.1f}" cy="{height:.1f}" r="5.5" fill="{colour}"><title>{_escape(title)}</title></circle>',
                  _text(label_x, label_y, name, anchor)]
    return _document("Peak memory and time of a step, by policy", BOTTOM + 44, parts)
