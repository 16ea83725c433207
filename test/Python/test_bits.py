# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step through Python computes, bit for bit, what the program under mlir-runner does."""
import numpy as np
import pytest

import remat
from conftest import ROOT, Program, assert_same_bits, batch_of, batches, mlp
from random_models import Model

STEPS = 5
OPTIMIZERS = {
    "sgd": (remat.SGD(0.1), "#opt.sgd<lr = 0.1>"),
    "momentum": (remat.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
                 "#opt.sgd<lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.01>"),
    "adam": (remat.Adam(remat.StepDecay(0.02, 0.5, 2)),
             "#opt.adam<lr = #opt.step_decay<initial = 0.02, factor = 0.5, every = 2>>"),
    "adamw": (remat.AdamW(remat.LinearWarmupCosine(0.02, 2, 9, 1e-3), groups=[remat.Group("*.bias", weight_decay=0.0)]),
              "#opt.adamw<lr = #opt.linear_warmup_cosine<peak = 0.02, warmup = 2, total = 9, floor = 1.0e-3>>"
              ' {groups = [#opt.group<"*.bias", weight_decay = 0.0>]}'),
    "frozen": (remat.AdamW(0.01, groups=[remat.Group("first.*", frozen=True)], clip_norm=0.5),
               '#opt.adamw<lr = 0.01> {groups = [#opt.group<"first.*", frozen>], clip_norm = 0.5}'),
    "lion": (remat.Lion(0.003, weight_decay=0.1), "#opt.lion<lr = 0.003, weight_decay = 0.1>"),
    "lamb": (remat.LAMB(0.01), "#opt.lamb<lr = 0.01>"),
    "adafactor": (remat.Adafactor(), "#opt.adafactor<lr = 0.01>"),
    "apollo": (remat.APOLLO(0.01, rank=2), "#opt.apollo<lr = 0.01, rank = 2>"),
    "adam_mini": (remat.AdamMini(0.01), "#opt.adam_mini<lr = 0.01>"),
    "muon": (remat.Muon(groups=[remat.Group("*.bias", rule=remat.AdamW(0.01))]),
             '#opt.muon<> {groups = [#opt.group<"*.bias", rule = #opt.adamw<lr = 0.01>>]}'),
}


def compare(step, text, arrays, tmp_path, steps=STEPS, options="", **settings):
    losses = []
    for i in range(steps):
        result = step(*batch_of(step, arrays, i))
        losses.append(result[0] if isinstance(result, tuple) else result)
    program = Program(text, tmp_path, options)
    program_losses, saved, report = program.train(arrays, steps, **settings)
    assert_same_bits(step, losses, program_losses, saved)
    return program, report


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name, tmp_path):
    value, attribute = OPTIMIZERS[name]
    text = mlp(f"opt.optimizer @o = {attribute}\nremat.train_step @step for @loss optimizer(@o) {{eager, seed = 3}}")
    compare(remat.mlir.train_step(mlp(), optimizer=value, seed=3), text, batches(STEPS), tmp_path)


@pytest.mark.parametrize("arguments, attributes", [
    ({"eager": False}, "deferred"), ({"clip_global_norm": 0.1}, "deferred, clip_global_norm = 0.1"),
    ({"accumulate": 3}, "deferred, accumulate = 3")])
def test_what_is_not_eager(arguments, attributes, tmp_path):
    text = mlp(f"opt.optimizer @o = #opt.adam<lr = 0.01>\nremat.train_step @step for @loss optimizer(@o) {{{attributes}}}")
    step = remat.mlir.train_step(mlp(), optimizer=remat.Adam(0.01), **arguments)
    compare(step, text, batches(3 * STEPS), tmp_path)


@pytest.mark.parametrize("arguments", [{"clip_global_norm": 0.1}, {"accumulate": 3}, {"accumulate": 2, "clip_global_norm": 0.1}])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_eager_forms(name, arguments, tmp_path):
    """Two backwards, and loops over micro-batches for each part of it, compute what needs all gradients at once otherwise."""
    value, attribute = OPTIMIZERS[name]
    options = ", ".join(["eager", "seed = 3", "grad_norm", *(f"{key} = {number}" for key, number in arguments.items())])
    text = mlp(f"opt.optimizer @o = {attribute}\nremat.train_step @step for @loss optimizer(@o) {{{options}}}")
    eager, deferred, other = (remat.mlir.train_step(mlp(), optimizer=value, seed=3, eager=mode, grad_norm=True, **arguments)
                              for mode in (True, False, True))
    arrays = batches(STEPS * arguments.get("accumulate", 1))
    for i in range(STEPS):
        assert np.isnan(eager.grad_norm) == (i == 0)
        assert eager(*batch_of(eager, arrays, i)) == deferred(*batch_of(deferred, arrays, i))
        assert eager.grad_norm == deferred.grad_norm > 0.1
    for name, found in eager.state_dict().items():
        assert found.tobytes() == deferred.state_dict()[name].tobytes(), name
    compare(other, text, arrays, tmp_path)


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("eager", [True, False])
def test_norm_of_gradients(eager, accumulate):
    """The step is one of gradient descent, so parameters tell what the gradients were."""
    arguments = {"optimizer": remat.SGD(0.5), "eager": eager, "accumulate": accumulate}
    step = remat.mlir.train_step(mlp(), grad_norm=True, **arguments)
    plain = remat.mlir.train_step(mlp(), **arguments)
    arrays = batches(3 * accumulate)
    for i in range(3):
        before = {name: value.astype(np.float64) for name, value in step.parameters.items()}
        assert step(*batch_of(step, arrays, i)) == plain(*batch_of(plain, arrays, i))
        expected = np.sqrt(sum(np.square((before[name] - value) / 0.5).sum() for name, value in step.parameters.items()))
        np.testing.assert_allclose(step.grad_norm, expected, rtol=1e-5)
    with pytest.raises(TypeError, match="grad_norm=True"):
        plain.grad_norm  # noqa: B018


@pytest.mark.parametrize("policy", ["none", "everything_saveable", "nothing_saveable"])
@pytest.mark.parametrize("seed", [3, 12, 27])
def test_random_models_under_policies(seed, policy, tmp_path):
    """Models with dropout, batch norm, loops, branches, calls and regions."""
    model = Model(seed)
    step = remat.mlir.train_step(model.text, policy=policy)
    compare(step, model.text, model.data(), tmp_path, options=f"policy={policy}", SEED=step.seed)


def test_dropout_and_running_statistics(tmp_path):
    text = (ROOT / "examples" / "digits.mlir").read_text()
    step = remat.mlir.train_step(text)
    rng = np.random.default_rng(0)
    arrays = {}
    for argument in step.data:
        shape = (3 * argument.shape[0], *argument.shape[1:])
        arrays[argument.name] = (rng.standard_normal(shape) if argument.type == "f32" else
                                 rng.integers(0, 10, shape)).astype(argument.dtype)
    roles = {argument.role for argument in step.arguments}
    assert {"random", "state", "parameter", "optimizer"} <= roles
    # The program's evaluation has data of its own, which the step knows nothing of.
    evaluation = {"EVAL_DATA": tmp_path / "data.npz"}
    compare(step, text, arrays, tmp_path, steps=3, SEED=step.seed, **evaluation)


def test_memory_is_what_the_program_uses(tmp_path):
    text = mlp("opt.optimizer @o = #opt.adamw<lr = 0.01>\nremat.train_step @step for @loss optimizer(@o) {eager}")
    step = remat.mlir.train_step(text)
    program, report = compare(step, text, batches(STEPS), tmp_path)
    assert step.memory.arena == program.memory()["arena"]
    assert step.memory.at_peak and step.memory.residuals == program.memory()["peak"]["residuals"]
    # The program has all examples in its memory, the step one batch.
    used = report["peak_bytes_by_class"]
    examples = sum(array.nbytes for array in batches(STEPS).values())
    assert step.memory.peak == report["peak_bytes"] - examples
    assert (step.memory.parameters, step.memory.optimizer_state) == (used["parameters"], used["optimizer state"])


def test_annotations_are_those_of_the_tool():
    model = Model(12, plain=True)
    policy = remat.ops("linalg.matmul") | remat.nothing_saveable
    step = remat.mlir.train_step(model.text, policy=policy)
    plain = remat.mlir.train_step(model.text)
    arrays = model.data()
    for i in range(STEPS):
        assert step(*batch_of(step, arrays, i)) == plain(*batch_of(plain, arrays, i))
    assert step.explain() == remat.mlir.explain(model.text, policy=policy)
    assert "#remat.nothing_saveable" in step.explain() and "#remat.nothing_saveable" not in plain.explain()
