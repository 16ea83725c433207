# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other packages bring an LLVM of their own, before or after a step was compiled."""
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conftest import mlp

PACKAGE = Path(__file__).resolve().parents[2] / "python"


def run(code):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, input=mlp(),
                          env=os.environ | {"PYTHONPATH": str(PACKAGE)})
    assert done.returncode == 0, done.stderr
    return done.stdout


COMPILE = """
    import sys
    import remat
    text = sys.stdin.read()
    step = remat.mlir.train_step(text, optimizer=remat.SGD(0.1))
"""


def test_llvm_stays_out_of_the_global_scope():
    """Nothing that is loaded later finds its functions there."""
    code = COMPILE + """
    import ctypes
    assert not hasattr(ctypes.CDLL(None), "LLVMContextCreate"), "LLVM is in the global scope"
    print("local")
    """
    assert run(code) == "local\n"


@pytest.mark.parametrize("package", ["torch_mlir.ir", "jaxlib.mlir.ir"])
def test_packages_with_their_own_mlir(package):
    pytest.importorskip(package.partition(".")[0])
    assert run(COMPILE + f"""
    import {package}
    with {package}.Context():
        print({package}.Module.parse("module {{}}"))
    remat.mlir.train_step(text, optimizer=remat.SGD(0.1))
    """).startswith("module")
