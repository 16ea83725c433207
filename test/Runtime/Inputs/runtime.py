# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the runtime's functions on NumPy arrays through their C interface."""
import ctypes

import numpy as np


def load(path):
    return ctypes.CDLL(path)


def descriptor(array):
    """The memref descriptor of an array view, which lives as long as the descriptor."""
    rank = array.ndim

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]

    address = array.ctypes.data
    strides = [s // array.itemsize for s in array.strides]
    memref = MemRef(address, address, 0, (ctypes.c_int64 * rank)(*array.shape), (ctypes.c_int64 * rank)(*strides))
    memref.array = array
    return memref


def call(library, name, *arguments):
    """Arrays are passed as memrefs, bools as i1, ints as i64."""
    def lower(a):
        if isinstance(a, np.ndarray):
            return ctypes.byref(descriptor(a))
        return ctypes.c_bool(a) if isinstance(a, bool) else ctypes.c_int64(a)
    getattr(library, "_mlir_ciface_" + name)(*[lower(a) for a in arguments])


def set_threads(count):
    ctypes.CDLL("libremat_runtime.so").remat_set_threads(ctypes.c_int64(count))
