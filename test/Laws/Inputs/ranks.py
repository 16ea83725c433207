# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Law 8 on models: with a number of parts, a step has the same bits on every number of ranks, one included, and the
gradients of the model without a grid in float64, up to rounding. And law 3: the arena of a rank is what the compiler predicts.

    ranks.py [--count N] [--seed SEED] [--parts P] [--ranks 1,2,4] [--keep FOLDER]
    ranks.py --files MODEL.mlir ... [--dim DIM] [--ranks ...]

The data of a model are split along dimension DIM, the first one by default. A run that goes on from a checkpoint with another
number of ranks has the same bits, too. LIBRARIES names what mlir-runner loads, MPIRUN the command that starts ranks, up to
their number. A model that fails is kept in FOLDER.
"""
import argparse
import concurrent.futures
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


def split(text, ranks, parts, dim=0):
    """The model for `ranks` ranks."""
    grid = f'shard.grid @mesh(shape = {ranks}) {{remat.axes = ["data"], remat.parts = [{parts}]}}\n'
    shard = "[], " * dim + '["data"]'
    return grid + re.sub(r'(remat\.data = "[^"]+")', rf"\1, remat.shard = [{shard}]", text)


def states_of(text):
    """An array for each state of the model that has no initial value, as exports and benchmarks leave them."""
    rng = np.random.default_rng(1)
    return {name: np.abs(rng.standard_normal([int(n) for n in dims.split("x") if n])).astype(np.float32)
            for dims, name in re.findall(r'tensor<((?:\d+x)*)f32> \{remat\.state = "([^"]+)"\},', text)}


def train(program, ranks, threads=1, steps=STEPS, **options):
    """As Program.train, and the lines of evaluations."""
    if (program.folder / "states.npz").exists():
        options["init"] = program.folder / "states.npz"
    launcher = [*shlex.split(os.environ["MPIRUN"]), "-n", str(ranks)] if ranks > 1 else []
    result = program.train(steps, threads, launcher=launcher, eval_data=program.folder / "data.npz", **options)
    return *result, [line for line in program.printed.splitlines() if line.startswith("eval ")]


def check_same(program, threads, found, expected):
    """`found` and `expected` are losses, arrays, evaluations and the bytes of a checkpoint."""
    check_bits(program, threads, found[:2], expected[:2])
    for what, ours, theirs in zip(("evaluations", "checkpoint"), found[2:], expected[2:]):
        if ours != theirs:
            raise Failure(f"{program.name}: other {what}" + (f", {ours} instead of {theirs}" if what == "evaluations" else ""))


def check_resumed(before, after, rng, reference):
    """A run that begins by one of two programs, each with its number of ranks, and goes on by the other."""
    (first, first_ranks), (second, second_ranks) = before, after
    done = rng.randrange(1, STEPS)
    train(first, first_ranks, steps=done, level=0)
    losses, arrays, _, evaluations = train(second, second_ranks, level=0, start=first.checkpoint)
    expected = (reference[0][done:], *reference[1:])
    try:
        check_same(second, 1, (losses, arrays, evaluations, second.checkpoint), expected)
    except Failure as failure:
        raise Failure(f"after {done} steps on {first_ranks} ranks, {second_ranks} go on: {failure}") from None


def compare(folder, name, text, data, is_dynamic, options):
    """Runs the model on each number of ranks, each with some policy and mode."""
    rng = random.Random(name)
    np.savez(Path(folder) / "data.npz", **data)
    if states := states_of(text):
        np.savez(Path(folder) / "states.npz", **states)
    whole = Path(folder) / f"{name}.mlir"
    whole.write_text(text)
    losses, arrays, *_ = train(Program(folder, whole), 1, level=0)
    reference, programs = None, []
    for ranks in options.ranks:
        path = Path(folder) / f"{name}_on{ranks}.mlir"
        path.write_text(split(text, ranks, options.parts, options.dim))
        program = Program(folder, path, rng.choice(POLICIES), rng.choice(MODES))
        programs.append((program, ranks))
        threads = 1 + ranks % 2
        # Ranks that share cores spend most of a short run on optimizing the program.
        losses_of_ranks, arrays_of_ranks, measured, evaluations = train(program, ranks, threads, level=3 if ranks == 1 else 0)
        result = losses_of_ranks, arrays_of_ranks, evaluations, program.checkpoint
        reference = reference or result
        check_same(program, threads, result, reference)
        check_memory(program, measured, is_dynamic)
    if len(programs) > 1:
        check_resumed(*rng.sample(programs, 2), rng, reference)
    if not np.isclose(float(reference[0][0]), float(losses[0]), rtol=1e-4, atol=1e-6):
        raise Failure(f"{name}: loss {reference[0][0]} instead of {losses[0]}")
    if reference[1].keys() != arrays.keys():
        raise Failure(f"{name}: other arrays")
    if not options.files:
        check_gradients(folder, split(text, 1, options.parts), "", reference=text)
    return len(reference[2])


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


def examine(model, options):
    """Returns a message if the model fails, else None, and the number of its evaluations."""
    name, text, *_ = model
    with tempfile.TemporaryDirectory() as folder:
        try:
            return None, compare(folder, *model, options)
        except Failure as failure:
            kept = options.keep / f"{name}.mlir"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(text)
            return f"{name}: {failure}\n  kept as {kept}", 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--dim", type=int, default=0)
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--files", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path, default=Path("."))
    options = parser.parse_args()
    count = wrong = evaluated = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for message, evaluations in pool.map(lambda model: examine(model, options), models(options)):
            count += 1
            evaluated += evaluations > 0
            if message:
                wrong += 1
                print(message, flush=True)
    print(f"{count} models, {wrong} wrong" + (f"; {evaluated} with evaluations" if evaluated else ""))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
