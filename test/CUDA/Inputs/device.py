# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions on memrefs, compiled for the host or for the emulated device, and called with NumPy's arrays."""
import ctypes
import subprocess

import numpy as np

TYPES = {"f8": "f64", "f4": "f32", "f2": "f16", "u2": "bf16", "i8": "i64", "i4": "i32", "i1": "i8", "?": "i1", "b1": "i1"}


def element(array):
    return TYPES[array.dtype.str[1:]]


def memref(array, dynamic=()):
    """The sizes in `dynamic` are not known while compiling."""
    shape = "".join(("?" if n in dynamic else str(n)) + "x" for n in array.shape)
    if array.flags.c_contiguous:
        return f"memref<{shape}{element(array)}>"
    strides = ", ".join("?" if dynamic else str(s // array.itemsize) for s in array.strides)
    return f"memref<{shape}{element(array)}, strided<[{strides}]>>"


def to_bf16(x):
    """Rounded to nearest, ties to even; as the bits."""
    bits = np.asarray(x, "f4").view("u4")
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype("u2")


def compile_module(path, output, lowering, *libraries):
    """A shared library of the functions in `path`."""
    before = ["--remat-lower-random", *(["--remat-split-reductions"] if "cuda" in lowering else []), "--one-shot-bufferize", "--canonicalize", "--cse"]
    lowered = subprocess.run(["remat-opt", path, *before, lowering], check=True, stdout=subprocess.PIPE, text=True).stdout
    lowered = lowered.replace("internal constant @kernels_image()", "constant @kernels_image()")
    llvm = subprocess.run(["mlir-translate", "--mlir-to-llvmir"], input=lowered, check=True, stdout=subprocess.PIPE, text=True).stdout
    subprocess.run(["clang-22", "-x", "ir", "-", "-O1", "-march=native", "-ffp-contract=off", "-Wno-override-module", "-shared", "-fPIC",
                    "-o", output, *(["-x", "none", *libraries] if libraries else []), "-lm"], input=llvm, text=True, check=True)


class Host:
    """The CPU target: arrays are arguments."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)

    def put(self, array):
        return array.ctypes.data

    def call(self, symbol, arrays):
        copies = [a.copy() if a.flags.c_contiguous else a for a in arrays]
        pointers = [self.put(self.base(a)) for a in copies]
        descriptors = [descriptor(a, p) for a, p in zip(copies, pointers)]
        getattr(self.library, f"_mlir_ciface_{symbol}")(*map(ctypes.byref, descriptors))
        return self.results(copies, pointers)

    @staticmethod
    def base(array):
        """The contiguous memory of which `array` is a view."""
        return array if array.flags.c_contiguous else array.base

    def results(self, arrays, pointers):
        return arrays


class Device(Host):
    """Arrays are copied to memory of the device."""

    def __init__(self, library, runtime, emulator):
        ctypes.CDLL(emulator, ctypes.RTLD_GLOBAL)
        self.runtime = ctypes.CDLL(runtime, ctypes.RTLD_GLOBAL)
        super().__init__(library)
        self.runtime.remat_cuda_module(ctypes.byref(ctypes.c_char.in_dll(self.library, "kernels_image")))
        self.runtime.remat_cuda_alloc.restype = ctypes.c_void_p

    def put(self, array):
        address = self.runtime.remat_cuda_alloc(ctypes.c_int64(max(array.nbytes, 1)))
        self.runtime.remat_cuda_write(ctypes.c_void_p(address), ctypes.c_void_p(array.ctypes.data), ctypes.c_int64(array.nbytes))
        return address

    def results(self, arrays, pointers):
        for array, pointer in zip(arrays, pointers):
            if array.flags.c_contiguous:
                self.runtime.remat_cuda_read(ctypes.c_void_p(array.ctypes.data), ctypes.c_void_p(pointer), ctypes.c_int64(array.nbytes))
            self.runtime.remat_cuda_free(ctypes.c_void_p(pointer))
        return arrays


def descriptor(array, address):
    rank = array.ndim

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return MemRef(address, address, 0, (ctypes.c_int64 * rank)(*array.shape),
                  (ctypes.c_int64 * rank)(*[s // array.itemsize for s in array.strides]))


def is_same(a, b):
    """Same bits; a NaN is a NaN."""
    if a.dtype.kind == "f":
        nan = np.isnan(a)
        return np.array_equal(nan, np.isnan(b)) and np.where(nan, 0, a).tobytes() == np.where(nan, 0, b).tobytes()
    return a.tobytes() == b.tobytes()
