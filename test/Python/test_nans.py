# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`check_nans=True`: where a NaN comes from."""
import numpy as np
import pytest

import remat
from conftest import batch_of, batches, mlp

TRAIN = """
opt.optimizer @o = #opt.adamw<lr = 0.01>
remat.train_step @step for @loss optimizer(@o) {eager}
"""


def step_and_batch():
    step = remat.mlir.train_step(mlp(TRAIN), check_nans=True)
    return step, [array.copy() for array in batch_of(step, batches(1), 0)]


def test_no_bit_depends_on_it():
    step, batch = step_and_batch()
    plain = remat.mlir.train_step(mlp(TRAIN))
    assert [step(*batch) for _ in range(3)] == [plain(*batch) for _ in range(3)]
    assert all(array.tobytes() == plain.state_dict()[name].tobytes() for name, array in step.state_dict().items())
    assert step.memory == plain.memory and step.explain() == plain.explain()


def test_data_with_a_nan():
    step, (x, y) = step_and_batch()
    x[5, 4] = np.nan
    with pytest.raises(remat.StepError, match="'x' has a NaN when the step begins"):
        step(x, y)
    assert step.number == 0


def test_a_parameter_with_a_nan():
    step, batch = step_and_batch()
    step.parameters["second.weight"][-1, -1] = np.nan
    with pytest.raises(remat.StepError, match="'second.weight' has a NaN when the step begins"):
        step(*batch)


def test_the_operation_that_makes_it_is_named_with_its_line():
    step, (x, y) = step_and_batch()
    step.parameters["first.weight"][:2] = [[np.inf], [-np.inf]]
    text = mlp(TRAIN).split("\n")
    line = 1 + next(i for i, line in enumerate(text) if "linalg.matmul ins(%a" in line)
    with pytest.raises(remat.StepError, match=rf"linalg.matmul at model.mlir:{line} is the first operation whose result has a NaN"):
        step(np.ones_like(x), y)


def test_infinities_are_no_nans():
    step, (x, y) = step_and_batch()
    y[0, 0] = np.inf
    with pytest.raises(remat.StepError, match="whose result has a NaN"):  # infinity times 0, or minus itself, in the backward or the update
        step(x, y)
        step(x, y)
    plain, (x, y) = step_and_batch()
    x[:] = 1e20
    assert np.isfinite(plain(x, y))


SOFTMAX = """
#id = affine_map<(i, j) -> (i, j)>
opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o)
func.func @loss(%x: tensor<6x5xf32> {remat.data = "x"}, %w: tensor<6x5xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> tensor<f32> {
  %e = tensor.empty() : tensor<6x5xf32>
  %s = linalg.softmax dimension(1) ins(%w : tensor<6x5xf32>) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%s, %x : tensor<6x5xf32>, tensor<6x5xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
"""


def test_what_a_maximum_starts_from_is_no_nan_of_the_model():
    step = remat.mlir.train_step(SOFTMAX, check_nans=True)
    x = np.linspace(-1, 1, 30, dtype="f4").reshape(6, 5)
    assert np.isfinite(step(x))
    step.parameters["w"][2, 2] = np.inf
    with pytest.raises(remat.StepError, match="whose result has a NaN"):
        step(x)


@pytest.mark.parametrize("mode", [" {eager}", ""])
def test_a_batch_with_a_nan_is_skipped(mode):
    step, plain = (remat.mlir.train_step(mlp(TRAIN.replace(" {eager}", mode)), check_nans=checks) for checks in (True, False))
    batch = [array.copy() for array in batch_of(step, batches(1), 0)]
    bad = [array.copy() for array in batch]
    bad[0][5, 4] = np.nan
    assert step(*batch) == plain(*batch)
    before = {name: array.copy() for name, array in step.state_dict().items()}
    with pytest.raises(remat.StepError, match="has a NaN when the step begins$"):
        step(*bad)
    assert all(array.tobytes() == before[name].tobytes() for name, array in step.state_dict().items())
    assert step.number == 1 and step(*batch) == plain(*batch)


def test_a_nan_after_the_first_update_ends_training():
    """Gradients are numbers, but the first layer's update, which comes last, makes a NaN of its state."""
    step, batch = step_and_batch()
    step.state_dict()["first.weight.v"][:] = -1
    with pytest.raises(remat.StepError, match="whose result has a NaN; parameters or states have changed"):
        step(*batch)
    with pytest.raises(remat.StepError, match="an earlier step failed after it had begun to update parameters"):
        step(*batch)
