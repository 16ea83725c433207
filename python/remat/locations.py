"""Locations in the text of a module, without the stacks of calls that IREE repeats at each operation."""

import re

POSITION = re.compile(r'"[^"]*":\d+:\d+(?: to \d*:\d+)?')  # "model.py":3:4 to :9
NAME = re.compile(r'"[^"]*"')
FUSED = re.compile(r"fused(?:<[^>]*>)?\[")


def parse_location(text, at):
    """The location at `text[at]` without positions in files, nor what a name is given for beside its own; None if nothing
    is left of it. And where it ends."""
    if match := POSITION.match(text, at):
        return None, match.end()
    if match := NAME.match(text, at):
        end = match.end()
        if text.startswith("(", end):
            end = parse_location(text, end + 1)[1] + 1
        return match[0], end
    if text.startswith("callsite(", at):
        callee, end = parse_location(text, at + len("callsite("))
        caller, end = parse_location(text, end + len(" at "))
        both = f"callsite({callee} at {caller})" if callee and caller else callee or caller
        return both, end + 1
    if match := FUSED.match(text, at):
        parts, end = [], match.end() - len(", ")
        while text[end] != "]":
            part, end = parse_location(text, end + len(", "))
            parts.append(part)
        parts = list(dict.fromkeys(part for part in parts if part))
        return f"fused[{', '.join(parts)}]" if len(parts) > 1 else (parts or [None])[0], end + 1
    if not text.startswith("unknown", at):
        raise ValueError(f"expected a location: {text[at:at + 80]}")
    return None, at + len("unknown")


def keep_scopes(text):
    """Keeps the names of each location, in call sites and fused as they are, behind an alias."""
    pieces, at, aliases, parsed, text = [], 0, {}, {}, text + "\n"
    for match in re.finditer(r'\bloc\((?=["ucf])', text):
        if match.start() < at:
            continue
        rest = text[match.end():text.find("\n", match.end())]  # few differ
        if rest not in parsed:
            parsed[rest] = parse_location(rest, 0)
        location, length = parsed[rest]
        alias = aliases.setdefault(location, f"#loc{len(aliases)}") if location else "unknown"
        pieces += [text[at:match.start()], f"loc({alias}"]
        at = match.end() + length
    definitions = [f"{alias} = loc({location})\n" for location, alias in aliases.items()]
    return "".join([*pieces, text[at:].rstrip("\n"), "\n", *definitions])
