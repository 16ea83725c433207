# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with good and with bad input."""
import fcntl
import gc
import os
import threading

import ml_dtypes
import numpy as np
import pytest

import remat
from conftest import ROOT, assert_unchanged, batch_of, batches, mlp, snapshot

EMBEDDING = (ROOT / "test" / "Runtime" / "Inputs" / "embedding.mlir").read_text()


# --- Calls -----------------------------------------------------------------------------------------


def test_training_lowers_the_loss(trained):
    step, arrays = trained
    batch = batch_of(step, arrays, 0)
    first = step(*batch)
    for _ in range(300):
        last = step(*batch)
    assert last < first / 2
    assert step.number == 3 + 301


@pytest.mark.parametrize("spoil, error, message", [
    (lambda x, y: (x,), TypeError, r"takes 2 arrays \(x: float32\[6, 5\], y: float32\[6, 3\]\), but got 1"),
    (lambda x, y: (x, y, y), TypeError, "takes 2 arrays .* but got 3"),
    (lambda x, y: (x.astype("f8"), y), TypeError, r"argument 0 \('x'\) must be of float32\[6, 5\], but got float64"),
    (lambda x, y: (x, y.astype("i4")), TypeError, r"argument 1 \('y'\) must be of float32\[6, 3\], but got int32"),
    (lambda x, y: (x[:5], y), ValueError, r"argument 0 \('x'\) must be of float32\[6, 5\], but got float32\[5, 5\]"),
    (lambda x, y: (x, y.reshape(3, 6)), ValueError, r"argument 1 \('y'\) must be .* but got float32\[3, 6\]"),
    (lambda x, y: (x, y[None]), ValueError, r"argument 1 \('y'\) must be .* but got float32\[1, 6, 3\]"),
    (lambda x, y: (x.tolist(), y), TypeError, r"argument 0 \('x'\) must be an array .* but got list"),
    (lambda x, y: (None, y), TypeError, r"argument 0 \('x'\) must be an array .* but got NoneType"),
    (lambda x, y: (memoryview(x.astype("f8")), y), TypeError, r"argument 0 \('x'\) must be .* but got float64"),
    (lambda x, y: (memoryview(x[:3]), y), ValueError, r"argument 0 \('x'\) must be .* but got float32\[3, 5\]")])
def test_a_call_with_wrong_arrays_changes_nothing(trained, spoil, error, message):
    step, arrays = trained
    before = snapshot(step)
    with pytest.raises(error, match=message):
        step(*spoil(*batch_of(step, arrays, 0)))
    assert_unchanged(step, before)


LAYOUTS = {
    "as it is": lambda a: a, "transposed": lambda a: np.asfortranarray(a), "strided": lambda a: np.repeat(a, 2, 1)[:, ::2],
    "backwards": lambda a: a[::-1].copy()[::-1], "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    "off by one element": lambda a: np.concatenate([[0], a.ravel()]).astype(a.dtype)[1:].reshape(a.shape),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape), "memoryview": lambda a: memoryview(a),
    "subclass": lambda a: a.view(np.recarray), "strided memoryview": lambda a: memoryview(np.repeat(a, 2, 0))[::2]}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_layout_give_the_same_bits(layout):
    arrays = batches(1)
    plain, other = (remat.mlir.train_step(mlp(), optimizer="#opt.sgd<lr = 0.1>", optimization_level=0) for _ in range(2))
    batch = batch_of(plain, arrays, 0)
    assert plain(*batch) == other(*map(LAYOUTS[layout], batch))
    assert_unchanged(other, snapshot(plain))


def test_jax_arrays_are_taken_through_dlpack(trained):
    jnp = pytest.importorskip("jax.numpy")
    step, arrays = trained
    other = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
    other.load_state_dict(step.state_dict())
    batch = batch_of(step, arrays, 4)
    assert step(*batch) == other(*map(jnp.asarray, batch))
    with pytest.raises(TypeError, match=r"argument 0 \('x'\) must be of float32\[6, 5\], but got int32"):
        step(*(jnp.asarray(a, "int32") for a in batch))


def test_states_are_loaded_from_jax_arrays(trained):
    jnp = pytest.importorskip("jax.numpy")
    step, arrays = trained
    other = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
    other.load_state_dict({name: jnp.asarray(array) for name, array in step.state_dict().items()})
    batch = batch_of(step, arrays, 4)
    assert step(*batch) == other(*batch)
    assert_unchanged(other, snapshot(step))


def test_torch_tensors_are_taken_through_dlpack(trained):
    torch = pytest.importorskip("torch")
    step, arrays = trained
    other = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))
    other.load_state_dict(step.state_dict())
    x, y = batch_of(step, arrays, 4)
    tensors = torch.from_numpy(x.T.copy()).T, torch.from_numpy(y).requires_grad_()
    assert step(x, y) == other(*tensors)
    assert step(x, -y) == other(x, torch._neg_view(tensors[1]))  # the sign is a mark of the tensor


@pytest.mark.parametrize("change, message", [
    (lambda x: x.to("meta"), "but got Tensor: Cannot pack tensors on meta"),
    (lambda x: x.to_sparse(), "but got Tensor: Can't export tensors with layout other than torch.strided")])
def test_torch_tensors_without_memory_of_their_own_change_nothing(trained, change, message):
    torch = pytest.importorskip("torch")
    step, arrays = trained
    x, y = batch_of(step, arrays, 4)
    before = snapshot(step)
    with pytest.raises(TypeError, match=message):
        step(change(torch.from_numpy(x)), y)
    assert_unchanged(step, before)


def test_batches_are_read_where_they_are(trained):
    from remat.arrays import locate
    step, arrays = trained
    x, _ = batch_of(step, arrays, 0)
    location, owner = locate(step.data[0], x, "x")
    assert owner is x and location == (x.ctypes.data, False)
    location, _ = locate(step.data[0], memoryview(x), "x")
    assert location == (x.ctypes.data, False)


def test_an_index_outside_of_its_table_is_an_error_that_changes_nothing():
    step = remat.mlir.train_step(EMBEDDING, file_name="embedding.mlir")
    step(np.array([[1, 2]]))
    before = snapshot(step)
    for bad in (5, -1):
        with pytest.raises(remat.StepError, match="embedding.mlir:25:14: the index of dimension 0 is not in 0..4"):
            step(np.array([[1, bad]]))
        assert_unchanged(step, before)
    assert step.number == 1
    step(np.array([[1, 2]]))
    assert step.number == 2


COUNTING = """
#id = affine_map<(i) -> (i)>
func.func private @counting(%p: tensor<4xf32>, %g: tensor<4xf32>, %s: tensor<4xf32>, %step: i64, %lr: f32)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %count = tensor.extract %s[%c0] : tensor<4xf32>
  %integer = arith.fptosi %count : f32 to i64
  %index = arith.index_cast %integer : i64 to index
  %some = tensor.extract %g[%index] : tensor<4xf32>
  %p1, %s1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      outs(%p, %s : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %one = arith.constant 1.0 : f32
    %d = arith.subf %a, %some : f32
    %n = arith.addf %b, %one : f32
    linalg.yield %d, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %p1, %s1 : tensor<4xf32>, tensor<4xf32>
}
func.func @loss(%x: tensor<4xf32>, %a: tensor<4xf32> {opt.param = "a", opt.init = "ones"},
                %b: tensor<4xf32> {opt.param = "b", opt.init = "ones"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.mul ins(%x, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%y, %b : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
"""


@pytest.mark.parametrize("name, eager, is_first", [("a", True, False), ("a", False, True), ("b", True, True), ("b", False, False)])
def test_a_failure_among_the_updates_is_said_and_ends_training_until_a_state_is_loaded(name, eager, is_first):
    """Each parameter's rule reads its gradient at an index that its state has: one of them fails after the other's
    update, unless it comes first; then nothing has changed, and training goes on."""
    step = remat.mlir.train_step(COUNTING, optimizer=remat.Custom("@counting", states=1, lr=0.1), eager=eager)
    x, good = np.ones(4, "f4"), snapshot(step)
    step.state_dict()[f"{name}.s0"][:] = 9
    before = snapshot(step)
    with pytest.raises(remat.StepError, match="the index of dimension 0 is not in 0..3") as failure:
        step(x)
    assert ("parameters or states have changed" not in str(failure.value)) == is_first
    assert step.number == 0
    if is_first:
        assert all(np.array_equal(array, step.state_dict()[key]) for key, array in before.items())
    else:
        with pytest.raises(remat.StepError, match="an earlier step failed after it had begun to update parameters"):
            step(x)
        step.load_state_dict({f"{name}.s0": np.zeros(4, "f4")}, strict=False)
        with pytest.raises(remat.StepError, match="an earlier step failed"):
            step(x)
    step.load_state_dict(good)
    assert step(x) == 4.0 and step.number == 1
    assert before["a"].tolist() == good["a"].tolist() == [1, 1, 1, 1]


BF16 = """
#id = affine_map<(i) -> (i)>
func.func @loss(%x: tensor<8xbf16> {remat.data = "x"}, %mask: tensor<8xi1> {remat.data = "mask"},
                %w: tensor<8xbf16> {opt.param = "w", remat.init = dense<0.5> : tensor<8xbf16>})
    -> (tensor<f32> {remat.loss}, tensor<8xbf16> {remat.metric = "product"}, f32 {remat.metric = "two"}) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<8xbf16>
  %p = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %w, %mask : tensor<8xbf16>, tensor<8xbf16>, tensor<8xi1>) outs(%e : tensor<8xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %m: i1, %o: bf16):
    %z = arith.constant 0.0 : bf16
    %c = arith.mulf %a, %b : bf16
    %d = arith.select %m, %c, %z : bf16
    linalg.yield %d : bf16
  } -> tensor<8xbf16>
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%p : tensor<8xbf16>) outs(%f : tensor<f32>) {
  ^bb0(%a: bf16, %o: f32):
    %b = arith.extf %a : bf16 to f32
    %c = arith.mulf %b, %b : f32
    %d = arith.addf %o, %c : f32
    linalg.yield %d : f32
  } -> tensor<f32>
  return %loss, %p, %two : tensor<f32>, tensor<8xbf16>, f32
}
"""


def test_bf16_masks_and_further_results():
    step = remat.mlir.train_step(BF16, optimizer=remat.SGD(0.125))
    x = np.arange(8).astype(ml_dtypes.bfloat16)
    mask = np.arange(8) % 2 == 0
    assert (step.parameters["w"] == ml_dtypes.bfloat16(0.5)).all()
    loss, results = step(x, mask)
    expected = np.where(mask, x.astype("f4") * 0.5, 0)
    assert loss == (expected**2).sum()
    assert set(results) == {"product", "two"} and results["two"] == 2.0
    assert results["product"].dtype == ml_dtypes.bfloat16 and (results["product"].astype("f4") == expected).all()
    kept = results["product"].copy()
    step(x, ~mask)
    assert (results["product"] == kept).all()
    with pytest.raises(TypeError, match=r"argument 1 \('mask'\) must be of bool\[8\], but got uint8"):
        step(x, mask.astype("u1"))
    with pytest.raises(TypeError, match=r"argument 0 \('x'\) must be of bfloat16\[8\], but got uint16"):
        step(x.view("u2"), mask)


def test_bf16_in_files(tmp_path):
    step, other = (remat.mlir.train_step(BF16, optimizer=remat.SGD(0.125)) for _ in range(2))
    batch = np.arange(8).astype(ml_dtypes.bfloat16), np.ones(8, bool)
    step(*batch)
    step.save(tmp_path / "run.safetensors")
    other.load(tmp_path / "run.safetensors")
    assert step(*batch)[0] == other(*batch)[0]


def test_jax_arrays_of_bf16():
    jnp = pytest.importorskip("jax.numpy")
    step, other = (remat.mlir.train_step(BF16, optimizer=remat.SGD(0.125)) for _ in range(2))
    x, mask = np.arange(8).astype(ml_dtypes.bfloat16), np.arange(8) % 2 == 0
    assert step(x, mask)[0] == other(jnp.asarray(x), jnp.asarray(mask))[0]


# --- State -----------------------------------------------------------------------------------------


def test_views_are_the_steps_own_memory_and_keep_it_alive(trained):
    step, arrays = trained
    state = step.state_dict()
    weights = state["first.weight"]
    assert state.keys() == {"first.weight", "first.bias", "second.weight", "remat.step",
                            *(f"{name}.{s}" for name in step.parameters for s in "mv")}
    before = weights.copy()
    step(*batch_of(step, arrays, 0))
    assert not np.array_equal(weights, before)
    weights[...] = 0
    assert (step.parameters["first.weight"] == 0).all()
    del step, state, trained
    gc.collect()
    weights += 1
    assert (weights == 1).all()


def test_load_state_dict_checks_all_before_it_changes_anything(trained):
    step, _ = trained
    before = snapshot(step)
    for spoil, error, message in [
            (lambda s: s.pop("first.bias"), KeyError, "missing: first.bias"),
            (lambda s: s.update(first=s["first.bias"]), KeyError, "unexpected: first"),
            (lambda s: s.update({"second.weight": np.zeros((3, 4), "f4")}), ValueError, "'second.weight' must be of float32"),
            (lambda s: s.update({"second.weight": np.zeros((4, 3), "f8")}), TypeError, "'second.weight' must be of float32"),
            (lambda s: s.update({"remat.step": -1}), ValueError, "'remat.step' must be a number of steps"),
            (lambda s: s.update({"remat.step": 1.5}), ValueError, "'remat.step' must be a number of steps")]:
        state = {name: np.full_like(array, 7) for name, array in before.items()}
        spoil(state)
        with pytest.raises(error, match=message):
            step.load_state_dict(state)
        assert_unchanged(step, before)
    step.load_state_dict({"first.bias": np.ones(4, "f4"), "other": 1}, strict=False)
    assert (step.parameters["first.bias"] == 1).all() and step.number == before["remat.step"]


@pytest.mark.parametrize("way", ["state_dict", "file"])
def test_a_resumed_run_has_the_same_bits(way, tmp_path):
    text = (ROOT / "examples" / "digits.mlir").read_text()
    step, resumed = (remat.mlir.train_step(text) for _ in range(2))
    rng = np.random.default_rng(1)
    x, y = step.data
    batch = [rng.standard_normal(x.shape).astype(x.dtype), rng.integers(0, 10, y.shape).astype(y.dtype)]
    step(*batch)
    if way == "file":
        step.save(tmp_path / "run.safetensors")
    else:
        saved = snapshot(step)
    losses = [step(*batch) for _ in range(3)]
    if way == "file":
        resumed.load(tmp_path / "run.safetensors")
    else:
        resumed.load_state_dict(saved)
    assert [resumed(*batch) for _ in range(3)] == losses
    assert_unchanged(resumed, snapshot(step))


def test_files_of_other_runs_are_refused(trained, tmp_path):
    from safetensors.numpy import load_file, save_file
    step, _ = trained
    before = snapshot(step)
    path = tmp_path / "run.safetensors"
    step.save(path)
    assert set(load_file(path)) == set(before) - {"remat.step"}
    other = remat.mlir.train_step(mlp(), optimizer=remat.Adam(0.01))
    with pytest.raises(ValueError, match="is of a run with the optimizer opt.adamw, this one has opt.adam"):
        other.load(path)
    wider = remat.mlir.train_step(mlp().replace("6x4x", "6x2x").replace("5x4x", "5x2x").replace("<4x", "<2x"),
                                  optimizer=remat.AdamW(0.01))
    with pytest.raises(ValueError, match="is of another model: 'first.weight' must be of float32"):
        wider.load(path)
    for length in (0, 7, 100, path.stat().st_size - 1):
        short = tmp_path / "short.safetensors"
        short.write_bytes(path.read_bytes()[:length])
        with pytest.raises(ValueError, match="is not a safetensors file, or not all of it"):
            step.load(short)
    save_file({"w": np.ones(3)}, tmp_path / "weights.safetensors")
    with pytest.raises(ValueError, match="is not a file that Step.save wrote"):
        step.load(tmp_path / "weights.safetensors")
    with pytest.raises(FileNotFoundError):
        step.load(tmp_path / "gone.safetensors")
    with pytest.raises(OSError, match="gone/run.safetensors: cannot be written: No such file or directory"):
        step.save(tmp_path / "gone" / "run.safetensors")
    with pytest.raises(ValueError, match="no null character"):
        step.save(f"{path}\0")
    assert_unchanged(step, before)
    assert [p.name for p in tmp_path.iterdir() if ".safetensors." in p.name] == []


def test_only_regular_files_are_replaced(trained, tmp_path):
    step, _ = trained
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real")
    step.save(link)
    assert link.is_symlink() and real.stat().st_size > 100 and real.stat().st_mode & 0o777 == 0o640
    step.load(link)
    os.mkfifo(pipe)
    for path in (pipe, "/dev/null", tmp_path):
        with pytest.raises(OSError, match="cannot be written: not a regular file"):
            step.save(path)
    figure = tmp_path / "memory.svg"
    figure.symlink_to("drawn")
    step.memory.save(figure)
    assert figure.is_symlink() and (tmp_path / "drawn").read_text().startswith("<svg")


def test_what_a_killed_process_left_is_removed(trained, tmp_path):
    """A temporary file that another process has locked stays."""
    step, _ = trained
    dead, alive = tmp_path / "run.tmpabcdefghij", tmp_path / "run.tmp0123456789"
    dead.write_text("half")
    with open(alive, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        step.save(tmp_path / "run")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run", alive.name]
    step.save(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_save_that_fails_leaves_what_was_there(trained, tmp_path, monkeypatch):
    step, _ = trained
    step.save(tmp_path / "run")
    before = (tmp_path / "run").read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(step), "_read_saved", fail)
    with pytest.raises(KeyboardInterrupt):
        step.save(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before and [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_parameter_without_an_initial_value_has_to_be_set():
    text = mlp().replace(', opt.init = "normal(0.5)"}) ->', "}) ->")
    step = remat.mlir.train_step(text, optimizer=remat.SGD(0.1))
    batch = batch_of(step, batches(1), 0)
    with pytest.raises(remat.StepError, match="'second.weight' has no initial value"):
        step(*batch)
    step.load_state_dict({"second.weight": np.ones((4, 3), "f4")}, strict=False)
    step(*batch)


def test_initial_values_of_the_module():
    text = mlp().replace('opt.init = "uniform(-0.1, 0.1)"', "remat.init = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>")
    step = remat.mlir.train_step(text, optimizer=remat.SGD(0.1))
    assert step.parameters["first.bias"].tolist() == [1, 2, 3, 4]
    assert remat.mlir.train_step(text, optimizer=remat.SGD(0.1), seed=5).parameters["first.weight"][0, 0] != \
        step.parameters["first.weight"][0, 0]


# --- Threads ---------------------------------------------------------------------------------------


def test_steps_run_in_several_threads():
    arrays = batches(4)
    steps = [remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01), seed=i) for i in range(4)]
    alone = [remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01), seed=i) for i in range(4)]

    def train(step, losses):
        for i in range(50):
            losses.append(step(*batch_of(step, arrays, i)))
    found, expected = [[] for _ in steps], [[] for _ in steps]
    threads = [threading.Thread(target=train, args=pair) for pair in zip(steps, found)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step, losses in zip(alone, expected):
        train(step, losses)
    assert found == expected


def test_models_compile_in_several_threads():
    losses, arrays = [], batches(1)

    def build():
        step = remat.mlir.train_step(mlp(), optimizer=remat.SGD(0.1))
        losses.append(step(*batch_of(step, arrays, 0)))
    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(losses) == 4 and len(set(losses)) == 1


def test_other_threads_go_on_while_a_model_compiles_and_while_a_step_runs():
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.01):
            ticks.append(None)
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        step = remat.mlir.train_step((ROOT / "examples" / "chargpt.mlir").read_text())
        compiling = len(ticks)
        step(*(np.zeros(a.shape, a.dtype) for a in step.data))
        running = len(ticks) - compiling
    finally:
        stop.set()
        thread.join()
    # Both take much longer than ten ticks, in which a thread that waits for Python's lock would have done none.
    assert compiling > 10 and running > 3


def test_one_step_does_not_run_in_two_threads_at_once():
    text = (ROOT / "examples" / "digits.mlir").read_text()
    step = remat.mlir.train_step(text)
    rng = np.random.default_rng(1)
    batch = [(rng.standard_normal(a.shape) if a.type == "f32" else rng.integers(0, 10, a.shape)).astype(a.dtype)
             for a in step.data]
    refused, done, barrier = [], [], threading.Barrier(2)

    def train():
        barrier.wait()
        for _ in range(10):
            try:
                done.append(step(*batch))
            except remat.StepError as error:
                refused.append(str(error))
    threads = [threading.Thread(target=train) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == step.number and len(done) + len(refused) == 20
    assert set(refused) == {"the step is running in another thread"}


# --- Seeing ----------------------------------------------------------------------------------------


def test_what_a_step_shows(trained):
    step, _ = trained
    text = repr(step.memory)
    assert "peak" in text and f"{step.memory.peak:,}" in text
    assert step.memory.parameters == 4 * (20 + 4 + 12) and step.memory.optimizer_state == 2 * step.memory.parameters
    table = step.explain()
    assert "#remat.nothing_saveable" in table and "model.mlir:" in table
    assert "x: float32[6, 5]" in repr(step) and "optimizer opt.adamw" in repr(step) and "step 3" in repr(step)


def test_a_learning_rate_that_is_a_function_of_python(tmp_path):
    """It is asked before each step, and a run that is resumed goes on with it."""
    asked = []

    def rate(step):
        asked.append(step)
        return 0.1 / (1 + step)

    groups = [remat.Group("first.bias", lr=rate), remat.Group("second.*", lr=lambda step: 0.0 if step else 0.5)]
    step = remat.mlir.train_step(mlp(), optimizer=remat.SGD(rate, groups=groups))
    parts = [remat.mlir.train_step(mlp(), optimizer=remat.SGD(0.1 / (1 + i), groups=[
        remat.Group("second.*", lr=0.0 if i else 0.5)])) for i in range(3)]
    for i, part in enumerate(parts):
        part.load_state_dict({name: array.copy() for name, array in step.state_dict().items()})
        batch = batch_of(step, batches(3), i)
        assert step(*batch) == part(*batch)
        assert all(step.parameters[name].tobytes() == array.tobytes() for name, array in part.parameters.items())
    assert asked == [0, 1, 2]
    assert "@rate" in str(remat.SGD(rate))


@pytest.mark.parametrize("answer, error", [(float("nan"), ValueError), (float("inf"), ValueError), (None, TypeError)])
def test_a_learning_rate_that_is_no_number_changes_nothing(answer, error):
    step = remat.mlir.train_step(mlp(), optimizer=remat.AdamW(lambda step: answer))
    before = {name: array.copy() for name, array in step.state_dict().items()}
    with pytest.raises(error):
        step(*batch_of(step, batches(1), 0))
    assert all(np.array_equal(array, before[name]) for name, array in step.state_dict().items()) and step.number == 0


def test_a_learning_rate_of_a_module_that_has_its_train_step():
    with pytest.raises(remat.CompileError, match="@remat_lr0.*is there already"):
        remat.mlir.train_step(mlp().replace("@loss", "@remat_lr0"), optimizer=remat.SGD(lambda step: 0.1))


def test_a_loop_over_batches(caplog):
    step, again = (remat.mlir.train_step(mlp(), optimizer=remat.SGD(0.1)) for _ in range(2))
    loader = [batch_of(step, batches(4), i) for i in range(4)]
    with caplog.at_level("INFO", logger="remat"):
        means = step.fit(loader, epochs=2)
    losses = [again(*batch) for _ in range(2) for batch in loader]
    assert means == [sum(losses[:4]) / 4, sum(losses[4:]) / 4]
    assert_unchanged(again, snapshot(step))
    assert [record.message for record in caplog.records if "epoch" in record.message] == [
        f"epoch {i + 1} of 2: mean loss {mean:.6g} of 4 steps" for i, mean in enumerate(means)]
    assert step.fit([], epochs=0) == []
    for empty, epochs in (([], 1), (iter(loader), 2)):
        with pytest.raises(ValueError, match=f"the loader has no batch in epoch {epochs}"):
            step.fit(empty, epochs=epochs)
