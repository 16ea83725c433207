# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs the variants of a training program."""
import json
import os
import subprocess
from pathlib import Path

import numpy as np


class Failure(Exception):
    pass


def run(command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=os.environ | environment)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        error = next((line for line in lines if "error:" in line), lines[0])
        raise Failure(f"{command[0]} exits with {done.returncode}: {error[:400]}")
    return done.stdout


class Program:
    """A compiled variant of MODEL.mlir in `folder`. `target`: further options of the pipeline, as target=cuda emulate;
    programs for cuda run with the libraries in CUDA_LIBRARIES."""

    def __init__(self, folder, model, policy="", mode="", annotation="", target=""):
        name = "_".join(filter(None, [Path(model).stem.replace("model", ""), annotation, policy, mode,
                                      target.removeprefix("target=")]))
        self.folder, self.name = Path(folder), name or "as_written"
        stem = "".join(c if c.isalnum() else "_" for c in self.name)
        self.path, self.report = self.folder / f"{stem}.program.mlir", self.folder / f"{stem}.report.json"
        self.options = " ".join(f"{k}={v}" for k, v in (("policy", policy), ("mode", mode)) if v)
        self.options = f"{self.options} {target}".strip()
        self.libraries = os.environ["CUDA_LIBRARIES" if "target=cuda" in target else "LIBRARIES"]
        annotate = [f"--remat-annotate={annotation}"] if annotation else []
        run(["remat-opt", model, "--inline", *annotate, f"--remat-train=report={self.report} {self.options}", "-o", self.path])

    def memory(self):
        """The compiler's report on the step."""
        functions = json.loads(self.report.read_text())["functions"]
        return next(f for f in functions if f["name"] == "step")

    def train(self, steps, threads=2, level=3, preload="", launcher=(), start=None, **options):
        """Losses as printed, the checkpoint's arrays and the runtime's report; keeps the bytes of the checkpoint and what was
        printed. `launcher`: the command that starts ranks. `start`: the bytes of a checkpoint that the run goes on from."""
        files = {k: self.folder / f"{k}.{threads}" for k in ("checkpoint", "log", "report")}
        for file in files.values():
            file.unlink(missing_ok=True)
        if start is not None:
            files["checkpoint"].write_bytes(start)
        options = {"data": self.folder / "data.npz", "steps": steps, "shuffle": 0, "log_every": 1, "seed": 7, **files,
                   **options}
        environment = {f"REMAT_{k.upper()}": str(v) for k, v in options.items()}
        self.printed = run([*launcher, "mlir-runner", self.path, f"-O{level}", "-e", "main", "-entry-point-result=void",
                            "--shared-libs=" + self.libraries], OMP_NUM_THREADS=str(threads), LD_PRELOAD=preload, **environment)
        self.checkpoint = files["checkpoint"].read_bytes()
        losses = [line.split("\t")[1] for line in files["log"].read_text().splitlines()]
        with np.load(files["checkpoint"]) as arrays:
            return losses, dict(arrays), json.loads(files["report"].read_text())
