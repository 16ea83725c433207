"""An exported program of PyTorch in linalg on tensors, with locations that say which module and which line of the user's source
an operation comes from, and errors that do so."""

import contextlib
import itertools
import re
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch_mlir import fx, ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras import fx_importer

from remat import torch_decompositions, torch_stops
from remat.export import ExportError
from remat.locations import describe_location, find_in_trace, is_of_user
from remat.torch_reference import plain_checkpoints, traced_bodies

OPERATOR = re.compile(r'"torch\.operator".*?<\{name = "([^"]*)"\}>')


def get_path(node: torch.fx.Node, inner: str) -> str:
    """The path of the module that `node` is in, within `inner`."""
    stack = node.meta.get("nn_module_stack")
    path: str = list(stack.values())[-1][0] if stack else ""
    return path.removeprefix("L['self']").removeprefix(".").removeprefix(inner).removeprefix(".") or "root"


class Locations(fx_importer.ContextCache):
    """Names of modules and of checkpoints, each with the line: torch-mlir's own locations are lines alone, which are the same
    for all layers that a loop makes."""

    def __init__(self, inner: str, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.inner = inner

    def get_node_location(self, node: torch.fx.Node) -> ir.Location:
        position = find_in_trace(node.meta.get("stack_trace") or "")
        child = ir.Location.file(*position, context=self._c) if position else None
        custom = node.meta.get("custom", {})
        names = [get_path(node, self.inner), ".".join(custom.get("checkpoints", ())),
                 torch_stops.NAME * custom.get(torch_stops.NAME, False)]
        locations = [ir.Location.name(name, child, context=self._c) for name in names if name]
        return locations[0] if len(locations) == 1 else ir.Location.fused(locations, context=self._c)


def from_forward(frames: Iterable[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Those of the user's source, from the model's `forward` on: what is outside of it calls the export."""
    inside = itertools.dropwhile(lambda frame: frame.name != "forward", frames)
    return [frame for frame in inside if is_of_user(frame.filename)]


@contextlib.contextmanager
def recorded_calls() -> Iterator[None]:
    """What torch.export traces records the functions that it is called from, too, rather than those named `forward` only."""
    saved = torch.fx.proxy.TracerBase._filter_traceback_frames
    torch.fx.proxy.TracerBase._filter_traceback_frames = lambda self, frames: traceback.StackSummary.from_list(
        from_forward(frames))
    try:
        yield
    finally:
        torch.fx.proxy.TracerBase._filter_traceback_frames = saved


def trace(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], shapes: Any) -> torch.export.ExportedProgram:
    try:
        with recorded_calls(), plain_checkpoints(), torch.fx.traceback.preserve_node_meta():
            return torch.export.export(module, inputs, dynamic_shapes=shapes)
    except Exception as error:  # of the model, too
        frames = from_forward(traceback.extract_tb(error.__traceback__))
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        raise ExportError(f"PyTorch cannot export the model: {place}{error}") from error


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


def describe_diagnostic(diagnostic: ir.Diagnostic) -> str:
    location, message = str(diagnostic.location), diagnostic.message
    operator = OPERATOR.search(message)
    text = f"torch-mlir has no lowering of {operator[1]}" if operator else message.partition(": %")[0]
    place = describe_location(location.removeprefix("loc(").removesuffix(")"))
    return f"{place}: {text}" if place else text


def decompose(program: torch.export.ExportedProgram, inner: str) -> torch.export.ExportedProgram:
    """`program` without what torch-mlir cannot lower, and with stand-ins where no gradient passes."""
    torch_stops.mark(program.graph_module)
    try:
        with traced_bodies():
            return program.run_decompositions(fx.get_decomposition_table() | torch_decompositions.TABLE)
    except Exception as error:  # of any decomposition
        raise ExportError(f"PyTorch cannot export the model: {describe_failure(error, inner)}{error}") from error


def import_program(program: torch.export.ExportedProgram, inner: str) -> str:
    """The text of `program` in linalg on tensors. Paths of modules are those within `inner`."""
    context, said = ir.Context(), []
    torch_dialect.register_dialect(context)

    def note(diagnostic: ir.Diagnostic) -> bool:
        is_error = diagnostic.severity == ir.DiagnosticSeverity.ERROR
        if is_error:
            said.append(describe_diagnostic(diagnostic))
        return bool(is_error)

    importer = fx_importer.FxImporter(context=context)
    importer._cc = Locations(inner, context, py_attr_tracker=importer._py_attr_tracker)
    handler = context.attach_diagnostic_handler(note)
    try:
        module = fx.export_and_import(program, fx_importer=importer, decomposition_table={},
                                      output_type="linalg-on-tensors", func_name="loss")
    except Exception as error:  # torch-mlir's are of many kinds
        message = "\n".join(said) or f"{describe_failure(error, inner)}{error}"
        raise ExportError(f"PyTorch cannot export the model: {message}") from error
    finally:
        handler.detach()
    torch_stops.restore(module)
    return str(module.operation.get_asm(enable_debug_info=True))
