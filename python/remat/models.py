"""Exported models: what is recorded beside them, variants of their training step, and what a step computes.

A model is NAME.mlir with NAME.json (names and roles, see remat-import) and NAME.npz: `arg<i>`, `out<i>`, `grad_<i>` or
`grad_const_<resource>` at the model's own precision (bf16 as its bits in uint16), and `out64_<i>`, `grad64_...` in float64.
"""

import ctypes
import functools
import json
import multiprocessing
import os
import re
import subprocess
from pathlib import Path

import numpy as np

from remat.testing import NUMPY_TYPES, descriptor_type, from_descriptor, make_arena, to_descriptor, tool

FLOATS = "f64", "f32", "f16", "bf16"
MOMENTUM = "#opt.sgd<lr=1.0e-2,momentum=0.9>"  # After the first step its state is the gradient, to the bit.

# The compiled step's own allocations (those of dynamic size) are counted; it is linked with --wrap.
ALLOCATOR = r"""
#include <stddef.h>
#include <stdint.h>
void *__real_aligned_alloc(size_t, size_t);
void __real_free(void *);
static int64_t live, peak;
static void *counted(void *raw, size_t bytes) {
  ((size_t *)raw)[0] = bytes;
  live += bytes;
  if (live > peak) peak = live;
  return (char *)raw + 64;
}
void *__wrap_malloc(size_t bytes) { return counted(__real_aligned_alloc(64, (bytes + 127) / 64 * 64), bytes); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) { return __wrap_malloc(bytes); }
void __wrap_free(void *pointer) {
  if (!pointer) return;
  char *raw = (char *)pointer - 64;
  live -= ((size_t *)raw)[0];
  __real_free(raw);
}
int64_t remat_allocated_peak(void) { return peak; }
"""


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
    """Whether remat-annotate finds layers in the file `model` behind other options. A crash is no answer."""
    try:
        run([tool("remat-opt", "REMAT_BIN"), model, *options, "--remat-annotate=blocks", "-o", os.devnull])
    except Crash:
        raise
    except Problem:
        return False
    return True


# --- Files -------------------------------------------------------------------------------------


def widen(array, kind):
    """An array as it is stored, of elements of `kind`, in float64 (integers as they are)."""
    if kind == "bf16":
        return (np.asarray(array).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if kind in FLOATS else array


def check_entry(entry):
    """What is wrong with an entry of the description, or nothing."""
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


# --- Signatures --------------------------------------------------------------------------------


def split(text, opening="([{<", closing=")]}>"):
    """Parts of `text` between commas that stand in no bracket and no string."""
    parts, depth, start, quoted, previous = [], 0, 0, False, ""
    for i, c in enumerate(text):
        if c == '"':  # inside of a string it is \22
            quoted = not quoted
        elif not quoted and not (c == ">" and previous == "-"):
            depth += (c in opening) - (c in closing)
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
        previous = c
    return [p for p in parts + [text[start:].strip()] if p]


def enclosed(text, start):
    """The text between the parenthesis at `start` and the one that closes it, and the position behind."""
    depth, quoted, i = 0, False, start
    while True:
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c == "(") - (c == ")")
            if depth == 0:
                return text[start + 1:i], i + 1
        i += 1


def unquote(text):
    """The value of an attribute; of a string, the text that MLIR printed with escapes."""
    if not text.startswith('"'):
        return text
    plain = re.sub(rb"\\(\\|[0-9A-F]{2})", lambda m: m[1] if m[1] == b"\\" else bytes.fromhex(m[1].decode()),
                   text.strip('"').encode())
    return plain.decode(errors="replace")


class Slot:
    """An argument or result of the compiled step: its shape, element type and attributes."""

    def __init__(self, text):
        text = re.sub(r"^%\w+: ", "", text)
        self.type, _, attributes = text.partition(" {")
        self.attributes = {}
        for item in split(attributes.rpartition("}")[0]):
            key, _, value = item.partition(" = ")
            self.attributes[key] = unquote(re.sub(r" : i64$", "", value))
        inner = re.fullmatch(r"memref<((?:[?\d]+x)*)(\w+)>", self.type)
        self.is_memref = inner is not None
        self.kind = inner[2] if inner else self.type
        self.shape = [-1 if n == "?" else int(n) for n in inner[1].split("x")[:-1]] if inner else []


def signature(text, name):
    start = re.search(rf"func\.func @{re.escape(name)}\(", text)
    arguments, end = enclosed(text, start.end() - 1)
    results = re.match(r" -> (\()?", text[end:])
    if not results:
        listed = []
    elif results[1]:
        listed = split(enclosed(text, end + len(results[0]) - 1)[0])
    else:
        listed = [text[end + 4:].split(" attributes ")[0].split(" {")[0]]
    return [Slot(a) for a in split(arguments)], [Slot(r) for r in listed]


def parse_elements(text, slot):
    """`dense<...> : type` as an array of what the slot holds."""
    body = text.partition("<")[2].rpartition(">")[0] if " : " not in text else \
        text.rpartition(" : ")[0].partition("<")[2].rpartition(">")[0]
    dtype = np.dtype(NUMPY_TYPES[slot.kind])
    if body.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(body[3:-1]), dtype).reshape(slot.shape)
    numbers = []
    for number in re.findall(r"[^\s,\[\]]+", body):
        if slot.kind == "bf16":
            numbers.append(np.float32(number).view(np.uint32) >> 16)
        elif number in ("true", "false"):
            numbers.append(number == "true")
        elif number.startswith("0x"):
            numbers.append(np.array(int(number, 16), f"u{dtype.itemsize}").view(dtype)[()])
        else:
            numbers.append(int(number) if dtype.kind in "iu" else float(number))
    return np.resize(np.array(numbers, dtype), slot.shape)


# --- Variants ----------------------------------------------------------------------------------


class Variant:
    """The training step of a model, compiled in one way, in `work`."""

    def __init__(self, model, name, annotate, mode, work):
        self.model, self.name = model, name
        stem = Path(work) / re.sub(r"\W+", "_", f"{model.path.stem}_{name}")
        step, lowered, ir, library = (stem.with_suffix(s) for s in (".step.mlir", ".llvm.mlir", ".ll", ".so"))
        report, allocator = stem.with_suffix(".json"), stem.with_suffix(".c")
        allocator.write_text(ALLOCATOR)
        opt = tool("remat-opt", "REMAT_BIN")
        run([opt, model.path, f"{model.importing()} optimizer={MOMENTUM} mode={mode}", *annotate,
             "--remat-train-to-tensors", f"--remat-bufferize=report={report}", "-o", step])
        run([opt, step, "--remat-strip-annotations", "--remat-lower-to-cpu", "-o", lowered])
        translate, clang = tool("mlir-translate", "LLVM_BIN"), tool("clang", "LLVM_BIN")
        run([translate, "--mlir-to-llvmir", lowered, "-o", ir])
        libraries = Path(translate).resolve().parent.parent / "lib"
        runtime = Path(opt).resolve().parent.parent / "lib"
        # -Bsymbolic: the C library has a function called step, too.
        folders = ["-Wl,-Bsymbolic", *(f"-Wl,-rpath,{f}" for f in (libraries, runtime))]
        run([clang, "-O1", "-Wno-override-module", "-shared", "-fPIC", ir, allocator, runtime / "libremat_runtime.so",
             libraries / "libmlir_c_runner_utils.so", libraries / "libomp.so", "-lm", *folders,
             *(f"-Wl,--wrap={f}" for f in ("malloc", "aligned_alloc", "free")), "-o", library])
        self.library = library
        self.arguments, self.results = signature(step.read_text(), "step")
        functions = json.loads(report.read_text())["functions"]
        self.memory = next(f for f in functions if f["name"] == "step")

    def initial(self, slot):
        """What an argument holds before the step, without those that only take up memory."""
        value = slot.attributes.get("remat.init")
        if value and value.startswith("dense_resource<"):
            data = self.model.resource(re.match(r"dense_resource<([^>]*)>", value)[1].strip('"'))
            return np.frombuffer(data, NUMPY_TYPES[slot.kind]).reshape(slot.shape)
        if value:
            return parse_elements(value, slot)
        # Data may be called like a weight.
        is_data = "remat.data" in slot.attributes
        name = next((slot.attributes[k] for k in ("opt.param", "remat.state", "remat.data") if k in slot.attributes), None)
        for i, entry in sorted(enumerate(self.model.spec["arguments"]), key=lambda e: (e[1]["role"] == "data") != is_data):
            if entry["name"] == name:
                return self.model.arrays[f"arg{i}"]
        return np.zeros(slot.shape, NUMPY_TYPES[slot.kind])

    def call(self):
        """Runs one step in a process of its own, by a fork: no other thread may compute meanwhile. Returns gradients and
        new parameters and states by name, the results by number, and the bytes of memory that were reserved."""
        receive, send = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=self.child, args=(send,))
        process.start()
        send.close()
        try:
            found = receive.recv()
        except EOFError:
            process.join()
            raise Problem(f"the step ended by signal {-process.exitcode}") from None
        process.join()
        if isinstance(found, Exception):
            raise found
        return found

    def child(self, send):
        try:
            send.send(self.step())
        except Exception as problem:  # any: the parent reports it
            send.send(Problem(f"{type(problem).__name__}: {problem}"))
        os._exit(0)

    def step(self):
        library = ctypes.CDLL(str(self.library))
        arrays, arena, reserved, arguments = [], None, 0, []
        for slot in self.arguments:
            if not slot.is_memref:
                if slot.kind != "i64":
                    raise Problem(f"the step takes a {slot.type}, which is not supported")
                arrays.append(None)
                arguments.append(ctypes.c_int64(0))
                continue
            if "remat.arena" in slot.attributes:
                reserved = slot.shape[0]
                array = arena = make_arena(reserved)
            else:
                array = np.array(self.initial(slot), NUMPY_TYPES[slot.kind], order="C")
            arrays.append(array)
            arguments.append(ctypes.byref(to_descriptor(array)))
        returned = [(f"r{i}", descriptor_type(len(r.shape)) if r.is_memref else self.scalar(r))
                    for i, r in enumerate(self.results)]
        results = type("Results", (ctypes.Structure,), {"_fields_": returned})()
        before = [a if a is None else a.copy() for a in arrays]
        # What lies in memory before must not matter, and nothing behind the arena may be written.
        for pattern in (0xAA, 0x55):
            for array, old in zip(arrays, before):
                if array is not None and array is not arena:
                    array[...] = old
            if arena is not None:
                arena.view(np.uint8)[:] = pattern
            library._mlir_ciface_step(*([ctypes.byref(results)] if returned else []), *arguments)
            if arena is not None and (arena[reserved:].view(np.uint8) != pattern).any():
                raise Problem(f"the step writes behind its arena of {reserved} bytes")
            found = self.collect(arrays, results)
        library.remat_allocated_peak.restype = ctypes.c_int64
        found["bytes"] = reserved
        found["allocated"] = library.remat_allocated_peak()
        return found

    @staticmethod
    def scalar(slot):
        types = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i64": ctypes.c_int64, "i32": ctypes.c_int32}
        if slot.kind not in types:
            raise Problem(f"the step returns a {slot.type}, which is not supported")
        return types[slot.kind]

    def collect(self, arrays, results):
        """By name what is updated, by number what is returned (results keep their order wherever they are)."""
        found = {"gradients": {}, "updated": {}, "results": {}}
        numbered, returned = {}, []
        for slot, array in zip(self.arguments, arrays):
            attributes = slot.attributes
            if "opt.state_of" in attributes:
                owner = self.arguments[int(attributes["opt.state_of"])].attributes["opt.param"]
                found["gradients"][owner] = array.copy()
            elif "remat.result" in attributes:
                numbered[int(attributes["remat.result"])] = array.copy()
            elif "opt.param" in attributes or "remat.state" in attributes:
                found["updated"][attributes.get("opt.param") or attributes["remat.state"]] = array.copy()
        for i, slot in enumerate(self.results):
            value = getattr(results, f"r{i}")
            returned.append(from_descriptor(value, NUMPY_TYPES[slot.kind]) if slot.is_memref else np.array(value))
        states = {i for i, e in enumerate(self.model.spec["results"])
                  if e["role"] == "buffer_update" and e["name"] in found["updated"]}
        for i in range(len(self.model.spec["results"])):
            if i in numbered:
                found["results"][i] = numbered[i]
            elif i not in states:
                found["results"][i] = returned.pop(0)
        return found


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
            wrong.append(f"{name} (zero by the record: if it is frozen or detached there, say so with --import or "
                         "--annotate)" if lost else f"{name} ({error:.1e})")
        if not error <= worst[0]:
            worst = error, name
    return *worst, wrong


def differing(found, reference):
    """Names of arrays whose bits differ."""
    return [str(name) for group in ("results", "gradients", "updated")
            for name in sorted(found[group].keys() | reference[group].keys(), key=str)
            if name not in found[group] or name not in reference[group]
            or found[group][name].tobytes() != reference[group][name].tobytes()]
