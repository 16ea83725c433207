# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C, and what else long work tells its user: it ends soon, and leaves a process and steps that go on."""
import contextlib
import logging
import os
import signal
import sys
import threading
import time

import pytest

import remat
from conftest import ROOT, batch_of, batches, mlp, snapshot
from remat import progress

LARGE = (ROOT / "examples" / "chargpt.mlir").read_text()
SGD = remat.SGD(0.1)


@contextlib.contextmanager
def interrupted():
    """The signal has its usual meaning within: a process that tests start in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield lambda: os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_between_steps_leaves_a_step_that_goes_on(trained):
    step, arrays = trained
    batch = batch_of(step, arrays, 0)
    with interrupted() as interrupt:
        timer = threading.Timer(0.2, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000000):
                step(*batch)
        timer.join()
    done, before = step.number, snapshot(step)
    other = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
    other.load_state_dict(before)
    assert done > 3 and step(*batch) == other(*batch) and step.number == done + 1


def count_threads():
    """Of the compiler, too, which Python does not know."""
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("count", [1, 40, 120])
def test_an_interrupt_ends_a_compilation(count, monkeypatch):
    """At its start, between passes, and near its end."""
    seen = []

    def interrupt_at(self, stage, number):
        seen.append(number)
        if number >= count and not fired:
            fired.append(number)
            interrupt()
    fired, before = [], count_threads()
    monkeypatch.setattr(progress.Progress, "__call__", interrupt_at)
    with interrupted() as interrupt, pytest.raises(KeyboardInterrupt):
        remat.mlir.train_step(LARGE)
    assert fired
    monkeypatch.undo()
    # All of it is gone, and the process goes on.
    assert count_threads() <= before
    step, other = (remat.mlir.train_step(mlp(), optimizer=SGD) for _ in range(2))
    batch = batch_of(step, batches(1), 0)
    assert step(*batch) == other(*batch)


def test_an_interrupt_ends_explain():
    from remat import mlir

    def stop(stage, count):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        mlir._native.explain(mlir.make_request(LARGE).options, stop)


def test_nothing_is_kept_of_what_was_interrupted(tmp_path, monkeypatch):
    from remat import mlir
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path / "cache"))

    def stop(stage, count):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        mlir._native.compile(mlir.make_request(LARGE).options, stop)
    assert not list(tmp_path.rglob("llvmcache*"))
    assert remat.mlir.train_step(LARGE).number == 0


def test_errors_of_the_model_are_not_hidden():
    with pytest.raises(remat.CompileError, match="undeclared"):
        remat.mlir.train_step(LARGE.replace("linalg.fill ins(%zero", "linalg.fill ins(%zerro", 1))


# --- Progress --------------------------------------------------------------------------------------


def test_long_compilations_say_what_they_do(monkeypatch, caplog):
    monkeypatch.setattr(progress, "QUIET", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with caplog.at_level(logging.INFO, "remat"):
        remat.mlir.train_step(LARGE, file_name="chargpt.mlir")
    messages = [record.getMessage() for record in caplog.records]
    assert any(message.startswith("compiling chargpt.mlir for") and message.split(": ")[1]
               for message in messages)
    assert messages[-1].startswith("chargpt.mlir was compiled in")


def test_short_ones_say_nothing_but_how_long_they_took(caplog):
    with caplog.at_level(logging.INFO, "remat"):
        remat.mlir.train_step(mlp(), optimizer=SGD)
    messages = [record.getMessage() for record in caplog.records]
    assert [m for m in messages if m.startswith("compiling")] == []


class Terminal:
    """Where a bar is drawn."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


def test_a_bar_on_a_terminal(monkeypatch, caplog):
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(progress, "QUIET", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = progress.Progress("net.mlir")
    with caplog.at_level(logging.INFO, "remat"):
        bar("remat-plan", 3)
        time.sleep(0.2)  # tqdm draws ten times a second
        bar("remat-pack-memory", 9)
        bar.close()
    assert "compiling net.mlir" in terminal.text and "9" in terminal.text and "remat-pack-memory" in terminal.text
    assert caplog.text == ""


def test_no_bar_elsewhere(monkeypatch):
    assert progress._make_bar("net.mlir") is None or sys.stderr.isatty()
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert progress._make_bar("net.mlir") is None
