# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the arrays of a checkpoint in one line; bf16 stands as its bits."""
import sys

import numpy as np

with np.load(sys.argv[1]) as arrays:
    for key in sorted(k for k in arrays if "." not in k):
        value = arrays[key]
        if value.dtype in (np.uint16, np.dtype("V2")):
            value = (value.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        print(key, value.tolist(), end=" ")
print()
