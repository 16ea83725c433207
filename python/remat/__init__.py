# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training in less memory: models compiled into training steps.

    import remat
    step = remat.mlir.train_step(text, optimizer=remat.AdamW(3e-4), policy="nothing_saveable")
    for batch in batches:
        loss = step(*batch)
    print(step.memory)

Importing `remat` imports nothing else: what a name needs is loaded when it is used first.
"""
import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

# In a checkout the compiled module is in the build folder.
_checkout = Path(__file__).resolve().parents[2]
if (_checkout / "lib" / "CAPI").is_dir():
    __path__.append(str(Path(os.environ.get("BUILD_DIR", _checkout / "build"), "python", "remat")))

_HOMES = {
    "optimizers": ["Custom", "Group"],
    "policies": ["layers", "whole", "scopes", "calls", "ops", "modules", "checkpoints", "as_written", "Annotation", "Policy", "Operation",
                 "save_names", "save_all_but_names", "save_ops", "save_if", "every_k", "budget", "snapshots"],
    "policy_text": ["as_policy"],
    "errors": ["CompileError", "Diagnostic", "ExportError", "OverBudgetError", "RankError", "StepError"],
    "step": ["Step"],
    "memory": ["Memory"],
    "mesh": ["Mesh"],
    "comparison": ["compare", "Comparison"],
    "fitting": ["fit", "Fit"],
    "advice": ["Advice"],
}
_home_of = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = ("export", "jax", "mlir", "stored", "torch")
# Modules with one more name for each policy, rule and schedule of the compiler, which is loaded for these.
_DERIVED = ("policies", "optimizers")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"remat.{name}")
    if name == "__version__":
        return importlib.import_module("remat._native").version
    if name in _home_of:
        return getattr(importlib.import_module(f"remat.{_home_of[name]}"), name)
    if name == "__all__":
        return [*_SUBMODULES, *_home_of, *_list_derived()]
    # Modules are imported without the compiler, which may not be built.
    if not name.startswith("_") and not importlib.util.find_spec(f"remat.{name}"):
        for home in _DERIVED:
            module = importlib.import_module(f"remat.{home}")
            if name in module.derived():
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module 'remat' has no attribute {name!r}")


def _list_derived() -> list[str]:
    return [name for home in _DERIVED for name in importlib.import_module(f"remat.{home}").derived()]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
