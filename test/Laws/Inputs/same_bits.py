"""Law 1 and law 3 on random models: every policy, update mode and thread count gives the same bits, and the arena that
the compiler predicts is what the runtime measures.

    same_bits.py [--count N] [--seed SEED] [--all] [--skip LAYERS] [--keep FOLDER]

A model that fails is reduced (layers are left out as long as it fails) and kept in FOLDER. LIBRARIES names what mlir-runner loads.
"""
import argparse
import concurrent.futures
import itertools
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from programs import Failure, Program
from random_models import Model

STEPS = 3
POLICIES = "", "none", "everything_saveable", "nothing_saveable", "dots_saveable"
MODES = "eager", "deferred"


def check_memory(program, model, measured):
    memory, arena = program.memory(), measured["peak_bytes_by_class"]["arena"]
    if memory["unpacked"] and not model.is_dynamic:
        raise Failure(f"{program.name}: {memory['unpacked']} buffers are not in the arena")
    # The size of an empty arena is not measured: nothing is allocated.
    if memory["arena"] != arena:
        raise Failure(f"{program.name}: predicts an arena of {memory['arena']} bytes, measured {arena}")


def check_bits(program, threads, result, reference):
    for what, found, expected in zip(("losses", "arrays"), result, reference):
        if what == "arrays":
            if found.keys() != expected.keys():
                raise Failure(f"{program.name}: other arrays, {sorted(found.keys() ^ expected.keys())}")
            differing = [k for k in found if found[k].tobytes() != expected[k].tobytes()]
            if differing:
                raise Failure(f"{program.name}, {threads} threads: {', '.join(differing)} differ")
        elif found != expected:
            raise Failure(f"{program.name}, {threads} threads: losses {found} instead of {expected}")


def names_in_regions(text):
    names, depth, ends = set(), 0, []
    for line in text.splitlines():
        if "remat.region" in line:
            ends.append(depth)
        if ends:
            names.update(re.findall(r'remat\.name "(\w+)"', line))
        depth += line.count("{") - line.count("}")
        if ends and depth <= ends[-1]:
            ends.pop()
    return sorted(names)


def variants(model, seed, every):
    """Policy, mode, threads: all of them, or each policy once, with modes and threads in turn."""
    policies = [*POLICIES, *(f'save_only_names<"{name}">' for name in names_in_regions(model)[:1])]
    if every:
        yield from itertools.product(policies, MODES, (1, 2))
        return
    for i, policy in enumerate(policies):
        yield policy, MODES[(i + seed) % 2], 1 + (i // 2 + seed) % 2


def check(folder, model, every):
    """Raises Failure with what is wrong."""
    (Path(folder) / "model.mlir").write_text(model.text)
    np.savez(Path(folder) / "data.npz", **model.data())
    reference = None
    for policy, mode, threads in variants(model.text, model.seed, every):
        program = Program(folder, Path(folder) / "model.mlir", policy, mode)
        *result, measured = program.train(STEPS, threads)
        if not np.isfinite([float(loss) for loss in result[0]]).all():
            raise Failure(f"{program.name}: losses {result[0]}")
        reference = reference or result
        check_bits(program, threads, result, reference)
        check_memory(program, model, measured)


def failure_of(seed, skip, every):
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(folder, Model(seed, skip), every)
        except Failure as failure:
            return str(failure)
    return None


def reduce(seed, skip, every):
    """The layers that can be left out of a model that fails."""
    skip = set(skip)
    for i in range(Model(seed).count):
        if i not in skip and failure_of(seed, skip | {i}, every):
            skip.add(i)
    return skip


def examine(seed, skip, options):
    message = failure_of(seed, skip, options.all)
    if not message:
        return None
    skip = reduce(seed, skip, options.all)
    path = Path(options.keep) / f"model{seed}.mlir"
    path.write_text(Model(seed, skip).text)
    return f"model {seed}: {failure_of(seed, skip, options.all) or message}\n  kept as {path}; same_bits.py --seed {seed} --count 1" + \
        (f" --skip {','.join(map(str, sorted(skip)))}" if skip else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1, help="of the first model; the next ones count on")
    parser.add_argument("--all", action="store_true", help="every policy, mode and thread count, not a choice of them")
    parser.add_argument("--skip", default="", help="layers to leave out, such as 0,2")
    parser.add_argument("--keep", default=tempfile.gettempdir(), help="folder for models that fail")
    options = parser.parse_args()
    skip = {int(i) for i in options.skip.split(",") if i}
    seeds = range(options.seed, options.seed + options.count)
    models = [Model(seed, skip) for seed in seeds]
    regions = sum("remat.region" in model.text for model in models)
    static = sum(not model.is_dynamic for model in models)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = 0
        for message in pool.map(lambda seed: examine(seed, skip, options), seeds):
            if message:
                failures += 1
                print(message, flush=True)
    # Without a region all policies are one program; without static sizes nothing is said on buffers beside the arena.
    print(f"{len(seeds)} models, {failures} wrong; {regions} with regions, {static} of static sizes")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
