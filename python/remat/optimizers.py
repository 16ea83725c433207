# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Update rules and learning rates, as values.

Each is the attribute of the same name in the `opt` dialect, from which its class is made when it is used first; formula and
defaults are in docs/reference/OptDialect.md:

    >>> from remat import SGD
    >>> print(SGD(0.1, momentum=0.9, groups=[Group("*.bias", weight_decay=0.0)]))  # doctest: +NORMALIZE_WHITESPACE
    #opt.sgd<lr = 0.1, momentum = 0.9, dampening = 0.0, nesterov = false, weight_decay = 0.0, states = f32, rounding = nearest>
      {groups = [#opt.group<"*.bias", weight_decay = 0.0>]}

`lr` is a number, a schedule, a Python function of the step, which counts from 0 (it is called before each step), or the name of
a function of the module from i64 to f32 or f64 ("@my_schedule").
"""
import dataclasses
import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from remat import dialects


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


def _word(choices: Sequence[str], value: Any) -> str:
    """A hyperparameter that is one of some words."""
    if value not in choices:
        raise ValueError(f"expected one of {', '.join(choices)}, but got {value!r}")
    return str(value)


# A hyperparameter as in assembly, and its type in Python, for each kind of the dialect.
_KINDS: dict[str, tuple[Callable[[Any], str], Any]] = {
    "real": (number, float), "flag": (lambda value: str(bool(value)).lower(), bool),
    "count": (lambda value: str(int(value)), int), "learning_rate": (_text, "Rate"), "choice": (str, str)}


def _texts(instance: Any) -> dict[str, str]:
    """Returns the hyperparameters of a class that `_make_class` has made, as in assembly."""
    return {field.name: field.metadata["text"](getattr(instance, field.name))
            for field in dataclasses.fields(instance) if "text" in field.metadata}


# Hyperparameters that are words: how states are stored, and how parameters are rounded.
WORDS = "states", "rounding"


class Schedule:
    """A learning rate that depends on the step, which counts from 0."""

    _mnemonic = ""

    def __str__(self) -> str:
        return _attribute(self._mnemonic, _texts(self))


Rate = float | str | Schedule | Callable[[int], float]


class Group:
    """Other hyperparameters for the parameters whose name matches a pattern with * and ?; the first group that matches
    wins. `frozen`: they are not trained. `rule`: another rule for them."""

    def __init__(self, pattern: str, *, frozen: bool = False, rule: "Optimizer | None" = None, **overrides: Any):
        if rule is not None and rule.clauses():
            raise ValueError("groups, clipping and averages belong to the optimizer, not to the rule of a group")
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
        parts += [f"{name} = {value if name in WORDS else _text(value)}" for name, value in self.overrides.items()]
        return f"#opt.group<{', '.join(parts)}>"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimizer:
    """Base class of optimizers. All have `groups` of parameters, `clip_value` (every element of a gradient is limited to
    [-clip_value, clip_value]), `clip_norm` (the limit of the norm of each gradient by itself) and `ema` (0.999: a step keeps averages
    of the parameters, and adds 0.001 of the new ones; `step.averaged()` evaluates with them)."""

    groups: Sequence[Group] = ()
    clip_value: float | None = None
    clip_norm: float | None = None
    ema: float | None = None

    _mnemonic = ""

    def attribute(self) -> str:
        """Returns the rule, as in assembly."""
        return _attribute(self._mnemonic, _texts(self))

    def clauses(self) -> str:
        """Returns the clauses of `opt.optimizer` that follow the rule: groups, clipping and averages; may be empty."""
        parts = [f"groups = [{', '.join(map(str, self.groups))}]"] if self.groups else []
        for name in ("clip_value", "clip_norm", "ema"):
            if getattr(self, name) is not None:
                parts.append(f"{name} = {number(getattr(self, name))}")
        return ", ".join(parts)

    def __str__(self) -> str:
        clauses = self.clauses()
        return self.attribute() + (f" {{{clauses}}}" if clauses else "")


def __dir__() -> list[str]:
    return sorted({*globals(), *derived()})


def derived() -> list[str]:
    """Returns the names of this module that are rules and schedules of the `opt` dialect."""
    return [found["class"] for kind in ("rules", "schedules") for found in dialects.describe()[kind]]


def __getattr__(name: str) -> Any:
    for kind, base in (("rules", Optimizer), ("schedules", Schedule)):
        for found in [] if name.startswith("_") else dialects.describe()[kind]:
            if found["class"] == name:
                globals()[name] = _make_class(found, base)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _make_class(described: dict[str, Any], base: type) -> type:
    """Returns the dataclass of a rule or schedule: its fields are the hyperparameters."""
    fields: list[Any] = []
    for parameter in described["hyperparameters"]:
        text, kind = _KINDS[parameter["kind"]]
        if "choices" in parameter:
            text = functools.partial(_word, parameter["choices"])
        field: Any = dataclasses.field(metadata={"text": text})
        if "default" in parameter:
            field.default = parameter["default"] if kind in (bool, int, str) else float(parameter["default"])
        fields.append((parameter["name"], kind, field))
    return dataclasses.make_dataclass(
        described["class"], fields, bases=(base,), frozen=True,
        namespace={"__doc__": f"#opt.{described['mnemonic']} (docs/reference/OptDialect.md).", "__module__": __name__,
                   "_mnemonic": described["mnemonic"]})


@dataclasses.dataclass(frozen=True)
class Custom(Optimizer):
    """A rule that is a function of the module: `Custom("@signum", states=1, lr=1e-3)`."""

    rule: str
    states: int
    lr: Rate
    rounding: str = "nearest"

    def attribute(self) -> str:
        rounding = "" if self.rounding == "nearest" else f", rounding = {self.rounding}"
        return f"#opt.custom<{_text(self.rule)}, states = {int(self.states)}, lr = {_text(self.lr)}{rounding}>"


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
