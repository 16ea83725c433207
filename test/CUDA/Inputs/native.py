# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as a shared library, for many short runs: each is a process that is forked from this one, without a JIT."""
import ctypes
import os
import subprocess
import tempfile


class Done:
    def __init__(self, returncode, stderr):
        self.returncode, self.stderr = returncode, stderr


def compile_library(text, path):
    llvm = subprocess.run(["mlir-translate", "--mlir-to-llvmir"], input=text, check=True, stdout=subprocess.PIPE, text=True).stdout
    subprocess.run(["clang-22", "-x", "ir", "-", "-O1", "-Wno-override-module", "-shared", "-fPIC", "-o", path, "-lm"],
                   input=llvm, check=True, text=True)


def run(path, environment):
    """Runs the library's main with the libraries in CUDA_LIBRARIES."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            status = 120
            try:
                os.environ |= environment
                os.dup2(errors.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                for library in os.environ["CUDA_LIBRARIES"].split(","):
                    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
                ctypes.CDLL(path).main()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return Done(os.waitstatus_to_exitcode(status), errors.read().decode())
