# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints branches in branches, as many as the argument says, that pass a tensor on."""

import sys

TENSOR = "tensor<4xf32>"

body = "%x"
text = ""
for level in range(int(sys.argv[1])):
    text = f"""%r{level} = scf.if %c -> ({TENSOR}) {{
{text}scf.yield {body} : {TENSOR}
}} else {{
scf.yield %x : {TENSOR}
}}
"""
    body = f"%r{level}"
print(f"func.func @deep(%c: i1, %x: {TENSOR}) -> {TENSOR} {{\n{text}return {body} : {TENSOR}\n}}")
