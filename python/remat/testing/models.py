# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported models: what is recorded beside them, and whether what a step computed is that. `variants` compiles and runs steps.

A model is NAME.mlir with NAME.json (names and roles, see remat-import) and NAME.npz: `arg<i>`, `out<i>`, `grad_<i>` or
`grad_const_<resource>` at the model's own precision (bf16 as its bits in uint16), and `out64_<i>`, `grad64_...` in float64.
"""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np

from remat.testing.libraries import NUMPY_TYPES, tool

FLOATS = "f64", "f32", "f16", "bf16"
RATE = 1e-2
MOMENTUM = f"#opt.sgd<lr={RATE:.1e},momentum=0.9>"  # After the first step its state is the gradient, to the bit.


class Problem(Exception):
    """Something is wrong with the model or its files; the text says what."""


class Crash(Problem):
    """A tool did not say what is wrong, but was ended by a signal."""


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        name, lines = Path(str(command[0])).name, done.stderr.strip().splitlines()
        errors = [line for line in lines if re.search("error:|LLVM ERROR|Assertion", line)] or lines[-1:]
        message = errors[0].strip()[:400] if errors else f"exit code {done.returncode}"
        if done.returncode < 0:
            raise Crash(f"{name} ended by signal {-done.returncode}: {message}")
        raise Problem(f"{name}: {message}")
    return done


def has_layers(model, options=()):
    """Returns true if remat-annotate finds layers in the file `model` after the passes of `options`. Raises a Crash if the tool
    crashes, which says nothing about layers."""
    try:
        run([tool("remat-opt", "REMAT_BIN"), model, *options, "--remat-annotate=blocks", "-o", os.devnull])
    except Crash:
        raise
    except Problem:
        return False
    return True


# --- Files -------------------------------------------------------------------------------------


def widen(array, kind):
    """Returns a stored array with elements of `kind` in float64 (integers as they are)."""
    if kind == "bf16":
        return (np.asarray(array).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if kind in FLOATS else array


def check_entry(entry):
    """Returns what is wrong with an entry of the description, or None."""
    if not isinstance(entry, dict):
        return "is no object"
    for key in ("name", "role", "dtype"):
        if not isinstance(entry.get(key), str):
            return f"has no text '{key}'"
    shape = entry.get("shape", [])
    if not isinstance(shape, list) or not all(type(n) is int for n in shape):
        return "has a 'shape' that is no list of whole numbers"
    if entry["dtype"] not in NUMPY_TYPES:
        return f"has the unknown dtype '{entry['dtype']}'; there are {', '.join(NUMPY_TYPES)}"
    return None if isinstance(entry.get("resource", ""), str) else "has a 'resource' that is no text"


class Recorded:
    """NAME.mlir and what is recorded beside it. `options` are further ones of remat-import."""

    def __init__(self, path, options=""):
        self.path, self.options, self.tolerances = Path(path), options, {}
        if self.path.suffix != ".mlir":
            raise Problem(f"{path} is no .mlir file")
        # NAME.loc.mlir, which some exporters write for a model with its locations, has the files of NAME.mlir.
        beside = self.path.with_suffix("")
        if beside.suffix == ".loc" and not beside.with_name(beside.name + ".json").is_file():
            beside = beside.with_suffix("")
        self.spec_path, self.arrays_path = (beside.with_name(beside.name + end) for end in (".json", ".npz"))
        for file in (self.path, self.spec_path, self.arrays_path):
            if not file.is_file():
                raise Problem(f"{file} is missing")
        try:
            self.text = self.path.read_text()
            self.spec = json.loads(self.spec_path.read_text())
        except UnicodeDecodeError as problem:
            raise Problem(f"{self.path} or {self.spec_path.name} is no text: {problem}") from None
        except (json.JSONDecodeError, RecursionError) as problem:
            raise Problem(f"{self.spec_path}: {problem}") from None
        self.check_description()
        try:
            with np.load(self.arrays_path) as arrays:
                self.arrays = dict(arrays)
        except Exception as problem:  # numpy raises zipfile's, zlib's and its own
            raise Problem(f"{self.arrays_path} cannot be read: {problem}") from None
        self.name_leaves()
        for i, entry in enumerate(self.spec["arguments"]):
            self.check(f"arg{i}", entry)
        for i, entry in enumerate(self.spec["results"]):
            self.check(f"out{i}", entry)
            if entry["dtype"] in FLOATS:
                self.check(f"out64_{i}", entry, wide=True)
        for key, entry in self.keys.items():
            self.check(f"grad_{key}", entry)
            self.check(f"grad64_{key}", entry, wide=True)

    def check_description(self):
        if not isinstance(self.spec, dict):
            raise Problem(f"{self.spec_path} is no object with lists 'arguments' and 'results'")
        self.spec.setdefault("constants", [])
        for key in ("arguments", "results", "constants"):
            if not isinstance(self.spec.get(key), list):
                raise Problem(f"{self.spec_path} has no list '{key}'")
            for i, entry in enumerate(self.spec[key]):
                if wrong := check_entry(entry):
                    raise Problem(f"{self.spec_path}: entry {i} of '{key}' {wrong}")

    def name_leaves(self):
        """Names what has none as remat-import does, and finds the gradients' keys."""
        constants = [entry.get("resource") or entry["name"] for entry in self.spec["constants"]]
        for key, prefix in (("arguments", "arg"), ("constants", "constant")):
            for i, entry in enumerate(self.spec[key]):
                entry["name"] = entry["name"] or f"{prefix}{i}"
        self.keys = {str(i): e for i, e in enumerate(self.spec["arguments"]) if e["role"] == "parameter"}
        self.keys |= {f"const_{k}": e for k, e in zip(constants, self.spec["constants"]) if e["role"] == "parameter"}

    def check(self, key, entry, wide=False):
        array, kind = self.array(key), "f64" if wide else entry["dtype"]
        shape = entry.get("shape", list(array.shape))
        fits = len(shape) == array.ndim and all(n in (-1, m) for n, m in zip(shape, array.shape))
        if array.dtype.kind not in "biuf" or array.dtype.itemsize != np.dtype(NUMPY_TYPES[kind]).itemsize or not fits:
            raise Problem(f"array '{key}' of {self.arrays_path} is {array.dtype} {list(array.shape)}, but "
                          f"'{entry['name']}' is {kind} {shape}")

    def array(self, key):
        if key not in self.arrays:
            raise Problem(f"{self.arrays_path} has no array '{key}'")
        return self.arrays[key]

    def gradients(self):
        """Name of each parameter -> (its type, the framework's gradient, the same in float64)."""
        return {e["name"]: (e["dtype"], self.array(f"grad_{k}"), self.array(f"grad64_{k}"))
                for k, e in self.keys.items()}

    def importing(self):
        """The option of remat-opt that imports the model."""
        quote = '"' if "'" in str(self.spec_path) else "'"
        return f"--remat-import=spec={quote}{self.spec_path}{quote} {self.options}"

    @functools.cached_property
    def resources(self):
        """Where in the text the digits of each `dense_resource` are. Models have hundreds of megabytes of them."""
        found, at = {}, self.text.find("{-#")
        while at >= 0 and (at := self.text.find(': "0x', at)) >= 0:
            key = re.search(r'"([^"]*)"$|([^\s{,"]+)$', self.text[max(0, at - 1000):at])
            end = self.text.index('"', at + 3)
            if key:
                found[key[1] or key[2]] = slice(at + 5, end)
            at = end
        return found

    def resource(self, key):
        """The bytes of a `dense_resource`: what stands in the text is their alignment, then they."""
        if key not in self.resources:
            raise Problem(f"{self.path} has no resource '{key}'")
        return bytes.fromhex(self.text[self.resources[key]])[4:]

    def tolerance(self, kind):
        """Of the narrowest type that takes part in the computation."""
        if kind not in self.tolerances:
            code = self.text.partition("{-#")[0]  # without the bytes of weights
            narrow = next((k for k in ("bf16", "f16", "f32") if re.search(rf"[x<(: ]{k}\b", code)), kind)
            self.tolerances[kind] = {"f64": 1e-10, "f32": 1e-4, "f16": 2e-2, "bf16": 2e-2}[
                narrow if kind in FLOATS else "f64"]
        return self.tolerances[kind]


# --- Comparison --------------------------------------------------------------------------------


def distance(found, expected):
    """Norm of the difference, relative to that of what is expected; infinities and NaN must agree."""
    finite = np.isfinite(expected)
    if found.shape != expected.shape or not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return np.inf
    scale, difference = np.linalg.norm(expected[finite]), np.linalg.norm((found - expected)[finite])
    return 0.0 if difference == 0 else float(difference / scale) if scale else np.inf


def compare_results(model, found):
    """Names of the outputs and states that are not as recorded, each with its error."""
    wrong = []
    for i, entry in enumerate(model.spec["results"]):
        kind, value = entry["dtype"], found["results"].get(i)
        if entry["role"] == "buffer_update":
            value = found["updated"].get(entry["name"], value)
        if value is None:
            wrong.append(f"{entry['name']} (is missing)")
            continue
        if kind not in FLOATS:
            if not np.array_equal(value, model.array(f"out{i}")):
                wrong.append(f"{entry['name']} (differs)")
            continue
        error = distance(widen(value, kind), model.array(f"out64_{i}").astype(np.float64))
        if not error <= model.tolerance(kind):
            wrong.append(f"{entry['name']} ({error:.1e})")
    return wrong


def compare_gradients(model, found):
    """(largest error, its parameter's name, names that are wrong). A gradient that is zero but for rounding (such as that
    of a bias before a normalization) is measured by what the framework itself is off, as far as that is little, or by the
    largest gradient's rounding."""
    recorded = model.gradients()
    largest = max((np.linalg.norm(g64) for _, _, g64 in recorded.values()), default=0.0)
    worst, wrong = (0.0, "-"), []
    for name, (kind, own, wide) in recorded.items():
        value = found["gradients"].get(name)
        if value is None and np.any(wide):
            wrong.append(f"{name} (is no parameter of the step)")
            continue
        value = np.zeros(wide.shape) if value is None else value.astype(np.float64)
        tolerance = model.tolerance(kind)
        error = distance(value, wide)
        if not error <= tolerance:
            off = np.linalg.norm(value - wide) if value.shape == wide.shape else np.inf
            # A record whose two gradients have little in common is no measure.
            little = tolerance * max(largest, 10 * np.linalg.norm(wide))
            allowed = max(min(4 * np.linalg.norm(widen(own, kind) - wide), little), 1e-3 * tolerance * largest)
            if off <= allowed:
                continue
            lost = not np.any(wide) and not np.any(own)
            theirs = distance(widen(own, kind), wide)
            also = f"; the framework's own is {theirs:.1e} off" if tolerance < theirs < np.inf else ""
            wrong.append(f"{name} (zero by the record: if it is frozen or detached there, say so with --import or "
                         "--annotate)" if lost else f"{name} ({error:.1e}{also})")
        if not error <= worst[0]:
            worst = error, name
    return *worst, wrong


def kind_of(array):
    """The element type of floating-point numbers, of which bf16 may be stored as its bits."""
    return "bf16" if array.dtype.name == "bfloat16" else next(k for k in FLOATS if NUMPY_TYPES[k] == array.dtype.str[1:])


def compare_updates(found):
    """Names of the parameters that are not what SGD makes of their gradients, up to rounding: each is rounded to its own type, which may
    be narrower than that of the gradient."""
    wrong = []
    for name, gradient in found["gradients"].items():
        kind = kind_of(found["initial"][name])
        before, after = (widen(found[when][name], kind) for when in ("initial", "updated"))
        gradient = widen(gradient, kind_of(gradient))
        rounding = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}[kind]
        rate = RATE if kind == "f64" else float(np.float32(RATE))  # as the step has it
        allowed = rounding * (np.abs(before) + rate * np.abs(gradient)) + np.finfo(np.float32).tiny
        if not (np.abs(after - (before - rate * gradient)) <= allowed).all():
            wrong.append(name)
    return wrong


def differing(found, reference):
    """Names of arrays whose bits differ."""
    return [str(name) for group in ("results", "gradients", "updated")
            for name in sorted(found[group].keys() | reference[group].keys(), key=str)
            if name not in found[group] or name not in reference[group]
            or found[group][name].tobytes() != reference[group][name].tobytes()]
