# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers of optax as rules of the `opt` dialect.

An `optax.GradientTransformation` is two functions. What they were made of is in their closures, by names that optax may
change: whatever is not recognized, down to each value in a closure, is traced (optax_traced.py), never guessed.
"""
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from remat.jax.optax_traced import Functions, trace
from remat.optimizers import LAMB, SGD, Adam, AdamW, Group, Lion, Optimizer

# Values that closures must have, by transformation, since our rules have them.
FIXED: dict[str, dict[str, Any]] = {
    "trace": {"accumulator_dtype": None},
    "scale_by_adam": {"eps_root": 0.0, "mu_dtype": None, "nesterov": False},
    "scale_by_lion": {"mu_dtype": None, "mode": "hard", "smooth_beta": 1.0},
    "scale_by_trust_ratio": {"min_norm": 0.0, "trust_coefficient": 1.0, "eps": 0.0},
}
# Values of a closure that become hyperparameters, by transformation, with our names.
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


class _Unknown(TypeError):
    """No rule of ours is known to do the same."""


def _refuse(what: str) -> NoReturn:
    raise _Unknown(f"optax: {what} has no counterpart here")


def convert(transformation: Any, params: Any, name_of: Callable[[Any], str]) \
        -> tuple[Optimizer, dict[str, Any], Functions | None, dict[str, Any]]:
    """An optimizer that does what `transformation` does to `params`, the tree that is trained; what of it is an argument of
    `train_step`; functions that the module needs for it, and what its states start from where that is not zero.
    `name_of(path)` is what a leaf is called."""
    if "MultiSteps" in getattr(transformation.update, "__qualname__", ""):
        raise TypeError("optax: MultiSteps would keep gradients from step to step; accumulate= of train_step adds up those of "
                        "several batches")
    try:
        return *from_optax(transformation, params, name_of), None, {}
    except _Unknown:
        rest, arguments = _split_clipping(transformation)
        optimizer, functions, initial = trace(rest, params, name_of)
        return optimizer, arguments, functions, initial


def _split_clipping(transformation: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the transformation after clipping by the norm of all gradients, which no update of one parameter can do, and the
    arguments of `train_step` for that clipping, if it begins with it."""
    try:
        owner, closure = _describe(transformation.update)
        clip, *updates = closure["update_fns"] if owner == "chain" else [None]
        parts = _flatten(clip) if updates else []
    except _Unknown:
        return transformation, {}
    if [name for name, _ in parts] != ["clip_by_global_norm"] or set(parts[0][1]) != {"max_norm"}:
        return transformation, {}

    def update(gradients: Any, states: Any, params: Any = None) -> Any:
        states = list(states)
        for i, each in enumerate(updates):
            gradients, states[i] = each(gradients, states[i], params)
        return gradients, tuple(states)

    rest = type(transformation)(lambda params: transformation.init(params)[1:], update)
    return rest, _clip_global_norm(parts[0][1]["max_norm"])


def _clip_global_norm(limit: Any) -> dict[str, Any]:
    """Returns the arguments of `train_step` that limit the norm; optax adds nothing to it."""
    return {"clip_global_norm": float(limit), "clip_eps": 0.0}


def _describe(update: Any) -> tuple[str, dict[str, Any]]:
    """Returns the name of the function that made an update function, and the values that this closes over, functions among them.
    Raises an _Unknown if it is not optax's."""
    owner, _, rest = getattr(update, "__qualname__", "").partition(".")
    if not rest or not getattr(update, "__module__", "").startswith("optax"):
        _refuse(f"an update function that is not optax's ({getattr(update, '__qualname__', update)})")
    return owner, dict(inspect.getclosurevars(update).nonlocals)


def _flatten(update: Any) -> list[tuple[str, dict[str, Any]]]:
    """Returns the transformations that `update` consists of, in order."""
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
        key = {"clip_by_global_norm": "max_norm", "clip": "max_delta"}[name]
        # The norm is one of gradients as they are: a step limits their elements after that.
        if set(closure) != {key} or clauses or arguments and name == "clip_by_global_norm":
            _refuse(f"{name} with {closure} after another limit")
        if name == "clip":
            clauses = {"clip_value": float(closure[key])}
        else:
            arguments = _clip_global_norm(closure[key])
    rates = [_learning_rate(name, closure) for name, closure in parts]
    if not rates or rates[-1] is None:
        _refuse(f"a chain of {', '.join(name for name, _ in parts) or 'nothing'}, which does not end with a learning rate,")
    found = tuple(name for name, _ in parts[:-1])
    if found not in RULES:
        _refuse(f"a chain of {', '.join(found)}")
    rule = RULES[found]
    values: dict[str, Any] = {"lr": rates[-1]}
    for name, closure in parts[:-1]:
        fixed, known = FIXED.get(name, {}), KNOWN[name]
        # Helpers of the transformation are no values of it, but a decay that changes from step to step is.
        closure = {key: value for key, value in closure.items() if key == "mask" or key in known or not callable(value)}
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
    return [Group.named(name_of(path), weight_decay=0.0) for path, decays in jax.tree_util.tree_leaves_with_path(mask) if not decays]
