# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on arrays of more than 2^32 elements, of which next to nothing is in memory: numbers of 32 bits would wrap around, and
results would be at other places. Of static and of dynamic sizes, on the CPU and on the emulated device.

    large.py RUNTIME CUDA_RUNTIME CUDA_EMULATOR

Arrays are the host's memory in both cases, since the accesses of kernels are not checked.
"""
import ctypes
import mmap
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from device import Device, Host, compile_module, descriptor, element, memref

COUNT = (1 << 32) + 1000  # bytes, and no multiple of a vector
PAGES = 1 << 24
SHARED, PRIVATE, FIXED, ANONYMOUS, NORESERVE = 0x01, 0x02, 0x10, 0x20, 0x4000
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long


def map_memory(size, flags, address=None, file=-1):
    address = libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "cannot map memory")
    return address


def allocate(size):
    """Zeros, in memory once they are written."""
    address = map_memory(size, PRIVATE | ANONYMOUS | NORESERVE)
    return np.ctypeslib.as_array((ctypes.c_int8 * size).from_address(address))


def fold(array, size):
    """Lets all of the first `size` bytes be in the same few pages."""
    file = os.memfd_create("pages")
    os.ftruncate(file, PAGES)
    for start in range(0, size, PAGES):
        map_memory(PAGES, SHARED | FIXED, array.ctypes.data + start, file)
    os.close(file)


def strided(memory, shape, strides):
    return np.lib.stride_tricks.as_strided(memory, shape, strides)


def generic(inputs, output, maps, kinds, body):
    """The operation on arguments of a function: `inputs` and `output` are their types, by number."""
    def text(name, arrays, dynamic):
        types = [memref(array, array.shape if dynamic else ()) for array in arrays]
        names = [f"%a{i}" for i in range(len(arrays))]
        used = [*inputs, output]
        ins, outs = (f"({', '.join(names[i] for i in part)} : {', '.join(types[i] for i in part)})" for part in (inputs, [output]))
        elements = ", ".join(f"%x{i}: {element(arrays[n])}" for i, n in enumerate(used))
        iterators = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds)
        code = body
        for number, kind in enumerate(types):
            code = code.replace(f"type{number}", kind)
        return f"""
func.func @{name}({', '.join(f'{n} : {t}' for n, t in zip(names, types))}) attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}], iterator_types = [{iterators}]}} ins{ins} outs{outs} {{
  ^bb0({elements}):
    {code}
  }}
  return
}}"""
    return text


def cases():
    """Name, the function's text, its arrays; which of them is the result, where it is looked at, and what is there then."""
    source, target = allocate(COUNT), allocate(COUNT)
    fold(target, 1 << 32)
    source[-3:] = 5, 6, 7
    numbers = np.arange(1 << 32, COUNT).astype("i1")
    numbers[-3:] += np.array([5, 6, 7], "i1")
    yield "numbers", generic([0], 1, ["(i) -> (i)"] * 2, "p", """%i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %m = arith.trunci %n : i64 to i8
    %s = arith.addi %x0, %m : i8
    linalg.yield %s : i8"""), [source, target], target[1 << 32:], numbers

    far = strided(allocate(3 * COUNT), (3, 40), (COUNT, 1))
    far[:] = np.arange(120).reshape(3, 40)
    near = np.zeros((3, 40), "i1")
    copy = generic([0], 1, ["(i, j) -> (i, j)"] * 2, "pp", "linalg.yield %x0 : i8")
    yield "rows", copy, [far, near], near, far
    columns = strided(allocate(40 * (COUNT // 16)), (40, 3), (COUNT // 16, 1))
    turned = generic([0], 1, ["(i, j) -> (j, i)", "(i, j) -> (i, j)"], "pp", "linalg.yield %x0 : i8")
    yield "transposed", turned, [far, columns], columns, far.T

    table, places, taken = allocate(COUNT), np.array([COUNT - 1, 1, 1 << 32, 7]), np.zeros(4, "i1")
    table[places] = 11, 12, 13, 14
    yield "gather", generic([0], 1, ["(i) -> (i)"] * 2, "p", """%n = arith.index_cast %x0 : i64 to index
    %v = memref.load %a2[%n] : type2
    linalg.yield %v : i8"""), [places, taken, table], taken, table[places]

    # How many numbers are odd.
    ones = np.zeros((), "i8")
    yield "sum", generic([0], 1, ["(i) -> (i)", "(i) -> ()"], "r", """%i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %one = arith.constant 1 : i64
    %bit = arith.andi %n, %one : i64
    %t = arith.addi %x1, %bit : i64
    linalg.yield %t : i64"""), [source, ones], ones, COUNT // 2


class HostArrays(Host):
    def call(self, symbol, arrays):
        descriptors = [descriptor(a, a.ctypes.data) for a in arrays]
        getattr(self.library, f"_mlir_ciface_{symbol}")(*map(ctypes.byref, descriptors))


class DeviceArrays(Device, HostArrays):
    def call(self, symbol, arrays):
        HostArrays.call(self, symbol, arrays)
        self.wait()

    def wait(self):
        word = np.zeros(1)
        self.results([word], [self.put(word)])


def main():
    runtime, cuda_runtime, emulator = sys.argv[1:]
    checks = list(cases())
    text = "\n".join(make(f"{name}_{dynamic}", arrays, dynamic) for name, make, arrays, *_ in checks for dynamic in (False, True))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/kernels.mlir"
        Path(path).write_text(text)
        compile_module(path, f"{folder}/cpu.so", "--remat-lower-to-cpu", runtime, "-Wl,-rpath," + os.path.dirname(runtime))
        compile_module(path, f"{folder}/cuda.so", "--remat-lower-to-cuda=emulate")
        for target in HostArrays(f"{folder}/cpu.so"), DeviceArrays(f"{folder}/cuda.so", cuda_runtime, emulator):
            for name, _, arrays, found, expected in checks:
                for dynamic in (False, True):
                    found[...] = 0
                    target.call(f"{name}_{dynamic}", arrays)
                    if not np.array_equal(found, expected):
                        wrong += 1
                        print(f"{type(target).__name__}: {name}_{dynamic} is wrong", flush=True)
    print(f"{len(checks)} kernels, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
