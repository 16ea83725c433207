# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tensor of the module's own in a list, which torch-mlir's importer does not take: python/remat/torch/workarounds/importer.py."""
# RUN: %python %s | FileCheck %s
import torch
from Inputs.lower import lower

places = torch.tensor([1, 0])
# CHECK: index: error: Heterogeneous lists are not supported: expected vtensor, got <class 'torch.Tensor'>
lower("index", lambda x: x[places], torch.ones(4))
