# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work-arounds for errors of torch-mlir, and for nothing else. Each has a program in test/Upstream/torch_mlir that shows the error; its
test fails once torch-mlir is mended, and then the work-around goes."""
import torch

from remat.torch.workarounds import bytes_as_integers, constants, importer, lowerings, views

# In the place of PyTorch's decompositions.
TABLE = constants.TABLE | lowerings.TABLE


def apply(program: torch.export.ExportedProgram) -> None:
    """Rewrites `program`, which is decomposed."""
    constants.settle_numbers(program)
    views.split(program.graph)
    bytes_as_integers.widen(program)
    importer.copy_constants(program)
