# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of data in forward, `if labels.max() >= classes: raise ...` and `assert mask.all()`, as assertions of the step.

A decision on the elements of a tensor cannot be exported, but one that only leads to an error can: the export goes on as if the error
were not raised, and the program asserts that it need not be. Which value of a tensor leads there is read from the statement's source.
"""
import ast
import dis
import functools
import linecache
import types
from typing import Any

import torch
from torch_mlir import ir
from torch_mlir.dialects import func

from remat.export.locations import describe_location, is_of_user, shorten
from remat.torch import operators, stops

aten = torch.ops.aten
NAME = "check"
stops.LIBRARY.define(f"{NAME}(Tensor holds, int number) -> Tensor")
stops.LIBRARY.impl(NAME, lambda holds, number: holds.clone(), "CompositeExplicitAutograd")
Position = tuple[int | None, int | None, int | None, int | None]


@functools.lru_cache(maxsize=64)
def _parse(path: str, text: str) -> tuple[ast.Module, list[ast.If | ast.Assert]]:
    """Returns a file, and its statements that are assertions, or conditions on which only an error is raised."""
    tree = ast.parse(text, path)
    return tree, [node for node in ast.walk(tree) if isinstance(node, ast.Assert) or
                  isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and all(_is_text(part) for part in node.body[:-1])]


def _is_item(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args


@functools.lru_cache(maxsize=64)
def _find_items(path: str, text: str) -> frozenset[tuple[int | None, int | None]]:
    """Returns where the calls of `item()` in a file end whose numbers lead to nothing but an error: those in the condition, and those
    that a variable keeps (`largest = labels.max().item()`) which only conditions and messages of errors read."""
    tree, checks = _parse(path, text)
    in_checks = {id(node) for check in checks for node in ast.walk(check)}
    found = [node for check in checks for node in ast.walk(check.test) if _is_item(node)]
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
            continue
        nodes = list(ast.walk(function))
        uses: dict[str, list[ast.Name]] = {}
        for node in nodes:
            if isinstance(node, ast.Name):
                uses.setdefault(node.id, []).append(node)
        for node in nodes:
            if isinstance(node, ast.Assign) and _is_item(node.value) and isinstance(node.targets[0], ast.Name):
                others = [use for use in uses[node.targets[0].id] if use is not node.targets[0]]
                if len(node.targets) == 1 and all(id(use) in in_checks for use in others):
                    found.append(node.value)
    return frozenset((node.end_lineno, node.end_col_offset) for node in found if isinstance(node, ast.Call))


def is_only_checked(frame: types.FrameType | None) -> bool:
    """Returns true if the call of `item()` of the innermost function of the user's gives a number that only checks of data read: a
    tensor will do in its place, which can be traced."""
    while frame and not is_of_user(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return False
    path = frame.f_code.co_filename
    text = "".join(linecache.getlines(path, frame.f_globals))
    _, line, _, column = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return bool(text) and (line, column) in _find_items(path, text)


def _is_text(statement: ast.stmt) -> bool:
    """Returns true for `message = "..."`, which may come before `raise`."""
    return isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Constant, ast.JoinedStr))


def _position(node: ast.expr) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _result(test: ast.expr, at: Position, value: bool) -> bool | None:
    """Returns what `test` is if the operand at the position `at` has been evaluated, and is `value`; None if it is not known yet, or
    the operand is not a part of it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _result(test.operand, at, value)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decides = isinstance(test.op, ast.Or)  # with one such operand, the others are not evaluated
        for part in test.values:
            inner = _result(part, at, value)
            if inner is not None:
                return inner if inner == decides or part is test.values[-1] else None
        return None
    if isinstance(test, ast.Compare) and len(test.ops) > 1 and value:
        return None  # of a < b < c, which may be its first part alone
    return value if at == _position(test) else None


def _at(frame: types.FrameType) -> Position:
    """Returns the position of the operand whose truth is being tested: that of the instruction before the jump, which itself has the
    statement's, or of a comparison, which Python 3.13 lets test its own result."""
    is_comparison = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("COMPARE_OP")
    return list(frame.f_code.co_positions())[frame.f_lasti // 2 - (not is_comparison)]


def _describe(statement: ast.If | ast.Assert) -> str:
    """Returns the text of the error."""
    if isinstance(statement, ast.Assert):
        return ast.unparse(statement.msg or statement.test)
    raised = statement.body[-1]
    assert isinstance(raised, ast.Raise)
    return ast.unparse(raised.exc) if raised.exc else "an error"


def decide(frame: types.FrameType | None, tensor: torch.Tensor) -> bool | None:
    """Returns the value of `bool(tensor)` with which the innermost statement of the user's source raises no error, and asserts that
    value; None if the statement does something else."""
    while frame and not is_of_user(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    path = frame.f_code.co_filename
    at, text = _at(frame), "".join(linecache.getlines(path, frame.f_globals))
    if not text or tensor.numel() != 1:
        return None
    for statement in _parse(path, text)[1]:
        raises = isinstance(statement, ast.If)
        for value in (True, False):
            if _result(statement.test, at, value) is raises:
                holds = tensor == 0 if value else tensor != 0
                torch._assert_async(holds.reshape(()), f"{shorten(path)}:{frame.f_lineno}: {_describe(statement)}")
                return not value
    return None


# torch-mlir's assertions of an index, and what is wrong then; the size is the constant that the index was compared with.
INDICES = {"index must be smaller than dim size": "a label, a token or another index is {} or more, of a dimension that has {}",
           "index must be larger or equal to 0": "a label, a token or another index is negative"}


def describe_indices(module: ir.Module) -> None:
    """Says in torch-mlir's assertions of indices which line and which module they are of."""
    for check in operators.find(module, "cf.assert"):
        text = INDICES.get(check.attributes["msg"].value)
        if text is None:
            continue
        size = check.operands[0].owner.operands[1].owner
        known = ir.IntegerAttr(size.attributes["value"]).value if size.name == "arith.constant" else "its size"
        place = describe_location(str(check.location).removeprefix("loc(").removesuffix(")")).replace(" (root)", "")
        with module.context:
            check.attributes["msg"] = ir.StringAttr.get(f"{place}: " * (place not in ("", "root")) + text.format(known, known))


def mark(graph: torch.fx.Graph) -> list[str]:
    """Makes the assertions in `graph`, which torch-mlir would drop, operators of our own, and returns their messages."""
    messages: list[str] = []
    for node in list(graph.nodes):
        if node.target is aten._assert_async.msg:
            holds, message = node.args
            with graph.inserting_before(node):
                stops.insert(graph, torch.ops.remat.check.default, (holds, len(messages)), node, holds.meta["val"])
            graph.erase_node(node)
            messages.append(message)
    return messages


def add_calls(module: ir.Module) -> None:
    """Makes each of these a call of a function without a body, one for each number."""
    def choose(operator: ir.Operation) -> str:
        name = f"remat.{NAME}_{ir.IntegerAttr(operator.operands[1].owner.attributes['value']).value}"
        with ir.Location.unknown(), ir.InsertionPoint(module.body):
            func.FuncOp(name, ([operator.operands[0].type], [operator.results[0].type]), visibility="private")
        return name

    with module.context:
        operators.call(module, choose, [f"torch.remat.{NAME}"])


def restore(module: ir.Module, messages: list[str]) -> None:
    """Makes these calls assertions."""
    module.context.allow_unregistered_dialects = True
    for call in operators.find(module, "func.call"):
        name = call.attributes["callee"].value
        if name.startswith(f"remat.{NAME}_"):
            with module.context, call.location, ir.InsertionPoint(call):
                holds = ir.Operation.create("tensor.extract", [ir.IntegerType.get_signless(1)], [call.operands[0]])
                message = ir.StringAttr.get(messages[int(name.rpartition("_")[2])])
                ir.Operation.create("cf.assert", [], [holds.result], {"msg": message})
            call.operation.erase()
    for function in operators.find(module, "func.func"):
        if function.attributes["sym_name"].value.startswith(f"remat.{NAME}_"):
            function.erase()
