# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses written in JAX, as training steps.

    step = remat.jax.train_step(loss_fn, params, *example_batch, optimizer=remat.AdamW(3e-4))
    loss = step(*batch)

Needs jax and iree-base-compiler (`pip install remat[jax]`).
"""
from remat.jax.step import JaxStep, train_step

__all__ = ["JaxStep", "train_step"]
