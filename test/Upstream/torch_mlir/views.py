# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views that merge several dimensions of unknown sizes, all but one of which torch-mlir takes for 1:
python/remat/torch/workarounds/views.py."""
# RUN: %python %s | FileCheck %s
import torch
from Inputs.lower import lower

# CHECK-LABEL: @merge
# CHECK: tensor.cast %{{.*}} : tensor<?x?x3xf32> to tensor<?x1x3xf32>
lower("merge", lambda x: x.view(x.shape[0] * x.shape[1], 3), torch.ones(4, 5, 3),
      dynamic=({0: torch.export.Dim("a"), 1: torch.export.Dim("b")},))
