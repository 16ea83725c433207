# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts launches, bytes and temporaries of a workload's training step as XLA compiles it for an H200, on a machine without a GPU.

usage: peers_xla_gpu.py WORKLOAD none|full|dots f32|bf16 [K=V ...]
       peers_xla_gpu.py --record      compiles every case of gpu.py, and writes xla_gpu.json

XLA's GPU back end compiles from a description of the target; neither device nor driver is needed. It needs packages of its own,
1.1 GB, and a CUDA toolkit in CUDA_HOME:

    python3 -m venv v
    v/bin/pip install --no-deps jax==0.10.2 jaxlib==0.10.2 jax-cuda13-plugin==0.10.2 jax-cuda13-pjrt==0.10.2 \
        numpy ml_dtypes opt_einsum scipy

Flags: no autotuning (it needs a device) and no Triton products, so that products are calls of cuBLASLt. Their 32 MiB of workspace
are no traffic, and are named apart from the other temporaries.

Bytes: each operand and each result of a kernel or call once. If a fusion reads an operand in slices, or writes into a slice, only
these slices count. Operations in a loop count as often as the loop runs.
"""
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

H200 = """
gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
 shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
 memory_bandwidth: 4800000000000 l2_cache_size: 62914560 clock_rate_ghz: 1.98 device_memory_size: 150000000000
 shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 }
 registers_per_core_limit: 65536 registers_per_block_limit: 65536 }
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
runtime_version { major: 13 minor: 0 patch: 0 }
device_description_str: "NVIDIA H200"
"""
FLAGS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false --xla_gpu_cuda_data_dir="
LAUNCHES = {"fusion", "custom-call", "copy", "reduce", "transpose", "copy-start", "sort", "scatter", "dynamic-slice",
            "dynamic-update-slice", "convert", "broadcast", "add", "multiply", "convolution", "dot", "select", "concatenate"}
WIDTHS = {"f32": 4, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "pred": 1, "s64": 8, "f64": 8, "s8": 1, "u8": 1, "u64": 8}
SLICES = {"dynamic-slice", "slice", "gather"}
WORKSPACE = 32 << 20


def size(text):
    """Bytes of all types that are spelled out in the text."""
    total = 0
    for element, shape in re.findall(r"\b([a-z]+[0-9]*)\[([0-9,]*)\]", text):
        count = WIDTHS.get(element, 0)
        for extent in filter(None, shape.split(",")):
            count *= int(extent)
        total += count
    return total


class Instruction:
    def __init__(self, name, result, op, rest, is_root):
        self.name, self.result, self.op, self.is_root = name, result, op, is_root
        inside, _, self.attributes = rest.partition(")")
        self.operands = re.findall(r"%[\w.\-]+", inside)
        self.number = int(inside) if op == "parameter" else None

    def called(self, attribute):
        found = re.search(rf"\b{attribute}=(%[\w.\-]+)", self.attributes)
        return found and found[1]


def parse(text):
    """The computations of an HLO module, by name, and the entry's name."""
    computations, entry, body = {}, None, None
    for line in text.splitlines():
        header = re.match(r"(ENTRY )?(%[\w.\-]+) \(.*\) -> .* \{", line)
        if header:
            body = computations[header[2]] = {}
            entry = header[2] if header[1] else entry
            continue
        match = re.match(r"\s*(ROOT )?(%[\w.\-]+) = (.*?) ([a-z\-]+)\((.*)", line)
        if match and body is not None:
            root, name, result, op, rest = match.groups()
            body[name] = Instruction(name, result, op, rest, bool(root))
    return computations, entry


def fusion_bytes(body):
    """Bytes that the computation of a fusion reads and writes."""
    def resolve(name):
        while body[name].op in ("bitcast", "copy") and body[name].operands:
            name = body[name].operands[0]
        return body[name]

    updates = [i for i in body.values() if i.op == "dynamic-update-slice"]
    in_place = {resolve(u.operands[0]).name for u in updates}
    total = 0
    for parameter in (i for i in body.values() if i.op == "parameter"):
        names, users = {parameter.name}, []
        for i in body.values():
            if names & set(i.operands):
                if i.op == "bitcast":
                    names.add(i.name)
                else:
                    users.append(i)
        if users and all(u.op in SLICES and u.operands[0] in names for u in users):
            total += min(size(parameter.result), sum(size(u.result) for u in users))
        elif parameter.name not in in_place or any(u.op != "dynamic-update-slice" for u in users):
            total += size(parameter.result)
    root, = (i for i in body.values() if i.is_root)
    for result in [body[name] for name in root.operands] if root.op == "tuple" else [root]:
        written = resolve(result.name)
        total += size(body[written.operands[1]].result if written.op == "dynamic-update-slice" else written.result)
    return total


class Counts:
    def __init__(self, computations):
        self.computations = computations
        self.kernels = self.calls = self.kernel_bytes = self.call_bytes = 0

    def add(self, computation, times=1):
        types = {i.name: i.result for i in self.computations[computation].values()}
        for i in self.computations[computation].values():
            if i.op == "while":
                trips = re.search(r'known_trip_count\W+n\W+(\d+)', i.attributes)
                self.add(i.called("body"), times * int(trips[1]))
            elif i.op == "call":
                self.add(i.called("to_apply"), times)
            elif i.op in LAUNCHES:
                self.add_launch(i, types, times)

    def add_launch(self, i, types, times):
        if i.op == "fusion":
            moved = fusion_bytes(self.computations[i.called("calls")])
        elif i.op == "dynamic-slice":
            moved = 2 * size(i.result)
        elif i.op == "dynamic-update-slice":
            moved = 2 * size(types[i.operands[1]])
        else:
            moved = size(i.result) + sum(size(types.get(operand, "")) for operand in i.operands)
        if i.op in ("custom-call", "convolution", "dot"):
            # The workspace is one of the results.
            moved -= sum(size(t) for t in re.findall(r"\b[su]8\[[0-9,]*\]", i.result))
            self.calls += times
            self.call_bytes += times * moved
        else:
            self.kernels += times
            self.kernel_bytes += times * moved


def compile_step(workload, dims, policy, precision):
    import jax
    import numpy as np
    from jax.experimental import topologies

    import peers_jax
    import workloads

    topology = topologies.get_topology_desc(platform="cuda", target_config=H200, topology="1x1x1")
    mesh = topologies.make_mesh(topology, (1,), ("d",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def shapes(arrays):
        return {name: jax.ShapeDtypeStruct(np.shape(a), np.asarray(a).dtype, sharding=sharding)
                for name, a in arrays.items()}

    params, batch = shapes(workloads.parameters(workload, dims)), shapes(workloads.batch(workload, dims))
    running = shapes(workloads.states(workload, dims))
    kind, options = workloads.OPTIMIZERS[workload]
    if kind == "adamw":
        optimizer = {"t": jax.ShapeDtypeStruct((), np.float32, sharding=sharding), "m": params, "v": params}
    else:
        optimizer = {"m": params} if options.get("momentum") else {}
    step = peers_jax.training_step(workload, dims, policy, precision)
    lowered = jax.jit(step, donate_argnums=(0, 1)).lower(params, {"optimizer": optimizer, "running": running}, batch)
    return lowered.compile()


def measure(workload, dims, policy, precision):
    start = time.perf_counter()
    compiled = compile_step(workload, dims, policy, precision)
    seconds = time.perf_counter() - start
    text = compiled.as_text()
    if "XLA_DUMP" in os.environ:
        Path(os.environ["XLA_DUMP"]).write_text(text)
    computations, entry = parse(text)
    counts = Counts(computations)
    counts.add(entry)
    workspace = WORKSPACE if f"s8[{WORKSPACE}]" in text else 0
    return {"kernels": counts.kernels, "kernel_bytes": counts.kernel_bytes, "calls": counts.calls,
            "call_bytes": counts.call_bytes, "workspace": workspace, "compile_s": round(seconds, 1),
            "temporaries": compiled.memory_analysis().temp_size_in_bytes - workspace}


def record():
    """Every case in a process of its own."""
    import gpu
    versions = subprocess.run([sys.executable, "-c", "import jax; print(jax.__version__)"], capture_output=True, text=True)
    found = json.loads(gpu.RECORDED.read_text())["cases"] if gpu.RECORDED.exists() else {}
    for case in gpu.CASES:
        for policy in gpu.POLICIES:
            done = subprocess.run([sys.executable, __file__, case.workload, policy, case.precision, *case.overrides],
                                  capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            found[gpu.key(case, policy)] = json.loads(done.stdout.splitlines()[-1])
            print(gpu.key(case, policy), found[gpu.key(case, policy)], flush=True)
            gpu.RECORDED.write_text(json.dumps({"jax": versions.stdout.strip(), "target": "NVIDIA H200, CUDA 13.0, cuDNN 9.10",
                                                "date": time.strftime("%Y-%m-%d"), "cases": found}, indent=1) + "\n")


def main():
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "JAX_PLATFORMS": "",
                   "XLA_FLAGS": FLAGS + os.environ.get("CUDA_HOME", "/usr/local/cuda")}
    if sys.argv[1:] == ["--record"]:
        return record()
    import workloads
    workload, policy, precision, *overrides = sys.argv[1:]
    print(json.dumps(measure(workload, workloads.dims_of(workload, overrides), policy, precision)))


if __name__ == "__main__":
    main()
