# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States that are quantized in blocks: codes and scales, as arrays of NumPy.

`!opt.blockwise` in docs/reference/OptDialect.md has the layout. A step keeps a state `w.m` as codes `w.m` and scales `w.m.scale`:

    >>> import numpy as np
    >>> blocks = Blocks(bits=8, size=4, signed=True, count=6)
    >>> codes, scales = quantize(np.array([1.0, -0.5, 0.0, 0.25, 4.0, 2.0], "f4"), blocks)
    >>> codes.view("u1").tolist(), scales.tolist()
    ([[255, 35, 127, 201], [255, 219, 0, 0]], [1.0, 4.0])
    >>> dequantize(codes, scales, blocks).astype("f8").round(3).tolist()
    [1.0, -0.501, 0.0, 0.248, 4.0, 2.003]
"""
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from remat import _native

if TYPE_CHECKING:
    from remat.arrays import Argument

Array = np.ndarray[Any, Any]
# Where a state says what its codes stand for: text in bytes, a line for each array of codes.
STORED_KEY = "remat.stored"
# A state that begins with nothing lost.
LOST = ".compensation"


@dataclasses.dataclass(frozen=True)
class Blocks:
    """`count` numbers in blocks of `size`, in codes of `bits` bits (8 or 4)."""

    bits: int
    size: int
    signed: bool
    count: int

    def __post_init__(self) -> None:
        if self.bits not in (8, 4) or self.size < 1 or self.size * self.bits % 8 or self.count < 0:
            raise ValueError(f"there are no codes of {self.bits} bits in blocks of {self.size} for {self.count} numbers")

    @property
    def kind(self) -> str:
        return f"int{self.bits}"

    @property
    def shape(self) -> tuple[int, int]:
        """Of the codes; there is a scale for each row."""
        return -(-self.count // self.size), self.size * self.bits // 8

    def __str__(self) -> str:
        return f"{self.bits}\t{self.size}\t{'signed' if self.signed else 'unsigned'}\t{self.count}"

    @classmethod
    def parse(cls, text: str) -> "Blocks":
        bits, size, sign, count = text.split("\t")
        return cls(int(bits), int(size), {"signed": True, "unsigned": False}[sign], int(count))


def dequantize(codes: Array, scales: Array, blocks: Blocks) -> Array:
    """Returns the numbers (f32), in one dimension."""
    codes, scales = np.ascontiguousarray(codes).view(np.uint8), np.ascontiguousarray(scales, np.float32)
    if codes.shape != blocks.shape or scales.shape != blocks.shape[:1]:
        raise ValueError(f"codes and scales of {blocks.count} numbers must be of shapes {blocks.shape} and {blocks.shape[:1]}, "
                         f"but got {codes.shape} and {scales.shape}")
    numbers = np.empty(blocks.count, np.float32)
    _native.dequantize(dataclasses.astuple(blocks), codes, scales, numbers)
    return numbers


def quantize(numbers: Array, blocks: Blocks) -> tuple[Array, Array]:
    """Returns codes (int8) and scales (f32) of `blocks.count` numbers."""
    numbers = np.ascontiguousarray(numbers, np.float32).reshape(-1)
    if numbers.size != blocks.count:
        raise ValueError(f"there must be {blocks.count} numbers, but got {numbers.size}")
    codes, scales = np.empty(blocks.shape, np.uint8), np.empty(blocks.shape[:1], np.float32)
    _native.quantize(dataclasses.astuple(blocks), numbers, codes, scales)
    return codes.view(np.int8), scales


def describe(arguments: "Mapping[str, Argument]") -> str:
    """Returns what the codes among the arguments stand for; empty if there are none."""
    return "".join(f"{name}\t{argument.stored}\n" for name, argument in arguments.items() if argument.stored)


def read(state: Mapping[str, Any]) -> dict[str, Blocks]:
    """Returns what the codes of a state stand for, by name."""
    text = state.get(STORED_KEY)
    if text is None:
        return {}
    text = text if isinstance(text, str) else np.asarray(text).tobytes().decode()
    try:
        return {name: Blocks.parse(rest) for name, _, rest in (line.partition("\t") for line in text.splitlines())}
    except (KeyError, ValueError) as error:
        raise ValueError(f"'{STORED_KEY}' must have a line of name, bits, elements of a block, sign and number of elements for each "
                         "array of codes") from error


def convert(state: Mapping[str, Any], arguments: "Mapping[str, Argument]") -> tuple[dict[str, Any], list[str]]:
    """Returns the state with the optimizer's states as `arguments` have them, and what was converted."""
    known, result, converted = read(state), dict(state), dict[str, int]()
    result.pop(STORED_KEY, None)
    for name, argument in arguments.items():
        if argument.role != "optimizer":
            continue
        if name not in state and name.endswith(LOST) and name.removesuffix(LOST) in state:
            result[name] = np.zeros(argument.shape, argument.dtype)
            converted["nothing to zeros"] = converted.get("nothing to zeros", 0) + 1
        if name not in state or known.get(name) == argument.stored and (argument.stored or not _is_other(state[name], argument)):
            continue
        numbers = _numbers(state, name, known.get(name))
        if numbers is None or argument.type == "i8" and argument.stored is None:
            continue
        source = known[name].kind if name in known else str(numbers.dtype)
        if argument.stored:
            if numbers.size != argument.stored.count:
                continue
            result[name], result[f"{name}.scale"] = quantize(numbers, argument.stored)
        else:
            if numbers.size != np.prod(argument.shape, dtype=int):
                continue
            result[name] = numbers.astype(argument.dtype).reshape(argument.shape)
            if name in known and f"{name}.scale" not in arguments:
                result.pop(f"{name}.scale", None)
        kind = argument.stored.kind if argument.stored else str(argument.dtype)
        converted[f"{source} to {kind}"] = converted.get(f"{source} to {kind}", 0) + 1
    return result, [f"{count} from {what}" for what, count in sorted(converted.items())]


def _is_other(value: Any, argument: "Argument") -> bool:
    """Returns true if it is an array of numbers of another type."""
    dtype = getattr(value, "dtype", None)
    return isinstance(value, np.ndarray) and _is_number(dtype) and dtype != argument.dtype


def _is_number(dtype: Any) -> bool:
    return bool(dtype in (np.dtype("f4"), np.dtype("f8"), np.dtype(ml_dtypes.bfloat16)))


def _numbers(state: Mapping[str, Any], name: str, blocks: Blocks | None) -> Array | None:
    """Returns the numbers of a state, whatever they are stored in; None where they are not known."""
    value = state[name]
    if blocks is None:
        return value if isinstance(value, np.ndarray) and _is_number(value.dtype) else None
    codes, scales = np.asarray(value), np.asarray(state.get(f"{name}.scale", ()))
    if codes.shape != blocks.shape or codes.dtype.itemsize != 1 or scales.shape != blocks.shape[:1]:
        return None
    return dequantize(codes, scales, blocks)
