# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computations with integers of 8 bits, in 32: torch-mlir takes bytes (`torch.uint8`) above 127 for negative numbers unless they
are converted first, and crashes or fails where it converts to 8 bits."""

from typing import Any

import torch

aten = torch.ops.aten

NARROW = torch.uint8, torch.int8
# Operations whose results may not fit into 8 bits; the lowest 8 bits are kept.
WRAPS = {aten._to_copy, aten.abs, aten.add, aten.bitwise_left_shift, aten.bitwise_not, aten.__lshift__, aten.div, aten.floor_divide,
         aten.mul, aten.neg, aten.pow, aten.rsub, aten.sub}


def is_narrow(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in NARROW


def widened(value: Any) -> Any:
    """Returns the value of a node with 32 bits for 8."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(widened, value))
    return value.to(torch.int32) if is_narrow(value) else value


def widen(program: torch.export.ExportedProgram) -> None:
    """Gives integers of 8 bits in `program` 32, but for those that come in and go out."""
    graph = program.graph
    kinds: dict[torch.fx.Node, torch.dtype] = {}  # of what is wide now

    def call(node: torch.fx.Node, target: Any, *arguments: Any, **options: Any) -> torch.fx.Node:
        with graph.inserting_after(node):
            result: torch.fx.Node = graph.call_function(target, (node, *arguments), options)
        result.meta = {**node.meta, "val": target(node.meta["val"], *arguments, **options)}
        result.meta.pop("tensor_meta", None)
        return result

    def wrap(node: torch.fx.Node, kind: torch.dtype) -> torch.fx.Node:
        if kind == torch.uint8:
            return call(node, aten.bitwise_and.Scalar, 255)
        return call(wrap(call(node, aten.add.Scalar, 128), torch.uint8), aten.sub.Scalar, 128)

    def replace(node: torch.fx.Node, change: Any, kind: torch.dtype) -> None:
        users = list(node.users)
        result = change(node)
        node.replace_all_uses_with(result, delete_user_cb=lambda user: user in users)
        kinds[result] = kind

    for node in list(graph.nodes):
        value = node.meta.get("val")
        first = value[0] if isinstance(value, (tuple, list)) and value else value
        if node.target is aten._assert_tensor_metadata.default and node.all_input_nodes[0] in kinds:
            graph.erase_node(node)
        elif node.op == "output":
            for operand in node.all_input_nodes:
                if operand in kinds:
                    node.replace_input_with(operand, call(operand, aten._to_copy.default, dtype=kinds[operand]))
            for spec, result in zip(program.graph_signature.output_specs, node.args[0]):
                if isinstance(result, torch.fx.Node):
                    spec.arg.name = result.name
        elif not is_narrow(first):
            continue
        elif node.op == "placeholder":
            replace(node, lambda node: call(node, aten._to_copy.default, dtype=torch.int32), first.dtype)
        elif node.op == "call_function":
            node.meta = {**node.meta, "val": widened(value)}
            node.meta.pop("tensor_meta", None)
            if node.kwargs.get("dtype") in NARROW:
                node.kwargs = {**node.kwargs, "dtype": torch.int32}
            kinds[node] = first.dtype
            if getattr(node.target, "overloadpacket", None) in WRAPS:
                replace(node, lambda node, kind=first.dtype: wrap(node, kind), first.dtype)
