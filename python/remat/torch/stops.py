# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where no gradient passes in a PyTorch module: `Tensor.detach`, `Tensor.item`, `torch.no_grad`, the row of an embedding's `padding_idx`.

Lowered, they leave no trace. So before an exported program is lowered, a stand-in is put there: an operator of our own,
then a call of a function that nothing looks into, and a `remat.stop_gradient` in the end. None can be lost on the way without an
error, and no operation of the model can be taken for one.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from remat.errors import ExportError
from remat.export.locations import describe_line

aten = torch.ops.aten
NAME = "stop_gradient"
LIBRARY = torch.library.Library("remat", "FRAGMENT")
LIBRARY.define(f"{NAME}(Tensor x) -> Tensor")
LIBRARY.impl(NAME, torch.clone, "CompositeExplicitAutograd")  # of constants, it is computed
STAND_IN = torch.ops.remat.stop_gradient.default


def is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and bool(value.is_floating_point() or value.is_complex())


def insert(graph: Graph, target: Any, args: tuple[Any, ...], like: Node, value: torch.Tensor) -> Node:
    """Adds a call at the insertion point, with the location of `like` and a value like `value`."""
    node = graph.call_function(target, args)
    node.meta = {key: like.meta[key] for key in ("nn_module_stack", "stack_trace", "custom") if key in like.meta}
    node.meta["val"] = value
    return node


def stop(graph: Graph, node: Node, like: Node) -> Node:
    return insert(graph, STAND_IN, (node,), like, node.meta["val"])


def stop_padding(graph: Graph, node: Node) -> None:
    """Makes the row of `padding_idx` get no gradient from `node`, an embedding."""
    weight, places, padding, *rest = node.args
    with graph.inserting_after(node):
        free = insert(graph, node.target, (weight, places, -1, *rest), node, node.meta["val"])
    with graph.inserting_after(free):
        stopped = stop(graph, free, node)
    at = places.meta["val"]
    with graph.inserting_after(stopped):
        is_padding = insert(graph, aten.eq.Scalar, (places, padding), node, at.new_empty(at.shape, dtype=torch.bool))
    with graph.inserting_after(is_padding):
        column = insert(graph, aten.unsqueeze.default, (is_padding, -1), node,
                        at.new_empty((*at.shape, 1), dtype=torch.bool))
    with graph.inserting_after(column):
        chosen = insert(graph, aten.where.self, (column, stopped, free), node, node.meta["val"])
    node.replace_all_uses_with(chosen)
    graph.erase_node(node)


def find_aliases(user: Node) -> Iterator[tuple[Node, Any]]:
    """Yields the arguments of an operation whose memory its results share or to which it writes, and the schema's alias info."""
    schema = getattr(user.target, "_schema", None)
    given = dict(zip([a.name for a in schema.arguments], user.args), **user.kwargs) if schema else {}
    for argument in schema.arguments if schema else ():
        values = given.get(argument.name)
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if argument.alias_info and isinstance(value, Node):
                yield value, argument.alias_info


def get_alias(user: Node, node: Node) -> Any:
    """Returns the schema's alias info of the arguments of `user` that are `node`, that of a write if there is one, or None."""
    found = [alias for value, alias in find_aliases(user) if value is node]
    return max(found, key=lambda alias: alias.is_write, default=None)


def find_writes(node: Node) -> Iterator[Node]:
    """Yields the operations that write to `node`, or to a view of it."""
    for user in node.users:
        if alias := get_alias(user, node):
            yield from [user] if alias.is_write else find_writes(user)


def is_written(node: Node) -> bool:
    return any(find_writes(node))


def find_root(node: Node) -> Node:
    """Returns the node that `node` is a view of, or itself."""
    while source := next((value for value, _ in find_aliases(node)), None):
        node = source
    return node


def find_reads(node: Node, beside: Node) -> Iterator[Node]:
    """Yields the operations that read `node` or a view of it other than `beside`."""
    for user in node.users:
        if user is not beside:
            yield user
            if get_alias(user, node):
                yield from find_reads(user, beside)


def stop_detached(node: Node) -> None:
    """Makes `node`, a detach, a stand-in, which shares no memory with what is detached."""
    if node.args[0].target is aten.lift_fresh_copy.default:  # a constant, which the export itself detaches
        return
    root, writes = find_root(node), list(find_writes(node))
    if writes and root.op == "placeholder":  # as to a buffer, by its `data`; no gradient has been lost
        return
    order = {other: i for i, other in enumerate(node.graph.nodes)}
    first = min((order[write] for write in writes), default=None)
    if first is not None and any(order[read] > first for read in find_reads(root, node)):
        raise ExportError(f"{describe_line(node.meta.get('stack_trace'))}the model writes to a tensor through its detach() or data, and "
                          "reads it afterwards, with gradients that the export cannot say; write to a clone")
    node.target = STAND_IN


def stop_all(graph: Graph) -> None:
    """The whole of `graph`, which runs without gradients."""
    if any(node.target is torch.ops.higher_order.wrap_with_set_grad_enabled for node in graph.nodes):
        raise ExportError("torch.enable_grad inside of torch.no_grad has gradients that the export cannot say")
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    with graph.inserting_after(inputs[-1] if inputs else None):
        for node in inputs:
            if is_float(node) and not is_written(node):
                readers = list(node.users)
                marked = stop(graph, node, readers[0] if readers else node)
                for reader in readers:
                    reader.replace_input_with(node, marked)


def mark(module: GraphModule) -> None:
    """Puts stand-ins into the graphs of `module`, an exported one, wherever no gradient passes."""
    for node in list(module.graph.nodes):
        if node.target in (aten.detach.default, aten.detach_.default) and is_float(node):
            stop_detached(node)
        elif node.target in (aten.item.default, aten._local_scalar_dense.default) and is_float(node.args[0]):
            with module.graph.inserting_before(node):
                node.replace_input_with(node.args[0], stop(module.graph, node.args[0], node))
        elif node.target is aten.embedding.default and len(node.args) > 2 and node.args[2] >= 0:
            stop_padding(module.graph, node)
        elif node.target is torch.ops.higher_order.wrap_with_set_grad_enabled and not node.args[0]:
            body = getattr(module, node.args[1].target)
            stop_all(body.graph)
            body.recompile()
        else:
            for argument in node.args:
                if isinstance(argument, torch.fx.Node) and argument.op == "get_attr" and \
                        isinstance(body := getattr(module, argument.target, None), torch.fx.GraphModule):
                    mark(body)
    module.recompile()
