# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that torch-mlir folds to wrong constants. A function of python/remat/torch/workarounds/constants.py is obsolete when
the CHECK lines below its name fail."""
# RUN: %python %s | FileCheck %s
# RUN: not --crash %python %s crash
import sys

import torch
from Inputs.lower import lower

x = torch.ones(2)
if "crash" in sys.argv:  # compare
    lower("greater", lambda x: x + (torch.full((2,), 3) > 2.5), x)

# compare: 3.0 == 3
# CHECK-LABEL: @equal
# CHECK: arith.constant dense<false> : tensor<2xi1>
lower("equal", lambda x: x + (torch.full((2,), 3.0) == 3), x)

# sign: that of 3
# CHECK-LABEL: @sign
# CHECK: arith.constant dense<-1.000000e+00> : tensor<2xf32>
lower("sign", lambda x: x + torch.sign(torch.full((2,), 3.0)), x)

# truncate: 1.5, as the product of its sign and floor(1.5)
# CHECK-LABEL: @trunc
# CHECK: arith.constant dense<-1.000000e+00> : tensor<2xf32>
lower("trunc", lambda x: x + torch.trunc(torch.full((2,), 1.5)), x)

# remainder: that of -1.5 by 1 is 0.5
# CHECK-LABEL: @remainder
# CHECK: arith.constant dense<-5.000000e-01> : tensor<2xf32>
lower("remainder", lambda x: x + torch.remainder(torch.full((2,), -1.5), 1.0), x)

# settle_numbers: 3 * -2
# CHECK-LABEL: @product
# CHECK: arith.constant dense<5.53402322E+19> : tensor<2xf32>
lower("product", lambda x: x + torch.full((2,), 3.0) * -2, x)
