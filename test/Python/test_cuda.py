# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps on a GPU, which the host emulates: `target="cuda", options="emulate"`. With other options in REMAT_TEST_CUDA, such as
`chips=sm_90`, on the machine's GPU."""
import ctypes.util
import os
import pickle
import re
import shutil
import sys
import threading
import weakref

import numpy as np
import pytest

import remat
from conftest import (ROOT, Program, as_bits, assert_same_bits, assert_unchanged, batch_of, batches, mlp,
                      snapshot)
from random_models import Model
from remat import _native, mlir
from remat.cuda_libraries import name_libraries
from test_dynamic import batch as sized_batch
from test_dynamic import sized
from test_processes import in_child
from test_step import COUNTING, EMBEDDING

OPTIONS = os.environ.get("REMAT_TEST_CUDA", "emulate")
IS_EMULATED = "emulate" in OPTIONS
CUDA = {"target": "cuda", "options": OPTIONS}
needs_runner = pytest.mark.skipif(not shutil.which("mlir-runner"), reason="there is no LLVM")
TRAIN = "opt.optimizer @o = #opt.adamw<lr = 0.01>\nremat.train_step @step for @loss optimizer(@o) {eager}"


def run(step, arrays, steps):
    results = [step(*batch_of(step, arrays, i)) for i in range(steps)]
    return [result[0] if isinstance(result, tuple) else result for result in results]


def compare(step, text, arrays, folder, steps=5, options="", **settings):
    """With the program under mlir-runner."""
    losses = run(step, arrays, steps)
    program = Program(text, folder, f"target=cuda {OPTIONS} {options}")
    program_losses, saved, report = program.train(arrays, steps, **settings)
    assert_same_bits(step, losses, program_losses, saved)
    return program, report


# --- The same bits -----------------------------------------------------------------------------


@needs_runner
@pytest.mark.parametrize("mode", ["eager", "deferred, clip_global_norm = 0.1", "deferred, accumulate = 3"])
def test_bits_are_those_of_the_program(mode, tmp_path):
    text = mlp(TRAIN.replace("eager", f"{mode}, seed = 3"))
    compare(remat.mlir.train_step(text, **CUDA), text, batches(15), tmp_path)


@needs_runner
@pytest.mark.parametrize("policy", ["none", "nothing_saveable"])
@pytest.mark.parametrize("seed", [3, 12, 27])
def test_random_models_under_policies(seed, policy, tmp_path):
    """Models with dropout, batch norm, loops, branches, calls and regions."""
    model = Model(seed)
    step = remat.mlir.train_step(model.text, policy=policy, **CUDA)
    compare(step, model.text, model.data(), tmp_path, options=f"policy={policy}", SEED=step.seed)


def test_dropout_statistics_and_evaluation():
    text = (ROOT / "examples" / "digits.mlir").read_text()
    host, step = remat.mlir.train_step(text), remat.mlir.train_step(text, **CUDA)
    rng = np.random.default_rng(0)
    for i in range(3):
        batch, held_out = ([(rng.standard_normal(a.shape) if a.type == "f32" else rng.integers(0, 10, a.shape)).astype(a.dtype)
                            for a in arguments] for arguments in (step.data, step.eval_data))
        assert step(*batch) == pytest.approx(host(*batch), rel=1e-5)
        before = snapshot(step)
        result = step.eval(*held_out)
        loss, extras = host.eval(*held_out)
        assert result == (pytest.approx(loss, rel=1e-5), pytest.approx(extras, rel=1e-5)) and step.eval(*held_out) == result
        assert_unchanged(step, before)
    random = [name for name, array in host.state_dict().items() if array.dtype == np.int64 and array.size == 2]
    assert random and all(np.array_equal(step.state_dict()[name], host.state_dict()[name]) for name in random)


def test_figures_without_a_device(tmp_path):
    arguments = {"optimizer": remat.AdamW(0.01), "target": "cuda", "options": f"{OPTIONS} plan-visits=100000"}
    step, memory = remat.mlir.train_step(mlp(), **arguments), remat.mlir.memory(mlp(), **arguments)
    assert step.memory.runtime > 0 == memory.runtime and memory.peak == step.memory.peak - step.memory.runtime
    # Without the memory of the runtime, which depends on the device.
    memory.lock(tmp_path / "memory.lock")
    assert step.memory.check(tmp_path / "memory.lock") == f"step takes {memory.peak:,} bytes, as {tmp_path / 'memory.lock'} says"
    advice = step.memory.advise(compile=True)
    assert advice.memory == memory and repr(advice).startswith(f"the peak is {memory.peak:,} bytes")
    assert advice.changes and all(change.memory.runtime == 0 for change in advice.changes if change.memory)


@needs_runner
def test_memory_is_what_the_program_uses(tmp_path):
    step = remat.mlir.train_step(mlp(TRAIN), **CUDA)
    program, report = compare(step, mlp(TRAIN), batches(5), tmp_path)
    assert step.memory.arena == program.memory()["arena"]
    used = report["peak_bytes_by_class"]
    assert (step.memory.parameters, step.memory.optimizer_state) == (used["parameters"], used["optimizer state"])
    assert step.memory.data == used["data"] and step.memory.runtime == used["runtime"] + used["constants"]
    # The memory that the runtime has allocated from the driver, to the byte.
    assert step.memory.peak == step._native.device_bytes[1] == report["peak_bytes"]


@pytest.mark.parametrize("seed", [12, 31, 53])
def test_memory_of_random_models(seed):
    model = Model(seed)
    assert not model.is_dynamic
    step = remat.mlir.train_step(model.text, **CUDA)
    run(step, model.data(), 3)
    assert step.memory.peak == step._native.device_bytes[1]


def test_a_learning_rate_that_is_a_function_of_python():
    def rate(number):
        return 0.01 * (number + 1)
    losses = [run(remat.mlir.train_step(mlp(), optimizer=remat.AdamW(rate), **target), batches(5), 5) for target in (CUDA, {})]
    np.testing.assert_allclose(*losses, rtol=1e-6)


def test_several_sizes_share_parameters_and_states():
    def recompile(native, shapes):
        return remat.Step(*mlir.compile_request(mlir.make_request(sized(shapes[0][0]), **CUDA), native))
    step = remat.Step(*mlir.compile_request(mlir.make_request(sized(6), **CUDA)), recompile)
    own = {rows: remat.mlir.train_step(sized(rows), **CUDA) for rows in (6, 2, 40)}
    state = snapshot(step)
    for rows in (6, 2, 6, 40, 2, 40, 6):
        data = sized_batch(rows)
        own[rows].load_state_dict(state)
        assert step(*data) == own[rows](*data)
        state = snapshot(own[rows])
        assert_unchanged(step, state)


def test_steps_on_different_targets_share_nothing():
    step = remat.mlir.train_step(sized(6), **CUDA)
    with pytest.raises(remat.CompileError, match="the step whose states are to be shared runs on something else"):
        mlir.compile_request(mlir.make_request(sized(2)), step._native)


def test_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path))
    first, second, host = (remat.mlir.train_step(mlp(TRAIN), **target) for target in (CUDA, CUDA, {}))
    assert [s._native.is_cached for s in (first, second, host)] == [False, True, False]
    assert run(first, batches(5), 5) == run(second, batches(5), 5)
    assert second.device.is_emulated == IS_EMULATED and host.device.kind == "cpu"


# --- Memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first, then", [(CUDA, {}), ({}, CUDA), (CUDA, CUDA)])
def test_a_run_goes_on_elsewhere(first, then, tmp_path):
    arrays = batches(8)
    step = remat.mlir.train_step(mlp(TRAIN), **first)
    run(step, arrays, 4)
    step.save(tmp_path / "run.safetensors")
    other = remat.mlir.train_step(mlp(TRAIN), seed=None, **then)
    other.load(tmp_path / "run.safetensors")
    assert_unchanged(other, snapshot(step))
    ours, theirs = ([s(*batch_of(s, arrays, i)) for i in range(4, 8)] for s in (step, other))
    if first is then:
        assert ours == theirs
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_arrays_on_the_device_are_read_there():
    """Parameters of one step as another one's batch; DLPack says where they are."""
    source = remat.mlir.train_step(mlp(TRAIN), **CUDA)
    step = remat.mlir.train_step(COPY, **CUDA)
    array = source.device_arrays()["first.weight"]
    _, kind, shape, is_contiguous, place, _ = _native.describe_array(array)
    assert (kind, shape, is_contiguous, place) == ("float32", (5, 4), True, (2, 0)) and array.__dlpack_device__() == (2, 0)
    for i in range(4):  # graphs are captured and replayed meanwhile
        source(*batch_of(source, batches(4), i))
        loss, results = step(source.device_arrays()["first.weight"])
        assert np.array_equal(as_bits(results["copy"]), as_bits(source.parameters["first.weight"]))
        host = remat.mlir.train_step(COPY)
        with pytest.raises(ValueError, match="must be in the memory of the host, but it is on DLPack device 2:0"):
            host(source.device_arrays()["first.weight"])
    assert step.device.is_emulated == IS_EMULATED and re.search(r"\(sm_\d+\), driver for CUDA \d+", step.device.name)


COPY = """
#id = affine_map<(i, j) -> (i, j)>
opt.optimizer @o = #opt.sgd<lr = 0.5>
remat.train_step @step for @loss optimizer(@o) {eager}
func.func @loss(%x: tensor<5x4xf32> {remat.data = "x"}, %w: tensor<5x4xf32> {opt.param = "w", opt.init = "ones"})
    -> (tensor<f32>, tensor<5x4xf32> {remat.metric = "copy"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x4xf32>
  %c = linalg.copy ins(%x : tensor<5x4xf32>) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x, %w : tensor<5x4xf32>, tensor<5x4xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss, %c : tensor<f32>, tensor<5x4xf32>
}
"""


def test_memory_goes_with_the_last_reference():
    step = remat.mlir.train_step(mlp(TRAIN), **CUDA)
    array, known = step.device_arrays()["first.weight"], weakref.ref(step)
    del step
    assert known() is None
    assert _native.describe_array(array)[2] == (5, 4)


def test_too_little_memory_is_said_and_harms_no_other_step():
    step, arrays = remat.mlir.train_step(mlp(TRAIN), **CUDA), batches(2)
    run(step, arrays, 1)
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step(COPY.replace("5x4", "1000000x300000"), **CUDA)
    found = re.search(r"out of memory on the device: 'x' takes (\d+) bytes, but \d+ of \d+ are free; the run needs (\d+) in all",
                      str(caught.value))
    # Of the matrix: what is trained, a batch and the next one, a result. The sum is one number, in partial results before.
    assert caught.value.code == "out-of-memory"
    assert found and int(found[1]) == 12 * 10**11 and 0 <= int(found[2]) - 48 * 10**11 < 2**20
    run(step, arrays, 2)


# --- What goes wrong ---------------------------------------------------------------------------


def test_an_index_outside_of_its_table_is_an_error_that_changes_nothing():
    step = remat.mlir.train_step(EMBEDDING, file_name="embedding.mlir", **CUDA)
    step(np.array([[1, 2]]))
    before = snapshot(step)
    for bad in (5, -1):
        with pytest.raises(remat.StepError, match="embedding.mlir:25:14: the index of dimension 0 is not in 0..4$"):
            step(np.array([[1, bad]]))
        assert_unchanged(step, before)
    assert step.number == 1
    for _ in range(3):
        step(np.array([[1, 2]]))
    assert step.number == 4


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_failure_among_the_updates(name, eager):
    """Each parameter's rule reads its gradient at an index that its state has. Kernels update when both were checked."""
    step = remat.mlir.train_step(COUNTING, optimizer=remat.Custom("@counting", states=1, lr=0.1), eager=eager, **CUDA)
    x, good = np.ones(4, "f4"), snapshot(step)
    step.load_state_dict({f"{name}.s0": np.full(4, 9, "f4")}, strict=False)
    before = snapshot(step)
    for _ in range(2):
        with pytest.raises(remat.StepError, match="the index of dimension 0 is not in 0..3$"):
            step(x)
        assert_unchanged(step, before)
    step.load_state_dict(good)
    assert step(x) == 4.0 and step.number == 1


def test_wrong_arrays_change_nothing():
    step, arrays = remat.mlir.train_step(mlp(TRAIN), **CUDA), batches(1)
    before = snapshot(step)
    x, y = batch_of(step, arrays, 0)
    for batch, error in (((x, y[:2]), ValueError), ((x.astype("f8"), y), TypeError), ((x,), TypeError)):
        with pytest.raises(error):
            step(*batch)
    assert_unchanged(step, before)


def test_a_nan_is_found_where_it_comes_from():
    step, arrays = remat.mlir.train_step(mlp(TRAIN), check_nans=True, **CUDA), batches(2)
    run(step, arrays, 2)
    weights = step.parameters["first.weight"]
    weights[:2] = [[np.inf], [-np.inf]]
    step.load_state_dict({"first.weight": weights}, strict=False)
    with pytest.raises(remat.StepError, match=r"linalg.matmul at model.mlir:\d+ is the first operation whose result has a NaN"):
        step(*batch_of(step, arrays, 0))


@pytest.mark.skipif(not IS_EMULATED, reason="calls of the driver fail when they are asked to on the emulator only")
@pytest.mark.parametrize("start", range(4))
def test_every_call_of_the_driver_may_fail(start, tmp_path, monkeypatch):
    """Nobody crashes; the step says that it is lost, and others are not."""
    monkeypatch.setenv("REMAT_CACHE_DIR", str(tmp_path))
    arrays = batches(3)
    expected = run(remat.mlir.train_step(mlp(TRAIN), **CUDA), arrays, 3)
    outcomes = set()
    for number in range(1 + start, 170, 4):
        monkeypatch.setenv("REMAT_EMULATOR_FAIL", str(number))
        try:
            step = remat.mlir.train_step(mlp(TRAIN), **CUDA)
        except remat.CompileError as error:
            assert re.search("failed|out of memory", str(error))
            outcomes.add("not made")
            continue
        try:
            assert run(step, arrays, 3) == expected
            outcomes.add("trained")
        except remat.StepError as error:
            assert re.search("failed.*; make the step again, and load a state that was saved before", str(error))
            for work in (step.state_dict, lambda: step(*batch_of(step, arrays, 0))):
                with pytest.raises(remat.StepError, match="the device was lost when a call failed"):
                    work()
            outcomes.add("lost")
        monkeypatch.delenv("REMAT_EMULATOR_FAIL")
        assert run(remat.mlir.train_step(mlp(TRAIN), **CUDA), arrays, 3) == expected
    assert outcomes == {"not made", "trained", "lost"}


@pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="there is an NVIDIA driver")
def test_without_a_driver():
    with pytest.raises(remat.CompileError, match="no NVIDIA driver: libcuda.so.1 cannot be loaded .*; compile with 'emulate'"):
        remat.mlir.train_step(mlp(TRAIN), target="cuda")


def test_targets_that_there_are_not():
    with pytest.raises(ValueError, match="target must be 'cpu' or 'cuda', but got 'tpu'"):
        remat.mlir.train_step(mlp(TRAIN), target="tpu")


# --- Threads and processes ---------------------------------------------------------------------


def test_steps_in_several_threads():
    steps, arrays, losses = [remat.mlir.train_step(mlp(TRAIN), **CUDA) for _ in range(4)], batches(8), {}
    threads = [threading.Thread(target=lambda s=s: losses.update({id(s): run(s, arrays, 8)})) for s in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(found) for found in losses.values()}) == 1 and len(losses) == 4


def test_a_forked_process_has_no_gpu():
    step, arrays = remat.mlir.train_step(mlp(TRAIN), **CUDA), batches(2)
    run(step, arrays, 1)
    for work in (lambda: run(step, arrays, 1), lambda: remat.mlir.train_step(mlp(TRAIN), **CUDA)):
        assert "this process was forked from one that uses a GPU" in str(in_child(work))
    run(step, arrays, 2)


def test_errors_come_back_from_other_processes():
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step("func.func @f() {", **CUDA)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and copy.diagnostics == caught.value.diagnostics


def test_libraries_of_the_environment_are_found(tmp_path, monkeypatch):
    for file in ("cu13/lib/libcublasLt.so.13", "cudnn/lib/libcudnn.so.9"):
        path = tmp_path / "nvidia" / file
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    environment = {"REMAT_CUDNN": "mine"}
    name_libraries(environment)
    assert environment == {"REMAT_CUDNN": "mine", "REMAT_CUBLASLT": str(tmp_path / "nvidia/cu13/lib/libcublasLt.so.13")}
    monkeypatch.setattr(sys, "path", [])
    environment = {}
    name_libraries(environment)
    assert environment == {}
