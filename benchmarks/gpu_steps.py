# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times training steps on a GPU, ours beside JAX's and PyTorch's.

    tools/benchmark gpu-steps                   on this machine
    tools/benchmark gpu-steps --pack FOLDER     into FOLDER, for a machine with a GPU and without LLVM; there:
    python3 FOLDER/gpu_steps.py [--seconds N] [--output FILE] [--only WORKLOAD ...]

With `tf32`, products of f32 are rounded to TF32 in all three; with `bf16`, parameters are f32 and computed with as bf16. All start from
the same parameters, and the first losses must agree. Peers whose turn comes after N seconds are left out.
"""
import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import workloads  # noqa: E402  (needs the path above)

FILES = ["gpu_steps.py", "workloads.py", "measure.py", "peers_jax.py", "peers_torch.py"]
# How far first losses may be from ours, relative to it.
TOLERANCE = {"f32": 1e-4, "tf32": 2e-3, "bf16": 2e-2}


def list_cases():
    """Workload, precision, sizes."""
    from gpu import GPT
    yield "gpt", "bf16", GPT
    yield "gpt", "tf32", GPT
    yield "llama", "bf16", ("L=8", "d=1024", "heads=16", "ffn=2816", "T=2048", "B=4")
    yield "resnet18", "tf32", ("B=256",)
    yield "mlp", "tf32", ("B=2048",)
    yield "rnn", "tf32", ()
    yield "convnext", "tf32", ("B=64",)
    yield "gpt", "f32", GPT


def pack(folder, only, chips):
    import executables
    import models
    from gpu import POLICIES
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"tools/benchmark gpu-steps: error: {folder} is not empty")
    linker, plan, arenas = executables.Linker(folder, chips=chips), [], {}
    for workload, precision, sizes in list_cases():
        if only and workload not in only:
            continue
        dims = workloads.dims_of(workload, sizes)
        element = "bf16" if precision == "bf16" else "f32"
        for policy in POLICIES:
            name = f"{workload}.{precision}.{policy}"
            if name not in arenas:
                print(f"building {name}", flush=True)
                options = f"policy={POLICIES[policy]}" + (" tf32" if precision == "tf32" else "")
                model = folder / "model.mlir"
                model.write_text(models.mlir(workload, dims, element))
                arenas[name] = linker.compile_for_cuda(model, folder / name, options)
                model.unlink()
            plan.append({"workload": workload, "precision": precision, "sizes": sizes, "policy": policy, "program": name,
                         "arena": arenas[name]})
    for file in FILES:
        shutil.copy(HERE / file, folder)
    (folder / "plan.json").write_text(json.dumps(plan, indent=1))


def write_arrays(folder, workload, dims):
    import numpy as np
    np.savez(folder / "data.npz", **workloads.batch(workload, dims))
    np.savez(folder / "init.npz", **workloads.parameters(workload, dims), **workloads.states(workload, dims))


def run_ours(folder, case, steps):
    environment = {"REMAT_STEPS": str(steps), "REMAT_SHUFFLE": "0", "REMAT_LOG_EVERY": "1", "REMAT_DATA": "data.npz",
                   "REMAT_INIT": "init.npz", "REMAT_LOG": "log", "REMAT_REPORT": "report.json"}
    (folder / "log").unlink(missing_ok=True)
    done = subprocess.run([str(folder / case["program"])], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode:
        return {"error": done.stderr.strip()[-600:]}
    report = json.loads((folder / "report.json").read_text())
    arena = report["peak_bytes_by_class"]["arena"]
    if arena != case["arena"]:
        return {"error": f"predicted {case['arena']} bytes, measured {arena}"}
    losses = [float(line.split("\t")[1]) for line in (folder / "log").read_text().splitlines()]
    return {"times": report["step_s"][1:], "bytes": arena, "losses": losses,
            "device": report["device"]}


def run_peer(folder, case, arguments, steps):
    command = [sys.executable, folder / "measure.py", arguments[0], case["workload"], case["policy"], *arguments[1:],
               "--steps", steps, "--device", "cuda", "--precision", case["precision"], "--threads", "16", *case["sizes"]]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
    if done.returncode:
        return {"error": done.stderr.strip()[-600:]}
    return json.loads(done.stdout.splitlines()[-1])


def peers_of(workload):
    attention = ["--flash"] if workload in ("gpt", "llama") else []
    rows = [("torch.compile", "torch", ["torch-compile", *attention]), ("jax", "jax", ["jax"]), ("torch", "torch", ["torch", *attention])]
    return [(who, arguments) for who, package, arguments in rows if importlib.util.find_spec(package)]


class Table:
    def __init__(self, output):
        self.output, self.rows = output, []

    def add(self, case, who, record, ours=None):
        row = {"case": [case["workload"], *case["sizes"], case["precision"], case["policy"]], "who": who, **record}
        self.rows.append(row)
        if self.output:
            Path(self.output).write_text(json.dumps(self.rows))
        label = f"| {case['workload']} {case['precision']} {case['policy']} | {who} "
        if "error" in record:
            print(f"{label}| failed: {record['error']} |", flush=True)
            return
        times = sorted(record["times"])
        ratio = ""
        if ours and "times" in ours:
            ratio = f"{sorted(ours['times'])[len(ours['times']) // 2] / times[len(times) // 2]:.2f}"
            off = abs(record["losses"][0] - ours["losses"][0]) / abs(ours["losses"][0])
            if not off <= TOLERANCE[case["precision"]]:
                ratio += f", first loss {record['losses'][0]}, ours {ours['losses'][0]}"
        print(f"{label}| {1e3 * times[len(times) // 2]:.2f} ({1e3 * times[0]:.2f}-{1e3 * times[-1]:.2f}) "
              f"| {record['bytes'] / 2**20:.1f} | {record.get('compile_s', 0):.0f} | {ratio} |", flush=True)


def measure(folder, options):
    start, table = time.monotonic(), Table(options.output)
    for package in "torch", "jax":
        if not importlib.util.find_spec(package):
            print(f"{package} is not installed: its rows are left out")
    plan = [case for case in json.loads((folder / "plan.json").read_text())
            if not options.only or case["workload"] in options.only]
    print("| step | who | ms per step (range) | MiB | compile s | ours over it |\n|---|---|---:|---:|---:|---:|", flush=True)
    arrays, done = None, []
    for case in plan:
        if arrays != (case["workload"], case["sizes"]):
            arrays = (case["workload"], case["sizes"])
            write_arrays(folder, case["workload"], workloads.dims_of(*arrays))
        ours = run_ours(folder, case, options.steps + 1)
        table.add(case, "ours", ours)
        done.append((case, ours))
    for case, ours in done:
        for who, arguments in peers_of(case["workload"]):
            if time.monotonic() - start < options.seconds:
                table.add(case, who, run_peer(folder, case, arguments, options.steps), ours)


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, but got {text!r}")
    return int(text)


def add_arguments(parser):
    parser.add_argument("--only", nargs="+", choices=list(workloads.DIMS))
    parser.add_argument("--steps", type=positive, default=10)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--output")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    measure(HERE, parser.parse_args())


if __name__ == "__main__":
    main()
