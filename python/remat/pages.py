# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page of HTML with the memory of steps side by side: one file, without scripts, that needs no network."""
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

from remat import figures

if TYPE_CHECKING:  # that module draws with this one
    from remat.memory import Memory

STYLE = """
:root { color-scheme: light dark; }
body { font: 14px system-ui, sans-serif; margin: 1.5rem; }
h1 { font-size: 1.3rem; }
.steps { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { padding: .15rem .8rem; text-align: right; }
td:first-child, th:first-child { text-align: left; }
tr:first-child th { border-bottom: 1px solid; }
tr.part td:first-child { padding-left: 1.6rem; }
"""
# Rows of the table: names, and whether they are parts of the one above.
ROWS = (("peak", False), ("parameters", True), ("optimizer state", True), ("model state", True), ("data", True), ("results", True),
        ("arena", True), ("runtime", True), ("residuals", False), ("gradients", False), ("recomputed", False), ("workspaces", False),
        ("temporaries", False))


def _make_table(memories: "Mapping[str, Memory]") -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in memories)
    rows = [f"<tr><th>bytes</th>{head}</tr>"]
    for name, is_part in ROWS:
        sizes = [getattr(memory, name.replace(" ", "_")) for memory in memories.values()]
        if name != "runtime" or any(sizes):
            cells = "".join(f"<td>{size:,}</td>" for size in sizes)
            rows.append(f'<tr{" class=part" if is_part else ""}><td>{name}</td>{cells}</tr>')
    counts = "".join(f"<td>{memory.recomputed_ops:,}</td>" for memory in memories.values())
    return "\n".join(["<table>", *rows, f"<tr><td>operations that the backward recomputes</td>{counts}</tr>", "</table>"])


def draw(memories: "Mapping[str, Memory]") -> str:
    """Returns the text of the page: all curves in one figure, a table, and the figure of each step, all in one scale."""
    most = max(memory.peak for memory in memories.values())
    steps = [f"<figure><figcaption>{html.escape(name)}</figcaption>\n{figures.draw_memory(memory, most)}</figure>"
             for name, memory in memories.items()]
    curves = [figures.draw_curves(memories)] if len(memories) > 1 else []
    return "\n".join(['<!DOCTYPE html>', '<html lang="en">', '<meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width">', "<title>Memory of a step</title>",
                      f"<style>{STYLE}</style>", "<h1>Memory of a step</h1>", *curves, _make_table(memories),
                      '<div class="steps">', *steps, "</div>", "</html>\n"])
