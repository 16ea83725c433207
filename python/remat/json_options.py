# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JSON as an option of a pass."""
import json
from typing import Any


def quote(value: Any) -> str:
    """JSON as an option of a pass, whose parser looks for braces, quotes and spaces within strings, too."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{quote(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(quote, value)) + "]"
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass")
        codes = [int.from_bytes(units[i:i + 2], "big") for i in range(0, len(units), 2)]
        return '"' + "".join(chr(c) if c < 128 and (chr(c).isalnum() or chr(c) in "._") else f"\\u{c:04x}"
                             for c in codes) + '"'
    return json.dumps(value)
