# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports of PyTorch and JAX through remat.mlir: gradients as their frameworks recorded them, and runs that are resumed."""
import numpy as np
import pytest

import remat
from conftest import ROOT, assert_unchanged, snapshot
from remat.testing import models

SAMPLES = sorted((ROOT / "test" / "Models" / "Inputs").glob("*.npz"))
STEPS = 20


class Sample:
    """A recorded model, and the batch that it was recorded with."""

    def __init__(self, path):
        self.model = models.Recorded(path.with_suffix(".mlir"))
        self.by_role = {}
        for i, entry in enumerate(self.model.spec["arguments"]):
            self.by_role.setdefault(entry["role"], {})[entry["name"]] = self.model.arrays[f"arg{i}"]

    def make_step(self, momentum=0.9):
        step = remat.mlir.train_step(self.model.text, passes=f"remat-import{{spec='{self.model.spec_path}'}}",
                                     file_name=self.model.path.name, optimizer=remat.SGD(models.RATE, momentum=momentum),
                                     optimization_level=1)
        # Weights that are constants of the module are what the step starts from.
        known = self.by_role.get("parameter", {}) | self.by_role.get("buffer", {})
        step.load_state_dict({name: array for name, array in known.items() if name in step.state_dict()}, strict=False)
        return step

    def batch(self, step):
        return [self.by_role["data"][argument.name] for argument in step.data]


@pytest.fixture(scope="module", params=[pytest.param(path, id=path.stem) for path in SAMPLES])
def sample(request):
    return Sample(request.param)


def run(step, batch):
    """The loss, and the bytes of the other results by name."""
    value = step(*batch)
    loss, extras = value if isinstance(value, tuple) else (value, {})
    return loss, {name: np.asarray(extra).tobytes() for name, extra in extras.items()}


def run_recorded(sample, step):
    """Runs one step on the recorded batch, and returns its results as remat.testing.models compares them."""
    initial = snapshot(step)
    value = step(*sample.batch(step))
    loss, extras = value if isinstance(value, tuple) else (value, {})
    after = step.state_dict()
    # The first momentum is the gradient.
    gradients = {name: after[f"{name}.momentum"].copy() for name in step.parameters}
    others = iter(extras.values())
    results = {i: np.asarray(loss if entry["role"] == "loss" else next(others))
               for i, entry in enumerate(sample.model.spec["results"]) if entry["role"] != "buffer_update"}
    return {"initial": initial, "updated": after, "gradients": gradients, "results": results}


def test_one_step_is_as_recorded(sample):
    found = run_recorded(sample, sample.make_step())
    assert models.compare_results(sample.model, found) == []
    _, _, wrong = models.compare_gradients(sample.model, found)
    assert wrong == [] and models.compare_updates(found) == []


def test_parameters_move_by_the_rate_times_the_gradient(sample):
    step = sample.make_step(momentum=0.0)
    initial = {name: array.copy() for name, array in step.parameters.items()}
    step(*sample.batch(step))
    for name, (_, _, gradient) in sample.model.gradients().items():
        moved = initial[name] - step.parameters[name].astype("f8")
        rounding = 2.0**-23 * np.abs(initial[name]).max(initial=0)
        np.testing.assert_allclose(moved, models.RATE * gradient, rtol=1e-3,
                                   atol=rounding + 1e-4 * models.RATE * np.abs(gradient).max(initial=0), err_msg=name)


def test_a_run_goes_on_from_a_file_and_from_a_state(sample, tmp_path):
    """In the bits of a run that was not interrupted."""
    step = sample.make_step()
    batch = sample.batch(step)
    losses = []
    for number in range(STEPS):
        if number == STEPS // 2:
            step.save(tmp_path / "run.safetensors")
            middle = snapshot(step)
        losses.append(run(step, batch))
    assert losses[-1][0] < losses[0][0]
    expected = snapshot(step)

    step.load_state_dict(middle)
    assert_unchanged(step, middle)
    other = sample.make_step()
    other.load(tmp_path / "run.safetensors")
    assert other.number == STEPS // 2
    assert_unchanged(other, middle)
    for resumed in (step, other):
        assert [run(resumed, batch) for _ in range(STEPS // 2)] == losses[STEPS // 2:]
        assert_unchanged(resumed, expected)
