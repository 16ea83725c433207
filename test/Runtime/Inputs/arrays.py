# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes arrays through the runtime and compares with NumPy; feeds it broken files."""
import ctypes
import os
import struct
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import runtime

library = runtime.load(sys.argv[1])
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
NAMES = {"bool": "i1", "int8": "i8", "uint8": "i8", "int32": "i32", "int64": "i64", "float16": "f16",
         "float32": "f32", "float64": "f64", "uint32": "i32", "uint64": "i64"}


class Unranked(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int64), ("descriptor", ctypes.c_void_p)]


def text(string):
    array = np.frombuffer(string.encode() or b"\0", np.int8)
    return ctypes.byref(runtime.descriptor(array))


def unranked(array):
    descriptor = runtime.descriptor(array)
    value = Unranked(array.ndim, ctypes.addressof(descriptor))
    value.keep_alive = descriptor  # an address does not
    return value


def call(name, *arguments):
    getattr(library, "_mlir_ciface_remat_rt_" + name)(*arguments)


def read(path, key, like):
    into = np.empty_like(like)
    call("read_" + NAMES[like.dtype.name], text(path), text(key), ctypes.byref(unranked(into)))
    return into


def write(path, arrays):
    call("write_begin", text(path))
    for key, array in arrays.items():
        call("write_" + NAMES[array.dtype.name], text(key), ctypes.byref(unranked(array)))
    call("write_end")


def error_of(action):
    """Runs `action` in a child process, and returns the one line that the runtime prints before it exits with 1."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 2)
        action()
        os._exit(0)
    os.close(writer)
    message = os.fdopen(reader).read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 1, (status, message)
    assert message.count("\n") == 1, message
    return message.strip()


def expect_error(expected, path, key="x", like=np.zeros((2, 3), np.float32)):
    message = error_of(lambda: read(path, key, like))
    assert expected in message, f"expected {expected!r} in {message!r}"


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


rng = np.random.default_rng(0)
arrays = {name: (rng.standard_normal((3, 4, 5)) * 100).astype(name) for name in NAMES}
arrays |= {"scalar": np.array(3, np.float32), "empty": np.zeros((0, 7), np.float32), "vector": np.arange(9)}
for path, save in ("stored.npz", np.savez), ("deflated.npz", np.savez_compressed):
    save(path, **arrays)
    for key, array in arrays.items():
        assert same(read(path, key, array), array), (path, key)
np.save("one.npy", arrays["float32"])
assert same(read("one.npy", "", arrays["float32"]), arrays["float32"])
with open("version2.npy", "wb") as file:
    np.lib.format.write_array(file, arrays["int64"], version=(2, 0))
assert same(read("version2.npy", "", arrays["int64"]), arrays["int64"])

mine = {key: array for key, array in arrays.items() if not key.startswith("uint")}
write("mine.npz", mine)
first = open("mine.npz", "rb").read()
with np.load("mine.npz") as loaded:
    assert loaded.files == list(mine)
    for key, array in mine.items():
        assert same(loaded[key], array), key
write("mine.npz", mine)
assert open("mine.npz", "rb").read() == first, "the same arrays give other bytes"
assert not [name for name in os.listdir() if ".tmp" in name]
error_of(lambda: write("no/such/folder.npz", mine))

x = rng.standard_normal((2, 3)).astype(np.float32)
np.savez("good.npz", x=x, y=x)
good = open("good.npz", "rb").read()
expect_error("missing.npz: No such file or directory", "missing.npz")
expect_error("good.npz: no array 'z'; it has 'x', 'y'", "good.npz", "z")
expect_error("good.npz: array 'x': expected f32 [3x2], found f32 [2x3]", "good.npz", like=np.zeros((3, 2), np.float32))
expect_error("good.npz: array 'x': expected i32 [2x3], found f32 [2x3]", "good.npz", like=np.zeros((2, 3), np.int32))
expect_error("one.npy: a .npy file has no array 'x'", "one.npy")
expect_error(": is a directory", ".")

for cut in 0, 3, 40, len(good) // 2, len(good) - 30:
    open("cut.npz", "wb").write(good[:cut])
    expect_error("cut.npz: ", "cut.npz")
np.save("cut.npy", x)
whole = open("cut.npy", "rb").read()
for cut in 5, 20, 100, len(whole) - 1:
    open("cut.npy", "wb").write(whole[:cut])
    expect_error("cut.npy: ", "cut.npy", "")
expect_error("cut.npy: truncated, 1 bytes are missing", "cut.npy", "")
data = good.find(x.tobytes())
open("bits.npz", "wb").write(good[:data] + bytes([good[data] ^ 1]) + good[data + 1:])
expect_error("bits.npz: array 'x': damaged (wrong checksum)", "bits.npz")

np.savez("types.npz", fortran=np.asfortranarray(x.T.copy().T), big=x.astype(">f4"), complex=x.astype(np.complex64))
for key, reason in ("fortran", "Fortran order"), ("big", "big-endian"), ("complex", "'<c8' is not supported"):
    np.savez("type.npz", x=np.load("types.npz")[key])
    expect_error(reason, "type.npz")


def with_header(dictionary):
    payload = dictionary.encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(payload)) + payload + x.tobytes()


good_header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
open("by-hand.npy", "wb").write(with_header(good_header))
assert same(read("by-hand.npy", "", x), x)
for bad in ("", "{", "{}", "{'shape': (2, 3)}", good_header.replace("(2, 3)", "(2, -3)"),
            good_header.replace("(2, 3)", "(99999999999999999999999, 3)"), good_header.replace("False", "maybe"),
            good_header.replace("(2, 3)", "(" + "1000000, " * 9 + ")"), good_header.replace("'<f4'", "[('a', '<f4')]")):
    open("header.npy", "wb").write(with_header(bad))
    expect_error("header.npy: ", "header.npy", "")

# Arrays that are not read may be of any kind.
np.savez("mixed.npz", strings=np.array(["a", "b"]), objects=np.array([1, None], object), fortran=np.asfortranarray(x), x=x)
with zipfile.ZipFile("mixed.npz", "a", zipfile.ZIP_LZMA) as archive:
    archive.writestr("readme.txt", "no array at all")
    archive.writestr("broken.npy", "no array either")
assert same(read("mixed.npz", "x", x), x)
for key, reason in {"strings": "'<U1' is not supported", "objects": "'|O' is not supported", "fortran": "Fortran order",
                    "broken": "unknown compression method 14"}.items():
    expect_error(f"mixed.npz: array '{key}': ", "mixed.npz", key)
    expect_error(reason, "mixed.npz", key)
expect_error("mixed.npz: no array 'readme.txt'; it has 'strings', ", "mixed.npz", "readme.txt")
with zipfile.ZipFile("foreign.npz", "w") as archive:
    archive.writestr("readme.txt", "no array at all")
    archive.writestr("text.npy", "no array either")
expect_error("foreign.npz: array 'text': not a .npy array", "foreign.npz", "text")
with warnings.catch_warnings(action="ignore"), zipfile.ZipFile("twice.npz", "w") as archive:
    for value in x, -x:
        np.save("part.npy", value)
        archive.write("part.npy", "x.npy")
expect_error("twice.npz: array 'x': is in the archive more than once", "twice.npz")

# Names as long as the format allows, which do not end in messages.
for length in 4095, 4096, 4097, 65531:
    np.savez(path := f"long{length}.npz", **{"n" * length: x, "x": x})
    assert same(read(path, "n" * length, x), x) and same(read(path, "x", x), x)
    expect_error(f"{path}: no array 'z'; it has '{'n' * 80}...', 'x'", path, "z")

# Memory is a small multiple of what the file takes, whatever it says of itself.
np.savez_compressed("zeros.npz", x=np.zeros(20 << 20, np.float32))
expect_error("times as many; if that is meant, save it with numpy.savez", "zeros.npz", like=np.zeros(20 << 20, np.float32))


def with_sizes(compressed, size):
    """good.npz with other sizes for its first array in the table of contents."""
    start = good.find(b"PK\1\2")
    return good[:start + 20] + struct.pack("<II", compressed, size) + good[start + 28:]


for compressed, size, reason in ((2**31, 2**31, "truncated, it takes 2147483648 bytes"), (152, 2**31, "states two sizes"),
                                 (100, 100, "damaged archive")):
    open("sizes.npz", "wb").write(with_sizes(compressed, size))
    expect_error("sizes.npz: array 'x': ", "sizes.npz")
    expect_error(reason, "sizes.npz")
for payload, reason in ((whole[:100], "truncated in its header"), (whole[:-7], "truncated, 7 bytes are missing"),
                        (whole + b"!", "has 1 bytes behind its elements")):
    for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
        with zipfile.ZipFile("payload.npz", "w", method) as archive:
            archive.writestr("x.npy", payload)
        expect_error("payload.npz: array 'x': " + reason, "payload.npz")
os.mkfifo("pipe")
expect_error("pipe: is not a regular file", "pipe")
print("arrays: ok")
