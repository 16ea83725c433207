# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loss as an exporter leaves it: its text in upstream dialects, its arguments and results, and the numbers to check it with."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from remat.errors import ExportError
from remat.export.locations import describe_next
from remat.files import replace, write_text
from remat.written import Written

ELEMENT_TYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
                 "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "i64", "uint32": "i32", "uint16": "i16", "uint8": "i8",
                 "bool": "i1"}
# Operations of exporters' own dialects, left in the module where there is no lowering to upstream dialects.
FOREIGN = re.compile(r'^\s*(?:%\S+(?:, %\S+)* = )?"?'
                     r"((?:util|iree_\w+|flow|hal|stablehlo|chlo|tm_tensor|torch|torch_c)\.[\w.]+)", re.M)
BOOLEANS = re.compile(r'dense<"0x([0-9A-Fa-f]+)"> : tensor<((?:\d+x)+)i1>')


@dataclasses.dataclass
class Value:
    """An argument or a result of @loss. `wide` and the gradients' `wide` are of the same computation in float64."""

    name: str
    role: str
    own: Any  # an array, or None
    wide: Any = None
    shape: list[Any] | None = None
    kind: str | None = None
    gradient: tuple[Any, Any] | None = None  # (own, wide)

    def describe(self) -> dict[str, Any]:
        shape = list(self.own.shape) if self.shape is None else self.shape
        kind = self.kind or self.own.dtype.name
        if kind not in ELEMENT_TYPES:
            raise ExportError(f"'{self.name}' is of {kind}; arguments and results are of {', '.join(ELEMENT_TYPES)}")
        return {"name": self.name, "role": self.role, "shape": [n if isinstance(n, int) else -1 for n in shape],
                "dtype": ELEMENT_TYPES[kind]}


@dataclasses.dataclass
class Export:
    """An exported model, as `from_torch` and `from_jax` return it: the module's text, and values to compare a step with."""

    text: str
    framework: str
    arguments: list[Value]
    results: list[Value]
    dims: dict[str, Any] = dataclasses.field(default_factory=dict)
    written: Written | None = None  # the policies of its checkpoints, if they were asked

    def save(self, folder: str | Path, name: str) -> None:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        description = json.dumps(
            {"name": name, "framework": self.framework, "function": "loss", "weights": "arguments", "dims": self.dims,
             "arguments": [a.describe() for a in self.arguments], "constants": [],
             "results": [r.describe() for r in self.results]}, indent=1) + "\n"
        arrays = {}
        for i, argument in enumerate(self.arguments):
            arrays[f"arg{i}"] = storable(argument.own)
            if argument.gradient:
                own, arrays[f"grad64_{i}"] = argument.gradient
                arrays[f"grad_{i}"] = storable(own)
        for i, result in enumerate(r for r in self.results if r.own is not None):
            arrays[f"out{i}"], arrays[f"out64_{i}"] = storable(result.own), result.wide
        for suffix, text in (("mlir", self.text), ("json", description)):
            write_text(folder / f"{name}.{suffix}", text)
        replace(folder / f"{name}.npz", lambda temporary: save_arrays(temporary, arrays))


def save_arrays(path: str, arrays: dict[str, Any]) -> None:
    with open(path, "wb") as file:  # to whose name NumPy adds nothing
        np.savez(file, **arrays)


def storable(array: Any) -> Any:
    """NumPy's files know no bf16 (kept as its bits), and MLIR's integers have no sign."""
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    return array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array


def pack_booleans(text: str) -> str:
    """`text` with eight booleans of a constant in a byte, as MLIR has them, where a newer MLIR of the front end has one."""
    def pack(match: re.Match[str]) -> str:
        values = np.frombuffer(bytes.fromhex(match[1]), np.uint8)
        if values.size != np.prod([int(size) for size in match[2].split("x")[:-1]]):
            return match[0]
        return f'dense<"0x{np.packbits(values, bitorder="little").tobytes().hex().upper()}"> : tensor<{match[2]}i1>'

    return BOOLEANS.sub(pack, text)


def upstream(text: str) -> str:
    found: dict[str, str] = {}
    for match in FOREIGN.finditer(text):
        if not match[1].endswith("yield"):
            found.setdefault(match[1], describe_next(text, match.end()))
    if found:
        foreign = ", ".join(op + (f" at {place}" if place else "") for op, place in sorted(found.items()))
        raise ExportError(f"the front end left operations that MLIR does not have: {foreign}")
    return pack_booleans(text)
