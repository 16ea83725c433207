# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations in the step's memory: what they return, and that they change nothing."""
import re
import struct

import numpy as np
import pytest

import remat
from conftest import ROOT, Program, assert_same_bits, assert_unchanged, batch_of, batches, mlp, snapshot

TRAIN = "opt.optimizer @o = #opt.adamw<lr = 0.01>\nremat.train_step @step for @loss optimizer(@o) {eager}"
# The loss's bits as well, as numbers that the program prints whole.
SPLIT = """
  %word = tensor.empty() : tensor<i32>
  %high, %low = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>],
                                iterator_types = []}
      ins(%loss : tensor<f32>) outs(%word, %word : tensor<i32>, tensor<i32>) {
  ^bb0(%v: f32, %a: i32, %b: i32):
    %bits = arith.bitcast %v : f32 to i32
    %half = arith.constant 16 : i32
    %mask = arith.constant 65535 : i32
    %upper = arith.shrui %bits, %half : i32
    %lower = arith.andi %bits, %mask : i32
    linalg.yield %upper, %lower : i32, i32
  } -> (tensor<i32>, tensor<i32>)
  return %loss, %high, %low : tensor<f32>, tensor<i32>, tensor<i32>
}
"""


def with_check(train="", rows=6):
    """`mlp`, and @check, which is its loss and the loss's bits, of a batch of so many rows."""
    text = mlp(train)
    start = text.index("func.func @loss")
    check = text[start:].replace("@loss", "@check").replace("tensor<6x", f"tensor<{rows}x").replace(
        ") -> tensor<f32> {", ') -> (tensor<f32>, tensor<i32> {remat.metric = "high"}, tensor<i32> {remat.metric = "low"}) {', 1)
    return text + check[:check.rindex("  return")] + SPLIT


def digits():
    """The example, its batch, and that of its evaluation."""
    text = (ROOT / "examples" / "digits.mlir").read_text()
    rng = np.random.default_rng(1)
    return text, lambda arguments: [
        (rng.standard_normal(a.shape) if a.type == "f32" else rng.integers(0, 10, a.shape)).astype(a.dtype)
        for a in arguments]


def test_bits_are_those_of_the_program(tmp_path):
    train = TRAIN.replace("optimizer(@o)", "optimizer(@o) eval(@check)")
    step, arrays = remat.mlir.train_step(with_check(train)), batches(3)
    losses = [step(*batch_of(step, arrays, i)) for i in range(3)]
    held_out = batches(1, seed=5)
    np.savez(tmp_path / "held_out.npz", **held_out)
    program = Program(with_check(train), tmp_path)
    program_losses, saved, _ = program.train(arrays, 3, EVAL_DATA=tmp_path / "held_out.npz")
    assert_same_bits(step, losses, program_losses, saved)
    loss, halves = step.eval(held_out["x"], held_out["y"])
    printed = re.search(r"eval 3/3 .* high (\d+)  low (\d+)", program.output)
    assert halves == {"high": int(printed[1]), "low": int(printed[2])}
    assert struct.pack("<f", loss) == struct.pack("<HH", halves["low"], halves["high"])


def test_it_changes_nothing_that_a_step_reads():
    text, draw = digits()
    step, other = (remat.mlir.train_step(text) for _ in range(2))
    for _ in range(3):
        batch, held_out = draw(step.data), draw(step.eval_data)
        before = snapshot(step)
        loss, metrics = step.eval(*held_out)
        assert_unchanged(step, before)
        assert step.eval(*held_out) == (loss, metrics) and metrics.keys() == {"accuracy"}
        assert step(*batch) == other(*batch)
    assert_unchanged(step, snapshot(other))


def test_a_loss_with_dropout_and_statistics_may_be_the_evaluation():
    text, draw = digits()
    step = remat.mlir.train_step(text.replace("eval(@test)", ""), eval_function="loss")
    assert [a.name for a in step.eval_data] == [a.name for a in step.data]
    batch = draw(step.data)
    step(*batch)
    before = snapshot(step)
    losses = [step.eval(*batch) for _ in range(3)]
    assert len(set(losses)) == 1 and np.isfinite(losses[0])
    assert_unchanged(step, before)


def test_it_knows_the_present_parameters():
    step = remat.mlir.train_step(with_check(), function="loss", eval_function="check", optimizer=remat.SGD(0.0))
    batch = batch_of(step, batches(1), 0)
    assert step.eval(*batch)[0] == step(*batch)
    step.load_state_dict({"second.weight": np.zeros((4, 3), "f4")}, strict=False)
    assert step.eval(*batch)[0] == pytest.approx((batch[1]**2).sum() * 0.0555555, rel=1e-6)


def test_its_memory():
    step = remat.mlir.train_step(digits()[0])
    assert 0 < step.eval_memory.arena < step.memory.arena
    assert step.eval_memory.data == sum(a.nbytes for a in step.eval_data)


def test_it_may_need_more_memory_than_the_step():
    step, other = (remat.mlir.train_step(with_check(TRAIN, rows=600), eval_function=name) for name in ("check", None))
    assert step.eval_memory.arena > step.memory.arena == other.memory.arena
    arrays, held_out = batches(4), batches(100, seed=3)
    for i in range(4):
        loss, _ = step.eval(*held_out.values())
        h = np.tanh(held_out["x"] @ step.parameters["first.weight"] + step.parameters["first.bias"])
        assert loss == pytest.approx((((h @ step.parameters["second.weight"]) - held_out["y"])**2).sum() * 0.0555555, rel=1e-4)
        assert step(*batch_of(step, arrays, i)) == other(*batch_of(other, arrays, i))


def test_what_is_wrong_is_said(trained):
    step, _ = trained
    with pytest.raises(TypeError, match="compiled without an evaluation; name its function by eval_function="):
        step.eval()
    with pytest.raises(TypeError, match="compiled without an evaluation"):
        step.eval_memory
    step = remat.mlir.train_step(with_check(TRAIN), eval_function="check")
    before = snapshot(step)
    x, y = batch_of(step, batches(1), 0)
    with pytest.raises(TypeError, match="the evaluation takes 2 arrays .x: float32.6, 5., y: float32.6, 3.., but got 1"):
        step.eval(x)
    with pytest.raises(ValueError, match="argument 1 .'y'. must be of float32.6, 3."):
        step.eval(x, y[:5])
    assert_unchanged(step, before)


@pytest.mark.parametrize("text, arguments, message", [
    (with_check(TRAIN), {"eval_function": "test"}, "'@?test'|@test"),
    (with_check(TRAIN.replace("optimizer(@o)", "optimizer(@o) eval(@check)")), {"eval_function": "check"},
     "says already how the model is evaluated; remove its eval.@check."),
    (with_check(TRAIN)[::-1].replace("thgiew.dnoces", "thgiew.driht", 1)[::-1], {"eval_function": "check"},
     "the evaluation needs 'third.weight', but @step has no parameter or model state of this name")])
def test_evaluations_that_do_not_fit_the_model(text, arguments, message):
    with pytest.raises(remat.CompileError, match=message):
        remat.mlir.train_step(text, **arguments)
