# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that change from step to step reach a replayed graph; runs resume where others ended, on either target.

    replay.py FOLDER MODEL.mlir

LIBRARIES and CUDA_LIBRARIES name what mlir-runner loads for the two targets.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

folder, model = Path(sys.argv[1]), Path(sys.argv[2])
MODES = {"eager": "eager", "clipped": "deferred, clip_global_norm = 0.5",
         "batches": "deferred, accumulate = 3, clip_global_norm = 0.5"}
CUDA, CPU = "target=cuda emulate block-size=64", "target=cpu"
number = 0


def compile_program(mode, target):
    path = folder / f"{mode}.{target[7:10]}.mlir"
    source = folder / f"{mode}.mlir"
    text = model.read_text().replace("MODE", MODES[mode])
    source.write_text(text)
    done = subprocess.run(["remat-opt", source, "--inline", f"--remat-train={target} report={path}.json", "-o", path],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Neither a metric that is a plain f32 nor the sum of the losses of micro-batches is a scalar of the host.
    assert "the host reads device memory" not in done.stderr, f"{mode}: {done.stderr}"
    return path


def run(program, steps=6, start=None, graphs=1, **options):
    """Losses as they are logged, the checkpoint's arrays, the runtime's report and what was printed."""
    global number
    number += 1
    files = {k: folder / f"{number}.{k}" for k in ("checkpoint", "log", "report")}
    files["checkpoint"].unlink(missing_ok=True)
    if start:
        files["checkpoint"].write_bytes(start.read_bytes())
    options = {"data": folder / "data.npz", "steps": steps, "shuffle": 0, "cuda_graphs": graphs, **files, **options}
    libraries = os.environ["CUDA_LIBRARIES" if ".cud" in program.name else "LIBRARIES"]
    done = subprocess.run(["mlir-runner", program, "-O1", "-e", "main", "-entry-point-result=void", "--shared-libs=" + libraries],
                          env=os.environ | {f"REMAT_{k.upper()}": str(v) for k, v in options.items()}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    losses = [float(line.split("\t")[1]) for line in files["log"].read_text().splitlines()]
    with np.load(files["checkpoint"]) as arrays:
        return losses, dict(arrays), json.loads(files["report"].read_text()), done.stdout, files["checkpoint"]


def compare_bits(what, found, expected):
    assert found[0] == expected[0], f"{what}: losses {found[0]} instead of {expected[0]}"
    compare_arrays(what, found[1], expected[1])


def compare_arrays(what, found, expected):
    assert found.keys() == expected.keys(), f"{what}: other arrays, {found.keys() ^ expected.keys()}"
    for name in found:
        assert found[name].tobytes() == expected[name].tobytes(), f"{what}: {name} differs"


def compare_numbers(what, found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, err_msg=what)
    for name, array in found[1].items():
        np.testing.assert_allclose(array, expected[1][name], rtol=1e-3, atol=1e-5, err_msg=f"{what}: {name}")
    # Which elements were dropped is the same to the bit.
    assert found[1]["kept"].tobytes() == expected[1]["kept"].tobytes(), what


def find(report, name):
    """The number called `name`, wherever the report has it."""
    if isinstance(report, dict):
        for key, value in report.items():
            if key == name:
                return value
            if (found := find(value, name)) is not None:
                return found
    return None


def compare_memory(mode, program, measured):
    """Law 3 for each class. The step and the evaluation have their own data and results, and share the rest."""
    functions = json.loads(Path(f"{program}.json").read_text())["functions"]
    each = [function["arguments"] | {"arena": function["arena"]} for function in functions]
    predicted = {name: max(function[key] for function in each) for name, key in
                 (("parameters", "parameters"), ("optimizer state", "optimizer_state"), ("state", "model_state"), ("arena", "arena"))}
    predicted["constants"] = max(function["constants"] for function in functions)
    predicted |= {name: sum(function[key] for function in each) for name, key in (("data", "data"), ("other", "results"))}
    measured = {name: value for name, value in measured.items() if name != "runtime" and value}
    assert measured == {name: value for name, value in predicted.items() if value}, f"{mode}: {predicted}, measured {measured}"


rng = np.random.default_rng(0)
np.savez(folder / "data.npz", tokens=rng.integers(0, 9, (36, 20)), y=rng.standard_normal(36).astype("f4"))
for mode in MODES:
    cuda, cpu = (compile_program(mode, target) for target in (CUDA, CPU))
    whole, plain, host = run(cuda), run(cuda, graphs=0), run(cpu)
    compare_memory(mode, cuda, whole[2]["peak_bytes_by_class"])
    replays = find(whole[2], "graphs replayed")
    assert replays and replays >= 3 and not find(plain[2], "graphs replayed"), f"{mode}: {whole[2]}"
    compare_bits(f"{mode}, without graphs", plain, whole)
    compare_numbers(f"{mode}, CPU", whole, host)
    # As many histories of masks as there are columns: nearly all differ if each step has its own.
    assert len(set(whole[1]["kept"].tolist())) > 30, whole[1]["kept"]
    evals = [line for run_ in (whole, host) for line in run_[3].splitlines() if line.startswith("eval 6/6")]
    numbers = [[float(word) for word in line.split() if word[0].isdigit() and "/" not in word] for line in evals]
    assert len(evals) == 2 and np.allclose(*numbers, rtol=1e-4), evals
    # In the middle of a step's replays, and before the first.
    for steps in (1, 4):
        half = run(cuda, steps)
        end = run(cuda, start=half[4])
        assert half[0] + end[0] == whole[0], f"{mode}: resumed at {steps}: {half[0]} {end[0]} {whole[0]}"
        compare_arrays(f"{mode}, resumed at {steps}", end[1], whole[1])
    # From one target to the other: the first steps' numbers are the one's to the bit, then up to rounding.
    for first, second, name in ((cuda, cpu, "to the CPU"), (cpu, cuda, "to CUDA")):
        half = run(first, 3)
        end = run(second, start=half[4])
        compare_numbers(f"{mode}, {name}", (half[0] + end[0], end[1]), host)
        untouched = run(second, 3, start=half[4])
        compare_arrays(f"{mode}, {name}, no step", untouched[1], half[1])
    print(f"{mode}: {int(replays)} replays, bits as without graphs, resumed, to the CPU and back")
