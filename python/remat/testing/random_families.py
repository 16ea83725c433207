# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families of random linalg programs, each one structured operation with what it needs around it.

    for program in make_programs(count=40, seed="1"):
        program.source, program.arguments   # a function @p<i>, and (array, type, trained) of each argument

The same seed and number give the same program. Values stay away from poles; kinks are rare.
"""

import itertools
import random

from remat.testing.random_control import control
from remat.testing.random_layers import layers
from remat.testing.random_programs import Body, Program, affine, random_map, tensor


def elementwise(p):
    rng = p.rng
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(0, 3))]
    dims = len(sizes)
    identity = affine(dims, [f"d{i}" for i in range(dims)])
    ins = []
    for i in range(rng.randint(1, 3)):
        text, shape = (identity, sizes) if i == 0 or rng.random() < 0.3 else random_map(rng, sizes, windows=True)
        ins.append((p.parameter(shape), tensor(shape), text))
    order = list(range(dims))
    rng.shuffle(order)
    out_map, out_shape = affine(dims, [f"d{i}" for i in order]), [sizes[i] for i in order]
    count = 2 if rng.random() < 0.3 else 1
    outs = [(p.empty(out_shape), tensor(out_shape), out_map) for _ in range(count)]
    if rng.random() < 0.3:
        outs[0] = (p.parameter(out_shape), outs[0][1], outs[0][2])
        reads_out = True
    else:
        reads_out = False
    forced = [p.focus] if p.focus else []

    def body(x):
        b = Body(rng)
        values = list(x[:len(ins)]) + ([x[len(ins)]] if reads_out else [])
        if dims and rng.random() < 0.3:
            index = b.emit(f"linalg.index {rng.randrange(dims)} : index")
            integer = b.emit(f"arith.index_cast {index} : index to i64")
            values.append(b.op("arith.mulf", b.emit(f"arith.sitofp {integer} : i64 to f64"), b.constant(0.3)))
        steps = rng.randint(1, 5)
        yields = [b.chain(values, steps, forced if steps == 1 or rng.random() < 0.5 else
                          [rng.choice(Body.UNARY)] * (steps - 1) + forced) for _ in range(count)]
        return b.lines, yields

    results = p.generic(["parallel"] * dims, ins, outs, body)
    total = None
    for value in results if count > 1 else [results]:
        total = p.weighted_sum(value, out_shape, total)
    return total


def contraction(p):
    rng = p.rng
    batch, m, n, k = (rng.randint(1, 4) for _ in range(4))
    named = {
        "matmul": ([m, k], [k, n], [m, n]), "batch_matmul": ([batch, m, k], [batch, k, n], [batch, m, n]),
        "matvec": ([m, k], [k], [m]), "vecmat": ([k], [k, n], [n]), "dot": ([k], [k], []),
        "batch_matvec": ([batch, m, k], [batch, k], [batch, m]), "batch_vecmat": ([batch, k], [batch, k, n], [batch, n]),
        "mmt4d": ([m, k, 2, 3], [n, k, 2, 3], [m, n, 2, 2]),
        "batch_reduce_matmul": ([batch, m, k], [batch, k, n], [m, n]),
    }
    kind = rng.choice(list(named) + ["generic"] * 4 + ["transposed"] * 2)
    if kind in named:
        a, b, c = named[kind]
        attributes = ""
    elif kind == "transposed":
        ta, tb = rng.random() < 0.5, rng.random() < 0.5
        a, b, c = [k, m] if ta else [m, k], [n, k] if tb else [k, n], [m, n]
        maps = [affine(3, ["d2", "d0"] if ta else ["d0", "d2"]), affine(3, ["d1", "d2"] if tb else ["d2", "d1"]),
                affine(3, ["d0", "d1"])]
        attributes = f" indexing_maps = [{', '.join(maps)}]"
        kind = "matmul"
    if kind != "generic":
        x, w, init = p.parameter(a), p.parameter(b), p.parameter(c)
        y = p.emit(f"linalg.{kind}{attributes} ins({x}, {w} : {tensor(a)}, {tensor(b)}) "
                   f"outs({init} : {tensor(c)}) -> {tensor(c)}")
        return p.weighted_sum(y, c)
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(2, 5))]
    reduced = [i for i in range(len(sizes)) if rng.random() < 0.5]
    kept = [i for i in range(len(sizes)) if i not in reduced]
    rng.shuffle(kept)
    out_shape = [sizes[i] for i in kept]

    def operand(must):
        dims = [i for i in range(len(sizes)) if i in must or rng.random() < 0.6]
        rng.shuffle(dims)
        return dims

    left = operand([])
    right = operand([i for i in range(len(sizes)) if i not in left])
    operands = [(p.parameter([sizes[i] for i in d]), tensor([sizes[i] for i in d]),
                 affine(len(sizes), [f"d{i}" for i in d])) for d in (left, right)]
    out = (p.filled(out_shape, 0.0), tensor(out_shape), affine(len(sizes), [f"d{i}" for i in kept]))
    y = p.generic(["reduction" if i in reduced else "parallel" for i in range(len(sizes))], operands, [out],
                  lambda x: ([f"%p = arith.mulf {x[0]}, {x[1]} : f64", f"%s = arith.addf {x[2]}, %p : f64"], ["%s"])
                  if reduced else ([f"%p = arith.mulf {x[0]}, {x[1]} : f64"], ["%p"]))
    return p.weighted_sum(y, out_shape)


# Name: (image, filter, output) with N, C, F, G, M sizes, I/O spatial sizes of input and output, K window.
CONVOLUTIONS = {
    "conv_1d": ("I", "K", "O"), "conv_2d": ("II", "KK", "OO"), "conv_3d": ("III", "KKK", "OOO"),
    "conv_1d_nwc_wcf": ("NIC", "KCF", "NOF"), "conv_1d_ncw_fcw": ("NCI", "FCK", "NFO"),
    "conv_2d_nhwc_hwcf": ("NIIC", "KKCF", "NOOF"), "conv_2d_nhwc_fhwc": ("NIIC", "FKKC", "NOOF"),
    "conv_2d_nchw_fchw": ("NCII", "FCKK", "NFOO"), "conv_2d_ngchw_fgchw": ("NGCII", "FGCKK", "NGFOO"),
    "conv_2d_ngchw_gfchw": ("NGCII", "GFCKK", "NGFOO"), "conv_2d_nhwgc_gfhwc": ("NIIGC", "GFKKC", "NOOGF"),
    "conv_3d_ndhwc_dhwcf": ("NIIIC", "KKKCF", "NOOOF"), "conv_3d_ncdhw_fcdhw": ("NCIII", "FCKKK", "NFOOO"),
    "depthwise_conv_1d_nwc_wc": ("NIC", "KC", "NOC"), "depthwise_conv_1d_ncw_cw": ("NCI", "CK", "NCO"),
    "depthwise_conv_1d_nwc_wcm": ("NIC", "KCM", "NOCM"), "depthwise_conv_2d_nhwc_hwc": ("NIIC", "KKC", "NOOC"),
    "depthwise_conv_2d_nchw_chw": ("NCII", "CKK", "NCOO"), "depthwise_conv_2d_nhwc_hwcm": ("NIIC", "KKCM", "NOOCM"),
    "pooling_nhwc_sum": ("NIIC", "KK", "NOOC"), "pooling_nchw_sum": ("NCII", "KK", "NCOO"),
    "pooling_nhwc_max": ("NIIC", "KK", "NOOC"), "pooling_nchw_max": ("NCII", "KK", "NCOO"),
    "pooling_nhwc_min": ("NIIC", "KK", "NOOC"), "pooling_nwc_sum": ("NIC", "K", "NOC"),
    "pooling_ncw_max": ("NCI", "K", "NCO"), "pooling_nwc_min": ("NIC", "K", "NOC"),
    "pooling_ndhwc_sum": ("NIIIC", "KKK", "NOOOC"), "pooling_ndhwc_max": ("NIIIC", "KKK", "NOOOC"),
}


def stuffed(p, shape):
    """Images of `shape`, in which zeros lie between elements, as transposed convolutions read them."""
    low = [p.rng.randint(0, min(n - 1, 2)) for n in shape]
    steps = [p.rng.randint(1, 3) for _ in shape]
    sizes = [(n - 1 - a) // s + 1 for n, a, s in zip(shape, low, steps)]
    return p.emit(f"tensor.insert_slice {p.parameter(sizes)} into {p.filled(shape, 0.0)}{low} {sizes} {steps} : "
                  f"{tensor(sizes)} into {tensor(shape)}")


def convolution(p):
    rng = p.rng
    name = rng.choice(list(CONVOLUTIONS))
    image, window, output = CONVOLUTIONS[name]
    rank = image.count("I")
    large = rank < 3
    sizes = {d: [rng.randint(1, 2)] for d in "NCFGM"}
    strides = [rng.randint(1, 2 + large) for _ in range(rank)]
    dilations = [rng.randint(1, 2) for _ in range(rank)]
    sizes["K"] = [rng.randint(1, 2 + large) for _ in range(rank)]
    sizes["O"] = [rng.randint(1, 2 + large) for _ in range(rank)]
    sizes["I"] = [(o - 1) * s + (k - 1) * d + 1 + rng.randint(0, 1)
                  for o, s, k, d in zip(sizes["O"], strides, sizes["K"], dilations)]

    def shape(letters):
        spatial = {d: iter(sizes[d]) for d in "IKO"}
        return [next(spatial[d]) if d in "IKO" else sizes[d][0] for d in letters]

    a, b, c = shape(image), shape(window), shape(output)
    pooling = name.startswith("pooling")
    x = stuffed(p, a) if "C" in image and not pooling and rng.random() < 0.3 else p.parameter(a)
    w = p.empty(b) if pooling else p.parameter(b)
    start = 0.0
    if name.endswith("max"):
        start = -10.0
    if name.endswith("min"):
        start = 10.0
    init = p.parameter(c) if rng.random() < 0.3 else p.filled(c, start)
    attributes = "" if rank == len(image) else \
        (f" {{strides = dense<{strides}> : tensor<{rank}xi64>, dilations = dense<{dilations}> : tensor<{rank}xi64>}}")
    if not attributes:  # conv_1d and its kin have neither
        a = [o + k - 1 for o, k in zip(sizes["O"], sizes["K"])]
        p.arguments[0] = (p.numpy.uniform(-1, 1, a), tensor(a), True)
    y = p.emit(f"linalg.{name}{attributes} ins({x}, {w} : {tensor(a)}, {tensor(b)}) "
               f"outs({init} : {tensor(c)}) -> {tensor(c)}")
    return p.weighted_sum(y, c)


def reduction(p):
    rng = p.rng
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    reduced = sorted(rng.sample(range(len(sizes)), rng.randint(1, len(sizes))))
    kept = [i for i in range(len(sizes)) if i not in reduced]
    kind = rng.choice(["addf", "mulf", "mulf", "maximumf", "minimumf", "maxnumf", "select", "argmax", "logsumexp",
                       "welford", "squares", "masked", "affine"])
    x = p.parameter(sizes)
    shape = [sizes[i] for i in kept]
    start = {"addf": 0.0, "mulf": 1.0, "maximumf": -9.0, "maxnumf": -9.0, "minimumf": 9.0, "select": -9.0}
    if kind in ("addf", "mulf", "maximumf", "minimumf", "maxnumf") and rng.random() < 0.5:
        init = p.parameter(shape) if rng.random() < 0.4 else p.filled(shape, start[kind])
        y = p.emit(f"linalg.reduce {{ arith.{kind} }} ins({x} : {tensor(sizes)}) outs({init} : {tensor(shape)}) "
                   f"dimensions = {reduced}")
        return p.weighted_sum(y, shape)
    dims = len(sizes)
    rng.shuffle(kept)
    shape, results = [sizes[i] for i in kept], [f"d{i}" for i in kept]
    if rng.random() < 0.3:  # torch's keepdim
        at = rng.randint(0, len(kept))
        shape.insert(at, 1)
        results.insert(at, "0")
    iterators = ["reduction" if i in reduced else "parallel" for i in range(dims)]
    identity, out_map = affine(dims, [f"d{i}" for i in range(dims)]), affine(dims, results)
    ins = [(x, tensor(sizes), identity)]
    if rng.random() < 0.5:
        text, second = random_map(rng, sizes)
        ins.append((p.parameter(second), tensor(second), text))
    out = lambda value: (p.filled(shape, value), tensor(shape), out_map)

    def term(b, x):
        return x[0] if len(ins) == 1 else b.op("arith.addf", x[0], b.op("math.sin", x[1]))

    def simple(combine):
        def body(x):
            b = Body(rng)
            return b.lines, [combine(b, x[len(ins)], term(b, x))]
        return body

    if kind in ("addf", "mulf", "maximumf", "minimumf", "maxnumf"):
        y = p.generic(iterators, ins, [out(start[kind])], simple(lambda b, s, t: b.op(f"arith.{kind}", s, t)))
    elif kind == "select":
        y = p.generic(iterators, ins, [out(-9.0)],
                      simple(lambda b, s, t: b.select(b.compare("ogt", t, s), t, s)))
    elif kind == "squares":
        y = p.generic(iterators, ins, [out(0.5)],
                      simple(lambda b, s, t: b.op("arith.addf", b.op("arith.mulf", t, t), s)))
    elif kind == "masked":
        y = p.generic(iterators, ins, [out(0.5)], simple(
            lambda b, s, t: b.select(b.compare("ogt", t, b.constant(0)), b.op("arith.subf", s, t), s)))
    elif kind == "affine":  # s' = 0.9 s + t: a recurrence
        y = p.generic(iterators, ins, [out(0.5)], simple(
            lambda b, s, t: b.op("arith.addf", b.op("arith.mulf", s, b.constant(0.9)), b.op("math.exp", t))))
    elif kind == "argmax":
        indices = (p.empty(shape, "i64"), tensor(shape, "i64"), out_map)
        dim = rng.choice(reduced)

        def body(x):
            b = Body(rng)
            t, best, at = term(b, x), x[len(ins)], x[len(ins) + 1]
            index = b.emit(f"arith.index_cast {b.emit(f'linalg.index {dim} : index')} : index to i64")
            larger = b.compare("ogt", t, best)
            chosen = b.emit(f"arith.select {larger}, {index}, {at} : i64")
            value = b.select(larger, t, best) if exporter == "jax" else b.op("arith.maximumf", t, best)
            return b.lines, [value, chosen]

        exporter = rng.choice(["jax", "torch"])
        y = p.generic(iterators, ins, [out(rng.choice([-9.0, "0xFFF0000000000000"])), indices], body)[0]
    else:
        def body(x):  # the running maximum and the sum of exponentials below it, or mean and moment
            b = Body(rng)
            t, first, second = term(b, x), x[len(ins)], x[len(ins) + 1]
            if kind == "logsumexp":
                top = b.op("arith.maximumf", first, t)
                old = b.op("arith.mulf", second, b.op("math.exp", b.op("arith.subf", first, top)))
                return b.lines, [top, b.op("arith.addf", old, b.op("math.exp", b.op("arith.subf", t, top)))]
            gap = b.op("arith.subf", t, first)
            mean = b.op("arith.addf", first, b.op("arith.mulf", gap, b.constant(0.25)))
            rest = b.op("arith.mulf", gap, b.op("arith.subf", t, mean))
            return b.lines, [mean, b.op("arith.addf", second, rest)]

        ys = p.generic(iterators, ins, [out(-3.0), out(0.0)], body)
        return p.weighted_sum(ys[1], shape, p.weighted_sum(ys[0], shape))
    return p.weighted_sum(y, shape)


def gather(p):
    rng = p.rng
    vocabulary, width = rng.randint(2, 4), rng.randint(1, 4)
    outer = [rng.randint(1, 4) for _ in range(rng.randint(1, 2))]
    form = rng.choice(["rows", "columns", "elements", "shift", "bag", "two"])
    table_shape = [width, vocabulary] if form == "columns" else [vocabulary, width]
    table = p.parameter(table_shape)
    dims = len(outer) + 1
    loops = [f"d{i}" for i in range(dims)]
    kind = rng.choice(["i32", "i64"])
    # Repeated positions have to add up.
    at = p.data(p.numpy.integers(0, vocabulary, outer).astype("i4" if kind == "i32" else "i8"), kind)
    ins = [(at, tensor(outer, kind), affine(dims, loops[:-1]))]
    scale = p.parameter([width])
    ins.append((scale, tensor([width]), affine(dims, [loops[-1]])))
    shape = outer + [width]
    bag = form == "bag"
    if form == "elements":
        columns = p.data(p.numpy.integers(0, width, shape), "i64")
        ins.append((columns, tensor(shape, "i64"), affine(dims, loops)))
    out_loops, out_shape = (loops[1:], shape[1:]) if bag else (loops, shape)
    out = (p.filled(out_shape, 0.0), tensor(out_shape), affine(dims, out_loops))

    def body(x):
        b = Body(rng)
        row = b.emit(f"arith.index_cast {x[0]} : {kind} to index")
        column = b.emit(f"linalg.index {dims - 1} : index")
        if form == "elements":
            column = b.emit(f"arith.index_cast {x[2]} : i64 to index")
        if form == "shift":
            last = b.emit(f"arith.constant {width - 1} : index")
            column = b.emit(f"arith.subi {last}, {column} : index")
        indices = f"{column}, {row}" if form == "columns" else f"{row}, {column}"
        value = b.emit(f"tensor.extract {table}[{indices}] : {tensor(table_shape)}")
        if form == "two":
            zero = b.emit("arith.constant 0 : index")
            other = b.emit(f"tensor.extract {table}[{zero}, {column}] : {tensor(table_shape)}")
            value = b.op("arith.mulf", value, other)
        if rng.random() < 0.5:
            value = b.op("arith.mulf", b.op("math.sin", value), x[1])
        if rng.random() < 0.3:
            value = b.select(b.compare("ogt", x[1], b.constant(0)), value, b.constant(0))
        return b.lines, [b.op("arith.addf", x[-1], value) if bag else value]

    iterators = ["reduction" if bag and i == 0 else "parallel" for i in range(dims)]
    return p.weighted_sum(p.generic(iterators, ins, [out], body), out_shape)


def squash(p, x, shape):
    return p.emit(f"linalg.elementwise kind=#linalg.elementwise_kind<tanh> ins({x} : {tensor(shape)}) "
                  f"outs({p.empty(shape)} : {tensor(shape)}) -> {tensor(shape)}")


def scatter(p):
    rng = p.rng
    rank = rng.randint(1, 3)
    shape = [rng.randint(1, 4) for _ in range(rank)]  # of the updates
    axis, count = rng.randrange(rank), rng.randint(1, 4)
    own = shape[:axis] + [count] + [size + rng.randint(0, 1) for size in shape[axis + 1:]]
    form, kind = rng.choice(["rows", "elements", "diagonal"]), rng.choice(["i32", "i64"])
    outer = shape if form == "elements" else [shape[axis]]
    # Repeated positions have to add up.
    at = p.data(p.numpy.integers(0, count, outer).astype("i4" if kind == "i32" else "i8"), kind)
    updates, start = p.parameter(shape), p.parameter(own)
    if rng.random() < 0.3:
        updates = squash(p, updates, shape)
    position = [f"%i{d}" for d in range(rank)]
    indices = [*position[:axis], "%place", *position[axis + 1:]]
    if form == "diagonal" and own[0] >= shape[-1] and axis:
        indices[0] = position[-1]
    body = [f"%number = tensor.extract {at}[{', '.join(position if form == 'elements' else position[axis:axis + 1])}] : {tensor(outer, kind)}",
            f"%place = arith.index_cast %number : {kind} to index", f"remat.yield {', '.join(indices)} : {', '.join(['index'] * rank)}"]
    arguments = ", ".join(f"{i}: index" for i in position)
    total = p.emit("\n    ".join([f"remat.scatter_add ins({updates} : {tensor(shape)}) outs({start} : {tensor(own)}) {{",
                                   f"^bb0({arguments}):", *body, f"}} -> {tensor(own)}"]))
    return p.weighted_sum(squash(p, total, own), own)


def softmax(p):
    rng = p.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    x = p.parameter(shape)
    y = p.emit(f"linalg.softmax dimension({rng.randrange(len(shape))}) ins({x} : {tensor(shape)}) "
               f"outs({p.empty(shape)} : {tensor(shape)}) -> {tensor(shape)}")
    return p.weighted_sum(y, shape)


def named(p):
    rng = p.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    rank = len(shape)
    kind = rng.choice(["transpose", "broadcast", "copy", "map", "unary", "binary", "select", "elementwise"])
    x = p.parameter(shape, 0.3, 1.4)
    type_ = tensor(shape)
    out = p.empty(shape)
    if kind == "transpose":
        order = list(range(rank))
        rng.shuffle(order)
        shape = [shape[i] for i in order]
        y = p.emit(f"linalg.transpose ins({x} : {type_}) outs({p.empty(shape)} : {tensor(shape)}) permutation = {order}")
    elif kind == "broadcast":
        at = rng.randint(0, rank)
        shape = shape[:at] + [3] + shape[at:]
        y = p.emit(f"linalg.broadcast ins({x} : {type_}) outs({p.empty(shape)} : {tensor(shape)}) dimensions = [{at}]")
    elif kind == "map":
        z = p.parameter(shape)
        y = p.emit(f"linalg.map {{ arith.mulf }} ins({x}, {z} : {type_}, {type_}) outs({out} : {type_})")
    elif kind in ("unary", "copy"):
        name = "copy" if kind == "copy" else rng.choice(
            ["exp", "log", "abs", "negf", "reciprocal", "sqrt", "rsqrt", "square", "tanh", "erf", "floor"])
        y = p.emit(f"linalg.{name} ins({x} : {type_}) outs({out} : {type_}) -> {type_}")
    elif kind == "binary":
        z = p.parameter(shape, 0.3, 1.4)
        name = rng.choice(["add", "sub", "mul", "div", "max", "min", "powf"])
        if rng.random() < 0.3:
            z = x
        y = p.emit(f"linalg.{name} ins({x}, {z} : {type_}, {type_}) outs({out} : {type_}) -> {type_}")
    elif kind == "select":
        mask, z = p.data(p.numpy.random(shape) < 0.5, "i1"), p.parameter(shape)
        y = p.emit(f"linalg.select ins({mask}, {x}, {z} : {tensor(shape, 'i1')}, {type_}, {type_}) "
                   f"outs({out} : {type_}) -> {type_}")
    elif kind == "elementwise":
        name = rng.choice(["exp", "log", "sqrt", "square", "tanh"])
        y = p.emit(f"linalg.elementwise kind=#linalg.elementwise_kind<{name}> ins({x} : {type_}) "
                   f"outs({out} : {type_}) -> {type_}")
    else:  # a scalar operand
        identity = affine(rank, [f"d{i}" for i in range(rank)])
        scalar = p.scalar()
        y = p.generic(["parallel"] * rank, [(x, type_, identity), (scalar, "f64", affine(rank, []))],
                      [(out, type_, identity)], lambda a: ([f"%p = arith.mulf {a[0]}, {a[1]} : f64"], ["%p"]))
    return p.weighted_sum(y, shape)


FAMILIES = {f.__name__: f for f in (elementwise, contraction, convolution, reduction, gather, scatter, softmax, named,
                                     layers, control)}


def make_programs(count, seed, families=tuple(FAMILIES)):
    programs = []
    focus = itertools.cycle(Body.UNARY + Body.BINARY + ["fma", "clampf"])
    turns = itertools.cycle(f for name in families for f in [name] * (3 if name == "elementwise" else 1))
    for i in range(count):
        family = next(turns)
        rng = random.Random(f"{seed}/{i}")
        program = Program(rng, f"p{i}", family)
        program.focus = next(focus) if family == "elementwise" else None
        loss = FAMILIES[family](program)
        program.source = program.text(loss)
        programs.append(program)
    return programs
