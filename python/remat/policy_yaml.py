# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies and selections as text in YAML, which `remat.as_policy` reads, and the names by which files of settings refer to Python.

Works on the values of `remat.policies`, which imports this module.
"""
import dataclasses
import difflib
import importlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from remat import dialects

# Selections, with what their list is called in a dictionary; those without one select by other arguments.
SELECTIONS = {"layers": "", "whole": "", "checkpoints": "", "scopes": "patterns", "calls": "patterns", "ops": "kinds", "modules": "classes"}
SAVE_NAMES = {"save_only_names": "save_names", "save_anything_except_names": "save_all_but_names"}
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
PLAIN = re.compile(r"[A-Za-z_][\w./*-]*")
WORDS_OF_YAML = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def nearest(word: str, candidates: Iterable[str]) -> str:
    """Returns the candidates that `word` may stand for, or all of them, as the end of a message."""
    known = sorted(set(candidates))
    near = difflib.get_close_matches(word, known, 3, 0.5)
    return f"the nearest {'are' if len(near) > 1 else 'is'} {', '.join(near)}" if near else f"choose {', '.join(known)}"


def import_name(text: str, where: str) -> Any:
    """Returns what the dotted name stands for: a module's attribute, or an attribute of that."""
    parts = text.split(".")
    for count in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:count])
        try:
            found: Any = importlib.import_module(name)
        except ModuleNotFoundError as error:
            # A module that exists but cannot import another one raises its own error.
            if not error.name or not (name + ".").startswith(error.name + "."):
                raise
            continue
        for index, part in enumerate(parts[count:], count):
            if not hasattr(found, part):
                raise ValueError(f"{where}: {'.'.join(parts[:index])} has no {part}; {nearest(part, _public(found))}")
            found = getattr(found, part)
        return found
    raise ValueError(f"{where}: there is no module called {parts[0]}, which {text} begins with; is its folder in sys.path?")


def _public(found: Any) -> list[str]:
    return [name for name in dir(found) if not name.startswith("_")]


def write(policy: Any) -> str:
    """Returns the text in YAML that `as_policy` makes an equal policy of. Raises a ValueError for functions that cannot be imported."""
    if hasattr(policy, "members"):
        entries = _write_policy(policy)
    else:
        entries = [_write_selection(selection) for selection in policy.selections]
        if policy.step_budget is not None:
            entries.append({"budget": policy.step_budget})
    return "\n".join(f"- {_flow(entry).removeprefix('{').removesuffix('}') if isinstance(entry, dict) else _flow(entry)}" for entry in entries)


def _write_policy(policy: Any) -> list[Any]:
    return [_write_member(member) for member in policy.members]


def _write_member(member: Any) -> Any:
    if hasattr(member, "names"):
        return {"save_ops": list(member.names)}
    if not isinstance(member, str):
        return {"save_if": write_name(member)}
    match = re.fullmatch(r"(\w+)<(.*)>", member)
    known = {p["mnemonic"]: p["parameters"] for p in dialects.describe()["policies"]}
    if not match or match[1] not in known or match[1] == "any_of":
        return member
    value = json.loads(f"[{match[2]}]")
    return {SAVE_NAMES.get(match[1], match[1]): value if known[match[1]] == "names" else value[0]}


def write_name(value: Any) -> str:
    """Returns the dotted name by which a function or a class is imported."""
    name = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', None)}"
    try:
        found = import_name(name, "") if DOTTED.fullmatch(name) else None
    except (ValueError, ImportError):
        found = None
    if found is not value:
        raise ValueError(f"{get_name(value)} cannot be written: only what a module defines under a name can be read back")
    return name


def _write_selection(selection: Any) -> Any:
    if selection.written:
        return "as_written"
    arguments: dict[str, Any] = {}
    kind, *options = re.split(r" (?=\w+=)", selection.selector)
    head, _, operands = kind.partition("=")
    key = "modules" if selection.modules else {"blocks": "layers", "scope": "scopes"}.get(head, head)
    if selection.modules:
        arguments["classes"] = [each if isinstance(each, str) else write_name(each) for each in selection.modules]
    elif SELECTIONS[key]:
        arguments[SELECTIONS[key]] = operands.split(",")
    for option in options:
        name, _, value = option.partition("=")
        arguments[name] = value if name == "pick" else int(value)
    if selection.policy:
        members = _write_policy(selection.policy)
        arguments["policy"] = members[0] if len(members) == 1 else members
    arguments |= {field.name: list(value) if isinstance(value, tuple) else value for field in dataclasses.fields(selection)
                  if field.name in ("recompute", "name", "function") and (value := getattr(selection, field.name))}
    if list(arguments) == [SELECTIONS[key]]:
        return {key: arguments[SELECTIONS[key]]}
    return {key: arguments} if arguments else key


def _flow(value: Any) -> str:
    """YAML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS_OF_YAML:
        return value
    return json.dumps(value, ensure_ascii=False)


def get_name(value: Callable[..., Any]) -> str:
    return getattr(value, "__qualname__", None) or repr(value)
