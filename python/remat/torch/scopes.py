# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scopes in the locations of an export for what a policy selects in the model itself: modules, by their classes or by a function.

Paths of modules are scopes already, but a pattern matches them anywhere: `layers.0` also in `encoder.layers.0`. So a module that is
selected gets a scope of its own, `modules/encoder.layers.0`, beside its path.
"""
import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from remat.policies import Annotation, Selection
from remat.policy_yaml import nearest

MODULE = "modules/"


def graphs_of(program: torch.export.ExportedProgram) -> Iterator[torch.fx.Graph]:
    """The graph of the program, and those under `torch.autocast` and `torch.no_grad`."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield module.graph


def get_paths(node: torch.fx.Node, inner: str) -> list[str]:
    """The paths, within `inner`, of the modules that `node` is in, from the outermost one."""
    paths = [path.removeprefix("L['self']").removeprefix(".") for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    if not inner:
        return paths
    return [path.removeprefix(inner).removeprefix(".") for path in paths if path == inner or path.startswith(f"{inner}.")]


def add_scope(node: torch.fx.Node, scope: str) -> None:
    custom = node.meta.get("custom") or {}
    if scope not in custom.get("scopes", ()):
        node.meta["custom"] = custom | {"scopes": (*custom.get("scopes", ()), scope)}


def mark_modules(program: torch.export.ExportedProgram, inner: str, selected: Iterable[str]) -> None:
    """Gives the operations in the modules with the paths `selected` scopes of these."""
    selected = set(selected)
    for graph in graphs_of(program) if selected else ():
        for node in graph.nodes:
            for path in get_paths(node, inner):
                if path in selected:
                    add_scope(node, MODULE + name_module(path))


def name_module(path: str) -> str:
    """Returns the path as a component of a scope that is a pattern of nothing else."""
    return re.sub(r"[^\w.-]", lambda match: f"%{ord(match[0]):x}", path) or "root"


def is_selected(selector: Any, module: torch.nn.Module, path: str) -> bool:
    if isinstance(selector, type):
        return isinstance(module, selector)
    if isinstance(selector, str):
        return any(selector in (kind.__name__, f"{kind.__module__}.{kind.__qualname__}") for kind in type(module).__mro__)
    return bool(selector(module, path))


def select_modules(policy: Any, model: torch.nn.Module) -> dict[Selection, list[str]]:
    """Returns the paths of the modules for each selection of the policy that is one of modules. Raises a ValueError for a class or
    a function that no module is one of."""
    found: dict[Selection, list[str]] = {}
    for selection in policy.selections if isinstance(policy, Annotation) else ():
        named = list(model.named_modules(remove_duplicate=False)) if selection.modules else []
        paths: list[str] = []
        for selector in selection.modules:
            matches = [path for path, module in named if is_selected(selector, module, path)]
            if not matches:
                raise ValueError(describe_missing(selector, dict(named)))
            paths += matches
        if paths:
            found[selection] = list(dict.fromkeys(paths))
    return found


def describe_missing(selector: Any, named: dict[str, torch.nn.Module]) -> str:
    if isinstance(selector, (str, type)):
        name = selector if isinstance(selector, str) else selector.__name__
        return f"no module of the model is a {name}; {nearest(name, {type(module).__name__ for module in named.values()})}"
    paths = [path or "(the model)" for path in named]
    return (f"{getattr(selector, '__qualname__', selector)} is true for no module of the model; its modules are "
            f"{', '.join(paths[:20])}{', ...' * (len(paths) > 20)}")


def settle(policy: Any, selected: dict[Selection, list[str]], text: str) -> Any:
    """Returns the policy with scopes in the place of modules. `text` is that of the export, without modules that do not run."""
    if not selected:
        return policy
    run = set(re.findall(rf'"{MODULE}([^"]*)"', text))
    selections: list[Selection] = []
    for selection in policy.selections:
        if selection.modules:
            selections += settle_modules(selection, [path for path in selected[selection] if name_module(path) in run])
        else:
            selections.append(selection)
    return policy.with_selections(selections)


def settle_modules(selection: Selection, paths: list[str]) -> list[Selection]:
    """Returns selections of the scopes of these modules: those within others first, which regions around them contain then."""
    if not paths:
        raise ValueError(f"none of the modules that {selection.selector.removeprefix('scope=')} selects computes anything in the "
                         "model's forward")
    depths: dict[int, list[str]] = {}
    for path in paths:
        depth = sum(other != path and (not other or path.startswith(f"{other}.")) for other in paths)
        depths.setdefault(depth, []).append(MODULE + name_module(path))
    return [dataclasses.replace(selection, selector=f"scope={','.join(scopes)}", modules=())
            for _, scopes in sorted(depths.items(), reverse=True)]
