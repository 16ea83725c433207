"""The function that adds at computed positions, for both frameworks: their importers do not look into a call of it."""

from collections.abc import Sequence

NAME = "remat.scatter_add"


def write(name: str, types: Sequence[str], ranks: Sequence[int], dim: int, last: int | None = None) -> str:
    """The function `name` of a tensor, of rows that are added to it, and of their places in its dimension `dim`: one for each of the
    rows' positions there, or for each of their elements. Places are in range, where that is asserted; with `last`, places
    below 0 or above are taken for these.
    """
    x, rows, places = types
    kind = places.removesuffix(">").rsplit("x", 1)[-1]
    position = [f"%i{d}" for d in range(ranks[1])]
    at = [*position[:dim], "%place", *position[dim + 1:]]
    read = position if ranks[2] > 1 else position[dim:dim + 1]
    clamp = "" if last is None else f"""
      %first = arith.constant 0 : {kind}
      %last = arith.constant {last} : {kind}
      %positive = arith.maxsi %number, %first : {kind}
      %clamped = arith.minsi %positive, %last : {kind}"""
    return f"""
  func.func private @{name}(%x: {x}, %rows: {rows}, %places: {places}) -> {x} {{
    %sum = "remat.scatter_add"(%rows, %x) ({{
    ^bb0({", ".join(f"{i}: index" for i in position)}):
      %number = tensor.extract %places[{", ".join(read)}] : {places}{clamp}
      %place = arith.index_cast {"%number" if last is None else "%clamped"} : {kind} to index
      "remat.yield"({", ".join(at)}) {{operandSegmentSizes = array<i32: {ranks[1]}, 0>}} : ({", ".join(["index"] * ranks[1])}) -> () loc("scatter_add")
    }}) : ({rows}, {x}) -> {x} loc("scatter_add")
    return %sum : {x}
  }}
"""
