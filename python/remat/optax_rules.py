"""Optimizers of optax as rules of the `opt` dialect.

An `optax.GradientTransformation` is two functions. What they were made of is in their closures, by names that optax may
change: whatever is not recognized, down to each value in a closure, is an error, never a guess.
"""
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from remat.optimizers import LAMB, SGD, Adam, AdamW, Group, Lion, Optimizer

OURS = "there are remat.SGD, Adam, AdamW, Lion, LAMB, Adafactor and Custom"
# What else closures must hold, by transformation: what is the same in our rules.
FIXED: dict[str, dict[str, Any]] = {
    "trace": {"accumulator_dtype": None},
    "scale_by_adam": {"eps_root": 0.0, "mu_dtype": None, "nesterov": False},
    "scale_by_lion": {"mu_dtype": None, "mode": "hard", "smooth_beta": 1.0},
    "scale_by_trust_ratio": {"min_norm": 0.0, "trust_coefficient": 1.0, "eps": 0.0},
}
# What of a closure becomes a hyperparameter, by our names.
KNOWN: dict[str, dict[str, str]] = {
    "trace": {"decay": "momentum", "nesterov": "nesterov"},
    "scale_by_adam": {"b1": "b1", "b2": "b2", "eps": "eps"},
    "scale_by_lion": {"b1": "b1", "b2": "b2"},
    "add_decayed_weights": {"weight_decay": "weight_decay"},
    "scale_by_trust_ratio": {},
}
# Rules by the transformations that they are made of, without the learning rate at the end.
RULES: dict[tuple[str, ...], type[Optimizer]] = {
    (): SGD, ("trace",): SGD, ("add_decayed_weights",): SGD, ("add_decayed_weights", "trace"): SGD,
    ("scale_by_adam",): Adam, ("add_decayed_weights", "scale_by_adam"): Adam,
    ("scale_by_adam", "add_decayed_weights"): AdamW,
    ("scale_by_lion",): Lion, ("scale_by_lion", "add_decayed_weights"): Lion,
    ("scale_by_adam", "scale_by_trust_ratio"): LAMB,
    ("scale_by_adam", "add_decayed_weights", "scale_by_trust_ratio"): LAMB,
}
ELSEWHERE = {
    "multisteps": "accumulate= of train_step adds up gradients of several batches",
    "masked": "groups=[remat.Group(...)] give parameters other hyperparameters",
    "partition": "groups=[remat.Group(...)] give parameters other hyperparameters or rules, or freeze them",
    "set_to_zero": "remat.Group(..., frozen=True) keeps parameters as they are",
    "inject_hyperparams": "a learning rate may be a function of the step: remat.AdamW(schedule)",
}


def _refuse(what: str) -> NoReturn:
    for name, instead in ELSEWHERE.items():
        if name in what.lower():
            raise TypeError(f"optax: {what} has no counterpart here; {instead}")
    raise TypeError(f"optax: {what} has no counterpart here; {OURS}")


def _describe(update: Any) -> tuple[str, dict[str, Any]]:
    """What made an update function, and what it closes over: functions, too, if they are no helpers of optax's."""
    owner, _, rest = getattr(update, "__qualname__", "").partition(".")
    if not rest or not getattr(update, "__module__", "").startswith("optax"):
        _refuse(f"an update function that is not optax's ({getattr(update, '__qualname__', update)})")
    return owner, dict(inspect.getclosurevars(update).nonlocals)


def _flatten(update: Any) -> list[tuple[str, dict[str, Any]]]:
    """The transformations that `update` is made of, in order."""
    owner, closure = _describe(update)
    if owner == "chain":
        return [part for inner in closure["update_fns"] for part in _flatten(inner)]
    if owner == "identity":
        return []
    if owner == "with_extra_args_support":
        return _flatten(closure["tx"].update)
    if owner == "masked":
        mask = closure["mask"]
        return [(name, inner | {"mask": mask}) for name, inner in _flatten(closure["inner"].update)]
    return [(owner, closure)]


def _learning_rate(name: str, closure: dict[str, Any]) -> float | Callable[[int], float] | None:
    """Of a transformation that multiplies by its negative; None if it is another one."""
    if name == "scale" and set(closure) == {"step_size"}:
        rate: float = -closure["step_size"]
        return rate
    if name == "scale_by_schedule" and set(closure) == {"step_size_fn"}:
        negative = closure["step_size_fn"]
        return lambda step: -float(negative(step))
    return None


def from_optax(transformation: Any, params: Any, name_of: Callable[[Any], str]) -> tuple[Optimizer, dict[str, Any]]:
    """The same rule, and what of it is an argument of `train_step`. `params` is the tree that is trained, and `name_of(path)`
    what a leaf of it is called."""
    parts = _flatten(transformation.update)
    for name, closure in parts:
        if "mask" in closure and name != "add_decayed_weights":
            _refuse(f"masked {name}")
    arguments: dict[str, Any] = {}
    clauses: dict[str, Any] = {}
    while parts and parts[0][0] in ("clip_by_global_norm", "clip"):
        name, closure = parts.pop(0)
        target, key, limit = {"clip_by_global_norm": (arguments, "clip_global_norm", "max_norm"),
                              "clip": (clauses, "clip_value", "max_delta")}[name]
        if set(closure) != {limit} or key in target:
            _refuse(f"{name} with {closure}")
        target[key] = float(closure[limit])
    rates = [_learning_rate(name, closure) for name, closure in parts]
    if not rates or rates[-1] is None:
        _refuse(f"a chain of {', '.join(name for name, _ in parts) or 'nothing'}, which does not end with a learning rate,")
    found = tuple(name for name, _ in parts[:-1])
    if found not in RULES:
        _refuse(f"a chain of {', '.join(found)}")
    rule = RULES[found]
    values: dict[str, Any] = {"lr": rates[-1]}
    for name, closure in parts[:-1]:
        closure = {key: value for key, value in closure.items() if not (callable(value) and key != "mask")}
        fixed, known = FIXED.get(name, {}), KNOWN[name]
        mask = closure.pop("mask", None)
        for key, value in closure.items():
            if key in known:
                values[known[key]] = value if isinstance(value, bool) else _number(name, key, value)
            elif key not in fixed or fixed[key] != value:
                _refuse(f"{name} with {key}={value}")
        if mask is not None:
            clauses["groups"] = _groups(mask, params, name_of)
    values.setdefault("weight_decay", 0.0)
    return rule(**values, **clauses), arguments


def _number(name: str, key: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        _refuse(f"{name} with {key}={value}")


def _groups(mask: Any, params: Any, name_of: Callable[[Any], str]) -> list[Group]:
    """Those leaves of `params` whose weights do not decay."""
    import jax
    mask = mask(params) if callable(mask) else mask
    if jax.tree.structure(mask) != jax.tree.structure(params):
        _refuse("a mask of add_decayed_weights whose structure is not that of the parameters")
    return [Group(name_of(path), weight_decay=0.0) for path, decays in jax.tree_util.tree_leaves_with_path(mask) if not decays]
