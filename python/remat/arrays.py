"""Arrays of other libraries, where they lie: what a step takes must be of its type and shape, and is not copied."""
import ctypes
import dataclasses
from typing import Any

import ml_dtypes
import numpy as np

from remat import _native

DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(bool), "i8": np.dtype("i1"), "i16": np.dtype("i2"), "i32": np.dtype("i4"), "i64": np.dtype("i8"),
    "f16": np.dtype("f2"), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype("f4"), "f64": np.dtype("f8")}
CPU_DEVICES = {0, 1, 3}  # none, CPU, and memory of the host that is pinned
# DLPack's names of the types; MLIR's integers have no sign.
DLPACK_NAMES = {"i1": {"bool8", "bool1"}, "i8": {"int8", "uint8"}, "i16": {"int16", "uint16"}, "i32": {"int32", "uint32"},
                "i64": {"int64", "uint64"}, "f16": {"float16"}, "bf16": {"bfloat16"}, "f32": {"float32"},
                "f64": {"float64"}}


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of the compiled step: `role` is parameter, optimizer, state, random, data, result or arena; `type` is
    as in MLIR."""

    role: str
    name: str
    type: str
    shape: tuple[int, ...]
    nbytes: int

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.type]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


def accepts(argument: Argument, dtype: np.dtype[Any]) -> bool:
    """Whether an array of this type has the argument's bits, in any byte order."""
    own, dtype = argument.dtype, dtype.newbyteorder("=")
    return dtype == own or (own.kind == "i" and dtype.kind == "u" and dtype.itemsize == own.itemsize)


def locate(argument: Argument, value: Any, what: str) -> tuple[int, Any]:
    """The address of the array's elements and what keeps them there. An array that is not contiguous is copied; one of
    another type or shape, or on another device, is an error that says what must hold. `what` names it there."""
    if type(value) is np.ndarray:
        if not accepts(argument, value.dtype):
            raise TypeError(f"{what} must be of {argument}, but got {value.dtype.name}{list(value.shape)}")
        if value.shape != argument.shape:
            raise ValueError(f"{what} must be of {argument}, but got {value.dtype.name}{list(value.shape)}")
        if not value.flags.c_contiguous or not value.flags.aligned or not value.dtype.isnative:
            value = np.require(value, value.dtype.newbyteorder("="), ["C_CONTIGUOUS", "ALIGNED"])
        return value.__array_interface__["data"][0], value
    return _locate_foreign(argument, value, what)


def _locate_foreign(argument: Argument, value: Any, what: str) -> tuple[int, Any]:
    """`locate` for arrays that are not NumPy's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return locate(argument, np.asarray(value), what)
    if hasattr(value, "block_until_ready"):  # JAX computes in the background
        value.block_until_ready()
    if getattr(value, "requires_grad", False):  # PyTorch exports none that it differentiates
        value = value.detach()
    try:
        address, kind, shape, is_contiguous, device, owner = _native.describe_array(value)
    except TypeError:
        raise TypeError(f"{what} must be an array of {argument} (NumPy, or anything with DLPack or the buffer protocol), "
                        f"but got {type(value).__name__}") from None
    if device[0] not in CPU_DEVICES:
        raise ValueError(f"{what} must be in the memory of the host, but it is on DLPack device {device[0]}:{device[1]}; "
                         "copy it first")
    if kind not in DLPACK_NAMES[argument.type]:
        raise TypeError(f"{what} must be of {argument}, but got {kind}{list(shape)}")
    if shape != argument.shape:
        raise ValueError(f"{what} must be of {argument}, but got {kind}{list(shape)}")
    if not is_contiguous:  # PyTorch has types that NumPy lacks
        copied = value.contiguous() if callable(getattr(value, "contiguous", None)) else np.ascontiguousarray(value)
        return locate(argument, copied, what)
    if address % argument.dtype.itemsize:
        raise ValueError(f"{what} must be aligned to its elements of {argument.dtype.itemsize} bytes")
    return address, owner


def to_numpy(argument: Argument, value: Any, what: str) -> np.ndarray[Any, Any]:
    """The same as an array of NumPy that may share memory with `value`."""
    address, owner = locate(argument, value, what)
    if isinstance(owner, np.ndarray):
        return owner.view(argument.dtype) if owner.dtype != argument.dtype else owner
    raw = bytearray() if not argument.nbytes else memoryview((ctypes.c_char * argument.nbytes).from_address(address)).cast("B")
    return np.frombuffer(raw, np.uint8).view(argument.dtype).reshape(argument.shape).copy()
