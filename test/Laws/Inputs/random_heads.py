# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ends of models, of which parts may be loss heads: products, and what computes with their results by rows, by columns, or
across them. `loss_tile` is so small that whatever can be computed in tiles of rows is.

A step reads values of a pool and adds one to it, so that values are read several times, in several shapes, as operands and by
bodies that pick elements of them. All that nothing reads is part of the loss. Each step has a random generator of its own: a
model with some of its steps left out is still one, which is how a failure is reduced.
"""
import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from mlir_text import Printer, Value, scalar_body, tensor, typed  # noqa: E402

EXAMPLES = 5  # mini-batches in the data
LARGEST = 4096  # elements of a value
UNARY = ["math.tanh a0", "math.sin a0", "math.absf a0", "math.tanh a0\nmath.exp b0"]


def dims(count):
    return " ".join(f"d{i}" for i in range(count))


class Head:
    """The text of the program is `text`; `data()` makes its arrays. A `plain` one has neither names nor regions."""

    is_dynamic = with_stacks = False

    def __init__(self, seed, skip=(), plain=False):
        self.random = random.Random(f"head.{seed}")
        self.seed, self.skip, self.plain = seed, skip, plain
        self.split = self.random.choice([(2, 6), (3, 4), (12, 1), (4, 4), (3, 5), (2, 9)])
        self.rows, self.width = self.split[0] * self.split[1], self.random.choice([8, 12])
        self.columns = self.random.choice([16, 32, 40, 48])
        self.loss_tile = 4 * self.columns * self.random.randint(1, 4)  # bytes: of some rows
        self.count, self.parameters = self.random.randint(4, 14), {}
        self.data_shapes = {"x": (self.rows, self.width), "soft": (self.rows, self.columns), "weights": (self.rows,)}
        self.text = self.program()

    def without_regions(self):
        return Head(self.seed, self.skip, plain=True)

    def data(self):
        rng = np.random.default_rng(self.seed)
        arrays = {name: rng.standard_normal((EXAMPLES * shape[0], *shape[1:])).astype(np.float32)
                  for name, shape in self.data_shapes.items()}
        return arrays | {"labels": rng.integers(0, self.columns, EXAMPLES * self.rows).astype(np.int32)}

    # Operands of steps -------------------------------------------------------------------------------------------

    def parameter(self, shape):
        known = [v for v in self.parameters.values() if v.shape == tuple(shape)]
        if known and self.random.random() < 0.3:
            return self.random.choice(known)
        name = f"w{len(self.parameters)}"
        self.parameters[name] = Value(f"%{name}", shape)
        return self.parameters[name]

    def value(self, accepts=lambda v: True):
        """One of the pool, mostly a late one; None if it has none of these."""
        fitting = [v for v in self.pool if accepts(v)]
        late = fitting[-3:] if self.random.random() < 0.8 else fitting
        return self.random.choice(late) if late else None

    def matrix(self):
        return self.value(lambda v: len(v.shape) == 2)

    # Steps: (values that are read, what emits the result of these); None where the pool has nothing to read ------

    def unary(self):
        body = self.random.choice(UNARY)
        v = self.value()
        return [v], lambda p, a: p.generic([(a, dims(len(a.shape)))], a.shape, scalar_body(body))

    def bias(self):
        v = self.value(lambda v: v.shape)
        dim, op = self.random.randrange(len(v.shape)), self.random.choice(["addf", "mulf"])
        return [v, self.parameter((v.shape[dim],))], lambda p, a, b: p.generic(
            [(a, dims(len(a.shape))), (b, f"d{dim}")], a.shape, scalar_body(f"{op} a0 a1"))

    def binary(self):
        v = self.value()
        w, op = self.value(lambda w: w.shape == v.shape), self.random.choice(["addf", "subf", "mulf"])
        return [v, w], lambda p, a, b: p.generic([(a, dims(len(a.shape))), (b, dims(len(a.shape)))], a.shape,
                                                 scalar_body(f"{op} a0 a1"))

    def broadcast(self):
        """Of a value and one of fewer dimensions, at any dimensions of the same sizes."""
        v, w = self.value(lambda v: len(v.shape) > 1), self.value(lambda v: v.shape)
        if not v:
            return None
        free, places = list(range(len(v.shape))), []
        self.random.shuffle(free)
        for size in w.shape:
            place = next((d for d in free if v.shape[d] == size), None)
            if place is None:
                return None
            free.remove(place)
            places.append(f"d{place}")
        return [v, w], lambda p, a, b: p.generic([(a, dims(len(a.shape))), (b, " ".join(places))], a.shape,
                                                 scalar_body("subf a0 a1"))

    def reshape(self):
        v = self.value(lambda v: v.shape)
        rank, at = len(v.shape), self.random.randrange(len(v.shape))
        if rank > 1 and self.random.random() < 0.5:
            at = min(at, rank - 2)
            shape = [*v.shape[:at], v.shape[at] * v.shape[at + 1], *v.shape[at + 2:]]
            groups = [*([i] for i in range(at)), [at, at + 1], *([i] for i in range(at + 2, rank))]
            return [v], lambda p, a: p.collapse(a, groups, shape)
        factors = [f for f in range(1, v.shape[at] + 1) if v.shape[at] % f == 0]
        factor = self.split[0] if self.split[0] in factors and self.random.random() < 0.5 else self.random.choice(factors)
        shape = [*v.shape[:at], factor, v.shape[at] // factor, *v.shape[at + 1:]]
        groups = [*([i] for i in range(at)), [at, at + 1], *([i + 1] for i in range(at + 1, rank))]
        return ([v], lambda p, a: p.expand(a, groups, shape)) if rank < 4 else None

    def transpose(self):
        v = self.value(lambda v: len(v.shape) > 1)
        if not v:
            return None
        order = list(range(len(v.shape)))
        self.random.shuffle(order)
        return [v], lambda p, a: p.generic([(a, " ".join(f"d{order.index(i)}" for i in range(len(order))))],
                                           [a.shape[d] for d in order], lambda x, _: ([], x))

    def slice(self):
        v = self.value(lambda v: v.shape)
        dim = self.random.randrange(len(v.shape))
        size = self.random.randint((v.shape[dim] + 1) // 2, v.shape[dim])
        offset = self.random.randint(0, v.shape[dim] - size)
        return [v], lambda p, a: p.slice(a, [offset if d == dim else 0 for d in range(len(a.shape))],
                                         [size if d == dim else n for d, n in enumerate(a.shape)])

    def reduce(self):
        v = self.value(lambda v: v.shape)
        reduced = [d for d in range(len(v.shape)) if self.random.random() < 0.4] or [len(v.shape) - 1]
        if self.random.random() < 0.3:
            return [v], lambda p, a: self.highest(p, a, reduced)
        body = self.random.choice(["addf acc a0", "mulf a0 a0\naddf acc b0", "math.sin a0\naddf acc b0"])
        return [v], lambda p, a: p.generic([(a, dims(len(a.shape)))], self.left(a, reduced), scalar_body(body), reduced=reduced)

    def left(self, a, reduced):
        return tuple(n for d, n in enumerate(a.shape) if d not in reduced)

    def highest(self, p, a, reduced):
        shape = self.left(a, reduced)
        start = p.op(f"linalg.fill ins({p.scalar('0xFF800000')} : f32) outs({p.empty(shape)} : {tensor(shape)}) -> {{type}}", shape)
        return p.generic([(a, dims(len(a.shape)))], shape, scalar_body("maximumf acc a0"), reduced=reduced, start=start)

    def softmax(self):
        v = self.value(lambda v: v.shape)
        last, whole, log = len(v.shape) - 1, self.random.random() < 0.3, self.random.random() < 0.5

        def emit(p, a):
            if whole:
                return p.op(f"linalg.softmax dimension({last}) ins({typed([a])}) outs({typed([p.empty(a.shape)])}) -> {{type}}", a.shape)
            every, row = dims(last + 1), dims(last)
            shifted = p.generic([(a, every), (self.highest(p, a, [last]), row)], a.shape, scalar_body("subf a0 a1"))
            total = p.generic([(shifted, every)], a.shape[:-1], scalar_body("math.exp a0\naddf acc b0"), reduced=(last,))
            return p.generic([(shifted, every), (total, row)], a.shape, scalar_body(
                "math.log a1\nsubf a0 b0" if log else "math.exp a0\ndivf b0 a1"))
        return [v], emit

    def product(self):
        v = self.matrix()
        if not v:
            return None
        wide = self.random.choice([2, 3, 8, self.columns, self.columns])
        by, kept = self.random.sample([0, 1], 2)
        turned, result_turned = self.random.random() < 0.3, self.random.random() < 0.2
        w = self.parameter((wide, v.shape[by]) if turned else (v.shape[by], wide))
        left, right, result = ("d2 d0" if by == 0 else "d0 d2"), ("d1 d2" if turned else "d2 d1"), "d1 d0" if result_turned else "d0 d1"
        shape = (wide, v.shape[kept]) if result_turned else (v.shape[kept], wide)
        return [v, w], lambda p, a, b: p.contraction(a, left, b, right, shape, result, 3, (2,))

    def product_of_values(self):
        v, w = self.matrix(), None
        if v:
            w = self.value(lambda w: len(w.shape) == 2 and w.shape[1] == v.shape[1])
        return ([v, w], lambda p, a, b: p.contraction(a, "d0 d2", b, "d1 d2", (a.shape[0], b.shape[0]), "d0 d1", 3, (2,))) if w else None

    def pick(self):
        """Elements of a matrix, of which the body reads one of each row, of the column that a label says, or of another row."""
        v, kind = self.matrix(), self.random.choice(["label", "label", "same", "reversed", "first"])
        if not v or (kind == "label" and v.shape[0] != self.rows):
            return None
        rows, columns = v.shape

        def emit(p, a, labels):
            low, size, most = p.scalar(0, "index"), p.scalar(columns, "index"), p.scalar(rows - 1, "index")
            row = {"reversed": "%other", "first": low}.get(kind, "%i")
            lines = ["%i = linalg.index 0 : index", f"%other = arith.subi {most}, %i : index"]
            if kind == "label":
                return p.generic([(labels, "d0")], (rows,), lambda t, _: (lines + [
                    f"%l = arith.index_cast {t} : i32 to index", f"%c = arith.remui %l, {size} : index",
                    f"%r = tensor.extract {a}[{row}, %c] : {a.type}"], "%r"))
            half = p.scalar("0.5")
            return p.generic([], (rows, columns), lambda _: (lines + [
                "%j = linalg.index 1 : index", f"%r = tensor.extract {a}[{row}, %j] : {a.type}",
                f"%s = arith.addf %r, {half} : f32"], "%s"))
        return [v, self.labels], emit

    def one_hot(self):
        zero_first = self.random.random() < 0.5

        def emit(p, labels):
            low, high = (p.scalar(x) for x in (("0.0", "1.0") if zero_first else ("0.1", "0.9")))
            return p.generic([(labels, "d0")], (self.rows, self.columns), lambda t, _: ([
                "%j = linalg.index 1 : index", f"%t = arith.index_cast {t} : i32 to index",
                "%is = arith.cmpi eq, %j, %t : index", f"%r = arith.select %is, {high}, {low} : f32"], "%r"))
        return [self.labels], emit

    def embedding(self):
        table = self.parameter((self.columns, self.random.choice([self.width, self.columns])))
        return [self.labels, table], lambda p, labels, t: p.generic([(labels, "d0")], (self.rows, t.shape[1]), lambda i, _: ([
            f"%t = arith.index_cast {i} : i32 to index", "%j = linalg.index 1 : index",
            f"%r = tensor.extract {t}[%t, %j] : {t.type}"], "%r"))

    def dropout(self):
        v, keep = self.value(lambda v: v.shape), self.random.choice([0.5, 0.9])

        def emit(p, a):
            state = p.fresh()
            p.emit(f"{state} = remat.get_rng @generator")
            mask, following, zero = Value(p.fresh(), a.shape, "i1"), p.fresh(), p.scalar("0.0")
            p.emit(f"{mask}, {following} = remat.random_bernoulli {state} {{p = {keep} : f64}} : {mask.type}")
            p.emit(f"remat.set_rng @generator, {following}")
            return p.generic([(a, dims(len(a.shape))), (mask, dims(len(a.shape)))], a.shape, lambda x, m, _: (
                [f"%s = arith.select {m}, {x}, {zero} : f32"], "%s"))
        return [v], emit

    def detached(self):
        v = self.value()
        return [v], lambda p, a: p.op(f'"remat.stop_gradient"({a}) : ({a.type}) -> {{type}}', a.shape)

    STEPS = ["unary", "bias", "binary", "broadcast", "reshape", "transpose", "slice", "reduce", "softmax", "product", "pick",
             "one_hot", "embedding", "dropout", "detached", "product_of_values"] + [
                 "product", "pick", "softmax", "binary", "broadcast", "bias", "reshape", "reduce"]

    # The program -------------------------------------------------------------------------------------------------

    def apply(self, p, step):
        reads, emit = step
        if self.random.random() < 0.15 and not self.plain:
            result, = p.region("part", reads, lambda *values: [emit(p, *values)])
        else:
            result = emit(p, *reads)
        if self.random.random() < 0.1 and not self.plain:
            result = p.op(f'remat.name "some" {result} : {{type}}', result.shape)
        self.read |= {v.name for v in reads}
        self.pool.append(result)

    def total(self, p, v):
        """A scalar for the loss."""
        share = p.scalar(repr(1 / max(1, int(np.prod(v.shape)))))
        return p.generic([(v, dims(len(v.shape)))], (), scalar_body(f"math.sin a0\nmulf b0 {share}\naddf acc b1"),
                         reduced=range(len(v.shape)), start=p.zeros(()))

    def program(self):
        p = Printer()
        p.depth = 1
        data = {name: Value(f"%{name}", shape) for name, shape in self.data_shapes.items()}
        self.labels = Value("%labels", (self.rows,), "i32")
        self.pool, self.read = list(data.values()), {v.name for v in data.values()}
        x, words = data["x"], self.parameter((self.width, self.columns))
        self.apply(p, ([x, words], lambda p, a, b: p.matmul(a, b)))
        for i in range(self.count):
            self.random = random.Random(f"head.{self.seed}.{i}")
            step = getattr(self, self.random.choice(self.STEPS))()
            if i in self.skip or not step:
                continue
            before, lines, read = list(self.pool), list(p.lines), set(self.read)
            self.apply(p, step)
            if np.prod(self.pool[-1].shape, dtype=int) > LARGEST:
                self.pool, p.lines, self.read = before, lines, read
        self.random = random.Random(f"head.{self.seed}.end")
        # One term depends on a parameter for certain.
        totals = [self.total(p, v) for v in [words, *self.pool] if v.name not in self.read or v is words]
        loss = totals[0]
        for other in totals[1:]:
            loss = p.generic([(loss, ""), (other, "")], (), scalar_body("addf a0 a1"))
        arguments = [f'{v}: {v.type} {{remat.data = "{name}"}}' for name, v in (data | {"labels": self.labels}).items()]
        arguments += [f'{v}: {v.type} {{opt.param = "{name}", opt.init = "normal(0.3)"}}' for name, v in self.parameters.items()]
        body = "\n".join(p.lines)
        generator = "remat.generator @generator seed(3)\n" if "@generator" in body else ""
        return ("opt.optimizer @optimizer = #opt.sgd<lr = 0.05, momentum = 0.9>\n"
                f"remat.train_step @step for @loss optimizer(@optimizer) {{eager}}\n{generator}"
                f"func.func @loss(\n    {', '.join(arguments)})\n    -> tensor<f32> {{\n{body}\n"
                f"  return {typed([loss])}\n}}\n")


if __name__ == "__main__":
    print(Head(int(sys.argv[1]), plain=sys.argv[2:] == ["plain"]).text, end="")
