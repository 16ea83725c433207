# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled training step."""
import contextlib
import dataclasses
import functools
import json
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from remat import stored
from remat.advice import Variants
from remat.arrays import CPU_DEVICE, CUDA_DEVICE, Argument, Device, DeviceArray, Location, locate, to_numpy
from remat.errors import Diagnostic, RankError, StepError
from remat.files import replace, write_safetensors
from remat.memory import HELD_BY_EVALUATION, HELD_BY_STEP, Memory, list_held
from remat.mesh import as_told, take, tell_others
from remat.progress import Bar

if TYPE_CHECKING:
    from remat.mlir import Compilation

logger = logging.getLogger("remat")
SAVED_ROLES = ("parameter", "optimizer", "state", "random")
STEP_KEY = "remat.step"
KINDS = ("object", "archive", "shared")
GRAD_NORM = "remat.grad_norm"
FORMAT = "remat.step.1"
Array = np.ndarray[Any, Any]


class _Results(NamedTuple):
    """Functions that get the results of a step or an evaluation: the loss, if there is one, and the others by name."""

    loss: Callable[[], Array] | None
    extras: list[tuple[str, Callable[[], Array]]]

    def read(self) -> Any:
        """Returns what a call of the step does: the loss, a dictionary of the others, or both."""
        if self.loss is None or self.extras:
            values = {name: read() for name, read in self.extras}
            extras = {name: value.copy() if value.ndim else value.item() for name, value in values.items()}
            return extras if self.loss is None else (self.loss().item(), extras)
        return self.loss().item()

    def with_signs(self, kinds: Mapping[str, str]) -> "_Results":
        """Returns these, with unsigned integers where the export had them, since MLIR's integers have no sign. `kinds` are
        NumPy's names of types, by result."""
        def as_kind(read: Callable[[], Array], kind: str) -> Callable[[], Array]:
            return (lambda: read().view(kind)) if kind.startswith("uint") else read

        return self._replace(extras=[(name, as_kind(read, kinds.get(name, ""))) for name, read in self.extras])


Shapes = tuple[tuple[int, ...], ...]
# Makes a step whose data, or whose evaluation's, is of other shapes. It has the states of the compiled module that it gets, and,
# with accumulate=, another number of micro-batches.
Recompile = Callable[..., "Step"]


class Step:
    """One step of training, as machine code with its memory. Made by `remat.mlir.train_step`.

    `step(*batch)` runs it. Arrays of the batch are of exactly the types and shapes in `step.data`, in order; they are
    read where they are, unless they are not contiguous. One thread at a time may call a step. `step.pipeline` is what it was
    compiled by, for `remat-opt --pass-pipeline` on a model with a `remat.train_step`; `step.warnings` is what the compiler said;
    `step.device` is what it runs on.
    """

    _how_to_eval = "name its function by eval_function=, or in the module's remat.train_step by eval(...)"

    def __init__(self, native: Any, warnings: Iterable[Diagnostic], compilation: "Compilation", pipeline: str,
                 rates: Iterable[Callable[[int], float]] = (), variants: Variants | None = None, recompile: "Recompile | None" = None,
                 recompile_evaluation: "Recompile | None" = None):
        self._native = native
        self._compilation = compilation
        self.warnings = tuple(warnings)
        self.pipeline = pipeline
        self._rates = tuple(rates)
        self._variants = variants
        self._recompile, self._recompile_evaluation = recompile, recompile_evaluation
        self._mesh = compilation.request.mesh
        self._has_averages = False  # in the place of the parameters
        self._others: dict[tuple[int, Shapes], Step] = {}
        self._other_evaluations: dict[tuple[int, Shapes], Step] = {}
        self.arguments = tuple(Argument.of_record(record) for record in native.arguments())
        self.data = tuple(a for a in self.arguments if a.role == "data")
        self.eval_data = tuple(a for a in self.arguments if a.role == "eval_data")
        self.device = Device(*native.device)
        self._saved = {a.name: i for i, a in enumerate(self.arguments) if a.role in SAVED_ROLES}
        self._readers = {name: _make_reader(native, self.arguments[i], i) for name, i in self._saved.items()}
        # Every call needs these; making them takes longer than some steps.
        self._inputs, self._eval_inputs = ([(a, f"argument {i} ('{a.name}')") for i, a in enumerate(arguments)]
                                           for arguments in (self.data, self.eval_data))
        self._read_norm: Callable[[], Array] | None = None
        # Of what ran last: this step, or one for another batch. It refers to no step, which would keep itself alive.
        self._read_latest_norm: Callable[[], Array] | None = None
        self._results = self._find_results(native.results())
        self._eval_results = self._find_results(native.evaluation_results())

    def take_signs(self, exported: Any, evaluated: Any = None) -> "Step":
        """The step, whose results are unsigned where those of the exports are of unsigned integers."""
        kinds, evaluation_kinds = ({r.name: r.kind for r in export.results} if export else {} for export in (exported, evaluated))
        self._results = self._results.with_signs(kinds)
        self._eval_results = self._eval_results.with_signs(evaluation_kinds)
        return self

    def _find_results(self, indices: list[int]) -> _Results:
        readers = {self.arguments[i].name: _make_reader(self._native, self.arguments[i], i) for i in indices}
        self._read_norm = readers.pop(GRAD_NORM, self._read_norm)
        return _Results(readers.pop("loss", None), list(readers.items()))

    # --- Running -------------------------------------------------------------------------------

    def __call__(self, *batch: Any) -> Any:
        """Runs one step on a batch and returns the loss, or, if the model has more results, the loss and a dictionary of
        these, by their names. After an exception, parameters and states are as before, unless it says otherwise. On a mesh, the
        batch is this rank's part of one, and what one rank raises, the others raise as a `remat.StepError`."""
        return self._run(batch, self.micro_batches)

    @property
    def micro_batches(self) -> int:
        """The number of micro-batches of a batch: `accumulate=`, or 1."""
        return int(self._compilation.request.arguments.get("accumulate") or 1)

    def run_micro_batches(self, count: int, *batch: Any) -> Any:
        """Runs one step on a batch of another number of micro-batches, such as the rest at the end of an epoch. For steps that
        were made with `dynamic=True`: the step for that is compiled the first time, and shares parameters and states."""
        return self._run(batch, count)

    def _run(self, batch: Sequence[Any], count: int) -> Any:
        with self._telling_others():
            return self._train(batch, count)

    def _train(self, batch: Sequence[Any], count: int) -> Any:
        if count != self.micro_batches and not self._recompile:
            raise TypeError(f"the step was compiled for {self.micro_batches} micro-batches, not for {count}; pass dynamic=True")
        if self._has_averages:
            raise StepError("the parameters are their averages here; train outside of `with step.averaged()`")
        if self._recompile and (other := self._find_other("step", batch, self._inputs, self._others, self._recompile, count)):
            results = other(*batch)
            self._read_latest_norm = other._read_norm
            return results
        try:
            located = _locate_all("the step", self._inputs, batch, self.device)
        except ValueError as error:
            if count == 1:
                raise
            raise ValueError(f"{error}; with accumulate={count}, a batch is {count} micro-batches, and the example that the step was "
                             "compiled for is one of them") from None
        if self._rates:
            self._native.set_learning_rates([_learning_rate(rate, self.number) for rate in self._rates])
        was_damaged = self._native.is_damaged
        problem = self._native.run([location for location, _ in located])
        if problem is not None:
            raise as_told(StepError(problem + ("; parameters or states have changed: load a state that was saved before"
                                       if self._native.is_damaged and not was_damaged else "")))
        self._read_latest_norm = self._read_norm
        return self._results.read()

    @contextlib.contextmanager
    def _telling_others(self) -> Iterator[None]:
        """Around what every rank does in a step: where this one cannot begin it, the others must not wait."""
        try:
            yield
        except Exception as error:
            if self._mesh and self._mesh.size > 1:
                tell_others(error)
            raise

    def rows(self, *batch: Any) -> tuple[Any, ...]:
        """Returns this rank's part of each array of a whole batch, as `shard=` and the mesh say; arrays that ranks have as a whole stay as
        they are."""
        if self._mesh is None:
            raise TypeError("the step was compiled without a mesh; give its train_step mesh=remat.Mesh(data=2)")
        if len(batch) != len(self._inputs):
            raise TypeError(f"a batch has {len(self._inputs)} arrays, but got {len(batch)}")
        return tuple(self._take(argument, value, name) for (argument, name), value in zip(self._inputs, batch))

    def _take(self, argument: Argument, value: Any, name: str) -> Any:
        assert self._mesh
        for dim, (ranks, stride) in enumerate(argument.shards):
            if ranks > 1:
                value = take(value, dim, ranks, self._mesh.rank // stride % ranks, name)
        return value

    def _find_other(self, what: str, batch: Sequence[Any], inputs: list[tuple[Argument, str]], others: "dict[tuple[int, Shapes], Step]",
                    recompile: "Recompile", count: int | None = None) -> "Step | None":
        """The one of `others` for a batch of these shapes, of `count` micro-batches, which is compiled the first time; None if that
        is this step."""
        shapes = tuple(tuple(getattr(value, "shape", ())) for value in batch)
        own_count = count in (None, self.micro_batches)
        if len(shapes) != len(inputs) or (own_count and all(shape == a.shape for shape, (a, _) in zip(shapes, inputs))):
            return None
        key = count or 1, shapes
        if key not in others:
            # Nothing is compiled for a batch that is wrong otherwise.
            for (argument, name), shape, value in zip(inputs, shapes, batch):
                if len(shape) != len(argument.shape):
                    return None
                locate(dataclasses.replace(argument, shape=shape), value, name, self.device)
            logger.info("compiling the %s for %s", what,
                        ", ".join(f"{a.name}: {list(s)}" for (a, _), s in zip(inputs, shapes)))
            # Models are written for the whole batch.
            wholes = tuple(dataclasses.replace(a, shape=shape).whole_shape for (a, _), shape in zip(inputs, shapes))
            others[key] = recompile(self._native, wholes, **({} if own_count else {"accumulate": count}))
        return others[key]

    def fit(self, loader: Iterable[Any], *, epochs: int = 1) -> list[float]:
        """Trains on all batches of `loader`, `epochs` times, and returns the mean loss of each epoch. A batch is what the step
        takes, or a tuple or list of that. On a terminal, with tqdm installed, a bar shows the loss."""
        means = []
        for epoch in range(epochs):
            losses = []
            with Bar(f"epoch {epoch + 1}/{epochs}", loader) as bar:
                for batch in bar:
                    result = self(*batch) if isinstance(batch, (tuple, list)) else self(batch)
                    losses.append(float(result[0] if isinstance(result, tuple) else result))
                    bar.show(loss=losses[-1])
            if not losses:
                raise ValueError(f"the loader has no batch in epoch {epoch + 1}; one that is an iterator has batches once")
            means.append(sum(losses) / len(losses))
            logger.info("epoch %d of %d: mean loss %.6g of %d steps", epoch + 1, epochs, means[-1], len(losses))
        return means

    def eval(self, *batch: Any) -> Any:
        """Evaluates the model on a batch, of the types and shapes in `step.eval_data`, with the present parameters: no
        parameter, no running statistic and no random state changes. Returns what a step does, or, if none of the
        evaluation's results is a loss, only the dictionary. It uses the step's arena."""
        with self._telling_others():
            return self._evaluate(batch)

    def _evaluate(self, batch: Sequence[Any]) -> Any:
        if not self._native.evaluation:
            raise TypeError(f"the step was compiled without an evaluation; {self._how_to_eval}")
        if self._recompile_evaluation and (other := self._find_other(
                "evaluation", batch, self._eval_inputs, self._other_evaluations, self._recompile_evaluation)):
            return other.eval(*batch)
        located = _locate_all("the evaluation", self._eval_inputs, batch, self.device)
        problem = self._native.evaluate([location for location, _ in located])
        if problem is not None:
            raise as_told(StepError(problem))
        return self._eval_results.read()

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """Averages of the parameters in their place, for a step whose optimizer has `ema`: `with step.averaged(): step.eval(...)`,
        or `step.export(...)`. They are rounded to the types of the parameters, whose own values are kept in the memory of the
        host meanwhile. Before the first step there is no average yet, and the parameters are as they are. Model states (batch
        norm's statistics), which are averages already, stay."""
        averages = {name: f"{name}.average" for name in self.parameters if f"{name}.average" in self._saved}
        if not averages:
            raise TypeError("the step was compiled without averages of its parameters; give its optimizer ema=0.999, or its "
                            "opt.optimizer {ema = 0.999}")
        if self._has_averages:
            raise StepError("the parameters are their averages already")
        if self.number == 0:
            yield
            return
        own = {name: np.array(self._readers[name]()) for name in averages}
        self._has_averages = True
        try:
            for name, average in averages.items():
                self._write(name, self._readers[average]())
            yield
        finally:
            for name, value in own.items():
                self._write(name, value)
            self._has_averages = False

    def _write(self, name: str, value: Array) -> None:
        argument = self.arguments[self._saved[name]]
        value = np.ascontiguousarray(value.astype(argument.dtype, copy=False))
        problem = self._native.write(self._saved[name], value.__array_interface__["data"][0])
        if problem is not None:
            raise StepError(problem)

    @property
    def number(self) -> int:
        """The number of steps that have been done; schedules and bias corrections depend on it."""
        return int(self._native.number)

    @property
    def seed(self) -> int:
        """The seed of initial values and random states."""
        return int(self._native.seed)

    @property
    def grad_norm(self) -> float:
        """The norm of all gradients of the last step, before they were clipped, for a step that was compiled with
        `grad_norm=True`; NaN before the first one."""
        if self._read_norm is None:
            raise TypeError("the step was compiled without the norm of its gradients; say grad_norm=True, or grad_norm in the "
                            "module's remat.train_step")
        return float(self._read_latest_norm()) if self._read_latest_norm else math.nan

    # --- Seeing --------------------------------------------------------------------------------

    @functools.cached_property
    def memory(self) -> Memory:
        """The step's memory, by class."""
        return dataclasses.replace(self._read_memory(self._native.function, HELD_BY_STEP), variants=self._variants)

    def _read_memory(self, function: str, parts: Mapping[str, str]) -> Memory:
        return Memory.from_report(self._native.memory_report, function, self._native.device_bytes[0],
                                  list_held(self.arguments, parts))

    @functools.cached_property
    def eval_memory(self) -> Memory:
        """The memory of an evaluation, by class. Its arena is the step's, which is as large as the larger one needs."""
        if not self._native.evaluation:
            raise TypeError(f"the step was compiled without an evaluation; {self._how_to_eval}")
        return self._read_memory(self._native.evaluation, HELD_BY_EVALUATION)

    def explain(self) -> str:
        """Returns a table of the values that are saved for the backward and of those that it recomputes: who decided so and
        why, bytes, cost, and the line of the model."""
        return self._compilation.explain()

    def export(self, folder: str | os.PathLike[str], name: str, *, kind: str = "object", triple: str = "", cpu: str = "", attr: str = "",
               batch: Sequence[Any] | None = None) -> None:
        """Writes the step to a folder as an object file and a header, for programs in C without Python and without this library,
        with its present values (docs/ship.md).

        - `name`: the beginning of all names, an identifier of C.
        - `kind`: "object", "archive" or "shared".
        - `triple`, `cpu`, `attr`: the system, the processor and its features, as LLVM calls them (default: this machine's).
        - `batch`: what `step(*batch)` takes, for the files that test the step; made up if it is not given, with zeros as integers.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be {', '.join(map(repr, KINDS))}, but got {kind!r}")
        if batch is not None and len(batch) != len(self.data):
            raise TypeError(f"a batch has {len(self.data)} arrays, but got {len(batch)}")
        arrays = [to_numpy(argument, value, what) for (argument, what), value in zip(self._inputs, batch or ())]
        if self._rates:
            self._native.set_learning_rates([_learning_rate(rate, self.number) for rate in self._rates])
        self._compilation.export(self._native, os.path.abspath(folder), name, KINDS.index(kind), triple, cpu, attr,
                                 [array.__array_interface__["data"][0] for array in arrays])

    def __repr__(self) -> str:
        count = sum(a.role == "parameter" for a in self.arguments)
        parameters = f"{count} parameter" + "s" * (count != 1)
        data = ", ".join(f"{a.name}: {a}" for a in self.data)
        return f"<remat.Step({data}), {parameters}, optimizer {self._native.optimizer}, step {self.number}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a step is machine code in this process and can be neither copied nor pickled: make another one from "
                        "the model, and send step.state_dict()")

    # --- State ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Array]:
        """Parameters, states of the optimizer (`<parameter>.<state>`), model states and random states by name: views of
        the step's own memory, which change with it, or copies of what is on a GPU. And `remat.step`, how many steps have
        been done. Where states are quantized, `remat.stored` says what their codes stand for (`remat.stored`)."""
        codes = stored.describe(self._saved_arguments())
        kinds = {stored.STORED_KEY: np.frombuffer(codes.encode(), np.uint8)} if codes else {}
        return self._read_saved() | kinds | {STEP_KEY: np.array(self.number, np.int64)}

    def _saved_arguments(self) -> dict[str, Argument]:
        return {name: self.arguments[index] for name, index in self._saved.items()}

    def _read_saved(self) -> dict[str, Array]:
        return {name: read() for name, read in self._readers.items()}

    @property
    def parameters(self) -> dict[str, Array]:
        """The parameters by name, as views of the step's own memory, or copies of what is on a GPU."""
        return {a.name: self._readers[a.name]() for a in self.arguments if a.role == "parameter"}

    def device_arrays(self) -> dict[str, DeviceArray]:
        """Returns the arrays of `state_dict` by name, on the device where they are and without a copy, for `torch.from_dlpack`
        or `jax.dlpack.from_dlpack`. They change with each step, and must not be read while one runs."""
        def place(index: int) -> tuple[int, int]:
            is_on_gpu = self._native.view(index) is None
            return (CUDA_DEVICE, self.device.number) if is_on_gpu else (CPU_DEVICE, 0)
        return {name: DeviceArray(functools.partial(self._native.export, index), place(index))
                for name, index in self._saved.items()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Sets what `state` names, from anything that `step(...)` takes. With `strict`, it has to name everything that
        `state_dict` does, and nothing else; otherwise other names are left alone. States of the optimizer that are stored in
        another way are converted, of which the logger `remat` tells. Nothing changes unless all of it fits."""
        state, converted = stored.convert(state, self._saved_arguments())
        missing = sorted({*self._saved, STEP_KEY} - set(state))
        unexpected = sorted(set(state) - {*self._saved, STEP_KEY})
        if strict and (missing or unexpected):
            raise KeyError("; ".join(f"{what}: {', '.join(names)}" for what, names in
                                     (("missing", missing), ("unexpected", unexpected)) if names))
        values = {name: to_numpy(self.arguments[index], state[name], f"'{name}'")
                  for name, index in self._saved.items() if name in state}
        number = self._step_number(state[STEP_KEY]) if STEP_KEY in state else None
        for name, value in values.items():
            self._write(name, value)
        if converted:
            logger.warning("converted states: %s", ", ".join(converted))
        if number is not None:
            self._native.number = number
        if len(values) == len(self._saved):
            self._native.set_repaired()

    @staticmethod
    def _step_number(value: Any) -> int:
        number = np.asarray(value)
        if number.shape != () or number.dtype.kind not in "iu" or number < 0:
            raise ValueError(f"'{STEP_KEY}' must be a number of steps, but got {value!r}")
        return int(number)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything that a run goes on from to a safetensors file, which appears complete or not at all. On a mesh, the first
        rank writes it, the same bytes as one rank alone, and the others wait; it can be loaded on any number of ranks."""
        if self._mesh is None:
            return self._save(path)
        with self._mesh.together():
            if self._mesh.rank == 0:
                self._save(path)

    def _save(self, path: str | os.PathLike[str]) -> None:
        metadata = {"format": FORMAT, "step": str(self.number), "seed": str(self._native.seed),
                    "optimizer": self._native.optimizer}
        if codes := stored.describe(self._saved_arguments()):
            metadata[stored.STORED_KEY] = codes
        replace(path, lambda temporary: write_safetensors(temporary, self._read_saved(), metadata))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on from a file of `save`, by a step of the same model and optimizer: the same bits as if the run had not
        been interrupted. On a mesh, the first rank reads it, and sends what it reads to the others."""
        if self._mesh is None:
            return self._load(path)
        with self._mesh.together():
            if self._mesh.rank == 0:
                self._load(path)
        self.share_state()

    def share_state(self) -> None:
        """Gives all ranks of the mesh the parameters, states and number of steps that the first one has."""
        if self._mesh is None or self._mesh.size == 1:
            return
        number, is_whole = json.loads(self._mesh.exchange(json.dumps([self.number, not self._native.is_damaged]))[0])
        for index in self._saved.values():
            problem = self._native.broadcast(index)
            if problem is not None:
                raise RankError(problem)
        self._native.number = number
        if is_whole:
            self._native.set_repaired()

    def _load(self, path: str | os.PathLike[str]) -> None:
        state, metadata = read_safetensors(path)
        if metadata.get("format") != FORMAT:
            raise ValueError(f"{path} is not a file that Step.save wrote; for weights alone, read them and use "
                             "load_state_dict(..., strict=False)")
        if metadata["optimizer"] != self._native.optimizer:
            raise ValueError(f"{path} is of a run with the optimizer {metadata['optimizer']}, this one has "
                             f"{self._native.optimizer}")
        try:
            kinds = {key: metadata[key] for key in (stored.STORED_KEY,) if key in metadata}
            self.load_state_dict(state | kinds | {STEP_KEY: int(metadata["step"])})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is of another model: {error.args[0]}") from error


def _make_reader(native: Any, argument: Argument, index: int) -> Callable[[], Array]:
    """Returns a function that gets the values of an argument: as a view of the step's own memory if that is the host's, else
    as a copy."""
    view: Array | None = native.view(index)
    if view is not None:
        shaped: Array = view.view(argument.dtype).reshape(argument.shape)
        return lambda: shaped

    def read() -> Array:
        value = np.empty(argument.shape, argument.dtype)
        problem = native.read(index, value.__array_interface__["data"][0])
        if problem is not None:
            raise StepError(problem)
        return value
    return read


def _locate_all(what: str, inputs: list[tuple[Argument, str]], batch: Sequence[Any], device: Device) \
        -> list[tuple[Location, Any]]:
    """Returns, for each array of `batch`, its location and the object that keeps it there. `inputs` are arguments and their
    names in messages. Raises a TypeError or a ValueError if the arrays are not as the arguments ask."""
    if len(batch) != len(inputs):
        names = ", ".join(f"{a.name}: {a}" for a, _ in inputs)
        raise TypeError(f"{what} takes {len(inputs)} arrays ({names}), but got {len(batch)}")
    return [locate(argument, value, name, device) for (argument, name), value in zip(inputs, batch)]


def _learning_rate(function: Callable[[int], float], step: int) -> float:
    rate = float(function(step))
    if not math.isfinite(rate):
        raise ValueError(f"the learning rate of step {step} is {rate}")
    return rate


def read_safetensors(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays by name, and the metadata."""
    import safetensors
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file, or not all of it: {error}") from error
