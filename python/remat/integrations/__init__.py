# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of other libraries, whose steps are compiled.

    trainer = remat.integrations.RematTrainer(model=model, args=args, train_dataset=texts, policy=remat.layers())
    trainer = lightning.Trainer(strategy=remat.integrations.RematStrategy(policy=remat.layers()), devices=1)

Each needs the library that it is for: transformers, or lightning.
"""
import importlib
from typing import Any

_MODULES = {"RematTrainer": "hugging_face", "RematStrategy": "lightning_strategy"}
__all__ = ["RematStrategy", "RematTrainer"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
