# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of tensors of unknown sizes, in the words of torch-mlir: of several such dimensions that a view merges or splits, it takes
all but one for 1."""
import math
import operator
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from remat.torch.stops import insert

aten = torch.ops.aten
VIEWS = aten.view.default, aten._unsafe_view.default


def count_unknown(sizes: list[Any]) -> int:
    return sum(not isinstance(size, int) for size in sizes)


def count_equal(a: list[Any], b: list[Any]) -> int:
    """How many sizes are the same, from the first on."""
    return next((n for n, (x, y) in enumerate(zip(a, b)) if not statically_known_true(x == y)), min(len(a), len(b)))


def settle(graph: Graph, node: Node, value: Node, dim: int, parts: list[Any], sizes: list[Any]) -> list[Any]:
    """`parts`, which dimension `dim` of `value` is split into, with a size in the place of -1."""
    if -1 not in parts:
        return parts
    rest = math.prod(sizes)
    size = insert(graph, aten.sym_size.int, (value, dim), node, rest)
    for part, known in zip(parts, sizes):
        if part != -1:
            rest = rest // known
            size = insert(graph, operator.floordiv, (size, part), node, rest)
    return [size if part == -1 else part for part in parts]


def split(graph: Graph) -> None:
    """Makes each view that merges or splits several unknown sizes a merge of the dimensions that it changes, and a split of that."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in VIEWS:
            continue
        source, sizes = node.args
        before, after = list(source.meta["val"].shape), list(node.meta["val"].shape)
        first = count_equal(before, after)
        last = count_equal(before[first:][::-1], after[first:][::-1])
        merged, parts = before[first:len(before) - last], after[first:len(after) - last]
        if not merged or not parts or max(count_unknown(merged), count_unknown(parts)) < 2:
            continue
        with graph.inserting_before(node):
            result = source
            if len(merged) > 1:
                shape = [*before[:first], math.prod(merged), *before[len(before) - last:]]
                result = insert(graph, torch.ops.prims.collapse.default, (source, first, first + len(merged) - 1), node,
                                source.meta["val"].new_empty(shape))
            if len(parts) > 1:
                known = settle(graph, node, result, first, list(sizes[first:first + len(parts)]), parts)
                result = insert(graph, aten.unflatten.int, (result, first, known), node, node.meta["val"])
        node.replace_all_uses_with(result)
        graph.erase_node(node)
