# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of tensors as torch-mlir lowers them by itself."""
import warnings

import torch
from torch_mlir import fx

warnings.filterwarnings("ignore")


def lower(name, function, *inputs, dynamic=None):
    """Prints @name in linalg on tensors, or the first line of an error."""
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    try:
        print(fx.export_and_import(Module(), *inputs, output_type="linalg-on-tensors", func_name=name,
                                   dynamic_shapes=dynamic and (dynamic,)))
    except Exception as error:
        print(f"{name}: error: {error}")
