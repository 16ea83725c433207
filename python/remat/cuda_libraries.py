# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's libraries in the Python environment, which the loader of shared libraries does not look for.

The runtime takes cuBLASLt and cuDNN from where the loader finds them, or from REMAT_CUBLASLT and REMAT_CUDNN. pip installs them into
site-packages/nvidia (nvidia-cublas, nvidia-cudnn-cu13, and with PyTorch and JAX).
"""
import importlib.util
import os
from collections.abc import MutableMapping
from pathlib import Path

FILES = {"REMAT_CUBLASLT": ("cu13/lib/libcublasLt.so.13", "cublas/lib/libcublasLt.so.12"),
         "REMAT_CUDNN": ("cudnn/lib/libcudnn.so.9",)}


def name_libraries(environment: MutableMapping[str, str] = os.environ) -> None:
    """Sets those of the two variables that are not set to what pip has installed, if it has."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for variable, files in FILES.items():
        found = [path for file in files for folder in folders if (path := Path(folder, file)).exists()]
        if found and variable not in environment:
            environment[variable] = str(found[0])
