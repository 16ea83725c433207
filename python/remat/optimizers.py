# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Update rules and learning rates, as values.

Each is the attribute of the same name in the `opt` dialect, whose formula and defaults are in docs/reference/OptDialect.md:

    >>> print(SGD(0.1, momentum=0.9, groups=[Group("*.bias", weight_decay=0.0)]))  # doctest: +NORMALIZE_WHITESPACE
    #opt.sgd<lr = 0.1, momentum = 0.9, dampening = 0.0, nesterov = false, weight_decay = 0.0>
      {groups = [#opt.group<"*.bias", weight_decay = 0.0>]}

`lr` is a number, a schedule, a Python function of the step, which counts from 0 (it is called before each step), or the name of
a function of the module from i64 to f32 or f64 ("@my_schedule").
"""
import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from typing import Any


def number(value: float) -> str:
    """A float as MLIR reads it, with all its digits.

    >>> print(number(1e-8), number(3), number(0.0003))
    1.0e-08 3.0 0.0003
    """
    try:
        mantissa, _, exponent = f"{float(value)!r}".partition("e")
    except (TypeError, ValueError):
        raise TypeError(f"a hyperparameter must be a number, but got {value!r}") from None
    if "inf" in mantissa or "nan" in mantissa:
        raise ValueError(f"a hyperparameter must be a finite number, but got {value}")
    return (mantissa if "." in mantissa else mantissa + ".0") + (f"e{exponent}" if exponent else "")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if callable(value):
        return f"@{getattr(value, '__name__', type(value).__name__)}"
    if isinstance(value, Schedule):
        return str(value)
    if isinstance(value, str):
        if not value.startswith("@"):
            raise ValueError(f"the name of a function must begin with @, but got {value!r}")
        return value
    return number(value)


def _attribute(mnemonic: str, values: dict[str, Any]) -> str:
    return f"#opt.{mnemonic}<{', '.join(f'{name} = {text}' for name, text in values.items())}>"


class Schedule:
    """A learning rate that depends on the step, which counts from 0."""


Rate = float | str | Schedule | Callable[[int], float]


@dataclasses.dataclass(frozen=True)
class Constant(Schedule):
    """The same learning rate at every step."""

    value: float

    def __str__(self) -> str:
        return _attribute("constant", {"value": number(self.value)})


@dataclasses.dataclass(frozen=True)
class LinearWarmupCosine(Schedule):
    """From 0 to `peak` within `warmup` steps, then down half a cosine to `floor` at step `total`."""

    peak: float
    warmup: int
    total: int
    floor: float = 0.0

    def __str__(self) -> str:
        return _attribute("linear_warmup_cosine", {"peak": number(self.peak), "warmup": str(int(self.warmup)),
                                                   "total": str(int(self.total)), "floor": number(self.floor)})


@dataclasses.dataclass(frozen=True)
class StepDecay(Schedule):
    """`initial * factor^(step // every)`."""

    initial: float
    factor: float
    every: int

    def __str__(self) -> str:
        return _attribute("step_decay", {"initial": number(self.initial), "factor": number(self.factor),
                                         "every": str(int(self.every))})


class Group:
    """Other hyperparameters for the parameters whose name matches a pattern with * and ?; the first group that matches
    wins. `frozen`: they are not trained. `rule`: another rule for them."""

    def __init__(self, pattern: str, *, frozen: bool = False, rule: "Optimizer | None" = None, **overrides: Any):
        if rule is not None and rule.clauses():
            raise ValueError("groups and clipping belong to the optimizer, not to the rule of a group")
        self.pattern, self.frozen, self.rule, self.overrides = pattern, frozen, rule, overrides

    @classmethod
    def named(cls, name: str, **arguments: Any) -> "Group":
        """Of the one parameter that is called so, whatever characters are in its name.

        >>> print(Group.named("scale[0]*", frozen=True))
        #opt.group<"scale\\\\[0\\\\]\\\\*", frozen>
        """
        return cls(re.sub(r"[][*?\\{}]", r"\\\g<0>", name), **arguments)

    def __str__(self) -> str:
        parts = [json.dumps(self.pattern)] + ["frozen"] * self.frozen
        if self.rule is not None:
            parts.append(f"rule = {self.rule.attribute()}")
        parts += [f"{name} = {_text(value)}" for name, value in self.overrides.items()]
        return f"#opt.group<{', '.join(parts)}>"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimizer:
    """Base class of optimizers. All have `groups` of parameters, `clip_value` (every element of a gradient is limited to
    [-clip_value, clip_value]) and `clip_norm` (the limit of the norm of each gradient by itself)."""

    groups: Sequence[Group] = ()
    clip_value: float | None = None
    clip_norm: float | None = None

    _mnemonic = ""
    _shared = ("groups", "clip_value", "clip_norm")

    def attribute(self) -> str:
        """Returns the rule, as in assembly."""
        values = {f.name: _text(getattr(self, f.name)) for f in dataclasses.fields(self) if f.name not in self._shared}
        return _attribute(self._mnemonic, values)

    def clauses(self) -> str:
        """Returns the clauses of `opt.optimizer` that follow the rule: groups and clipping; may be empty."""
        parts = [f"groups = [{', '.join(map(str, self.groups))}]"] if self.groups else []
        for name in ("clip_value", "clip_norm"):
            if getattr(self, name) is not None:
                parts.append(f"{name} = {number(getattr(self, name))}")
        return ", ".join(parts)

    def __str__(self) -> str:
        clauses = self.clauses()
        return self.attribute() + (f" {{{clauses}}}" if clauses else "")


@dataclasses.dataclass(frozen=True)
class SGD(Optimizer):
    """`torch.optim.SGD`."""

    lr: Rate
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    _mnemonic = "sgd"


@dataclasses.dataclass(frozen=True)
class Adam(Optimizer):
    """`torch.optim.Adam`; `weight_decay` is an L2 term of the gradient."""

    lr: Rate
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    _mnemonic = "adam"


@dataclasses.dataclass(frozen=True)
class AdamW(Adam):
    """`torch.optim.AdamW` and `optax.adamw`."""

    weight_decay: float = 0.01
    _mnemonic = "adamw"


@dataclasses.dataclass(frozen=True)
class Lion(Optimizer):
    """`optax.lion`."""

    lr: Rate
    b1: float = 0.9
    b2: float = 0.99
    weight_decay: float = 0.0
    _mnemonic = "lion"


@dataclasses.dataclass(frozen=True)
class LAMB(Adam):
    """`optax.lamb`."""

    eps: float = 1e-6
    _mnemonic = "lamb"


@dataclasses.dataclass(frozen=True)
class Adafactor(Optimizer):
    """`torch.optim.Adafactor`."""

    lr: Rate = 0.01
    beta2_decay: float = -0.8
    eps1: float = 2.0**-23
    eps2: float = 1e-3
    d: float = 1.0
    weight_decay: float = 0.0
    _mnemonic = "adafactor"


@dataclasses.dataclass(frozen=True)
class Custom(Optimizer):
    """A rule that is a function of the module: `Custom("@signum", states=1, lr=1e-3)`."""

    rule: str
    states: int
    lr: Rate

    def attribute(self) -> str:
        return f"#opt.custom<{_text(self.rule)}, states = {int(self.states)}, lr = {_text(self.lr)}>"


def bind_rates(optimizer: Optimizer) -> tuple[Optimizer, dict[str, Callable[[int], float]]]:
    """`optimizer` with names in the place of learning rates that are Python functions, and these by their names."""
    names: dict[Callable[[int], float], str] = {}

    def bind(value: Any) -> Any:
        return "@" + names.setdefault(value, f"remat_lr{len(names)}") if callable(value) else value

    def bind_rule(rule: Any) -> Any:  # every rule has an lr
        return dataclasses.replace(rule, lr=bind(rule.lr))

    def bind_group(group: Group) -> Group:
        overrides = {name: bind(value) for name, value in group.overrides.items()}
        return Group(group.pattern, frozen=group.frozen, rule=bind_rule(group.rule) if group.rule else None, **overrides)

    bound = dataclasses.replace(bind_rule(optimizer), groups=[bind_group(group) for group in optimizer.groups])
    return bound, {name: function for function, name in names.items()}
