#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported models, trained by our program and by the framework that they come from.

    exports.py train [MODEL ...] [--optimizer sgd|adamw] [--f64] [--in-process] [KEY=VALUE ...]   losses of 20 steps
    exports.py bytes [MODEL ...] [KEY=VALUE ...]                                   residuals and peak under each policy
    exports.py time [MODEL ...] [--policy P] [--rounds N] [KEY=VALUE ...]          times of a step, without a policy
    exports.py compile MODEL layers=6,48 [KEY=VALUE ...]                           CPU seconds to compile

A MODEL is a name of architectures.py (default: all), of which KEY=VALUE changes a size, or a file NAME.mlir as
remat.export writes it, with --script FILE.py for the Python that exported it (see recorded.py). `train` fails if a loss
differs by more than 1e-3; --f64 exports and trains in float64, which also models whose losses depend on the last bits
bear; --in-process trains by remat.torch and remat.jax, instead of files and mlir-runner, and also fails if a gradient is
off (SGD), or if the weights, through the framework's model, or the run, through a file, have other bits afterwards. `bytes`
tells ours from the framework's by a ratio; PyTorch's is with its fused attention where that takes less. `time` runs each
side in a process of its own, N times in turn, and prints the best step of each, a ratio above 1 where ours is slower than the
fastest; PyTorch's are with the package's attention, with fused attention, and by torch.compile. Environment: BUILD_DIR, LLVM_PREFIX.
"""
import argparse
import copy
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import architectures
import ours
import recorded
from remat.jax.export import as_tuple, widen as widen_arrays
from remat.testing import training
from remat.testing.libraries import ARENA_ALIGNMENT
from remat.testing.models import Problem, Recorded, compare_gradients, has_layers

os.environ.setdefault("REMAT_BIN", str(training.BUILD / "bin"))

# The same in our IR, torch and optax.
OPTIMIZERS = {"sgd": ("#opt.sgd<lr=1.0e-2,momentum=0.9>", "SGD", dict(lr=1e-2, momentum=0.9)),
              "adamw": ("#opt.adamw<lr=1.0e-3,weight_decay=0.01>", "AdamW", dict(lr=1e-3, weight_decay=0.01))}
STEPS = 20


def make(name, options):
    if name.endswith(".mlir"):
        return recorded.load(name, options.script)
    model, dims = architectures.MODELS[name]
    return model(dims | options.sizes)


def widen(model):
    """The same model in float64."""
    fields = {f.name: getattr(model, f.name) for f in dataclasses.fields(architectures.Model)} | {"wide": True}
    if model.params is None:
        fields["function"] = model.function.double()
        fields["inputs"] = {n: x.double() if x.is_floating_point() else x for n, x in model.inputs.items()}
    else:
        fields["params"], fields["inputs"] = widen_arrays(model.params), widen_arrays(model.inputs)
    return architectures.Model(**fields)


# --- Ours --------------------------------------------------------------------------------------


def compile_program(folder, name, policy="none", regions="blocks", optimizer="sgd", mode="deferred"):
    """Returns the program and the memory report of its step."""
    program, report = Path(folder, f"{name}.program.mlir"), Path(folder, f"{name}.memory.json")
    annotate = [f"--remat-annotate={regions} policy=#remat.{ours.POLICIES[policy]}"] if policy != "none" else []
    return program, training.compile_model(Path(folder, f"{name}.mlir"), program, report, [
        f"--remat-import=spec={Path(folder, name)}.json optimizer={OPTIMIZERS[optimizer][0]} mode={mode}", *annotate,
        f"--remat-train=report={report}"])


def layer_selector(model, folder, name):
    """Returns the selector that makes a region of each layer: the scope that the model names, else `blocks`, or None if the
    program has no layers."""
    if model.layers:
        return f"scope={model.layers}.*"
    path = Path(folder, name)
    return "blocks" if has_layers(f"{path}.mlir", [f"--remat-import=spec={path}.json"]) else None


def write_arrays(folder, exported):
    by_role = {"data": {}, "init": {}}
    for argument in exported.arguments:
        by_role["data" if argument.role == "data" else "init"][argument.name] = argument.own
    for name, arrays in by_role.items():
        if arrays:
            np.savez(Path(folder, f"{name}.npz"), **arrays)


def make_step(model, optimizer):
    """A step that Python holds."""
    import remat
    batch, rule = tuple(model.inputs.values()), OPTIMIZERS[optimizer][0]
    if model.params is None:
        return remat.torch.train_step(model.function, None, batch, optimizer=rule)
    import jax
    with jax.enable_x64(model.wide):
        return remat.jax.train_step(model.function, model.params, *batch, optimizer=rule)


def with_weights_of(step, model):
    """The framework's model, with the step's parameters and buffers."""
    if model.params is not None:
        return dataclasses.replace(model, params=step.params)
    function = copy.deepcopy(model.function)
    step.copy_to(function)
    return dataclasses.replace(model, function=function)


def as_bits(arrays):
    return {name: array.tobytes() for name, array in arrays.items()}


def train_in_process(model, optimizer):
    """The losses of a step that Python holds, and what is wrong with it besides."""
    step, batch = make_step(model, optimizer), tuple(model.inputs.values())

    def run(step, count):
        return [as_tuple(step(*batch))[0] for _ in range(count)]

    losses, wrong = run(step, 1), []
    with tempfile.TemporaryDirectory() as folder:
        if optimizer == "sgd":  # whose first momentum is the gradient
            model.export().save(folder, "model")
            state = step.state_dict()
            gradients = {name: state[f"{name}.momentum"] for name in step.parameters}
            error, name, off = compare_gradients(Recorded(Path(folder, "model.mlir")), {"gradients": gradients})
            wrong += [f"{len(off)} gradients are off, {name} by {error:.1e}"] if off else []
        losses += run(step, STEPS // 2 - 1)
        step.save(Path(folder, "run.safetensors"))
        other = make_step(with_weights_of(step, model), optimizer)
        weights = {*step.parameters, *(n for n, _ in getattr(model.function, "named_buffers", tuple)())}
        before, after = (as_bits(s.state_dict()) for s in (step, other))
        if any(after[name] != before[name] for name in after.keys() & weights):
            wrong.append("weights that went through the model have other bits")
        other.load(Path(folder, "run.safetensors"))
        if as_bits(other.state_dict()) != as_bits(step.state_dict()):
            wrong.append("states that were loaded have other bits")
    losses += run(step, STEPS - STEPS // 2)
    if run(other, STEPS - STEPS // 2) != losses[STEPS // 2:] or as_bits(other.state_dict()) != as_bits(step.state_dict()):
        wrong.append("a run that was resumed has other bits")
    return losses, wrong


# --- The frameworks ----------------------------------------------------------------------------


def torch_losses(model, optimizer):
    import torch

    from remat.torch.reference import Draws
    _, kind, options = OPTIMIZERS[optimizer]
    steps = getattr(torch.optim, kind)(model.function.parameters(), **options)
    losses = []
    with Draws():
        for _ in range(STEPS):
            loss = as_tuple(model.function(*model.inputs.values()))[0]
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

    with jax.enable_x64(model.wide):
        params, state, losses = model.params, update.init(model.params), []
        for _ in range(STEPS):
            params, state, loss = step(params, state)
            losses.append(float(loss))
    return losses


def torch_layers(model):
    """Its equal layers: those it names, or the modules of a class of its own of which there are several."""
    if model.layers:
        return list(model.function.model.get_submodule(model.layers))
    own = [m for m in model.function.modules() if not type(m).__module__.startswith("torch.nn")]
    return [m for m in own if sum(type(other) is type(m) for other in own) > 1]


def put_under_policy(model, policy, by_layer):
    """Checkpoints each layer, or the whole if there are none. Returns how many layers that are."""
    from torch.utils.checkpoint import checkpoint

    import peers_torch
    layers = torch_layers(model) if by_layer else []
    if policy != "none":
        options = {} if policy == "full" else {
            "context_fn": partial(peers_torch.create_selective_checkpoint_contexts, peers_torch.DOTS)}
        for layer in layers or [model.function]:
            layer.forward = partial(checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False, **options)
    return len(layers)


def torch_step(model, compiled=False):
    """One step of SGD."""
    import torch
    module, values = model.function, list(model.inputs.values())
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, foreach=False)
    loss_of = torch.compile(module, dynamic=False) if compiled else module

    def step():
        as_tuple(loss_of(*values))[0].backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def fuse_attention(model):
    """Chooses PyTorch's fused attention. Returns whether the architecture has it."""
    choose = getattr(getattr(model.function, "model", None), "set_attn_implementation", None)
    if not choose:
        return False
    try:
        choose("sdpa")
    except ValueError:
        return False
    return True


def torch_bytes(model, policy, by_layer):
    """Bytes of what autograd keeps between forward and backward, the peak of a step above its start, and how many layers
    the policy is that of; if there are none, it is that of the whole model."""
    import torch

    import peers_torch
    module, values = model.function, list(model.inputs.values())
    layers = put_under_policy(model, policy, by_layer)
    given = {t.untyped_storage().data_ptr() for t in [*module.parameters(), *module.buffers(), *values]}
    saved = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            # In lines as buffers in our arena: torch aligns storages likewise.
            saved[storage.data_ptr()] = (-(-storage.nbytes() // ARENA_ALIGNMENT) * ARENA_ALIGNMENT, tensor)
        return tensor

    step = torch_step(model)
    step()
    if policy == "none":
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            module(*values)
    residuals = sum(size for size, _ in saved.values()) if policy == "none" else None
    saved.clear()
    return residuals, peers_torch.peak_bytes(step), layers


def leanest_torch_bytes(make_model, policy, by_layer):
    """torch_bytes with the package's own attention or with PyTorch's fused one, whichever takes less."""
    figures = [torch_bytes(make_model(), policy, by_layer)]  # a policy changes the module
    fused = make_model()
    if not fuse_attention(fused):
        return figures[0]
    figures.append(torch_bytes(fused, policy, by_layer))
    residuals, peaks, layers = zip(*figures)
    return None if None in residuals else min(residuals), min(peaks), layers[0]


def under_policy(function, policy, params, inputs, by_layer):
    """`function` with `policy` in the place of that of its own calls of jax.checkpoint, and how many these are. Without
    any, or if not `by_layer`, the whole function is under the policy."""
    import jax
    from jax._src.core import eval_jaxpr
    saveable = {"full": jax.checkpoint_policies.nothing_saveable, "dots": jax.checkpoint_policies.dots_saveable}
    traced = jax.make_jaxpr(function)(params, *inputs)
    checkpoints = by_layer * sum(op.primitive.name in ("remat2", "checkpoint") for op in traced.jaxpr.eqns)

    def changed(*arguments):
        values = dict(zip([*traced.jaxpr.constvars, *traced.jaxpr.invars], [*traced.consts, *jax.tree.leaves(arguments)]))

        def read(v):
            return v.val if hasattr(v, "val") else values[v]

        for op in traced.jaxpr.eqns:
            operands = [read(v) for v in op.invars]
            if op.primitive.name in ("remat2", "checkpoint"):
                inner = partial(eval_jaxpr, op.params["jaxpr"], ())
                results = (inner if policy == "none" or not checkpoints else jax.checkpoint(inner, policy=saveable[policy]))(*operands)
            else:
                results = op.primitive.bind(*operands, **op.primitive.get_bind_params(op.params))
                results = results if op.primitive.multiple_results else [results]
            values.update(zip(op.outvars, results))
        return read(traced.jaxpr.outvars[0])

    if policy != "none" and not checkpoints:
        return jax.checkpoint(changed, policy=saveable[policy]), 0
    return changed, checkpoints


def jax_step(function):
    """One step of SGD."""
    import jax

    @partial(jax.jit, donate_argnums=0)
    def step(params, inputs):
        loss, gradients = jax.value_and_grad(function)(params, *inputs)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, params, gradients), loss

    return step


def jax_bytes(model, policy, by_layer):
    """As torch_bytes: bytes of what jax.vjp keeps, XLA's temporaries of a step. The layers are those that the model puts
    under jax.checkpoint."""
    import jax
    from jax._src.ad_checkpoint import saved_residuals  # jax.ad_checkpoint only prints them
    inputs = list(model.inputs.values())
    function, layers = under_policy(model.function, policy, model.params, inputs, by_layer)
    kept = saved_residuals(function, model.params, *inputs)
    residuals = sum(kind.size * kind.dtype.itemsize for kind, source in kept if "the argument" not in source)
    compiled = jax_step(function).lower(model.params, inputs).compile()
    return residuals, compiled.memory_analysis().temp_size_in_bytes, layers


# --- Commands ----------------------------------------------------------------------------------


def title(name):
    return Path(name).stem


def train(names, options):
    failed, optimizer = 0, options.optimizer
    for name in names:
        model = make(name, options)
        model = widen(model) if options.f64 else model
        wrong = []
        if options.in_process:
            found, wrong = train_in_process(model, optimizer)
        else:
            with tempfile.TemporaryDirectory() as folder:
                exported = model.export()
                exported.save(folder, "model")
                write_arrays(folder, exported)
                found, _ = ours.run_program(folder, compile_program(folder, "model", optimizer=optimizer)[0], STEPS)
        theirs = (torch_losses if model.params is None else jax_losses)(model, optimizer)
        worst = max(abs(a - b) for a, b in zip(found, theirs, strict=True))
        right = worst <= 1e-3 and not wrong
        failed += not right
        print(f"{title(name):15} {optimizer:6} loss {found[0]:.4f} -> {found[-1]:.4f}, off by {worst:.1e} at most  "
              f"{'; '.join(['ok' if right else 'FAIL', *wrong])}", flush=True)
    return failed


def show(value):
    return f"{value / 2**20:9.3f}" if value is not None else " " * 9


def bytes_table(names, options):
    print(f"{'MiB':15} policy regions   | residuals, peak: ours | theirs | ratio of peaks")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            model = make(name, options)
            model.export(check=False).save(folder, "model")
            selector = layer_selector(model, folder, "model")
            for policy in ours.POLICIES:
                if model.params is None:
                    *theirs, layers = leanest_torch_bytes(lambda: make(name, options), policy, selector is not None)
                else:
                    *theirs, layers = jax_bytes(model, policy, selector is not None)
                _, step = compile_program(folder, "model", policy, selector if layers else "whole")
                print(f"{title(name):15} {policy:6} {f'{layers} layers' if layers else 'whole':9} |{show(step['residuals'])}{show(step['arena'])} |"
                      f"{show(theirs[0])}{show(theirs[1])} | {step['arena'] / theirs[1]:.2f}", flush=True)


def peers_of(model):
    """Names of the frameworks' ways to run a step, the fastest of which is the peer."""
    if model.params is not None:
        return ["jax"]
    return ["torch", "torch.compile"] + ["torch, fused attention", "torch.compile, fused attention"] * fuse_attention(model)


def time_peer(name, who, options):
    """Seconds of each step but the first, in this process."""
    import time
    model = make(name, options)
    if who == "jax":
        import jax
        inputs, state = list(model.inputs.values()), [jax.tree.map(jax.numpy.array, model.params)]
        run = jax_step(under_policy(model.function, options.policy, model.params, inputs, options.by_layer)[0])

        def step():
            state[0], loss = run(state[0], inputs)
            jax.block_until_ready((state[0], loss))
    else:
        if "fused" in who:
            fuse_attention(model)
        put_under_policy(model, options.policy, options.by_layer)
        step = torch_step(model, compiled="compile" in who)

    step()
    times = []
    for _ in range(options.steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return times


def time_in_process_of_its_own(name, who, options):
    known = architectures.MODELS.get(name, (None, ()))[1]
    arguments = [name, *(f"{key}={value}" for key, value in options.sizes.items() if key in known), "--who", who, "--policy", options.policy,
                 "--steps", str(options.steps), *["--by-layer"] * options.by_layer]
    arguments += ["--script", options.script] if options.script else []
    done = subprocess.run([sys.executable, __file__, "time", *arguments], capture_output=True, text=True)
    if done.returncode:
        print(f"{title(name)}: {who} failed: {done.stderr.strip().splitlines()[-1][:200]}", file=sys.stderr)
        return [float("inf")]
    return json.loads(done.stdout.splitlines()[-1])


def time_table(names, options):
    print(f"{'ms':15} policy |     ours  fastest  ratio | of")
    ratios = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            model = make(name, options)
            exported = model.export(check=False)
            exported.save(folder, "model")
            write_arrays(folder, exported)
            selector = layer_selector(model, folder, "model")
            layers = under_policy(model.function, "full", model.params, list(model.inputs.values()), True)[1] \
                if model.params is not None else len(torch_layers(model))
            options.by_layer = bool(selector and layers)
            program, _ = compile_program(folder, "model", options.policy, selector if layers else "whole", mode="eager")
            peers = peers_of(model)
            best = dict.fromkeys(["ours", *peers], float("inf"))
            for _ in range(options.rounds):
                for who in best:
                    times = ours.run_program(folder, program, options.steps + 1)[1]["step_s"][1:] if who == "ours" else \
                        time_in_process_of_its_own(name, who, options)
                    best[who] = min(best[who], *times)
        fastest = min(peers, key=best.get)
        ratios.append(best["ours"] / best[fastest])
        others = ", ".join(f"{who} {1e3 * best[who]:.1f}" for who in peers if who != fastest)
        print(f"{title(name):15} {options.policy:6} |{1e3 * best['ours']:9.1f}{1e3 * best[fastest]:9.1f}{ratios[-1]:7.2f} | "
              f"{fastest}{f' ({others})' if others else ''}", flush=True)
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, worst {max(ratios):.2f}")


def cpu_seconds(function, *arguments):
    """Returns the result of `function`, and the CPU seconds of the programs that it ran, which hardly depend on the load of the
    machine."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    return function(*arguments), used() - before


def compile_times(names, options, layers):
    for name in names:
        seconds = []
        for count in layers:
            with tempfile.TemporaryDirectory() as folder:
                options.sizes["layers"] = count
                exported = make(name, options).export(check=False)
                exported.save(folder, name)
                write_arrays(folder, exported)
                (program, _), compiling = cpu_seconds(compile_program, folder, name)
                # Threads that wait would count as compilation.
                _, running = cpu_seconds(ours.run_program, folder, program, 1, {"OMP_WAIT_POLICY": "passive"})
            seconds.append(compiling + running)
            print(f"{name:15} {count:3} layers: remat-opt {compiling:.1f} s, mlir-runner with a step {running:.1f} s",
                  flush=True)
        print(f"{name:15} ratio {seconds[-1] / seconds[0]:.1f}")


def parse_sizes(options, fail):
    """The sizes that the command line changes, by name, each a list: of one number, or for `compile` the numbers of layers."""
    sizes = {}
    for text in (a for a in options.arguments if "=" in a):
        key, _, value = text.partition("=")
        numbers = value.split(",")
        if not all(n.isdecimal() for n in numbers):
            fail(f"{text}: expected KEY=NUMBER")
        if len(numbers) > 1 and (options.command, key) != ("compile", "layers"):
            fail(f"{text}: only `compile` takes several numbers, of layers")
        sizes[key] = [int(n) for n in numbers]
    return sizes


def check_models(names, sizes, options, fail):
    known = {}
    for name in names:
        if name.endswith(".mlir"):
            if not options.script:
                fail("a model in a file needs --script, the Python that exported it")
            if sizes or options.command == "compile":
                fail(f"{name}: a model in a file has the sizes with which it was exported")
        elif name not in architectures.MODELS:
            fail(f"no model is called {name}; there are {', '.join(architectures.MODELS)}")
        else:
            known |= architectures.MODELS[name][1]
    if wrong := sizes.keys() - known.keys():
        fail(f"no size is called {', '.join(sorted(wrong))}; there are {', '.join(known)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["train", "bytes", "time", "compile"])
    parser.add_argument("arguments", nargs="*", metavar="MODEL|KEY=VALUE")
    parser.add_argument("--optimizer", choices=list(OPTIMIZERS), default="sgd")
    parser.add_argument("--script")
    parser.add_argument("--f64", action="store_true")
    parser.add_argument("--in-process", action="store_true")
    parser.add_argument("--policy", choices=list(ours.POLICIES), default="none")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--who", help=argparse.SUPPRESS)  # what `time` runs in a process of its own
    parser.add_argument("--by-layer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    names = [a for a in options.arguments if "=" not in a] or list(architectures.MODELS)
    sizes = parse_sizes(options, parser.error)
    check_models(names, sizes, options, parser.error)
    layers = sizes.pop("layers", None) if options.command == "compile" else None
    if options.command == "compile" and not layers:
        parser.error("compile needs numbers of layers, such as layers=6,48")
    if min(options.rounds, options.steps) < 1:
        parser.error("--rounds and --steps must be at least 1")
    options.sizes = {key: number for key, (number,) in sizes.items()}
    try:
        if options.command == "train":
            return train(names, options)
        if options.command == "bytes":
            return bytes_table(names, options)
        if options.command == "time" and options.who:
            return print(json.dumps(time_peer(names[0], options.who, options)))
        if options.command == "time":
            return time_table(names, options)
        return compile_times(names, options, layers)
    except Problem as problem:
        sys.exit(f"{parser.prog}: {problem}")


if __name__ == "__main__":
    sys.exit(main())
