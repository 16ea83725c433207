# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export a loss written in PyTorch or JAX as MLIR on tensors, with the numbers to check what is made of it.

    from remat import export
    export.from_torch(model, {"tokens": tokens, "targets": targets}).save("exports", "mine")
    export.from_jax(loss, params, {"tokens": tokens, "targets": targets}).save("exports", "mine")

and then `tools/check-model exports/mine.mlir`. What is exported is the model as it stands: `module(*inputs)` or
`loss(params, *inputs)`, whose first result is a scalar, the loss. Weights become arguments (parameters and buffers in
the order of `named_parameters` and `named_buffers`, or the leaves of `params`), then come the inputs.

`save` writes three files:

- NAME.mlir: `func.func @loss` in upstream dialects (and a few operations of `remat`). Locations name where an operation comes from: the
  path of the module (`layers.0.norm1`) or JAX's scopes (`jit(loss)/GPT/layer_0/LayerNorm_0/mul`), with the line of the user's
  source, which is the same for all layers that a loop makes.
- NAME.json: `arguments`, `constants` and `results` in order, each with the framework's `name`, a `role` (`parameter`,
  `buffer`, `data`; `loss`, `output`, `buffer_update`), `shape` (-1: dynamic) and `dtype`.
- NAME.npz: `arg<i>`, `out<i>` and `grad_<i>` at the model's own precision, `out64_<i>` and `grad64_<i>` of the same
  computation in float64. bf16 is stored as its bits in uint16.

Needs torch and torch-mlir, or jax and iree-base-compiler.
"""
import importlib
from typing import Any

_HOMES = {
    "remat.errors": ["ExportError"],
    "remat.export.exported": ["ELEMENT_TYPES", "Export", "Value"],
    "remat.jax.export": ["from_jax"],
    "remat.torch.export": ["from_torch"],
}
_home_of = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [*_home_of]


def __getattr__(name: str) -> Any:
    if name in _home_of:
        return getattr(importlib.import_module(_home_of[name]), name)
    raise AttributeError(f"module 'remat.export' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
