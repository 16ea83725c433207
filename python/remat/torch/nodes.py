# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that are put into graphs of PyTorch, with their values as tensors without elements."""
from collections.abc import Callable
from typing import Any

import torch

# Keys of a node's metadata that say where in the model it comes from.
PLACES = ("stack_trace", "nn_module_stack", "source_fn_stack")


def value_of(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else node


def arguments_of(node: torch.fx.Node) -> dict[str, Any]:
    """Returns all arguments by the names of the operator's schema, defaults as well."""
    parameters = node.target._schema.arguments
    given = {p.name: p.default_value for p in parameters if p.has_default_value()}
    return {**given, **dict(zip((p.name for p in parameters), node.args)), **node.kwargs}


def call(graph: torch.fx.Graph, like: torch.fx.Node, mode: Any, target: Callable[..., Any], /, *arguments: Any, **named: Any) -> torch.fx.Node:
    """Adds a call where `graph` inserts nodes, with the location of `like`; `mode` has the tensors without elements."""
    node = graph.call_function(target, arguments, named)
    node.meta = {key: like.meta[key] for key in PLACES if key in like.meta}
    with mode:
        node.meta["val"] = target(*torch.fx.node.map_arg(arguments, value_of), **torch.fx.node.map_arg(named, value_of))
    return node
