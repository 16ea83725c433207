# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the forward of a model can keep something in Python: attributes of modules, classes and objects, containers, globals that
functions name, closures, generators of random numbers. Each is a place, which can be read and written as a whole.

Followed are the user's own functions and classes, those of installed packages only as modules: their globals are their own business.
"""
import collections
import dataclasses
import dis
import functools
import pickle
import random
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from remat.export.locations import is_of_user, shorten

Values = dict[Any, Any]

# Attributes that PyTorch itself keeps in a module, but for its mode; `forward` is one while the module is traced.
OF_PYTORCH = set(vars(torch.nn.Module())) - {"training"} | {"forward"}
LARGEST = 10_000  # Containers of more elements, and arrays of more numbers, are data.
DEPTH = 6
ATOMS = torch.Tensor, torch.nn.Module, str, bytes, int, float, complex, types.NoneType
METHODS = types.FunctionType, staticmethod, classmethod, property


@dataclasses.dataclass
class Place:
    """`label` is what to call it, with `{}` for a key. `codes` are those that may assign to it by the name of the key."""

    label: str
    read: Callable[[], Values]
    write: Callable[[Values], None]
    codes: tuple[types.CodeType, ...] = ()
    is_generator: bool = False

    def line_of(self, key: Any) -> str:
        """`model.py:12: `, where `key` is assigned, in forward if it is there, or else read; nothing where it is neither."""
        found = [(instruction.opname.startswith("STORE"), code.co_name == "forward", code.co_name != "__init__", line, code.co_filename)
                 for code in self.codes for line, instruction in with_lines(code) if instruction.argval == key]
        return f"{shorten(max(found)[-1])}:{max(found)[-2]}: " if found else ""


def with_lines(code: types.CodeType) -> Iterator[tuple[int, dis.Instruction]]:
    starts = {offset: line for offset, line in dis.findlinestarts(code) if line}
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset, line)
        yield line, instruction


def codes_of(value: Any) -> Iterator[types.CodeType]:
    """That of a function, a method or a property, and of the functions inside of it."""
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    codes = [value.__code__] if isinstance(value, types.FunctionType) else []
    while codes:
        yield (code := codes.pop())
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def codes_of_class(kind: type) -> tuple[types.CodeType, ...]:
    return tuple(code for value in list(vars(kind).values()) for code in codes_of(value))


def is_own(codes: Iterable[types.CodeType]) -> bool:
    """Returns whether these are the user's, rather than an installed package's."""
    return any(is_of_user(code.co_filename) and not {"site-packages", "dist-packages"} & {*code.co_filename.split("/")} for code in codes)


def entries(namespace: Any, is_kept: Callable[[Any, Any], bool] = lambda key, value: True) -> tuple[Callable[[], Values], Callable[[Values], None]]:
    """How to read and to write those of the dictionary `namespace`."""
    def read() -> Values:
        return {key: value for key, value in namespace.items() if is_kept(key, value)}

    def write(values: Values) -> None:
        for key in read().keys() - values.keys():
            del namespace[key]
        namespace.update(values)

    return read, write


class Places:
    """Those that the forward of `module` can reach; of the outermost module only where it leads, if it has an `inner` one."""

    def __init__(self, module: torch.nn.Module, inner: str):
        self.found: list[Place] = []
        self.seen: dict[int, Any] = {}
        self.add_generator("Python's random", random.getstate, random.setstate)
        self.add_generator("NumPy's random", functools.partial(np.random.get_state, legacy=False), np.random.set_state)
        for path, part in module.named_modules():
            self.add_module(path.removeprefix(inner).removeprefix("."), part, part is module and bool(inner))

    def is_new(self, value: Any) -> bool:
        count = len(self.seen)
        self.seen[id(value)] = value  # which keeps the number its own
        return len(self.seen) > count

    def add_generator(self, label: str, get: Callable[[], Any], put: Callable[[Any], Any]) -> None:
        self.found.append(Place(label, lambda: {"state": pickle.dumps(get())}, lambda values: put(pickle.loads(values["state"])),
                                is_generator=True))

    def add_module(self, path: str, part: torch.nn.Module, is_outer: bool) -> None:
        where = f" of {type(part).__name__}" + (f" ({path})" if path else "")
        kinds = [kind for kind in type(part).__mro__ if kind is not object]
        read, write = entries(part.__dict__, lambda key, _: key not in OF_PYTORCH)
        if not is_outer:
            codes = tuple(code for kind in kinds for code in codes_of_class(kind) if is_of_user(code.co_filename))
            self.found.append(Place(f"self.{{}}{where}", read, write, codes))
        for key, value in read().items():
            if not is_outer or callable(value):
                self.add(f"self.{key}{where}", value)
        for hook in (*part._forward_hooks.values(), *part._forward_pre_hooks.values()):
            self.add("a hook", hook)
        for kind in kinds:
            self.add(kind.__name__, kind)

    def add(self, label: str, value: Any, depth: int = DEPTH) -> None:
        """The places of `value`, and of what it refers to."""
        if depth == 0 or isinstance(value, ATOMS) or not self.is_new(value):
            return
        follow = functools.partial(self.add, depth=depth - 1)
        if isinstance(value, types.MethodType):
            follow(label, value.__func__)
            follow(label, value.__self__)
        elif isinstance(value, functools.partial):
            for item in (value.func, *value.args, *value.keywords.values()):
                follow(label, item)
        elif isinstance(value, types.FunctionType):
            if is_own(codes := tuple(codes_of(value))):
                self.add_function(value, codes, depth - 1)
        elif isinstance(value, type):
            if is_own(codes_of_class(value)):
                self.add_class(value, depth - 1)
        elif isinstance(value, np.random.Generator):
            bits = value.bit_generator
            self.add_generator(f"{label}, a generator", lambda: bits.state, functools.partial(setattr, bits, "state"))
        elif isinstance(value, random.Random):
            self.add_generator(f"{label}, a generator", value.getstate, value.setstate)
        elif isinstance(value, np.random.RandomState):
            self.add_generator(f"{label}, a generator", value.get_state, value.set_state)
        elif isinstance(value, np.ndarray):
            if value.size <= LARGEST and value.dtype.kind != "O":
                self.found.append(Place(label, lambda: {"": value.tobytes()}, functools.partial(write_elements, value)))
        elif isinstance(value, (dict, list, tuple, set, collections.deque)):
            if len(value) <= LARGEST:
                self.add_container(label, value)
                for item in list(value.values() if isinstance(value, dict) else value):
                    follow(label, item)
        elif hasattr(value, "__dict__") and is_own(codes := codes_of_class(type(value))):
            self.found.append(Place(f"{label}.{{}}", *entries(vars(value)), codes))
            for key, item in list(vars(value).items()):
                follow(f"{label}.{key}", item)
            follow(type(value).__name__, type(value))

    def add_container(self, label: str, value: Any) -> None:
        def write(values: Values) -> None:
            value.clear()
            (value.update if isinstance(value, set) else value.extend)(values[""])

        if isinstance(value, dict):
            self.found.append(Place(label, *entries(value)))
        elif not isinstance(value, tuple):
            self.found.append(Place(label, lambda: {"": tuple(value)}, write))

    def add_class(self, kind: type, depth: int) -> None:
        def read() -> Values:
            return {key: value for key, value in vars(kind).items() if not key.startswith("__") and not isinstance(value, METHODS)}

        def write(values: Values) -> None:
            for key in read().keys() - values.keys():
                delattr(kind, key)
            for key, value in values.items():
                setattr(kind, key, value)

        self.found.append(Place(f"{kind.__name__}.{{}}", read, write, codes_of_class(kind)))
        for key, value in list(vars(kind).items()):
            value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            self.add(f"{kind.__name__}.{key}", value, depth)

    def add_function(self, function: types.FunctionType, codes: tuple[types.CodeType, ...], depth: int) -> None:
        """The globals that it names, and its closure."""
        names = {name for code in codes for name in code.co_names}
        self.add_globals("the global {}", function.__globals__, names, codes, depth)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if self.is_new(cell):
                self.found.append(Place("{}, a variable around " + function.__qualname__, functools.partial(read_cell, name, cell),
                                        functools.partial(write_cell, name, cell), codes))
            for value in read_cell(name, cell).values():
                self.add(name, value, depth)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.add(f"a default argument of {function.__qualname__}", value, depth)

    def add_globals(self, label: str, namespace: dict[str, Any], names: set[str], codes: tuple[types.CodeType, ...], depth: int) -> None:
        read, write = entries(namespace, lambda key, _: key in names)
        self.found.append(Place(label, read, write, codes))
        for name, value in read().items():
            if not isinstance(value, types.ModuleType):
                self.add(label.format(name), value, depth)
            elif depth and is_own(code for each in list(vars(value).values()) for code in codes_of(each)):
                self.add_globals(f"{name}.{{}}", vars(value), names, codes, depth - 1)


def write_elements(array: Any, values: Values) -> None:
    array[...] = np.frombuffer(values[""], array.dtype).reshape(array.shape)


def read_cell(name: str, cell: Any) -> Values:
    try:
        return {name: cell.cell_contents}
    except ValueError:  # nothing has been assigned yet
        return {}


def write_cell(name: str, cell: Any, values: Values) -> None:
    if values:
        cell.cell_contents = values[name]
