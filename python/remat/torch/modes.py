# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modes of evaluation where training was probably meant: a model is compiled as it stands, and many a library returns one in that mode."""
import warnings
from typing import Any

from torch import nn
from torch.nn.modules import batchnorm, dropout

MOST_NAMES = 5


def describe(module: Any) -> str:
    """How `module` does something else in training; nothing if it does not."""
    if isinstance(module, batchnorm._BatchNorm):
        return "running statistics" if module.running_mean is not None else ""
    drops = isinstance(module, (dropout._DropoutNd, nn.MultiheadAttention, nn.RNNBase)) or "Drop" in type(module).__name__ \
        or "StochasticDepth" in type(module).__name__
    rate = next((value for name in ("p", "drop_prob", "dropout") if isinstance(value := getattr(module, name, None), (int, float))), 0)
    return f"p={rate}" if drops and rate > 0 else ""


def warn_of_evaluation(model: Any) -> None:
    """Once, with names. A module that was put into that mode by itself is meant to be in it, and so is a part without parameters that
    are trained."""
    found: list[str] = []

    def visit(path: str, module: Any, part: Any) -> None:
        """`part` is the outermost one in that mode that `module` is in."""
        part = None if module.training else part or module
        if part not in (None, module) and any(p.requires_grad for p in part.parameters()) and (what := describe(module)):
            found.append(f"{path} ({type(module).__name__}, {what})")
        for name, child in module.named_children():
            visit(f"{path}.{name}".lstrip("."), child, part)

    visit("", model, None)
    if found:
        more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
        warnings.warn(f"the model is compiled as it is, in the mode of evaluation: nothing is dropped, and statistics do not change, in "
                      f"{', '.join(found[:MOST_NAMES])}{more}; call model.train() first, if it is to be trained as in training", stacklevel=3)
