# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of operations on scalars."""


class Scalars:
    """The lines of a body that computes with scalars, most of which are of the type `kind`."""

    def __init__(self, kind: str):
        self.kind, self.lines = kind, list[str]()

    def add(self, operation: str, *operands: str, kind: str = "") -> str:
        self.lines.append(f"%r{len(self.lines)} = {operation} {', '.join(operands)} : {kind or self.kind}")
        return f"%r{len(self.lines) - 1}"

    def constant(self, value: float) -> str:
        """Of the type `kind`; `value` may be -inf."""
        infinity = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}
        return self.add("arith.constant", infinity[self.kind] if value == float("-inf") else f"{value:.17e}")

    def convert(self, value: str, source: str) -> str:
        """A floating-point number of the type `source` as one of the type `kind`."""
        if source == self.kind:
            return value
        return self.add("arith.extf" if int(source.lstrip("bf")) < int(self.kind.lstrip("bf")) else "arith.truncf", value,
                        kind=f"{source} to {self.kind}")
