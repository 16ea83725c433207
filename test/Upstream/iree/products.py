# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose operand was converted from booleans or unsigned numbers, which linalg takes for signed ones:
python/remat/jax/workarounds/widening.py."""
# RUN: %python %s | FileCheck %s
import numpy as np
from Inputs.lower import lower

# CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3x2xi1>)
lower(lambda x, y: x @ y.astype("float32"), np.ones((2, 3), "f4"), np.ones((3, 2), bool))
# CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3x2xi8>)
lower(lambda x, y: x @ y.astype("float32"), np.ones((2, 3), "f4"), np.ones((3, 2), "u1"))
