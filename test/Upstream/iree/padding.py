# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding between elements, which IREE merges with a padding before it at other places (x stands at 2, 4 and 6):
python/remat/jax/workarounds/padding.py."""
# RUN: %python %s | FileCheck %s
import numpy as np
from Inputs.lower import lower
from jax import lax

zero = np.float32(0)
# CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[1] [3] [2] : tensor<3xf32> into tensor<9xf32>
lower(lambda x: lax.pad(lax.pad(x, zero, [(1, 1, 0)]), zero, [(0, 0, 1)]), np.ones(3, "f4"))
