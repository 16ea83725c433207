# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing changes what is saved once it is decided: the bytes of all values that `--remat-explain` says are saved are those
that the backward of the final program reads of its forward, one by one, for every model and policy.

    plan_holds.py [--count N] [--seed SEED] [--samples FOLDER] [FILE.mlir ...]

COUNT random models, the recorded ones in FOLDER, and the models in the files.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from random_models import Model
from remat.testing.models import MOMENTUM, Recorded

POLICIES = "none", "everything_saveable", "dots_saveable", "nothing_saveable"


def run(*arguments):
    """The tables that `remat-opt` prints, or None with what is wrong."""
    done = subprocess.run(["remat-opt", *map(str, arguments), "-o", os.devnull], capture_output=True, text=True)
    return (done.stderr, None) if done.returncode == 0 else (None, done.stderr.strip().splitlines()[0])


def read_bytes(tables, function, heading, decision):
    """How often the table of `function`, once for each of its calls, has `decision` for how many bytes."""
    found = Counter()
    for table in re.split(r"\n(?=\S)", tables):
        if title := re.match(rf"@{function}, (?:called (\d+) times, )?{heading}", table):
            # A value's name may have spaces in it.
            rows = [row.split(f"  {decision} ")[1].split()[0] for row in table.splitlines() if f"  {decision} " in row]
            found.update(rows * int(title[1] or 1))
    return found


def check(name, arguments, options):
    """Returns (what is wrong or None, number of saved values, number of recomputed values)."""
    plan, problem = run(*arguments, f"--remat-explain={options}")
    if problem:
        return f"{name}: {problem}", 0, 0
    program, problem = run(*arguments, f"--remat-train-to-tensors={options}", "--remat-print-plan")
    if problem:
        return f"{name}: {problem}", 0, 0
    saved, made = (read_bytes(plan, r"\S+", "all that its backward reads", kind) for kind in ("save", "rebuild"))
    kept = read_bytes(program, "step", "kept without a plan", "kept")
    wrong = [f"{count} x {size} bytes {what}" for what, values in
             (("decided to be saved, but not kept", saved - kept), ("kept, but not decided to be saved", kept - saved))
             for size, count in values.items()]
    return (f"{name}: {', '.join(wrong)}" if wrong else None), saved.total(), made.total()


def jobs(options, folder):
    """(name, arguments of remat-opt, options of the pipelines)"""
    for path in options.files:
        for policy in POLICIES:
            yield f"{path.stem} {policy}", [path], f"policy={policy}"
    for seed in range(options.seed, options.seed + options.count):
        path = Path(folder) / f"model{seed}.mlir"
        model = Model(seed)
        path.write_text(model.text)
        for i, policy in enumerate(POLICIES):
            mode = ("eager", "deferred")[(seed + i) % 2]
            yield f"model {seed} {policy}", [path], f"policy={policy} mode={mode} loss-tile={model.loss_tile}"
    for path in sorted(options.samples.glob("*.mlir")) if options.samples else []:
        arguments = [path, f"{Recorded(path).importing()} optimizer={MOMENTUM}"]
        for policy in POLICIES:
            # All of it is one region, and then what only the policy's name says differs.
            yield f"{path.stem} {policy}", [*arguments, "--remat-annotate=whole"], f"policy={policy}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1, help="of the first model; the next ones count on")
    parser.add_argument("--samples", type=Path, help="folder of recorded models")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: check(*job), jobs(options, folder)))
    failures = [message for message, _, _ in results if message]
    for message in failures:
        print(message)
    print(f"{len(results)} programs, {len(failures)} wrong; "
          f"{sum(saved for _, saved, _ in results)} values saved, {sum(made for _, _, made in results)} made again")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
