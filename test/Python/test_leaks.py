# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing is kept of compiled steps that are gone, nor of calls that are over. REMAT_LONG_TESTS=1 counts to 1000 and 10^5."""
import ctypes
import gc
import os
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import remat
from conftest import batch_of, batches, mlp

LONG = bool(os.environ.get("REMAT_LONG_TESTS"))


class Allocated(ctypes.Structure):
    """mallinfo2 of glibc."""
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks", "fordblks", "keepcost")]


mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Allocated


def measure():
    """Bytes of this process in memory, those that malloc has given out, and counts of what else may be kept."""
    gc.collect()
    info = mallinfo()
    return {"resident": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            "allocated": info.uordblks + info.hblkhd, "objects": len(gc.get_objects()),
            "threads": len(os.listdir("/proc/self/task")), "files": len(os.listdir("/proc/self/fd"))}


def grown_over(function, calls):
    before = measure()
    before = measure()  # is counted by now
    for _ in range(calls):
        function()
    after = measure()
    grown = {name: after[name] - before[name] for name in before}
    print(calls, "calls:", grown)
    return grown


def is_flat(grown):
    return not (grown["objects"] or grown["threads"] or grown["files"]) and grown["allocated"] < 16 << 10 and \
        grown["resident"] < 4 << 20  # malloc gives back late what it has not given out


def assert_flat(function, calls, warm_up):
    """After the first calls, others keep no bytes, objects, threads or files. A cache may grow once: a leak does so each time."""
    for _ in range(warm_up):
        function()
    grown = grown_over(function, calls)
    for _ in range(2):
        if not is_flat(grown):
            grown = grown_over(function, calls)
    assert is_flat(grown), grown


def test_compilations_leave_nothing():
    arrays = batches(1)

    def compile_and_train():
        step = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
        step(*batch_of(step, arrays, 0))
        step.explain()

    assert_flat(compile_and_train, 1000 if LONG else 15, warm_up=5)


def test_compilations_that_fail_leave_nothing():
    text = mlp().replace("remat.yield %t", "remat.yield %missing")

    def fail():
        with pytest.raises(remat.CompileError):
            remat.mlir.train_step(text, optimizer=remat.AdamW(0.01))

    assert_flat(fail, 1000 if LONG else 30, warm_up=5)


def test_steps_leave_nothing(trained):
    step, arrays = trained
    batch = batch_of(step, arrays, 0)
    not_contiguous = [np.asfortranarray(array) for array in batch]
    references = [sys.getrefcount(array) for array in batch + not_contiguous]
    calls = 100_000 if LONG else 2000
    for arguments in (batch, not_contiguous):
        assert_flat(lambda: step(*arguments), calls, warm_up=1000)
    assert [sys.getrefcount(array) for array in batch + not_contiguous] == references


def test_threads_that_ran_a_step_leave_nothing(trained):
    step, arrays = trained
    batch = batch_of(step, arrays, 0)

    def run():
        thread = threading.Thread(target=step, args=batch)
        thread.start()
        thread.join()

    assert_flat(run, 10_000 if LONG else 200, warm_up=50)


def test_calls_that_fail_leave_nothing(trained):
    step, arrays = trained
    x, y = batch_of(step, arrays, 0)

    def fail():
        with pytest.raises(TypeError):
            step(x, y.astype("f8"))

    assert_flat(fail, 20_000 if LONG else 500, warm_up=100)


def test_states_that_are_read_and_set_leave_nothing(trained):
    step, _ = trained
    saved = {name: np.array(value) for name, value in step.state_dict().items()}

    def copy():
        step.load_state_dict(saved)
        return step.state_dict()

    assert_flat(copy, 20_000 if LONG else 500, warm_up=100)


def test_a_view_keeps_the_step_and_its_end_frees_it():
    step = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
    native = weakref.ref(step)
    weight = step.state_dict()["first.weight"]
    expected = weight.copy()
    del step
    gc.collect()
    assert native() is None
    assert np.array_equal(weight, expected)
