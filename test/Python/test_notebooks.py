# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The notebooks run from top to bottom, and show what they say."""
import os
import re
import sys
from xml.etree import ElementTree

import pytest

from conftest import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
FOLDER = ROOT / "docs" / "notebooks"


def execute(name, tmp_path, monkeypatch):
    """The notebook with its outputs, run in a process of its own, in an empty folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), *sys.path]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads of a busy machine wait for each other
    notebook = nbformat.read(FOLDER / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=1200, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    return notebook


def get_outputs(notebook, kind):
    return [output["data"][kind] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
            if kind in output.get("data", {})]


def get_figures(notebook):
    return [ElementTree.fromstring(re.match(r"<svg.*?</svg>", shown, re.S)[0]) for shown in get_outputs(notebook, "text/html")]


def get_printed(notebook):
    return "".join(output["text"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                   if output.output_type == "stream" and output.name == "stdout")


def check(notebook, scope, policies):
    """Two figures of memory that name the model's scopes, the second with a lower peak, and one of the policies."""
    figures = get_figures(notebook)
    titles = [figure.get("aria-label") for figure in figures]
    peaks = [int(re.search(r"\(([\d,]+) bytes\)", title)[1].replace(",", "")) for title in titles[:2]]
    assert len(figures) == 3 and peaks[1] < peaks[0]
    for figure in figures[:2]:
        assert any(re.match(rf"\w+\.py:\d+ \({re.escape(scope)}", title.text.splitlines()[-1])
                   for title in figure.iter("{http://www.w3.org/2000/svg}title"))
    assert len(list(figures[2].iter("{http://www.w3.org/2000/svg}circle"))) == policies
    assert "the same bits with and without recomputation" in get_printed(notebook)


def test_pytorch(tmp_path, monkeypatch):
    pytest.importorskip("torch_mlir")
    notebook = execute("pytorch.ipynb", tmp_path, monkeypatch)
    check(notebook, "blocks.0.", policies=5)
    table = get_outputs(notebook, "text/plain")[-1]
    assert re.search(r"layers\.\* +.*error: ", table)
    assert float(re.search(r"accuracy (\S+)", get_printed(notebook))[1]) > 0.5  # of 8 classes


def test_jax(tmp_path, monkeypatch):
    pytest.importorskip("iree.compiler")
    notebook = execute("jax.ipynb", tmp_path, monkeypatch)
    check(notebook, "jit(loss)/checkpoint#0", policies=5)
    after, before = re.search(r"(\S+) in JAX, (\S+) before", get_printed(notebook)).groups()
    assert float(after) < float(before)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_outputs_are_kept(path):
    """They would be out of date with the next change."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
