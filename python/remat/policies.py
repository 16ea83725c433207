# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choices of what is saved and what is rematerialized, as values: selections of parts of a model, and policies for them.

A selection takes parts of a plain model; a policy after it (`|`) says what their forward may save for the backward. Several
policies in a row permit what any of them does, several selections are done one after the other, inner parts first. Together
they are a pipeline for `remat-opt`:

    >>> from remat import dots_saveable, everything_saveable
    >>> print(layers(every=2) | dots_saveable | save_names("attn_out"))
    remat-annotate{blocks every=2 policy={any_of<#remat.dots_saveable, #remat.save_only_names<"attn_out">>}}
    >>> print(ops("softmax") | everything_saveable | layers())
    remat-annotate{ops=softmax policy=everything_saveable},remat-annotate{blocks}

Policies of the `remat` dialect are names of this module that are made when they are used first. A selection without a policy
may save nothing. A policy alone is one for all regions that the model has.
"""
import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

from remat import dialects, policy_yaml


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation of the forward model that makes a tensor, as functions of `save_if` get it.

    `number` counts operations from 0; `op` is its name in MLIR and `kinds` those of `remat.ops` that it is one of; `bytes`
    is the size of its results and `cost` the number of scalar operations that recompute them; `scope` (the module in
    PyTorch, the name scope in JAX), `line` of the source and `name` (of a `checkpoint_name`) are None if it has none.
    """

    number: int
    function: str
    op: str
    kinds: tuple[str, ...]
    types: tuple[str, ...]
    bytes: int
    cost: int
    name: str | None
    scope: str | None
    line: str | None


def parse_operations(text: str) -> list[Operation]:
    """Returns the operations in `text`, as `remat-print-operations` prints them."""
    operations: list[dict[str, Any]] = json.loads(text)
    fields: list[dict[str, Any]] = [{key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
                                    for found in operations]
    return [Operation(**values) for values in fields]


@dataclasses.dataclass(frozen=True)
class Kinds:
    """A member of a policy: operations whose results may be saved, by kind or name."""

    names: tuple[str, ...]


class Policy:
    """Permits to save what any of its members permits: attributes (without `#remat.`), kinds of operations, and functions that return
    true for an operation whose results may be saved."""

    def __init__(self, *members: str | Kinds | Callable[[Operation], bool]):
        self.members = members

    def __or__(self, other: "Policy") -> "Policy":
        if isinstance(other, Annotation):
            raise TypeError("a policy stands behind what it is for: remat.layers() | remat.dots_saveable")
        return Policy(*self.members, *other.members) if isinstance(other, Policy) else NotImplemented

    @property
    def functions(self) -> tuple[Callable[[Operation], bool], ...]:
        return tuple(member for member in self.members if callable(member))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(name for member in self.members if isinstance(member, Kinds) for name in member.names)

    @property
    def attribute(self) -> str:
        """The attribute of the members that are attributes, as in assembly; empty if there are none of these."""
        names = [member for member in self.members if isinstance(member, str)]
        if len(names) < 2:
            return "".join(names)
        return f"any_of<{', '.join('#remat.' + name.removeprefix('#remat.') for name in names)}>"

    def __eq__(self, other: object) -> bool:
        return self.members == other.members if isinstance(other, Policy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.members)

    def to_yaml(self) -> str:
        """Returns the policy as text in YAML, which `policy=` takes."""
        return policy_yaml.write(self)

    def __str__(self) -> str:
        functions = [f"save_if({getattr(f, '__name__', f)})" for f in self.functions]
        kinds = [f"save_ops({', '.join(map(repr, self.kinds))})"] * bool(self.kinds)
        return " | ".join([self.attribute] * bool(self.attribute) + kinds + functions)

    def __repr__(self) -> str:
        return f"<remat.Policy {self}>"


def __dir__() -> list[str]:
    return sorted({*globals(), *derived()})


def derived() -> list[str]:
    """Returns the names of this module that are policies of the `remat` dialect: values, or functions of names. Those with other
    parameters are written by hand."""
    return [policy["mnemonic"] for policy in dialects.describe()["policies"] if policy["parameters"] != "other"]


def __getattr__(name: str) -> Any:
    for policy in [] if name.startswith("_") else dialects.describe()["policies"]:
        if policy["mnemonic"] == name and policy["parameters"] in ("none", "names"):
            globals()[name] = Policy(name) if policy["parameters"] == "none" else _names_policy(name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _names_policy(mnemonic: str) -> Callable[..., Policy]:
    def policy(*names: str) -> Policy:
        return _names(mnemonic, names)
    policy.__name__ = policy.__qualname__ = mnemonic
    policy.__doc__ = f"#remat.{mnemonic} of these names (docs/reference/RematDialect.md)."
    return policy


def _names(attribute: str, names: tuple[str, ...]) -> Policy:
    if not names:
        raise ValueError("at least one name is needed")
    return Policy(f"{attribute}<{', '.join(json.dumps(name, ensure_ascii=False) for name in names)}>")


def save_names(*names: str) -> Policy:
    """Values with one of these names (`checkpoint_name`, `remat.name`)."""
    return _names("save_only_names", names)


def save_all_but_names(*names: str) -> Policy:
    """All values, named or not, but those with these names."""
    return _names("save_anything_except_names", names)


def every_k(k: int) -> Policy:
    """The results of every k-th region directly inside."""
    return Policy(f"every_k<{int(k)}>")


def budget(size: int | str) -> Policy:
    """Returns the policy by which a region saves values of at most `size` bytes (an `int`, or text such as "10MiB"), those
    whose recompute would take the most time. For everything that a step takes, give `budget=` to `train_step`."""
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise TypeError(f"the size must be a number of bytes or text such as '10MiB', but got {type(size).__name__}")
    return Policy(f"budget<{json.dumps(size)}>")


def snapshots(states: int | str) -> Policy:
    """Returns the policy by which loops of a region keep `states` states (an `int`, or text such as "10MiB": that many bytes of each
    loop) for the backward, which recomputes the iterations between them. For `remat.ops("scf.for")` or `remat.whole()`."""
    if isinstance(states, bool) or not isinstance(states, (int, str)):
        raise TypeError(f"states must be a number or text such as '10MiB', but got {type(states).__name__}")
    return Policy(f"snapshots<{json.dumps(states)}>")


def save_if(function: Callable[[Operation], bool]) -> Policy:
    """The results of those operations of the model for which `function` is true."""
    if not callable(function):
        raise TypeError(f"save_if takes a function of a remat.Operation, but got {type(function).__name__}")
    return Policy(function)


def save_ops(*kinds: str) -> Policy:
    """The results of operations of these kinds (as in `ops`) in the selection that the policy is for: `layers() | save_ops("attention")`
    keeps the attention of each layer, with the number that its backward needs for each row, and recomputes the rest."""
    if not kinds:
        raise ValueError("at least one kind is needed")
    for kind in kinds:
        if not isinstance(kind, str) or not kind:
            raise TypeError(f"save_ops takes kinds of operations, such as \"attention\", but got {kind!r}")
    return Policy(Kinds(kinds))


@dataclasses.dataclass(frozen=True)
class Selection:
    """One `remat-annotate`: what it selects, and what becomes of that."""

    selector: str
    policy: Policy | None = None
    recompute: tuple[str, ...] = ()
    save: tuple[str, ...] = ()
    name: str | None = None
    function: str | None = None
    # Classes, names of classes and functions that select modules: a front end puts scopes into their place.
    modules: tuple[Any, ...] = ()
    # The checkpoints of the model with the policies that they have there, which a front end knows.
    written: bool = False

    def __str__(self) -> str:
        options = [self.selector]
        functions = [*self.policy.kinds, *(f"<{f.__name__}>" for f in self.policy.functions)] if self.policy else []
        for key, value in (("policy", self.policy.attribute if self.policy else ""), ("recompute", ",".join(self.recompute)),
                           ("save", ",".join([*self.save, *functions])), ("name", self.name), ("function", self.function)):
            if value:
                options.append(f"{key}={{{value}}}" if " " in value else f"{key}={value}")
        return f"remat-annotate{{{' '.join(options)}}}"

    def resolve(self, operations: Callable[[], Sequence[Operation]]) -> "Selection":
        """With numbers in the place of functions."""
        if not self.policy or not self.policy.functions:
            return self
        chosen = [op for op in operations() if any(function(op) for function in self.policy.functions)]
        attribute = self.policy.attribute
        return dataclasses.replace(self, policy=Policy(attribute) if attribute else None,
                                   save=(*self.save, *self.policy.kinds, *(f"#{op.number}" for op in chosen)))


class Annotation:
    """Selections, with what becomes of each, in the order in which they are done. With `step_budget`, that is the `budget=` of
    the step, unless it has one."""

    def __init__(self, selections: Sequence[Selection], joined: int = 0, step_budget: int | float | str | None = None):
        self.selections = tuple(selections)
        self.step_budget = step_budget
        # So many at the end have got a policy by `|`, which another one joins.
        self._joined = joined

    def __or__(self, other: "Annotation | Policy") -> "Annotation":
        if isinstance(other, Annotation):
            if None not in (self.step_budget, other.step_budget):
                raise TypeError(f"the step has two budgets, {self.step_budget} and {other.step_budget}")
            return Annotation(self.selections + other.selections, other._joined if other.selections else self._joined,
                              other.step_budget if self.step_budget is None else self.step_budget)
        if not isinstance(other, Policy):
            return NotImplemented
        if not self.selections:
            raise TypeError(f"a policy stands behind what it is for, but nothing is selected for {other}")
        if self._joined:
            return self._join(self._joined, lambda policy: policy | other)
        count = 0
        for selection in reversed(self.selections):
            if selection.policy or selection.recompute or selection.name or selection.written:
                break
            count += 1
        if not count:
            raise TypeError(f"{self.selections[-1]} says what becomes of it already, so that {other} is for nothing")
        return self._join(count, lambda _: other)

    def without_budget(self) -> "Annotation":
        return Annotation(self.selections, self._joined)

    def with_selections(self, selections: Sequence[Selection]) -> "Annotation":
        return Annotation(selections, 0, self.step_budget)

    def _join(self, count: int, change: Callable[[Any], Policy]) -> "Annotation":
        before, last = self.selections[:-count], self.selections[-count:]
        return Annotation([*before, *(dataclasses.replace(s, policy=change(s.policy)) for s in last)], count,
                          self.step_budget)

    def resolve(self, operations_after: Callable[[str], Sequence[Operation]]) -> str:
        """Returns the pipeline. `operations_after(pipeline)` returns the operations of the model after the passes of earlier
        selections."""
        pipeline = ""
        for selection in self.selections:
            before = pipeline
            resolved = selection.resolve(lambda: operations_after(before))
            pipeline = f"{before},{resolved}" if before else str(resolved)
        return pipeline

    def __eq__(self, other: object) -> bool:
        """By what they mean: whether the next policy joins the last one is no part of it."""
        if not isinstance(other, Annotation):
            return NotImplemented
        return (self.selections, self.step_budget) == (other.selections, other.step_budget)

    def __hash__(self) -> int:
        return hash((self.selections, self.step_budget))

    def to_yaml(self) -> str:
        """Returns the selections and their policies as text in YAML, which `policy=` takes."""
        return policy_yaml.write(self)

    def __str__(self) -> str:
        return ",".join(map(str, self.selections))

    def __repr__(self) -> str:
        return f"<remat.Annotation {self}>"


def for_step(size: int | float | str, where: str) -> Annotation:
    """Returns the budget of the step as an entry of a list of selections; `where` is its place in errors."""
    if isinstance(size, bool) or not isinstance(size, (int, float, str)):
        raise TypeError(f"{where} must be text such as 500MiB, a number of bytes or a fraction, but it is {size!r}")
    return Annotation([], step_budget=size)


def _annotate(selector: str, policy: Policy | str | None, recompute: Sequence[str], name: str | None,
              function: str | None) -> Annotation:
    if name is not None and (policy is not None or recompute):
        raise ValueError("a selection is named, or it becomes regions with a policy; not both in one annotation")
    if policy is not None and recompute:
        raise ValueError("recompute= is a policy of its own; give it or policy=")
    return Annotation([Selection(selector, Policy(policy) if isinstance(policy, str) else policy, tuple(recompute), (), name,
                                 function)])


def _patterns(patterns: tuple[str, ...]) -> str:
    if not patterns:
        raise ValueError("at least one pattern is needed")
    return ",".join(patterns)


def layers(*, every: int = 1, group: int = 1, pick: str | None = None, policy: Policy | str | None = None,
           recompute: Sequence[str] = (), name: str | None = None, function: str | None = None) -> Annotation:
    """Layers that are found in the operations: sequences that repeat. `every=k`: every k-th only; `group=k`: k in one
    region; `pick="0,3-5,-1"`: these only."""
    parts = ["blocks"] + [f"every={int(every)}"] * (every != 1) + [f"group={int(group)}"] * (group != 1)
    return _annotate(" ".join(parts + ([f"pick={pick}"] if pick else [])), policy, recompute, name, function)


def as_written() -> Annotation:
    """The applications of `jax.checkpoint` or `torch.utils.checkpoint` in the model, each with the policy that it has there
    (`policy=`, `context_fn=`), which is asked about every operation."""
    return Annotation([Selection("<as written>", written=True)])


def whole(*, policy: Policy | str | None = None, recompute: Sequence[str] = (), name: str | None = None,
          function: str | None = None) -> Annotation:
    """Everything that the function computes."""
    return _annotate("whole", policy, recompute, name, function)


def scopes(*patterns: str, policy: Policy | str | None = None, recompute: Sequence[str] = (), name: str | None = None,
           function: str | None = None) -> Annotation:
    """Operations whose locations are under these scopes: `layers.*` (PyTorch), `layer_*` (JAX)."""
    return _annotate(f"scope={_patterns(patterns)}", policy, recompute, name, function)


def calls(*patterns: str, policy: Policy | str | None = None, recompute: Sequence[str] = (), name: str | None = None,
          function: str | None = None) -> Annotation:
    """Each call of a function with such a name."""
    return _annotate(f"calls={_patterns(patterns)}", policy, recompute, name, function)


def ops(*kinds: str, policy: Policy | str | None = None, recompute: Sequence[str] = (), name: str | None = None,
        function: str | None = None) -> Annotation:
    """Operations by kind (`dot`, `elementwise`, `reduction`, `softmax`, `norm`, `attention`, `gather`) or name (`math.*`)."""
    return _annotate(f"ops={_patterns(kinds)}", policy, recompute, name, function)


def modules(*what: type | str | Callable[[Any, str], bool], policy: Policy | str | None = None, recompute: Sequence[str] = (),
            name: str | None = None, function: str | None = None) -> Annotation:
    """Modules of PyTorch that are of one of these classes (or names of classes), or for which a function of a module and its name in
    the model is true. Those within others become regions in these."""
    if not what:
        raise ValueError("at least one class or function is needed")
    for each in what:
        if not callable(each) and not (isinstance(each, str) and each):
            raise TypeError(f"modules takes classes, their names, and functions of a module and its name, but got {each!r}")
    names = [each if isinstance(each, str) else getattr(each, "__name__", repr(each)) for each in what]
    annotation = _annotate(f"scope=<{','.join(names)}>", policy, recompute, name, function)
    return Annotation([dataclasses.replace(selection, modules=what) for selection in annotation.selections])


def checkpoints(*, policy: Policy | str | None = None, recompute: Sequence[str] = (), name: str | None = None,
                function: str | None = None) -> Annotation:
    """Each application of `jax.checkpoint` or `torch.utils.checkpoint` that the locations tell of."""
    return _annotate("checkpoints", policy, recompute, name, function)
