# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes above 127 that torch-mlir takes for negative numbers: python/remat/torch/workarounds/bytes_as_integers.py."""
# RUN: %python %s | FileCheck %s
# RUN: not --crash %python %s crash
import sys

import torch
from Inputs.lower import lower

x = torch.zeros(4, dtype=torch.uint8)
if "crash" in sys.argv:
    lower("half", lambda x: x // 2, x)

# CHECK-LABEL: @greater
# CHECK: arith.extsi %{{.*}} : i8 to i64
lower("greater", lambda x: x > 100, x)
