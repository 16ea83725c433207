# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the programs of ranks_program.py: bits, resuming on other numbers of ranks, ranks that are killed, bad input.

FOLDER MPIRUN RUNTIME MPI_RUNTIME
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

folder, launcher, runtime, mpi = sys.argv[1], sys.argv[2].split(), sys.argv[3], sys.argv[4]
os.chdir(folder)
script = str(Path(__file__).with_name("ranks_program.py"))
PASSES = ["-remat-insert-steps", "-opt-lower-steps", "-cse", "-remat-bufferize", "-remat-lower-train-step"]
GRIDS = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1)]


def execute(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def compile_grid(rows, columns):
    grid = [str(rows), str(columns)]
    source = execute(sys.executable, script, "program", *grid)
    stepped = execute("remat-opt", *PASSES, input=source)
    described = execute(sys.executable, script, "describe", *grid, input=stepped)
    Path(f"{rows}x{columns}.mlir").write_text(execute("remat-opt", "-remat-lower-to-cpu", input=described))


def command_of(rows, columns, libraries=None):
    if libraries is None:
        libraries = [runtime, mpi] if rows * columns > 1 else [runtime]
    return ["mlir-runner", f"{rows}x{columns}.mlir", "-e", "main", "-entry-point-result=void",
            f"--shared-libs={','.join(libraries)}"]


def on_ranks(count, command):
    return [*launcher, "-n", str(count), *command] if count > 1 else command


def environment(options):
    return {**os.environ, **{"REMAT_" + key.upper(): str(value) for key, value in options.items()}}


def run(rows, columns, **options):
    command = on_ranks(rows * columns, command_of(rows, columns))
    result = subprocess.run(command, env=environment(options), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def without_times(output):
    return [re.sub(r"[0-9.]+ ms", "ms", line) for line in output.splitlines() if not line.startswith(("peak", " "))]


def errors_of(result):
    return [line for line in result.stderr.splitlines() if line.startswith("remat: ")]


def refuses(command, **options):
    """The errors, each once; all processes end."""
    start = time.monotonic()
    result = subprocess.run(command, env=environment({"checkpoint": "", **options}), capture_output=True, text=True, timeout=60)
    assert result.returncode != 0, result.stdout
    assert time.monotonic() - start < 10, "takes too long to end"
    for line in dict.fromkeys(errors_of(result)):
        print(line, flush=True)


def find_ranks(session):
    """Processes of ranks in this session, by rank."""
    found = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if os.getsid(int(process.name)) != session or (process / "comm").read_text() != "mlir-runner\n":
                continue
            variables = dict(v.split("=", 1) for v in (process / "environ").read_text().split("\0") if "=" in v)
        except OSError:
            continue
        if "OMPI_COMM_WORLD_RANK" in variables:
            found[int(variables["OMPI_COMM_WORLD_RANK"])] = int(process.name)
    return found


def disturb(victim, delay, checkpoint, signal_number, **options):
    """A rank of 2 x 2 gets a signal some time after the first checkpoint: all end. Returns what they print."""
    Path(checkpoint).unlink(missing_ok=True)
    options = environment({"steps": 10**9, "log_every": 0, "eval_every": 0, "checkpoint": checkpoint, "checkpoint_every": 3,
                           **options})
    process = subprocess.Popen(on_ranks(4, command_of(2, 2)), env=options, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    try:
        while not Path(checkpoint).exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        time.sleep(delay)
        os.kill(find_ranks(process.pid)[victim], signal_number)
        start = time.monotonic()
        _, stderr = process.communicate(timeout=30)
        while find_ranks(process.pid):
            time.sleep(0.01)
        assert time.monotonic() - start < 10, "takes too long to end"
        assert process.returncode != 0
        return stderr
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


for grid in GRIDS:
    compile_grid(*grid)
rng = np.random.default_rng(0)
x = rng.normal(size=(20, 4)).astype("f4")
np.savez("train.npz", x=x, y=(x @ [1, 2, 3, 4]).astype("f4"))

outputs, saved, logs = {}, {}, {}
for grid in GRIDS:
    name = f"{grid[0]}x{grid[1]}"
    outputs[name] = run(*grid, checkpoint=f"{name}.npz", log=f"{name}.log")
    saved[name], logs[name] = Path(f"{name}.npz").read_bytes(), Path(f"{name}.log").read_text()
print(outputs["2x2"], flush=True)
for name in outputs:
    assert saved[name] == saved["1x1"], f"{name}: another checkpoint"
    assert logs[name] == logs["1x1"], f"{name}: another log"
    assert without_times(outputs[name]) == without_times(outputs["1x1"]), outputs[name]
last = np.load("2x2.npz")
assert last["remat.batch_size"] == 4 and last["remat.step"] == 20
print("has the bits of one rank", flush=True)

run(2, 1, steps=8, checkpoint="moved.npz")
run(1, 2, steps=11, checkpoint="moved.npz")
output = run(4, 1, checkpoint="moved.npz")
assert output.count("resumed from moved.npz at step 11") == 1, output
assert Path("moved.npz").read_bytes() == saved["1x1"]
print("resumes on another number of ranks", flush=True)

for i, victim in enumerate((0, 1, 3)):
    stderr = disturb(victim, 0.05 * i, "killed.npz", signal.SIGKILL)
    assert re.search(rf"\brank {victim}\b", stderr), stderr
    step = int(np.load("killed.npz")["remat.step"])
    run(1, 1, steps=step + 3, checkpoint="killed.npz", log_every=0, eval_every=0)
    run(1, 1, steps=step + 3, checkpoint="whole.npz", log_every=0, eval_every=0)
    assert Path("killed.npz").read_bytes() == Path("whole.npz").read_bytes()
    Path("whole.npz").unlink()
print("a rank that is killed ends all, and its checkpoint goes on", flush=True)

two = command_of(2, 1)
refuses(two)
refuses(on_ranks(3, two))
refuses(on_ranks(2, command_of(1, 1, [runtime, mpi])))
refuses(on_ranks(2, command_of(2, 1, [runtime])))
refuses(on_ranks(2, two), mpi_library="libmissing_mpi.so")
refuses(on_ranks(2, two), mpi_library="libm.so.6")
refuses(on_ranks(2, two), rank_timeout="soon")
by_rank = ["sh", "-c", 'REMAT_SEED=$OMPI_COMM_WORLD_RANK exec "$@"', "sh", *two]
refuses(on_ranks(2, by_rank))
by_rank = ["sh", "-c", 'REMAT_DATA=train$OMPI_COMM_WORLD_RANK.npz exec "$@"', "sh", *two]
os.symlink("train.npz", "train0.npz")
refuses(on_ranks(2, by_rank))
refuses(on_ranks(2, two), data="gone.npz")
np.savez("nan.npz", x=np.full_like(x, np.nan), y=x[:, 0])
refuses(on_ranks(2, two), data="nan.npz", checkpoint="refused.npz")
print(*dict.fromkeys(disturb(3, 0, "late.npz", signal.SIGSTOP, rank_timeout=1).splitlines()), sep="\n", flush=True)
