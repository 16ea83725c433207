# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers of PyTorch as rules of the `opt` dialect.

Those that have a rule here become it. What else is in `torch.optim` is exported, one step of one parameter, as a function of
the module.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from remat.optimizers import SGD, Adafactor, Adam, AdamW, Custom, Group, Optimizer
from remat.torch.export import from_torch, to_numpy

PREFIX = "torch_update_"
COUNTS = "step", "mu_product", "eta", "mu"  # of Adam and its kin, NAdam, ASGD

# Rules of the `opt` dialect by torch's optimizer: the options that both have, by the same names, and options with the only value
# that they may have.
RULES = {
    "SGD": (SGD, ("lr", "momentum", "dampening", "nesterov", "weight_decay"), {"maximize": False}),
    "Adam": (Adam, ("lr", "eps", "weight_decay"),
             {"amsgrad": False, "maximize": False, "decoupled_weight_decay": False}),
    "AdamW": (AdamW, ("lr", "eps", "weight_decay"),
              {"amsgrad": False, "maximize": False, "decoupled_weight_decay": True}),
    "Adafactor": (Adafactor, ("lr", "beta2_decay", "d", "weight_decay"), {"maximize": False}),
}



class _Unknown(ValueError):
    """No rule of ours does the same."""


def _hyperparameters(kind: str, group: dict[str, Any]) -> dict[str, Any]:
    _, names, fixed = RULES[kind]
    wrong = [f"{name}={group[name]}" for name, value in fixed.items() if name in group and group[name] != value]
    if wrong:
        raise _Unknown(f"torch.optim.{kind} with {', '.join(wrong)} has no rule here")
    values = {name: group[name] for name in names}
    if "betas" in group:
        values |= dict(zip(("b1", "b2"), group["betas"]))
    if kind == "Adafactor":
        eps1, eps2 = group["eps"]
        values |= {"eps1": 2.0**-23 if eps1 is None else eps1, "eps2": eps2}
    return {name: value if isinstance(value, (bool, Rate)) else float(value) for name, value in values.items()}


@dataclasses.dataclass
class Functions:
    """The update rules that a module needs beside its loss, and what their states start from where that is not zero."""

    texts: list[str] = dataclasses.field(default_factory=list)
    initial: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add_to(self, text: str) -> str:
        """`text`, a module, with these functions."""
        head, brace, tail = text.rpartition("\n}")
        return head + "".join(f"\n{function}" for function in self.texts) + brace + tail


class Rate:
    """Returns the learning rate of a group of parameters when a step begins. Raises a ValueError if another option has changed
    since the compilation, which has made it a constant."""

    def __init__(self, optimizer: Any, group: dict[str, Any]):
        self.optimizer, self.group = optimizer, group
        self.fixed = {key: value for key, value in group.items()
                      if key not in ("params", "lr") and key in inspect.signature(type(optimizer)).parameters}

    def __call__(self, step: int) -> float:
        self.optimizer._opt_called = True  # for schedulers, which warn if they come first
        for key, value in self.fixed.items():
            if self.group[key] is not value and self.group[key] != value:
                raise ValueError(f"{key} of the optimizer was {value} when the step was compiled, and is {self.group[key]} now; only "
                                 "learning rates may change")
        return float(self.group["lr"])


def convert(optimizer: Any, names: dict[int, Collection[str]]) -> tuple[Optimizer, Functions]:
    """The same rule for the same parameters: `names` are those of each one that is trained, by its id. Learning rates stay in the
    optimizer, where schedulers find them."""
    kind = type(optimizer).__name__
    if type(optimizer).__module__.partition(".")[0] != "torch":
        raise TypeError(f"{type(optimizer).__module__}.{kind} is no optimizer of torch.optim; beside those there are remat.SGD, Adam, "
                        "AdamW, Lion, LAMB, Adafactor, APOLLO, AdamMini, Muon and Custom")
    if optimizer.state and any(state for state in optimizer.state.values() if _has_moved(state)):
        raise ValueError("the optimizer has made steps already: take a fresh one, and load its states with "
                         "step.load_state_dict(..., strict=False)")
    if any(getattr(optimizer, f"_optimizer_step_{when}_hooks", None) for when in ("pre", "post")):
        raise ValueError("the optimizer has hooks on its step, which a compiled step would not call")
    settings: dict[str, tuple[Any, dict[str, Any]]] = {}
    for group in optimizer.param_groups:
        own = dict(group, lr=Rate(optimizer, group))
        for parameter in group["params"]:
            if id(parameter) not in names:
                raise ValueError(f"the optimizer has a parameter of shape {list(parameter.shape)} that is neither the model's nor the "
                                 "loss_fn's: make the module that has it a part of the model, or make loss_fn that module")
            settings |= {name: (parameter, own) for name in names[id(parameter)]}
    if not settings:
        raise ValueError("the optimizer has no parameter that is trained")
    try:
        rule, functions = _known_rule(kind, settings), Functions()
    except _Unknown:
        rule, functions = _exported_rules(type(optimizer), settings)
    frozen = [Group.named(name, frozen=True) for own in names.values() for name in sorted(own) if name not in settings]
    return dataclasses.replace(rule, groups=[*rule.groups, *frozen]), functions


def _has_moved(state: dict[str, Any]) -> bool:
    """Some optimizers make their states before the first step."""
    return bool(state.get("step", 1) > 0)


def _known_rule(kind: str, settings: dict[str, tuple[Any, dict[str, Any]]]) -> Optimizer:
    if kind not in RULES:
        raise _Unknown(f"torch.optim.{kind} has no rule here")
    values = {name: _hyperparameters(kind, group) for name, (_, group) in settings.items()}
    common = next(iter(values.values()))
    groups = [Group.named(name, **{key: value for key, value in own.items() if value != common[key]})
              for name, own in values.items() if own != common]
    rule: Callable[..., Optimizer] = RULES[kind][0]
    return rule(**common, groups=groups)


def _exported_rules(kind: Any, settings: dict[str, tuple[Any, dict[str, Any]]]) -> tuple[Optimizer, Functions]:
    functions, groups = Functions(), []
    known: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, (parameter, group) in settings.items():
        options = {key: value for key, value in group.items() if key != "params" and key in inspect.signature(kind).parameters}
        # States may start from it.
        options["lr"] = float(group["lr"].group["lr"])
        key = f"{list(parameter.shape)} {parameter.dtype} {sorted(options.items())}"
        if key not in known:
            function = f"{PREFIX}{len(known)}"
            text, states = _export_update(kind, options, parameter, function)
            functions.texts.append(text)
            known[key] = function, states
        function, states = known[key]
        groups.append(Group.named(name, rule=Custom(f"@{function}", len(states), group["lr"])))
        functions.initial |= {f"{name}.{state}": value for state, value in states.items() if value.any()}
    rule = next(group.rule for group in groups if group.rule)
    return dataclasses.replace(rule, groups=groups), functions


def _make_update(kind: Any, options: dict[str, Any], states: Sequence[str]) -> Any:
    """A module that is one step of one parameter: from parameter, gradient, states and learning rate to parameter and states."""
    import torch

    # As torch.compile runs it: counts are tensors, and nothing waits for a device.
    options = options | {key: value for key, value in (("foreach", False), ("capturable", True), ("fused", None), ("differentiable", False))
                         if key in options}

    class Update(torch.nn.Module):
        def forward(self, parameter: Any, gradient: Any, *values: Any) -> tuple[Any, ...]:
            parameter = parameter.clone()
            parameter.grad = gradient.clone()
            optimizer = kind([parameter], **options)
            optimizer.param_groups[0]["lr"] = values[-1].clone()
            optimizer.state[parameter] = {name: value.clone() for name, value in zip(states, values)}
            optimizer.step()
            after = optimizer.state[parameter]
            if wrong := sorted(set(states) ^ {name for name, value in after.items() if value is not None}):
                raise TypeError(f"its state {wrong[0]!r} is not there from the start")
            return parameter, *(after[name] for name in states)

    return Update()


def _initial_states(kind: Any, options: dict[str, Any], parameter: Any) -> dict[str, Any]:
    """By name. What counts steps is in float64: an optimizer that runs by itself computes with Python's numbers there."""
    import torch
    if not hasattr(kind, "_init_group"):
        raise TypeError("it does not update each parameter by its own gradient")
    own = torch.nn.Parameter(torch.zeros_like(parameter))
    own.grad = torch.zeros_like(own)
    optimizer = kind([own], **options)
    lists = len(inspect.signature(optimizer._init_group).parameters) - 1
    optimizer._init_group(optimizer.param_groups[0], *([] for _ in range(lists)))
    states = {name: value for name, value in optimizer.state[own].items() if value is not None}
    return {name: value if value.shape or name not in COUNTS else value.double() for name, value in states.items()}


def _export_update(kind: Any, options: dict[str, Any], parameter: Any, name: str) -> tuple[str, dict[str, Any]]:
    """The function `name` of one update, as `#opt.custom` takes it, and what its states start from."""
    import torch
    try:
        states = _initial_states(kind, options, parameter)
        inputs = {"parameter": parameter.detach(), "gradient": torch.zeros_like(parameter), **states,
                  "learning rate": torch.tensor(options["lr"], dtype=torch.float64)}
        exported = from_torch(_make_update(kind, options, list(states)), inputs, outputs=("parameter", *states), check=False)
    except Exception as error:  # of the optimizer, or of an export
        shown = ", ".join(f"{key}={value}" for key, value in options.items() if value is not None and value is not False)
        raise TypeError(f"torch.optim.{kind.__name__}({shown}) has no counterpart here: {error.__cause__ or error}") from error
    maps = dict(re.findall(r"^(#map\d*) = (.*)$", exported.text, re.M))
    text = exported.text[exported.text.index("  func.func @loss"):exported.text.rindex("\n}")]
    text = re.sub(r' loc\((?:#loc\d*|"[^"]*")\)', "", text)
    text = re.sub(r"#map\d*\b", lambda match: maps[match[0]], text)
    signature, results, body = re.fullmatch(r"  func\.func @loss\(%(.*?)\) (->.*? \{\n)(.*)", text, re.S).groups()  # type: ignore[union-attr]
    *arguments, rate = signature.split(", %")
    for i, state in enumerate(states, 2):
        arguments[i] += f' {{opt.state = "{state}"}}'
    return (f"  func.func private @{name}(%{', %'.join(arguments)}, %step: i64, %lr: f64) {results}"
            f"    %{rate.partition(':')[0]} = tensor.from_elements %lr : tensor<f64>\n{body}",
            {state: to_numpy(value) for state, value in states.items()})
