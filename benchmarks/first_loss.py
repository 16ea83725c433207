# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds from a model to the end of its first step: `train_step(...)` and one call, beside torch.compile and jax.jit.

    first_loss.py ours-torch|torch.compile|ours-jax|jax.jit MODEL

measures one row in this process and prints a JSON line. What is imported on the way counts, but for the framework itself and
`remat`. `compare` makes a process for each row, without compiled code of earlier ones.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import architectures
import workloads

TEXT = dict(layers=6, width=256, heads=8, length=128, batch=8, vocabulary=512)
IMAGE = dict(layers=6, width=256, heads=8, batch=16, size=64)
MODELS = {"torch": {"gpt2": TEXT, "bert": TEXT, "llama": TEXT, "vit": IMAGE, "resnet": IMAGE},
          "jax": {name: {} for name in ("gpt", "resnet18", "rnn", "llama", "convnext")}}
PEERS = {"torch": "torch.compile", "jax": "jax.jit"}
LR = 3e-4


def torch_model(name):
    function, dims = architectures.MODELS[name]
    model = function(dims | MODELS["torch"][name])
    return model.function, tuple(model.inputs.values())


def jax_model(name):
    import jax.numpy as jnp
    import peers_jax
    dims = workloads.dims_of(name)
    params, batch = ({key: jnp.array(value) for key, value in arrays.items()}
                     for arrays in (workloads.parameters(name, dims), workloads.batch(name, dims)))
    return lambda params, batch: getattr(peers_jax, name)(params, batch, dims, "none")[0], params, batch


def processor_seconds():
    """Of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(start):
    """Runs `start`, which returns the loss of a first step."""
    began, processor = time.perf_counter(), processor_seconds()
    loss = float(start())
    return {"seconds": time.perf_counter() - began, "processor": processor_seconds() - processor, "loss": loss}


def ours(start):
    """`timed`, with the seconds of its parts: the export, compilation from MLIR to machine code, and the first step."""
    import remat
    from remat import _native
    compile_request, compiled = _native.compile, []

    def timed_compile(*arguments):
        began = time.perf_counter()
        result = compile_request(*arguments)
        compiled.extend([began, time.perf_counter()])
        return result

    _native.compile = timed_compile
    began = time.perf_counter()
    record = timed(lambda: start(remat))
    return record | {"export": compiled[0] - began, "compile": compiled[1] - compiled[0]}


def measure(who, name):
    if who in ("ours-torch", "torch.compile"):
        import torch
        model, batch = torch_model(name)
    else:
        import jax
        loss, params, batch = jax_model(name)
        jax.block_until_ready(params)
    if who == "ours-torch":
        return ours(lambda remat: remat.torch.train_step(model, None, batch, optimizer=remat.AdamW(LR))(*batch))
    if who == "ours-jax":
        return ours(lambda remat: remat.jax.train_step(loss, params, batch, optimizer=remat.AdamW(LR))(batch))

    def torch_compile():
        optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
        result = torch.compile(model)(*batch)
        result.backward()
        optimizer.step()
        return result

    def jax_jit():
        import peers_jax

        def step(params, state):
            value, gradients = jax.value_and_grad(loss)(params, batch)
            return *peers_jax.adamw(params, gradients, state, LR, 0.01), value

        zeros = jax.tree.map(jax.numpy.zeros_like, params)
        return jax.block_until_ready(jax.jit(step)(params, {"t": 0, "m": zeros, "v": zeros}))[-1]

    return timed({"torch.compile": torch_compile, "jax.jit": jax_jit}[who])


def run(who, name):
    with tempfile.TemporaryDirectory() as folder:
        environment = {"XDG_CACHE_HOME": folder, "REMAT_CACHE_DIR": folder, "TORCHINDUCTOR_CACHE_DIR": folder, "OMP_NUM_THREADS": "2"}
        done = subprocess.run([sys.executable, __file__, who, name], capture_output=True, text=True,
                              env=os.environ | environment)
    if done.returncode:
        raise SystemExit(f"first_loss.py {who} {name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(frameworks, rounds):
    print("| model | ours: s | export | compile | first step | processor s | peer: s | processor s | ratio | of processor s |")
    print("|---|" + "---:|" * 9)
    ratios = {"seconds": [], "processor": []}
    for framework in frameworks:
        for name in MODELS[framework]:
            pairs = [(run(f"ours-{framework}", name), run(PEERS[framework], name)) for _ in range(rounds)]
            own, peer = (min(records, key=lambda r: r["seconds"]) for records in zip(*pairs))
            if abs(own["loss"] - peer["loss"]) > 1e-3 * abs(peer["loss"]):
                raise SystemExit(f"{name}: our first loss is {own['loss']}, that of {PEERS[framework]} {peer['loss']}")
            for key, values in ratios.items():
                values.append(own[key] / peer[key])
            rest = own["seconds"] - own["export"] - own["compile"]
            cells = [own["seconds"], own["export"], own["compile"], rest, own["processor"], peer["seconds"], peer["processor"]]
            print(f"| {name}, {PEERS[framework]} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " | " +
                  " | ".join(f"{values[-1]:.2f}" for values in ratios.values()) + " |", flush=True)
    for key, values in ratios.items():
        print(f"{key}: geometric mean {statistics.geometric_mean(values):.2f}, worst {max(values):.2f}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
    print(json.dumps(measure(*sys.argv[1:])))
