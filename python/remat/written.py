# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies that a model itself has, in `jax.checkpoint(policy=...)` or in the `context_fn` of `torch.utils.checkpoint`.

A front end asks such a policy about the operations in each application of a checkpoint. Those that it saves get a scope in their
locations, `as_written-0#17`, by which their results are named before the checkpoints become regions that save these names.
"""
import dataclasses
import itertools
import json
import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any

from remat.policies import Annotation, Policy, Selection

logger = logging.getLogger("remat")
STEM = "as_written-"


@dataclasses.dataclass
class Application:
    """A checkpoint in `depth` others. `policy` numbers its policy among those of the model. It permits `attributes`, and to save or
    to offload values with these names."""

    number: int
    depth: int
    policy: int
    attributes: list[str] = dataclasses.field(default_factory=list)
    saved: set[str] = dataclasses.field(default_factory=set)
    offloaded: set[str] = dataclasses.field(default_factory=set)

    def describe(self) -> Policy:
        members = list(dict.fromkeys(self.attributes))
        for mnemonic, names in (("save_only_names", self.saved), ("offload_names", self.offloaded)):
            if names:
                members.append(f"{mnemonic}<{', '.join(json.dumps(name, ensure_ascii=False) for name in sorted(names))}>")
        return Policy(*(members or ["nothing_saveable"]))


class Written:
    """The answers of the policies of a model, as they are asked."""

    def __init__(self) -> None:
        self.applications: list[Application] = []
        self._policies: list[Any] = []
        self._marks = itertools.count()

    def add(self, number: int, depth: int, policy: Any) -> Application:
        known = next((i for i, other in enumerate(self._policies) if other is policy or is_equal(other, policy)), None)
        if known is None:
            known = len(self._policies)
            self._policies.append(policy)
        self.applications.append(Application(number, depth, known))
        return self.applications[-1]

    def mark(self, kept: Iterable[tuple[Application, bool]]) -> str:
        """Returns a scope for an operation that is kept by each of these applications: offloaded by it, or saved."""
        kept = list(kept)
        name = STEM + "-".join(sorted({f"{each.policy}{'o' if offloads else ''}" for each, offloads in kept}))
        for each, offloads in kept:
            (each.offloaded if offloads else each.saved).add(name)
        return f"{name}#{next(self._marks)}"

    def select(self, text: str) -> list[Selection]:
        """Returns selections for the module `text`, without applications of which nothing is left in it."""
        names = sorted(set(re.findall(rf"{STEM}[\do-]+(?=#\d)", text)))
        numbers = {int(number) for number in re.findall(r"checkpoint#(\d+)", text)}
        there = [each for each in self.applications if each.number in numbers]
        policies = [each.describe() for each in there]
        selections = [Selection(f"scope={name}", name=name) for name in names]
        if len(set(policies)) == 1:
            return [*selections, Selection("checkpoints", policies[0])]
        groups: dict[tuple[int, Policy], list[int]] = {}
        for each, policy in zip(there, policies):
            groups.setdefault((-each.depth, policy), []).append(each.number)
        for (_, policy), members in sorted(groups.items(), key=lambda group: group[0][0]):
            selections.append(Selection(f"scope={','.join(f'checkpoint#{number}' for number in members)}", policy))
        return selections


def is_equal(policy: Any, other: Any) -> bool:
    """Returns true for two policies of the same names, which JAX compares by value."""
    try:
        return type(policy) is type(other) and bool(policy == other)
    except Exception:  # of a comparison of the user's
        return False


def is_asked(policy: Any) -> bool:
    return isinstance(policy, Annotation) and any(selection.written for selection in policy.selections)


def settle(policy: Any, written: Written | None, text: str) -> Any:
    """Returns the policy with the model's own in the place of `as_written()`."""
    if not is_asked(policy):
        return policy
    own = written.select(text) if written else []
    if not own:
        logger.warning("the policy is as_written(), but the model applies no checkpoint: nothing is recomputed for it")
    parts: Sequence[Sequence[Selection]] = [own if selection.written else [selection] for selection in policy.selections]
    return policy.with_selections(list(itertools.chain.from_iterable(parts)))
