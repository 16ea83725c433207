# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of exported programs that torch-mlir's importer does not take as they are."""
from typing import Any

import torch
from torch.export.graph_signature import InputKind


def copy_constants(program: torch.export.ExportedProgram) -> None:
    """Copies tensors that the model has but does not own where they are in lists, such as indices: torch-mlir's importer takes
    only results of operations there."""
    constants = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind == InputKind.CONSTANT_TENSOR}

    def copy(value: Any, user: torch.fx.Node) -> Any:
        if not isinstance(value, torch.fx.Node) or value.name not in constants:
            return value
        with program.graph.inserting_before(user):
            result = program.graph.call_function(torch.ops.aten.clone.default, (value,))
        result.meta = {**user.meta, "val": value.meta["val"]}
        result.meta.pop("tensor_meta", None)
        return result

    for node in list(program.graph.nodes):
        if node.op == "call_function":
            node.args = tuple([copy(value, node) for value in arg] if isinstance(arg, (list, tuple)) else arg for arg in node.args)
