# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Law 8 on models: with a number of parts, a step has the same bits on every number of ranks, one included, and the
gradients of the model without a grid in float64, up to rounding. And law 3: the arena of a rank is what the compiler predicts.

    ranks.py [--count N] [--seed SEED] [--parts P] [--ranks 1,2,4] [--keep FOLDER]
    ranks.py --files MODEL.mlir ... [--ranks ...]

The data of a model are split along their first dimension. LIBRARIES names what mlir-runner loads, MPIRUN the command that starts
ranks, up to their number. A model that fails is kept in FOLDER.
"""
import argparse
import os
import random
import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
from programs import Failure, Program
from random_models import Model
from same_bits import MODES, POLICIES, check_bits, check_memory, data_of
from wide_oracle import check_gradients

STEPS = 3
TRAININGS = "", "", ", clip_global_norm = 0.1", ", clip_global_norm = 2.0, grad_norm", ", grad_norm"


def split(text, ranks, parts):
    """The model for `ranks` ranks."""
    grid = f'shard.grid @mesh(shape = {ranks}) {{remat.axes = ["data"], remat.parts = [{parts}]}}\n'
    return grid + re.sub(r'(remat\.data = "[^"]+")', r'\1, remat.shard = [["data"]]', text)


def train(program, ranks, threads=1, **options):
    launcher = [*shlex.split(os.environ["MPIRUN"]), str(ranks)] if ranks > 1 else []
    return program.train(STEPS, threads, launcher=launcher, **options)


def compare(folder, name, text, data, is_dynamic, options, variants):
    """Runs the model on each number of ranks; `variants` draws a policy and a mode."""
    np.savez(Path(folder) / "data.npz", **data)
    whole = Path(folder) / f"{name}.mlir"
    whole.write_text(text)
    losses, arrays, _ = train(Program(folder, whole), 1)
    reference = None
    for ranks in options.ranks:
        path = Path(folder) / f"{name}_on{ranks}.mlir"
        path.write_text(split(text, ranks, options.parts))
        policy, mode = variants()
        program = Program(folder, path, policy, mode)
        *result, measured = train(program, ranks, threads=1 + ranks % 2)
        reference = reference or result
        check_bits(program, 1 + ranks % 2, result, reference)
        check_memory(program, measured, is_dynamic)
    if not np.isclose(float(reference[0][0]), float(losses[0]), rtol=1e-4, atol=1e-6):
        raise Failure(f"{name}: loss {reference[0][0]} instead of {losses[0]}")
    if reference[1].keys() != arrays.keys():
        raise Failure(f"{name}: other arrays")
    if not options.files:
        check_gradients(folder, split(text, 1, options.parts), "", reference=text)


def models(options):
    """Names, texts, data, and whether there are sizes that are only known when the program runs."""
    if options.files:
        for path in options.files:
            text = path.read_text()
            yield path.stem, text, data_of(text), False
        return
    seed, count = options.seed, 0
    while count < options.count:
        model = Model(seed)
        seed += 1
        if model.batch % options.parts:
            continue
        count += 1
        choices = random.Random(f"{model.seed}.ranks")
        yield f"model{model.seed}", model.text.replace("{eager}", f"{{eager{choices.choice(TRAININGS)}}}"), model.data(), model.is_dynamic


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--files", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path, default=Path("."))
    options = parser.parse_args()
    count = wrong = 0
    for name, text, data, is_dynamic in models(options):
        count += 1
        rng = random.Random(name)
        with tempfile.TemporaryDirectory() as folder:
            try:
                compare(folder, name, text, data, is_dynamic, options, lambda: (rng.choice(POLICIES), rng.choice(MODES)))
            except Failure as failure:
                wrong += 1
                kept = options.keep / f"{name}.mlir"
                kept.write_text(text)
                print(f"{name}: {failure}\n  kept as {kept}", flush=True)
    print(f"{count} models, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
