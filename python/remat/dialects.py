# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definitions in the compiler's dialects, for `remat.policies` and `remat.optimizers`, which make a Python name of each."""
import functools
import json
from typing import Any


@functools.cache
def describe() -> dict[str, list[dict[str, Any]]]:
    """Returns the policies, update rules and schedules, as include/remat-c/Dialects.h describes them."""
    from remat import _native
    found: dict[str, list[dict[str, Any]]] = json.loads(_native.describe_dialects())
    return found
