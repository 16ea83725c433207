# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All kinds of collectives, on elements of all types: a program for so many ranks, its data, and what NumPy makes of them.

    collectives.py program RANKS    the program, which reads ../in.npz and writes out.npz
    collectives.py data FOLDER RANKS
    collectives.py check FOLDER RANKS
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32}
INTEGERS = {"i1": np.bool_, "i8": np.int8, "i16": np.int32, "i32": np.int32, "i64": np.int64}
FLOAT_KINDS = ["sum", "prod", "maximum", "minimum", "maxnum", "minnum"]
INTEGER_KINDS = ["sum", "prod", "maxs", "mins", "maxu", "minu", "and", "or", "xor"]
# Files have no arrays of these: they are stored as these others.
STORED = {"bf16": "f32", "i16": "i32"}
NARROW = {"bf16": "arith.truncf", "i16": "arith.trunci"}
WIDEN = {"bf16": "arith.extf", "i16": "arith.extsi"}


@dataclass
class Reduction:
    """Parts of all ranks along an axis."""

    name: str
    type: str
    kind: str
    parts: int
    count: int
    in_place: bool = False
    stride: int = 1
    size: int = 0


def reductions(ranks):
    cases = [Reduction(f"{kind}_{dtype}", dtype, kind, 2, 1000) for dtype in FLOATS for kind in FLOAT_KINDS]
    cases += [Reduction(f"{kind}_{dtype}", dtype, kind, 3, 333) for dtype in INTEGERS for kind in INTEGER_KINDS]
    # None, one, and more than a message.
    for count in (0, 1, 600_001):
        for in_place in (False, True):
            for parts in (1, 3) if count < 2 else (1,):
                name = f"count_{count}_{parts}{'_in_place' if in_place else ''}"
                cases.append(Reduction(name, "f32", "sum", parts, count, in_place))
    for case in cases:
        case.size = ranks
    if ranks == 4:
        cases.append(Reduction("rows", "f32", "sum", 1, 100, stride=2, size=2))
        cases.append(Reduction("columns", "f32", "sum", 1, 100, stride=1, size=2))
    return cases


def gathers():
    """Names, shapes of an input, dimensions."""
    return [("gather0", (3, 5), 0), ("gather1", (3, 5), 1), ("gather_long", (7, 9000), 1), ("gather_scalar", (1,), 0)]


# ----------------------------------------------------------------------------------------------------------------------
# The program
# ----------------------------------------------------------------------------------------------------------------------


def shaped(shape, dtype):
    return f"memref<{'x'.join([*map(str, shape), dtype])}>"


def program(ranks):
    lines, texts = [], {}

    def text(value):
        if value not in texts:
            texts[value] = f"text{len(texts)}"
        name = f"%{texts[value]}_{len(lines)}"
        size = len(value)
        lines.append(f"{name}_all = memref.get_global @{texts[value]} : memref<{size}xi8>")
        lines.append(f"{name} = memref.cast {name}_all : memref<{size}xi8> to memref<?xi8>")
        return name

    def access(verb, key, buffer, shape, dtype, path=None):
        name = text(key)
        operands = [text(path)] if path else []
        lines.append(f"%any_{len(lines)} = memref.cast {buffer} : {shaped(shape, dtype)} to memref<*x{dtype}>")
        operands += [name, f"%any_{len(lines) - 1}"]
        types = ["memref<?xi8>"] * (len(operands) - 1) + [f"memref<*x{dtype}>"]
        lines.append(f"call @remat_rt_{verb}_{dtype}({', '.join(operands)}) : ({', '.join(types)}) -> ()")

    def convert(operation, source, shape, from_type, to_type):
        result, number = f"%converted_{len(lines)}", len(shape)
        loops = ", ".join(f"d{i}" for i in range(number))
        identity = f"affine_map<({loops}) -> ({loops})>"
        kinds = ", ".join(['"parallel"'] * number)
        lines.append(f"{result} = memref.alloc() : {shaped(shape, to_type)}")
        lines.append(f"linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{kinds}]}} "
                     f"ins({source} : {shaped(shape, from_type)}) outs({result} : {shaped(shape, to_type)}) {{")
        lines.append(f"^bb0(%a: {from_type}, %b: {to_type}):")
        lines.append(f"  %c = {operation} %a : {from_type} to {to_type}")
        lines.append(f"  linalg.yield %c : {to_type}")
        lines.append("}")
        return result

    lines.append(f"%rank = remat.rank {{size = {ranks}, stride = 1}} : index")
    lines.append(f"call @remat_rt_write_begin({text('out.npz')}) : (memref<?xi8>) -> ()")
    for case in reductions(ranks):
        dtype, stored = case.type, STORED.get(case.type, case.type)
        shape, name = (ranks * case.parts, case.count), case.name
        lines.append(f"%x_{name} = memref.alloc() : {shaped(shape, stored)}")
        access("read", name, f"%x_{name}", shape, stored, "../in.npz")
        parts = f"%x_{name}"
        if stored != dtype:
            parts = convert(NARROW[dtype], parts, shape, stored, dtype)
        lines.append(f"%n_{name} = arith.constant {case.parts} : index")
        lines.append(f"%first_{name} = arith.muli %rank, %n_{name} : index")
        view = f"memref<{case.count}x{dtype}, strided<[1], offset: ?>>"
        for i in range(case.parts):
            lines.append(f"%i_{name}_{i} = arith.constant {i} : index")
            lines.append(f"%at_{name}_{i} = arith.addi %first_{name}, %i_{name}_{i} : index")
            if case.count == 0:
                view = "memref<0xf32>"
                lines.append(f"%p_{name}_{i} = memref.alloc() : {view}")
                continue
            lines.append(f"%p_{name}_{i} = memref.subview {parts}[%at_{name}_{i}, 0] [1, {case.count}] [1, 1] : "
                         f"{shaped(shape, dtype)} to {view}")
        out, out_type = f"%p_{name}_0", view
        if not case.in_place:
            out, out_type = f"%out_{name}", shaped((case.count,), dtype)
            lines.append(f"{out} = memref.alloc() : {out_type}")
        inputs = ", ".join(f"%p_{name}_{i}" for i in range(case.parts))
        lines.append(f"remat.all_reduce {case.kind} {{size = {case.size}, stride = {case.stride}}} "
                     f"ins({inputs} : {', '.join([view] * case.parts)}) outs({out} : {out_type})")
        if case.in_place:
            lines.append(f"%out_{name} = memref.alloc() : {shaped((case.count,), dtype)}")
            lines.append(f"memref.copy {out}, %out_{name} : {out_type} to {shaped((case.count,), dtype)}")
        out = f"%out_{name}"
        if stored != dtype:
            out = convert(WIDEN[dtype], out, (case.count,), dtype, stored)
        access("write", name, out, (case.count,), stored)
    for name, shape, dim in gathers():
        whole = list(shape)
        whole[dim] *= ranks
        lines.append(f"%x_{name} = memref.alloc() : {shaped((ranks, *shape), 'f32')}")
        access("read", name, f"%x_{name}", (ranks, *shape), "f32", "../in.npz")
        zeros, ones = ", 0" * len(shape), ", 1" * len(shape)
        strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
        view = f"memref<{'x'.join(map(str, shape))}xf32, strided<{strides}, offset: ?>>"
        lines.append(f"%v_{name} = memref.subview %x_{name}[%rank{zeros}] [1, {', '.join(map(str, shape))}] [1{ones}] : "
                     f"{shaped((ranks, *shape), 'f32')} to {view}")
        lines.append(f"%out_{name} = memref.alloc() : {shaped(whole, 'f32')}")
        lines.append(f"remat.all_gather dim({dim}) {{size = {ranks}, stride = 1}} ins(%v_{name} : {view}) "
                     f"outs(%out_{name} : {shaped(whole, 'f32')})")
        access("write", name, f"%out_{name}", whole, "f32")
    lines.append("call @remat_rt_write_end() : () -> ()")
    for value, name in texts.items():
        print(f"memref.global \"private\" constant @{name} : memref<{len(value)}xi8> = dense<{list(value.encode())}>")
    wrapper = "attributes {llvm.emit_c_interface}"
    for dtype in ("f32", "f64", "f16", "i1", "i8", "i32", "i64"):
        print(f"func.func private @remat_rt_read_{dtype}(memref<?xi8>, memref<?xi8>, memref<*x{dtype}>) {wrapper}")
        print(f"func.func private @remat_rt_write_{dtype}(memref<?xi8>, memref<*x{dtype}>) {wrapper}")
    print(f"func.func private @remat_rt_write_begin(memref<?xi8>) {wrapper}")
    print(f"func.func private @remat_rt_write_end() {wrapper}")
    print("func.func @main() {", *(f"  {line}" for line in lines), "  return", "}", sep="\n")


# ----------------------------------------------------------------------------------------------------------------------
# NumPy
# ----------------------------------------------------------------------------------------------------------------------


def to_bf16(x):
    """Rounds to nearest, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, rounded)


def data(folder, ranks):
    random = np.random.default_rng(ranks)
    arrays = {}
    for case in reductions(ranks):
        shape = (ranks * case.parts, case.count)
        if case.type in FLOATS:
            x = random.standard_normal(shape) * 2.0 ** random.integers(-6, 6, shape)
            if case.kind not in ("sum", "prod"):
                x = np.where(random.random(shape) < 0.1, 0.0, x) * random.choice([-1, 1], shape)
                x = np.where(random.random(shape) < 0.1, np.nan, x)
            x = x.astype(FLOATS[case.type])
            arrays[case.name] = to_bf16(x) if case.type == "bf16" else x
        elif case.type == "i1":
            arrays[case.name] = random.random(shape) < 0.5
        else:
            bits = int(case.type[1:])
            low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
            arrays[case.name] = random.integers(low, high, shape, endpoint=True).astype(INTEGERS[case.type])
    for name, shape, _ in gathers():
        arrays[name] = random.standard_normal((ranks, *shape)).astype(np.float32)
    np.savez(folder / "in.npz", **arrays)


def combine(kind, dtype, a, b):
    if dtype in FLOATS:
        functions = {"sum": np.add, "prod": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "maxnum": np.fmax,
                     "minnum": np.fmin}
        result = functions[kind](a, b)
        # NumPy does not say which zero.
        zeros = (a == 0) & (b == 0)
        if kind in ("maximum", "maxnum"):
            result = np.where(zeros, np.where(np.signbit(a), b, a), result)
        if kind in ("minimum", "minnum"):
            result = np.where(zeros, np.where(np.signbit(a), a, b), result)
        return to_bf16(result) if dtype == "bf16" else result.astype(FLOATS[dtype])
    if dtype == "i1":
        logical = {"sum": "xor", "prod": "and", "maxs": "and", "mins": "or", "maxu": "or", "minu": "and"}
        kind = logical.get(kind, kind)
    functions = {"sum": np.add, "prod": np.multiply, "maxs": np.maximum, "mins": np.minimum, "and": np.bitwise_and,
                 "or": np.bitwise_or, "xor": np.bitwise_xor}
    width = np.int16 if dtype == "i16" else INTEGERS[dtype]
    a, b = a.astype(width), b.astype(width)
    if kind in ("maxu", "minu"):
        unsigned = np.dtype(f"u{np.dtype(width).itemsize}")
        greater = a.view(unsigned) > b.view(unsigned)
        result = np.where(greater == (kind == "maxu"), a, b)
    else:
        result = functions[kind](a, b)
    return result.astype(INTEGERS[dtype])


def combine_tree(case, parts):
    """Pairs of neighbours, level by level."""
    parts = list(parts)
    while len(parts) > 1:
        pairs = [combine(case.kind, case.type, *parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def have_same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        nans = np.isnan(a)
        return bool((nans == np.isnan(b)).all()) and a[~nans].tobytes() == b[~nans].tobytes()
    return a.tobytes() == b.tobytes()


def check(folder, ranks):
    inputs = np.load(folder / "in.npz")
    count = 0
    for rank in range(ranks):
        out = np.load(folder / f"rank{rank}" / "out.npz")
        for case in reductions(ranks):
            coordinate = rank // case.stride % case.size
            first = rank - coordinate * case.stride
            group = range(first, first + case.size * case.stride, case.stride)
            parts = [inputs[case.name][r * case.parts + i] for r in group for i in range(case.parts)]
            assert have_same_bits(out[case.name], combine_tree(case, parts)), (rank, case)
            count += 1
        for name, _, dim in gathers():
            assert have_same_bits(out[name], np.concatenate(list(inputs[name]), axis=dim)), (rank, name)
            count += 1
    print(f"{ranks} ranks: {count} results have NumPy's bits")


if __name__ == "__main__":
    np.seterr(all="ignore")
    if sys.argv[1] == "program":
        program(int(sys.argv[2]))
    else:
        {"data": data, "check": check}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
