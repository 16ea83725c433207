# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models written in PyTorch, as training steps.

    step = remat.torch.train_step(model, torch.nn.functional.cross_entropy, (images, labels), optimizer=remat.AdamW(3e-4))
    loss = step(images, labels)
    step.copy_to(model)

Needs torch and torch-mlir (`pip install remat[torch]`).
"""
from remat.torch.step import TorchStep, train_step

__all__ = ["TorchStep", "train_step"]
