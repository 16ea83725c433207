# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any optimizer of optax as update rules that are functions of the module.

An `optax.GradientTransformation` is traced once for the whole tree of parameters. What the update of one parameter reads, by
the data flow of that program, is its rule: gradients of other parameters must not be among it, since a parameter is updated
as soon as its own gradient is final. States that no gradient reaches (counts of steps, random keys) each parameter has to
itself.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from remat.jax.lowering import Decomposer, to_stablehlo
from remat.optimizers import Custom, Group, Optimizer

PREFIX = "optax_update_"


@dataclasses.dataclass
class Rule:
    """The update of one parameter: a closed jaxpr from parameter, gradient and states to parameter and states."""

    program: Any
    states: list[str]


@dataclasses.dataclass
class Functions:
    """Functions of updates that a module has besides its loss: modules in StableHLO by function, and the names of the states that
    each takes."""

    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    states: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def restore(self, text: str) -> str:
        """Returns `text`, IREE's output, with these functions as `#opt.custom` takes them."""
        def signature(match: re.Match[str]) -> str:
            arguments = re.sub(r" \{iree\.abi\.[^}]*\}", "", match[2]).split(", %")
            names = self.states[match[1]]
            for i, name in enumerate(names, len(arguments) - len(names)):
                arguments[i] += f' {{opt.state = "{name}"}}'
            return f"func.func private @{match[1]}({', %'.join(arguments)}, %step: i64, %lr: f32)"

        return re.sub(rf"util\.func (?:public|private) @({PREFIX}\d+)\((.*?)\)(?= ->)", signature, text)


def trace(transformation: Any, params: Any, name_of: Callable[[Any], str]) -> tuple[Optimizer, Functions, dict[str, Any]]:
    """Returns the optimizer, its functions, and the initial values of its states that are not zero."""
    import jax
    names = [name_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)]
    update = _Update(transformation, params, names)
    functions, groups = Functions(), []
    known: dict[tuple[str, ...], str] = {}
    initial: dict[str, Any] = {}
    for i, (name, leaf) in enumerate(zip(names, jax.tree.leaves(params))):
        rule, numbers = update.rule_of(i)
        if not numbers and _is_frozen(rule, leaf):
            groups.append(Group.named(name, frozen=True))
            continue
        avals = rule.program.in_avals
        module = to_stablehlo(Decomposer().mark_program(rule.program), "update", avals)
        key = str(module), *rule.states  # without locations
        if key not in known:
            known[key] = f"{PREFIX}{len(known)}"
            functions.texts[known[key]] = module.operation.get_asm(enable_debug_info=True)
            functions.states[known[key]] = rule.states
        groups.append(Group.named(name, rule=Custom(f"@{known[key]}", len(rule.states), 1.0)))
        initial |= {f"{name}.{state}": update.initial[k] for state, k in zip(rule.states, numbers) if update.initial[k].any()}
    rules = [group.rule for group in groups if group.rule]
    if not rules:
        raise TypeError("optax: the optimizer changes no parameter")
    return dataclasses.replace(rules[0], groups=groups), functions, initial


def _is_frozen(rule: Rule, leaf: Any) -> bool:
    """Returns true if the rule leaves a parameter as it is: for random values of it and of its gradient."""
    from jax.extend import core
    function, like = core.jaxpr_as_fun(rule.program), np.asarray(leaf)
    draw = np.random.default_rng(0).standard_normal
    values = [draw(like.shape).astype(like.dtype) for _ in range(2)]
    return np.array_equal(function(*values)[0], values[0])


def _without_keys(state: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Returns `state` with the numbers of typed random keys for these, and a function that puts the keys back."""
    import jax
    leaves, tree = jax.tree.flatten(state)
    kinds = [jax.random.key_impl(leaf) if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else None
             for leaf in leaves]

    def unpack(state: Any) -> Any:
        return tree.unflatten(jax.random.wrap_key_data(leaf, impl=kind) if kind else leaf
                              for leaf, kind in zip(jax.tree.leaves(state), kinds))

    return tree.unflatten(jax.random.key_data(leaf) if kind else leaf for leaf, kind in zip(leaves, kinds)), unpack


class _Update:
    """One update of all parameters, as a jaxpr: from parameters, gradients and states to parameters and states."""

    def __init__(self, transformation: Any, params: Any, names: Sequence[str]):
        import jax

        state, unpack = _without_keys(transformation.init(params))
        self.names, self.count = names, len(names)
        self.paths = [jax.tree_util.keystr(path, simple=True, separator=".")
                      for path, _ in jax.tree_util.tree_leaves_with_path(state)]
        self.initial = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]

        def step(params: Any, gradients: Any, state: Any) -> Any:
            updates, state = transformation.update(gradients, unpack(state), params)
            return jax.tree.map(lambda p, u: p if u is None else (p + u).astype(p.dtype), params, updates,
                                is_leaf=lambda leaf: leaf is None), _without_keys(state)[0]

        like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), jax.numpy.result_type(leaf)), (params, params, state))
        try:
            program, shapes = jax.make_jaxpr(step, return_shape=True)(*like)
        except (TypeError, ValueError) as error:
            raise TypeError(f"optax: an update must need no more than gradients, state and parameters, but: {error}") from error
        before, after = ([(np.shape(x), np.dtype(x.dtype)) for x in jax.tree.leaves(tree)] for tree in (like[2], shapes[1]))
        if before != after or jax.tree.structure(like[2]) != jax.tree.structure(shapes[1]):
            raise TypeError("optax: its state has another structure, or other shapes and types, after an update")
        self.program = program

    def slice_for(self, outputs: set[int]) -> tuple[Any, list[bool]]:
        """Returns the part of the program that computes the results `outputs`, as a closed jaxpr, and which inputs it reads."""
        from jax.extend import core
        from jax.interpreters import partial_eval
        jaxpr = self.program.jaxpr
        jaxpr, used = partial_eval.dce_jaxpr(jaxpr, [i in outputs for i in range(len(jaxpr.outvars))])
        return core.ClosedJaxpr(jaxpr, self.program.consts), list(used)

    def rule_of(self, i: int) -> tuple[Rule, list[int]]:
        """Returns the rule of parameter `i`, and the numbers of its states."""
        import jax
        from jax.extend import core
        count = self.count
        outputs: set[int] = {i}
        while True:
            program, used = self.slice_for(outputs)
            read = [k for k, is_used in enumerate(used) if is_used]
            found = outputs | {count + k - 2 * count for k in read if k >= 2 * count}
            if found == outputs:
                break
            outputs = found
        if others := [self.names[k % count] for k in read if k < 2 * count and k % count != i]:
            raise TypeError(f"optax: the update of '{self.names[i]}' reads '{others[0]}' or its gradient, but parameters are updated "
                            "one by one, each as soon as its gradient is final")
        numbers = sorted(k - count for k in outputs if k >= count)
        inputs = [i, count + i, *(2 * count + k for k in numbers)]

        def update(*values: Any) -> Any:
            given = dict(zip(inputs, values))
            return core.jaxpr_as_fun(program)(*(given[k] for k in read))

        avals = [self.program.in_avals[k] for k in inputs]
        return Rule(jax.jit(update, keep_unused=True).trace(*avals).jaxpr, self.state_names(i, numbers)), numbers

    def state_names(self, i: int, numbers: Sequence[int]) -> list[str]:
        """As short as they can be: `mu` of the state `0.mu.layers.0.w` of `layers.0.w`."""
        full = [self.paths[k].removesuffix(self.names[i]).strip(".") or f"s{k}" for k in numbers]
        short = [name.rpartition(".")[2] for name in full]
        if len(set(short)) == len(short) and not any(name.isdigit() for name in short):
            return short
        return [re.sub(r"\W", "_", name) for name in full]
