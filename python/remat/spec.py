# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an export to a step: what it says of its arguments and results, as an option of `remat-import`."""
import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from remat import mlir
from remat.json_options import quote
from remat.arrays import Argument
from remat.memory import Memory
from remat.step import Shapes, Step

AnyStep = TypeVar("AnyStep", bound=Step)


def importing(exported: Any) -> str:
    """The pass that imports `exported` (a `remat.export.Export`)."""
    spec = {"function": "loss", "constants": [], "arguments": [a.describe() for a in exported.arguments],
            "results": [r.describe() for r in exported.results]}
    return f"remat-import{{spec={{{quote(spec)}}}}}"


def measure_exported(exported: Any, name: str, **arguments: Any) -> Memory:
    """The memory of the step that `compile_exported` makes of the same: nothing is allocated, and there is no code."""
    return mlir.measure(mlir.make_request(exported.text, passes=importing(exported), function="loss", file_name=f"{name}.mlir", **arguments)).step


def compile_exported(make_step: Callable[..., AnyStep], exported: Any, name: str, evaluated: Any = None,
                     export_again: Callable[[Shapes], Any] | None = None,
                     evaluate_again: Callable[[Shapes], Any] | None = None, starts: dict[str, Any] | None = None,
                     **arguments: Any) -> AnyStep:
    """A step of the export of what is called `name`, which starts from the exported values, and states of an optimizer from
    `starts`, by name: `make_step` of what `remat.Step` is made of. `evaluated` is an export of the evaluation; `export_again`
    exports for data of other shapes, `evaluate_again` the evaluation. The `arguments` are those of `remat.mlir.train_step`."""
    if "eval_function" in arguments:
        raise TypeError("eval_function names a function of a module in MLIR; this step has an argument of its own for that")

    def request(text: str, passes: str, evaluated: Any = None, **changes: Any) -> mlir.Request:
        evaluation = evaluated and mlir.Evaluation(evaluated.text, f"{name}.eval.mlir", importing(evaluated))
        return mlir.make_request(text, passes=passes, function="loss", file_name=f"{name}.mlir", evaluation=evaluation,
                                 **(arguments | changes))

    program = exported.text, importing(exported)  # what is kept, without arrays

    def recompile(native: Any, shapes: Shapes, **changes: Any) -> Step:
        assert export_again
        count = (arguments | changes).get("accumulate") or 1
        if any(shape and shape[0] % count for shape in shapes):
            raise ValueError(f"{' and '.join(str(shape[0]) for shape in shapes if shape and shape[0] % count)} examples cannot be cut into "
                             f"{count} micro-batches")
        again = export_again(tuple((shape[0] // count, *shape[1:]) for shape in shapes) if count > 1 else shapes)
        changes = {name: value if count > 1 else None for name, value in changes.items()}
        return Step(*mlir.compile_request(request(again.text, importing(again), **changes), native)).take_signs(again)

    def recompile_evaluation(native: Any, shapes: Shapes) -> Step:
        # An evaluation is compiled beside a step.
        assert evaluate_again
        again = evaluate_again(shapes)
        return Step(*mlir.compile_request(request(*program, again), native)).take_signs(exported, again)

    native, *compiled, variants = mlir.compile_request(request(*program, evaluated))
    if export_again:
        # Neither the step nor its memory is kept by what compiles variants.
        data = [argument for argument in (Argument.of_record(record) for record in native.arguments()) if argument.role == "data"]

        def halve(**changes: Any) -> Memory:
            """The memory of the step with these arguments for half of a micro-batch."""
            parts = 2 * (arguments.get("accumulate") or 1)
            if len({a.shape[:1] for a in data}) != 1 or not data[0].shape or data[0].shape[0] % parts:
                raise ValueError(f"there is no half of the data: {', '.join(f'{a.name}: {a}' for a in data)}")
            again = export_again(tuple((a.whole_shape[0] // parts, *a.whole_shape[1:]) for a in data))
            return mlir.measure(request(again.text, importing(again), **changes)).step

        variants = dataclasses.replace(variants, halve=halve)
    step = make_step(native, *compiled, variants, recompile if export_again else None,
                     recompile_evaluation if evaluate_again else None)
    step.take_signs(exported, evaluated)
    step.load_state_dict({a.name: a.own for a in exported.arguments if a.role != "data"} | (starts or {}), strict=False)
    # A model that was initialized on each rank may start from other values on each.
    step.share_state()
    return step
