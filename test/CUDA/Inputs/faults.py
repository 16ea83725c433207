# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every call of the driver fails once: the run ends with one line, and the checkpoint is absent or whole. One program, many runs.

    faults.py FOLDER MODEL.mlir

CUDA_LIBRARIES names what mlir-runner loads.
"""
import concurrent.futures
import subprocess
import sys
from pathlib import Path

import native
import numpy as np

folder, model = Path(sys.argv[1]), Path(sys.argv[2])
program = folder / "program.mlir"


def run(number, **environment):
    checkpoint = folder / f"{number}.npz"
    checkpoint.unlink(missing_ok=True)
    options = {"data": folder / "data.npz", "steps": 3, "shuffle": 0, "checkpoint": checkpoint, "checkpoint_every": 1, "log_every": 1}
    return native.run(folder / "program.so", {f"REMAT_{k.upper()}": str(v) for k, v in options.items()} | environment), checkpoint


rng = np.random.default_rng(0)
np.savez(folder / "data.npz", tokens=rng.integers(0, 9, (12, 20)), y=rng.standard_normal(12).astype("f4"))
(folder / "model.mlir").write_text(model.read_text().replace("MODE", "eager"))
subprocess.run(["remat-opt", folder / "model.mlir", "--inline", "--remat-train=target=cuda emulate block-size=64", "-o", program],
               check=True, stderr=subprocess.DEVNULL)
native.compile_library(program.read_text(), folder / "program.so")

# The contents of the checkpoint after 1, 2 and 3 steps.
whole = []
for steps in (1, 2, 3):
    done, checkpoint = run(f"steps{steps}", REMAT_STEPS=str(steps))
    assert done.returncode == 0, done.stderr
    with np.load(checkpoint) as arrays:
        whole.append({name: arrays[name].tobytes() for name in arrays})


def fail_at(n):
    """Makes the n-th call of the driver fail. Returns the error of the run, or False if it makes fewer calls; fails if the run or
    its checkpoint is wrong."""
    done, checkpoint = run(n, REMAT_EMULATOR_FAIL=str(n))
    saved = None
    if checkpoint.exists():
        with np.load(checkpoint) as arrays:
            saved = {name: arrays[name].tobytes() for name in arrays}
    checkpoint.unlink(missing_ok=True)
    assert saved is None or saved in whole, f"call {n}: a checkpoint of no step"
    if done.returncode == 0:
        assert saved == whole[-1] and not done.stderr, f"call {n}: {done.stderr}"
        return False
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 1 and lines[0].startswith("remat: error: "), \
        f"call {n}: exit code {done.returncode}, {done.stderr}"
    assert " failed" in lines[0] and "cu" in lines[0] or ": out of memory on the device: " in lines[0], f"call {n}: {lines[0]}"
    return lines[0]


# Some failures change nothing: of what is only reported, of releases. Many of these in a row are calls to which no run comes.
messages, first, last = [], 1, 0
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    while first <= last + 20:
        for n, message in enumerate(pool.map(fail_at, range(first, first + 20)), first):
            if message:
                messages.append(message)
                last = n
        first += 20
for call in ("cuInit", "cuLaunchKernel", "cuMemcpy", "cuStreamSynchronize", "cuGraphLaunch", "cuModuleLoadData"):
    assert any(call in message for message in messages), messages or f"no run ended with {call}"
print(f"{len(messages)} calls of the driver fail")

# Memory for all but the last buffers: which one, and how much it takes.
for size in (1 << 16, 1 << 17, 150_000, 180_000):
    done, checkpoint = run("memory", REMAT_EMULATOR_MEMORY=str(size))
    if done.returncode == 0:
        break
    assert done.stderr.count("\n") == 1 and not checkpoint.exists(), done.stderr
    print(done.stderr.strip())

# A token that the table does not have, in the last of three steps: the checkpoint is that of the second.
with np.load(folder / "data.npz") as data:
    tokens, y = data["tokens"], data["y"]
tokens[9, 1] = 9
np.savez(folder / "data.npz", tokens=tokens, y=y)
for graphs in ("0", "1"):
    done, checkpoint = run("token", REMAT_CUDA_GRAPHS=graphs)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    print(done.stderr.strip())
    with np.load(checkpoint) as arrays:
        assert {name: arrays[name].tobytes() for name in arrays} == whole[1]
print("the checkpoint is whole")
