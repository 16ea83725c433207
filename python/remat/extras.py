# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages that the front ends of the frameworks need besides this one."""
import importlib.util

# Packages of `pip install remat[EXTRA]`, by the modules that they contain.
EXTRAS = {"torch": {"torch": "torch", "torch_mlir": "torch-mlir"},
          "jax": {"jax": "jax", "iree": "iree-base-compiler"}}


def missing(extra: str) -> list[str]:
    """Returns the packages of `extra` that are not installed."""
    return [package for module, package in EXTRAS[extra].items() if importlib.util.find_spec(module) is None]


def require(extra: str) -> None:
    """Raises an ImportError that says what to install if a package of `extra` is missing."""
    if packages := missing(extra):
        raise ImportError(f"remat.{extra} needs {' and '.join(packages)}: pip install remat[{extra}]")
