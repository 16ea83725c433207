# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that adds at computed positions, for both frameworks: their importers do not look into a call of it."""

NAME = "remat.scatter_add"


def write(name: str, x: str, rows: str, places: str, dim: int, *, is_clamped: bool = False) -> str:
    """The function `name` of a tensor, of rows that are added to it, and of their places in its dimension `dim`: one for each of the
    rows' positions there, or for each of their elements; `x`, `rows` and `places` are their types. That places are in range is
    asserted; if `is_clamped`, which needs the size of the dimension, those that are not count as the nearest one that is.
    """
    (*sizes, _), (*row_sizes, _), (*place_sizes, kind) = (t.removeprefix("tensor<").removesuffix(">").split("x") for t in (x, rows, places))
    rank = len(row_sizes)
    position = [f"%i{d}" for d in range(rank)]
    at = [*position[:dim], "%place", *position[dim + 1:]]
    read = position if len(place_sizes) > 1 else position[dim:dim + 1]
    clamp = "" if not is_clamped else f"""
      %first = arith.constant 0 : {kind}
      %last = arith.constant {int(sizes[dim]) - 1} : {kind}
      %positive = arith.maxsi %number, %first : {kind}
      %clamped = arith.minsi %positive, %last : {kind}"""
    return f"""
  func.func private @{name}(%x: {x}, %rows: {rows}, %places: {places}) -> {x} {{
    %sum = "remat.scatter_add"(%rows, %x) ({{
    ^bb0({", ".join(f"{i}: index" for i in position)}):
      %number = tensor.extract %places[{", ".join(read)}] : {places}{clamp}
      %place = arith.index_cast {"%clamped" if is_clamped else "%number"} : {kind} to index
      "remat.yield"({", ".join(at)}) {{operandSegmentSizes = array<i32: {rank}, 0>}} : ({", ".join(["index"] * rank)}) -> () loc("scatter_add")
    }}) : ({rows}, {x}) -> {x} loc("scatter_add")
    return %sum : {x}
  }}
"""
