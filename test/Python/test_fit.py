# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`remat.fit`: the largest batch whose step fits, by few compilations."""
import dataclasses
import functools
import math
import types

import pytest

import remat
from conftest import batches, mlp
from remat.fitting import COMPILATIONS, count_bytes, parse_bytes


def sized(batch):
    return mlp().replace("6x", f"{batch}x").replace("0.0555555", f"{1 / (3 * batch)}")


@functools.cache
def peak(batch, accumulate=None):
    return remat.mlir.memory(sized(batch), optimizer=remat.AdamW(0.01), accumulate=accumulate).peak


SOME = remat.mlir.memory(mlp(), optimizer=remat.SGD(0.1))


def make_step(batch, accumulate=None, **arguments):
    return remat.mlir.train_step(sized(batch), optimizer=remat.AdamW(0.01), optimization_level=0, accumulate=accumulate, **arguments)


# --- Models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["8KiB", 20_000, "0.1 MB"])
def test_the_largest_batch(memory):
    compiled = []

    def make(batch):
        compiled.append(batch)
        return make_step(batch)

    fit = remat.fit(make, memory)
    limit = parse_bytes(memory)
    assert fit.is_largest and fit.accumulate == 1 and fit.memory == limit
    assert fit.bytes == fit.step.memory.peak == peak(fit.batch) <= limit < peak(fit.batch + 1)
    assert compiled == [trial.batch for trial in fit.trials] and len(set(compiled)) == len(compiled) <= COMPILATIONS
    assert fit.step.number == 0 and fit.step.data[0].shape == (fit.batch, 5)
    x, y = batches(1, examples=fit.batch).values()
    assert math.isfinite(fit.step(x, y))
    lines = repr(fit).splitlines()
    assert lines[0] == f"batch {fit.batch} takes {fit.bytes:,} of {limit:,} bytes" and len(lines) == 2 + len(compiled)
    assert [f"{fit.batch + 1:,}", "1", f"{peak(fit.batch + 1):,}", "too", "large"] in [line.split() for line in lines]


def test_micro_batches_of_a_wanted_batch():
    peaks = {size: peak(size, None if size == 96 else 96 // size) for size in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96)}
    assert peaks[1] < peaks[16] < peaks[32] < peaks[96]
    for limit in (peaks[96], peaks[96] - 1, peaks[32], peaks[1]):
        fit = remat.fit(make_step, limit, batch=96)
        assert fit.batch == max(size for size in peaks if peaks[size] <= limit) and fit.is_largest
        assert fit.accumulate == 96 // fit.batch and fit.step.data[0].shape == (96, 5)
        assert fit.bytes == fit.step.memory.peak == peaks[fit.batch]
    assert f"batch {fit.batch}, {fit.accumulate} times, takes {fit.bytes:,} of" in repr(fit)
    assert remat.fit(make_step, peak(1), batch=1).batch == 1


def test_a_model_in_pytorch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))

    def make(batch, accumulate=None):
        examples = torch.zeros(batch, 8), torch.zeros(batch, 1)
        return remat.torch.train_step(model, torch.nn.functional.mse_loss, examples, optimizer=remat.SGD(0.1), accumulate=accumulate)

    fit = remat.fit(make, "32KiB")
    assert fit.is_largest and len(fit.trials) < 8 and fit.bytes <= 32768 < make(fit.batch + 1).memory.peak
    assert math.isfinite(fit.step(torch.ones(fit.batch, 8), torch.ones(fit.batch, 1)))
    parts = remat.fit(make, "32KiB", batch=4 * fit.batch)
    assert parts.accumulate >= 4 and parts.bytes <= 32768 and parts.step.data[0].shape[0] == 4 * fit.batch


def test_an_evaluation_counts():
    def make(batch, **arguments):
        return make_step(batch, eval_function="loss", **arguments)

    step = make(6)
    assert count_bytes(step) == max(step.memory.arena, step.eval_memory.arena) + step.memory.peak - step.memory.arena
    assert remat.fit(make, count_bytes(step)).batch == 6


def test_steps_with_a_budget_of_their_own():
    limit = peak(40)
    fit = remat.fit(lambda batch: make_step(batch, budget=limit, options="plan-visits=100000"), limit)
    assert fit.batch >= 40 and fit.step.memory.peak <= limit
    missed = [trial for trial in fit.trials if trial.bytes is None]
    assert missed and all("does not fit a budget" in trial.error for trial in missed)
    with pytest.raises(remat.CompileError) as raised:
        make_step(40, budget=600, options="plan-visits=100000")
    assert raised.value.code == "budget-missed" and [d.code for d in raised.value.diagnostics] == ["budget-missed"]
    assert "error: 'step' does not fit a budget" in repr(fit)


def test_steps_for_which_the_machine_has_no_memory():
    for batch in (10**13, 10**15):  # more than there is, and more than there may be
        with pytest.raises(remat.CompileError) as raised:
            make_step(batch)
        assert raised.value.code == "out-of-memory", str(raised.value)
    fit = remat.fit(lambda batch: make_step(batch if batch <= 4 else batch + 10**13), "1MiB")
    assert fit.batch == 4 and fit.is_largest
    missed = [trial for trial in fit.trials if trial.bytes is None]
    assert missed and all(trial.batch > 4 and "there is no memory for the" in trial.error for trial in missed)


def test_not_even_one_example():
    with pytest.raises(remat.OverBudgetError) as raised:
        remat.fit(make_step, 600)
    lines = str(raised.value).splitlines()
    memory = make_step(1).memory
    assert lines[0].startswith(f"not even batch 1 fits in 600 bytes (600 bytes): it takes {memory.peak:,} (")
    assert f"  {memory.parameters} parameters" in lines and f"  {memory.arena} arena" in lines
    assert lines[lines.index("the largest tensors:") + 1:][0] == "  optimizer state 5x4xf32 of first.weight.m: 80 bytes"
    assert len(lines) == lines.index("the largest tensors:") + 6
    with pytest.raises(remat.OverBudgetError, match="not even batch 1, 4 times fits in 600 bytes"):
        remat.fit(make_step, 600, batch=4)
    with pytest.raises(remat.OverBudgetError, match="not even batch 1 fits in 600 bytes: .* does not fit a budget of 600"):
        remat.fit(lambda batch: make_step(batch, budget=600, options="plan-visits=100000"), 600)


def test_errors_of_the_model_are_errors():
    broken = mlp().replace("ins(%a", "ins(%b0x")
    with pytest.raises(remat.CompileError, match="out of memory.mlir:.*use of undeclared") as raised:  # whatever their texts say
        remat.fit(lambda batch: remat.mlir.train_step(broken, optimizer=remat.SGD(0.1), file_name="out of memory.mlir"), "1MiB")
    assert raised.value.code == ""
    with pytest.raises(remat.CompileError, match="use of undeclared"):
        remat.fit(lambda batch: remat.mlir.train_step(sized(batch).replace("ins(%a", "ins(%b0x"), optimizer=remat.SGD(0.1)), "1MiB")


@pytest.mark.parametrize("memory, error, message", [
    ("0.5", ValueError, "memory: '0.5' is a fraction, but a number of bytes is needed"),
    ("5 apples", ValueError, "memory: budget '5 apples' is neither a number of bytes"),
    (0, ValueError, "must be at least one byte"),
    (-5, ValueError, "is neither a number of bytes"),
    (2**63, ValueError, "below 2"),
    (0.5, TypeError, "memory must be text such as '16GiB' or a number of bytes, but got float"),
    (True, TypeError, "but got bool"),
])
def test_what_is_no_memory(memory, error, message):
    with pytest.raises(error, match=message):
        remat.fit(make_step, memory)


def test_what_makes_no_step():
    with pytest.raises(TypeError, match="make_step must be a function of a batch that returns a step, but got Step"):
        remat.fit(make_step(6), "1MiB", batch=None)
    with pytest.raises(TypeError, match="make_step must return a remat.Step, but for batch 1 it returned int"):
        remat.fit(lambda batch: batch, "1MiB")
    with pytest.raises(ValueError, match=r"make_step ignores the batch: its steps for 1 and for 2 have the same data \(x: float32\[6, 5\]"):
        remat.fit(lambda batch: make_step(6), "1MiB")
    with pytest.raises(ValueError, match=r"1 examples|4 of 1 are x: float32\[4, 5\], .* but batch 2, 2 times x: float32\[2, 5\]"):
        remat.fit(lambda batch, accumulate: make_step(1, accumulate), "1MiB", batch=4)
    with pytest.raises(TypeError, match="make_step must take a micro-batch and how many of them there are, but it takes"):
        remat.fit(lambda batch: make_step(batch), "1MiB", batch=4)
    for batch in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match="batch must be a number of examples of at least 1"):
            remat.fit(make_step, "1MiB", batch=batch)


# --- The search -------------------------------------------------------------------------------------


class Fake(remat.Step):
    """A step of so many bytes, which was not compiled."""

    memory = None

    def __init__(self, memory, examples):
        self.memory, self.data = memory, (Examples(examples),)
        self._native = types.SimpleNamespace(evaluation="")


class Examples(int):
    name = "x"


def search(curve, limit, **arguments):
    def make(batch, accumulate=None):
        size = curve(batch)
        if size is None:
            raise MemoryError
        return Fake(dataclasses.replace(SOME, arena=size - SOME.peak + SOME.arena), batch * (accumulate or 1))

    return remat.fit(make, limit, **arguments)


CURVES = {
    "affine": lambda b: 10**6 + 12_345 * b,
    "aligned": lambda b: 10**6 + (12_345 * b + 63) // 64 * 64,
    "workspace that the batch outgrows": lambda b: 10**6 + max(10**6, 20_000 * b),
    "two slopes": lambda b: 10**6 + 30_000 * min(b, 40) + 1000 * max(0, b - 40),
    "a jump": lambda b: 10**6 + 5000 * b + 3 * 10**6 * (b > 100),
    "quadratic": lambda b: 10**6 + 10 * b * b,
    "one example is different": lambda b: 10**6 + (900_000 if b == 1 else 1000 * b),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves(name):
    curve = CURVES[name]
    for limit in (2_100_000, 3_000_000, 5_000_000, 20_000_000):
        fit = search(curve, limit)
        assert fit.bytes == curve(fit.batch) <= limit and len(fit.trials) <= COMPILATIONS
        assert fit.is_largest == (curve(fit.batch + 1) > limit and any(t.batch == fit.batch + 1 for t in fit.trials))
        assert ("a larger one may fit" in repr(fit)) != fit.is_largest
        largest = next(b for b in range(1, 10**6) if curve(b + 1) > limit)
        assert fit.batch >= 0.97 * largest
        assert fit.batch == largest or name in ("a jump", "quadratic")
        if name in ("affine", "aligned"):
            assert fit.batch == largest and len(fit.trials) <= 6


def test_batches_that_the_machine_cannot_hold():
    fit = search(lambda b: 1000 + 10 * b if b < 1000 else None, 10**9)
    assert 900 <= fit.batch < 1000 and len(fit.trials) == COMPILATIONS
    assert any(trial.error == "the machine has not so much memory" for trial in fit.trials)


def test_a_wanted_batch_of_many_divisors():
    for limit in (10**6 + 64, 10**6 + 500, 10**6 + 3000, 10**6 + 60_000, 10**7):
        fit = search(lambda b: 10**6 + 10 * b, limit, batch=5040)
        assert fit.batch == max(d for d in range(1, 5041) if 5040 % d == 0 and 10**6 + 10 * d <= limit)
        assert fit.is_largest and fit.batch * fit.accumulate == 5040
