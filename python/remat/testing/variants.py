# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of exported models, compiled in one way each, and what one step computes: on the host, or on a device.
"""

import ctypes
import json
import multiprocessing
import os
import re
from pathlib import Path

import numpy as np

from remat.testing.libraries import NUMPY_TYPES, descriptor_type, from_descriptor, make_arena, to_descriptor, tool
from remat.testing.models import MOMENTUM, Problem, run

# Counts the bytes that the compiled step itself allocates (buffers of dynamic size); it is linked with --wrap.
HOST_ALLOCATOR = r"""
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
# Memory of the device has no room for a header.
DEVICE_ALLOCATOR = r"""
#include <stdint.h>
#include <stdlib.h>
void *__real_remat_cuda_alloc(int64_t);
void __real_remat_cuda_free(void *);
static struct { void *pointer; int64_t bytes; } *held;
static int64_t count, live, peak;
void *__wrap_remat_cuda_alloc(int64_t bytes) {
  void *pointer = __real_remat_cuda_alloc(bytes);
  held = realloc(held, (count + 1) * sizeof *held);
  held[count].pointer = pointer;
  held[count++].bytes = bytes;
  live += bytes;
  if (live > peak) peak = live;
  return pointer;
}
void __wrap_remat_cuda_free(void *pointer) {
  for (int64_t i = count; i-- > 0;)
    if (held[i].pointer == pointer) {
      live -= held[i].bytes;
      held[i] = held[--count];
      break;
    }
  __real_remat_cuda_free(pointer);
}
int64_t remat_allocated_peak(void) { return peak; }
"""


# Options of remat-train that end before bufferization.
ON_TENSORS = ("loss-tile", "layers-once")


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
    """Returns the text between the parenthesis at `start` and the one that closes it, and the position after that one."""
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
    """Returns the value of an attribute; for a string, the text that MLIR printed with escapes."""
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


# --- Memory ------------------------------------------------------------------------------------


def memory_options(target):
    """Options of remat-train without those that end before bufferization."""
    return " ".join(option for option in target.split() if option.partition("=")[0] not in ON_TENSORS)


class Host:
    """Arrays are the memory of the step."""

    libraries, allocator, wrapped = ["libremat_runtime.so"], HOST_ALLOCATOR, ("malloc", "aligned_alloc", "free")

    def __init__(self, target):
        self.options = memory_options(target)

    def lowering(self):
        return ["--remat-strip-annotations", "--remat-lower-to-cpu"]

    def load(self, folder, library):
        return ctypes.CDLL(str(library))

    def place(self, array):
        """An address for what is in `array`, as `store` puts it there."""
        return array.ctypes.data

    def store(self, array, address):
        pass

    def fetch(self, array, address):
        """Gets what is at the address into `array`."""

    def result(self, memref, dtype):
        return from_descriptor(memref, dtype)


class Device:
    """Arrays are copied by the runtime for CUDA, to a GPU or to the emulated one."""

    allocator, wrapped = DEVICE_ALLOCATOR, ("remat_cuda_alloc", "remat_cuda_free")

    def __init__(self, target):
        self.options = memory_options(target)
        self.libraries = ["libremat_cuda_runtime.so"] + (["libremat_cuda_emulator.so"] if "emulate" in target else [])

    def lowering(self):
        return [f"--remat-lower-to-cuda={self.options}", "--remat-strip-annotations"]

    def load(self, folder, library):
        # The runtime looks for the emulator's functions among those of the process.
        self.runtime = [ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL) for name in self.libraries][0]
        self.runtime.remat_cuda_alloc.restype = ctypes.c_void_p
        step = ctypes.CDLL(str(library))
        self.runtime.remat_cuda_module(ctypes.byref(ctypes.c_char.in_dll(step, "kernels_image")))
        return step

    def place(self, array):
        return self.runtime.remat_cuda_alloc(ctypes.c_int64(max(array.nbytes, 1)))

    def store(self, array, address):
        self.runtime.remat_cuda_write(ctypes.c_void_p(address), ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(array.nbytes))

    def fetch(self, array, address):
        self.runtime.remat_cuda_read(ctypes.c_void_p(array.ctypes.data), ctypes.c_void_p(address), ctypes.c_int64(array.nbytes))

    def result(self, memref, dtype):
        if memref.allocated is None:
            return from_descriptor(memref, dtype)
        shape, strides = (list(memref.sizes), list(memref.strides)) if hasattr(memref, "sizes") else ([], [])
        last = sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else -1
        copy = np.empty(memref.offset + last + 1, dtype)
        self.fetch(copy, memref.aligned)
        memref.aligned = copy.ctypes.data
        return from_descriptor(memref, dtype)


def memory_of(target):
    """Of the options of remat-train that name a target."""
    return Device(target) if "target=cuda" in target else Host(target)


# --- Variants ----------------------------------------------------------------------------------


class Variant:
    """The training step of a model, compiled in one way, in `work`. `target`: options such as target=cuda emulate."""

    def __init__(self, model, name, annotate, mode, work, target=""):
        self.model, self.name, self.memory_kind = model, name, memory_of(target)
        kind = self.memory_kind
        stem = Path(work) / re.sub(r"\W+", "_", f"{model.path.stem}_{name}")
        step, lowered, ir, library = (stem.with_suffix(s) for s in (".step.mlir", ".llvm.mlir", ".ll", ".so"))
        report, allocator = stem.with_suffix(".json"), stem.with_suffix(".c")
        allocator.write_text(kind.allocator)
        opt = tool("remat-opt", "REMAT_BIN")
        run([opt, model.path, f"{model.importing()} optimizer={MOMENTUM} mode={mode}", *annotate,
             f"--remat-train-to-tensors={target}", f"--remat-bufferize={kind.options} report={report}", "-o", step])
        run([opt, step, *kind.lowering(), "-o", lowered])
        translate, clang = tool("mlir-translate", "LLVM_BIN"), tool("clang", "LLVM_BIN")
        run([translate, "--mlir-to-llvmir", lowered, "-o", ir])
        # The table of kernels is found by its name.
        ir.write_text(ir.read_text().replace("@kernels_image = internal constant", "@kernels_image = constant"))
        libraries = Path(translate).resolve().parent.parent / "lib"
        self.runtime = Path(opt).resolve().parent.parent / "lib"
        # -Bsymbolic: the C library has a function called step, too.
        folders = ["-Wl,-Bsymbolic", *(f"-Wl,-rpath,{f}" for f in (libraries, self.runtime))]
        run([clang, "-O1", "-Wno-override-module", "-shared", "-fPIC", ir, allocator,
             *(self.runtime / name for name in kind.libraries), libraries / "libmlir_c_runner_utils.so",
             "-lm", *folders, *(f"-Wl,--wrap={f}" for f in kind.wrapped), "-o", library])
        self.library = library
        self.arguments, self.results = signature(step.read_text(), "step")
        functions = json.loads(report.read_text())["functions"]
        self.memory = next(f for f in functions if f["name"] == "step")

    def initial(self, slot):
        """Returns the value of an argument before the step: its `remat.init`, else the recorded array of its name, else zeros."""
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
            process.join()  # it has said why
            code = process.exitcode
            raise Problem(f"the step ended {f'by signal {-code}' if code < 0 else f'with exit code {code}'}") from None
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
        kind = self.memory_kind
        library = kind.load(self.runtime, self.library)
        arrays, arena, reserved, arguments, places = [], None, 0, [], []
        for slot in self.arguments:
            if not slot.is_memref:
                if slot.kind != "i64":
                    raise Problem(f"the step takes a {slot.type}, which is not supported")
                arrays.append(None)
                places.append(None)
                arguments.append(ctypes.c_int64(0))
                continue
            if "remat.arena" in slot.attributes:
                reserved = slot.shape[0]
                array = arena = make_arena(reserved)
            else:
                array = np.array(self.initial(slot), NUMPY_TYPES[slot.kind], order="C")
            arrays.append(array)
            places.append(kind.place(array))
            arguments.append(ctypes.byref(to_descriptor(array, places[-1])))
        returned = [(f"r{i}", descriptor_type(len(r.shape)) if r.is_memref else self.scalar(r))
                    for i, r in enumerate(self.results)]
        results = type("Results", (ctypes.Structure,), {"_fields_": returned})()
        before = [a if a is None else a.copy() for a in arrays]
        # Results must not depend on the arena's contents before the step, and nothing after the arena may be written.
        for pattern in (0xAA, 0x55):
            for array, old in zip(arrays, before):
                if array is not None and array is not arena:
                    array[...] = old
            if arena is not None:
                arena.view(np.uint8)[:] = pattern
            placed = [(array, place) for array, place in zip(arrays, places) if array is not None]
            for array, place in placed:
                kind.store(array, place)
            library._mlir_ciface_step(*([ctypes.byref(results)] if returned else []), *arguments)
            for array, place in placed:
                kind.fetch(array, place)
            if arena is not None and (arena[reserved:].view(np.uint8) != pattern).any():
                raise Problem(f"the step writes behind its arena of {reserved} bytes")
            found = self.collect(arrays, results)
        found["initial"] = {slot.attributes["opt.param"]: array for slot, array in zip(self.arguments, before)
                            if "opt.param" in slot.attributes}
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
            returned.append(self.memory_kind.result(value, NUMPY_TYPES[slot.kind]) if slot.is_memref else np.array(value))
        states = {i for i, e in enumerate(self.model.spec["results"])
                  if e["role"] == "buffer_update" and e["name"] in found["updated"]}
        for i in range(len(self.model.spec["results"])):
            if i in numbered:
                found["results"][i] = numbered[i]
            elif i not in states:
                found["results"][i] = returned.pop(0)
        return found
