"""Operators of our own in a module of torch-mlir. While it is lowered, they are calls of functions, which no pass takes out, looks
into, or takes for another operation."""
from collections.abc import Callable, Collection

from torch_mlir import ir
from torch_mlir.dialects import func

from remat import torch_stops

STOP = f"torch.remat.{torch_stops.NAME}"


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


def call(module: ir.Module, choose: Callable[[ir.Operation], str], operators: Collection[str]) -> None:
    """Makes each of `operators` a call of the function that `choose` names."""
    for operator in find(module, "torch.operator"):
        if operator.attributes["name"].value in operators:
            with operator.location, ir.InsertionPoint(operator):
                results = [result.type for result in operator.results]
                replace(operator, func.CallOp(results, choose(operator), list(operator.operands)).operation)


def add_stops(module: ir.Module) -> None:
    """Makes each stand-in of `remat.stop_gradient` a call of a function that returns its argument."""
    names: dict[str, str] = {}

    def choose(operator: ir.Operation) -> str:
        kind = operator.results[0].type
        if str(kind) not in names:
            names[str(kind)] = f"{torch_stops.NAME}_{len(names)}"
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
        if operation.attributes["callee"].value.startswith(torch_stops.NAME):
            value = operation.operands[0]
            replace(operation, ir.Operation.create(f"remat.{torch_stops.NAME}", [value.type], [value], loc=operation.location,
                                                   ip=ir.InsertionPoint(operation)))
    for function in find(module, "func.func"):
        if function.attributes["sym_name"].value.startswith(torch_stops.NAME):
            function.erase()
