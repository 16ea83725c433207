# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One configuration in this process; prints one JSON line.

usage: measure.py ours|jax|torch|torch-compile WORKLOAD none|full|dots [--eager] [--flash] [--pieces] [--steps N] [--optimizer RULE]
                  [--device cuda] [--precision f32|tf32|bf16] [K=V ...]

`--eager` is the optimizer in the backward pass (in JAX the step is one program, which decides that itself).
`resident` is the most memory that a peer's process had.
"""
import argparse
import json
import os
import resource
import time

import workloads


def peer(arguments, dims):
    if arguments.framework == "jax":
        import peers_jax
        step, facts = peers_jax.build(arguments.workload, dims, arguments.policy, device=arguments.device, precision=arguments.precision)
    else:
        import peers_torch
        step, facts = peers_torch.build(arguments.workload, dims, arguments.policy, arguments.eager,
                                        arguments.framework == "torch-compile", arguments.flash, arguments.pieces,
                                        arguments.device, arguments.precision)
    losses = [facts.pop("first_loss")] if "first_loss" in facts else [step()]
    times = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        losses.append(step())
        times.append(time.perf_counter() - start)
    if arguments.framework != "jax":
        facts["bytes"] = peers_torch.peak_bytes(step, arguments.device)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"times": times, "losses": losses, "compile_s": 0.0, "resident": 1024 * kilobytes} | facts


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("framework", choices=["ours", "jax", "torch", "torch-compile"])
    parser.add_argument("workload", choices=list(workloads.DIMS))
    parser.add_argument("policy", choices=workloads.POLICIES)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--flash", action="store_true")
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--optimizer", choices=list(workloads.RULES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="f32")
    parser.add_argument("dims", nargs="*")
    arguments = parser.parse_intermixed_args()
    # XLA, torch and our runtime size their pools by the processors that a process may use; before either is imported.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:arguments.threads])
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    dims = workloads.dims_of(arguments.workload, arguments.dims)
    if arguments.optimizer:
        workloads.OPTIMIZERS[arguments.workload] = workloads.RULES[arguments.optimizer]
    if arguments.framework == "ours":
        import ours
        record = ours.measure(arguments.workload, dims, arguments.policy, "eager" if arguments.eager else "deferred",
                              arguments.steps)
    else:
        record = peer(arguments, dims)
    print(json.dumps(record))


if __name__ == "__main__":
    main()
