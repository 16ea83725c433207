# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a PyTorch module to a `remat.export.Export`."""

import contextlib
import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from remat.export.exported import Export, Value, upstream
from remat.torch import complex_numbers, custom, described, lowering, scopes, semantics, stops, written
from remat.torch.reference import Draws, Wide, plain_checkpoints
from remat.torch.state import State


def to_numpy(tensor: Any) -> Any:
    import ml_dtypes
    if described.is_described(tensor):
        return described.make_empty(tensor)
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy().copy()


@contextlib.contextmanager
def default_type(kind: Any) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def run_torch(module: Any, inputs: list[Any], wide: bool) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Outputs, gradients by parameter, and buffers after the step; in float64 if `wide`."""
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
               dims: dict[str, Any] | None = None, dynamic: dict[str, dict[int, Any]] | None = None, check: bool = True,
               modules: Sequence[str] = (), as_written: bool = False) -> Export:
    """Exports `module(*inputs.values())`, a tensor or a tuple whose first one is the loss.

    outputs: names of the results; further ones are `output<i>`. inner: the submodule within which parameters, buffers and
        locations have their names. dims: facts about the model, kept in the JSON.
    dynamic: `{input: {axis: dimension}}` for dimensions that the program shall not know, by name, or as a
        `torch.export.Dim` if they have bounds.
    modules: paths of modules, within `inner`, whose operations get a scope of their own (scopes.py).
    as_written: ask the policies of `torch.utils.checkpoint`; the answers are in `written` of the export.
    check: record outputs and gradients; without, the module does not run, and NAME.npz has its arguments only.
    """
    values, dynamic = list(inputs.values()), dynamic or {}
    symbols = {d: torch.export.Dim(d) if isinstance(d, str) else d for axes in dynamic.values() for d in axes.values()}
    shapes = tuple({a: symbols[d] for a, d in dynamic.get(n, {}).items()} or None for n in inputs) if dynamic else None
    own, wide = (run_torch(module, values, wide) if check else ([], {}, {}) for wide in (False, True))
    tensors = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers())
    semantics.check_parameters(module, inner)
    functions = custom.Functions()
    with functions.kept():
        program = lowering.trace(module, tuple(values), shapes, State(module, inner))
    scopes.mark_modules(program, inner, modules)
    own_policies = written.mark(program, program.graph_module.meta[lowering.CHECKPOINTS]) if as_written else None
    stops.mark(program.graph_module)
    complex_numbers.lift_numbers(program)
    complex_numbers.split_constants(program, inner)
    program = lowering.decompose(program, inner)
    lowering.drop_writes(program, inner, {name for name, tensor in tensors.items() if not tensor.requires_grad})

    arguments, results = [], []
    rest = iter(inputs.items())
    for spec in drop_unread_names(program, tensors):
        if spec.kind == InputKind.USER_INPUT:
            name, tensor = next(rest)
            shape = [-1 if a in dynamic.get(name, {}) else n for a, n in enumerate(tensor.shape)]
            arguments.append(Value(name, "data", to_numpy(tensor), shape=shape))
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            value = Value(spec.target.removeprefix(f"{inner}."), "buffer", to_numpy(complex_numbers.get_pairs(tensors[spec.target])))
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
    text = lowering.import_program(program, inner, functions.applications)
    return Export(upstream(text), "torch", arguments, results, dims or {}, own_policies)
