# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A budget is met or an error, on random models: same bits as without one, an arena that is measured as predicted, and
at most the budget.

    budgets.py [--count N] [--seed SEED] [--keep FOLDER] [--target OPTIONS] [--files MODEL.mlir ...]

LIBRARIES names what mlir-runner loads, CUDA_LIBRARIES the same for programs with target=cuda.
"""
import argparse
import concurrent.futures
import math
import random
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from programs import Failure, Program
from random_models import Model
from same_bits import STEPS, check_bits, check_memory, data_of, target_options

FRACTIONS = 0.9, 0.75, 0.6, 0.45, 0.3
VISITS = "plan-visits=20000000"
MISS = re.compile(r"does not fit a budget of (\d+) bytes; the smallest that was found is (\d+)")


def check_budgets(folder, path, target, threads, policy, mode):
    """Raises Failure with what is wrong; returns how many budgets were met and how many recomputed something more."""
    plain = Program(folder, path, policy, mode, target=target)
    *reference, measured = plain.train(STEPS, threads)
    check_memory(plain, measured)
    # Fractions are of the step that the planner begins with.
    first = Program(folder, path, policy, mode, target=f"{target} budget=1.0 budget-of=arena {VISITS}".strip())
    whole, recomputed = first.memory()["arena"], first.memory()["recomputed_ops"]
    met = used = 0
    for fraction in FRACTIONS:
        try:
            program = Program(folder, path, policy, mode,
                              target=f"{target} budget={fraction} budget-of=arena {VISITS}".strip())
        except Failure as failure:
            miss = MISS.search(str(failure))
            if not miss or int(miss[2]) <= int(miss[1]):
                raise
            continue
        *result, measured = program.train(STEPS, threads)
        check_bits(program, threads, result, reference)
        check_memory(program, measured)
        memory = program.memory()
        if memory["arena"] > math.ceil(whole * fraction):
            raise Failure(f"{program.name}: {memory['arena']} bytes are more than {fraction} of {whole}")
        met += 1
        used += memory["recomputed_ops"] > recomputed
    return met, used


def examine(folder, path, target, seed):
    rng = random.Random(f"{seed}.budgets")
    policy = rng.choice(["", "none", "nothing_saveable", "dots_saveable"])
    return check_budgets(folder, path, target, rng.choice([1, 2]), policy, rng.choice(["eager", "deferred"]))


def examine_random(seed, options):
    with tempfile.TemporaryDirectory() as folder:
        model = Model(seed)
        if model.is_dynamic:
            return 0, 0, None
        path = Path(folder) / "model.mlir"
        path.write_text(model.text)
        np.savez(Path(folder) / "data.npz", **model.data())
        try:
            return *examine(folder, path, target_options(options.target, 2, model), seed), None
        except Failure as failure:
            # Steps of such models say so, with or without a budget.
            if re.search(r"step \d+: (parameter '.*' holds|the loss is) -?(nan|inf)", str(failure), re.IGNORECASE):
                return 0, 0, None
            kept = Path(options.keep) / f"budget{seed}.mlir"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(model.text)
            return 0, 0, f"model {seed}: {failure}\n  kept as {kept}; budgets.py --seed {seed} --count 1"


def examine_file(path, options):
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", **data_of(path.read_text()))
        try:
            return *examine(folder, path, options.target, path.stem), None
        except Failure as failure:
            return 0, 0, f"{path.stem}: {failure}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1, help="of the first model; the next ones count on")
    parser.add_argument("--keep", default=tempfile.gettempdir(), help="folder for models that fail")
    parser.add_argument("--files", nargs="+", type=Path, help="these models, not random ones")
    parser.add_argument("--target", default="", help='another target than the CPU: "target=cuda emulate"')
    options = parser.parse_args()
    work = options.files or range(options.seed, options.seed + options.count)
    met = used = failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for results in pool.map(lambda one: (examine_file if options.files else examine_random)(one, options), work):
            met, used, failures = met + results[0], used + results[1], failures + bool(results[2])
            if results[2]:
                print(results[2], flush=True)
    print(f"{len(work)} models, {failures} wrong; {met} budgets met, {used} by recomputing more")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
