# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types that two files define under one name, and statistics of passes: one_definition.py SOURCE.

Of the inline members of such types the linker keeps one, for objects of both. And statistics have no storage in an MLIR without
assertions, which a build with assertions takes for granted: its passes would count in uninitialized memory.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

TOKEN = re.compile(r"(?P<namespace>namespace\s*(?P<path>[\w:]*)\s*\{)|"
                   r"(?P<type>\b(?:struct|class|enum)\s+(?:class\s+)?(?P<name>\w+)(?:\s+final)?\s*(?::[^;{()]*)?\{)|[{}]")


def defined_types(text):
    """The types of named namespaces, with these."""
    scopes = []
    for match in TOKEN.finditer(re.sub(r"//.*", "", text)):
        if match.group() == "}":
            del scopes[-1:]
            continue
        if match["type"] and all(scopes):
            yield "::".join([*scopes, match["name"]])
        # An empty name stands for what other files do not see: anonymous namespaces, and bodies.
        scopes.append(match["path"] if match["namespace"] else "")


source = Path(sys.argv[1])
files = defaultdict(list)
for file in sorted(path for folder in ("lib", "include", "emulator") for path in (source / folder).rglob("*") if path.suffix in (".h", ".cpp")):
    for name in set(defined_types(file.read_text())):
        files[name].append(str(file.relative_to(source)))
for name, places in sorted(files.items()):
    if "::" in name and len(places) > 1:
        print(f"error: {name} is defined by {' and '.join(places)}")
for file in sorted((source / "include").rglob("*.td")):
    if "Statistic<" in file.read_text():
        print(f"error: {file.relative_to(source)} declares statistics")
print(f"{len(files)} types")
