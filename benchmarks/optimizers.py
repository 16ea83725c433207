# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares update rules of fewer bytes with AdamW: losses of the examples, trained with each, and the memory that the compiler
predicts for a LLaMA of 7 billion parameters."""
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import models

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import remat  # noqa: E402  (needs the path above)
from remat.testing import training  # noqa: E402

GIB = 2**30
SCHEDULE = "lr = #opt.linear_warmup_cosine<peak = {peak}, warmup = 30, total = 400, floor = 1.0e-4>"
# Of the examples: (rule, hyperparameters, peak of the learning rate).
RULES = {"AdamW": ("adamw", "b2 = 0.98, weight_decay = 0.01", 3e-3),
         "AdamW, bf16": ("adamw", "b2 = 0.98, weight_decay = 0.01, states = bf16", 3e-3),
         "AdamW, int8": ("adamw", "b2 = 0.98, weight_decay = 0.01, states = int8", 3e-3),
         "AdamW, int4": ("adamw", "b2 = 0.98, weight_decay = 0.01, states = int4", 3e-3),
         "Adam-mini": ("adam_mini", "dim = -1, b2 = 0.98, weight_decay = 0.01", 3e-3),
         "APOLLO, rank 16": ("apollo", "rank = 16, b2 = 0.98, weight_decay = 0.01", 1e-2)}
# Of the LLaMA, whose weights are bf16.
LARGE = {"AdamW, int8": "#opt.adamw<lr = 3.0e-4, states = int8, rounding = stochastic>",
         "APOLLO, rank 256, bf16": "#opt.apollo<lr = 0.01, rank = 256, states = bf16, rounding = stochastic>",
         "APOLLO-Mini": "#opt.apollo<lr = 0.01, rank = 1, scale = 128, scaling = tensor, rounding = stochastic>"}
LLAMA = dict(L=32, d=4096, heads=32, shared=1, ffn=11008, V=32000, T=1024, B=1)
LAST = 40


def with_rule(text, rule):
    """The module with another rule in its only optimizer."""
    return re.sub(r"(opt\.optimizer @\w+ = ).*?>\n(?=(\n|remat\.train_step))", rf"\1{rule}\n", text, count=1, flags=re.DOTALL)


def train(example, rule, steps, folder):
    """The mean of the last losses, and the bytes of the optimizer's states."""
    source, program, report = (Path(folder, name) for name in ("model.mlir", "program.mlir", "report.json"))
    source.write_text(with_rule((ROOT / "examples" / f"{example}.mlir").read_text(), rule))
    training.compile_model(source, program, report, [f"--remat-train=report={report}"])
    settings = {"DATA": folder / ("chargpt.npz" if example == "chargpt" else "digits_train.npz"), "STEPS": steps,
                "CHECKPOINT": folder / "run.npz", "CHECKPOINT_EVERY": steps}
    if example == "digits":
        settings["EVAL_DATA"] = folder / "digits_test.npz"
    (folder / "run.npz").unlink(missing_ok=True)
    losses, run = training.run_program(program, folder, settings)
    return statistics.fmean(map(float, losses[-LAST:])), run["peak_bytes_by_class"]["optimizer state"]


def compare_quality(steps):
    print("| example | rule | loss | over AdamW's | bytes of states |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for example, files in (("digits", ("digits_train.npz", "digits_test.npz")), ("chargpt", ("chargpt.npz",))):
            subprocess.run([sys.executable, ROOT / f"examples/{example}_data.py", *(folder / file for file in files)], check=True,
                           stdout=subprocess.DEVNULL)
            best = None
            for label, (rule, settings, peak) in RULES.items():
                loss, states = train(example, f"#opt.{rule}<{SCHEDULE.format(peak=peak)}, {settings}>", steps, folder)
                best = best or loss
                print(f"| {example} | {label} | {loss:.4f} | {loss / best:.3f} | {states:,} |", flush=True)


def compare_bytes():
    print("| LLaMA-7B, bf16, T = 1024, B = 1 | states, GiB | arena, GiB | peak, GiB | over the weights | compiled in, s |\n"
          "|---|---:|---:|---:|---:|---:|")
    for label, rule in LARGE.items():
        text = models.mlir("llama", LLAMA, "bf16", "bf16", rule)
        start = time.perf_counter()
        memory = remat.mlir.memory(text, policy=remat.nothing_saveable)
        seconds = time.perf_counter() - start
        print(f"| {label} | {memory.optimizer_state / GIB:.2f} | {memory.arena / GIB:.2f} | {memory.peak / GIB:.2f} | "
              f"{memory.peak / memory.parameters:.2f} | {seconds:.1f} |", flush=True)


def compare(steps):
    compare_bytes()
    print()
    compare_quality(steps)
