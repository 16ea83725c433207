# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps as objects and headers, built and run without Python."""
import pathlib
import re
import subprocess

import numpy as np
import pytest

import remat
from conftest import ROOT
from test_samples import Sample

LINE = (ROOT / "test" / "Tools" / "Inputs" / "line.mlir").read_text()
FORWARD = "\n".join(line for line in LINE.splitlines() if not line.startswith(("opt.", "remat.")))
X, Y = np.linspace(-1, 1, 32, dtype="f4"), np.ones(32, "f4")


def run_example(folder: pathlib.Path) -> list[str]:
    """Builds and runs the example that was written, and returns the losses that it prints."""
    subprocess.run(["make", "-s", "CFLAGS=-std=c11 -Wall -Wextra -Werror"], cwd=folder, check=True)
    # Without this environment's variables: it needs none of them.
    run = subprocess.run(["./example"], cwd=folder, check=True, capture_output=True, text=True, env={})
    *losses, verdict = run.stdout.splitlines()
    assert verdict == "the same bits as in the test"
    return [loss.split()[-1] for loss in losses]


def test_an_exported_step_goes_on_with_the_same_losses(tmp_path):
    step = remat.mlir.train_step(LINE)
    for _ in range(5):
        step(X, Y)
    step.export(tmp_path, "line", batch=(X, Y))
    assert step.number == 5
    losses = run_example(tmp_path)
    assert losses == [f"{step(X, Y):.9g}" for _ in range(3)]


def test_the_values_of_an_export_are_a_checkpoint(tmp_path):
    step, other = remat.mlir.train_step(LINE), remat.mlir.train_step(LINE)
    step(X, Y)
    step.export(tmp_path, "line")
    saved = tmp_path / "saved.safetensors"
    step.save(saved)
    assert saved.read_bytes() == (tmp_path / "line.safetensors").read_bytes()
    other.load(tmp_path / "line.safetensors")
    assert other(X, Y) == step(X, Y)


CONTINUES = r"""
#include "line.h"
#include <stdio.h>
#include <stdlib.h>

static int read_file(void *file, void *data, size_t bytes) { return fread(data, 1, bytes, file) != bytes; }
static int write_file(void *file, const void *data, size_t bytes) { return fwrite(data, 1, bytes, file) != bytes; }

int main(void) {
  line_state *state = aligned_alloc(LINE_ALIGNMENT, LINE_STATE_BYTES);
  void *arena = aligned_alloc(LINE_ALIGNMENT, LINE_ARENA_BYTES);
  float x[32], y[32];
  line_batch batch = {x, y};
  line_results results;
  FILE *from = fopen("from.safetensors", "rb"), *to = fopen("to.safetensors", "wb");
  for (int i = 0; i < 32; ++i)
    x[i] = (float)i, y[i] = 1;
  if (line_init(state) || line_load(state, read_file, from))
    return 1;
  for (int i = 0; i < 12; ++i)
    if (line_step(state, arena, &batch, &results))
      return 2;
  return line_save(state, write_file, to) || fclose(to);
}
"""


def test_a_run_goes_on_in_c_and_comes_back(tmp_path):
    batch = np.arange(32, dtype="f4"), np.ones(32, "f4")
    step, other = remat.mlir.train_step(LINE), remat.mlir.train_step(LINE)
    step(*batch)
    step.export(tmp_path, "line")
    step(*batch)
    step.save(tmp_path / "from.safetensors")
    (tmp_path / "program.c").write_text(CONTINUES)
    subprocess.run("cc -std=c11 program.c line.o -lm -o program && ./program", shell=True, cwd=tmp_path, check=True)
    other.load(tmp_path / "to.safetensors")
    for _ in range(12):
        step(*batch)
    assert other.number == step.number == 14
    step.save(tmp_path / "same.safetensors")
    assert (tmp_path / "same.safetensors").read_bytes() == (tmp_path / "to.safetensors").read_bytes()
    assert other(*batch) == step(*batch)


@pytest.mark.parametrize("kind, library", [("object", "line.o"), ("archive", "line.a"), ("shared", "libline.so")])
def test_code_is_in_a_library_of_the_kind_that_was_asked_for(tmp_path, kind, library):
    remat.mlir.train_step(LINE).export(tmp_path, "line", kind=kind, cpu="haswell")
    assert {path.name for path in tmp_path.iterdir()} == {
        library, "line.h", "line.safetensors", "line_test.safetensors", "example.c", "Makefile", "CMakeLists.txt",
        "LICENSE.txt"}
    run_example(tmp_path)


def test_learning_rates_of_python_are_set_by_the_program(tmp_path):
    step = remat.mlir.train_step(FORWARD, optimizer=remat.AdamW(lambda number: 0.1 / (1 + number)))
    step(X, Y)
    step.export(tmp_path, "line", batch=(X, Y))
    assert "state->learning_rate[0] = 0.050000000000000003;" in (tmp_path / "example.c").read_text()
    assert run_example(tmp_path)[0] == f"{step(X, Y):.9g}"


@pytest.mark.parametrize("optimizer", [
    remat.SGD(0.1, momentum=0.9), "#opt.adamw<lr = #opt.linear_warmup_cosine<peak = 0.1, warmup = 2, total = 9, floor = 0.0>>",
    "#opt.adam<lr = #opt.step_decay<initial = 0.1, factor = 0.5, every = 1>>"])
def test_schedules_have_the_same_bits_though_they_can_be_replaced(tmp_path, optimizer):
    remat.mlir.train_step(FORWARD, optimizer=optimizer).export(tmp_path, "line", batch=(X, Y))
    assert "double learning_rate[1]; /* a NaN: as the model says; of optimizer */" in (tmp_path / "line.h").read_text()
    run_example(tmp_path)


@pytest.mark.parametrize("name", ["torch_gpt", "torch_resnet", "jax_lstm"])
def test_exports_of_frameworks_have_the_same_bits(tmp_path, name):
    sample = Sample(ROOT / "test" / "Models" / "Inputs" / f"{name}.npz")
    step = sample.make_step()
    batch = sample.batch(step)
    step(*batch)
    step.export(tmp_path, name, batch=batch)
    results = [step(*batch) for _ in range(3)]
    assert run_example(tmp_path) == [f"{r[0] if isinstance(r, tuple) else r:.9g}" for r in results]


def test_the_memory_of_an_export_is_what_the_step_says(tmp_path):
    step = remat.mlir.train_step(LINE)
    step.export(tmp_path, "line")
    sizes = dict(re.findall(r"#define LINE_(\w+_BYTES) (\d+)", (tmp_path / "line.h").read_text()))
    saved = sum(a.nbytes for a in step.arguments if a.role in ("parameter", "optimizer", "state"))
    # A state begins with a struct, and all is aligned to 64 bytes; an arena ends with the addresses of arguments.
    assert saved <= int(sizes["STATE_BYTES"]) <= saved + 128 + 64 * len(step.arguments)
    assert step.memory.arena <= int(sizes["ARENA_BYTES"]) <= step.memory.arena + 64 + 64 * len(step.arguments)


def test_what_cannot_be_exported_writes_nothing(tmp_path):
    step = remat.mlir.train_step(LINE)
    folder = tmp_path / "out"
    with pytest.raises(remat.CompileError, match="must be an identifier of C, but got 'a b'"):
        step.export(folder, "a b")
    with pytest.raises(remat.CompileError, match="LLVM has no code for the triple 'nothing'"):
        step.export(folder, "line", triple="nothing")
    with pytest.raises(ValueError, match="kind must be 'object', 'archive', 'shared', but got 'so'"):
        step.export(folder, "line", kind="so")
    with pytest.raises(TypeError, match="a batch has 2 arrays, but got 1"):
        step.export(folder, "line", batch=(X,))
    with pytest.raises(ValueError, match=r"argument 1 \('y'\) must be of float32\[32\], but got float32\[31\]"):
        step.export(folder, "line", batch=(X, Y[1:]))
    assert not folder.exists()
