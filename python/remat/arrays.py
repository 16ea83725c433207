# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other libraries, where they lie: what a step takes must be of its type and shape, and is not copied on the host."""
import ctypes
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from remat import _native
from remat.stored import Blocks

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
    as in MLIR; `stored` says what codes stand for. `shards` has, for each dimension, how many ranks share it, and the number
    of a rank minus that of the one with the part before."""

    role: str
    name: str
    type: str
    shape: tuple[int, ...]
    nbytes: int
    stored: Blocks | None = None
    shards: tuple[tuple[int, int], ...] = ()

    @property
    def whole_shape(self) -> tuple[int, ...]:
        """The shape of what all ranks have together."""
        return tuple(size * ranks for size, (ranks, _) in zip(self.shape, self.shards or ((1, 1),) * len(self.shape)))

    @classmethod
    def of_record(cls, record: tuple[Any, ...]) -> "Argument":
        role, name, kind, shape, nbytes, stored, shards = record
        return cls(role, name, kind, shape, nbytes, stored and Blocks(*stored), shards)

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.type]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


class Device(NamedTuple):
    """The device that a step runs on: `kind` is cpu or cuda, `number` the GPU's, `stream` the address of the CUstream in whose
    order the step works, or None; `is_emulated` is true if the kernels of a GPU run on the host; `name` has chip and driver."""

    kind: str
    number: int
    stream: int | None
    is_emulated: bool
    name: str


class DeviceArray:
    """Memory of a step, by DLPack (`torch.from_dlpack`, `jax.dlpack.from_dlpack`, `numpy.from_dlpack`)."""

    def __init__(self, export: Callable[[], Any], place: tuple[int, int]):
        self._export, self._place = export, place

    def __dlpack__(self, **_: Any) -> Any:
        """Steps end when their device is done: there is nothing that a stream has to wait for."""
        return self._export()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._place


Location = tuple[int, bool]  # an address, and whether that is on the step's device
CPU_DEVICE, CUDA_DEVICE = 1, 2  # DLPack's numbers


def accepts(argument: Argument, dtype: np.dtype[Any]) -> bool:
    """Returns true if elements of type `dtype`, in either byte order, have the bits of the argument's elements."""
    own, dtype = argument.dtype, dtype.newbyteorder("=")
    return dtype == own or (own.kind == "i" and dtype.kind == "u" and dtype.itemsize == own.itemsize)


def locate(argument: Argument, value: Any, what: str, device: Device | None = None) -> tuple[Location, Any]:
    """Returns the location of the array's elements and the object that keeps them there. An array that is not contiguous is
    copied. Raises a TypeError or a ValueError, in which `what` names the array, if its type or shape is not the argument's or
    if it is on a device other than the host and `device`."""
    if type(value) is np.ndarray:
        if not accepts(argument, value.dtype):
            raise TypeError(f"{what} must be of {argument}, but got {value.dtype.name}{list(value.shape)}")
        if value.shape != argument.shape:
            raise ValueError(f"{what} must be of {argument}, but got {value.dtype.name}{list(value.shape)}")
        if not value.flags.c_contiguous or not value.flags.aligned or not value.dtype.isnative:
            value = np.require(value, value.dtype.newbyteorder("="), ["C_CONTIGUOUS", "ALIGNED"])
        return (value.__array_interface__["data"][0], False), value
    return _locate_foreign(argument, value, what, device)


def _is_on(device: Device, value: Any) -> bool:
    """Returns true if the array is on `device`, the step's own, which reads it there without a copy."""
    if device.kind != "cuda" or not hasattr(value, "__dlpack_device__"):
        return False
    # An emulated GPU has no memory but that of steps.
    return tuple(value.__dlpack_device__()) == (CUDA_DEVICE, device.number) and \
        (isinstance(value, DeviceArray) or not device.is_emulated)


def _why_not(value: Any) -> str:
    """Returns why an array that has `__dlpack__` cannot export itself, as a sparse one cannot; empty if it can or has none."""
    try:
        getattr(value, "__dlpack__", lambda: None)()
    except Exception as error:
        return f": {error}"
    return ""


def _locate_foreign(argument: Argument, value: Any, what: str, device: Device | None) -> tuple[Location, Any]:
    """Does the same as `locate` for arrays that are not NumPy's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return locate(argument, np.asarray(value), what)
    if hasattr(value, "block_until_ready"):  # JAX computes in the background
        value.block_until_ready()
    if getattr(value, "requires_grad", False):  # PyTorch exports none that it differentiates
        value = value.detach()
    if callable(is_neg := getattr(value, "is_neg", None)) and is_neg():  # PyTorch exports the elements without their sign
        value = value.resolve_neg()
    array = value
    is_on_device = device is not None and _is_on(device, value)
    if is_on_device:  # the step's stream waits for what makes it
        assert device
        array = value.__dlpack__(stream=device.stream)
    try:
        address, kind, shape, is_contiguous, (place, number), owner = _native.describe_array(array)
    except TypeError:
        raise TypeError(f"{what} must be an array of {argument} (NumPy, or anything with DLPack or the buffer protocol), "
                        f"but got {type(value).__name__}{_why_not(value)}") from None
    if place not in CPU_DEVICES and not is_on_device:
        raise ValueError(f"{what} must be in the memory of the host, but it is on DLPack device {place}:{number}; "
                         "copy it first")
    if kind not in DLPACK_NAMES[argument.type]:
        raise TypeError(f"{what} must be of {argument}, but got {kind}{list(shape)}")
    if shape != argument.shape:
        raise ValueError(f"{what} must be of {argument}, but got {kind}{list(shape)}")
    if not argument.nbytes:  # PyTorch has no address for nothing
        return locate(argument, np.empty(argument.shape, argument.dtype), what)
    if not is_contiguous:  # PyTorch has types that NumPy lacks
        copied = value.contiguous() if callable(getattr(value, "contiguous", None)) else np.ascontiguousarray(value)
        return locate(argument, copied, what, device)
    if address % argument.dtype.itemsize:
        raise ValueError(f"{what} must be aligned to its elements of {argument.dtype.itemsize} bytes")
    return (address, is_on_device), owner


def to_numpy(argument: Argument, value: Any, what: str) -> np.ndarray[Any, Any]:
    """The same as an array of NumPy that may share memory with `value`."""
    (address, _), owner = locate(argument, value, what)
    if isinstance(owner, np.ndarray):
        return owner.view(argument.dtype) if owner.dtype != argument.dtype else owner
    raw = bytearray() if not argument.nbytes else memoryview((ctypes.c_char * argument.nbytes).from_address(address)).cast("B")
    return np.frombuffer(raw, np.uint8).view(argument.dtype).reshape(argument.shape).copy()
