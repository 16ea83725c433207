# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Law 1 and law 3 on random models: every policy, update mode and thread count gives the same bits, so does the model
without regions and names, and with those of remat-annotate, and the arena that the compiler predicts is what the
runtime measures.

    same_bits.py [--count N] [--seed SEED] [--all | --sample N] [--skip LAYERS] [--vectors | --stacks | --heads] [--keep FOLDER]
                 [--target OPTIONS]
    same_bits.py --files MODEL.mlir ... [--target OPTIONS]

A model that fails is reduced (layers are left out as long as it fails) and kept in FOLDER. LIBRARIES names what mlir-runner loads.

With --target "target=cuda emulate" the same holds of programs for that target, where two sizes of blocks stand for two
numbers of threads; and losses and arrays are those of the CPU, up to rounding. CUDA_LIBRARIES are loaded then.

With --sample, a model costs a few seconds, for many models: N variants are drawn, each a policy, mode and size of blocks or
number of threads, on a device also with or without graphs and checks of the emulator, in some order of its blocks; and the first
step's loss and gradients are those of the model in float64 (wide_oracle.py).
"""
import argparse
import concurrent.futures
import itertools
import random
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from programs import Failure, Program, run
from random_heads import Head
from random_models import EXAMPLES, Model
from wide_oracle import check_gradients

STEPS = 3
POLICIES = "", "none", "everything_saveable", "nothing_saveable", "dots_saveable", "snapshots<1>", "snapshots<2>"
MODES = "eager", "deferred"
# Of the train step, for all variants of a model alike: eager and deferred have algorithms of their own for each.
TRAININGS = ("", "", ", clip_global_norm = 0.1", ", clip_global_norm = 2.0, grad_norm", ", accumulate = 2", ", accumulate = 3",
             ", accumulate = 2, clip_global_norm = 0.1", ", grad_norm")
# Of the optimizer, for about half of the models; NAME is a parameter's.
CLIPPINGS = ("clip_value = 0.05", "clip_norm = 0.1", "clip_value = 0.1, clip_norm = 0.1", 'groups = [#opt.group<"NAME", lr = 0.001>]',
             'groups = [#opt.group<"NAME", frozen>], clip_norm = 0.1', "ema = 0.9", "clip_norm = 0.1, ema = 0.5")
ROUNDINGS = "nearest", "stochastic", "kahan"
# On a device, variants differ in the size of blocks in place of the number of threads.
BLOCK_SIZES = {1: 256, 2: 64}
ANNOTATIONS = ("ops=linalg.matmul policy=nothing_saveable", "whole policy=dots_saveable",
               "ops=linalg.generic policy=nothing_saveable", "ops=linalg.generic name=some")


def annotations_of(path):
    """The annotations that select something in a model without regions."""
    text = path.read_text()
    return [annotation for annotation in ANNOTATIONS
            if not (kind := re.search(r"ops=([\w.]+)", annotation)) or kind[1] in text]


def check_memory(program, measured, is_dynamic=False):
    memory, arena = program.memory(), measured["peak_bytes_by_class"]["arena"]
    if memory["unpacked"] and not is_dynamic:
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


def train(program, threads, **options):
    """Returns the program's results and measurements. If it reports that the model diverges, returns that message and None."""
    try:
        *result, measured = program.train(STEPS, threads, **options)
    except Failure as failure:
        diverged = re.search(r"step \d+: (parameter '.*' holds|the loss is) -?(nan|inf)", str(failure), re.IGNORECASE)
        if not diverged:
            raise
        return diverged[0].replace("-", "").lower(), None
    return result, measured


def target_options(target, threads, model=None):
    tile = f"loss-tile={model.loss_tile}" + (" layers-once=2" if model.with_stacks else "") if model else ""
    return f"{target} block-size={BLOCK_SIZES[threads]} {tile}" if target else tile


def widen(array):
    """In float64; arrays of two bytes that NumPy has no type for are bf16."""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def check_numbers(program, result, reference):
    """Two targets add up in other orders, and one may round factors."""
    off = 10 if "tf32" in program.options.split() else 1
    if isinstance(result, str) or isinstance(reference, str):
        if result != reference:
            raise Failure(f"{program.name}: {result}, but on the CPU: {reference}")
        return
    (losses, arrays), (cpu_losses, cpu_arrays) = result, reference
    if not np.allclose(np.array(losses, float), np.array(cpu_losses, float), rtol=off * 2e-3, atol=1e-5):
        raise Failure(f"{program.name}: losses {losses}, on the CPU {cpu_losses}")
    for name, found in arrays.items():
        expected = cpu_arrays[name]
        if found.dtype.kind in "iub":
            same = np.array_equal(found, expected)
        else:
            # A moment of bf16 that has become small was rounded when it was large.
            unit = 2**-8 if found.dtype.kind == "V" else 1e-3
            found, expected = widen(found), widen(expected)
            same = np.allclose(found, expected, rtol=off * 1e-2, atol=off * unit * max(1e-3, np.abs(expected).max(initial=0)))
        if not same:
            raise Failure(f"{program.name}: {name} is not what it is on the CPU")


def check(folder, model, every, target=""):
    """Raises Failure with what is wrong; returns whether the model diverges, in all variants."""
    (Path(folder) / "model.mlir").write_text(trained(model, not target))
    np.savez(Path(folder) / "data.npz", **model.data())
    plain = model.without_regions()
    (Path(folder) / "plain.mlir").write_text(trained(plain, not target))
    reference, compared = None, list(variants(model.text, model.seed, every))
    compared = [("model.mlir", "", *variant) for variant in compared]
    compared.append(("plain.mlir", "", "", MODES[model.seed % 2], 1))
    annotations = annotations_of(Path(folder) / "plain.mlir")
    annotations = annotations if every else annotations[model.seed % len(annotations):][:1]
    compared += [("plain.mlir", annotation, "", MODES[model.seed // 2 % 2], 2) for annotation in annotations]
    for file, annotation, policy, mode, threads in compared:
        program = Program(folder, Path(folder) / file, policy, mode, annotation,
                          target_options(target, threads, model))
        result, measured = train(program, threads)
        reference = reference or result
        if isinstance(result, str) or isinstance(reference, str):
            if result != reference:
                raise Failure(f"{program.name}, {threads} threads: {result}, but the first variant: {reference}")
            continue
        check_bits(program, threads, result, reference)
        check_memory(program, measured, model.is_dynamic)
    if target:
        check_numbers(program, reference, train(Program(
            folder, Path(folder) / "model.mlir", target=target_options("", 2, model)), 2)[0])
    return isinstance(reference, str)


def drawn_options(rng, target):
    """Further settings of a run that no bit may depend on, and options of the target."""
    options = {"level": rng.choice([0, 0, 3])}
    if "cuda" not in target:
        return options, target
    options |= {"cuda_graphs": rng.choice([0, 1])}
    if "emulate" in target:
        options |= {"emulator_order": rng.choice(["forward", "backward", "random"]), "emulator_seed": rng.randrange(1000)}
        target += rng.choice(["", "", " check"])
    return options, target


def check_sample(folder, model, count, target):
    """As check(), for `count` drawn variants, of which a third begins with the model without regions and names; and for the
    first step in float64."""
    rng = random.Random(f"{model.seed}.sample")
    np.savez(Path(folder) / "data.npz", **model.data())
    texts = {"model": trained(model), "plain": trained(model.without_regions())}
    for name, text in texts.items():
        (Path(folder) / f"{name}.mlir").write_text(text)
    policies = [*POLICIES, *(f'save_only_names<"{name}">' for name in names_in_regions(model.text)[:1])]
    reference = None
    for i, policy in enumerate(rng.sample(policies, count)):
        file = rng.choice(["model", "model", "plain"])
        annotation = rng.choice(annotations_of(Path(folder) / "plain.mlir")) if file == "plain" else ""
        threads, (options, drawn) = rng.choice([1, 2]), drawn_options(rng, target)
        program = Program(folder, Path(folder) / f"{file}.mlir", "" if annotation else policy, rng.choice(MODES), annotation,
                          target_options(drawn, threads, model))
        result, measured = train(program, threads, **options)
        reference = reference or result
        if isinstance(result, str) or isinstance(reference, str):
            if result != reference:
                raise Failure(f"{program.name}, {options}: {result}, but the first variant: {reference}")
            continue
        try:
            check_bits(program, threads, result, reference)
        except Failure as failure:
            raise Failure(f"{failure} ({options})") from None
        check_memory(program, measured, model.is_dynamic)
    options, drawn = drawn_options(rng, target)
    options.pop("level")
    check_gradients(folder, model.text, target_options(drawn, rng.choice([1, 2]), model), **options)
    return isinstance(reference, str)


def data_of(text):
    """An array for each argument of `text` that is data."""
    rng, arrays = np.random.default_rng(0), {}
    for shape, element, name in re.findall(r'tensor<((?:\d+x)*)(\w+)>\s*\{remat\.data = "(\w+)"', text):
        shape = [int(n) for n in shape.split("x")[:-1]]
        shape[0] *= EXAMPLES
        arrays[name] = (rng.integers(1, 4, shape).astype(element.replace("i", "int")) if element[0] == "i" else
                        rng.standard_normal(shape).astype(element.replace("f", "float")))
        if element[0] == "f":
            arrays[name].flat[0] = -0.0  # which no sum with a zero is
    return arrays


def without_borders(path, folder):
    """A copy of the model in which nothing has a name and there are no regions."""
    named, copy = (Path(folder) / f"{path.stem}_{without}.mlir" for without in ("without_names", "without_borders"))
    text = re.sub(r'= remat\.name "\w+" (%\w+) : (.*)', r"= tensor.cast \1 : \2 to \2", path.read_text())
    named.write_text(re.sub(r"policy\(#remat\.\w*names\w*<[^)]*>\)", "", text))
    run(["remat-opt", named, "--inline", "--remat-override=policy=none", "-o", copy])
    return copy


def compare_policies(path, target):
    """The policies of a model that is no random one, and the model without names and regions and with those of
    remat-annotate; prints what is wrong and returns whether something is."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", **data_of(path.read_text()))
        reference = None
        try:
            plain = without_borders(path, folder)
            compared = [*((path, policy, "") for policy in POLICIES), (plain, "", ""),
                        *((plain, "", annotation) for annotation in annotations_of(plain))]
            for i, (source, policy, annotation) in enumerate(compared):
                program = Program(folder, source, policy, MODES[i % 2], annotation, target_options(target, 1 + i % 2))
                *result, measured = program.train(STEPS, 1 + i % 2)
                reference = reference or result
                check_bits(program, 1 + i % 2, result, reference)
                check_memory(program, measured)
            if target:
                check_numbers(program, reference, train(Program(folder, path), 2)[0])
        except Failure as failure:
            print(f"{path.stem}: {failure}")
            return True
    return False


def make_model(seed, skip, options):
    return Head(seed, skip) if options.heads else Model(seed, skip, vectors=options.vectors, stacks=options.stacks)


def narrowed(text, rounding):
    """The model with parameters of bf16, which it reads in f32."""
    casts = []

    def declare(found):
        name, dims = found.groups()
        casts.append(f"  {name} = arith.extf {name}_narrow : tensor<{dims}xbf16> to tensor<{dims}xf32>\n")
        return f"{name}_narrow: tensor<{dims}xbf16> {{opt.param"

    text = re.sub(r"(%\w+): tensor<([\dx]+)xf32> \{opt\.param", declare, text)
    text = re.sub(r"(opt\.optimizer @optimizer = #opt\.(?!custom).*)>", rf"\1, rounding = {rounding}>", text)
    return re.sub(r"(func\.func @loss\([^{]*(?:\{[^{]*)*?\{\n)", lambda found: found[1] + "".join(casts), text)


def trained(model, may_be_narrow=True):
    """The text of a random model, with one of TRAININGS, and perhaps one of CLIPPINGS and parameters of bf16. A tape whose size
    is not known is not stored for each micro-batch. Targets may differ in the last bit, which is much of a bf16."""
    choices = random.Random(f"{model.seed}.training")
    trainings = [training for training in TRAININGS if not (model.is_dynamic and "accumulate" in training)]
    text = model.text.replace("{eager}", f"{{eager{choices.choice(trainings)}}}")
    if choices.random() < 0.3 and may_be_narrow:
        text = narrowed(text, choices.choice(ROUNDINGS))
    names = re.findall(r'opt\.param = "([^"]+)"', text)
    if choices.random() < 0.5 or not names:
        return text
    clipping = choices.choice(CLIPPINGS).replace("NAME", choices.choice(names))
    return re.sub(r"(opt\.optimizer @optimizer = .*)", lambda found: f"{found[1]} {{{clipping}}}", text)


def failure_of(seed, skip, options, diverged=None):
    """Returns what is wrong, or None; adds the seed of a model that diverges to `diverged`."""
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(seed, skip, options)
        try:
            if (check_sample(folder, model, options.sample, options.target) if options.sample else
                    check(folder, model, options.all, options.target)) and diverged is not None:
                diverged.append(seed)
        except Failure as failure:
            return str(failure)
    return None


def reduce(seed, skip, options):
    """The layers that can be left out of a model that fails."""
    skip = set(skip)
    for i in range(make_model(seed, (), options).count):
        if i not in skip and failure_of(seed, skip | {i}, options):
            skip.add(i)
    return skip


def examine(seed, skip, options, diverged):
    message = failure_of(seed, skip, options, diverged)
    if not message:
        return None
    skip = reduce(seed, skip, options)
    path = Path(options.keep) / f"model{seed}.mlir"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(trained(make_model(seed, skip, options)))
    kinds = "".join(f" --{kind}" for kind in ("vectors", "stacks", "heads") if getattr(options, kind))
    return f"model {seed}: {failure_of(seed, skip, options) or message}\n  kept as {path}; same_bits.py --seed {seed} --count 1{kinds}" + \
        (f" --skip {','.join(map(str, sorted(skip)))}" if skip else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1, help="of the first model; the next ones count on")
    parser.add_argument("--all", action="store_true", help="every policy, mode and thread count, not a choice of them")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N drawn variants and gradients in float64")
    parser.add_argument("--skip", default="", help="layers to leave out, such as 0,2")
    parser.add_argument("--vectors", action="store_true",
                        help="models with products of matrices and vectors and more views, too")
    parser.add_argument("--stacks", action="store_true", help="models of equal layers, of which two are one function")
    parser.add_argument("--heads", action="store_true", help="ends of models, which are computed in tiles of rows")
    parser.add_argument("--keep", default=tempfile.gettempdir(), help="folder for models that fail")
    parser.add_argument("--files", nargs="+", type=Path, help="these models, not random ones")
    parser.add_argument("--target", default="", help='another target than the CPU: "target=cuda emulate"')
    options = parser.parse_args()
    if options.files:
        failures = sum(compare_policies(path, options.target) for path in options.files)
        print(f"{len(options.files)} models, {failures} wrong")
        return failures != 0
    skip = {int(i) for i in options.skip.split(",") if i}
    seeds = range(options.seed, options.seed + options.count)
    models = [make_model(seed, skip, options) for seed in seeds]
    regions = sum("remat.region" in model.text for model in models)
    static = sum(not model.is_dynamic for model in models)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures, diverged = 0, []
        for message in pool.map(lambda seed: examine(seed, skip, options, diverged), seeds):
            if message:
                failures += 1
                print(message, flush=True)
    # Without a region all policies are one program; without static sizes nothing is said on buffers beside the arena.
    print(f"{len(seeds)} models, {failures} wrong; {regions} with regions, {static} of static sizes" +
          (f"; of no use, since they diverge: {', '.join(map(str, sorted(diverged)))}" if diverged else ""))
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
