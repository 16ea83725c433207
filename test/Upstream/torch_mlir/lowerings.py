# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that torch-mlir lowers to other numbers, or to no valid program: python/remat/torch/workarounds/lowerings.py. A function of
it may go when the lines that its name stands above are other ones."""
# RUN: %python -u %s 2>&1 | FileCheck %s
# RUN: not --crash %python %s crash
import sys

import torch
from Inputs.lower import lower
from torch.nn import functional as F

if "crash" in sys.argv:  # view
    lower("view", lambda x: x.view(-1, 3), torch.ones(0, 3))

# gelu: the root of 2 / pi is 0.797885
# CHECK-LABEL: @gelu
# CHECK: arith.constant 7.977240e-01 : f32
lower("gelu", lambda x: F.gelu(x, approximate="tanh"), torch.ones(3))

# rms_norm: an epsilon is added to the mean of squares before the root
# CHECK-LABEL: @rms_norm
# CHECK: arith.divf
# CHECK-NOT: arith.addf
# CHECK: math.rsqrt
lower("rms_norm", lambda x: F.rms_norm(x, (4,)), torch.ones(2, 4))

# roll: of four elements by minus four, after which a slice begins whose length is not known
# CHECK-LABEL: @roll
# CHECK: tensor.extract_slice %arg0[%c4] [%c0] [%c1] : tensor<4xf32> to tensor<?xf32>
lower("roll", lambda x: torch.roll(x, -4, 0), torch.ones(4))

# reciprocal: infinity where x is 0
# CHECK-LABEL: @reciprocal
# CHECK: %[[IS_NOT_ZERO:.*]] = arith.cmpf one
# CHECK: cf.assert %[[IS_NOT_ZERO]]
lower("reciprocal", lambda x: torch.reciprocal(x), torch.ones(4))

# dropout, native_dropout: of all, 0 / 0
# CHECK-LABEL: @dropout
# CHECK: %[[RATE:.*]] = arith.constant 0.000000e+00 : f32
# CHECK: arith.divf %{{.*}}, %[[RATE]] : f32
lower("dropout", lambda x: F.dropout(x, 1.0), torch.ones(4))

# integers: from -3 to 3, of which the fractions between -1 and 1 all become 0, and none becomes -3
# CHECK-LABEL: @integers
# CHECK: arith.constant -3.000000e+00 : f64
# CHECK-NOT: math.floor
# CHECK: arith.fptosi
lower("integers", lambda x: x + torch.randint(-3, 3, (4,)), torch.ones(4))

# integers_like
# CHECK: error: failed to legalize operation 'torch.operator'
# CHECK-SAME: torch.aten.randint_like
lower("integers_like", lambda x: x + torch.randint_like(x, 3), torch.ones(4))

# index
# CHECK: error: 'arith.cmpi' op requires all operands to have the same type
lower("index", lambda x, i: x[i], torch.ones(4), torch.zeros(2, dtype=torch.int32))

# as_batch
# CHECK: error: failed to legalize operation 'torch.aten.max_pool2d'
# CHECK: error: 'linalg.pooling_nchw_sum' op expected operand #0 rank (3) to match the result rank of indexing_map (4)
lower("maximum", lambda x: F.max_pool2d(x, 2), torch.ones(1, 4, 4))
lower("average", lambda x: F.avg_pool2d(x, 2), torch.ones(1, 4, 4))
