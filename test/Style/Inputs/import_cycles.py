# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says whether the modules of the Python package import each other in a circle, imports within functions included.

    import_cycles.py FOLDER

FOLDER is the package's. What only type checkers import does not count.
"""
import ast
import graphlib
import sys
from pathlib import Path

root = Path(sys.argv[1])


def find_imports(node):
    """Of a syntax tree, but for what is under `if TYPE_CHECKING`."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield str(node.module)
    for child in ast.iter_child_nodes(node):
        yield from find_imports(child)


paths = {".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in root.rglob("*.py")}
imports = {}
for name, path in paths.items():
    found = paths.keys() & set(find_imports(ast.parse(path.read_text())))
    # A package is imported with each of its modules, and imports some of them.
    imports[name] = {other for other in found if not any(inner.startswith(f"{other}.") for inner in paths)} - {name}
try:
    graphlib.TopologicalSorter(imports).prepare()
except graphlib.CycleError as error:
    sys.exit("modules import each other: " + " -> ".join(error.args[1]))
print(f"no circle among {len(paths)} modules")
