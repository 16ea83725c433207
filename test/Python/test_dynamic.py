# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps for data of several sizes, which share parameters and states."""
import gc
import threading

import numpy as np
import pytest

import remat
from conftest import mlp
from remat import mlir

TRAIN = """
opt.optimizer @o = #opt.adamw<lr = 0.01>
remat.train_step @step for @loss optimizer(@o) {eager}
"""
RNG = np.random.default_rng(0)


def sized(rows, train=TRAIN):
    """The net of conftest for batches of so many rows."""
    text = mlp(train)
    for columns in (5, 4, 3):
        text = text.replace(f"6x{columns}xf32", f"{rows}x{columns}xf32")
    return text


def batch(rows):
    return RNG.normal(size=(rows, 5)).astype("f4"), RNG.normal(size=(rows, 3)).astype("f4")


def make(dynamic=True):
    compiled = []

    def recompile(native, shapes):
        compiled.append(shapes)
        assert shapes[0][1:] == (5,) and shapes[1][1:] == (3,)
        return remat.Step(*mlir.compile_request(mlir.make_request(sized(shapes[0][0])), native))

    step = remat.Step(*mlir.compile_request(mlir.make_request(sized(6))), recompile if dynamic else None)
    return step, compiled


def test_sizes_in_turn_give_the_bits_of_steps_of_their_own():
    step, compiled = make()
    own = {rows: remat.mlir.train_step(sized(rows)) for rows in (6, 2, 40)}
    state = {name: array.copy() for name, array in step.state_dict().items()}
    for rows in (6, 2, 6, 40, 2, 40, 6):
        data = batch(rows)
        own[rows].load_state_dict(state)
        assert step(*data) == own[rows](*data)
        state = {name: array.copy() for name, array in own[rows].state_dict().items()}
        assert all(array.tobytes() == state[name].tobytes() for name, array in step.state_dict().items())
    assert step.number == 7 and [shapes[0][0] for shapes in compiled] == [2, 40]


def test_a_state_that_is_loaded_is_that_of_all_sizes(tmp_path):
    step, _ = make()
    step(*batch(9))
    step.save(tmp_path / "run.safetensors")
    first = batch(9)
    losses = [step(*first), step(*batch(6))]
    step.load(tmp_path / "run.safetensors")
    assert step.number == 1 and step(*first) == losses[0]


def test_wrong_batches_compile_nothing():
    step, compiled = make()
    x, y = batch(8)
    for wrong, error in (((x.astype("f8"), y), TypeError), ((x, y.astype("i4")), TypeError), ((x[0], y), ValueError),
                         ((x,), TypeError), ((x, y, y), TypeError)):
        with pytest.raises(error):
            step(*wrong)
    assert compiled == [] and step.number == 0


def test_without_it_sizes_are_those_of_the_example():
    step, compiled = make(dynamic=False)
    with pytest.raises(ValueError, match=r"must be of float32\[6, 5\], but got float32\[8, 5\]"):
        step(*batch(8))
    assert compiled == []


def test_a_step_of_another_model_shares_nothing():
    step, _ = make()
    before = {name: array.copy() for name, array in step.state_dict().items()}
    for text, message in ((sized(6).replace("4x3xf32", "4x2xf32").replace("6x3xf32", "6x2xf32"), "has another type"),
                          (sized(6).replace('"first.bias"', '"bias"'), "is not in the step whose states"),
                          (sized(6).replace("adamw", "sgd"), "is in the step whose states are to be shared, but not in this")):
        with pytest.raises(remat.CompileError, match=message):
            mlir.compile_request(mlir.make_request(text), step._native)
    assert all(np.array_equal(array, before[name]) for name, array in step.state_dict().items())


def test_memory_lives_as_long_as_either():
    step, _ = make()
    step(*batch(64))
    other = next(iter(step._others.values()))
    weights = step.parameters["first.weight"]
    expected = weights.copy()
    del step
    gc.collect()
    assert np.array_equal(other.parameters["first.weight"], expected) and np.array_equal(weights, expected)
    other(*batch(64))
    assert np.array_equal(other.parameters["first.weight"], weights) and not np.array_equal(weights, expected)


def test_evaluations_of_all_sizes_know_the_present_parameters():
    def request(rows):
        return mlir.make_request(sized(6), mlir.Evaluation(sized(rows, ""), "eval.mlir", ""))

    compiled = []

    def recompile(native, shapes):
        compiled.append(shapes[0][0])
        return remat.Step(*mlir.compile_request(request(shapes[0][0]), native))

    step = remat.Step(*mlir.compile_request(request(4)), None, recompile)
    own = {rows: remat.mlir.train_step(sized(rows), eval_function="loss") for rows in (4, 2, 500)}
    for rows in (4, 2, 500, 2, 4, 500):
        step(*batch(6))
        data, before = batch(rows), {name: array.copy() for name, array in step.state_dict().items()}
        own[rows].load_state_dict(before)
        assert step.eval(*data) == own[rows].eval(*data)
        assert all(array.tobytes() == before[name].tobytes() for name, array in step.state_dict().items())
    assert compiled == [2, 500] and step.number == 6
    x, y = batch(8)
    for wrong, error in (((x.astype("f8"), y), TypeError), ((x[0], y), ValueError), ((x,), TypeError)):
        with pytest.raises(error):
            step.eval(*wrong)
    with pytest.raises(ValueError, match=r"must be of float32\[6, 5\]"):
        step(x, y)
    assert compiled == [2, 500]


def test_torch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.out = torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3)

        def forward(self, x):
            return self.out(torch.tanh(self.norm(x)))

    model = Net().train()
    mirror = Net().train()
    mirror.load_state_dict(model.state_dict())
    optimizer = torch.optim.SGD(mirror.parameters(), lr=0.1)
    asked = []
    step = remat.torch.train_step(model, torch.nn.functional.mse_loss, (torch.randn(8, 5), torch.randn(8, 3)), dynamic=True,
                                  evaluate=True, optimizer=remat.SGD(lambda number: asked.append(number) or 0.1))
    model.eval()  # what is compiled later is in the mode that the step was made in
    for rows in (8, 3, 8, 5, 3):
        x, y = torch.randn(rows, 5), torch.randn(rows, 3)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(mirror(x), y)
        loss.backward()
        optimizer.step()
        assert step(x, y) == pytest.approx(loss.item(), rel=1e-5)
    assert asked == [0, 1, 2, 3, 4] and not model.training
    step.copy_to(model)
    for rows in (8, 3, 11):
        x, y = torch.randn(rows, 5), torch.randn(rows, 3)
        assert step.eval(x, y) == pytest.approx(torch.nn.functional.mse_loss(mirror.eval()(x), y).item(), rel=1e-5)
    for name, tensor in mirror.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], tensor, rtol=1e-5, atol=1e-6)


def test_another_number_of_micro_batches():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")
    torch.manual_seed(0)
    model, mirror = (torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)) for _ in range(2))
    mirror.load_state_dict(model.state_dict())
    optimizer = torch.optim.AdamW(mirror.parameters(), lr=0.01)
    step = remat.torch.train_step(model, torch.nn.functional.mse_loss, (torch.randn(2, 5), torch.randn(2, 3)), dynamic=True,
                                  accumulate=3, optimizer=remat.AdamW(0.01))
    for count, rows in ((3, 6), (1, 2), (2, 4), (3, 12), (3, 6), (1, 2)):
        x, y = torch.randn(rows, 5), torch.randn(rows, 3)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(mirror(x), y)
        loss.backward()
        optimizer.step()
        assert step.run_micro_batches(count, x, y) == pytest.approx(loss.item(), rel=1e-5)
    assert step.number == 6
    step.copy_to(model)
    for name, tensor in mirror.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], tensor, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="5 examples cannot be cut into 2 micro-batches"):
        step.run_micro_batches(2, torch.randn(5, 5), torch.randn(5, 3))
    with pytest.raises(TypeError, match="compiled for 1 micro-batches, not for 2; pass dynamic=True"):
        remat.mlir.train_step(sized(6)).run_micro_batches(2, *batch(6))


def test_jax():
    jax = pytest.importorskip("jax")
    pytest.importorskip("iree.compiler")

    def loss(params, data):
        error = jax.numpy.tanh(data["x"] @ params["w"]) - data["y"]
        return (error**2).mean(), {"error": error}

    params = {"w": RNG.normal(size=(5, 3)).astype("f4")}
    step = remat.jax.train_step(loss, params, dict(zip("xy", batch(8))), optimizer=remat.SGD(0.1), dynamic=True,
                                eval_fn=loss)
    for rows in (8, 3, 8, 17):
        data = dict(zip("xy", batch(rows)))
        (value, extras), gradient = jax.value_and_grad(loss, has_aux=True)(params, data)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
        found, auxiliary = step(data)
        assert found == pytest.approx(float(value), rel=1e-5)
        np.testing.assert_allclose(auxiliary["error"], extras["error"], rtol=1e-4, atol=1e-5)
    for rows in (3, 9):
        data = dict(zip("xy", batch(rows)))
        (value, extras), (found, auxiliary) = loss(params, data), step.eval(data)
        assert found == pytest.approx(float(value), rel=1e-5) and auxiliary["error"].shape == (rows, 3)
        np.testing.assert_allclose(auxiliary["error"], extras["error"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(step.params["w"], params["w"], rtol=1e-5)


def test_nothing_is_shared_while_a_step_runs():
    """Another size may need a larger arena, which takes the place of the one that the running step uses."""
    text = mlp(TRAIN)
    for columns in (5, 4, 3):
        text = text.replace(f"6x{columns}xf32", f"400000x{columns}xf32")
    step = remat.mlir.train_step(text)
    data = batch(400000)
    larger = mlir.make_request(text.replace("400000x", "400001x"))
    refused, shared = [], []

    def share():
        while not refused and not done.is_set():
            try:
                shared.append(mlir.compile_request(larger, step._native))
            except remat.CompileError as error:
                refused.append(str(error))

    done = threading.Event()
    thread = threading.Thread(target=share)
    thread.start()
    losses = []
    for _ in range(2000):
        try:
            losses.append(step(*data))
        except remat.StepError as error:
            assert "is running in another thread" in str(error)
        if refused:
            break
    done.set()
    thread.join()
    assert refused and all("the step is running in another thread" in text for text in refused)
    assert losses and np.isfinite(losses).all()
