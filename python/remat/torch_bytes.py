"""Computations with bytes (`torch.uint8`), as integers of 32 bits: torch-mlir takes those above 127 for negative numbers unless they
are converted first, and crashes where it converts to bytes."""

from typing import Any

import torch

aten = torch.ops.aten

# What gives numbers that are not in 0..255, of which bytes keep the lowest 8 bits.
WRAPS = {aten._to_copy, aten.add, aten.bitwise_left_shift, aten.bitwise_not, aten.__lshift__, aten.mul, aten.neg, aten.pow, aten.rsub,
         aten.sub}


def is_bytes(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.uint8


def widened(value: Any) -> Any:
    """What stands for the value of a node."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(widened, value))
    return value.to(torch.int32) if is_bytes(value) else value


def widen(program: torch.export.ExportedProgram) -> None:
    """Gives bytes in `program` 32 bits, but for those that come in and go out."""
    graph = program.graph
    inputs = set()

    def call(node: torch.fx.Node, target: Any, *arguments: Any, **options: Any) -> torch.fx.Node:
        result: torch.fx.Node = graph.call_function(target, (node, *arguments), options)
        result.meta = {**node.meta, "val": target(node.meta["val"], *arguments, **options)}
        result.meta.pop("tensor_meta", None)
        return result

    def replace(node: torch.fx.Node, result: torch.fx.Node) -> None:
        node.replace_all_uses_with(result, delete_user_cb=lambda user: user is not result)

    for node in list(graph.nodes):
        value = node.meta.get("val")
        if node.target is aten._assert_tensor_metadata.default and node.all_input_nodes[0] in inputs:
            graph.erase_node(node)
        elif node.op == "output":
            for operand in node.all_input_nodes:
                if operand in inputs:
                    with graph.inserting_before(node):
                        narrow = call(operand, aten._to_copy.default, dtype=torch.uint8)
                    node.replace_input_with(operand, narrow)
            for spec, result in zip(program.graph_signature.output_specs, node.args[0]):
                if isinstance(result, torch.fx.Node):
                    spec.arg.name = result.name
        elif not any(map(is_bytes, value if isinstance(value, (tuple, list)) else [value])):
            continue
        elif node.op == "placeholder":
            with graph.inserting_after(node):
                wide = call(node, aten._to_copy.default, dtype=torch.int32)
            replace(node, wide)
            inputs.add(wide)
        elif node.op == "call_function":
            node.meta = {**node.meta, "val": widened(value)}
            node.meta.pop("tensor_meta", None)
            if node.kwargs.get("dtype") == torch.uint8:
                node.kwargs = {**node.kwargs, "dtype": torch.int32}
            inputs.add(node)
            if getattr(node.target, "overloadpacket", None) in WRAPS:
                with graph.inserting_after(node):
                    wrapped = call(node, aten.bitwise_and.Scalar, 255)
                replace(node, wrapped)
                inputs.add(wrapped)
