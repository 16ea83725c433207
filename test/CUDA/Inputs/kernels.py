# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on the emulated device against the CPU target's, bit by bit; reductions against the order that docs/bits.md
gives them, in bits as well. For two sizes of blocks, three orders of blocks and threads, and with races looked for.

    kernels.py RUNTIME CUDA_RUNTIME CUDA_EMULATOR              all of it
    kernels.py ... --run BLOCK_SIZE FOLDER                     the part for one order, in a process of its own
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from device import TYPES, Device, Host, compile_module, element, is_same, memref, to_bf16

random = np.random.default_rng(0)
LARGE = 1 << 17  # more elements than that take too long where each access is looked at
checks = []


class Check:
    def __init__(self, symbol, text, arrays, want=None):
        # `want`: arrays for the last arguments; None for what the CPU target computes.
        self.symbol, self.text, self.arrays, self.want = symbol, text, arrays, want
        self.isLarge = sum(a.size for a in arrays) > LARGE


def generic(name, body, inputs, outputs, maps, kinds, want=None, dynamic=(False, True), order=None):
    for isDynamic in dynamic:
        arrays = [*inputs, *outputs]
        symbol = f"{name}_{'dynamic' if isDynamic else 'static'}"
        types = [memref(a, a.shape if isDynamic else ()) for a in arrays]
        names = [f"%a{i}" for i in range(len(arrays))]
        arguments = ", ".join(f"{n} : {t}" for n, t in zip(names, types))
        elements = ", ".join(f"{'%x' if i < len(inputs) else '%acc'}{i if i < len(inputs) else i - len(inputs)}: {element(a)}"
                             for i, a in enumerate(arrays))
        n = len(inputs)
        ins = f"ins({', '.join(names[:n])} : {', '.join(types[:n])})" if n else ""
        kind = ", ".join({"p": '"parallel"', "r": '"reduction"'}[k] for k in kinds)
        attribute = f' attrs = {{remat.order = "{order}"}}' if order else ""
        text = (f"""
func.func @{symbol}({arguments}) attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}], iterator_types = [{kind}]}}
    {ins} outs({', '.join(names[n:])} : {', '.join(types[n:])}){attribute} {{
  ^bb0({elements}):
    {body}
  }}
  return
}}""")
        checks.append(Check(symbol, text, arrays, want(isDynamic) if want else None))


def normal(*shape, dtype="f4"):
    return random.standard_normal(shape).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# The canonical order of a reduction: the model. It follows from the shape alone.
# ---------------------------------------------------------------------------------------------------------------------

def floor(n):
    return 1 << (max(int(n), 1).bit_length() - 1)


def count_lanes(order, elements, results):
    along = order == "along"
    vector = 4 if along and elements % 4 == 0 and elements > 4 else 1
    least = min(32 * vector, floor(elements)) if along else 1
    most = min(1024 if along or results < 8 else 128, vector * floor(elements // (8 if vector > 1 else 4)))
    return max(min(vector * floor((1 << 19) // max(results, 1)), most), least)


def reduce(terms, initial, order, operation, neutral, sizes=None):
    """terms[i, r]: element i of result r. `sizes`: (elements, results) where the compiler does not know them."""
    elements, results = sizes or terms.shape
    lanes = count_lanes(order, elements, results)
    if lanes == 1:
        total = initial.copy()
        for row in terms:
            total = operation(total, row)
        return total
    partial = np.full((lanes, terms.shape[1]), neutral, terms.dtype)
    for start in range(0, len(terms), lanes):
        chunk = terms[start:start + lanes]
        partial[:len(chunk)] = operation(partial[:len(chunk)], chunk)
    while len(partial) > 1:
        partial = operation(partial[0::2], partial[1::2])
    return operation(initial, partial[0])


def cut_loop(iterations, wanted):
    """(chunks, iterations of each, iterations of none) of one reduction loop."""
    if iterations <= wanted:
        return iterations, 1, 0
    least = -(-iterations // wanted)
    sizes = range(least, min(2 * least, least + 4096, iterations // 2 + 1))
    size = min(sizes, key=lambda size: iterations % size, default=iterations)
    return (iterations // size, size, iterations % size) if iterations % size <= iterations // 16 else (1, iterations, 0)


def plan_chunks(order, loops, results):
    many = order != "along" and results >= 256  # rows of memory are long, and each block has few of them
    elements, most = int(np.prod(loops)), 1024 if order == "along" else 8 if many else 128
    lanes = count_lanes(order, elements, results)
    if results * lanes > 1 << (20 if many else 15) or elements // lanes < 128:
        return None
    wanted, cuts = min((1 << (20 if many else 18)) // (results * most), elements // (32 * most)), []
    for size in loops:
        chunks, length, rest = cut_loop(size, wanted) if wanted > 1 else (1, size, 0)
        wanted = 1 if chunks > 1 and (length > 1 or rest) else wanted // chunks
        cuts.append((chunks, length, rest))
    return cuts


def reduce_chunks(terms, initial, order, operation, neutral):
    """terms[i, j, ..., r]: what iteration i, j, ... of the reduction loops combines into result r. Chunks are reduced first, each
    by `reduce`, and then their results with the initial value."""
    *loops, results = terms.shape
    cuts = plan_chunks(order, loops, results)
    if cuts is None:
        return reduce(terms.reshape(-1, results), initial, order, operation, neutral)
    taken = terms[tuple(slice(chunks * length) for chunks, length, _ in cuts)]
    taken = taken.reshape(*(size for chunks, length, _ in cuts for size in (chunks, length)), results)
    axes = 2 * len(cuts)
    taken = taken.transpose(*range(1, axes, 2), *range(0, axes, 2), axes)  # elements of a chunk, chunks, results
    chunks = int(np.prod([c for c, _, _ in cuts]))
    taken = taken.reshape(-1, chunks * results)
    partial = reduce(taken, np.full(chunks * results, neutral, terms.dtype), order, operation, neutral)
    for axis, (number, length, rest) in enumerate(cuts):
        if rest:
            left = terms[(slice(None),) * axis + (slice(number * length, None),)]
            initial = reduce_chunks(left, initial, order, operation, neutral)
    return reduce(partial.reshape(chunks, results), initial, order, operation, neutral)


ID2, ROW, COLUMN = "(i, j) -> (i, j)", "(i, j) -> (i)", "(i, j) -> (j)"
OPERATIONS = {"addf": (np.add, -0.0), "mulf": (np.multiply, 1), "maximumf": (np.maximum, -np.inf),
              "addi": (np.add, 0), "ori": (np.logical_or, False), "maxsi": (np.maximum, None)}


def reduction(name, x, axis, operation="addf", square=False, order=None, dynamic=(False, True)):
    """Rows (axis 1), columns (axis 0) or all of it (None); each element squared first, if wanted."""
    m, n = x.shape
    kind = element(x)
    output = normal(*(() if axis is None else (x.shape[1 - axis],))).astype(x.dtype)
    terms = (x * x if square else x)
    terms = terms.reshape(-1, 1) if axis is None else terms.T if axis else terms
    chosen = order or ("across" if axis == 0 and n > 1 else "along")
    if m == 1 and axis == 0 and n == 1:
        chosen = "across"
    dims = {None: (4096 * 4096, 1), 0: (4096, 4096), 1: (4096, 4096)}[axis]

    def want(isDynamic):
        function, neutral = OPERATIONS[operation]
        if operation == "maxsi":
            neutral = np.iinfo(x.dtype).min
        # Of dynamic sizes, each counts as 4096; which loop is the innermost of more than one iteration is open, too.
        kind_of_order = order or (("across" if axis == 0 else "along") if isDynamic else chosen)
        return [reduce(terms, np.atleast_1d(output), kind_of_order, function, neutral,
                       dims if isDynamic else None).astype(x.dtype).reshape(output.shape)]
    body = "%x = arith.mulf %x0, %x0 : {0}\n" if square else ""
    body += "%s = arith." + operation + " %acc0, " + ("%x" if square else "%x0") + " : {0}\n linalg.yield %s : {0}"
    maps = [ID2, {None: "(i, j) -> ()", 0: COLUMN, 1: ROW}[axis]]
    kinds = {None: "rr", 0: "rp", 1: "pr"}[axis]
    generic(name, body.format(kind), [x], [output], maps, kinds, want, dynamic, order)


def add_reductions():
    for m, n in ((0, 5), (5, 0), (1, 1), (3, 31), (31, 33), (33, 1), (1, 1000), (257, 127), (1000, 3), (8, 4099)):
        x = normal(m, n)
        for axis, name in ((1, "rows"), (0, "columns"), (None, "all")):
            reduction(f"{name}_{m}_{n}", x, axis)
    reduction("long_row", normal(1, 200003), 1, dynamic=[False])
    reduction("long_rows", normal(3, 200000), 1, square=True, dynamic=[False])
    reduction("many_rows", normal(70001, 3), 1)
    reduction("many_rows_of_one", normal(70001, 1), 1, dynamic=[False])
    reduction("long_column", normal(200003, 1), 0, dynamic=[False])
    reduction("columns_of_one", normal(1, 1000), 0, dynamic=[False])
    reduction("columns_across", normal(1000, 77), 0, order="across", dynamic=[False])
    reduction("rows_across", normal(77, 1000), 1, order="across", dynamic=[False])
    reduction("f64_rows", normal(37, 1009, dtype="f8"), 1)
    reduction("f64_columns", normal(1009, 37, dtype="f8"), 0)
    reduction("i32_all", random.integers(-9, 9, (61, 67)).astype("i4"), None, "addi")
    reduction("i32_maximum", random.integers(-999, 999, (61, 67)).astype("i4"), 1, "maxsi")
    reduction("i1_rows", random.random((33, 70)) < 0.02, 1, "ori")
    reduction("i1_columns", random.random((70, 33)) < 0.02, 0, "ori")
    reduction("maxima", normal(50, 333), 1, "maximumf")
    reduction("products", normal(50, 97), 1, "mulf")
    f16 = normal(21, 500).astype("f2")
    reduction("f16_rows", f16, 1)
    # Vectors of partial results: of a part of a warp, of whole ones, of several, with rests and with threads that have none.
    for m, n in ((5, 8), (33, 12), (257, 64), (70, 768), (9, 1020), (3, 5000), (1, 16384)):
        reduction(f"vectors_{m}_{n}", normal(m, n), 1)
    reduction("f64_vectors", normal(37, 1008, dtype="f8"), 1)
    reduction("f16_vectors", normal(7, 768).astype("f2"), 1)
    reduction("i64_vectors", random.integers(-(1 << 60), 1 << 60, (7, 2000)), 1, "maxsi")
    reduction("i8_vectors", random.integers(-99, 99, (7, 768)).astype("i1"), 1, "maxsi")
    reduction("i1_vectors", random.random((33, 72)) < 0.02, 1, "ori")
    reduction("maxima_of_vectors", normal(50, 332), 1, "maximumf")
    x, out = normal(40, 64), normal(40)
    generic("stored_vectors", """%t = arith.mulf %x0, %x0 : f32
    %s = arith.addf %acc1, %t : f32
    linalg.yield %t, %s : f32, f32""", [x], [np.zeros((40, 64), "f4"), out], [ID2, ID2, ROW], "pr",
            lambda d: [x * x, reduce((x * x).T, out, "along", np.add, -0.0, (4096, 4096) if d else None)], order="along")
    # Elements that are a multiple of four, in rows that are not; vectors of the inner one of two loops; of a part of each row.
    for shape in ((12, 5, 7), (3, 29, 8)):
        y, of = normal(*shape), normal(shape[1])
        generic(f"inner_{shape[2]}", "%s = arith.addf %acc0, %x0 : f32\n linalg.yield %s : f32", [y], [of],
                ["(i, j, k) -> (i, j, k)", "(i, j, k) -> (j)"], "rpr",
                lambda d, y=y, of=of: [reduce(y.transpose(0, 2, 1).reshape(-1, y.shape[1]), of, "along", np.add, -0.0,
                                              (4096 * 4096, 4096) if d else None)])
    reduction("vectors_with_gaps", normal(20, 400)[:, :300], 1)
    # bf16 elements, a sum in f32.
    bits = to_bf16(normal(21, 500))
    wide = (bits.astype("u4") << 16).view("f4")
    initial = normal(21)
    generic("bf16_rows", "%w = arith.extf %x0 : bf16 to f32\n %s = arith.addf %acc0, %w : f32\n linalg.yield %s : f32",
            [bits], [initial], [ID2, ROW], "pr",
            lambda d: [reduce(wide.T, initial, "along", np.add, -0.0, (4096, 4096) if d else None)])
    # Columns of 16 or 8 bits: a lane has several results. The last ones of an odd number have no neighbour.
    for m, n in ((1000, 64), (300, 33), (259, 4098)):
        bits = to_bf16(normal(m, n))
        terms = (bits.astype("u4") << 16).view("f4")
        mask = random.random((m, n)) < 0.5
        outputs = [normal(n), normal(n)]
        generic(f"bf16_columns_{m}_{n}", """%w = arith.extf %x0 : bf16 to f32
    %s = arith.addf %acc0, %w : f32
    %m = arith.maximumf %acc1, %w : f32
    linalg.yield %s, %m : f32, f32""", [bits], outputs, [ID2, COLUMN, COLUMN], "rp",
                lambda d, terms=terms, outputs=outputs: [
                    reduce(terms, out, "across", f, n, (4096, 4096) if d else None)
                    for out, f, n in ((outputs[0], np.add, -0.0), (outputs[1], np.maximum, -np.inf))])
        generic(f"masked_columns_{m}_{n}", """%z = arith.constant 0.0 : f32
    %w = arith.select %x0, %x1, %z : f32
    %s = arith.addf %acc0, %w : f32
    linalg.yield %s : f32""", [mask, terms], outputs[:1], [ID2, ID2, COLUMN], "rp",
                lambda d, terms=terms, mask=mask, outputs=outputs: [
                    reduce(np.where(mask, terms, np.float32(0)), outputs[0], "across", np.add, -0.0, (4096, 4096) if d else None)])
    # Lanes that store what they add up, in place; the last blocks have threads without a result.
    for kind, m, n in (("f4", 300, 33), ("u2", 300, 34), ("f4", 9, 4099)):
        x, old = normal(m, n), normal(m, n)
        stored, terms = (old + x, old + x) if kind == "f4" else (to_bf16(x), (to_bf16(x).astype("u4") << 16).view("f4"))
        outputs = [old if kind == "f4" else to_bf16(old), normal(n)]
        text = {"f4": """%t = arith.addf %acc0, %x0 : f32
    %s = arith.addf %acc1, %t : f32
    linalg.yield %t, %s : f32, f32""", "u2": """%t = arith.truncf %x0 : f32 to bf16
    %w = arith.extf %t : bf16 to f32
    %s = arith.addf %acc1, %w : f32
    linalg.yield %t, %s : bf16, f32"""}[kind]
        generic(f"stored_{kind}_{m}_{n}", text, [x], outputs, [ID2, ID2, COLUMN], "rp",
                lambda d, terms=terms, stored=stored, outputs=outputs: [
                    stored, reduce(terms, outputs[1], "across", np.add, -0.0, (4096, 4096) if d else None)])
    x, out = normal(60, 70), normal(60)
    generic("stored_rows", """%t = arith.mulf %x0, %x0 : f32
    %s = arith.addf %acc1, %t : f32
    linalg.yield %t, %s : f32, f32""", [x], [np.zeros((60, 70), "f4"), out], [ID2, ID2, ROW], "pr",
            lambda d: [x * x, reduce((x * x).T, out, "along", np.add, -0.0, (4096, 4096) if d else None)], order="along")
    # Two results of one kernel, and a reduction of two loops around the parallel one.
    x, outputs = normal(40, 300), [normal(40), np.full(40, -np.inf, "f4")]
    generic("sum_and_maximum", """%s = arith.addf %acc0, %x0 : f32
    %m = arith.maximumf %acc1, %x0 : f32
    linalg.yield %s, %m : f32, f32""", [x], outputs, [ID2, ROW, ROW], "pr",
            lambda d: [reduce(x.T, out, "along", f, n, (4096, 4096) if d else None)
                       for out, f, n in ((outputs[0], np.add, -0.0), (outputs[1], np.maximum, -np.inf))])
    x, out = normal(13, 29, 7), normal(29)
    generic("around", "%s = arith.addf %acc0, %x0 : f32\n linalg.yield %s : f32", [x], [out],
            ["(i, j, k) -> (i, j, k)", "(i, j, k) -> (j)"], "rpr",
            lambda d: [reduce(x.transpose(0, 2, 1).reshape(91, 29), out, "along", np.add, -0.0,
                              (4096 * 4096, 4096) if d else None)])
    # The same from memory with gaps, and backwards in each row.
    wide = normal(50, 400)
    reduction("with_gaps", wide[::2, ::3], 1)
    reduction("columns_with_gaps", wide[::2, ::3], 0)


def on_tensors(name, bodies, x, axes, order, want, extra=()):
    """Reductions of `x` by `axes`, one result for each body, as an operation on tensors: remat-split-reductions may see it."""
    kept = [i for i in range(x.ndim) if i not in axes]
    outputs = [normal(*(x.shape[i] for i in kept)).astype(x.dtype) for _ in bodies]
    names = "ijkl"[:x.ndim]
    dims = ", ".join(names)
    whole, part = f"affine_map<({dims}) -> ({dims})>", f"affine_map<({dims}) -> ({', '.join(names[i] for i in kept)})>"
    kinds = ", ".join('"reduction"' if i in axes else '"parallel"' for i in range(x.ndim))
    inputs = [x, *extra]

    def tensor(array):
        return "tensor" + memref(array)[len("memref"):]
    arguments = ", ".join(f"%a{i} : {memref(a)}" for i, a in enumerate(inputs + outputs))
    e = element(x)
    text = [f"func.func @{name}({arguments}) attributes {{llvm.emit_c_interface}} {{"]
    text += [f"  %t{i} = bufferization.to_tensor %a{i} restrict{' writable' if i >= len(inputs) else ''} : {memref(a)} to {tensor(a)}"
             for i, a in enumerate(inputs + outputs)]
    n = len(inputs)
    for k, body in enumerate(bodies):
        uses = range(n if "%e" in body else 1)
        text += [f"""  %r{k} = linalg.generic {{indexing_maps = [{', '.join([whole] * len(uses))}, {part}], iterator_types = [{kinds}]}}
    ins({', '.join(f'%t{i}' for i in uses)} : {', '.join(tensor(inputs[i]) for i in uses)}) outs(%t{n + k} : {tensor(outputs[k])})
    attrs = {{remat.order = "{order}"}} {{
  ^bb0({', '.join(('%x', '%e')[i] + ': ' + e for i in uses)}, %acc: {e}):
    {body}
    linalg.yield %s : {e}
  }} -> {tensor(outputs[k])}"""]
    text += [f"  bufferization.materialize_in_destination %r{k} in restrict writable %a{n + k} : ({tensor(o)}, {memref(o)}) -> ()"
             for k, o in enumerate(outputs)]
    terms = [(w[0](x, *extra).astype(x.dtype).transpose(*axes, *kept).reshape(*(x.shape[i] for i in axes), -1), *w[1:]) for w in want]
    assert any(plan_chunks(order, t.shape[:-1], t.shape[-1]) for t, *_ in terms), f"{name} is not split"
    checks.append(Check(name, "\n".join(text) + "\n  return\n}", inputs + outputs,
                        [reduce_chunks(t, out.reshape(-1), order, *operation).reshape(out.shape)
                         for (t, *operation), out in zip(terms, outputs)]))


def add_long_reductions():
    add, same = "%s = arith.addf %acc, %x : {}", lambda x, *_: x
    product = "%m = arith.mulf %x, %e : {0}\n %s = arith.addf %acc, %m : {0}"
    total = (same, np.add, -0.0)
    for name, shape, axes, order in (
            ("all", (1 << 17,), (0,), "along"), ("all_of_prime", (131101,), (0,), "along"), ("all_of_rows", (3, 70001), (0, 1), "along"),
            ("all_of_long_rows", (2, 100, 1009), (0, 1, 2), "along"), ("few_rows", (5, 140000), (1,), "along"),
            ("columns", (1 << 14, 8), (0,), "across"), ("many_columns", (1 << 14, 260), (0,), "across"), ("columns_left_over", (20011, 8), (0,), "across"),
            ("few_columns", (140003, 3), (0,), "across"), ("channels_last", (32, 23, 29, 10), (0, 1, 2), "across"),
            ("channels_first", (16, 3, 97, 101), (0, 2, 3), "along"), ("rest_is_long", (1023, 17, 11, 9), (0, 1, 2), "across")):
        on_tensors(f"long_{name}", [add.format("f32")], normal(*shape), axes, order, [total])
    x, y = normal(1 << 14, 8), normal(1 << 14, 8)
    on_tensors("long_two", [add.format("f32"), product.format("f32")], x, (0,), "across",
               [total, (lambda x, y: x * y, np.add, -0.0)], [y])
    on_tensors("long_f64", [add.format("f64"), "%s = arith.maximumf %x, %acc : f64"], normal(16661, 8, dtype="f8"), (0,), "across",
               [total, (same, np.maximum, -np.inf)])
    # Iterations by number, in chunks and in what is left over.
    on_tensors("long_numbers", ["""%i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    %m = arith.mulf %x, %f : f32
    %s = arith.addf %acc, %m : f32"""], normal(20011, 8), (0,), "across",
               [(lambda x: x * np.arange(len(x), dtype="f4")[:, None], np.add, -0.0)])


# ---------------------------------------------------------------------------------------------------------------------
# Kernels that give the CPU target's bits
# ---------------------------------------------------------------------------------------------------------------------

def add_pointwise():
    for n in (0, 1, 31, 33, 1021, 70000):
        generic(f"axpy_{n}", """%p = arith.mulf %x0, %x1 : f32
        %e = math.exp %p : f32
        %s = arith.addf %e, %acc0 : f32
        linalg.yield %s : f32""", [normal(n), normal(n)], [normal(n)], ["(i) -> (i)"] * 3, "p")
    functionsOf = {"f32": ("exp", "tanh", "log", "sqrt", "rsqrt", "sin", "erf", "log1p", "absf"),
                   "f64": ("exp", "tanh", "log", "sqrt", "erf")}
    for kind, names in functionsOf.items():
        for name in names:
            x = np.concatenate([np.exp(3 * normal(200)), [0.0, 1e-30, 1e30, 1.0]]).astype("f" + str(int(kind[1:]) // 8))
            generic(f"{name}_{kind}", f"%y = math.{name} %x0 : {kind}\n linalg.yield %y : {kind}", [x], [np.zeros_like(x)],
                    ["(i) -> (i)"] * 2, "p", dynamic=[False])
    x, y = normal(37, 41), normal(37, 41)
    generic("compare", "%c = arith.cmpf ogt, %x0, %x1 : f32\n linalg.yield %c : i1", [x, y], [np.zeros((37, 41), "?")],
            [ID2] * 3, "pp")
    generic("select", "%c = arith.select %x0, %x1, %acc0 : f32\n linalg.yield %c : f32", [x > 0, y], [x.copy()],
            [ID2] * 3, "pp")
    generic("booleans", "%c = arith.xori %x0, %x1 : i1\n linalg.yield %c : i1", [x > 0, y > 0], [np.zeros((37, 41), "?")],
            [ID2] * 3, "pp")
    halves = normal(16, 64).astype("f2")
    generic("f16", "%s = arith.mulf %x0, %x0 : f16\n %t = arith.addf %s, %acc0 : f16\n linalg.yield %t : f16", [halves],
            [halves.copy()], [ID2] * 2, "pp")
    brain = to_bf16(normal(16, 64))
    generic("bf16", """%w = arith.extf %x0 : bf16 to f32
    %s = arith.mulf %w, %w : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %t : bf16""", [brain], [brain.copy()], [ID2] * 2, "pp", dynamic=[False])
    integers = random.integers(-50, 50, (9, 33))
    generic("division", """%c7 = arith.constant 7 : i64
    %d = arith.divsi %x0, %c7 : i64
    %r = arith.remsi %x0, %c7 : i64
    %s = arith.muli %d, %r : i64
    linalg.yield %s : i64""", [integers], [integers.copy()], [ID2] * 2, "pp")
    generic("narrow", "%t = arith.trunci %x0 : i64 to i32\n linalg.yield %t : i32", [integers], [np.zeros((9, 33), "i4")],
            [ID2] * 2, "pp")
    # Two results, a row and a column that are broadcast, an iteration's number.
    generic("two_results", """%i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %f = arith.sitofp %k : i64 to f32
    %p = arith.mulf %x0, %x1 : f32
    %q = arith.addf %p, %f : f32
    linalg.yield %p, %q : f32, f32""", [normal(37), normal(41)], [x.copy(), y.copy()], [ROW, COLUMN, ID2, ID2], "pp")
    wide = normal(40, 90)
    generic("with_gaps_pointwise", "%d = arith.addf %x0, %x0 : f32\n linalg.yield %d : f32", [wide[::2, ::3]],
            [np.zeros((20, 30), "f4")], [ID2] * 2, "pp")


def add_rows():
    """Operations on the same rows, which are one kernel where they can be: each finds what those before have stored."""
    def rows(name, x, scale, inPlace=False, part=None):
        *outer, n = x.shape
        names = "ijk"[:x.ndim]
        whole, row = (f"affine_map<({', '.join(names)}) -> ({', '.join(kept)})>" for kept in (names, names[:-1]))
        last = f"affine_map<({', '.join(names)}) -> ({names[-1]})>"
        each = f"affine_map<({', '.join(names[:-1])}) -> ({', '.join(names[:-1])})>"
        kinds = ['"parallel"'] * x.ndim
        parallel, reduction = ", ".join(kinds), ", ".join([*kinds[1:], '"reduction"'])
        wide, sums, of = memref(x), memref(normal(*outer)), "%x" if inPlace else "%y"
        # The second sum may be one of the first columns only, which others than the threads of the first one would add up.
        count, squares, cut = part or n, wide, ""
        if part:
            strides = [int(np.prod(x.shape[i + 1:])) for i in range(x.ndim)]
            squares = f"memref<{'x'.join(map(str, (*outer, count)))}xf32, strided<{strides}>>"
            zeros, ones, sizes = [0] * x.ndim, [1] * x.ndim, [*outer, count]
            cut = f"  %c = memref.subview {of}{zeros} {sizes} {ones} : {wide} to {squares}"
        arguments = f"%x: {wide}, %s: {memref(scale)}, %a: {sums}, %b: {sums}" + ("" if inPlace else f", %y: {wide}")
        text = f"""
func.func @{name}({arguments}) attributes {{llvm.emit_c_interface}} {{
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  linalg.fill ins(%zero : f32) outs(%a : {sums})
  linalg.generic {{indexing_maps = [{whole}, {row}], iterator_types = [{reduction}]}}
    ins(%x : {wide}) outs(%a : {sums}) attrs = {{remat.order = "along"}} {{
  ^bb0(%e: f32, %acc: f32):
    %t = arith.addf %acc, %e : f32
    linalg.yield %t : f32
  }}
  linalg.generic {{indexing_maps = [{each}, {each}], iterator_types = [{', '.join(kinds[1:])}]}} ins(%a : {sums}) outs(%a : {sums}) {{
  ^bb0(%e: f32, %o: f32):
    %t = arith.mulf %e, %half : f32
    linalg.yield %t : f32
  }}
  linalg.generic {{indexing_maps = [{whole}, {row}, {last}, {whole}], iterator_types = [{parallel}]}}
    ins(%x, %a, %s : {wide}, {sums}, {memref(scale)}) outs({of} : {wide}) {{
  ^bb0(%e: f32, %m: f32, %f: f32, %o: f32):
    %d = arith.subf %e, %m : f32
    %t = arith.mulf %d, %f : f32
    linalg.yield %t : f32
  }}
{cut}
  linalg.generic {{indexing_maps = [{whole}, {row}], iterator_types = [{reduction}]}}
    ins({'%c' if part else of} : {squares}) outs(%b : {sums}) attrs = {{remat.order = "along"}} {{
  ^bb0(%e: f32, %acc: f32):
    %p = arith.mulf %e, %e : f32
    %t = arith.maximumf %acc, %p : f32
    linalg.yield %t : f32
  }}
  linalg.generic {{indexing_maps = [{row}, {whole}], iterator_types = [{parallel}]}} ins(%b : {sums}) outs({of} : {wide}) {{
  ^bb0(%m: f32, %o: f32):
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  }}
  return
}}"""
        flat = x.reshape(-1, n)
        b = normal(*outer)
        first = reduce(flat.T, np.zeros(len(flat), "f4"), "along", np.add, -0.0) * np.float32(0.5)
        difference = (flat - first[:, None]) * scale
        second = reduce((difference * difference)[:, :count].T, b.reshape(-1), "along", np.maximum, -np.inf)
        result = (difference + second[:, None]).reshape(x.shape)
        both = [first.reshape(outer), second.reshape(outer)]
        arrays = [x, scale, normal(*outer), b]
        checks.append(Check(name, text, arrays if inPlace else [*arrays, normal(*x.shape)],
                            [result, scale, *both] if inPlace else [*both, result]))
    for m, n in ((32, 8), (33, 12), (100, 64), (257, 768), (45, 5000), (1000, 7), (64, 1021), (4099, 1)):
        rows(f"rows_{m}_{n}", normal(m, n), normal(n))
    rows("rows_of_matrices", normal(7, 9, 132), normal(132))
    rows("rows_in_place", normal(70, 260), normal(260), inPlace=True)
    rows("rows_in_parts", normal(70, 260), normal(260), part=8)
    rows("rows_with_equal_parts", normal(70, 260), normal(260), part=256)


def add_transposes():
    for dtype in ("f4", "f8", "f2", "?", "i8"):
        for m, n in ((1, 1), (31, 33), (64, 128), (100, 17), (3, 1000), (16, 16)) if dtype == "f4" else ((37, 53),):
            x = normal(m, n).astype(dtype) if dtype[0] == "f" else random.integers(0, 2, (m, n)).astype(dtype)
            generic(f"transpose_{m}_{n}_{element(x)}", f"linalg.yield %x0 : {element(x)}", [x], [np.zeros((n, m), dtype)],
                    ["(i, j) -> (j, i)", ID2], "pp")
    x, y = normal(5, 40, 3, 33), normal(40, 5, 33, 3)
    generic("transpose_heads", "%s = arith.addf %x0, %x1 : f32\n linalg.yield %s : f32", [x, y], [np.zeros((5, 3, 40, 33), "f4")],
            ["(a, b, c, d) -> (a, c, b, d)", "(a, b, c, d) -> (c, a, d, b)", "(a, b, c, d) -> (a, b, c, d)"], "pppp")
    x, y = normal(33, 65), normal(65, 33)
    generic("transpose_and_add", "%s = arith.addf %x0, %x1 : f32\n linalg.yield %s : f32", [x, y], [np.zeros((65, 33), "f4")],
            ["(i, j) -> (j, i)", ID2, ID2], "pp")


def add_in_order():
    x = normal(40, 9)
    generic("diagonals", "%s = arith.addf %acc0, %x0 : f32\n linalg.yield %s : f32", [x], [np.zeros(48, "f4")],
            [ID2, "(i, j) -> (i + j)"], "pp", dynamic=[False])
    # The adjoint of a max-pooling: the windows overlap.
    images, grads = normal(2, 9, 9, 20), normal(2, 4, 4, 20)
    generic("pool_adjoint", """%c = arith.cmpf ogt, %x0, %x1 : f32
    %g = arith.select %c, %x1, %x0 : f32
    %s = arith.addf %acc0, %g : f32
    linalg.yield %s : f32""", [images, grads, np.zeros((3, 3), "f4")], [np.zeros((2, 9, 9, 20), "f4")],
            ["(n, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)", "(n, h, w, c, i, j) -> (n, h, w, c)",
             "(n, h, w, c, i, j) -> (i, j)", "(n, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)"], "pppppp", dynamic=[False])
    # The same of which each thread owns channels only, and one where all meet.
    generic("one_element", "%s = arith.mulf %acc0, %x0 : f32\n linalg.yield %s : f32", [np.abs(normal(33, 3)) + 0.5],
            [np.ones(3, "f4")], [ID2, "(i, j) -> (j)"], "pp", dynamic=[False])
    generic("floordiv", "%s = arith.addf %acc0, %x0 : f32\n linalg.yield %s : f32", [normal(60, 5)], [np.zeros((20, 5), "f4")],
            [ID2, "(i, j) -> (i floordiv 3, j)"], "pp", dynamic=[False])


def add_gathers():
    for name, kind, width, rows in (("f32", "f4", 33, 50), ("f64", "f8", 8, 7), ("f16", "f2", 1, 3)):
        table = normal(rows, width, dtype=kind)
        tokens = random.integers(0, rows, 200)
        e = TYPES[kind]
        text = (f"""
func.func @embed_{name}(%table : memref<{rows}x{width}x{e}>, %tokens : memref<200xi64>, %o : memref<200x{width}x{e}>)
    attributes {{llvm.emit_c_interface}} {{
  linalg.generic {{indexing_maps = [affine_map<{ROW}>, affine_map<{ID2}>], iterator_types = ["parallel", "parallel"]}}
    ins(%tokens : memref<200xi64>) outs(%o : memref<200x{width}x{e}>) {{
  ^bb0(%t : i64, %out : {e}):
    %r = arith.index_cast %t : i64 to index
    %j = linalg.index 1 : index
    %v = memref.load %table[%r, %j] : memref<{rows}x{width}x{e}>
    linalg.yield %v : {e}
  }}
  return
}}""")
        checks.append(Check(f"embed_{name}", text, [table, tokens, np.zeros((200, width), kind)]))
    for positions, width, rows, updateKind, tableKind in ((200, 33, 50, "f4", "f4"), (1, 1, 1, "f4", "f4"), (1000, 1, 3, "f4", "f4"),
                                                          (0, 4, 4, "f4", "f4"), (513, 300, 20, "f4", "f4"),
                                                          (64, 8, 1000, "u2", "f4"), (130, 5, 7, "f8", "f8")):
        updates = to_bf16(normal(positions, width)) if updateKind == "u2" else normal(positions, width, dtype=updateKind)
        symbol, u, t = f"scatter_{positions}_{width}", TYPES[updateKind], TYPES[tableKind]
        text = (f"""
func.func @{symbol}(%updates : memref<{positions}x{width}x{u}>, %rows : memref<{positions}xi32>, %table : memref<{rows}x{width}x{t}>)
    attributes {{llvm.emit_c_interface}} {{
  remat.scatter_add ins(%updates : memref<{positions}x{width}x{u}>) outs(%table : memref<{rows}x{width}x{t}>) {{
  ^bb0(%i: index, %j: index):
    %r = memref.load %rows[%i] : memref<{positions}xi32>
    %row = arith.index_cast %r : i32 to index
    remat.yield %row, %j : index, index
  }}
  return
}}""")
        indices, table = random.integers(0, rows, positions).astype("i4"), normal(rows, width, dtype=tableKind)
        want = table.copy()
        for row, update in zip(indices, (updates.astype("u4") << 16).view("f4") if updateKind == "u2" else updates):
            want[row] += update
        checks.append(Check(symbol, text, [updates, indices, table], [want]))


def add_draws():
    for kind, sort in (("uniform", "f4"), ("normal", "f4"), ("bits", "i8"), ("bits", "i4"), ("uniform", "f8")):
        out = np.zeros((3, 67), sort)
        e = element(out)
        text = (f"""
func.func @draw_{kind}_{e}(%o : memref<3x67x{e}>) attributes {{llvm.emit_c_interface}} {{
  %seed = arith.constant 77 : i64
  %rng = remat.rng_init %seed
  %u, %next = remat.random_{kind} %rng : tensor<3x67x{e}>
  bufferization.materialize_in_destination %u in restrict writable %o : (tensor<3x67x{e}>, memref<3x67x{e}>) -> ()
  return
}}""")
        checks.append(Check(f"draw_{kind}_{e}", text, [out]))


# ---------------------------------------------------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------------------------------------------------

def run(folder, name, emulator, runtime):
    """One process: all kernels of one library, against the CPU target's results and the models'."""
    device = Device(f"{folder}/{name}.so", runtime, emulator)
    expected = np.load(f"{folder}/expected.npz")
    wrong = 0
    for check in checks:
        if name == "check" and check.isLarge:
            continue
        results = device.call(check.symbol, check.arrays)
        for i, (got, before) in enumerate(zip(results, check.arrays)):
            key = f"{check.symbol}:{i}"
            want = expected[key] if key in expected else before
            if not is_same(got, want):
                wrong += 1
                at = np.flatnonzero(got.ravel() != want.ravel())
                print(f"{check.symbol}: argument {i} has other bits than it should at {at[:5]} ({len(at)} elements)", flush=True)
    print(f"{name} {os.environ.get('REMAT_EMULATOR_ORDER', '')}: {len(checks)} kernels, {wrong} wrong")
    return wrong


def main():
    runtime, cuda_runtime, emulator = sys.argv[1:4]
    for add in (add_reductions, add_long_reductions, add_pointwise, add_rows, add_transposes, add_in_order, add_gathers, add_draws):
        add()
    if len(sys.argv) > 4:
        return sys.exit(run(sys.argv[5], sys.argv[4], emulator, cuda_runtime) != 0)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/cpu.mlir"
        Path(path).write_text("\n".join(check.text for check in checks if check.want is None))
        compile_module(path, f"{folder}/cpu.so", "--remat-lower-to-cpu", runtime, "-Wl,-rpath," + os.path.dirname(runtime))
        host, expected = Host(f"{folder}/cpu.so"), {}
        for check in checks:
            results = host.call(check.symbol, check.arrays) if check.want is None else check.want
            first = len(check.arrays) - len(results)
            expected |= {f"{check.symbol}:{first + i}": array for i, array in enumerate(results)}
        np.savez(f"{folder}/expected.npz", **expected)
        wrong, path = 0, f"{folder}/cuda.mlir"
        Path(path).write_text("\n".join(check.text for check in checks))
        libraries = {"64": "emulate block-size=64", "256": "emulate", "check": "emulate check block-size=128"}
        for name, options in libraries.items():
            compile_module(path, f"{folder}/{name}.so", f"--remat-lower-to-cuda={options}")
        for name, order in (("64", "forward"), ("64", "backward"), ("256", "random"), ("check", "random")):
            done = subprocess.run([sys.executable, __file__, *sys.argv[1:4], name, folder],
                                  env=os.environ | {"REMAT_EMULATOR_ORDER": order})
            wrong += done.returncode != 0
        print(f"{len(checks)} kernels, {wrong} runs wrong")
    return sys.exit(wrong != 0)


main()
