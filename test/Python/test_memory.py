# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of a step's memory: exact, and drawn as they are."""
import json
import random
import re
from xml.etree import ElementTree

import pytest

import remat
from conftest import ROOT, mlp
from remat.figures import BOTTOM, LEFT, MOST_COLUMNS, PLOT_HEIGHT, PLOT_WIDTH, TOP
from remat.memory import PARTS, LiveBuffer

SVG = "{http://www.w3.org/2000/svg}"


def steps():
    """Steps with residuals, recomputation, loops, calls and workspaces."""
    adamw = {"optimizer": remat.AdamW(0.01), "optimization_level": 0}
    yield "mlp", lambda: remat.mlir.train_step(mlp(), **adamw)
    yield "mlp, deferred", lambda: remat.mlir.train_step(mlp(), **adamw, eager=False)
    yield "mlp, accumulated", lambda: remat.mlir.train_step(mlp(), **adamw, accumulate=3)
    for path in (ROOT / "examples" / "chargpt.mlir", ROOT / "examples" / "digits.mlir",
                 ROOT / "test" / "Runtime" / "Inputs" / "embedding.mlir"):
        for policy in (None, "none"):
            yield f"{path.stem}, {policy}", lambda path=path, policy=policy: remat.mlir.train_step(
                path.read_text(), policy=policy, optimization_level=0)


@pytest.fixture(scope="module", params=[pytest.param(make, id=name) for name, make in steps()])
def step(request):
    return request.param()


def report(step):
    functions = json.loads(step._native.memory_report)["functions"]
    return next(f for f in functions if f["name"] == step._native.function)


def count_live(memory, position):
    return sum(b.bytes for b in memory.buffers if b.first <= position <= b.last)


def test_the_timeline_peaks_at_what_the_arena_holds(step):
    memory, told = step.memory, report(step)
    assert memory.live == max(count for _, count in memory.timeline) == told["max_live"] <= memory.arena
    assert [count for _, count in memory.timeline] == [count_live(memory, position) for position, _ in memory.timeline]
    assert memory.timeline[-1] == (max(b.last for b in memory.buffers) + 1, 0)
    parts = ("parameters", "optimizer_state", "model_state", "data", "results", "arena")
    assert memory.peak == sum(getattr(memory, part) for part in parts)


def test_what_is_alive_at_the_peak_is_what_the_report_lists(step):
    memory, told = step.memory, report(step)
    assert [(b.bytes, b.part, b.type, b.op, b.line) for b in memory.at_peak] == \
        [tuple(b[key] for key in ("bytes", "part", "type", "op", "line")) for b in told["at_peak"]]
    assert sum(b.bytes for b in memory.at_peak) == memory.live
    if not any(b.part == "call" for b in memory.at_peak):
        for part, name in (("residual", "residuals"), ("gradient", "gradients"), ("recomputed", "recomputed"),
                           ("workspace", "workspaces"), ("temporary", "temporaries")):
            assert sum(b.bytes for b in memory.at_peak if b.part == part) == getattr(memory, name)


def test_what_is_computed_again_is_a_class_of_its_own():
    saved, again = (remat.mlir.train_step(mlp(), optimizer=remat.SGD(0.1), policy=policy, optimization_level=0).memory
                    for policy in ("none", remat.whole()))
    assert saved.recomputed_ops == saved.recomputed == 0 < again.recomputed_ops
    for memory, expected in ((saved, False), (again, True)):
        assert any(b.part == "recomputed" for b in memory.buffers) == expected
        assert (">recomputed</text>" in memory.figure()) == expected
        assert sum(getattr(memory, name) for name in PARTS) == memory.live


def outline(path):
    """The (x, y) corners of a path of `M`, `H` and `V`."""
    x = y = None
    corners = []
    for command, numbers in re.findall(r"([MHV])([-\d. ]+)", path):
        values = [float(n) for n in numbers.split()]
        x, y = values if command == "M" else (values[0], y) if command == "H" else (x, values[0])
        corners.append((x, y))
    return corners


def get_shapes(figure):
    root = ElementTree.fromstring(figure)
    return root, [(path.find(f"{SVG}title").text, outline(path.get("d"))) for path in root.iter(f"{SVG}path")]


def bytes_at(y, memory):
    return (BOTTOM - y) / PLOT_HEIGHT * max(1, memory.peak) * 1.06


def assert_drawn_as_it_is(memory, figure):
    """The highest corner is the peak, but for the arena's gaps, to the tenth of a pixel."""
    root, shapes = get_shapes(figure)
    tenth = 0.1 / PLOT_HEIGHT * memory.peak * 1.06
    assert abs(bytes_at(min(y for _, shape in shapes for _, y in shape), memory) -
               (memory.peak - memory.arena + memory.live)) <= tenth
    assert all(LEFT <= x <= LEFT + PLOT_WIDTH and TOP <= y <= BOTTOM for _, shape in shapes for x, y in shape)
    assert f"({memory.peak:,} bytes)" in root.get("aria-label")
    return shapes


def test_the_figure_is_drawn_to_scale(step):
    memory = step.memory
    shapes = assert_drawn_as_it_is(memory, memory.figure())
    fixed = [(text, shape) for text, shape in shapes if not any(text.startswith(b.part) for b in memory.buffers)]
    assert fixed[0][0] == f"parameters\n{memory.parameters:,} bytes"
    largest = memory.at_peak[0]
    said = "\n".join(filter(None, [f"{largest.part} {largest.type}", f"{largest.bytes:,} bytes", largest.op, largest.line]))
    assert said in [text for text, _ in shapes]


def tops(shapes, x):
    """Where a vertical line meets the upper edges."""
    return [y for _, shape in shapes for (x0, y0), (x1, y) in zip(shape, shape[1:]) if y0 == y and x0 < x < x1]


def test_each_column_is_as_high_as_what_is_alive(step):
    memory = step.memory
    _, shapes = get_shapes(memory.figure())
    states = memory.timeline[:-1]
    if len(states) > MOST_COLUMNS:
        pytest.skip("columns stand for several states")
    for i, (_, live) in enumerate(states):
        top = min(tops(shapes, LEFT + PLOT_WIDTH * (i + 0.5) / len(states)))
        assert bytes_at(top, memory) == pytest.approx(memory.peak - memory.arena + live, abs=memory.peak / PLOT_HEIGHT / 5)


def make_memory(buffers, backward=-1, gaps=0, **sizes):
    sizes = dict.fromkeys(("parameters", "optimizer_state", "model_state", "data", "results", "residuals", "gradients",
                           "recomputed", "workspaces", "temporaries", "constants", "recomputed_ops"), 0) | sizes
    memory = remat.Memory(**sizes, arena=0, backward=backward, buffers=tuple(buffers))
    return remat.Memory(**sizes, arena=memory.live + gaps, backward=backward, buffers=tuple(buffers))


def test_thousands_of_buffers_make_a_figure_of_bounded_size():
    draw = random.Random(0)
    buffers = []
    for i in range(6000):
        first = draw.randrange(50_000)
        buffers.append(LiveBuffer(64 * draw.randrange(1, 5000), draw.choice(["residual", "gradient", "temporary", "workspace"]),
                                  "64xf32", "linalg.generic", f"model.py:{i}", first, first + draw.randrange(10_000)))
    memory = make_memory(buffers, 25_000, 4096, parameters=10**6)
    figure = memory.figure()
    shapes = assert_drawn_as_it_is(memory, figure)
    assert len(figure) < 1_500_000
    assert any(re.match(r"[\d,]+ smaller residuals\n", text) for text, _ in shapes)
    assert len({x for _, shape in shapes for x, _ in shape}) <= MOST_COLUMNS + 1
    assert "gaps of the arena" in figure


def test_a_step_without_an_arena():
    memory = make_memory([], parameters=64)
    assert memory.live == 0 and memory.at_peak == () and memory.timeline == ()
    assert "64 bytes" in assert_drawn_as_it_is(memory, memory.figure())[0][0]
    assert_drawn_as_it_is(make_memory([], parameters=1), make_memory([], parameters=1).figure())


def test_names_are_text():
    buffer = LiveBuffer(64, "residual", "4xf32", "a<b>&\"c", "</title><script>.py:1", 0, 1)
    memory = make_memory([buffer])
    _, shapes = get_shapes(memory.figure())
    assert shapes[0][0].endswith("a<b>&\"c\n</title><script>.py:1")
    assert "<script>" not in memory._repr_html_()


def test_a_notebook_shows_the_figure_and_the_table(step, tmp_path):
    memory = step.memory
    shown = memory._repr_html_()
    assert shown.startswith(memory.figure()) and repr(memory) in shown
    assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)|url\(|@import", shown)
    memory.save(tmp_path / "memory.svg")
    assert (tmp_path / "memory.svg").read_text(encoding="utf-8") == memory.figure()
    with pytest.raises(ValueError, match="the file must be called memory.svg or memory.html, but got memory.png"):
        memory.save(tmp_path / "memory.png")


# --- Pages ------------------------------------------------------------------------------------------


def read_page(path):
    """Returns the text of a page, and its figures."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|https?://(?!www\.w3\.org/2000/svg)|url\(|@import|\bon\w+=", text)
    return text, [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def test_a_page_of_one_step(step, tmp_path):
    memory = step.memory
    memory.save(tmp_path / "memory.html")
    text, figures = read_page(tmp_path / "memory.html")
    assert len(figures) == 1 and memory.figure().strip() in text
    assert f"<tr><td>peak</td><td>{memory.peak:,}</td></tr>" in text and "runtime" not in text


def test_steps_side_by_side(tmp_path):
    saved, again = (remat.mlir.memory((ROOT / "examples" / "chargpt.mlir").read_text(), policy=policy) for policy in ("none", None))
    names = {"a <b> & \"c\"": again, "a name of more than twenty letters": saved}
    saved.save(tmp_path / "memory.html", names, name="all saved")
    text, (curves, *figures) = read_page(tmp_path / "memory.html")
    memories = {"all saved": saved} | names
    assert f"<tr><td>peak</td>{''.join(f'<td>{m.peak:,}</td>' for m in memories.values())}</tr>" in text
    assert "<th>a &lt;b&gt; &amp; &quot;c&quot;</th>" in text

    most = max(saved.peak, again.peak)
    pixel = most * 1.06 / PLOT_HEIGHT
    paths = list(curves.iter(f"{SVG}path"))
    border = {}
    for path, (name, memory) in zip(paths, memories.items(), strict=True):
        assert path.find(f"{SVG}title").text == f"{name}\npeak {memory.peak:,} bytes"
        corners = outline(path.get("d"))
        top = min(y for _, y in corners)
        assert (BOTTOM - top) * pixel == pytest.approx(memory.peak - memory.arena + memory.live, abs=0.1 * pixel)
        assert all(LEFT <= x <= LEFT + PLOT_WIDTH + 0.1 and TOP <= y <= BOTTOM for x, y in corners)
        assert [x for x, _ in corners] == sorted(x for x, _ in corners)
        # Where the backward begins, all curves have the same place: so many bytes are in use there.
        border[name] = memory.peak - memory.arena + count_live(memory, memory.backward)
    x = next(float(line.get("x1")) for line in curves.iter(f"{SVG}line") if line.get("stroke-dasharray") == "2 3")
    for path, name in zip(paths, memories):
        at = [y for (x0, _), (x1, y) in zip(outline(path.get("d")), outline(path.get("d"))[1:]) if x0 - 2 <= x <= x1 + 2]
        assert any((BOTTOM - y) * pixel == pytest.approx(border[name], abs=pixel) for y in at), name

    # The figures have one scale.
    for figure, memory in zip(figures, memories.values(), strict=True):
        top = min(y for path in figure.iter(f"{SVG}path") for _, y in outline(path.get("d")))
        assert (BOTTOM - top) * pixel == pytest.approx(memory.peak - memory.arena + memory.live, abs=0.1 * pixel)


def test_pages_of_what_has_no_buffers(tmp_path):
    empty, small = make_memory([], parameters=64), make_memory([LiveBuffer(64, "gradient", "16xf32", "op", "", 0, 0)], runtime=100)
    empty.save(tmp_path / "memory.html", {"small": small})
    text, (curves, *_) = read_page(tmp_path / "memory.html")
    assert len(list(curves.iter(f"{SVG}path"))) == 2 and "<td>runtime</td><td>0</td><td>100</td>" in text


def test_pages_that_cannot_be(tmp_path):
    memory = make_memory([], parameters=64)
    with pytest.raises(ValueError, match="a figure has one step; several are a page: the file must be called memory.html"):
        memory.save(tmp_path / "memory.svg", {"other": memory})
    with pytest.raises(ValueError, match="two steps are called 'this step'"):
        memory.save(tmp_path / "memory.html", {"this step": memory})
    assert not list(tmp_path.iterdir())
