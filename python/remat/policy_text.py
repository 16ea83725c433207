# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies as files of settings have them: YAML, or the lists and dictionaries that a parser makes of it.

    - layers: {every: 4}
    - dots_saveable
    - save_names: [attn_out]

Entries are joined by `|` in their order. Each is checked when it is read, so that an error names the entry and what it may have
meant, before anything is exported or compiled. Texts that are attributes of the dialect are left to the compiler.
"""
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from remat import dialects, policies
from remat.policies import Annotation, Policy
from remat.policy_yaml import DOTTED, SAVE_NAMES, SELECTIONS, get_name, import_name, nearest

# The type of `policy=`.
Choice = Annotation | Policy | str | bool | Sequence[Any] | Mapping[str, Any] | None
# Kinds of operations that remat-annotate knows; other operations are selected by their names, which have a dot.
KINDS = ("dot", "elementwise", "reduction", "softmax", "norm", "attention", "gather")


def as_policy(value: Any) -> Annotation | Policy | str | None:
    """Returns the policy that `value` describes: a policy or selection itself; a list or dictionary of entries, or text in YAML that
    has them; the dotted name of one in a module; True for `layers()`. Other texts are attributes or options of the compiler, and
    are returned as they are. Raises a ValueError or a TypeError that says which entry is wrong."""
    if value is None or isinstance(value, (Annotation, Policy)):
        return value
    if isinstance(value, bool):
        return policies.layers() if value else "none"
    if isinstance(value, str):
        text = textwrap.dedent(value).strip()
        if re.match(r"- |\[|\{|\w+:\s", text):
            return as_policy(_load(text))
        if DOTTED.fullmatch(text) or text in (*SELECTIONS, "as_written"):
            entry: Annotation | Policy = _read_entry(text, "policy", False)
            return entry
        return value
    if callable(value):
        raise TypeError(f"a function chooses among the operations of a selection: remat.layers() | remat.save_if({get_name(value)})")
    if not isinstance(value, (list, tuple, Mapping)):
        raise TypeError("policy must be a policy, such as remat.dots_saveable, a selection of what it is for, such as "
                        f"remat.layers() | remat.dots_saveable, text, or a list of entries, but got {type(value).__name__}")
    joined: Annotation | Policy = _join(_items(value), "policy", False)
    return joined


def _load(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError("a policy in YAML needs PyYAML: pip install pyyaml, or pass the list that the text stands for") from None
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"policy is not valid YAML: {error}") from None
    if not isinstance(loaded, (list, dict)):
        raise ValueError(f"policy must be a list of entries in YAML, such as '- layers: {{every: 4}}', but got {text!r}")
    return loaded


def _items(value: Any) -> list[Any]:
    """Entries of a list; each key of a dictionary is one."""
    return [{key: item} for key, item in value.items()] if isinstance(value, Mapping) else list(value)


def _join(entries: list[Any], where: str, is_for_region: bool) -> Any:
    if not entries:
        raise ValueError(f"{where} has no entries; write 'none' to save everything")
    joined: Any = None
    for number, entry in enumerate(entries, 1):
        place = f"{where}, entry {number}"
        parts = _items(entry) if isinstance(entry, Mapping) else [entry]
        if not parts:
            raise ValueError(f"{place} is empty")
        for part in parts:
            read = _read_entry(part, place, is_for_region)
            try:
                joined = read if joined is None else joined | read
            except TypeError as error:
                raise ValueError(f"{place}: {error}") from None
    return joined


def _read_entry(entry: Any, where: str, is_for_region: bool) -> Any:
    if isinstance(entry, Mapping):
        (key, value), = entry.items()
        return _read_pair(key, value, where, is_for_region)
    if entry is True:
        return policies.layers()
    if isinstance(entry, (Annotation, Policy)):
        return entry
    if callable(entry):
        return _read_callable(entry, where)
    if not isinstance(entry, str):
        raise TypeError(f"{where} must be a name, or a name with its arguments, but it is {entry!r}")
    text = entry.strip()
    if text.startswith("#") or "<" in text:
        return Policy(text)
    if text == "as_written" and not is_for_region:
        return policies.as_written()
    if DOTTED.fullmatch(text):
        return _read_callable(import_name(text, where), where)
    return _read_pair(text, None, where, is_for_region)


def _read_callable(value: Any, where: str) -> Any:
    """Returns the policy `value`, what a function without arguments returns, or the operations for which one with an argument is
    true."""
    if isinstance(value, (Annotation, Policy)):
        return value
    if isinstance(value, (list, tuple, Mapping)):
        return _join(_items(value), where, False)
    if not callable(value) or isinstance(value, type):
        what = f"the class {value.__name__}; write modules: {value.__module__}.{value.__qualname__}" if isinstance(value, type) else type(value).__name__
        raise TypeError(f"{where} must name a policy, a selection, or a function, but it names {what}")
    required = [p for p in inspect.signature(value).parameters.values()
                if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(required) == 1:
        return policies.save_if(value)
    if required:
        raise TypeError(f"{where}: {get_name(value)} must be a function of a remat.Operation, or of nothing, but it has "
                        f"{len(required)} arguments")
    made = value()
    if not isinstance(made, (Annotation, Policy)):
        raise TypeError(f"{where}: {get_name(value)}() must return a policy or a selection, but it returned {type(made).__name__}")
    return made


def _read_pair(key: Any, value: Any, where: str, is_for_region: bool) -> Any:
    place = f"{where} ({key})"
    if key in SELECTIONS and not is_for_region:
        return _read_selection(key, value, place)
    if key == "budget":
        return policies.budget(value) if is_for_region else policies.for_step(value, place)
    if key in ("every_k", "snapshots"):
        kinds = (int, str) if key == "snapshots" else (int,)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise TypeError(f"{place} must be a number{', or text such as 10MiB' if key == 'snapshots' else ''}, but it is {value!r}")
        return getattr(policies, key)(value)
    if key == "save_if":
        function = import_name(value, place) if isinstance(value, str) and DOTTED.fullmatch(value) else value
        if not callable(function):
            raise TypeError(f"{place} must be the dotted name of a function, such as my_repo.is_cheap, but it is {value!r}")
        return policies.save_if(function)
    if key == "save_ops":
        return policies.save_ops(*(check_kind(kind, place) for kind in _texts(value, place, "kinds")))
    parameters = {p["mnemonic"]: p["parameters"] for p in dialects.describe()["policies"] if p["parameters"] != "other"}
    parameters |= dict.fromkeys(SAVE_NAMES.values(), "names")
    if key not in parameters:
        known = [*parameters, "every_k", "snapshots", "save_ops", "save_if", "budget"] + [*SELECTIONS, "as_written"] * (not is_for_region)
        note = " (a selection must be an entry of the list, not a policy of another one)" if key in SELECTIONS else ""
        raise ValueError(f"{where}: there is no policy or selection called {key!r}{note}; {nearest(str(key), known)}")
    if parameters[key] == "none":
        if value not in (None, True):
            raise ValueError(f"{place} has no arguments, but got {value!r}")
        return getattr(policies, key)
    return getattr(policies, key)(*_texts(value, place, "names"))


def _texts(value: Any, where: str, what: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise TypeError(f"{where} must be a list of {what}, but it is {value!r}")
    return list(texts)


def _read_selection(key: str, value: Any, where: str) -> Annotation:
    make, positional = getattr(policies, key), SELECTIONS[key]
    if positional and not isinstance(value, Mapping):
        value = {positional: value}
    if value in (None, True):
        value = {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{where} must be a dictionary of arguments, such as {{every: 2}}, but it is {value!r}")
    keywords = [p.name for p in inspect.signature(make).parameters.values() if p.kind == p.KEYWORD_ONLY]
    known = keywords + [positional] * bool(positional)
    for name in value:
        if name not in known:
            raise ValueError(f"{where} has no argument {name!r}; {nearest(str(name), known)}")
    given = dict(value)
    operands = []
    if positional:
        if positional not in given:
            raise ValueError(f"{where} needs {positional}")
        operands = _read_operands(key, given.pop(positional), where)
    for name in given:
        given[name] = _read_argument(name, given[name], f"{where}, {name}")
    try:
        annotation: Annotation = make(*operands, **given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    return annotation


def _read_operands(key: str, value: Any, where: str) -> list[Any]:
    if key == "modules":
        listed = value if isinstance(value, (list, tuple)) else [value]
        return [import_name(each, where) if isinstance(each, str) and DOTTED.fullmatch(each) else each for each in listed]
    texts = _texts(value, where, SELECTIONS[key])
    return [check_kind(text, where) for text in texts] if key == "ops" else texts


def check_kind(text: str, where: str) -> str:
    if text in KINDS or "." in text or re.fullmatch(r"#\d+", text):
        return text
    raise ValueError(f"{where}: {text!r} is no kind of operations; {nearest(text, KINDS)}, or a name of operations such as math.tanh")


def _read_argument(name: str, value: Any, where: str) -> Any:
    if name in ("every", "group"):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise TypeError(f"{where} must be a number that is at least 1, but it is {value!r}")
        return value
    if name == "pick":
        picked = value if isinstance(value, list) else [value]
        if not picked or not all(re.fullmatch(r"-?\d+(-\d+)?(,-?\d+(-\d+)?)*", str(item)) for item in picked):
            raise ValueError(f"{where} must be numbers of layers, such as \"0,3-5,-1\", but it is {value!r}")
        return ",".join(map(str, picked))
    if name == "policy":
        if isinstance(value, Policy):
            return value
        read = _join(_items(value) if isinstance(value, (list, tuple, Mapping)) else [value], where, True)
        if not isinstance(read, Policy):
            raise TypeError(f"{where} must be a policy, but it is a selection: {value!r}")
        return read
    if name == "recompute":
        return tuple(check_kind(kind, where) for kind in _texts(value, where, "kinds"))
    if not isinstance(value, str):
        raise TypeError(f"{where} must be text, but it is {value!r}")
    return value
