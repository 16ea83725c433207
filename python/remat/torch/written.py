# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies of selective checkpointing (`context_fn=` of `torch.utils.checkpoint`), which are asked as PyTorch asks them: about each
operator that the dispatcher calls, also about those that an operator of the graph consists of (`linear` calls `addmm`)."""
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import checkpoint as library
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from remat.torch.scopes import add_scope, graphs_of
from remat.written import Application, Written

Answer = library.CheckpointPolicy
SAVED = {Answer.MUST_SAVE, Answer.PREFER_SAVE}
OFFLOADED = {Answer.MUST_CPU_OFFLOAD, Answer.PREFER_CPU_OFFLOAD}
# PyTorch asks no policy about these.
IGNORED = library.SAC_IGNORED_OPS


class Asking(TorchDispatchMode):
    """Asks a policy about the operators that are called. `kept` are the tensors that it keeps, and whether it offloads them."""

    def __init__(self, policy: Callable[..., Any]):
        super().__init__()
        self.policy = policy
        self.asked = 0
        self.kept: list[tuple[torch.Tensor, bool]] = []

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = op(*args, **(kwargs or {}))
        if op not in IGNORED:
            answer = self.policy(library.SelectiveCheckpointContext(is_recompute=False, op_output=result), op, *args, **(kwargs or {}))
            answer = answer if isinstance(answer, Answer) else Answer.MUST_SAVE if answer else Answer.PREFER_RECOMPUTE
            self.asked += 1
            if answer in SAVED or answer in OFFLOADED:
                self.kept += [(tensor, answer in OFFLOADED) for tensor in tree_leaves(result) if isinstance(tensor, torch.Tensor)]
        return result


def get_policy(context_fn: Callable[[], Any] | None) -> Callable[..., Any] | None:
    """Returns the policy of `create_selective_checkpoint_contexts`; None without one, and for other contexts, of which it warns."""
    if context_fn is None or context_fn is library.noop_context_fn:
        return None
    forward, _ = context_fn()
    policy: Callable[..., Any] | None = getattr(forward, "policy_fn", None)
    if policy is None:
        warnings.warn(f"the context_fn of a checkpoint makes a {type(forward).__name__}, which says nothing of what is saved: the step "
                      "saves nothing there; use create_selective_checkpoint_contexts", stacklevel=2)
    return policy


def ask(policy: Callable[..., Any], node: torch.fx.Node) -> tuple[bool, bool | None]:
    """Returns true if the policy was asked about `node`, and whether its result is offloaded: None if it is recomputed."""
    values: Any = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))
    tensors = [tensor for tensor in tree_leaves((values, node.meta.get("val"))) if isinstance(tensor, torch.Tensor)]
    mode = next((tensor.fake_mode for tensor in tensors if hasattr(tensor, "fake_mode")), None)
    if node.op != "call_function" or mode is None or not isinstance(node.target, torch._ops.OpOverload):
        return False, None
    asking = Asking(policy)
    with torch.no_grad(), mode, asking:
        result = node.target(*values[0], **values[1])
    results = [tensor for tensor in tree_leaves(result) if isinstance(tensor, torch.Tensor)]
    kept = [offloads for tensor, offloads in asking.kept if any(torch._C._is_alias_of(tensor, other) for other in results)]
    return asking.asked > 0, kept[-1] if kept else None


def mark(program: torch.export.ExportedProgram, checkpoints: list[tuple[int, int, Any]]) -> Written:
    """Asks the policies of the `checkpoints` (number, how many are around it, `context_fn`), and gives the operations that they keep
    scopes."""
    written = Written()
    policies: dict[Any, Any] = {}
    known: dict[str, tuple[Application, Any]] = {}
    for number, depth, context_fn in checkpoints:
        if context_fn not in policies:  # each call of it makes another function of a list of operators
            policies[context_fn] = get_policy(context_fn)
        policy = policies[context_fn]
        known[f"checkpoint#{number}"] = written.add(number, depth, policy), policy
    answers: dict[str, list[tuple[torch.fx.Node, bool | None]]] = {name: [] for name in known}
    for graph in graphs_of(program):
        for node in graph.nodes:
            for name in (node.meta.get("custom") or {}).get("checkpoints", ()):
                if name in known and known[name][1] is not None:
                    was_asked, answer = ask(known[name][1], node)
                    if was_asked:
                        answers[name].append((node, answer))
    marks: dict[torch.fx.Node, list[tuple[Application, bool]]] = {}
    for name, (application, _) in known.items():
        if answers[name] and all(answer is False for _, answer in answers[name]):
            application.attributes.append("everything_saveable")
            continue
        for node, answer in answers[name]:
            if answer is not None:
                marks.setdefault(node, []).append((application, answer))
    for node, kept in marks.items():
        add_scope(node, written.mark(kept))
    return written
