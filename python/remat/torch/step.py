# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of losses in PyTorch."""
import contextlib
import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from remat import extras, written
from remat.errors import ExportError
from remat.memory import Memory
from remat.policy_text import as_policy
from remat.progress import timed
from remat.spec import compile_exported, measure_exported
from remat.step import Step

if TYPE_CHECKING:
    from remat.export.exported import Export
    from remat.torch.optimizers import Functions

# The submodules of what is exported: the model, and a loss that is a module, too.
MODEL, LOSS = "model", "loss_fn"


class TorchStep(Step):
    """A `remat.Step` whose parameters and buffers have the names of `model.state_dict()`, all of them where one tensor has
    several."""

    _how_to_eval = "pass evaluate=True to remat.torch.train_step"

    def __init__(self, compiled: tuple[Any, ...], keys: list[str] | None, tied: dict[str, str], exported: set[str]):
        super().__init__(*compiled)
        self._keys, self._tied, self._exported = keys, tied, exported

    def __call__(self, *batch: Any, **named: Any) -> Any:
        """Runs one step on tensors (or other arrays) as the example had them, and returns the loss, or, if the model
        returns more, the loss and a dictionary of the rest."""
        with self._telling_others():
            return super().__call__(*_in_order(self._keys, batch, named))

    def run_micro_batches(self, count: int, *batch: Any, **named: Any) -> Any:
        with self._telling_others():
            return super().run_micro_batches(count, *_in_order(self._keys, batch, named))

    def eval(self, *batch: Any, **named: Any) -> Any:
        """Evaluates the model as `model.eval()` has it, with the step's present parameters and statistics, and changes
        nothing. Takes and returns what a step does."""
        with self._telling_others():
            return super().eval(*_in_order(self._keys, batch, named))

    def state_dict(self) -> dict[str, Any]:
        views = super().state_dict()
        return views | {other: views[name] for other, name in self._tied.items()}

    def load_state_dict(self, state: Any, strict: bool = True) -> None:
        for other, name in self._tied.items():
            if other in state and name in state and not np.array_equal(_bits(state[other]), _bits(state[name])):
                raise ValueError(f"'{other}' and '{name}' are one tensor in the step, but two in what is loaded")
        state = {self._tied.get(name, name): _pairs(value) for name, value in state.items()}
        super().load_state_dict(state, strict)

    def copy_to(self, model: Any) -> None:
        """Copies parameters and buffers to `model`, by name. It may be on any device and of any precision."""
        import torch
        views = self.state_dict()
        targets = {name: _pairs(tensor.detach()) for name, tensor in itertools.chain(
            model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False))}
        # Arguments that are not tensors of the module, such as the seed of dropout, are the step's own.
        own = [a for a in self.arguments if a.role in ("parameter", "state") and a.name in self._exported]
        missing = [a.name for a in own if a.name not in targets and not a.name.startswith(f"{LOSS}.")]
        if missing:
            raise KeyError(f"the model has no {', '.join(missing)}")
        wrong = [f"{a.name} is {a}, but {list(targets[a.name].shape)} there" for a in own
                 if a.name in targets and tuple(targets[a.name].shape) != a.shape]
        if wrong:
            raise ValueError("; ".join(wrong))
        with torch.no_grad():
            for argument in own:
                for name in (argument.name, *(o for o, n in self._tied.items() if n == argument.name)):
                    if name in targets:
                        targets[name].copy_(_to_tensor(views[argument.name]))


def _pairs(value: Any) -> Any:
    """Returns a complex buffer as a step has it, by its real and imaginary parts, in the same memory; other values as they are."""
    import torch
    return torch.view_as_real(value) if isinstance(value, torch.Tensor) and value.is_complex() else value


def _to_tensor(array: Any) -> Any:
    import torch
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view("i2").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _bits(value: Any) -> Any:
    """Returns the bytes of a tensor, whatever its type, or of another array, to compare them."""
    if hasattr(value, "detach"):
        return value.detach().cpu().contiguous().flatten().view(importlib.import_module("torch").uint8).numpy()
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


def _in_order(keys: list[str] | None, batch: Any, named: dict[str, Any]) -> Any:
    if keys is None:
        if named:
            raise TypeError(f"the example batch was a tuple, but got the names {', '.join(named)}")
        return batch
    if len(batch) == 1 and isinstance(batch[0], Mapping) and not named:
        batch, named = (), dict(batch[0])
    if batch or set(named) != set(keys):
        raise TypeError(f"the batch must be named {', '.join(keys)}, but got "
                        f"{', '.join(named) or f'{len(batch)} arrays without names'}")
    return [named[key] for key in keys]


class _WrongResult(TypeError):
    """A model or a loss returns a value that it must not return."""


def _name_results(result: Any) -> tuple[list[str], list[Any]]:
    """Returns the names and values of the results of a model or a loss, with the loss first. Names are keys of dictionaries, or
    output1 and so on. Raises a _WrongResult if there is no loss."""
    import torch
    if isinstance(result, torch.Tensor):
        return ["loss"], [result]
    if hasattr(result, "loss"):  # of the transformers library
        return ["loss"], [result.loss]
    if isinstance(result, dict) and "loss" in result:
        result = result["loss"], {key: value for key, value in result.items() if key != "loss"}
    at = _find_loss(result) if isinstance(result, (tuple, list)) else None
    if at is None:
        raise _WrongResult("the model, or loss_fn, must return the loss (a floating-point scalar), a tuple with it, or a dictionary with "
                           f"'loss', but returned {_describe(result)}; several scalars are told apart by their order: the loss comes first")
    names, values = ["loss"], [result[at]]

    def add(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                add(f"{name}.{key}" if name else str(key), item)
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                add(f"{name}.{i}", item)
        elif isinstance(value, (torch.Tensor, bool, int, float)):
            value = value if isinstance(value, torch.Tensor) else torch.full((), value)
            names.append(name)
            values.append(value)
        elif value is not None:
            item = ", an element of a tensor; return that without item()" if isinstance(value, (torch.SymFloat, torch.SymInt, torch.SymBool)) else ""
            raise _WrongResult(f"the result {name} must be a tensor, but it is {type(value).__name__}{item}")

    for i, value in enumerate(result):
        if i != at:
            add("" if isinstance(value, dict) else f"output{i}", value)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _WrongResult(f"two results are called {', '.join(twice)}")
    return names, values


def _is_loss(value: Any) -> bool:
    import torch
    return isinstance(value, torch.Tensor) and value.numel() == 1 and value.is_floating_point()


def _find_loss(result: Any) -> int | None:
    """Returns the index of the loss: the first element, or the only one that is a floating-point scalar, as in `return logits, loss`;
    None if there is no such one."""
    scalars = [i for i, value in enumerate(result) if _is_loss(value)]
    return scalars[0] if len(scalars) == 1 or scalars[:1] == [0] else None


def _describe(result: Any) -> str:
    import torch
    if type(result) in (tuple, list) and len(result) <= 8:
        return f"a {type(result).__name__} of {', '.join(map(_describe, result)) or 'nothing'}"
    if isinstance(result, torch.Tensor):
        return f"{str(result.dtype).removeprefix('torch.')}{list(result.shape)}"
    return type(result).__name__


def _combine(model: Any, loss_fn: Callable[..., Any] | None, keys: list[str] | None, forward: Callable[..., Any] | None = None) -> Any:
    """A module whose result is the loss, or a tuple that starts with it; `outputs` are the names of what the last run returned.
    `forward` is called with the model and the batch, in the place of the model."""
    import torch
    call = functools.partial(forward, model) if forward else model

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.outputs: list[str] = []
            setattr(self, MODEL, model)
            setattr(self, LOSS, loss_fn)

        def forward(self, *values: Any) -> Any:
            values, target = (values, ()) if loss_fn is None else (values[:-1], values[-1:])
            result = call(**dict(zip(keys, values))) if keys is not None else call(*values)
            if loss_fn is not None:
                result = loss_fn(result, *target)
            self.outputs[:], results = _name_results(result)
            results[0] = results[0].reshape(()) if results[0].numel() == 1 else results[0]
            return results[0] if len(results) == 1 else tuple(results)

    module = Loss()
    module.training = model.training  # alone: submodules may be in another mode
    return module


@contextlib.contextmanager
def _in_modes(modes: list[tuple[Any, bool]]) -> Iterator[None]:
    """Each of these modules in its mode, and then in the one that it was in."""
    before = [(part, part.training) for part, _ in modes]
    try:
        for part, training in modes:
            part.training = training
        yield
    finally:
        for part, training in before:
            part.training = training


@overload
def train_step(model: Any, loss_fn: Callable[..., Any] | None, example_batch: Any, *, optimizer: Any = None, evaluate: Any = False,
               dynamic: bool = False, forward: Callable[..., Any] | None = None, compile_only: Literal[False] = False,
               **arguments: Any) -> TorchStep: ...


@overload
def train_step(model: Any, loss_fn: Callable[..., Any] | None, example_batch: Any, *, optimizer: Any = None, evaluate: Any = False,
               dynamic: bool = False, forward: Callable[..., Any] | None = None, compile_only: Literal[True], **arguments: Any) -> Memory: ...


def train_step(model: Any, loss_fn: Callable[..., Any] | None, example_batch: Any, *, optimizer: Any = None, evaluate: Any = False,
               dynamic: bool = False, forward: Callable[..., Any] | None = None, compile_only: bool = False,
               **arguments: Any) -> TorchStep | Memory:
    """Compiles a training step of a `torch.nn.Module`.

    - `model`: what it computes in its present mode (`model.train()`) is compiled, and its present parameters and buffers
      are what the step starts from; it has a copy. Parameters that require no gradient are not trained.
    - `loss_fn(output, target)`: a function or module whose result is a scalar; the last tensor of a batch is `target`, the
      others go to the model. `None`: the model returns the loss, or a tuple that starts with it or in which it
      is the only floating-point scalar (`return logits, loss`).
    - `example_batch`: a tensor, or a tuple of tensors, of the types and shapes that all batches have. With `loss_fn=None` it
      may be a dictionary, for models that take their arguments by name; so does the step then. With `accumulate`, it is an
      example of a micro-batch.
    - `optimizer`: one of remat's, or a fresh one of `torch.optim` of the model's parameters. Each step reads its learning rates
      then, which a scheduler may change.
    - `evaluate`: whether `step.eval` is compiled, too: the model in the mode of `model.eval()`, and the loss. For batches of
      other shapes, such an example batch.
    - `dynamic`: whether batches may be of other sizes than the example: for each, another step or evaluation is compiled,
      which shares parameters and states. The model is kept for that.
    - `forward(model, *batch)`: what is called in the place of `model(*batch)`, for a loss that calls the model several times, or
      parts of it, or another method: `forward=lambda model, x, y: model.training_step((x, y))`. With a batch by name, it gets names.
    - `compile_only`: whether to return only the memory of the step (`remat.Memory`): nothing is allocated, and there is no code.
      The model's weights may be on the device `meta`, which describes them without memory.

    Applications of `torch.utils.checkpoint` are selected by `policy=remat.checkpoints()`, or by `remat.as_written()` with the
    policies that they have there, modules by
    `remat.scopes("layers.*")` or `remat.modules(torch.nn.TransformerEncoderLayer)`. The other arguments are those of `remat.mlir.train_step`.

    Raises `remat.ExportError` where the model uses what has no way to MLIR, and `remat.CompileError`.
    """
    extras.require("torch")
    import torch

    from remat.torch import described, modes, scopes

    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the model must be a torch.nn.Module, but got {type(model).__name__}")
    if loss_fn is not None and not callable(loss_fn):
        raise TypeError(f"loss_fn must be a function of output and target, or None, but got {type(loss_fn).__name__}")
    keys = list(example_batch) if isinstance(example_batch, Mapping) else None
    if keys and loss_fn is not None:
        raise TypeError("a batch by name is for models that return the loss: loss_fn must be None")
    inputs = _inputs(example_batch, keys, loss_fn)
    if evaluate is not False:
        eval_inputs = inputs if evaluate is True else _inputs(evaluate, keys, loss_fn)
    modes.warn_of_evaluation(model)
    module, tensors = _combine(model, loss_fn, keys, forward), _names(model, loss_fn)
    if not compile_only and (without := described.find_described(module)):
        raise ValueError(f"{without[0].removeprefix(f'{MODEL}.')} is on the device meta and has no values to train from: say "
                         "compile_only=True for the memory of the step, or model.to_empty(device='cpu') and initialize it")
    policy = as_policy(arguments.get("policy"))
    selected = scopes.select_modules(policy, model)
    paths = sorted({path for each in selected.values() for path in each})
    is_written = written.is_asked(policy)
    exported, evaluated = _export(module, inputs, paths, is_written), None
    if not any(argument.role == "parameter" for argument in exported.arguments):
        raise ValueError(f"{type(model).__name__} has no parameter to train: none requires a gradient (requires_grad_(True)), or "
                         "the loss uses none of those")
    policy = scopes.settle(policy, selected, exported.text)
    arguments["policy"] = written.settle(policy, exported.written, exported.text)
    functions: "Functions | None" = None
    if isinstance(optimizer, torch.optim.Optimizer):
        from remat.torch import optimizers
        trained = {a.name for a in exported.arguments if a.role == "parameter"}
        optimizer, functions = optimizers.convert(optimizer, {key: trained.intersection(own) for key, own in tensors.items()})
        exported.text = functions.add_to(exported.text)
    known = {a.name for a in exported.arguments}
    tied = {other: name for own in tensors.values() for name in own if name in known for other in own if other not in known}

    def export_evaluation(inputs: dict[str, Any]) -> "Export":
        with _in_modes([(part, False) for part in module.modules()]):
            evaluated = _export(module, inputs)
        for argument in evaluated.arguments:
            argument.name = tied.get(argument.name, argument.name)
        return evaluated

    if evaluate is not False:
        evaluated = export_evaluation(eval_inputs)
    as_it_is = [(part, part.training) for part in module.modules()]

    def export_step(inputs: dict[str, Any]) -> "Export":
        with _in_modes(as_it_is):
            again = _export(module, inputs, paths, is_written)
        again.text = functions.add_to(again.text) if functions else again.text
        return again

    def exporting_again(export: Callable[[dict[str, Any]], "Export"], inputs: dict[str, Any]) -> Callable[[Any], "Export"]:
        kinds = {name: (value.dtype, value.device) for name, value in inputs.items()}
        return lambda shapes: export({name: torch.zeros(shape, dtype=dtype, device=device)
                                      for shape, (name, (dtype, device)) in zip(shapes, kinds.items(), strict=True)})

    if compile_only:
        return measure_exported(exported, type(model).__name__, optimizer=optimizer, **arguments)
    return compile_exported(lambda *compiled: TorchStep(compiled, keys, tied, known), exported, type(model).__name__,
                            evaluated=evaluated, optimizer=optimizer,
                            export_again=exporting_again(export_step, inputs) if dynamic else None,
                            evaluate_again=exporting_again(export_evaluation, eval_inputs) if dynamic and evaluated else None,
                            starts=functions.initial if functions else {}, **arguments)


def _inputs(batch: Any, keys: list[str] | None, loss_fn: Callable[..., Any] | None) -> dict[str, Any]:
    """The tensors of a batch by name, or an error that says what a batch must be."""
    import torch
    if isinstance(batch, torch.Tensor):
        batch = [batch]
    if keys is not None or isinstance(batch, Mapping):
        batch = _in_order(keys, (batch,), {})
    for i, value in enumerate(batch):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"the batch must be of tensors, but {keys[i] if keys else i} is {type(value).__name__}; make what "
                            "is not a tensor a part of the model")
    if loss_fn is not None and len(batch) < 2:
        raise TypeError(f"the batch must be inputs of the model and a target, but got {len(batch)} tensors")
    return dict(zip(keys or [f"batch.{i}" for i in range(len(batch))], batch))


def _names(model: Any, loss_fn: Any) -> dict[int, list[str]]:
    """Returns all names of each tensor of the model, and of a loss that is a module, by its id."""
    import torch
    names: dict[int, list[str]] = {}
    for module, prefix in ((model, ""), (loss_fn, f"{LOSS}.")):
        for of in (module.named_parameters, module.named_buffers) if isinstance(module, torch.nn.Module) else ():
            for name, tensor in of(remove_duplicate=False):
                names.setdefault(id(tensor), []).append(prefix + name)
    return names


def _export(module: Any, inputs: dict[str, Any], modules: Sequence[str] = (), as_written: bool = False) -> "Export":
    from remat.torch import described
    from remat.torch.export import from_torch
    try:
        with described.as_if_there(module), timed(f"the export of {type(getattr(module, MODEL)).__name__}"):
            exported = from_torch(module, inputs, outputs=module.outputs, inner=MODEL, check=False, modules=modules,
                                  as_written=as_written)
    except ExportError as error:
        if isinstance(error.__cause__, _WrongResult):
            raise TypeError(str(error.__cause__)) from None
        raise
    except Exception as error:  # whatever a tracer or a lowering of torch's raises
        raise ExportError(f"PyTorch cannot export the model: {error}") from error
    loss = next((r.describe() for r in exported.results if r.role == "loss"), None)
    if loss is None or loss["shape"] or not loss["dtype"].lstrip("b").startswith("f"):
        raise TypeError(f"the loss must be a floating-point scalar, but it is "
                        f"{loss['dtype'] + str(loss['shape']) if loss else 'nothing'}")
    return exported
