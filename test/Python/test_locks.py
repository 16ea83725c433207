# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Locks: a later version of a model may take no more bytes than a file says."""
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys

import pytest

import remat
from conftest import ROOT, mlp
from remat import locks

SGD = remat.SGD(0.1)
TRAIN = """opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
"""
DIGITS = ROOT / "examples" / "digits.mlir"


def measure(text=None, **arguments):
    return remat.mlir.memory(mlp() if text is None else text, **({"optimizer": SGD} | arguments))


def widen(text):
    """Makes the hidden layer of `mlp` four times as wide."""
    for before, after in (("5x4xf32", "5x16xf32"), ("<4xf32", "<16xf32"), ("6x4xf32", "6x16xf32"), ("4x3xf32", "16x3xf32")):
        text = text.replace(before, after)
    return text


def memory_command(*arguments, folder):
    return subprocess.run([sys.executable, "-m", "remat", "memory", *map(str, arguments)], capture_output=True, text=True,
                          cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.mlir").write_text(mlp(TRAIN))
    return tmp_path


# --- Figures without a step ----------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"eager": False}, {"accumulate": 3}, {"policy": "none", "optimizer": remat.AdamW(0.1)}])
def test_the_figures_are_those_of_the_step(arguments):
    step = remat.mlir.train_step(mlp(), **({"optimizer": SGD} | arguments))
    memory = measure(**arguments)
    assert memory == step.memory and memory.held == step.memory.held
    held = {part: sum(t.bytes for t in memory.held if t.part == part) for part in ("parameter", "optimizer state", "model state", "data")}
    assert list(held.values()) == [memory.parameters, memory.optimizer_state, memory.model_state, memory.data]
    assert {t.name for t in memory.held if t.part == "parameter"} == set(step.parameters)


def test_the_figures_are_those_of_the_evaluation():
    text = DIGITS.read_text()
    step = remat.mlir.train_step(text, optimization_level=0)
    measured = remat.mlir.measure(remat.mlir.make_request(text))
    assert measured.step == step.memory and measured.evaluation == step.eval_memory
    assert measured.evaluation.held == step.eval_memory.held != step.memory.held
    assert sum(t.bytes for t in measured.evaluation.held) == step.eval_memory.peak - step.eval_memory.arena - step.eval_memory.results


def test_a_model_that_is_wrong():
    with pytest.raises(remat.CompileError, match=r"model.mlir:\d+:\d+: error: use of undeclared"):
        measure(mlp().replace("linalg.matmul ins(%a", "linalg.matmul ins(%b0x"))


# --- Files ----------------------------------------------------------------------------------------


def test_what_is_locked_is_read_back(tmp_path):
    path = tmp_path / "memory.lock"
    memory = measure()
    memory.lock(path)
    assert locks.read(path) == {("step", "step"): locks.make_entry(memory)}
    text = path.read_text()
    assert f"\n  {memory.peak} peak\n" in text and f"\n    {memory.arena} arena\n" in text
    largest = memory.at_peak[0]
    assert f"    {largest.bytes} | {largest.part} | {largest.type} | {largest.op} | {largest.line}\n" in text
    assert "    80 | parameter | 5x4xf32 | first.weight\n" in text


def test_entries_of_others_stay(tmp_path):
    path = tmp_path / "memory.lock"
    first, second = measure(), measure(eager=False)
    first.lock(path, "b")
    second.lock(path, "a")
    first.lock(path, "a")
    assert list(locks.read(path)) == [("step", "a"), ("step", "b")]
    alone = path.read_text()
    second.lock(path, "c")
    assert path.read_text().startswith(alone)
    with pytest.raises(ValueError, match=r"memory.lock has no entry 'step d'; it has 'step a', 'step b', 'step c'"):
        first.check(path, "d")
    for name in ("", "two\nlines", " space"):
        with pytest.raises(ValueError, match="the name of a step must be some text on one line"):
            first.lock(path, name)


def test_tensors_that_are_alike_are_one_line(tmp_path):
    memory = measure()
    one = dataclasses.replace(memory.buffers[0], bytes=4096, first=0, last=10**6, line="m.py:1")
    many = [dataclasses.replace(one, bytes=64, type="16xf32", line=f"m.py:{i}") for i in range(2, 40)]
    entry = locks.make_entry(dataclasses.replace(memory, buffers=(one, one, one, *many)))
    assert (entry.live[0].count, entry.live[0].total, len(entry.live)) == (3, 3 * 4096, locks.LISTED)
    assert entry.rests[1] == 64 * (38 - locks.LISTED + 1)
    strange = dataclasses.replace(memory, buffers=(dataclasses.replace(one, op="a | b", line="x\n  12 peak | y"),))
    for changed in (strange, dataclasses.replace(memory, buffers=(one, one, *many))):
        entry = locks.make_entry(changed)
        locks.write(tmp_path / "memory.lock", {("step", "s"): entry})
        read = locks.read(tmp_path / "memory.lock")["step", "s"]
        assert read.classes == entry.classes and read.rests == entry.rests and list(map(str, read.live)) == list(map(str, entry.live))


@pytest.mark.parametrize("pattern, instead, message", [
    (r"\nstep step", "\nsteps step", r"memory.lock:4: expected model, evaluation or step and a name, but got 'steps step'"),
    (r"  \d+ peak", "  much peak", r":5: expected '  <bytes> peak', but got '  much peak'"),
    (r"  (\d+) peak", r"  1\1 peak", "the peak of step is 1.* bytes, but its classes have"),
    (r"    \d+ arena\n", "", r":11: expected '    <bytes> arena', but got '  between steps:'"),
    (r" \| parameter \|", " parameter |", r"expected bytes, part, type and name of a tensor"),
    (r"  at the peak:[\s\S]*", "", "expected '  at the peak:', but the file ends"),
    (r"\Z", "nonsense\n", "but got 'nonsense'"),
    (r"(\nstep step[\s\S]*)", r"\1\1", "has two entries for step step"),
])
def test_files_that_are_no_locks(tmp_path, pattern, instead, message):
    path = tmp_path / "memory.lock"
    memory = measure()
    memory.lock(path)
    path.write_text(re.sub(pattern, instead, path.read_text(), count=1))
    before = path.read_text()
    for work in (memory.check, memory.lock):
        with pytest.raises(ValueError, match=message):
            work(path)
    assert path.read_text() == before


def test_any_bytes_are_a_lock_or_an_error(tmp_path):
    path = tmp_path / "memory.lock"
    measure().lock(path)
    data, draw, errors = path.read_bytes(), random.Random(0), 0
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(changed))
            changed[at:at + draw.randrange(3)] = bytes(draw.randrange(256) for _ in range(draw.randrange(3)))
        path.write_bytes(changed)
        try:
            entries = locks.read(path)
        except ValueError as error:
            errors += 1
            assert "memory.lock" in str(error)
        else:
            assert all(entry.peak >= 0 for entry in entries.values())
    assert errors > 100


# --- Comparison -----------------------------------------------------------------------------------


def test_a_model_that_needs_more_names_tensors_and_lines(tmp_path):
    path = tmp_path / "memory.lock"
    memory = measure()
    memory.lock(path, "mlp")
    assert memory.check(path, "mlp") == f"mlp takes {memory.peak:,} bytes, as {path} says"
    wide = measure(widen(mlp()))
    with pytest.raises(remat.OverBudgetError) as raised:
        wide.check(path, "mlp")
    lines = str(raised.value).splitlines()
    more = wide.peak - memory.peak
    assert lines[0] == (f"mlp takes {wide.peak:,} bytes, {more:,} bytes ({100 * more / memory.peak:.3g} %) more than the "
                        f"{memory.peak:,} of {path}")
    assert lines[1:3] == [f"  parameters: {wide.parameters:,} bytes instead of {memory.parameters:,}",
                          f"  arena: {wide.arena:,} bytes instead of {memory.arena:,}"]
    assert "  parameter 5x16xf32 of first.weight: 320 bytes, instead of 80 (5x4xf32)" in lines
    residual, was = wide.at_peak[0], memory.at_peak[0]
    assert residual.part == "residual" and residual.line == was.line
    assert f"  {residual.line}: residual 6x16xf32 of {residual.op}: 384 bytes, instead of 128 (6x4xf32)" in lines

    wide.lock(path, "mlp")
    assert memory.check(path, "mlp") == f"mlp takes {memory.peak:,} bytes, {more:,} fewer than {path} says; lock it to keep that"


def test_lines_that_move(tmp_path):
    path = tmp_path / "memory.lock"
    memory, moved = measure(), measure("\n\n" + mlp())
    memory.lock(path)
    assert moved.at_peak[0].line != memory.at_peak[0].line
    assert moved.check(path) == memory.check(path)
    # The same tensors in another place do not grow.
    with pytest.raises(remat.OverBudgetError) as raised:
        dataclasses.replace(moved, results=1000).check(path)
    assert str(raised.value).splitlines()[1:] == ["  results: 1,000 bytes instead of 4"]
    with pytest.raises(remat.OverBudgetError, match=r"\n  model.mlir:20: residual 6x16xf32 of .*: 384 bytes, which the lock does not have"):
        measure("\n\n" + widen(mlp())).check(path)


def test_a_tensor_that_is_new(tmp_path):
    path = tmp_path / "memory.lock"
    memory = measure()
    memory.lock(path)
    new = dataclasses.replace(memory.at_peak[0], bytes=10**6, op="linalg.softmax", type="500x500xf32", line="model.py:7 (attention)")
    with pytest.raises(remat.OverBudgetError, match=(
            r"\n  model.py:7 \(attention\): \w+ 500x500xf32 of linalg.softmax: 1,000,000 bytes, which the lock does not have")):
        dataclasses.replace(memory, buffers=(*memory.buffers, new), arena=memory.arena + 10**6).check(path)


def test_tensors_that_a_lock_does_not_list_are_not_called_new(tmp_path):
    path = tmp_path / "memory.lock"
    memory = measure()
    small = [dataclasses.replace(memory.at_peak[0], bytes=64, op=f"op{i}", first=0, last=10**6, line="") for i in range(40)]
    memory = dataclasses.replace(memory, buffers=tuple(small), arena=64 * 40)
    memory.lock(path)
    with pytest.raises(remat.OverBudgetError) as raised:
        dataclasses.replace(memory, arena=memory.arena + 64).check(path)
    assert "op" not in str(raised.value).replace("optimizer", "").split("arena:")[1]


def test_a_tolerance(tmp_path):
    path = tmp_path / "memory.lock"
    memory = measure()
    memory.lock(path)
    more = dataclasses.replace(memory, arena=memory.arena + memory.peak // 50)
    assert "more than" in (said := more.check(path, tolerance=0.02)) and said.endswith("which the tolerance permits")
    for tolerance in (0, 0.01):
        with pytest.raises(remat.OverBudgetError):
            more.check(path, tolerance=tolerance)
    for tolerance in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="the tolerance must be a fraction of at least 0"):
            memory.check(path, tolerance=tolerance)


# --- The command ------------------------------------------------------------------------------------


def test_models_in_files(folder):
    shutil.copy(DIGITS, folder)
    done = memory_command("lock", "model.mlir", "digits.mlir", folder=folder)
    assert done.returncode == 0, done.stderr
    model, digits = measure(mlp(TRAIN), optimizer=None), remat.mlir.measure(remat.mlir.make_request(DIGITS.read_text()))
    assert sorted(done.stdout.splitlines()) == [f"evaluation digits.mlir: {digits.evaluation.peak:,} bytes",
                                                f"model digits.mlir: {digits.step.peak:,} bytes",
                                                f"model model.mlir: {model.peak:,} bytes"]
    done = memory_command("check", folder.name + "/memory.lock", folder=folder.parent)
    assert done.returncode == 0 and done.stderr == ""
    assert f"model model.mlir takes {model.peak:,} bytes, as" in done.stdout and len(done.stdout.splitlines()) == 3

    (folder / "model.mlir").write_text(widen(mlp(TRAIN)))
    done = memory_command("check", folder=folder)
    assert done.returncode == 1
    assert re.match(r"error: model model.mlir takes [\d,]+ bytes, .* more than the [\d,]+ of memory.lock\n  parameters: ", done.stderr)
    assert re.search(r"\n  model.mlir:\d+: residual 6x16xf32 ", done.stderr)
    assert memory_command("check", "--tolerance", "2", folder=folder).returncode == 0
    assert memory_command("lock", "model.mlir", folder=folder).returncode == 0
    done = memory_command("check", folder=folder)
    assert done.returncode == 0 and "evaluation digits.mlir takes" in done.stdout


def test_settings_are_part_of_an_entry(folder):
    (folder / "plain.mlir").write_text(mlp())
    for optimizer, peak in (("#opt.adamw<lr = 0.1>", measure(optimizer=remat.AdamW(0.1), policy="none").peak),
                            ("#opt.sgd<lr = 0.1>", measure(policy="none").peak)):
        done = memory_command("lock", "plain.mlir", "--optimizer", optimizer, "--options", "policy=none", "-o", "own.lock", folder=folder)
        assert done.stdout == f"model plain.mlir: {peak:,} bytes\n", done.stderr
        assert f"\n  optimizer: {optimizer}\n  options: policy=none\n  {peak} peak\n" in (folder / "own.lock").read_text()
        assert memory_command("check", "own.lock", folder=folder).returncode == 0


def test_what_goes_wrong(folder):
    assert memory_command("lock", "model.mlir", folder=folder).returncode == 0
    before = (folder / "memory.lock").read_text()
    (folder / "broken.mlir").write_text(mlp(TRAIN).replace("linalg.matmul ins(%a", "linalg.matmul ins(%b0x"))
    for arguments, message in (
            (["lock", "model.mlir", "broken.mlir"], "broken.mlir:19:28: error: use of undeclared SSA value name"),
            (["lock", "model.mlir", "missing.mlir"], "error: [Errno 2] No such file or directory: 'missing.mlir'"),
            (["lock", "model.mlir", "--optimizer", "adam"], "error: the optimizer must be one of remat's"),
            (["lock", "model.mlir", "--options", "budget=64"], "does not fit a budget of 64 bytes"),
            (["check", "missing.lock"], "error: [Errno 2] No such file or directory: 'missing.lock'"),
            (["check", "model.mlir"], "error: model.mlir:"),
            (["check", "--tolerance", "-1"], "error: the tolerance must be a fraction of at least 0")):
        done = memory_command(*arguments, folder=folder)
        assert done.returncode == 1 and message in done.stderr, done.stderr
        assert (folder / "memory.lock").read_text() == before
    (folder / "model.mlir").unlink()
    done = memory_command("check", folder=folder)
    assert done.returncode == 1 and "No such file or directory: 'model.mlir'" in done.stderr
    (folder / "empty.lock").write_text("# nothing\n")
    assert "empty.lock has no entries" in memory_command("check", "empty.lock", folder=folder).stderr


def test_steps_of_python_are_not_compiled_by_the_command(folder):
    measure().lock(folder / "memory.lock", "mine")
    done = memory_command("check", folder=folder)
    assert done.returncode == 0
    assert done.stdout == "step mine: not compared here, but where it is made, by step.memory.check\n"


def test_an_evaluation_that_is_gone(folder):
    shutil.copy(DIGITS, folder / "model.mlir")
    assert memory_command("lock", "model.mlir", folder=folder).returncode == 0
    (folder / "model.mlir").write_text(mlp(TRAIN))
    done = memory_command("check", folder=folder)
    assert done.returncode == 1 and "error: model.mlir has no evaluation, but memory.lock does" in done.stderr
    assert memory_command("lock", "model.mlir", folder=folder).returncode == 0
    assert list(locks.read(folder / "memory.lock")) == [("model", "model.mlir")]
