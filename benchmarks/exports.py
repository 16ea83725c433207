#!/usr/bin/env python3
"""Models of architectures.py, trained by our program and by the framework that they come from.

    exports.py train [NAME ...] [--optimizer sgd|adamw] [KEY=VALUE ...]   losses of 20 steps, side by side
    exports.py bytes [NAME ...] [KEY=VALUE ...]                           residuals and peak under each policy
    exports.py compile NAME layers=6,48 [KEY=VALUE ...]                   seconds to compile

KEY=VALUE changes a size of the models. `train` fails if a loss differs by more than 1e-3, `bytes` tells ours from the
framework's by a ratio. Environment: BUILD_DIR, LLVM_PREFIX.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import architectures

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
LLVM = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
LIBRARIES = [BUILD / "lib/libremat_runtime.so", LLVM / "lib/libomp.so", LLVM / "lib/libmlir_c_runner_utils.so"]
POLICIES = {"none": [], "full": ["--remat-annotate=blocks policy=nothing_saveable"],
            "dots": ["--remat-annotate=blocks policy=dots_saveable"]}
# The same in our IR, torch and optax.
OPTIMIZERS = {"sgd": ("#opt.sgd<lr=1.0e-2,momentum=0.9>", "SGD", dict(lr=1e-2, momentum=0.9)),
              "adamw": ("#opt.adamw<lr=1.0e-3,weight_decay=0.01>", "AdamW", dict(lr=1e-3, weight_decay=0.01))}
STEPS = 20


def make(name, sizes):
    model, dims = architectures.MODELS[name]
    return model(dims | sizes)


# --- Ours --------------------------------------------------------------------------------------


def compile_program(folder, name, policy="none", optimizer="sgd", mode="deferred"):
    """Returns the program, the memory report of its step, and seconds."""
    program, report = Path(folder, f"{name}.program.mlir"), Path(folder, f"{name}.memory.json")
    start = time.perf_counter()
    subprocess.run([BUILD / "bin/remat-opt", Path(folder, f"{name}.mlir"), "-o", program,
                    f"--remat-import=spec={Path(folder, name)}.json optimizer={OPTIMIZERS[optimizer][0]} mode={mode}",
                    *POLICIES[policy], f"--remat-train=report={report}"], check=True)
    seconds = time.perf_counter() - start
    step = next(f for f in json.loads(report.read_text())["functions"] if f["name"] == "step")
    return program, step, seconds


def run_program(folder, program, steps):
    """The losses of `steps` steps, all on the one batch of the data file, and the runtime's report."""
    log, report = Path(folder, "losses.tsv"), Path(folder, "run.json")
    settings = {"DATA": Path(folder, "data.npz"), "INIT": Path(folder, "init.npz"), "STEPS": steps, "SHUFFLE": 0,
                "LOG": log, "LOG_EVERY": 1, "REPORT": report}
    subprocess.run([LLVM / "bin/mlir-runner", program, "-O3", "-e", "main", "-entry-point-result=void",
                    "--shared-libs=" + ",".join(map(str, LIBRARIES))], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {f"REMAT_{key}": str(value) for key, value in settings.items()})
    return [float(line.split("\t")[1]) for line in log.read_text().splitlines()], json.loads(report.read_text())


def write_arrays(folder, exported):
    by_role = {"data": {}, "init": {}}
    for argument in exported.arguments:
        by_role["data" if argument.role == "data" else "init"][argument.name] = argument.own
    for name, arrays in by_role.items():
        np.savez(Path(folder, f"{name}.npz"), **arrays)


# --- The frameworks ----------------------------------------------------------------------------


def torch_losses(model, optimizer):
    import torch

    from remat.torch_reference import Draws
    for part in model.function.modules():
        if getattr(part, "padding_idx", None) is not None:
            part.padding_idx = None
    _, kind, options = OPTIMIZERS[optimizer]
    steps = getattr(torch.optim, kind)(model.function.parameters(), **options)
    losses = []
    with Draws():
        for _ in range(STEPS):
            loss = model.function(*model.inputs.values())
            steps.zero_grad()
            loss.backward()
            steps.step()
            losses.append(loss.item())
    return losses


def jax_losses(model, optimizer):
    import jax
    import optax
    _, kind, options = OPTIMIZERS[optimizer]
    options = dict(options)
    update = getattr(optax, kind.lower())(options.pop("lr"), **options)

    @jax.jit
    def step(params, state):
        loss, gradients = jax.value_and_grad(model.function)(params, *model.inputs.values())
        changes, state = update.update(gradients, state, params)
        return optax.apply_updates(params, changes), state, loss

    params, state, losses = model.params, update.init(model.params), []
    for _ in range(STEPS):
        params, state, loss = step(params, state)
        losses.append(float(loss))
    return losses


def torch_bytes(model, policy):
    """Bytes of what autograd saves (without a policy), and the peak of a step above its start."""
    import torch
    from torch.utils.checkpoint import checkpoint

    import peers_torch
    module, values = model.function, list(model.inputs.values())
    if policy != "none":
        options = {} if policy == "full" else {
            "context_fn": partial(peers_torch.create_selective_checkpoint_contexts, peers_torch.DOTS)}
        for layer in module.model.get_submodule(model.layers):
            layer.forward = partial(checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False, **options)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, foreach=False)
    given = {t.untyped_storage().data_ptr() for t in [*module.parameters(), *module.buffers(), *values]}
    saved = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            saved[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    def step():
        module(*values).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    if policy == "none":
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            module(*values)
    residuals = sum(size for size, _ in saved.values()) or None
    saved.clear()
    return residuals, peers_torch.peak_bytes(step)


def jax_bytes(model, policy):
    """XLA's temporaries of a step. A policy changes nothing here: the model has its own jax.checkpoint."""
    import jax

    @partial(jax.jit, donate_argnums=0)
    def step(params, inputs):
        loss, gradients = jax.value_and_grad(model.function)(params, *inputs)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, params, gradients), loss

    compiled = step.lower(model.params, list(model.inputs.values())).compile()
    return None, compiled.memory_analysis().temp_size_in_bytes


# --- Commands ----------------------------------------------------------------------------------


def train(names, sizes, optimizer):
    failed = 0
    for name in names:
        model = make(name, sizes)
        with tempfile.TemporaryDirectory() as folder:
            exported = model.export()
            exported.save(folder, name)
            write_arrays(folder, exported)
            ours, _ = run_program(folder, compile_program(folder, name, optimizer=optimizer)[0], STEPS)
        theirs = (torch_losses if model.params is None else jax_losses)(model, optimizer)
        worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        failed += not worst <= 1e-3
        print(f"{name:14} {optimizer:6} loss {ours[0]:.4f} -> {ours[-1]:.4f}, off by {worst:.1e} at most  "
              f"{'ok' if worst <= 1e-3 else 'FAIL'}", flush=True)
    return failed


def show(value):
    return f"{value / 2**20:9.1f}" if value is not None else " " * 9


def bytes_table(names, sizes):
    print(f"{'MiB':14} policy | residuals, peak: ours | theirs | ratio of peaks")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            make(name, sizes).export(check=False).save(folder, name)
            for policy in POLICIES:
                model = make(name, sizes)
                theirs = (torch_bytes if model.params is None else jax_bytes)(model, policy)
                try:
                    _, step, _ = compile_program(folder, name, policy)
                except subprocess.CalledProcessError:
                    print(f"{name:14} {policy:6} | no program", flush=True)
                    continue
                print(f"{name:14} {policy:6} |{show(step['peak']['residuals'])}{show(step['arena'])} |{show(theirs[0])}{show(theirs[1])} | "
                      f"{step['arena'] / theirs[1]:.2f}", flush=True)


def compile_times(names, sizes, layers):
    for name in names:
        seconds = []
        for count in layers:
            with tempfile.TemporaryDirectory() as folder:
                exported = make(name, sizes | {"layers": count}).export(check=False)
                exported.save(folder, name)
                write_arrays(folder, exported)
                program, _, compiling = compile_program(folder, name)
                start = time.perf_counter()
                _, report = run_program(folder, program, 1)
                running = time.perf_counter() - start - sum(report["step_s"])
            seconds.append(compiling + running)
            print(f"{name:14} {count:3} layers: remat-opt {compiling:.1f} s, mlir-runner {running:.1f} s", flush=True)
        print(f"{name:14} ratio {seconds[-1] / seconds[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["train", "bytes", "compile"])
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--optimizer", choices=list(OPTIMIZERS), default="sgd")
    options = parser.parse_intermixed_args()
    names = [a for a in options.arguments if "=" not in a] or list(architectures.MODELS)
    sizes = dict(a.split("=") for a in options.arguments if "=" in a)
    layers = [int(n) for n in sizes.pop("layers").split(",")] if options.command == "compile" else None
    sizes = {key: int(value) for key, value in sizes.items()}
    if options.command == "train":
        return train(names, sizes, options.optimizer)
    if options.command == "bytes":
        return bytes_table(names, sizes)
    return compile_times(names, sizes, layers)


if __name__ == "__main__":
    sys.exit(main())
