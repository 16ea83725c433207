# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loop on the runtime's threads: threads.py RUNTIME [COUNT] prints its parts, with COUNT after remat_set_threads(COUNT)."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
parts = []
body = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lambda _, begin, end: parts.append((begin, end)))
if len(sys.argv) > 2:
    library.remat_set_threads(ctypes.c_int64(int(sys.argv[2])))
library.remat_parallel_for(ctypes.c_int64(1000), body, None)
assert sorted(i for part in parts for i in range(*part)) == list(range(1000))
print(len(parts), "parts")
