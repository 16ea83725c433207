# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask selects, of which data decides how many there are: `x[mask]`, `masked_select(x, mask)`, `x[torch.where(mask)]`.

A program of fixed shapes has no such array. All rows stay, with the mask that says which count: what computes each row from itself computes all of them,
sums and means take those that count, cross entropy ignores the others. Rows that do not count have the elements of the first one that does, so that no
row is computed of what the model would have left out: a logarithm of zero would make gradients NaN, even as a factor of zero. The positions of what a
mask has true (`torch.where(mask)`, `mask.nonzero()`) are such rows, too, and what is read at them.
"""
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_symbols, free_unbacked_symbols

from remat.torch import nodes
from remat.torch.nodes import arguments_of, value_of

aten = torch.ops.aten
SELECTIONS = (aten.index.Tensor, aten.masked_select.default)
POSITIONS = (aten.where.default, aten.nonzero_numpy.default, aten.nonzero.default)
ADDITIONS = {aten.index_add.default, aten.index_add_.default}
# Each row of the result follows from the same row of the operands that have rows; checked by shapes and `dim`.
BY_ROWS = {aten.linear.default, aten.matmul.default, aten.mm.default, aten.addmm.default, aten.embedding.default, aten.softmax.int,
           aten.log_softmax.int, aten.layer_norm.default, aten.rms_norm.default, aten.unsqueeze.default, aten.squeeze.dim,
           aten.select.int, aten.slice.Tensor, aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default,
           aten.logsumexp.default, aten.gather.default, aten.argmax.default, aten.one_hot.default, aten.cumsum.default,
           aten.expand_as.default, aten.var.correction, aten.std.correction, aten.var.dim, aten.std.dim, aten.linalg_vector_norm.default, aten.norm.ScalarOpt_dim, aten.cosine_similarity.default}
PUTS = {aten.index_put.default, aten.index_put_.default}
SHAPES = {aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.flatten.using_ints}
LOSSES = {aten.mse_loss.default, aten.l1_loss.default, aten.smooth_l1_loss.default, aten.huber_loss.default,
          aten.binary_cross_entropy.default, aten.binary_cross_entropy_with_logits.default, aten.kl_div.default,
          aten.soft_margin_loss.default, aten.margin_ranking_loss.default, aten.hinge_embedding_loss.default,
          aten.poisson_nll_loss.default}
CLASS_LOSSES = {aten.cross_entropy_loss.default, aten.nll_loss_nd.default, aten.nll_loss.default}
REDUCTIONS = {aten.sum.default, aten.mean.default, aten.sum.dim_IntList, aten.mean.dim}
VARIANCES = {aten.var.correction, aten.std.correction, aten.var.dim, aten.std.dim, aten.var.default, aten.std.default}
WHERE = {aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar}
ELEMENTWISE = WHERE | {aten.floor_divide.default}
EXTREMES = {aten.max.default: -float("inf"), aten.min.default: float("inf")}
# Operations that check shapes that depend on data, and numbers that are computed from these.
CHECKS = {aten._assert_scalar.default, aten._assert_tensor_metadata.default, aten.sym_constrain_range_for_size.default,
          aten.sym_constrain_range.default}
COUNTED = {operator.mul: aten.mul.Tensor, operator.add: aten.add.Tensor, operator.sub: aten.sub.Tensor,
           operator.truediv: aten.div.Tensor, operator.ge: aten.ge.Scalar, operator.le: aten.le.Scalar, operator.gt: aten.gt.Scalar}
COPIES = {"aten::to", "aten::_to_copy", "aten::clone", "aten::contiguous", "aten::dropout", "aten::detach", "aten::alias", "remat::stop_gradient"}
MEAN, NONE = 1, 0


class Refusal(Exception):
    """An operation on selected rows that there is no rule for; the first argument is its node."""


def is_alias(node: torch.fx.Node) -> bool:
    return not isinstance(node.target, torch._ops.OpOverload) or any(r.alias_info is not None for r in node.target._schema.returns)


def has_effect(node: torch.fx.Node) -> bool:
    return node.target is aten._assert_async.msg or writes(node)


def writes(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def memory_of(node: torch.fx.Node) -> torch.fx.Node:
    """The node that made what `node` may be a view of."""
    while node.op == "call_function" and is_alias(node) and node.args and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    return node


def written_operands(node: torch.fx.Node) -> list[torch.fx.Node]:
    given = arguments_of(node)
    found = [given.get(p.name) for p in node.target._schema.arguments if p.alias_info is not None and p.alias_info.is_write]
    return [operand for operand in found if isinstance(operand, torch.fx.Node)]


class Keeper:
    """Rewrites one graph."""

    def __init__(self, program: torch.export.ExportedProgram):
        self.program, self.graph = program, program.graph
        self.rows: dict[torch.fx.Node, torch.fx.Node] = {}    # a node with all rows -> its mask
        self.counts: dict[torch.fx.Node, torch.fx.Node] = {}  # a mask -> how many rows count
        self.shapes: dict[torch.fx.Node, list[int]] = {}      # a mask -> the shape that it had
        self.dims: dict[torch.fx.Node, int] = {}              # positions of rows -> the dimension of their mask that they count
        self.columns: dict[torch.fx.Node, list[torch.fx.Node]] = {}  # positions in several columns -> each of them
        self.now: dict[torch.fx.Node, Any] = {}               # a node of the program -> what stands for it
        self.masks: dict[Any, torch.fx.Node] = {}             # by what computes them
        self.written = {memory_of(operand) for node in self.graph.nodes if writes(node) and node.target is not aten.detach_.default
                        for operand in written_operands(node)}

    def emit(self, target: Callable[..., Any], /, *arguments: Any, **named: Any) -> torch.fx.Node:
        try:
            return nodes.call(self.graph, self.at, self.fake_mode, target, *arguments, **named)
        except Exception as error:  # A shape that depends on how many there are.
            raise Refusal(self.at) from error

    def key(self, node: Any) -> Any:
        """Equal for what computes the same from the same, none of which is written to or drawn."""
        if isinstance(node, (list, tuple)):
            return tuple(map(self.key, node))
        if not isinstance(node, torch.fx.Node) or node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) and \
                node.target is not operator.getitem or any(memory_of(n) in self.written for n in (node, *node.all_input_nodes)) or \
                torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return str(node)
        if node.target is aten.to.dtype and value_of(node).dtype == value_of(node.args[0]).dtype:
            return self.key(node.args[0])
        return node.target, tuple(map(self.key, node.args)), tuple((k, self.key(v)) for k, v in node.kwargs.items())

    # --- Selections ------------------------------------------------------------------------------

    def select(self, node: torch.fx.Node) -> torch.fx.Node:
        given = arguments_of(node)
        x = self.now.get(given["self"], given["self"])
        if node.target is aten.masked_select.default:
            masks = [self.now.get(given["mask"], given["mask"])]
            shape = torch.broadcast_shapes(value_of(x).shape, value_of(masks[0]).shape)
            x, masks[0] = (self.emit(aten.expand.default, operand, list(shape)) for operand in (x, masks[0]))
        else:
            masks = [self.now.get(index, index) for index in given["indices"]]
            while masks and masks[-1] is None:
                masks.pop()
        if len(masks) != 1 or masks[0] in self.rows or x in self.rows or value_of(masks[0]).dtype != torch.bool:
            raise Refusal(node)
        mask = self.flatten(node, masks[0])
        return self.keep(mask, self.emit(aten.flatten.using_ints, x, 0, len(self.shapes[mask]) - 1))

    def flatten(self, node: torch.fx.Node, given: torch.fx.Node) -> torch.fx.Node:
        """Returns the mask `given` with one boolean for each row. Raises a Refusal if it has no dimensions or is written to."""
        shape = value_of(given).shape
        if len(shape) == 0 or memory_of(given) in self.written:  # rows would be counted by another mask
            raise Refusal(node)
        mask = self.masks.get(self.key(given))
        if mask is None:
            mask = given if value_of(given).dtype == torch.bool else self.emit(aten.ne.Scalar, given, 0)
            mask = self.masks[self.key(given)] = self.emit(aten.flatten.using_ints, mask, 0, len(shape) - 1)
            self.shapes[mask] = list(shape)
        return mask

    def keep(self, mask: torch.fx.Node, rows: torch.fx.Node) -> torch.fx.Node:
        """Returns all rows, with the first row that counts in the place of those that do not."""
        first = self.emit(aten.argmax.default, self.emit(aten.to.dtype, mask, torch.int32), 0, True)
        kept = self.emit(aten.where.self, self.spread(mask, value_of(rows).dim()), rows,
                         self.emit(aten.index_select.default, rows, 0, first))
        self.rows[kept] = mask
        return kept

    def find(self, node: torch.fx.Node) -> Any:
        """Returns the positions of true elements: one vector for each dimension of the mask, or, for nonzero, these as columns."""
        given = node.args[0]
        if node in self.written:
            raise Refusal(node)
        mask = self.flatten(node, self.now.get(given, given))
        shape = self.shapes[mask]
        columns = []
        for dim, size in enumerate(shape):
            numbers = self.emit(aten.reshape.default, self.emit(aten.arange.default, size, dtype=torch.int64, device=value_of(mask).device),
                                [size if d == dim else 1 for d in range(len(shape))])
            columns.append(self.keep(mask, self.emit(aten.reshape.default, self.emit(aten.expand.default, numbers, shape), [-1])))
            self.dims[columns[-1]] = dim
        if node.target is not aten.nonzero.default:
            return tuple(columns)
        result = self.emit(aten.stack.default, columns, 1)
        self.rows[result], self.columns[result] = mask, columns
        return result

    def counts_rows(self, positions: list[torch.fx.Node | None], mask: torch.fx.Node, x: torch.fx.Node) -> bool:
        """Returns true if `positions` are those of all rows of `x`, in order, which have the shape of the mask."""
        shape = self.shapes[mask]
        return [self.dims.get(p) for p in positions] == list(range(len(shape))) and list(value_of(x).shape[:len(shape)]) == shape

    def read(self, node: torch.fx.Node, x: torch.fx.Node, positions: list[torch.fx.Node | None], mask: torch.fx.Node) -> torch.fx.Node:
        """Returns the elements of `x` at `positions`, as rows of `mask`. Raises a Refusal if these are not positions of rows."""
        while positions and positions[-1] is None:
            positions = positions[:-1]
        while positions and positions[0] is None and value_of(x).shape[0] == 1:  # x[None, positions]
            x, positions = self.emit(aten.squeeze.dim, x, 0), positions[1:]
        if not positions or x in self.rows or any(p not in self.rows or value_of(p).dim() != 1 for p in positions):
            raise Refusal(node)
        if self.counts_rows(positions, mask, x):
            return self.keep(mask, self.emit(aten.flatten.using_ints, x, 0, len(positions) - 1))
        result = self.emit(aten.index.Tensor, x, positions)
        self.rows[result] = mask
        return result

    def add(self, node: torch.fx.Node, given: dict[str, Any], mask: torch.fx.Node) -> torch.fx.Node:
        """Adds to the elements at the positions of rows; rows that do not count add zero."""
        x, index, source = given["self"], given["index"], given["source"]
        if x in self.rows or index not in self.rows or source not in self.rows or given["dim"] % value_of(x).dim() != 0:
            raise Refusal(node)
        terms = self.counted(source)
        if self.counts_rows([index], mask, x):
            return self.write(node, x, self.emit(aten.add.Tensor, x, terms, alpha=given["alpha"]))
        return self.write(node, x, self.emit(aten.index_add.default, x, 0, index, terms, alpha=given["alpha"]))

    def counted(self, x: torch.fx.Node) -> torch.fx.Node:
        """Zero where a row does not count."""
        return self.emit(aten.where.ScalarOther, self.spread(self.rows[x], value_of(x).dim()), x, 0)

    def spread(self, mask: torch.fx.Node, rank: int) -> torch.fx.Node:
        for dim in range(1, rank):
            mask = self.emit(aten.unsqueeze.default, mask, dim)
        return mask

    def put(self, node: torch.fx.Node, given: dict[str, Any], mask: torch.fx.Node) -> torch.fx.Node:
        """Into the rows that were selected."""
        indices, x = given["indices"], given["self"]
        while indices and indices[-1] is None:
            indices = indices[:-1]
        if None in indices or x in self.rows:
            raise Refusal(node)
        is_mask = len(indices) == 1 and self.masks.get(self.key(indices[0])) is mask
        if not is_mask and not self.counts_rows(indices, mask, x):
            if not {*indices, given["values"]} <= self.rows.keys():
                raise Refusal(node)
            if not given["accumulate"]:
                return self.write(node, x, self.put_last(node, indices, x, given["values"], mask))
            return self.write(node, x, self.emit(aten.index_put.default, x, indices, self.counted(given["values"]), True))
        rows = self.emit(aten.flatten.using_ints, x, 0, len(self.shapes[mask]) - 1)
        values = self.emit(aten.add.Tensor, rows, given["values"]) if given["accumulate"] else given["values"]
        put = self.emit(aten.where.self, self.spread(mask, value_of(rows).dim()), values, rows)
        return self.write(node, x, self.emit(aten.reshape.default, put, value_of(x).shape))

    def put_last(self, node: torch.fx.Node, indices: list[torch.fx.Node], x: torch.fx.Node, values: torch.fx.Node,
                 mask: torch.fx.Node) -> torch.fx.Node:
        """At positions of some dimensions of the mask: of several rows for one of these, the last one that counts."""
        shape, dims = self.shapes[mask], [self.dims.get(i) for i in indices]
        places = [shape[d] for d in dims if d is not None]
        if len(set(dims)) < len(dims) or len(places) < len(dims) or list(value_of(x).shape[:len(dims)]) != places:
            raise Refusal(node)
        numbers = self.emit(aten.arange.default, math.prod(shape), dtype=torch.int64, device=value_of(mask).device)
        order = [*dims, *(d for d in range(len(shape)) if d not in dims)]
        numbers, counts = (self.emit(aten.reshape.default, self.emit(aten.permute.default, self.emit(aten.reshape.default, n, shape), order),
                                     [math.prod(places), -1]) for n in (numbers, mask))
        last = self.emit(aten.amax.default, self.emit(aten.where.ScalarOther, counts, numbers, -1), [1])
        written = self.emit(aten.index_select.default, values, 0, self.emit(aten.clamp_min.default, last, 0))
        rows = self.emit(aten.flatten.using_ints, x, 0, len(dims) - 1)
        put = self.emit(aten.where.self, self.spread(self.emit(aten.ge.Scalar, last, 0), value_of(rows).dim()), written, rows)
        return self.emit(aten.reshape.default, put, value_of(x).shape)

    def write(self, node: torch.fx.Node, x: torch.fx.Node, result: torch.fx.Node) -> torch.fx.Node:
        """`result`, in the memory of `x` if `node` writes to that: what else reads the memory sees it."""
        if not writes(node):
            return result
        if memory_of(x).op != "call_function":
            raise Refusal(node)
        return self.emit(aten.copy_.default, x, result)

    # --- What is made of them --------------------------------------------------------------------

    def count(self, mask: torch.fx.Node) -> torch.fx.Node:
        if mask not in self.counts:
            self.counts[mask] = self.emit(aten.sum.default, mask)
        return self.counts[mask]

    def number(self, x: torch.fx.Node, dims: list[int] | None) -> torch.fx.Node:
        """How many elements a sum over `dims` has."""
        value, others = value_of(x), 1
        for dim in dims or range(value.dim()):
            others = others * (value.shape[dim] if dim % value.dim() else 1)
        return self.emit(aten.mul.Tensor, self.count(self.rows[x]), others)

    def reduce(self, x: torch.fx.Node, is_mean: bool, dims: list[int] | None, keepdim: bool = False,
               dtype: Any = None) -> torch.fx.Node:
        rank = value_of(x).dim()
        dims = [dim % rank for dim in dims or range(rank)]
        total = self.emit(aten.sum.dim_IntList, self.counted(x), dims, keepdim, dtype=dtype)
        return self.emit(aten.div.Tensor, total, self.number(x, dims)) if is_mean else total

    def vary(self, node: torch.fx.Node, given: dict[str, Any], dims: list[int] | None) -> torch.fx.Node:
        """The variance, or its root."""
        x, correction = given["self"], given.get("correction", int(given.get("unbiased", True)))
        correction = 1 if correction is None else correction
        difference = self.emit(aten.sub.Tensor, x, self.reduce(x, True, dims, keepdim=True))
        square = self.emit(aten.mul.Tensor, difference, difference)
        self.rows[square] = self.rows[x]
        mean = self.reduce(square, True, dims, given.get("keepdim", False))
        number = self.number(x, dims)
        rest = self.emit(aten.clamp_min.default, self.emit(aten.sub.Tensor, number, correction), 0)
        variance = self.emit(aten.mul.Tensor, mean, self.emit(aten.div.Tensor, number, rest))
        return self.emit(aten.sqrt.default, variance) if "std" in node.target.__name__ else variance

    def rewrite(self, node: torch.fx.Node) -> Any:
        """Returns the replacement of `node`, an operand of which has rows that do not count. Raises a Refusal if there is no rule."""
        target = node.target
        operands = [n for n in node.all_input_nodes if self.now.get(n) in self.rows]
        masks = {self.rows[self.now[n]] for n in operands}
        if len(masks) != 1 or not isinstance(target, torch._ops.OpOverload):
            raise Refusal(node)
        mask, = masks
        given = arguments_of(node)
        args, named = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: self.now.get(n, n))
        mapped = dict(torch.fx.node.map_arg(given, lambda n: self.now.get(n, n)))
        if target is aten.sym_size.int:
            shape = value_of(mapped["self"]).shape
            return shape[mapped["dim"]] if mapped["dim"] % len(shape) else self.count(mask)
        if target is aten.broadcast_tensors.default:
            if len({value_of(n).shape for n in mapped["tensors"]}) != 1:
                raise Refusal(node)
            return tuple(mapped["tensors"])
        columns = self.columns.get(mapped.get("self"), [])
        if target is aten.select.int and columns and mapped["dim"] in (1, -1):
            return columns[mapped["index"]]
        if len(columns) == 1 and value_of(node).dim() == 1 and target in SHAPES | {aten.squeeze.dim, aten.squeeze.default}:
            return columns[0]
        if target in PUTS:
            return self.put(node, mapped, mask)
        if target in ADDITIONS:
            return self.add(node, mapped, mask)
        if target is aten.index.Tensor:
            return self.read(node, mapped["self"], mapped["indices"], mask)
        if target is aten.index_select.default and mapped["dim"] % max(value_of(given["self"]).dim(), 1) == 0:
            return self.read(node, mapped["self"], [mapped["index"]], mask)
        dims = mapped.get("dim")
        dims = [dims] if isinstance(dims, int) else dims
        rank = value_of(operands[0]).dim()
        adds_rows = not dims or 0 in [dim % rank for dim in dims]
        if target in REDUCTIONS and adds_rows:
            return self.reduce(mapped["self"], target in (aten.mean.default, aten.mean.dim), dims, mapped.get("keepdim", False),
                               mapped.get("dtype"))
        if target in VARIANCES and adds_rows:
            return self.vary(node, mapped, dims)
        if target in EXTREMES and value_of(mapped["self"]).is_floating_point():
            kept = self.spread(mask, rank)
            return self.emit(target, self.emit(aten.where.ScalarOther, kept, mapped["self"], EXTREMES[target]))
        if target in CLASS_LOSSES and not {mapped["self"], mapped["target"]} <= self.rows.keys():
            raise Refusal(node)
        if target in CLASS_LOSSES and not value_of(mapped["target"]).is_floating_point():
            mapped["target"] = self.emit(aten.where.ScalarOther, self.spread(mask, value_of(mapped["target"]).dim()),
                                         mapped["target"], mapped["ignore_index"])
            result = self.emit(target, **mapped)
            if mapped["reduction"] == NONE:
                self.rows[result] = mask
            return result
        if target in LOSSES | CLASS_LOSSES and given["reduction"] != NONE:
            each = self.emit(target, **(mapped | {"reduction": NONE}))
            self.rows[each] = mask
            return self.reduce(each, given["reduction"] == MEAN, None)
        value = value_of(node)
        if not isinstance(value, torch.Tensor) or value.dim() == 0 or any(free_unbacked_symbols(size) for size in value.shape[1:]):
            raise Refusal(node)
        count = next((size for size in value_of(operands[0]).shape if free_unbacked_symbols(size)), None)
        if value.shape[0] is not count and str(value.shape[0]) != str(count):
            raise Refusal(node)
        is_elementwise = torch.Tag.pointwise in target.tags or target in ELEMENTWISE
        if target in SHAPES:
            result = self.emit(aten.reshape.default, mapped["self"], [value_of(mask).shape[0], *value.shape[1:]])
        elif is_elementwise or target in BY_ROWS | LOSSES | CLASS_LOSSES or target._schema.name in COPIES:
            if target is aten.gather.default and mapped["self"] not in self.rows:
                raise Refusal(node)
            for dim in dims or ():
                if not is_elementwise and dim % max(rank, 1) == 0 and target is not aten.unsqueeze.default:
                    raise Refusal(node)
            if any(isinstance(v := value_of(n), torch.Tensor) and self.now.get(n) not in self.rows and v.dim() >= value.dim()
                   and is_elementwise and v.shape[0] != 1 for n in node.all_input_nodes):
                raise Refusal(node)
            result = self.emit(target, *args, **named)
        else:
            raise Refusal(node)
        self.rows[result] = mask
        return result

    def run(self) -> None:
        for node in list(self.graph.nodes):
            value = value_of(node)
            if node.op == "output":
                outside = [n for n in node.all_input_nodes if self.now.get(n) in self.rows]
                if outside:
                    raise Refusal(outside[0])
            if node.op != "call_function":
                continue
            self.at = node
            tensors = [v for n in (node, *node.all_input_nodes) if isinstance(v := value_of(n), torch.Tensor)]
            if tensors:
                self.fake_mode = tensors[0].fake_mode
            with self.graph.inserting_before(node):
                if node.target in POSITIONS:
                    self.now[node] = self.find(node)
                elif (node.target in SELECTIONS and isinstance(value, torch.Tensor) and free_unbacked_symbols(value.shape)
                      and not any(self.now.get(n) in self.rows for n in node.all_input_nodes)):
                    self.now[node] = self.select(node)
                elif node.target is operator.getitem and isinstance(self.now.get(node.args[0]), tuple):
                    self.now[node] = self.now[node.args[0]][node.args[1]]
                elif node.target in CHECKS:
                    self.graph.erase_node(node)
                elif any(self.now.get(n) in self.rows for n in node.all_input_nodes):
                    self.now[node] = self.rewrite(node)
                elif node.users and isinstance(value, (bool, torch.SymBool)) and all(user.target in CHECKS for user in node.users):
                    pass  # that two masks select as many rows, which must be one mask anyway
                elif any(n in self.now for n in node.all_input_nodes):
                    args, named = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: self.now.get(n, n))
                    if isinstance(node.target, torch._ops.OpOverload) or node.target is operator.getitem:
                        self.now[node] = self.emit(node.target, *args, **named)
                    elif node.target in COUNTED and isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                        self.now[node] = self.emit(COUNTED[node.target], *args)
                    else:
                        raise Refusal(node)
        for node in reversed(list(self.graph.nodes)):
            if node.op == "output":
                node.args = torch.fx.node.map_arg(node.args, lambda n: self.now.get(n, n))
            elif node.op == "call_function" and not node.users and (node in self.now or not has_effect(node)):
                self.graph.erase_node(node)


def take_known(graph: torch.fx.Graph) -> None:
    """Makes selections, and positions of what is true, of which shapes say how many there are (`x[~eye].view(n, n - 1)`), reads at so
    many places. An index is out of range if there are more or fewer."""
    for node in list(graph.nodes):
        values = value_of(node) if isinstance(value_of(node), (list, tuple)) else [value_of(node)]
        if node.target not in (*SELECTIONS, *POSITIONS) or any(free_symbols(value.shape) for value in values):
            continue
        given = arguments_of(node)
        masks = [(d, m) for d, m in enumerate(given.get("indices") or [given.get("mask", node.args[0])]) if m is not None]
        if len(masks) != 1 or node.target in SELECTIONS and value_of(masks[0][1]).dtype != torch.bool or not value_of(masks[0][1]).numel():
            continue
        emit = functools.partial(nodes.call, graph, node, values[0].fake_mode)
        with graph.inserting_before(node):
            first, mask = masks[0]
            x, device = node.args[0], value_of(mask).device
            if node.target is aten.masked_select.default:
                shape = list(torch.broadcast_shapes(value_of(x).shape, value_of(mask).shape))
                x, mask = (emit(aten.expand.default, operand, shape) for operand in (x, mask))
            sizes = list(value_of(mask).shape)
            flat = emit(aten.reshape.default, emit(aten.ne.Scalar, mask, 0), [-1])
            counts, size = emit(aten.cumsum.default, flat, 0), math.prod(sizes)
            wanted = emit(aten.arange.default, int(values[0].shape[first if node.target is aten.index.Tensor else 0]), device=device)
            places = emit(aten.mul.Scalar, wanted, 0)
            for step in reversed([2**bit for bit in range(size.bit_length())]):  # behind how many elements there are not more than wanted
                further = emit(aten.add.Scalar, places, step)
                count = emit(aten.index_select.default, counts, 0, emit(aten.clamp.default, emit(aten.sub.Scalar, further, 1), None, size - 1))
                fits = emit(aten.bitwise_and.Tensor, emit(aten.le.Tensor, count, wanted), emit(aten.le.Scalar, further, size))
                places = emit(aten.where.self, fits, further, places)
            is_wrong = emit(aten.ne.Scalar, emit(aten.sum.default, flat), len_of(wanted))
            places = emit(aten.add.Tensor, places, emit(aten.mul.Scalar, is_wrong, size))
            if node.target in SELECTIONS:
                shape = list(value_of(x).shape)
                rows = emit(aten.reshape.default, x, [*shape[:first], -1, *shape[first + len(sizes):]])
                result: Any = emit(aten.index_select.default, rows, first, places)
            else:
                strides = [math.prod(sizes[d + 1:]) for d in range(len(sizes))]
                result = [emit(aten.div.Tensor_mode, places, strides[0], rounding_mode="floor")] if sizes else []
                result += [emit(aten.remainder.Scalar, emit(aten.div.Tensor_mode, places, stride, rounding_mode="floor"), size)
                           for stride, size in zip(strides[1:], sizes[1:])]
                result = emit(aten.stack.default, result, 1) if node.target is aten.nonzero.default else result
        for user in list(node.users):
            if isinstance(result, list):
                user.replace_all_uses_with(result[user.args[1]])
                graph.erase_node(user)
        if not isinstance(result, list):
            node.replace_all_uses_with(result)
        graph.erase_node(node)


def len_of(node: torch.fx.Node) -> int:
    return int(value_of(node).shape[0])


def keep_all_rows(program: torch.export.ExportedProgram) -> torch.fx.Node | None:
    """Rewrites `program`, in place. Returns a node that there is no rule for, after which the program is of no use; None where all is
    well."""
    try:
        Keeper(program).run()
    except Refusal as refusal:
        return refusal.args[0]
    program.graph.lint()
    program.graph_module.recompile()
    return None
