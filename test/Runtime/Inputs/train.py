# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the compiled regression.mlir: numbers against NumPy in f64, resuming bit by bit, bad input."""

import os
import signal
import subprocess
import sys
import time

import numpy as np

folder, runtime = sys.argv[1:]
os.chdir(folder)
command = ["mlir-runner", "program.mlir", "-e", "main", "-entry-point-result=void", "--shared-libs=" + runtime]


def environment(options):
    return {**os.environ, **{"REMAT_" + key.upper(): str(value) for key, value in options.items()}}


def run(**options):
    result = subprocess.run(command, env=environment(options), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def refuses(**options):
    """Exit code 1, and nothing but one line of diagnosis on stderr."""
    result = subprocess.run(command, env=environment({"checkpoint": "", **options}), capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.count("\n") == 1, (result.returncode, result.stderr)
    print(result.stderr, end="", flush=True)


rng = np.random.default_rng(0)
x = rng.normal(size=(20, 3)).astype("f4")
y = (x @ [1, 2, 3]).astype("f4")
np.savez("train.npz", x=x, y=y)

print(run(log="log"), flush=True)
assert [int(line.split()[0]) for line in open("log")] == [5, 10, 15, 20]

# AdamW in f64, on batches in the file's order.
w0 = np.array([0.5, -0.5, 0.25], "f4")
np.savez("init.npz", w=w0)
run(init="init.npz", shuffle=0, checkpoint="plain.npz", log="plain", log_every=1)
w, m, v = w0.astype("f8"), np.zeros(3), np.zeros(3)
losses = []
for t in range(20):
    rows = slice(t % 5 * 4, t % 5 * 4 + 4)
    error = x[rows].astype("f8") @ w - y[rows]
    losses.append(np.mean(error**2))
    g = 0.5 * error @ x[rows]
    w *= 1 - 0.1 * 0.01
    m += 0.1 * (g - m)
    v = 0.999 * v + 0.001 * g * g
    w -= 0.1 / (1 - 0.9 ** (t + 1)) * m / (np.sqrt(v) / np.sqrt(1 - 0.999 ** (t + 1)) + 1e-8)
saved = np.load("plain.npz")
np.testing.assert_allclose(saved["w"], w, rtol=2e-5)
np.testing.assert_allclose(saved["w.v"], v, rtol=2e-5)
np.testing.assert_allclose([float(line.split()[1]) for line in open("plain")], losses, rtol=2e-5)
np.testing.assert_allclose(saved["seen"], 4 * y.sum(dtype="f8"), rtol=1e-5)
assert list(saved["remat.random0"]) == [7, 20] and saved["remat.step"] == 20
print("matches NumPy", flush=True)

# A value for each step, of all arrays or of one: the same batches again, which have no size if all are such.
for name, arrays in {"steps": {"x": x.reshape(5, 4, 3), "y": y.reshape(5, 4)}, "mixed": {"x": x.reshape(5, 4, 3), "y": y}}.items():
    np.savez(name + "_data.npz", **arrays)
    run(init="init.npz", data=name + "_data.npz", shuffle=0, checkpoint=name + ".npz", log="")
    again = np.load(name + ".npz")
    assert all(np.array_equal(again[key], saved[key]) for key in saved if key != "remat.batch_size"), name
print("takes a value for each step", flush=True)

whole, whole_log = read("run.npz"), read("log")
for stop in (1, 4, 13):
    os.remove("run.npz")
    run(steps=stop, log="log", log_every=5)
    assert "resumed from run.npz at step %d" % stop in run(log="log")
    assert read("run.npz") == whole
    assert read("log") == whole_log or stop % 5
print("resumes bitwise", flush=True)

# A log keeps the steps before the checkpoint, also if a resumed run logs no more.
os.remove("run.npz")
run(steps=13, log="log", log_every=1)
before = read("log")
run(steps=14, log="log", log_every=10**6)
assert read("log")[:len(before)] == before
run(log="log", log_every=1)
assert [int(line.split()[0]) for line in open("log")] == [*range(1, 21)]
print("keeps its log", flush=True)

# Kill a run that saves at every step, somewhere in the middle, and go on.
os.remove("run.npz")
for delay in (0.0, 0.02, 0.05):
    process = subprocess.Popen(command, env=environment({"steps": 10**9, "checkpoint_every": 1}),
                               stdout=subprocess.DEVNULL)
    while not os.path.exists("run.npz"):
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
reached = int(np.load("run.npz")["remat.step"])
run(steps=reached + 5)
assert not [name for name in os.listdir() if ".tmp" in name]
resumed = np.load("run.npz")
run(steps=reached + 5, checkpoint="straight.npz", checkpoint_every=10**6)
straight = np.load("straight.npz")
assert all(np.array_equal(resumed[key], straight[key]) for key in straight)
print("survives a kill", flush=True)

# Examples that add up like bits of a number: which ones a run has seen, it can tell.
np.savez("bits.npz", x=np.zeros((20, 3), "f4"), y=2.0 ** np.arange(20, dtype="f4"))


def seen(steps, **options):
    run(data="bits.npz", checkpoint="bits", steps=steps, **options)
    result = int(np.load("bits")["seen"])
    os.remove("bits")
    return result


everything = 2**20 - 1
assert seen(5) == everything and seen(10) == 2 * everything
first, second = everything - seen(4), 2 * everything - seen(9)
assert first.bit_count() == second.bit_count() == 4 and first != second and first != everything - seen(4, seed=8)
assert seen(1, shuffle=0) == 0b1111
print("each epoch sees every example once, in an order of its own", flush=True)

refuses(data="gone.npz")
refuses(data="")
np.savez("bad.npz", x=x)
refuses(data="bad.npz")
np.savez("bad.npz", x=x.astype("f8"), y=y)
refuses(data="bad.npz")
np.savez("bad.npz", x=x[:, :2], y=y)
refuses(data="bad.npz")
np.savez("bad.npz", x=x, y=y[:19])
refuses(data="bad.npz")
np.savez("bad.npz", x=x[:3], y=y[:3])
refuses(data="bad.npz")
np.savez("bad.npz", x=x.reshape(5, 4, 3)[:, :, :2], y=y)
refuses(data="bad.npz")
np.savez("bad.npz", x=np.zeros((0, 4, 3), "f4"), y=y)
refuses(data="bad.npz")
with open("truncated.npz", "wb") as file:
    file.write(read("train.npz")[:-100])
refuses(data="truncated.npz")
np.savez("bad.npz", x=x, y=y, names=np.array(["not", "read"]))
run(data="bad.npz", checkpoint="")
np.savez("bad.npz", w=w0[:2])
refuses(init="bad.npz")
refuses(steps="many")
refuses(checkpoint_every=0)
refuses(shuffle="yes")
refuses(checkpoint="run.npz", seed=8)
refuses(checkpoint="run.npz", shuffle=0)
refuses(checkpoint="run.npz", log="/dev/full", steps=100)
refuses(log="nowhere/log")
refuses(checkpoint="nowhere/run.npz")
saved = dict(np.load("run.npz"))
np.savez("bad", **{**saved, "remat.step": -5})
refuses(checkpoint="bad.npz")
np.savez("bad", **{**saved, "remat.step": -2**62})
refuses(checkpoint="bad.npz")
np.savez("bad", **{**saved, "remat.optimizer": np.frombuffer(b"opt.adam", "u1")})
refuses(checkpoint="bad.npz")
np.savez("bad", **{**saved, "remat.batch_size": 8})
refuses(checkpoint="bad.npz")
np.savez("bad.npz", x=np.where(np.arange(20)[:, None] < 12, x, np.nan).astype("f4"), y=y)
result = subprocess.run(command, env=environment({"data": "bad.npz", "checkpoint": "nan.npz", "shuffle": 0,
                                                  "checkpoint_every": 2, "steps": 10}), capture_output=True, text=True)
assert result.returncode == 1 and np.load("nan.npz")["remat.step"] == 2, result
print(result.stderr, end="", flush=True)
