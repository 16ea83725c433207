# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function of an attention that a model has as one operation, for both frameworks: their importers do not look into a call of it."""
import dataclasses
from collections.abc import Callable, Sequence

from remat.export.scalars import Scalars

# The loop over keys. That of a dimension of size 1, which has none.
KEYS, NONE = "n", "0"


def split_type(text: str) -> tuple[list[str], str]:
    """Returns the sizes of a tensor type, `?` where they are not known, and its element type."""
    *sizes, kind = text.removeprefix("tensor<").removesuffix(">").split("x")
    return sizes, kind


@dataclasses.dataclass
class Indexed:
    """The type of a tensor, and the loops that index its dimensions."""

    type: str
    loops: Sequence[str]


def write(name: str, query: Indexed, key: Indexed, value: Indexed, others: list[Indexed], rows: Sequence[str], result: Sequence[str],
          score: Callable[..., list[str]]) -> str:
    """The function `name` of query, key, value and the tensors `others` that scores are modified by: `remat.attention` by the loops of
    these, with a result of the type of its sums, f32 or f64.

    `rows` and `result` are the loops of the softmaxes and of the result. `score` adds to a `Scalars` what the body computes from the score
    and the elements of `others`, and returns what it yields; %n there is the index of the key, others are those of the rows.
    """
    wide = "f64" if split_type(query.type)[1] == "f64" else "f32"
    inputs = [query, key, value, *others]
    names = ["%query", "%key", "%value", *(f"%other{i}" for i in range(len(others)))]
    loops = [*rows, KEYS, *(loop for loop in query.loops if loop not in rows), *(loop for loop in result if loop not in rows)]
    lines, sizes = list[str](), dict[str, tuple[str, str]]()  # of loops: as a type and as an operand have it
    for operand, tensor in zip(names, inputs[:3]):
        for dim, (size, loop) in enumerate(zip(split_type(tensor.type)[0], tensor.loops)):
            if loop in result and loop not in sizes:
                sizes[loop] = size, f"%size_{loop}"
                if size == "?":
                    lines += [f"%dim_{loop} = arith.constant {dim} : index",
                              f"%size_{loop} = tensor.dim {operand}, %dim_{loop} : {tensor.type}"]
    types = []
    for init, indices in (("%init", result), ("%sums", rows)):
        types.append(f"tensor<{''.join(f'{sizes[loop][0]}x' for loop in indices)}{wide}>")
        lines.append(f"{init} = tensor.empty({', '.join(sizes[loop][1] for loop in indices if sizes[loop][0] == '?')}) : {types[-1]}")
    scalars = Scalars(wide)
    kinds = [split_type(other.type)[1] for other in others]
    yielded = score(scalars, "%score", *(f"%e{i}" for i in range(len(others))))
    arguments = [*(f"%{loop}: index" for loop in (*rows, KEYS)), f"%score: {wide}", *(f"%e{i}: {kind}" for i, kind in enumerate(kinds))]
    maps = [f"affine_map<({', '.join(loops)}) -> ({', '.join(indices)})>" for indices in (*(i.loops for i in inputs), result, rows)]
    newline = "\n    "
    return f"""
  func.func private @"{name}"({', '.join(f'{operand}: {tensor.type}' for operand, tensor in zip(names, inputs))}) -> {types[0]} {{
    {newline.join(lines)}
    %attention:2 = "remat.attention"({', '.join([*names, '%init', '%sums'])}) ({{
    ^bb0({', '.join(arguments)}):
      {f'{newline}  '.join(scalars.lines)}
      "remat.yield"({', '.join(yielded)}) {{operandSegmentSizes = array<i32: {len(yielded)}, 0>}} : ({', '.join([wide] * len(yielded))}) -> ()
    }}) {{indexing_maps = [{', '.join(maps)}]}} : ({', '.join([*(i.type for i in inputs), *types])}) -> ({', '.join(types)}) loc("attention")
    return %attention#0 : {types[0]}
  }}
"""
