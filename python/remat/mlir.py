# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in MLIR: from the text of a forward function to a step.

    step = remat.mlir.train_step(Path("model.mlir").read_text(), optimizer=remat.AdamW(3e-4))
"""
import dataclasses
import inspect
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from remat import _native, automatic, json_options, policy_text
from remat.advice import Variants
from remat.arrays import Argument
from remat.cache import folder
from remat.cuda_libraries import name_libraries
from remat.errors import CompileError, Diagnostic, gather
from remat.memory import HELD_BY_EVALUATION, HELD_BY_STEP, Memory, list_held
from remat.mesh import Mesh, Shard, fingerprint
from remat.optimizers import Optimizer, bind_rates, number
from remat.policies import Annotation, Operation, Policy, parse_operations
from remat.processes import compiling
from remat.progress import Progress
from remat.step import Step

logger = logging.getLogger("remat")
TARGETS = ("cpu", "cuda")
LEVELS = {"warning": logging.WARNING, "remark": logging.DEBUG, "note": logging.DEBUG}


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """A module of its own that a model is evaluated by, and the pipeline on it that runs first."""

    text: str
    file_name: str
    passes: str


def _split_policy(policy: Any, text: str | bytes, file_name: str, passes: str) -> tuple[str, str | None]:
    """(the pipeline with the passes that `policy` stands for, and its option of `remat-train`)."""
    if isinstance(policy, Annotation):
        if unknown := [selection for selection in policy.selections if selection.modules]:
            raise TypeError(f"{unknown[0]} selects modules of PyTorch, which only remat.torch.train_step knows; use remat.scopes")
        if any(selection.written for selection in policy.selections):
            raise TypeError("as_written() reads the policies of a model in PyTorch or JAX; one in MLIR has regions with policies")

        def operations_after(pipeline: str) -> list[Operation]:
            return list_operations(text, passes=",".join(filter(None, (passes, pipeline))), file_name=file_name)
        return ",".join(filter(None, (passes, policy.resolve(operations_after)))), ""
    if isinstance(policy, Policy):
        if policy.functions or policy.kinds:
            raise TypeError(f"{policy} chooses among the operations of a selection: remat.whole() | {policy}")
        policy = policy.attribute
    return passes, policy


@dataclasses.dataclass(frozen=True)
class Request:
    """Options of a compilation, the text among them, and the learning rates that are functions of Python, by their names.
    `arguments` are those of `make_request`."""

    options: Any
    rates: dict[str, Callable[[int], float]]
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    # With a limit, another request has that as its budget if the step takes more.
    limit: int | None = None

    def again(self) -> "Request":
        logger.info("the step takes more than %s bytes, which are free: it is compiled for that budget", f"{self.limit:,}")
        return make_request(**(self.arguments | {"budget": self.limit, "budget_of": "step"}))

    @property
    def mesh(self) -> Mesh | None:
        mesh: Mesh | None = self.arguments.get("mesh")
        return mesh

    def describe(self) -> dict[str, str]:
        """Returns texts that all ranks must have alike, by names for messages."""
        given, optimizer = self.arguments, self.arguments["optimizer"]
        evaluation = given["evaluation"]
        single = ("seed", "eager", "clip_global_norm", "clip_eps", "grad_norm", "accumulate", "function", "eval_function")
        return {"model": fingerprint(given["text"]), "evaluation": fingerprint(evaluation.text) if evaluation else "none",
                "optimizer": str(bind_rates(optimizer)[0] if isinstance(optimizer, Optimizer) else optimizer),
                **{name: str(given[name]) for name in single}, "policy": "auto" if self.limit is not None else "given",
                "pipeline": self.options.pipeline}

    @property
    def variants(self) -> Variants:
        """The request with other arguments, for `Memory.advise`."""
        return Variants(self.arguments, lambda **changes: measure(make_request(**(self.arguments | changes))).step)


@dataclasses.dataclass(frozen=True)
class MemoryOfModel:
    """The memory of a model's step, and of its evaluation, if it has one."""

    step: Memory
    evaluation: Memory | None


def _request(text: str | bytes, optimizer: Optimizer | str | None, policy: Policy | Annotation | str | None, passes: str,
             eager: bool | None, clip_global_norm: float | None, clip_eps: float | None, grad_norm: bool,
             accumulate: int | None, seed: int | None, function: str | None, eval_function: str | None, threads: int | None,
             options: str, file_name: str,
             optimization_level: int, cache: bool, check_nans: bool, target: str, budget: str | int | float | None, budget_of: str,
             slowdown: float | None, mesh: Mesh | None, shard: Mapping[str, Shard] | None,
             evaluation: Evaluation | None = None) -> Request:
    """Returns the request. Attributes of a train step are left out where no argument asks for one, since the module may have
    its own."""
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"the module must be text, or bytecode in bytes, but got {type(text).__name__}")
    if optimizer is not None and not isinstance(optimizer, (Optimizer, str)):
        raise TypeError(f"the optimizer must be one of remat's, such as remat.AdamW(3e-4), or the text of an attribute, "
                        f"but got {type(optimizer).__name__}")
    if isinstance(optimizer, str) and not optimizer.lstrip().startswith(("#", "@")):
        raise ValueError(f"the optimizer must be one of remat's, such as remat.AdamW(3e-4), or the text of an attribute, such as "
                         f"'#opt.sgd<lr = 0.1>', but got {optimizer!r}")
    rates: dict[str, Callable[[int], float]] = {}
    if isinstance(optimizer, Optimizer):
        optimizer, rates = bind_rates(optimizer)
    attributes = []
    if eager is not None:
        attributes.append("eager" if eager else "deferred")
    if clip_global_norm is not None:
        attributes.append(f"clip_global_norm = {number(clip_global_norm)}")
    if clip_eps is not None:
        attributes.append(f"clip_eps = {number(clip_eps)}")
    if grad_norm:
        attributes.append("grad_norm")
    if accumulate is not None:
        attributes.append(f"accumulate = {int(accumulate)}")
    if seed is not None:
        attributes.append(f"seed = {int(seed)}")
    if optimizer is not None and eager is None:
        attributes.append("deferred" if clip_global_norm is not None or accumulate is not None else "eager")
    passes, option = _split_policy(policy, text, file_name, passes)
    if target not in TARGETS:
        raise ValueError(f"target must be {' or '.join(map(repr, TARGETS))}, but got {target!r}")
    if target == "cuda":
        name_libraries()
    train_options = [f"target={target}"]
    if option:
        train_options.append(f"policy={{{option}}}")
    if threads is not None:
        train_options.append(f"threads={int(threads)}")
    if check_nans:
        train_options.append("check-nans")
    if budget is not None:
        train_options.append(f"budget={{{_format_budget(budget)}}} budget-of={{{budget_of}}}")
    if slowdown is not None:
        if isinstance(slowdown, bool) or not isinstance(slowdown, (int, float)):
            raise TypeError(f"the slowdown must be a number such as 0.1, but got {type(slowdown).__name__}")
        train_options.append(f"slowdown={slowdown:.9f}")
    if mesh is not None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"the mesh must be a remat.Mesh, but got {type(mesh).__name__}")
        train_options.append(f"mesh={{{mesh.option}}}")
        if shard:
            train_options.append(f"shards={{{json_options.quote(mesh.pairs(shard))}}}")
    elif shard:
        raise TypeError("shard says what the ranks of a mesh share; give mesh= as well, such as remat.Mesh(data=2)")
    if options:
        train_options.append(options)
    return Request(_native.Options(
        text=_encode(text), file_name=file_name, passes=passes, function=function or "", optimizer=str(optimizer or ""),
        learning_rates=" ".join(rates),
        train_attributes=", ".join(attributes), train_options=" ".join(train_options), optimization_level=optimization_level,
        eval_text=_encode(evaluation.text) if evaluation else b"", eval_file_name=evaluation.file_name if evaluation else "",
        eval_passes=evaluation.passes if evaluation else "", eval_function=eval_function or "",
        cache_folder=str(cache and folder() or ""), cache_policy=os.environ.get("REMAT_CACHE_POLICY", "")), rates)


def _format_budget(budget: str | int | float) -> str:
    """As the option of `remat-train` has it, which tells a fraction from bytes by its point."""
    if isinstance(budget, str):
        if not re.fullmatch(r"[\w. ]+", budget):
            raise ValueError(f"the budget must be text such as '500MiB' or '0.5', but got {budget!r}")
        return budget
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"the budget must be text such as '500MiB', a number of bytes or a fraction, "
                        f"but got {type(budget).__name__}")
    if isinstance(budget, int):
        return str(budget)
    if not 0 < budget <= 1:
        raise ValueError(f"a budget that is a float is a fraction, above 0 and at most 1, but got {budget}; bytes are an int, or "
                         "text with a unit")
    return f"{budget:.9f}"


def _encode(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def list_operations(text: str | bytes, *, passes: str = "", file_name: str = "model.mlir") -> list[Operation]:
    """Returns the operations of a forward model after the pipeline `passes`, which functions of `remat.save_if` are asked about.
    Raises a `remat.CompileError` if the model is not valid or a pass fails."""
    listed, records, _ = _watch(_native.list_operations, _native.Options(
        text=_encode(text), file_name=file_name, passes=passes, function="", optimizer="", train_attributes="",
        train_options="", optimization_level=3))
    _finish(listed, records)
    return parse_operations(listed)


def _finish(result: Any, records: list[tuple[Any, ...]]) -> list[Diagnostic]:
    """Raises a CompileError with the diagnostics if there is no result; logs and returns them otherwise."""
    diagnostics = gather(records)
    if result is None:
        raise CompileError(diagnostics)
    for diagnostic in diagnostics:
        logger.log(LEVELS.get(diagnostic.severity, logging.WARNING), "%s", str(diagnostic).rstrip())
    return diagnostics


def train_step(text: str | bytes, *, optimizer: Optimizer | str | None = None,
               policy: policy_text.Choice = None, passes: str = "", eager: bool | None = None,
               clip_global_norm: float | None = None, clip_eps: float | None = None, grad_norm: bool = False,
               accumulate: int | None = None, seed: int | None = None, function: str | None = None, eval_function: str | None = None, threads: int | None = None, options: str = "",
               file_name: str = "model.mlir", optimization_level: int = 3, cache: bool = True, check_nans: bool = False,
               target: str = "cpu", budget: str | int | float | None = None, budget_of: str = "step",
               slowdown: float | None = None, mesh: Mesh | None = None, shard: Mapping[str, Shard] | None = None) -> Step:
    """Compiles a training step of a model, allocates its memory, and sets parameters and states to what they start from:
    the same bits as in the program that `remat-opt --remat-train` makes of the same module.

    - `text`: a module with a forward function, in assembly or bytecode. Its arguments with `opt.param` are trained.
    - `optimizer`: an update rule (`remat.AdamW(3e-4)`, or the text of an attribute). Needed if, and only if, the module
      has no `remat.train_step`; so are `eager`, `clip_global_norm`, `grad_norm`, `accumulate` and `seed`.
    - `policy`: what is rematerialized. A selection makes regions first: `remat.layers(every=2) | remat.dots_saveable`. A policy
      alone (`remat.dots_saveable`, or its text) is one for all regions that the model has; `"none"` saves everything. Also what a
      file of settings has: a list of entries, `[{"layers": {"every": 2}}, "dots_saveable"]`, or its text in YAML, and `True` for
      `remat.layers()`. `"auto"` leaves it to the compiler: nothing is recomputed if the step fits in the memory that is free, else
      what that memory as a budget asks for.
    - `passes`: a pipeline that runs before everything else, such as `remat-import{spec=model.json}`.
    - `eager`: whether a parameter is updated as soon as its gradient is final (the default, unless one of the next two
      asks for all gradients at once). With these, `eager=True` keeps about one layer's gradients instead of all, and computes the
      same bits: with `clip_global_norm` the backward runs twice, first for the norm and then for the updates; with `accumulate`
      it runs all micro-batches through one layer after the other, and keeps what their forwards save.
    - `clip_global_norm`, `accumulate`: the largest norm of all gradients together; micro-batches of a step.
    - `clip_eps`: what is added to that norm before the largest one is divided by it: 1e-6, as PyTorch does, if it is not given.
    - `grad_norm`: whether `step.grad_norm` is the norm of all gradients, before they are clipped.
    - `seed`: of initial values and random states (default 0).
    - `function`: the loss (default: the only public function).
    - `eval_function`: what `step.eval` computes: a function of parameters and states, by name, and of data (default: that of
      the module's `remat.train_step`).
    - `threads`: for how many threads workspaces are reserved (default 2). Set OMP_NUM_THREADS, too.
    - `options`: more options of `remat-train`, as text.
    - `file_name`: what messages call the text.
    - `cache`: whether the compiled step may come from, and goes to, the disk (see `remat.cache`).
    - `check_nans`: whether a step ends, with a `remat.StepError`, at the first operation that makes a NaN, which the error
      names with its line. Such a step takes several times as long.
    - `target`: what the step runs on: "cpu", or "cuda" for an NVIDIA GPU, whose memory holds parameters and states then. With
      `options="emulate"`, the kernels for a GPU run on the host.
    - `budget`: the most bytes that a step may take: text with a unit ("500MiB"), a whole number of bytes, or a fraction (0.5)
      of what it takes before anything is recomputed for a budget. Whatever has to be recomputed for that is, at the least
      cost in time that is found; if it does not fit, the error says what would. Needs data of known sizes.
    - `budget_of`: what the budget bounds: "step", everything that a step needs (arena, parameters, states, data, results), or
      "arena", what it computes.
    - `slowdown`: how much more time may be spent for the fewest bytes, instead of a budget: 0.1 is 10 % by the model of costs.

    - `mesh`: the processes that train together (`remat.Mesh(data=2)`). The model is written for the whole batch, of which each has a
      part: `step.data` has its shapes. Data are split along the axis `data` in their first dimension.
    - `shard`: what is split otherwise, by the names of arguments, in which `*` stands for any characters: an axis or None for each
      dimension, `{"tokens": (None, "data"), "positions": (), "*.up.weight": (None, "model")}`.

    Raises `remat.CompileError` with the places in the text if the model cannot be compiled.
    """
    return Step(*compile_request(make_request(**locals())))


def compile_request(request: Request, states_of: Any = None) \
        -> tuple[Any, list[Diagnostic], "Compilation", str, list[Callable[[int], float]], Variants]:
    """Compiles, and returns the arguments of `Step`: the compiled module, warnings, how it was compiled, the pipeline, learning
    rates, and what variants are compiled by. With `states_of`, it has the parameters and states of that compiled module."""
    if mesh := request.mesh:
        mesh.compare(request.describe())
        if request.limit is not None:
            request = dataclasses.replace(request, limit=min(map(int, mesh.exchange(str(request.limit)))))
        with mesh.together():
            return _compile(request, states_of)
    return _compile(request, states_of)


def _compile(request: Request, states_of: Any) \
        -> tuple[Any, list[Diagnostic], "Compilation", str, list[Callable[[int], float]], Variants]:
    options = request.options
    native, records, seconds = _watch(_native.compile, options, states_of)
    if request.limit is not None and _takes_more(request.limit, native and native.memory_report, records):
        del native
        return _compile(request.again(), states_of)
    diagnostics = _finish(native, records)
    logger.info("%s was %s in %.1f s", options.file_name, "read from the cache" if native.is_cached else "compiled", seconds)
    warnings = [d for d in diagnostics if d.severity == "warning"]
    return native, warnings, Compilation(request), options.pipeline, list(request.rates.values()), request.variants


def _takes_more(limit: int, report: str | None, records: list[tuple[Any, ...]]) -> bool:
    """Returns true if a step of this memory report, or its evaluation, takes more bytes, or if the machine has no memory for it."""
    if not report:
        return CompileError(gather(records)).code == "out-of-memory"
    names = [function["name"] for function in json.loads(report)["functions"]]
    return max(Memory.from_report(report, name).peak for name in names) > limit


@dataclasses.dataclass(frozen=True)
class Compilation:
    """How a step was compiled, for what needs its text again."""

    request: Request

    def explain(self) -> str:
        return _explain(self.request)

    def export(self, native: Any, *arguments: Any) -> None:
        """Writes files with the values of the compiled module. The `arguments` are those of `_native.export`."""
        done, records, _ = _watch(_native.export, self.request.options, native, *arguments)
        _finish(done or None, records)


def _watch(work: Callable[..., tuple[Any, list[tuple[Any, ...]]]], options: Any, *more: Any) \
        -> tuple[Any, list[tuple[Any, ...]], float]:
    """Calls `work`, which shows its progress, and returns its result, its diagnostics, and the seconds that it took."""
    with compiling():
        progress = Progress(options.file_name)
        try:
            return *work(options, progress, *more), progress.seconds
        finally:
            progress.close()


def _explain(request: Request) -> str:
    table, records, _ = _watch(_native.explain, request.options)
    _finish(table, records)
    return str(table)


def measure(request: Request) -> MemoryOfModel:
    """Returns the memory of the step that `compile_request` would make, without one: nothing is allocated, and there is no code.
    The memory that a GPU's runtime has for itself is not part of it. Raises a `remat.CompileError` as that does."""
    text, records, _ = _watch(_native.report_memory, request.options)
    if request.limit is not None and _takes_more(request.limit, text and json.loads(text)["memory"], records):
        return measure(request.again())
    _finish(text, records)
    report = json.loads(text)
    arguments = [Argument(role, name, kind, tuple(shape), size) for role, name, kind, shape, size in report["arguments"]]
    step, evaluation = (name and Memory.from_report(report["memory"], name, held=list_held(arguments, parts))
                        for name, parts in ((report["step"], HELD_BY_STEP), (report["evaluation"], HELD_BY_EVALUATION)))
    return MemoryOfModel(dataclasses.replace(step, variants=request.variants), evaluation or None)


def memory(text: str | bytes, **arguments: Any) -> Memory:
    """Returns the same figures as `Step.memory`, without a step, for the arguments of `train_step`: nothing is allocated, and
    there is no code. The memory that a GPU's runtime has for itself is not part of it."""
    return measure(make_request(text, **arguments)).step


def make_request(text: str | bytes, evaluation: Evaluation | None = None, **arguments: Any) -> Request:
    """Returns the request that `train_step` makes of the same arguments; `evaluation` is a front end's. Raises a TypeError for
    arguments that `train_step` does not have."""
    defaults = {name: known.default for name, known in inspect.signature(train_step).parameters.items() if name != "text"}
    unknown = sorted(set(arguments) - set(defaults))
    if unknown:
        raise TypeError(f"train_step has no argument called {', '.join(unknown)}; it has {', '.join(defaults)}")
    given = defaults | arguments
    policy = given["policy"] = policy_text.as_policy(given["policy"])
    if isinstance(policy, Annotation) and policy.step_budget is not None:
        if given["budget"] is not None:
            raise ValueError(f"the policy has a budget of {policy.step_budget}, and budget= is {given['budget']}; leave one of them out")
        given |= {"policy": policy.without_budget(), "budget": policy.step_budget}
    limit = None
    if policy == automatic.AUTO:
        given["policy"] = "none"
        if given["budget"] is None and given["slowdown"] is None and "budget=" not in given["options"]:
            limit = automatic.choose_limit(given["target"])
    return dataclasses.replace(_request(text, evaluation=evaluation, **given), limit=limit,
                               arguments={"text": text, "evaluation": evaluation} | given)


def explain(text: str | bytes, **arguments: Any) -> str:
    """Returns the same table as `Step.explain`, without a step, for the arguments of `train_step`."""
    return _explain(make_request(text, **arguments))
