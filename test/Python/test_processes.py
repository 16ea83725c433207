# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads and processes: what may run at the same time, and what a forked process may still do."""
import copy
import multiprocessing
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import remat
from conftest import batch_of, batches, mlp

STEPS = 20


def make():
    return remat.mlir.train_step(mlp(), optimizer=remat.AdamW(0.01))


def train(step, steps=STEPS):
    arrays = batches(8)
    return [step(*batch_of(step, arrays, i)) for i in range(steps)]


@pytest.fixture(scope="module")
def expected():
    return train(make())


def in_child(function):
    """Runs `function` in a forked process, and returns its result or exception; a child that hangs is killed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            result = function()
        except Exception as error:
            result = error
        os.write(write, pickle.dumps(result))
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child hung" if status == signal.SIGALRM else f"the child ended with {status}"
    return pickle.loads(answer)


class Repeat:
    """Calls `function` again and again in another thread, until the end of the block."""

    def __init__(self, function):
        self._is_over = False
        self._thread = threading.Thread(target=self._run, args=(function,))

    def _run(self, function):
        while not self._is_over:
            function()

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._is_over = True
        self._thread.join()


def test_ten_threads_with_a_step_each_compute_what_one_does(expected):
    losses = {}
    threads = [threading.Thread(target=lambda i=i: losses.update({i: train(make())})) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert losses == {i: expected for i in range(10)}


def test_processes_that_are_spawned_compile_and_train(expected):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        runs = [pool.apply_async(_train_a_new_step) for _ in range(2)]
        assert [run.get(120) for run in runs] == [expected, expected]


def _train_a_new_step():
    return train(make())


def test_a_forked_process_has_a_step_of_its_own(expected):
    step = make()
    assert train(step, 5) == expected[:5]
    goes_on = batches(8)
    assert in_child(lambda: [step(*batch_of(step, goes_on, i)) for i in range(5, STEPS)]) == expected[5:]
    assert step.number == 5
    assert [step(*batch_of(step, goes_on, i)) for i in range(5, STEPS)] == expected[5:]


def test_a_forked_process_compiles(expected):
    train(make(), 1)  # the pool's threads are there
    assert in_child(_train_a_new_step) == expected


def test_a_process_forked_while_another_thread_runs_other_steps_trains(expected):
    busy, step = make(), make()
    with Repeat(lambda: train(busy)):
        assert in_child(lambda: train(step)) == expected


def test_a_step_that_ran_in_another_thread_at_the_fork_is_refused():
    step = slow_step()
    batch = np.ones((512, 512), "f4")
    with Repeat(lambda: step(batch)):
        time.sleep(0.1)
        error = fork_until_refused(lambda: step(batch))
        assert isinstance(error, remat.StepError) and "this process was forked while another thread ran the step" in str(error)
    assert np.isfinite(step(batch))


def test_a_process_forked_while_another_thread_compiles_is_told_so_when_it_compiles(expected):
    step = make()
    with Repeat(make):
        error = fork_until_refused(make)
        assert isinstance(error, RuntimeError) and "this process was forked while another thread compiled" in str(error)
        assert in_child(lambda: train(step)) == expected
    assert in_child(_train_a_new_step) == expected


def fork_until_refused(function):
    """The exception of `function` in a child; the other thread may have been between two calls at the first forks."""
    for _ in range(50):
        result = in_child(lambda: _only_errors(function))
        if result is not None:
            return result
    return None


def _only_errors(function):
    function()


def slow_step():
    """A step that spends nearly all its time in compiled code."""
    return remat.mlir.train_step("""
func.func @loss(%x: tensor<512x512xf32>, %w: tensor<512x512xf32> {opt.param = "w", opt.init = "ones"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.matmul ins(%x, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%z : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = tensor.empty() : tensor<f32>
  %s = linalg.fill ins(%zero : f32) outs(%r : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                       iterator_types = ["reduction", "reduction"]} ins(%p : tensor<512x512xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.addf %sum, %a : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}""", optimizer=remat.SGD(1e-9))


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_step_that_is_copied_or_sent_to_another_process_says_what_to_send(trained, copier):
    with pytest.raises(TypeError, match="a step is machine code in this process.*send step.state_dict"):
        copier(trained[0])
