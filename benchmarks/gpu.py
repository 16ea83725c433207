# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what a training step does on a GPU, from the program: launches, the bytes that they move, temporaries. No GPU is needed.

A kernel moves the elements that it needs, each operand's once; `worst kernel` compares the 32-byte sectors that its warps ask
for with that. Products and convolutions go to libraries, and count by their operands.
"""
import collections
import dataclasses
import itertools
import json
import os
import subprocess
import tempfile
from pathlib import Path

import models
import workloads

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "benchmarks/xla_gpu.json"
POLICIES = {"none": "none", "full": "nothing_saveable"}
SECTOR = 32


@dataclasses.dataclass(frozen=True)
class Case:
    workload: str
    precision: str = "f32"
    overrides: tuple = ()


GPT = ("L=12", "d=768", "heads=12", "T=1024", "B=16")
CASES = [Case("gpt", "f32", GPT), Case("gpt", "bf16", GPT), Case("resnet18", "f32", ("B=256",)), Case("mlp"), Case("rnn")]


def key(case, policy):
    return " ".join([case.workload, *case.overrides, case.precision, policy])


def opt(*arguments):
    tool = Path(os.environ.get("BUILD_DIR", ROOT / "build")) / "bin/remat-opt"
    return subprocess.run([tool, *arguments], capture_output=True, text=True)


class Launches:
    """The launches of a step, as `remat-print-launches` prints them."""

    def __init__(self, path):
        printed = json.loads(Path(path).read_text())
        self.entries = printed["launches"]
        unknown = [e["location"] for e in self.entries if e["times"] is None]
        if unknown:
            raise SystemExit(f"how often these run is not known: {', '.join(unknown)}")

    def select(self, *kinds):
        return [e for e in self.entries if e["kind"] in kinds]

    @property
    def kernels(self):
        return self.select("kernel")

    @property
    def calls(self):
        return self.select("product", "convolution")


def count(entries):
    return sum(e["times"] for e in entries)


def directions(argument):
    return 2 if argument["access"] == "read_write" else 0 if argument["access"] == "workspace" else 1


def bytes_of(entry, what="bytes"):
    """Bytes of one launch; an argument of a few bytes takes a sector."""
    return sum(directions(a) * max(a[what] or 0, SECTOR if what == "moved" else 0) for a in entry["arguments"])


def bytes_once(entries):
    return sum(e["times"] * bytes_of(e) for e in entries)


def waste(entry):
    """The sectors that a kernel asks for over the least."""
    least = sum(directions(a) * -(-(a["bytes"] or 1) // SECTOR) * SECTOR for a in entry["arguments"])
    return bytes_of(entry, "moved") / least if least else 1.0


def compile_step(case, policy, folder):
    """The launches of the step, and its memory report."""
    source, report, launches = (Path(folder, name) for name in ("model.mlir", "memory.json", "launches.json"))
    source.write_text(models.mlir(case.workload, workloads.dims_of(case.workload, case.overrides), case.precision))
    done = opt(source, f"--remat-train-to-tensors=target=cuda policy={POLICIES[policy]}",
               f"--remat-bufferize=target=cuda report={report}", "--remat-cse", "--convert-linalg-to-library=alike",
               "--remat-merge-launches",
               "--convert-attention-to-gpu-kernels=traffic", "--convert-linalg-to-gpu-kernels=traffic", "--cse", f"--remat-print-launches=output={launches}",
               "-o", os.devnull)
    if done.returncode:
        raise SystemExit(done.stderr)
    memory = next(f for f in json.loads(report.read_text())["functions"] if f["name"] == "step")
    return Launches(launches), memory


def find_temporaries(memory):
    """The arena, and how much of it would be needed if convolutions took no workspace: XLA chooses their algorithms, and with
    them their workspaces, on the device, and has none here."""
    timeline, changes = memory["timeline"], []
    for start, end, size, kind in timeline["live"]:
        part, _, op = timeline["kinds"][kind][:3]
        if part != "workspace" or "conv" not in op:
            changes += [(start, 1, size), (end + 1, 0, -size)]
    peak = max(itertools.accumulate(change for _, _, change in sorted(changes)), default=0)
    return memory["arena"], peak + memory["arena"] - memory["max_live"]


def compile_kernels(source, policy, folder):
    """(kernels, spills) on all chips, and what went wrong instead."""
    code = Path(folder, "code")
    done = opt(source, f"--remat-train=target=cuda policy={POLICIES[policy]} dump-kernels={code}", "-o", os.devnull)
    if done.returncode:
        return 0, 0, done.stderr.splitlines()[0]
    manifest = json.loads((code / "manifest.json").read_text())
    kernels = [k for module in manifest["modules"] for k in module["kernels"]]
    spills = sum(value for k in kernels for chip in k["chips"].values() for name, value in chip.items() if "spill" in name)
    return len(kernels), spills, None


def row(who, kernels, calls, kernel_bytes, call_bytes, temporaries):
    return (f"| {who} | {kernels} + {calls} | {kernel_bytes / 2**30:.2f} | {call_bytes / 2**30:.2f} "
            f"| {temporaries / 2**20:.1f} |")


def print_details(launches, number):
    """The kernels that move most, and those that waste most."""
    groups = collections.defaultdict(list)
    for e in launches.entries:
        groups[e["kind"], e["name"], e["phase"]].append(e)
    print("  GiB  launches  GiB each  of its least")
    for (kind, name, phase), entries in sorted(groups.items(), key=lambda item: -bytes_once(item[1]))[:number]:
        print(f"  {bytes_once(entries) / 2**30:.3f}  {count(entries)}  {bytes_of(entries[0]) / 2**30:.4f}  "
              f"{waste(entries[0]) if kind == 'kernel' else 1:.2f}  {name} {phase} "
              f"{[a['access'][0] + str(a['bytes']) for a in entries[0]['arguments']]}")
    for e in sorted(launches.kernels, key=lambda e: -waste(e))[:5]:
        print(f"  {waste(e):.2f} {e['name']} {e['phase']} {[(a['access'], a['bytes'], a['moved']) for a in e['arguments']]}")


def compare(only=None, policies=None, details=0, assemble=True):
    recorded = json.loads(RECORDED.read_text())
    print(f"Counted, not run on a GPU. XLA: JAX {recorded['jax']} for {recorded['target']}, {recorded['date']}.\n")
    print("| step | who | kernels + library calls | GiB by kernels | GiB by calls | MiB of temporaries |\n|---|---|---:|---:|---:|---:|")
    worst = {"launches": 0.0, "traffic": 0.0, "bytes": 0.0}
    worst_kernel, all_kernels, all_spills, notes = (0.0, "", ""), 0, 0, []
    for case in CASES:
        if only and case.workload != only:
            continue
        for policy in policies or POLICIES:
            with tempfile.TemporaryDirectory() as folder:
                launches, memory = compile_step(case, policy, folder)
                if assemble:
                    kernels, spills, problem = compile_kernels(Path(folder, "model.mlir"), policy, folder)
                    all_kernels, all_spills = all_kernels + kernels, all_spills + spills
                    notes += [f"{key(case, policy)}: no machine code: {problem}"] if problem else []
            arena, temporaries = find_temporaries(memory)
            if arena != temporaries:
                notes.append(f"{key(case, policy)}: {arena / 2**20:.1f} MiB of temporaries with the workspaces of convolutions, "
                             "which XLA's have not.")
            ours = (count(launches.kernels), count(launches.calls), bytes_once(launches.kernels),
                    bytes_once(launches.calls), temporaries)
            print(f"| {key(case, policy)} " + row("ours", *ours), flush=True)
            peer = recorded["cases"].get(key(case, policy))
            if peer:
                theirs = tuple(peer[k] for k in ("kernels", "calls", "kernel_bytes", "call_bytes"))
                theirs += (peer["temporaries"] + peer["workspace"],)
                print("| " + row("XLA", *theirs))
                ratios = {"launches": sum(ours[:2]) / sum(theirs[:2]), "traffic": sum(ours[2:4]) / sum(theirs[2:4]),
                          "bytes": ours[4] / theirs[4]}
                print("| | ratio | " + " | ".join([f"{ratios['launches']:.2f}", f"{ratios['traffic']:.2f}", "",
                                                   f"{ratios['bytes']:.2f}"]) + " |", flush=True)
                worst = {name: max(worst[name], ratio) for name, ratio in ratios.items()}
            worst_kernel = max([worst_kernel] + [(waste(e), e["name"], key(case, policy)) for e in launches.kernels])
            if details:
                print_details(launches, details)
    print("\n" + "".join(f"{note}\n" for note in notes) + f"The worst kernel is {worst_kernel[1]} of {worst_kernel[2]}.")
    print(f"worst launches ratio {worst['launches']:.2f}, worst traffic ratio {worst['traffic']:.2f}, "
          f"worst bytes ratio {worst['bytes']:.2f}, worst kernel {worst_kernel[0]:.2f} of its least, "
          f"{all_kernels} kernels, {all_spills} spilled bytes")
