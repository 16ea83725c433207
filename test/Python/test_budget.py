# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`budget=`: as much memory as there is."""
import numpy as np
import pytest

import remat

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
