# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`budget=`: as much memory as there is."""
import numpy as np
import pytest

import remat
from remat import automatic

LAYERS = 6
MATRIX = "tensor<64x64xf32>"


def deep():
    """Six products and tanhs, one after the other, whose squares are added up."""
    parameters = "".join(f'%w{i}: {MATRIX} {{opt.param = "w{i}", opt.init = "normal(0.1)"}}, ' for i in range(LAYERS))
    lines, value = [], "%x"
    for i in range(LAYERS):
        lines.append(f"""
  %p{i} = linalg.matmul ins({value}, %w{i} : {MATRIX}, {MATRIX}) outs(%zeros : {MATRIX}) -> {MATRIX}
  %h{i} = linalg.map {{ math.tanh }} ins(%p{i} : {MATRIX}) outs(%empty : {MATRIX})""")
        value = f"%h{i}"
    return f"""
opt.optimizer @o = #opt.adamw<lr = 0.01>
remat.train_step @step for @loss optimizer(@o)
func.func @loss({parameters}%x: {MATRIX} {{remat.data = "x"}}) -> (f32 {{remat.loss}}) {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {MATRIX}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {MATRIX}) -> {MATRIX}{"".join(lines)}
  %square = linalg.map {{ arith.mulf }} ins({value}, {value} : {MATRIX}, {MATRIX}) outs(%empty : {MATRIX})
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce {{ arith.addf }} ins(%square : {MATRIX}) outs(%start : tensor<f32>) dimensions = [0, 1]
  %loss = tensor.extract %sum[] : tensor<f32>
  return %loss : f32
}}
"""


def make_step(**arguments):
    return remat.mlir.train_step(deep(), options="plan-visits=3000000", **arguments)


def test_same_bits_in_fewer_bytes():
    plain, half = make_step(), make_step(budget=0.7, budget_of="arena")
    assert half.memory.arena <= 0.7 * make_step(budget=1.0, budget_of="arena").memory.arena < plain.memory.arena
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = rng.standard_normal((64, 64)).astype("f4")
        assert plain(x) == half(x)
    assert all(array.tobytes() == half.state_dict()[name].tobytes() for name, array in plain.state_dict().items())


def test_everything_counts():
    whole = make_step()
    with pytest.raises(remat.CompileError, match=r"does not fit a budget of \d+ bytes, \d+ of which are parameters, states, data"):
        make_step(budget=whole.memory.arena)
    assert make_step(budget="1GiB").memory == make_step(budget=1.0).memory
    tight = make_step(budget=0.95)
    assert tight.memory.peak <= 0.95 * make_step(budget=1.0).memory.peak


@pytest.mark.parametrize("budget, error, message", [
    ("5 apples", remat.CompileError, "neither a number of bytes such as 4096"),
    (1.5, ValueError, "a budget that is a float is a fraction"),
    (0, remat.CompileError, "must be at least one byte"),
    (-3, remat.CompileError, "neither a number of bytes"),
    (True, TypeError, "the budget must be text"),
    ("100B} policy={none", ValueError, "the budget must be text such as"),
])
def test_what_is_no_budget(budget, error, message):
    with pytest.raises(error, match=message):
        make_step(budget=budget)


def test_fewest_bytes_for_so_much_time():
    arenas = [make_step(slowdown=slowdown).memory.arena for slowdown in (0, 0.15, 9)]
    assert arenas[0] > arenas[1] > arenas[2]
    with pytest.raises(remat.CompileError, match="slowdown '-1.000000000' must be a number from 0 to 100"):
        make_step(slowdown=-1)
    with pytest.raises(TypeError, match="the slowdown must be a number such as 0.1, but got str"):
        make_step(slowdown="10%")
    with pytest.raises(remat.CompileError, match="give one of them"):
        make_step(slowdown=0.1, budget=0.5)


@pytest.mark.parametrize("free, recomputes", [(1 << 30, False), (None, True)])
def test_auto_recomputes_only_what_does_not_fit(monkeypatch, free, recomputes):
    """The limit is what is free, less a tenth for others."""
    plain = remat.mlir.memory(deep(), policy="none")
    least = remat.mlir.memory(deep(), policy="none", options="plan-visits=3000000", budget=plain.peak - 3 * 64 * 64 * 4).peak
    free = free or int(least / automatic.SHARE) + 2
    monkeypatch.setattr(automatic, "count_free_bytes", lambda: free)
    arguments = {"policy": "auto", "options": "plan-visits=3000000"}
    step, memory = remat.mlir.train_step(deep(), **arguments), remat.mlir.memory(deep(), **arguments)
    assert step.memory == memory
    assert memory.peak <= automatic.SHARE * free
    assert (memory == plain, memory.recomputed_ops > plain.recomputed_ops) == (not recomputes, recomputes)


def test_auto_says_what_would_fit(monkeypatch):
    monkeypatch.setattr(automatic, "count_free_bytes", lambda: 64 * 64 * 4)
    with pytest.raises(remat.CompileError, match="budget") as error:
        remat.mlir.memory(deep(), policy="auto")
    assert error.value.code == "budget-missed"
    # A budget of one's own is what counts.
    assert remat.mlir.memory(deep(), policy="auto", budget="1GiB").recomputed_ops == 0


def test_auto_counts_what_the_system_says(monkeypatch, tmp_path):
    meminfo, group = tmp_path / "meminfo", tmp_path / "cgroup"
    monkeypatch.setattr(automatic, "MEMORY", meminfo)
    monkeypatch.setattr(automatic, "GROUP", group)
    assert automatic.count_free_bytes() is None
    with pytest.raises(ValueError, match="policy='auto' needs budget=\"16GiB\" here"):
        remat.mlir.memory(deep(), policy="auto")
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:    8 kB\n")
    assert automatic.count_free_bytes() == 8192
    group.mkdir()
    (group / "memory.max").write_text("5000\n")
    (group / "memory.current").write_text("1000\n")
    assert automatic.count_free_bytes() == 4000
    (group / "memory.max").write_text("max\n")
    assert automatic.count_free_bytes() == 8192
