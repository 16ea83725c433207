# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of a given number of operations, for the time that compilation takes.

usage: programs.py KIND COUNT

Each kind is one way in which a program grows: chains of one operation, many regions, many parameters. The sizes of
tensors are small and all equal, so that the number of operations is all that matters.
"""
import sys

from mlir_text import Printer, Value, scalar_body

SHAPE = (4, 16)
ROWS = Value("%rows", SHAPE[:1], "index")


def pointwise(p, x, *others, body):
    return p.generic([(v, "d0 d1") for v in (x, *others)], x.shape, scalar_body(body))


def elementwise(p, x, w, count):
    """Each operation is as expensive as one that no pass computes twice."""
    for i in range(count):
        x = pointwise(p, x, body=("math.tanh a0", "mulf a0 a0", "math.exp a0", "negf a0")[i % 4])
    return x


def broadcasts(p, x, w, count):
    """Rows that are summed and added to each element, as normalizations do."""
    for _ in range(count // 2):
        row = p.generic([(x, "d0 d1")], SHAPE[:1], scalar_body("addf acc a0"), reduced=(1,))
        x = p.generic([(x, "d0 d1"), (row, "d0")], SHAPE, scalar_body("math.tanh a0\nsubf b0 a1"))
    return x


def products(p, x, w, count, every=2):
    """A chain with a product by one shared weight among `every` operations."""
    for i in range(count):
        x = p.matmul(x, w) if i % every == 0 else pointwise(p, x, body="math.tanh a0")
    return x


def products_in_four(p, x, w, count):
    return products(p, x, w, count, every=4)


def residual_layers(p, x, w, count):
    """Layers of a product, a function and a skip connection: three operations each."""
    for _ in range(count // 3):
        x = pointwise(p, pointwise(p, p.matmul(x, w), body="math.tanh a0"), x, body="addf a0 a1")
    return x


def reused(p, x, w, count):
    """All operations read the first one, and all are summed."""
    total = x
    for _ in range(count // 2):
        total = pointwise(p, total, pointwise(p, x, total, body="mulf a0 a1\nmath.exp b0"), body="addf a0 a1")
    return total


def slices(p, x, w, count):
    """Halves that are taken apart and put together again."""
    half = (SHAPE[0], SHAPE[1] // 2)
    for _ in range(count // 4):
        low, high = p.slice(x, (0, 0), half), p.slice(x, (0, half[1]), half)
        high = pointwise(p, high, body="math.tanh a0")
        x = p.op(f"tensor.concat dim(1) {high}, {low} : ({high.type}, {low.type}) -> {{type}}", SHAPE)
    return x


def insertions(p, x, w, count):
    """A tensor that is written slice by slice."""
    quarter = (SHAPE[0], SHAPE[1] // 4)
    for i in range(count // 3):
        read, written = i % (SHAPE[1] - quarter[1]), (5 * i) % (SHAPE[1] - quarter[1])
        y = pointwise(p, p.slice(x, (0, read), quarter), body="math.tanh a0")
        x = p.op(f"tensor.insert_slice {y} into {x}[0, {written}] [{quarter[0]}, {quarter[1]}] [1, 1]"
                 f" : {y.type} into {{type}}", SHAPE)
    return x


def transposes(p, x, w, count):
    for _ in range(count // 3):
        y = p.generic([(x, "d1 d0")], SHAPE[::-1], scalar_body("math.tanh a0"))
        x = p.expand(p.collapse(y, "[[0, 1]]", (SHAPE[0] * SHAPE[1],)), "[[0, 1]]", SHAPE)
    return x


def gathers(p, x, w, count):
    """Rows that one shared array of indices chooses."""
    for _ in range(count):
        x = p.generic([(ROWS, "d0")], SHAPE, lambda row, _: (
            ["%column = linalg.index 1 : index", f"%picked = tensor.extract {x}[{row}, %column] : {x.type}",
             "%t = math.tanh %picked : f32"], "%t"))
    return x


def softmaxes(p, x, w, count):
    for _ in range(count):
        start = p.empty(SHAPE)
        x = p.op(f"linalg.softmax dimension(1) ins({x} : {x.type}) outs({start} : {start.type}) -> {{type}}", SHAPE)
    return x


def names(p, x, w, count):
    for i in range(count // 2):
        x = pointwise(p, x, body="math.tanh a0")
        x = p.op(f'remat.name "name{i}" {x} : {{type}}', SHAPE)
    return x


def loop(p, x, body):
    """Four iterations of `body`, a function of what is carried."""
    carried, result = Value(p.fresh("x"), SHAPE), Value(p.fresh(), SHAPE)
    p.emit(f"{result} = scf.for {p.fresh('i')} = %zero to %four step %one iter_args({carried} = {x})"
           f" -> ({result.type}) {{")
    p.depth += 1
    inner = body(carried)
    p.emit(f"scf.yield {inner} : {inner.type}")
    p.depth -= 1
    p.emit("}")
    return result


def loops(p, x, w, count):
    """Each loop stands for two operations."""
    for _ in range(count // 2):
        x = loop(p, x, lambda carried: pointwise(p, carried, body="math.tanh a0"))
    return x


def products_in_a_loop(p, x, w, count):
    """One loop, which carries a tape of residuals to its adjoint for every second operation."""
    return loop(p, x, lambda carried: products(p, carried, w, count))


def insertions_in_a_loop(p, x, w, count):
    return loop(p, x, lambda carried: insertions(p, carried, w, count))


def branches(p, x, w, count):
    """Each branch stands for two operations."""
    for _ in range(count // 2):
        result = Value(p.fresh(), SHAPE)
        p.emit(f"{result} = scf.if %choice -> ({result.type}) {{")
        p.depth += 1
        p.emit(f"scf.yield {pointwise(p, x, body='math.tanh a0')} : {result.type}")
        p.depth -= 1
        p.emit("} else {")
        p.depth += 1
        p.emit(f"scf.yield {pointwise(p, x, body='math.exp a0')} : {result.type}")
        p.depth -= 1
        p.emit("}")
        x = result
    return x


def draws(p, x, w, count):
    """Dropout: a draw and its use."""
    for _ in range(count // 2):
        mask = Value(p.fresh("mask"), SHAPE, "i1")
        state, after = p.fresh("state"), p.fresh("state")
        p.emit(f"{state} = remat.get_rng @generator")
        p.emit(f"{mask}, {after} = remat.random_bernoulli {state} {{p = 0.9 : f64}} : {mask.type}")
        p.emit(f"remat.set_rng @generator, {after}")
        x = p.generic([(x, "d0 d1"), (mask, "d0 d1")], SHAPE,
                      lambda a, m, _: ([f"%t = math.tanh {a} : f32", f"%s = arith.select {m}, %t, {a} : f32"], "%s"))
    return x


def regions(p, x, w, count):
    """`count` regions of three operations."""
    for i in range(count):
        x, = p.region(f"layer{i}", [x, w], lambda x, w: [
            pointwise(p, pointwise(p, p.matmul(x, w), body="math.tanh a0"), x, body="addf a0 a1")])
    return x


def parameters(p, x, ws, count):
    """A bias of its own for each of `count` sums."""
    for w in ws:
        x = p.generic([(x, "d0 d1"), (w, "d1")], SHAPE, scalar_body("addf a0 a1\nmath.tanh b0"))
    return x


def layers(p, x, ws, count):
    """A matrix of its own for each of `count` products."""
    for w in ws:
        x = pointwise(p, p.matmul(x, w), body="math.tanh a0")
    return x


KINDS = {f.__name__: f for f in (elementwise, broadcasts, products, products_in_four, residual_layers, reused, slices,
                                 insertions, transposes, gathers, softmaxes, names, loops, products_in_a_loop,
                                 insertions_in_a_loop, branches, draws, regions, parameters, layers)}


def mlir(kind, count):
    p = Printer()
    width = SHAPE[1]
    x = Value("%x", SHAPE)
    many = kind in ("parameters", "layers")
    shape = (width,) if kind == "parameters" else (width, width)
    weights = [Value(f"%p{i}", shape) for i in range(count if many else 1)]
    for name, value in (("zero", 0), ("one", 1), ("four", 4)):
        p.emit(f"%{name} = arith.constant {value} : index")
    p.emit(f"{ROWS} = arith.constant dense<[1, 0, 3, 2]> : {ROWS.type}")
    p.emit("%corner = tensor.extract %x[%zero, %zero] : " + x.type)
    p.emit(f"%choice = arith.cmpf ogt, %corner, {p.scalar('0.0')} : f32")
    first = p.matmul(x, weights[0]) if not many else x
    y = KINDS[kind](p, first, weights if many else weights[0], count)
    loss = p.generic([(y, "d0 d1")], (), scalar_body("addf acc a0"), reduced=(0, 1))
    arguments = [f'{w}: {w.type} {{opt.param = "{w.name[1:]}"}}' for w in weights]
    arguments.append(f'%x: {x.type} {{remat.data = "x"}}')
    body = "\n".join(p.lines)
    generator = "remat.generator @generator seed(1)\n" if kind == "draws" else ""
    return (f"""{generator}opt.optimizer @sgd = #opt.sgd<lr = 1.0e-3>
remat.train_step @step for @loss optimizer(@sgd) {{ eager, steps = 1 }}
func.func @loss({', '.join(arguments)}) -> tensor<f32> {{
{body}
    return {loss} : {loss.type}
}}
""")


if __name__ == "__main__":
    print(mlir(sys.argv[1], int(sys.argv[2])), end="")
