# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the frameworks need beside this package."""
import importlib.util

# Of `pip install remat[EXTRA]`: packages by the modules that they bring.
EXTRAS = {"torch": {"torch": "torch", "torch_mlir": "torch-mlir"},
          "jax": {"jax": "jax", "iree": "iree-base-compiler"}}


def missing(extra: str) -> list[str]:
    """The packages of `extra` that are not installed."""
    return [package for module, package in EXTRAS[extra].items() if importlib.util.find_spec(module) is None]


def require(extra: str) -> None:
    """Raises an ImportError that says what to install, if anything is missing."""
    if packages := missing(extra):
        raise ImportError(f"remat.{extra} needs {' and '.join(packages)}: pip install remat[{extra}]")
