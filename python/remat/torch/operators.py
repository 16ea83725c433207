# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of our own in a module of torch-mlir. While it is lowered, they are calls of functions, which no pass takes out, looks
into, or takes for another operation."""
from collections.abc import Callable, Collection

from torch_mlir import ir
from torch_mlir.dialects import func

from remat.torch import stops

STOP = f"torch.remat.{stops.NAME}"


def find(module: ir.Module, name: str) -> list[ir.Operation]:
    """All operations of this name."""
    found: list[ir.Operation] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == name:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    return found


def find_called(module: ir.Module) -> set[str]:
    """The names of the functions that are called."""
    return {operation.attributes["callee"].value for operation in find(module, "func.call")}


def replace(operation: ir.Operation, other: ir.Operation) -> None:
    for old, new in zip(operation.results, other.results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()


def find_tensors(operator: ir.Operation) -> list[ir.Value]:
    return [operand for operand in operator.operands if str(operand.type).startswith("!torch.vtensor")]


def call(module: ir.Module, choose: Callable[[ir.Operation], str], operators: Collection[str]) -> None:
    """Makes each of `operators` a call of the function that `choose` names, with all operands that are tensors."""
    for operator in find(module, "torch.operator"):
        if operator.attributes["name"].value in operators:
            with operator.location, ir.InsertionPoint(operator):
                results = [result.type for result in operator.results]
                replace(operator, func.CallOp(results, choose(operator), find_tensors(operator)).operation)


def add_calls(module: ir.Module, name: str) -> None:
    """Makes each `torch.remat.NAME` a call of a function without a body, one for those of the same types and numbers."""
    names: dict[str, str] = {}

    def write_number(value: ir.Value) -> str:
        attribute = value.owner.attributes["value"]
        return str(ir.IntegerAttr(attribute).value) if str(value.type) == "!torch.int" else ir.FloatAttr(attribute).value.hex()

    def choose(operator: ir.Operation) -> str:
        types = [value.type for value in find_tensors(operator)]
        numbers = [write_number(value) for value in operator.operands if str(value.type) in ("!torch.int", "!torch.float")]
        key = str((types, numbers))
        if key not in names:
            names[key] = "_".join([f"remat.{name}", *numbers, str(len(names))])
            with ir.Location.unknown(), ir.InsertionPoint(module.body):
                func.FuncOp(names[key], (types, [result.type for result in operator.results]), visibility="private")
        return names[key]

    with module.context:
        call(module, choose, [f"torch.remat.{name}"])


def add_bodies(module: ir.Module, name: str, write: Callable[..., str]) -> None:
    """Gives these functions their bodies, in linalg on tensors: what `write` makes of their names, types and numbers."""
    for function in find(module, "func.func"):
        symbol = function.attributes["sym_name"].value
        if not symbol.startswith(f"remat.{name}_"):
            continue
        *texts, _ = symbol.removeprefix(f"remat.{name}_").split("_")
        numbers = [float.fromhex(text) if "x" in text else int(text) for text in texts]
        inputs = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
        module.context.allow_unregistered_dialects = True
        with module.context, ir.Location.name(name):
            body = ir.Module.parse(write(symbol, *map(ir.RankedTensorType, inputs), *numbers))
        for other in list(body.body.operations):
            other.detach_from_parent()
            module.body.append(other)
        function.erase()


def add_stops(module: ir.Module) -> None:
    """Makes each stand-in of `remat.stop_gradient` a call of a function that returns its argument."""
    names: dict[str, str] = {}

    def choose(operator: ir.Operation) -> str:
        kind = operator.results[0].type
        if str(kind) not in names:
            names[str(kind)] = f"{stops.NAME}_{len(names)}"
            with ir.Location.unknown(), ir.InsertionPoint(module.body):
                function = func.FuncOp(names[str(kind)], ([kind], [kind]))
                function.attributes["no_inline"] = ir.UnitAttr.get()
                with ir.InsertionPoint(function.add_entry_block()):
                    func.ReturnOp(function.arguments)
        return names[str(kind)]

    with module.context:
        call(module, choose, [STOP])


def restore_stops(module: ir.Module) -> None:
    """Makes these calls `remat.stop_gradient`, in linalg on tensors."""
    module.context.allow_unregistered_dialects = True
    for operation in find(module, "func.call"):
        if operation.attributes["callee"].value.startswith(stops.NAME):
            value = operation.operands[0]
            replace(operation, ir.Operation.create(f"remat.{stops.NAME}", [value.type], [value], loc=operation.location,
                                                   ip=ir.InsertionPoint(operation)))
    for function in find(module, "func.func"):
        if function.attributes["sym_name"].value.startswith(stops.NAME):
            function.erase()
