# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An exported program of PyTorch in linalg on tensors, with locations that say which module and which line of the user's source
an operation comes from, and errors that do so."""

import contextlib
import re
import traceback
import warnings
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch.export.graph_signature import OutputKind
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch_mlir import fx, ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras import fx_importer
from torch_mlir.passmanager import PassManager

from remat.errors import ExportError
from remat.export.locations import describe_line, describe_location, find_in_trace, from_forward
from remat.torch import (attention, complex_numbers, decompositions, derivatives, grouped, guards, kinks, masks, operators, recurrent,
                         refused, resample, scatter, semantics, special, triangular, workarounds)
from remat.torch.custom import Application
from remat.torch.reference import plain_checkpoints, traced_bodies
from remat.torch.state import State

CHECKPOINTS = "remat.checkpoints"  # the key of the applications of torch.utils.checkpoint in the metadata of a program
OPERATOR = re.compile(r'"torch\.operator".*?<\{name = "([^"]*)"\}>')


# Those of `torch_mlir.fx.export_and_import`.
PIPELINES = ("func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline{extra-library=}",
             "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}")
# Operators of our own whose bodies are written when the pipelines have run.
WRITTEN = attention, grouped, recurrent, resample, scatter
CHECK = re.compile(r",\s*torch-verify-linalg-on-tensors-backend-contract(\{[^}]*\})?")


def get_path(node: torch.fx.Node, inner: str) -> str:
    """The path of the module that `node` is in, within `inner`."""
    stack = node.meta.get("nn_module_stack")
    path: str = list(stack.values())[-1][0] if stack else ""
    return path.removeprefix("L['self']").removeprefix(".").removeprefix(inner).removeprefix(".") or "root"


class Locations(fx_importer.ContextCache):
    """Names of modules and of checkpoints, each with the line: torch-mlir's own locations are lines alone, which are the same
    for all layers that a loop makes. Without `inner`, in functions that modules call, they are lines alone."""

    def __init__(self, inner: str | None, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.inner = inner

    def get_node_location(self, node: torch.fx.Node) -> ir.Location:
        position = find_in_trace(node.meta.get("stack_trace") or "")
        child = ir.Location.file(*position, context=self._c) if position else None
        if self.inner is None:
            return child or ir.Location.unknown(context=self._c)
        custom = node.meta.get("custom", {})
        names = [get_path(node, self.inner), ".".join(custom.get("checkpoints", ()))]
        names += custom.get("scopes", ())
        locations = [ir.Location.name(name, child, context=self._c) for name in names if name]
        return locations[0] if len(locations) == 1 else ir.Location.fused(locations, context=self._c)


@contextlib.contextmanager
def recorded_calls() -> Iterator[None]:
    """While this is entered, torch.export records all of the user's functions in the stack trace of a node, rather than those
    named `forward` only."""
    saved = torch.fx.proxy.TracerBase._filter_traceback_frames
    torch.fx.proxy.TracerBase._filter_traceback_frames = lambda self, frames: traceback.StackSummary.from_list(
        from_forward(frames))
    try:
        yield
    finally:
        torch.fx.proxy.TracerBase._filter_traceback_frames = saved


# Parts of PyTorch's messages where it cannot trace a module -> advice.
ADVICE = {
    "data-dependent expression": "forward decides by elements of a tensor (if, while, int(), range()), but the model is exported once; compute both "
    "and choose by torch.where",
    ".numpy() is not supported": "forward computes with NumPy; write it with operations of PyTorch",
    "fake tensor in the exported program constant's list": "forward makes a tensor in a way that cannot be traced (a view of what torch.func.vmap "
    "returned along other dimensions, another library); write it otherwise, or pass it as an argument"}


def describe_error(error: Exception) -> str:
    text = str(error)
    advice = next((advice for part, advice in ADVICE.items() if part in text), "")
    return f"{advice} (PyTorch says: {text.splitlines()[0]})" if advice else text


@contextlib.contextmanager
def quiet_weights() -> Iterator[None]:
    """Without a warning for each LSTM, GRU and RNN, whose weights PyTorch lists a second time."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"The tensor attributes? \S*\._flat_weights\[0\]")
        yield


def export(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], shapes: Any, state: State | None) -> torch.export.ExportedProgram:
    checkpoints: list[tuple[int, int, Any]] = []
    try:
        with (quiet_weights(), recorded_calls(), plain_checkpoints(checkpoints), semantics.kept_semantics(module, state),
              torch.fx.traceback.preserve_node_meta(), derivatives.traced(),
              state.kept() if state else contextlib.nullcontext()):
            program = torch.export.export(module, inputs, dynamic_shapes=shapes)
    except Exception as error:  # of the model, too
        frames = from_forward(traceback.extract_tb(error.__traceback__))
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        raise ExportError(f"PyTorch cannot export the model: {place}{describe_error(error)}") from error
    program.graph_module.meta[CHECKPOINTS] = checkpoints
    return program


def trace(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], shapes: Any, state: State | None = None) -> torch.export.ExportedProgram:
    """`module` as a graph. Fails, or warns, where forward changes the `state` that is kept in Python."""
    program = export(module, inputs, shapes, state)
    if state:
        state.check(program, lambda: export(module, inputs, shapes, state))
    settle_shapes(program)
    return program


def describe_target(node: torch.fx.Node) -> str:
    return str(getattr(node.target, "__name__", node.target))


def settle_shapes(program: torch.export.ExportedProgram) -> None:
    """Keeps all rows where a mask selects some. Fails at what else has a shape that depends on data: torch-mlir's passes may not
    come to an end."""
    def find() -> torch.fx.Node | None:
        for module in program.graph_module.modules():
            for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
                value = node.meta.get("val")
                if isinstance(value, torch.Tensor) and free_unbacked_symbols(value.shape):
                    return node
        return None

    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            masks.take_known(module.graph)
    selected = find()
    if selected is None:
        return
    without_rule = masks.keep_all_rows(program)
    left = selected if without_rule else find()
    if left is None:
        return
    reason = ""
    if without_rule and without_rule is not left:
        reason = f" ({describe_line(without_rule.meta.get('stack_trace'))}{describe_target(without_rule)} has no rule for rows that do not count)"
    raise ExportError(f"PyTorch cannot export the model: {describe_line(left.meta.get('stack_trace'))}how many elements "
                      f"{describe_target(left)} returns depends on data, and no shape says it{reason}; keep all, as in "
                      "torch.where(mask, x, 0).sum() / mask.sum() or cross_entropy(..., ignore_index=-100)")


def nodes_at(error: BaseException) -> Iterator[torch.fx.Node]:
    """The nodes that functions of torch's worked on when `error` was raised, from the innermost one out."""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        yield from (value for value in frame.f_locals.values() if isinstance(value, torch.fx.Node))


def describe_failure(error: BaseException, inner: str) -> str:
    """`model.py:12 (layers.0): `, where it is known which operation of the user's raised `error`; else empty."""
    for node in nodes_at(error):
        if position := find_in_trace(node.meta.get("stack_trace") or ""):
            return f"{position[0]}:{position[1]} ({get_path(node, inner)}): "
    return ""


def describe_place(location: ir.Location) -> str:
    """`model.py:12 (layers.0): `, or nothing."""
    place = describe_location(str(location).removeprefix("loc(").removesuffix(")"))
    return f"{place}: " if place else ""


def describe_diagnostic(diagnostic: ir.Diagnostic) -> str:
    operator = OPERATOR.search(diagnostic.message)
    text = f"torch-mlir has no lowering of {operator[1]}" if operator else diagnostic.message.partition(": %")[0]
    return describe_place(diagnostic.location) + text


def describe_unlowered(module: ir.Module) -> str:
    """The first operation of torch's that is left in `module`, where the message is about an operand of it, a constant."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("torch.aten."):
            found.append(operation)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return f"{describe_place(found[0].location)}torch-mlir has no lowering of {found[0].name}" if found else ""


def decompose(program: torch.export.ExportedProgram, inner: str) -> torch.export.ExportedProgram:
    """`program` without what torch-mlir cannot lower."""
    try:
        with traced_bodies():
            program = program.run_decompositions(fx.get_decomposition_table() | refused.TABLE | decompositions.TABLE
                                                 | kinks.TABLE | special.TABLE | triangular.TABLE
                                                 | complex_numbers.TABLE | resample.TABLE | recurrent.TABLE | grouped.table() | attention.TABLE
                                                 | workarounds.TABLE)
    except Exception as error:  # of any decomposition
        reason = str(error).partition("\n\nWhile executing")[0]  # a node of PyTorch's graph, and its own trace
        raise ExportError(f"PyTorch cannot export the model: {describe_failure(error, inner)}{reason}") from error
    workarounds.apply(program)
    return program


def drop_writes(program: torch.export.ExportedProgram, inner: str, frozen: Collection[str] = ()) -> None:
    """Takes what is written to a batch out of the results: it stays inside of the program. Parameters that are `frozen` are states
    if they are written to, as buffers are; fails if another one is."""
    output, specs = program.graph.output_node(), program.graph_signature.output_specs
    for value, spec in zip(output.args[0], specs):
        if spec.kind == OutputKind.PARAMETER_MUTATION and spec.target in frozen:
            spec.kind = OutputKind.BUFFER_MUTATION
        elif spec.kind == OutputKind.PARAMETER_MUTATION:
            raise ExportError(f"PyTorch cannot export the model: {describe_line(value.meta.get('stack_trace'))}forward writes to the "
                              f"parameter {spec.target.removeprefix(f'{inner}.')}, which only the optimizer may; renormalize rows where they are "
                              "read (torch.renorm(rows, 2, 0, max_norm)) in the place of Embedding(max_norm=...)")
    kept = [(value, spec) for value, spec in zip(output.args[0], specs) if spec.kind != OutputKind.USER_INPUT_MUTATION]
    output.args = (tuple(value for value, _ in kept),)
    specs[:] = [spec for _, spec in kept]


class Traced(torch.nn.Module):
    """A graph, run so that what torch.export traces of it keeps the lines."""

    def __init__(self, traced: torch.fx.GraphModule):
        super().__init__()
        self.traced = traced

    def forward(self, *values: torch.Tensor) -> Any:
        return torch.fx.Interpreter(self.traced).run(*values)


def add_functions(importer: fx_importer.FxImporter, applications: dict[str, Application]) -> None:
    """Adds the functions with a derivative by hand, and their derivatives, to the module of `importer`, and calls them."""
    importer._cc.inner = None
    for application in applications.values():
        with recorded_calls():
            traced = list(application.trace())
        for name, graph, inputs in traced:
            program = decompose(trace(Traced(graph), tuple(inputs), None), "")
            function = importer.import_frozen_program(program, func_name=name)
            with importer.module.context:
                function.attributes["no_inline"] = ir.UnitAttr.get()
    operators.call(importer.module, lambda operator: applications[operator.attributes["name"].value].name,
                   applications)


def lower(module: ir.Module) -> None:
    """From the torch dialect to linalg on tensors, by torch-mlir's pipelines, the last of whose passes checks that no calls are
    left."""
    module.context.emit_error_diagnostics = True
    called = operators.find_called(module)
    for pipeline in PIPELINES:
        with module.context:
            text = str(PassManager.parse(f"builtin.module({pipeline})"))
            PassManager.parse(CHECK.sub("", text) if called else text).run(module.operation)
    if lost := called - operators.find_called(module):
        raise ExportError(f"torch-mlir has lost where it calls {', '.join(sorted(lost))}, without which gradients are others")


def bind_rules(module: ir.Module, applications: dict[str, Application]) -> None:
    """Makes the functions private, and says which one is whose derivative."""
    for function in module.body.operations:
        if "no_inline" in function.attributes:
            del function.attributes["no_inline"]
            with module.context:
                function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        for application in applications.values():
            ir.Operation.create("remat.custom_vjp", attributes={
                "rule": ir.FlatSymbolRefAttr.get(f"{application.name}_vjp"),
                "target": ir.FlatSymbolRefAttr.get(application.name)})


def import_program(program: torch.export.ExportedProgram, inner: str, applications: dict[str, Application]) -> str:
    """The text of `program` in linalg on tensors. Paths of modules are those within `inner`; `applications` are the functions with
    a derivative by hand."""
    context, said = ir.Context(), []
    torch_dialect.register_dialect(context)

    def note(diagnostic: ir.Diagnostic) -> bool:
        is_error = diagnostic.severity == ir.DiagnosticSeverity.ERROR
        if is_error:
            said.append(describe_diagnostic(diagnostic))
        return bool(is_error)

    checks = guards.mark(program.graph)
    importer = fx_importer.FxImporter(context=context)
    importer._cc = Locations(inner, context, py_attr_tracker=importer._py_attr_tracker)
    handler = context.attach_diagnostic_handler(note)
    try:
        importer.import_frozen_program(program, func_name="loss")
        add_functions(importer, applications)
        operators.add_stops(importer.module)
        guards.add_calls(importer.module)
        for written in WRITTEN:
            operators.add_calls(importer.module, written.NAME)
        lower(importer.module)
    except ExportError:
        raise
    except Exception as error:  # torch-mlir's are of many kinds
        message = "\n".join(said) or f"{describe_failure(error, inner)}{error}"
        if "'torch.constant." in message:
            message = describe_unlowered(importer.module) or message
        raise ExportError(f"PyTorch cannot export the model: {message}") from error
    finally:
        handler.detach()
    operators.restore_stops(importer.module)
    guards.describe_indices(importer.module)
    guards.restore(importer.module, checks)
    for written in WRITTEN:
        operators.add_bodies(importer.module, written.NAME, written.write)
    bind_rules(importer.module, applications)
    return str(importer.module.operation.get_asm(enable_debug_info=True))
