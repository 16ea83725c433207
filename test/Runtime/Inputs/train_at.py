# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the runtime as a compiled main does: w += step, loss = w[0]; results are passed by value or by address."""
import ctypes
import os
import sys

import numpy as np

import runtime

library, folder, way = runtime.load(sys.argv[1]), sys.argv[2], sys.argv[3]
os.environ["REMAT_LOG"] = f"{folder}/{way}.log"
for name in ("next", "done", "done_at"):
    getattr(library, "_mlir_ciface_remat_rt_train_" + name).restype = ctypes.c_int64
library._mlir_ciface_remat_rt_train_needs.restype = ctypes.c_bool


def call(name, *arguments):
    return getattr(library, "_mlir_ciface_remat_rt_train_" + name)(*arguments)


def text(string):
    return ctypes.byref(runtime.descriptor(np.frombuffer(string.encode(), dtype="i1")))


def buffer(index, count, dtype):
    memref = runtime.descriptor(np.zeros(0, dtype="i1"))
    call("buffer", ctypes.byref(memref), ctypes.c_int64(index))
    return np.ctypeslib.as_array(ctypes.cast(memref.aligned, ctypes.POINTER(ctypes.c_char)), (count * 8,)).view(dtype)[:count]


call("begin", text(f"""steps\t6
seed\t1
log_every\t2
checkpoint_every\t3
checkpoint\t{folder}/{way}.npz
optimizer\topt.sgd
argument\tparameter\tf32\t2\tw\tprogram
argument\tresult\tf32\t\tloss\t
argument\tresult\ti32\t\tkept\t
metric\tfirst
metric\tkept
"""))
w, loss, kept = buffer(0, 2, "f4"), buffer(1, 1, "f4"), buffer(2, 1, "i4")
assert call("needs", ctypes.c_int64(0))
initial = np.array([-13.5, 1], dtype="f4")
if way == "at":
    call("fill", ctypes.c_int64(0), ctypes.c_int64(initial.ctypes.data))
else:
    w[:] = initial


def address(array):
    return ctypes.c_int64(array.ctypes.data)


while (step := call("next")) >= 0:
    w += step
    loss[:], kept[:] = w[0], -3
    if way == "at":
        batches = call("done_at", address(loss), ctypes.c_int64(0))
    else:
        batches = call("done", ctypes.c_double(loss[0]))
    for _ in range(batches):
        call("eval_next")
        if way == "at":
            call("eval_result_at", ctypes.c_int64(0), address(loss), ctypes.c_int64(0))
            call("eval_result_at", ctypes.c_int64(1), address(kept), ctypes.c_int64(7))
        else:
            call("eval_result", ctypes.c_int64(0), ctypes.c_double(loss[0]))
            call("eval_result", ctypes.c_int64(1), ctypes.c_double(kept[0]))
