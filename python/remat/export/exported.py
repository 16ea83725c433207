# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export a loss written in PyTorch or JAX as MLIR on tensors, with the numbers to check what is made of it.

    from remat import export
    export.from_torch(model, {"tokens": tokens, "targets": targets}).save("exports", "mine")
    export.from_jax(loss, params, {"tokens": tokens, "targets": targets}).save("exports", "mine")

and then `tools/check-model exports/mine.mlir`. What is exported is the model as it stands: `module(*inputs)` or
`loss(params, *inputs)`, whose first result is a scalar, the loss. Weights become arguments (parameters and buffers in
the order of `named_parameters` and `named_buffers`, or the leaves of `params`), then come the inputs.

`save` writes three files:

- NAME.mlir: `func.func @loss` in upstream dialects (and a few operations of `remat`). Locations name where an operation comes from: the
  path of the module (`layers.0.norm1`) or JAX's scopes (`jit(loss)/GPT/layer_0/LayerNorm_0/mul`), with the line of the user's
  source, which is the same for all layers that a loop makes.
- NAME.json: `arguments`, `constants` and `results` in order, each with the framework's `name`, a `role` (`parameter`,
  `buffer`, `data`; `loss`, `output`, `buffer_update`), `shape` (-1: dynamic) and `dtype`.
- NAME.npz: `arg<i>`, `out<i>` and `grad_<i>` at the model's own precision, `out64_<i>` and `grad64_<i>` of the same
  computation in float64. bf16 is stored as its bits in uint16.

Needs torch and torch-mlir, or jax and iree-base-compiler.
"""

import contextlib
import copy
import dataclasses
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from remat import jax_program
from remat.locations import describe_location, describe_next, keep_scopes

ELEMENT_TYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
                 "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "i64", "uint32": "i32", "uint16": "i16", "uint8": "i8",
                 "bool": "i1"}
# What an exporter leaves behind where upstream dialects do not suffice.
FOREIGN = re.compile(r'^\s*(?:%\S+(?:, %\S+)* = )?"?'
                     r"((?:util|iree_\w+|flow|hal|stablehlo|chlo|tm_tensor|torch|torch_c)\.[\w.]+)", re.M)
BOOLEANS = re.compile(r'dense<"0x([0-9A-Fa-f]+)"> : tensor<((?:\d+x)+)i1>')


class ExportError(Exception):
    """The front end cannot say in upstream dialects what the model does."""


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
    """What `from_torch` and `from_jax` return."""

    text: str
    framework: str
    arguments: list[Value]
    results: list[Value]
    dims: dict[str, Any] = dataclasses.field(default_factory=dict)

    def save(self, folder: str | Path, name: str) -> None:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.mlir").write_text(self.text)
        (folder / f"{name}.json").write_text(json.dumps(
            {"name": name, "framework": self.framework, "function": "loss", "weights": "arguments", "dims": self.dims,
             "arguments": [a.describe() for a in self.arguments], "constants": [],
             "results": [r.describe() for r in self.results]}, indent=1) + "\n")
        arrays = {}
        for i, argument in enumerate(self.arguments):
            arrays[f"arg{i}"] = storable(argument.own)
            if argument.gradient:
                own, arrays[f"grad64_{i}"] = argument.gradient
                arrays[f"grad_{i}"] = storable(own)
        for i, result in enumerate(r for r in self.results if r.own is not None):
            arrays[f"out{i}"], arrays[f"out64_{i}"] = storable(result.own), result.wide
        np.savez(folder / f"{name}.npz", **arrays)


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


# --- PyTorch -----------------------------------------------------------------------------------


def to_numpy(tensor: Any) -> Any:
    import ml_dtypes
    import torch
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy().copy()


@contextlib.contextmanager
def default_type(kind: Any) -> Iterator[None]:
    import torch
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def run_torch(module: Any, inputs: list[Any], wide: bool) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Outputs, gradients by parameter, and buffers after the step; in float64 if `wide`."""
    import torch

    from remat.torch_reference import Draws, Wide, plain_checkpoints
    module = copy.deepcopy(module)
    with contextlib.ExitStack() as stack:
        if wide:
            module = module.double()
            inputs = [x.double() if x.is_floating_point() else x for x in inputs]
            stack.enter_context(default_type(torch.float64))
            stack.enter_context(Wide())
        stack.enter_context(plain_checkpoints())
        stack.enter_context(Draws())
        outputs = module(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        outputs[0].backward()
    gradients = {n: to_numpy(torch.zeros_like(p) if p.grad is None else p.grad)
                 for n, p in module.named_parameters(remove_duplicate=False)}
    return [to_numpy(o) for o in outputs], gradients, {n: to_numpy(b) for n, b in module.named_buffers()}


def drop_unread_names(program: Any, tensors: dict[str, Any]) -> list[Any]:
    """Takes away all names of a tied tensor but one, which torch.export leaves as inputs that nothing reads."""
    placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    specs = program.graph_signature.input_specs
    read = {id(tensors[s.target]) for s in specs if s.target in tensors and placeholders[s.arg.name].users}
    for spec in list(specs):
        node = placeholders[spec.arg.name]
        if spec.target in tensors and not node.users and id(tensors[spec.target]) in read:
            program.graph.erase_node(node)
            specs.remove(spec)
    return list(specs)


def from_torch(module: Any, inputs: dict[str, Any], *, outputs: Sequence[str] = ("loss",), inner: str = "",
               dims: dict[str, Any] | None = None, dynamic: dict[str, dict[int, Any]] | None = None, check: bool = True) -> Export:
    """Exports `module(*inputs.values())`, a tensor or a tuple whose first one is the loss.

    outputs: names of the results; further ones are `output<i>`. inner: the submodule within which parameters, buffers and
        locations have their names. dims: facts about the model, kept in the JSON.
    dynamic: `{input: {axis: dimension}}` for dimensions that the program shall not know, by name, or as a
        `torch.export.Dim` if they have bounds.
    check: record outputs and gradients; without, the module does not run, and NAME.npz has its arguments only.
    """
    import torch
    from torch.export.graph_signature import InputKind, OutputKind

    from remat import torch_complex, torch_custom, torch_import, torch_stops, torch_traced

    values, dynamic = list(inputs.values()), dynamic or {}
    symbols = {d: torch.export.Dim(d) if isinstance(d, str) else d for axes in dynamic.values() for d in axes.values()}
    shapes = tuple({a: symbols[d] for a, d in dynamic.get(n, {}).items()} or None for n in inputs) if dynamic else None
    own, wide = (run_torch(module, values, wide) if check else ([], {}, {}) for wide in (False, True))
    tensors = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers())
    torch_traced.check_parameters(module, inner)
    functions = torch_custom.Functions()
    with functions.kept():
        program = torch_import.trace(module, tuple(values), shapes)
    torch_stops.mark(program.graph_module)
    torch_complex.lift_numbers(program)
    torch_complex.split_constants(program, inner)
    program = torch_import.decompose(program, inner)
    torch_import.drop_writes(program, inner)

    arguments, results = [], []
    rest = iter(inputs.items())
    for spec in drop_unread_names(program, tensors):
        if spec.kind == InputKind.USER_INPUT:
            name, tensor = next(rest)
            shape = [-1 if a in dynamic.get(name, {}) else n for a, n in enumerate(tensor.shape)]
            arguments.append(Value(name, "data", to_numpy(tensor), shape=shape))
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            value = Value(spec.target.removeprefix(f"{inner}."), "buffer", to_numpy(torch_complex.get_pairs(tensors[spec.target])))
            if spec.kind == InputKind.PARAMETER and tensors[spec.target].requires_grad:
                value.role = "parameter"
                value.gradient = (own[1][spec.target], wide[1][spec.target]) if check else None
            arguments.append(value)
            # torch-mlir makes constants of weights, and arguments of what counts as an input of the user.
            spec.kind, spec.target = InputKind.USER_INPUT, None
    names = itertools.chain(outputs, (f"output{i}" for i in itertools.count(len(outputs))))
    for spec in program.graph_signature.output_specs:
        updates = spec.kind == OutputKind.BUFFER_MUTATION
        name = spec.target.removeprefix(f"{inner}.") if updates else next(names)
        role = "buffer_update" if updates else "loss" if name == outputs[0] else "output"
        like = next(n for n in program.graph.nodes if n.name == spec.arg.name).meta["val"]
        results.append(Value(name, role, None, shape=list(like.shape), kind=str(like.dtype).removeprefix("torch.")))
    if check:
        for values_of, attribute in ((own, "own"), (wide, "wide")):
            rest = iter(values_of[0])
            for result in results:
                updates = result.role == "buffer_update"
                setattr(result, attribute, values_of[2][f"{inner}.{result.name}".lstrip(".")] if updates else next(rest))
    text = torch_import.import_program(program, inner, functions.applications)
    return Export(upstream(text), "torch", arguments, results, dims or {})


# --- JAX ---------------------------------------------------------------------------------------


def as_jax(value: Any) -> Any:
    """A NumPy array of the type in which JAX takes `value`: of 32 bits where it has 64, but under `jax_enable_x64`."""
    import jax
    array = np.asarray(value)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def run_jax(loss: Callable[..., Any], params: Any, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Outputs, and gradients by leaf."""
    import jax

    def seed(index: int, output: Any) -> Any:
        if not jax.numpy.issubdtype(output.dtype, np.floating):
            return np.zeros(output.shape, jax.dtypes.float0)
        return np.full(output.shape, float(index == 0), output.dtype)

    outputs, pull = jax.vjp(lambda p: as_tuple(loss(p, *inputs)), params)
    gradients, = pull(tuple(seed(i, o) for i, o in enumerate(outputs)))
    return [np.asarray(o) for o in outputs], [np.asarray(g) for g in jax.tree.leaves(gradients)]


@contextlib.contextmanager
def narrow_draws() -> Iterator[None]:
    """Random numbers in float32 and int32 also where 64 bits are the default, so that both precisions draw the same."""
    import jax
    from jax._src.random import core

    def narrow(draw: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(key: Any, minval: Any, maxval: Any, shape: Any, dtype: Any) -> Any:
            narrower = {"float64": "float32", "int64": "int32"}.get(np.dtype(dtype).name, dtype)
            return draw(key, minval, maxval, shape, np.dtype(narrower)).astype(dtype)
        return wrapped

    saved = {name: getattr(core, name) for name in ("_uniform", "_randint")}
    for name, draw in saved.items():
        setattr(core, name, narrow(draw))
    jax.clear_caches()  # of functions that call these
    try:
        yield
    finally:
        for name, draw in saved.items():
            setattr(core, name, draw)
        jax.clear_caches()


def as_tuple(returned: Any) -> tuple[Any, ...]:
    return returned if isinstance(returned, tuple) else (returned,)


def widen(tree: Any) -> Any:
    import jax
    return jax.tree.map(lambda a: np.asarray(a, np.float64) if jax.numpy.issubdtype(a.dtype, np.floating)
                        else np.asarray(a), tree)


def describe_refusal(text: str) -> str:
    """What IREE cannot lower, and where, of the text of its error."""
    match = re.search(r"^(\S.*?:\d+):\d+: error: (.*)", text, re.M)
    if not match:
        return text
    place, message = match.groups()
    stack = re.search(r" loc\((.*)\)$", message)
    called = re.search(r'call_target_name = "([^"]*)"', message)
    text = f"it has no {called[1]}" if called else message.partition(": %")[0].partition(" loc(")[0]
    return f"{stack and describe_location(stack[1]) or place}: {text}"


def stablehlo_to_linalg(text: str) -> str:
    """Linalg on tensors by IREE's input conversion, with MLIR's functions in the place of IREE's."""
    from iree.compiler import tools
    try:
        text = tools.compile_str(text, input_type="stablehlo", output_mlir_debuginfo=True, extra_args=[
            "--compile-to=input", "--iree-input-demote-f64-to-f32=false", "--iree-input-demote-i64-to-i32=false"]).decode()
    except tools.CompilerToolError as error:
        raise ExportError(f"IREE cannot lower the function: {describe_refusal(str(error))}") from error
    return text.replace("util.func public @main", "func.func @loss").replace("util.return", "return")


def from_jax(loss: Callable[..., Any], params: Any, inputs: dict[str, Any], *, outputs: Sequence[str] = ("loss",),
             dims: dict[str, Any] | None = None, x64: bool | None = None, check: bool = True, functions: Any = None) -> Export:
    """Exports `loss(params, *inputs.values())`, the scalar loss or a tuple that starts with it.

    params: a pytree of floating-point arrays. x64: the model itself is in float64; JAX's own setting if it is not given.
    outputs, dims, check: as for `from_torch`. functions: those of an optimizer (`optax_traced.Functions`).
    """
    import jax
    values = list(inputs.values())
    x64 = jax.config.jax_enable_x64 if x64 is None else x64
    with jax.enable_x64(x64):
        own = run_jax(loss, params, values) if check else ([], [])
        text, names, customs = jax_program.lower(loss, params, values, functions.texts if functions else {})
        text = keep_scopes(jax_program.restore(stablehlo_to_linalg(text), names, customs))
        text = functions.restore(text) if functions else text
        shapes = as_tuple(jax.eval_shape(loss, params, *values))
        arguments = [Value(jax.tree_util.keystr(path, simple=True, separator="."), "parameter", as_jax(leaf))
                     for path, leaf in jax.tree_util.tree_leaves_with_path(params)]
        data = [Value(name, "data", as_jax(value)) for name, value in inputs.items()]
    results = [Value(name, "output" if i else "loss", None, shape=list(like.shape), kind=like.dtype.name)
               for i, (name, like) in enumerate(zip(outputs, shapes))]
    if check:
        with jax.enable_x64(True), contextlib.nullcontext() if x64 else narrow_draws():
            wide = run_jax(loss, widen(params), widen(values))
        for argument, narrow, wider in zip(arguments, own[1], wide[1], strict=True):
            argument.gradient = narrow, wider
        for result, *pair in zip(results, own[0], wide[0], strict=True):
            result.own, result.wide = pair
    return Export(upstream(text), "jax", arguments + data, results, dims or {})
