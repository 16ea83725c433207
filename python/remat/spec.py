"""What an export says of its arguments and results, as an option of `remat-import`."""
import json

from remat.annotations import Annotation, passes


def quote(value) -> str:
    """JSON as an option of a pass, whose parser looks for braces, quotes and spaces within strings, too."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{quote(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(quote, value)) + "]"
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass")
        codes = [int.from_bytes(units[i:i + 2], "big") for i in range(0, len(units), 2)]
        return '"' + "".join(chr(c) if c < 128 and (chr(c).isalnum() or chr(c) in "._") else f"\\u{c:04x}"
                             for c in codes) + '"'
    return json.dumps(value)


def importing(exported, annotate: Annotation | None) -> Annotation:
    """The pass that imports `exported` (a `remat.export.Export`), and then `annotate`."""
    spec = {"function": "loss", "constants": [], "arguments": [a.describe() for a in exported.arguments],
            "results": [r.describe() for r in exported.results]}
    pipeline = passes(f"remat-import{{spec={{{quote(spec)}}}}}")
    return pipeline | annotate if annotate else pipeline
