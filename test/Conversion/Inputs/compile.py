# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles MLIR text to a shared library through the CPU pipeline, for numeric tests."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Runtime/Inputs"))
import runtime  # noqa: E402


def compile(text, runtime_library, pipeline=("--remat-lower-to-cpu",)):
    """The functions of `text` with the attribute llvm.emit_c_interface, callable by runtime.call."""
    folder = tempfile.mkdtemp()
    library = os.path.join(folder, "module.so")
    lowered = subprocess.run(["remat-opt", "-", *pipeline], input=text, text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    llvm = subprocess.run(["mlir-translate", "--mlir-to-llvmir"], input=lowered, text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    subprocess.run(["clang-22", "-x", "ir", "-", "-O3", "-march=native", "-ffp-contract=off", "-Wno-override-module", "-shared", "-fPIC",
                    "-o", library, "-x", "none", runtime_library, "-Wl,-rpath," + os.path.dirname(runtime_library),
                    "-lm"], input=llvm, text=True, check=True)
    return runtime.load(library)
