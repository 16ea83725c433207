# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs check-model on a sample with something changed, each change by itself: check_spoiled.py SAMPLE FOLDER.

Prints a line for each: the change and what check-model says last, or that it ended in another way.
"""

import concurrent.futures
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sample, folder = Path(sys.argv[1]), Path(sys.argv[2])
tool = Path(__file__).resolve().parents[3] / "tools/check-model"


def name(index, text):
    return lambda m: m["spec"]["arguments"][index].update(name=text)


def entry(group, index, **changes):
    return lambda m: m["spec"][group][index].update(changes)


def spec(value):
    return lambda m: m.update(spec=value)


def drop(key):
    return lambda m: m["arrays"].pop(key)


def array(key, value):
    return lambda m: m["arrays"].update({key: value})


def text(old, new):
    def change(m):
        assert old in m["text"]
        m["text"] = m["text"].replace(old, new, 1)
    return change


def raw(suffix, content):
    return lambda m: m["files"].update({suffix: content})


CHANGES = {
    "nothing": lambda m: None,
    "a name with other characters": name(0, 'weird "name" {é} = \\, [0]/.b'),
    "a tree that is one leaf": name(0, ""),
    "data called like a weight": name(6, "0.b"),
    "no description": raw(".json", None),
    "no arrays": raw(".npz", None),
    "no JSON": raw(".json", b'{"arguments": ['),
    "no text": raw(".json", b"\xff\xfe\x00"),
    "no object": spec([1]),
    "no list": spec({"arguments": {}, "results": []}),
    "no entry": spec({"arguments": [3], "results": []}),
    "a number for a name": entry("arguments", 0, name=3),
    "a text for a shape": entry("arguments", 0, shape="16"),
    "a list for a type": entry("arguments", 0, dtype=["f32"]),
    "an unknown type": entry("arguments", 0, dtype="f8"),
    "an unknown role": entry("arguments", 0, role="weight"),
    "another shape": entry("arguments", 0, shape=[17]),
    "another type": entry("arguments", 0, dtype="i32"),
    "two of one name": name(0, "0.w"),
    "fewer entries": lambda m: m["spec"]["arguments"].pop(),
    "more entries": lambda m: m["spec"]["results"].append({"name": "more", "role": "output", "shape": [], "dtype": "f32"}),
    "no results": spec({"arguments": [], "results": []}),
    "another function": lambda m: m["spec"].update(function="lost"),
    "two losses": lambda m: m["spec"]["results"].append(dict(m["spec"]["results"][0])),
    "an unknown resource": lambda m: m["spec"]["constants"].append(
        {"name": "lost", "role": "parameter", "shape": [2], "dtype": "f32", "resource": "lost"}),
    "no argument's array": drop("arg1"),
    "no gradient": drop("grad64_0"),
    "no output": drop("out64_0"),
    "a gradient of another shape": array("grad_0", np.zeros(3, np.float32)),
    "a gradient in another precision": array("grad64_0", np.zeros(16, np.float32)),
    "an output of another type": array("out0", np.array("much")),
    "a wrong gradient": array("grad64_0", np.ones(16)),
    "a gradient of zero": lambda m: m["arrays"].update(grad_0=np.zeros(16, np.float32), grad64_0=np.zeros(16)),
    "a wrong output": array("out64_0", np.array(0.0)),
    "no arrays in the file": raw(".npz", b"PK\x03\x04 and no more"),
    "no module": raw(".mlir", b"func.func @loss("),
    "a module that is no text": raw(".mlir", b"\xff\xfe\x00"),
    "another operation": text("func.func @loss", "func.func private @more() { \"stablehlo.sort\"() : () -> () return }\nfunc.func @loss"),
}


def check(number, change):
    case = folder / f"case {number}'s"  # a folder with a space and a quote
    case.mkdir(parents=True)
    model = {"text": sample.with_suffix(".mlir").read_text(), "files": {},
             "spec": json.loads(sample.with_suffix(".json").read_text()), "arrays": dict(np.load(sample.with_suffix(".npz")))}
    change(model)
    (case / "m.mlir").write_text(model["text"])
    (case / "m.json").write_text(json.dumps(model["spec"]))
    np.savez(case / "m.npz", **model["arrays"])
    for suffix, content in model["files"].items():
        (case / "m").with_suffix(suffix).unlink()
        if content is not None:
            (case / "m").with_suffix(suffix).write_bytes(content)
    done = subprocess.run([sys.executable, str(tool), str(case / "m.mlir"), "--variants", "none:eager"],
                          capture_output=True, text=True, timeout=120)
    lines = done.stdout.strip().splitlines()
    last = lines[-1].replace(str(case), ".") if lines else ""
    if done.stderr or done.returncode != (last != "m: ok") or not last.startswith("m: "):
        return f"code {done.returncode}, says {last}; {done.stderr[-300:]}"
    return last


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    jobs = [(what, pool.submit(check, i, change)) for i, (what, change) in enumerate(CHANGES.items())]
    for what, job in jobs:
        print(f"{what}: {job.result()}", flush=True)
