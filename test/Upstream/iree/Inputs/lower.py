# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of arrays as IREE lowers them by itself."""
import jax
from iree.compiler import tools


def lower(function, *inputs):
    """Prints the function in linalg on tensors."""
    text = jax.jit(function).lower(*inputs).compiler_ir("stablehlo").operation.get_asm()
    print(tools.compile_str(text, input_type="stablehlo", extra_args=["--compile-to=input"]).decode())
