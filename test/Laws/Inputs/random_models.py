# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models with their training step: what the laws are tested on.

A model is a chain of layers on activations `x` of shape batch x width. A layer reads and writes entries of an environment
(activations, parameters, states, the random state), so that regions, loops, calls and residual connections can
hold any layers: they know what crosses their border. Each layer has a random generator of its own: a model with some
of its layers left out has the others unchanged, which is how a failure is reduced.
"""
import copy
import itertools
import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
import models as blocks  # noqa: E402
from mlir_text import Printer, Value, scalar_body, tensor, typed  # noqa: E402

OPTIMIZERS = ["#opt.sgd<lr = 0.05, momentum = 0.9>", "#opt.adamw<lr = 0.01, weight_decay = 0.01>",
              "#opt.adam<lr = #opt.linear_warmup_cosine<peak = 0.02, warmup = 2, total = 9, floor = 0.0>>",
              "#opt.lion<lr = 0.003>", "#opt.sgd<lr = 0.05, nesterov = true, momentum = 0.8>",
              "#opt.adamw<lr = 0.01, eps = 0.001, states = bf16>", "#opt.custom<@quantized, states = 2, lr = 0.05>",
              "#opt.apollo<lr = 0.02, rank = 2, refresh = 2, eps = 0.001>",
              "#opt.apollo<lr = 0.02, rank = 1, scale = 4, scaling = tensor, refresh = 2, eps = 0.001>",
              "#opt.adam_mini<lr = 0.01, eps = 0.001>"]
# Parameters are small here: a rule of the module's own has blocks of few elements, so that many are a part only.
QUANTIZED = """
func.func private @quantized(%w: f32, %g: f32, %m: f32 {opt.state = "m", opt.stored = !opt.blockwise<intBITS, 24>},
                             %v: f32 {opt.state = "v", opt.stored = !opt.blockwise<intBITS, 24, unsigned>}, %t: i64, %lr: f32)
    -> (f32, f32, f32) {
  %half = arith.constant 0.5 : f32
  %eps = arith.constant 0.01 : f32
  %kept = arith.mulf %half, %m : f32
  %next = arith.addf %kept, %g : f32
  %square = arith.mulf %g, %g : f32
  %old = arith.mulf %half, %v : f32
  %moment = arith.addf %old, %square : f32
  %root = math.sqrt %moment : f32
  %size = arith.addf %root, %eps : f32
  %direction = arith.divf %next, %size : f32
  %d = arith.mulf %lr, %direction : f32
  %w1 = arith.subf %w, %d : f32
  return %w1, %next, %moment : f32, f32, f32
}
"""
ACTIVATIONS = {
    "tanh": "math.tanh b0", "sine": "math.sin b0",
    "sigmoid": "negf b0\nmath.exp b1\naddf b2 {one}\ndivf {one} b3", "relu": "maximumf b0 {zero}"}
EXAMPLES = 5  # mini-batches in the data
EPSILON = "1.0"  # of norms: a small one multiplies gradients wherever rows are alike, which many norms do not survive


class RandomState(Value):
    type = "!remat.rng"

    def __init__(self, name):
        super().__init__(name, ())


def renamed(value, name):
    value = copy.copy(value)
    value.name = name
    return value


def union(lists):
    return list(dict.fromkeys(itertools.chain.from_iterable(lists)))


class Layer:
    """`emit(printer, env)` computes; `names` are the remat.names directly inside."""

    def __init__(self, emit, reads=(), writes=(), names=()):
        self.emit, self.names = emit, list(names)
        self.reads, self.writes = union([["x"], reads]), union([["x"], writes])


def sequence(layers):
    def emit(p, env):
        for layer in layers:
            layer.emit(p, env)
    return Layer(emit, union(l.reads for l in layers), union(l.writes for l in layers), union(l.names for l in layers))


class Model:
    """The text of the program is `text`; `data()` makes its arrays. The text of a `plain` one has neither regions nor
    names, and is the same otherwise. With `vectors`, there are products of matrices and vectors, too,
    and more views of shared weights; with `stacks`, layers are regions of which there are several equal ones, each
    with weights of its own but for those that the whole model shares."""

    def __init__(self, seed, skip=(), plain=False, vectors=False, stacks=False):
        self.random = random.Random(f"{seed}")
        self.seed, self.functions, self.arguments, self.derived = seed, [], {}, {}
        self.skip, self.plain, self.with_vectors, self.with_stacks = skip, plain, vectors, stacks
        self.is_dynamic = False  # whether some tape has a size that is only known when the program runs
        self.batch, self.channels = self.random.choice([3, 4, 7, 8]), self.random.choice([1, 2, 3])
        self.width = 16 * self.channels
        self.vocabulary = 2 * self.width + 5
        self.loss_tile = 4 * self.vocabulary * (1 + seed % 2)  # bytes: of one or two rows
        self.explicit_state = self.random.random() < 0.6  # else the layers share a remat.generator
        count, start = self.random.randint(2, 5), self.random.choice([self.dense_input, self.embedding])
        layers = []
        for i in range(count):
            for copy in range(random.Random(f"{seed}.{i}.copies").randint(1, 4) if stacks else 1):
                self.random = random.Random(f"{seed}.{i}")
                self.prefix = f"{i}.{copy}." if stacks else f"{i}."
                layer = self.region(depth=2) if stacks else self.layer(depth=3)
                if i not in skip:
                    layers.append(layer)
        self.prefix = ""
        self.count, self.text = count, self.program(start, sequence(layers) if layers else None)

    def without_regions(self):
        return Model(self.seed, self.skip, plain=True, vectors=self.with_vectors, stacks=self.with_stacks)

    # Arguments of the step ---------------------------------------------------------------------------------------

    def argument(self, kind, name, shape, initial):
        """Declares a parameter or a state; it is part of the program if a layer that stays reads it."""
        name = self.prefix + name
        while name in self.arguments:
            name += "_"
        self.arguments[name] = (kind, tuple(shape), initial)
        return name

    def parameter(self, name, shape, initial="normal(0.3)"):
        tied = [n for n, (kind, s, _) in self.arguments.items()
                if kind == "opt.param" and s == tuple(shape) and n.startswith(self.prefix)]
        if tied and self.random.random() < 0.4:
            return self.random.choice(tied)
        return self.argument("opt.param", name, shape, initial)

    def shared(self):
        """A weight that layers of the whole model share."""
        name = self.random.choice(["shared", "common"])
        self.arguments.setdefault(name, ("opt.param", (self.width, self.width), "normal(0.2)"))
        return name

    def derive(self, name, reads, emit):
        """A value that is computed once, before the layers, and read by several of them."""
        self.derived[name] = (reads, emit)
        return name

    def data(self):
        rng = np.random.default_rng(self.seed)
        examples = EXAMPLES * self.batch
        return {"input": rng.standard_normal((examples, self.width)).astype(np.float32),
                "tokens": rng.integers(0, 11, examples).astype(np.int32),
                "target": rng.standard_normal((examples, self.width)).astype(np.float32),
                "labels": rng.integers(0, self.vocabulary, examples).astype(np.int32)}

    # Layers ------------------------------------------------------------------------------------------------------

    def layer(self, depth):
        kinds = [self.dense, self.norm, self.batch_norm, self.convolution, self.attention, self.dropout, self.center,
                 self.softmax] + [self.tied, self.repeated, self.constant_matrix, self.named_uses, self.divided,
                                  self.skip_connection, self.reads_again, self.columns]
        if self.with_vectors:
            kinds += [self.vectors, self.viewed, self.read_again] * 2
        if depth > 0:
            kinds += [self.region] * 5 + [self.loop] * 2 + [self.call] * 2 + [self.residual] * 2
            kinds += [self.branch] * 2 + [self.dynamic_loop]
        return self.random.choice(kinds)(depth - 1)

    def layers(self, depth):
        return sequence([self.layer(depth) for _ in range(self.random.randint(1, 3))])

    def dense(self, _):
        w, b = self.parameter("w", (self.width, self.width)), self.parameter("b", (self.width,), "zeros")
        act, name = self.random.choice([*ACTIVATIONS, "gelu"]), self.random.choice(["h", "p", None])

        def emit(p, env):
            product = p.matmul(env["x"], env[w])
            if name:
                product = self.named(p, name, product)
            if act == "gelu":
                env["x"] = blocks.gelu(p, blocks.linear(p, env["x"], env[w], env[b]))
                env["x"] = p.generic([(env["x"], "d0 d1"), (product, "d0 d1")], product.shape, scalar_body("addf a0 a1"))
                return
            lines = ACTIVATIONS[act].format(one=p.scalar("1.0"), zero=p.scalar("0.0"))
            env["x"] = p.generic([(product, "d0 d1"), (env[b], "d1")], product.shape,
                                 scalar_body("addf a0 a1\n" + lines))
        return Layer(emit, [w, b], names=[name] if name else [])

    def named(self, p, name, value):
        return value if self.plain else p.op(f'remat.name "{name}" {value} : {{type}}', value.shape)

    def transposed(self, p, w):
        shape = w.shape[::-1]
        return p.op(f"linalg.transpose ins({w} : {w.type}) outs({p.empty(shape)} : {tensor(shape)}) permutation = [1, 0]",
                    shape)

    def row(self, p, w):
        return p.op(f"tensor.extract_slice {w}[1, 0] [1, {self.width}] [1, 1] : {w.type} to {{type}}", (self.width,))

    def column_sum(self, p, w):
        return p.generic([(w, "d0 d1")], (self.width,), scalar_body("addf acc a0"), reduced=(0,))

    def normalized(self, p, w):
        """Two kernels, the second of which reads the weight again."""
        square = p.generic([(w, "d0 d1")], (self.width,), scalar_body("mulf a0 a0\naddf acc b0"), reduced=(1,))
        return p.generic([(w, "d0 d1"), (square, "d0")], w.shape, scalar_body(
            f"addf a1 {p.scalar(EPSILON)}\nmath.rsqrt b0\nmulf a0 b1\nmath.tanh b2"))

    def tied(self, _):
        """A shared weight, and something made of it: for all layers together or for each one."""
        w = self.shared()
        how, once = self.random.choice(["transposed", "row", "column_sum", "normalized"]), self.random.random() < 0.6
        make = getattr(self, how)
        reads = [w, self.derive(f"{w}.{how}", [w], lambda p, env: make(p, env[w]))] if once else [w]

        def emit(p, env):
            derived = env[reads[1]] if once else make(p, env[w])
            h = p.generic([(p.matmul(env["x"], env[w]), "d0 d1")], env["x"].shape, scalar_body("math.tanh a0"))
            if len(derived.shape) == 2:
                env["x"] = p.matmul(h, derived)
            else:
                env["x"] = p.generic([(h, "d0 d1"), (derived, "d1")], h.shape, scalar_body("mulf a0 a1\naddf a0 b0"))
        return Layer(emit, reads)

    def vectors(self, _):
        """A shared weight, as it is or transposed, times a vector."""
        w, v = self.shared(), self.parameter("v", (self.width,))
        kind = self.random.choice(["matvec", "vecmat", "batch_matvec", "batch_vecmat", "dot"])
        transposed, once = self.random.random() < 0.6, self.random.random() < 0.5
        reads = [w, v]
        if transposed and once:
            reads.append(self.derive(f"{w}.transposed", [w], lambda p, env: self.transposed(p, env[w])))

        def emit(p, env):
            x, vector = env["x"], env[v]
            matrix = env[w] if not transposed else env[reads[2]] if once else self.transposed(p, env[w])
            # Of a batch: for each row of x, the matrix again.
            batched = kind.startswith("batch")
            if batched:
                matrix = p.generic([(matrix, "d1 d2"), (x, "d0 d1")], (self.batch, *matrix.shape), scalar_body("mulf a0 a1"))
                vector = p.generic([(x, "d0 d1"), (vector, "d1")], x.shape, scalar_body("addf a0 a1"))
            ins = [vector, matrix] if kind.endswith("vecmat") else [matrix, vector]
            shape = x.shape if batched else (self.width,)
            if kind == "dot":
                ins, shape = [p.generic([(matrix, "d0 d1")], shape, scalar_body("addf acc a0"), reduced=(1,)), vector], ()
            y = p.op(f"linalg.{kind} ins({typed(ins)}) outs({typed([p.zeros(shape)])}) -> {{type}}", shape)
            loops = ["d0", "d1"][2 - len(shape):]
            env["x"] = p.generic([(x, "d0 d1"), (y, " ".join(loops))], x.shape, scalar_body("math.tanh a1\naddf a0 b0"))
        return Layer(emit, reads)

    def reshaped(self, p, w, rows=None):
        """A square matrix with half as many rows, or with `rows`."""
        rows = rows or self.width // 2
        flat = p.op(f"tensor.collapse_shape {w} [[0, 1]] : {w.type} into {{type}}", (self.width**2,))
        shape = (rows, self.width**2 // rows)
        return p.op(f"tensor.expand_shape {flat} [[0, 1]] output_shape {list(shape)} : {flat.type} into {{type}}", shape)

    def reshaped_back(self, p, view):
        return self.reshaped(p, view, rows=self.width)

    def viewed(self, _):
        """A view of a shared weight, its own or one for all layers: read by a product, by a kernel, or as it was before."""
        w, view = self.shared(), self.random.choice(["transposed", "reshaped"])
        how, name = self.random.choice(["product", "kernel", "back", "both"]), self.random.choice(["view", None])
        make, back = getattr(self, view), self.transposed if view == "transposed" else self.reshaped_back
        once = self.random.random() < 0.6
        reads = [w, self.derive(f"{w}.{view}", [w], lambda p, env: make(p, env[w]))] if once else [w]

        def emit(p, env):
            x, seen = env["x"], env[reads[1]] if once else make(p, env[w])
            if name:
                seen = self.named(p, name, seen)
            if how in ("kernel", "both"):
                sine = p.generic([(seen, "d0 d1")], seen.shape, scalar_body("math.sin a0"))
                x = p.matmul(x, sine if view == "transposed" else back(p, sine))
            if how != "kernel":
                x = p.matmul(x, seen if how != "back" and view == "transposed" else back(p, seen))
            env["x"] = p.generic([(x, "d0 d1"), (env["x"], "d0 d1")], x.shape, scalar_body("math.tanh a0\naddf b0 a1"))
        return Layer(emit, reads, names=[name] if name else [])

    def read_again(self, _):
        """A kernel of what was made of a shared weight once for all layers: each of them computes the same."""
        w = self.shared()
        made = self.derive(f"{w}.tanh", [w], lambda p, env: p.generic(
            [(env[w], "d0 d1")], env[w].shape, scalar_body("math.tanh a0")))
        directly = self.random.random() < 0.4

        def emit(p, env):
            x = env["x"]
            sine = p.generic([(env[made], "d0 d1")], env[made].shape, scalar_body("math.sin a0"))
            y = p.matmul(x, sine)
            if directly:
                y = p.matmul(y, env[made])
            env["x"] = p.generic([(x, "d0 d1"), (y, "d0 d1")], x.shape, scalar_body("math.tanh a1\naddf a0 b0"))
        return Layer(emit, [w, made])

    def repeated(self, _):
        """A value of a shared weight that each such layer computes for itself, and uses in a product or in a kernel."""
        w, how = self.shared(), self.random.choice(["sine", "normalized"])
        by_product, name = self.random.random() < 0.6, self.random.choice(["n", None])

        def emit(p, env):
            x = env["x"]
            made = self.normalized(p, env[w]) if how == "normalized" else p.generic(
                [(env[w], "d0 d1")], env[w].shape, scalar_body("math.sin a0"))
            if name:
                made = self.named(p, name, made)
            if by_product:
                env["x"] = p.matmul(x, made)
                return
            total = p.generic([(made, "d0 d1")], (self.width,), scalar_body("mulf a0 a0\naddf acc b0"), reduced=(1,))
            env["x"] = p.generic([(x, "d0 d1"), (total, "d1")], x.shape, scalar_body("math.tanh a1\naddf a0 b0"))
        return Layer(emit, [w], names=[name] if name else [])

    def filled(self, p, _=None):
        start = p.empty((self.width, self.width))
        return p.op(f"linalg.fill ins({p.scalar('0.03')} : f32) outs({typed([start])}) -> {{type}}", start.shape)

    def constant_matrix(self, _):
        once, generic = self.random.random() < 0.7, self.random.random() < 0.5
        reads = [self.derive("filled", [], self.filled)] if once else []

        def emit(p, env):
            x, matrix = env["x"], env["filled"] if once else self.filled(p)
            y = p.contraction(x, "d0 d2", matrix, "d2 d1", x.shape, "d0 d1", 3, (2,)) if generic else p.matmul(x, matrix)
            env["x"] = p.generic([(x, "d0 d1"), (y, "d0 d1")], x.shape, scalar_body("math.tanh a1\naddf a0 b0"))
        return Layer(emit, reads)

    def named_uses(self, _):
        """A value that some read by its name and others do not."""
        w, v, kind = self.parameter("w", (self.width,) * 2), self.parameter("v", (self.width,) * 2), self.random.random()
        name = self.random.choice(["h", "m"])

        def emit(p, env):
            h = p.matmul(env["x"], env[w])
            n, shape = self.named(p, name, h), h.shape
            t = p.generic([(n, "d0 d1")], shape, scalar_body("math.tanh a0"))
            s = p.matmul(t, env[v]) if kind < 0.7 else t
            y = p.generic([(s, "d0 d1"), (h, "d0 d1")], shape, scalar_body("math.sin a1\naddf a0 b0"))
            if kind < 0.4:
                y = p.generic([(y, "d0 d1"), (n, "d0 d1"), (h, "d0 d1")], shape,
                              scalar_body("math.sin a1\nmulf a0 b0\nmath.tanh a2\naddf b1 b2"))
            env["x"] = y
        return Layer(emit, [w, v], names=[name])

    def divided(self, _):
        """Bodies that have no vector form: a division by a number of the data, and a branch; then sums both ways."""
        branch, example = self.random.random() < 0.5, self.random.randrange(self.batch)

        def emit(p, env):
            x, at, one, three = env["x"], p.scalar(example, "index"), p.scalar(1, "i32"), p.scalar(3, "i32")
            token, divisor, zero, none = p.fresh(), p.fresh(), p.scalar("0.0"), p.scalar(0, "i32")
            p.emit(f"{token} = tensor.extract {env['tokens']}[{at}] : {env['tokens'].type}")
            p.emit(f"{divisor} = arith.addi {token}, {one} : i32")
            lines = ["%j = linalg.index 1 : index", "%n = arith.index_cast %j : index to i32"]
            if branch:
                lines += [f"%f = arith.cmpi sgt, {divisor}, {three} : i32",
                          f"%r = scf.if %f -> (i32) {{\n%q = arith.remui %n, {three} : i32\nscf.yield %q : i32\n}} "
                          "else {\nscf.yield %n : i32\n}"]
            else:
                lines += [f"%r = arith.remui %n, {divisor} : i32"]
            masked = p.generic([(x, "d0 d1")], x.shape, lambda a, _: (lines + [
                f"%k = arith.cmpi ne, %r, {none} : i32", f"%s = arith.select %k, {a}, {zero} : f32",
                "%h = math.tanh %s : f32"], "%h"))
            rows = p.generic([(masked, "d0 d1")], (self.batch,), scalar_body("addf acc a0"), reduced=(1,))
            columns = p.generic([(masked, "d0 d1")], (self.width,), scalar_body("addf acc a0"), reduced=(0,))
            small = p.scalar("0.1")
            env["x"] = p.generic([(x, "d0 d1"), (rows, "d0"), (columns, "d1")], x.shape, scalar_body(
                f"addf a1 a2\nmulf b0 {small}\naddf a0 b1"))
        return Layer(emit, ["tokens"])

    def skip_connection(self, _):
        """The activations that the model began with."""
        as_product = self.random.random() < 0.5

        def emit(p, env):
            x, first = env["x"], env["begin"]
            text = "math.tanh a0\nmulf b0 a1\naddf a0 b1" if as_product else "addf a0 a1"
            env["x"] = p.generic([(x, "d0 d1"), (first, "d0 d1")], x.shape, scalar_body(text))
        return Layer(emit, ["begin"])

    def reads_again(self, _):
        """Kernels that read one value, in an order that fusion changes if it may."""
        order, borders = self.random.sample(range(4), 4), self.random.random()
        name = self.random.choice(["e", None])

        def emit(p, env):
            x = env["x"]
            kernels = ["math.tanh a0", "math.sin a0", "mulf a0 a0\nmath.tanh b0", "negf a0\nmath.exp b0\nmath.tanh b1"]
            made = {}
            for i in order:
                made[i] = p.generic([(x, "d0 d1")], x.shape, scalar_body(kernels[i]))
            if name:
                made[2] = self.named(p, name, made[2])
            y = p.generic([(made[0], "d0 d1"), (made[1], "d0 d1")], x.shape, scalar_body("mulf a0 a1"))
            y = p.generic([(y, "d0 d1"), (made[2], "d0 d1"), (x, "d0 d1")], x.shape,
                          scalar_body("addf a0 a1\nmulf b0 a2" if borders < 0.5 else "mulf a0 a1"))
            env["x"] = p.generic([(y, "d0 d1"), (made[3], "d0 d1"), (y, "d0 d1")], x.shape,
                                 scalar_body("addf a0 a1\nmath.tanh a2\naddf b0 b1"))
        return Layer(emit, names=[name] if name else [])

    def columns(self, _):
        """A product with every other column, a matrix that no library takes as it lies."""
        w = self.parameter("half", (self.width // 2, self.width))

        def emit(p, env):
            x, half = env["x"], self.width // 2
            even = p.op(f"tensor.extract_slice {x}[0, 0] [{self.batch}, {half}] [1, 2] : {x.type} to {{type}}",
                        (self.batch, half))
            env["x"] = p.generic([(x, "d0 d1"), (p.matmul(even, env[w]), "d0 d1")], x.shape,
                                 scalar_body("math.tanh a1\naddf a0 b0"))
        return Layer(emit, [w])

    def norm(self, _):
        gain, bias = self.parameter("gain", (self.width,), "ones"), self.parameter("bias", (self.width,), "zeros")
        row = (self.batch,)

        def whole(p, env):
            env["x"] = blocks.layer_norm(p, env["x"], env[gain], env[bias], EPSILON)

        def reduced(p, x, body):
            return p.generic([(x, "d0 d1")], row, scalar_body(body), reduced=(1,))

        def result(p, env):
            env["x"] = p.generic([(env["lower"], "d0 d1"), (env["deviation"], "d0"), (env[gain], "d1"), (env[bias], "d1")],
                                 env["x"].shape, scalar_body("mulf a0 a1\nmulf b0 a2\naddf b1 a3"))

        if self.random.random() < 0.5:
            return Layer(whole, [gain, bias])
        n, deviation = f"{self.width}.0", "divf a0 {n}\naddf b0 {e}\nmath.rsqrt b1"
        parts = self.in_regions(self.steps([
            ("mean", ["x"], lambda p, x: reduced(p, x, "addf acc a0")),
            ("lower", ["x", "mean"], lambda p, x, mean: p.generic(
                [(x, "d0 d1"), (mean, "d0")], x.shape, scalar_body(f"divf a1 {p.scalar(n)}\nsubf a0 b0"))),
            ("squares", ["lower"], lambda p, lower: reduced(p, lower, "mulf a0 a0\naddf acc b0")),
            ("deviation", ["squares"], lambda p, squares: p.generic(
                [(squares, "d0")], row, scalar_body(deviation.format(n=p.scalar(n), e=p.scalar(EPSILON)))))]))
        inner = sequence([*parts, Layer(result, [gain, bias])])
        return Layer(inner.emit, [gain, bias], names=inner.names)

    def image(self, p, x):
        return p.expand(x, "[[0], [1, 2, 3]]", (self.batch, 4, 4, self.channels))

    def rows(self, p, x):
        return p.collapse(x, "[[0], [1, 2, 3]]", (self.batch, self.width))

    def batch_norm(self, _):
        c = (self.channels,)
        gain, bias = self.parameter("g4", c, "ones"), self.parameter("b4", c, "zeros")
        mean, variance = (self.argument("remat.state", n, c, i) for n, i in (("mean", "zeros"), ("variance", "ones")))
        relu = self.random.random() < 0.5

        def emit(p, env):
            y, statistics = blocks.batch_norm(p, self.image(p, env["x"]), env[gain], env[bias], relu,
                                              epsilon=EPSILON)
            keep, move = p.scalar("0.9"), p.scalar("0.1")
            for state, value in zip((mean, variance), statistics):
                env[state] = p.generic([(env[state], "d0"), (value, "d0")], c, scalar_body(
                    f"mulf a0 {keep}\nmulf a1 {move}\naddf b0 b1"))
            env["x"] = self.rows(p, y)
        return Layer(emit, [gain, bias, mean, variance], [mean, variance])

    def convolution(self, _):
        w = self.parameter("filter", (3, 3, self.channels, self.channels))

        def emit(p, env):
            env["x"] = self.rows(p, blocks.conv(p, self.image(p, env["x"]), env[w], 1))
        return Layer(emit, [w])

    def attention(self, _):
        """Over the batch's rows; both factors of both products carry gradients. Names stand, and borders of regions go,
        anywhere in it."""
        chance = self.random.random
        names = {part: part for part in ("key", "scores", "scaled", "probs", "out") if chance() < 0.25}
        transposes, scale = chance() < 0.5, '0.5' if chance() < 0.5 else '0.25'

        def set_part(p, env, part, value):
            env[part] = self.named(p, names[part], value) if part in names else value

        def key(p, env):
            x = env["x"]
            set_part(p, env, "key", self.transposed(p, x) if transposes else x)

        def scores(p, env):
            x, b = env["x"], self.batch
            set_part(p, env, "scores", p.contraction(x, "d0 d2", env["key"], "d2 d1" if transposes else "d1 d2", (b, b),
                                                     "d0 d1", 3, (2,)))

        def scaled(p, env):
            s = env["scores"]
            set_part(p, env, "scaled", p.generic([(s, "d0 d1")], s.shape, scalar_body(f"mulf a0 {p.scalar(scale)}")))

        def probabilities(p, env):
            s = env["scaled"]
            set_part(p, env, "probs", blocks.softmax(p, s, 1))

        def out(p, env):
            set_part(p, env, "out", p.matmul(env["probs"], env["x"]))

        def result(p, env):
            env["x"] = env["out"]

        steps = [Layer(key, [], ["key"]), Layer(scores, ["key"], ["scores"]), Layer(scaled, ["scores"], ["scaled"]),
                 Layer(probabilities, ["scaled"], ["probs"]), Layer(out, ["probs"], ["out"])]
        for layer, part in zip(steps, ("key", "scores", "scaled", "probs", "out")):
            layer.names = [names[part]] if part in names else []
        if chance() < 0.3:
            steps[3:4] = self.softmax_parts("scaled", "probs", 1)
        inner = sequence([*self.in_regions(steps), Layer(result)])
        return Layer(inner.emit, names=inner.names)

    def in_regions(self, steps):
        """Some neighbours of `steps`, none of which writes `x`, in regions."""
        grouped, i = [], 0
        while i < len(steps):
            length = self.random.randint(1, len(steps) - i) if self.random.random() < 0.4 else 0
            inner = Layer(sequence(steps[i:i + length]).emit) if length else None
            if inner:
                written, reads = [], []
                for step in steps[i:i + length]:
                    reads += [n for n in step.reads if n not in written]
                    written += [n for n in step.writes if n != "x"]
                inner.reads, inner.writes = union([["x"], reads]), written
                inner.names = union(step.names for step in steps[i:i + length])
                grouped.append(self.wrapped(inner))
            else:
                grouped.append(steps[i])
            i += max(length, 1)
        return grouped

    def steps(self, chain):
        """A layer for each (part, parts that it reads, what computes it from these), with names here and there."""
        layers = []
        for part, reads, compute in chain:
            name = part if self.random.random() < 0.15 else None

            def emit(p, env, part=part, reads=reads, compute=compute, name=name):
                value = compute(p, *(env[read] for read in reads))
                env[part] = self.named(p, name, value) if name else value
            layers.append(Layer(emit, reads, [part], [name] if name else []))
        return layers

    def softmax_parts(self, source, result, dimension):
        """As exporters write it."""
        one = "d0" if dimension == 1 else "d1"

        def reduced(p, x, combine, start):
            shape = (x.shape[1 - dimension],)
            filled = p.op(f"linalg.fill ins({p.scalar(start)} : f32) outs({p.empty(shape)} : {tensor(shape)}) -> {{type}}", shape)
            return p.generic([(x, "d0 d1")], shape, scalar_body(f"{combine} acc a0"), reduced=(dimension,), start=filled)

        def elementwise(p, body, x, *row):
            return p.generic([(x, "d0 d1"), *((value, one) for value in row)], x.shape, scalar_body(body))

        return self.steps([
            ("top", [source], lambda p, x: reduced(p, x, "maximumf", "0xFF800000")),
            ("lower", [source, "top"], lambda p, *values: elementwise(p, "subf a0 a1", *values)),
            ("powers", ["lower"], lambda p, lower: elementwise(p, "math.exp a0", lower)),
            ("total", ["powers"], lambda p, powers: reduced(p, powers, "addf", "0.0")),
            (result, ["powers", "total"], lambda p, *values: elementwise(p, "divf a0 a1", *values))])

    def softmax(self, _):
        dimension = self.random.choice([0, 1])

        def whole(p, env):
            env["weights"] = blocks.softmax(p, env["x"], dimension)

        def weighted(p, env):
            env["x"] = p.generic([(env["x"], "d0 d1"), (env["weights"], "d0 d1")], env["x"].shape,
                                 scalar_body("mulf a0 a1\naddf a0 b0"))

        steps = self.softmax_parts("x", "weights", dimension)
        inner = [Layer(whole)] if self.random.random() < 0.5 else self.in_regions(steps)
        result = sequence([*inner, Layer(weighted)])
        return Layer(result.emit, names=result.names)

    def center(self, _):
        """Minus the largest of the row, plus the column's sum of squared sines: reductions both ways, and values that
        calls and loops do not square until they overflow."""
        def emit(p, env):
            x, low, small = env["x"], p.scalar("0xFF800000"), p.scalar("0.05")
            start = p.op(f"linalg.fill ins({low} : f32) outs({p.empty((self.batch,))} : {tensor((self.batch,))}) -> "
                         "{type}", (self.batch,))
            top = p.generic([(x, "d0 d1")], (self.batch,), scalar_body("maximumf acc a0"), reduced=(1,), start=start)
            squares = p.generic([(x, "d0 d1")], (self.width,), scalar_body("math.sin a0\nmulf b0 b0\naddf acc b1"),
                                reduced=(0,))
            env["x"] = p.generic([(x, "d0 d1"), (top, "d0"), (squares, "d1")], x.shape, scalar_body(
                f"subf a0 a1\nmulf a2 {small}\naddf b0 b1"))
        return Layer(emit)

    def dropout(self, _):
        keep = self.random.choice([0.5, 0.9])

        def emit(p, env):
            state = env["rng"] if self.explicit_state else p.op("remat.get_rng @generator", ())
            mask, following = Value(p.fresh(), env["x"].shape, "i1"), RandomState(p.fresh())
            p.emit(f"{mask}, {following} = remat.random_bernoulli {state} {{p = {keep} : f64}} : {mask.type}")
            if self.explicit_state:
                env["rng"] = following
            else:
                p.emit(f"remat.set_rng @generator, {following}")
            zero, growth = p.scalar("0.0"), p.scalar(repr(1 / keep))
            env["x"] = p.generic([(env["x"], "d0 d1"), (mask, "d0 d1")], env["x"].shape, lambda a, m, _: ([
                f"%g = arith.mulf {a}, {growth} : f32", f"%s = arith.select {m}, %g, {zero} : f32"], "%s"))
        states = ["rng"] if self.explicit_state else []
        return Layer(emit, states, states)

    # Layers that contain layers ----------------------------------------------------------------------------------

    def residual(self, depth):
        inner = self.layers(depth)

        def emit(p, env):
            x = env["x"]
            inner.emit(p, env)
            env["x"] = p.generic([(x, "d0 d1"), (env["x"], "d0 d1")], x.shape, scalar_body("addf a0 a1"))
        return Layer(emit, inner.reads, inner.writes, inner.names)

    def policy(self, names):
        choices = ["nothing_saveable"] * 3 + ["everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable",
                                              "every_k<2>", "min_cut", "budget<2048>", "budget<1048576>"]
        if names:
            quoted = f'"{self.random.choice(names)}"'
            choices += [f"{kind}<{quoted}>" for kind in ("save_only_names", "save_any_names_but",
                                                         "save_anything_except_names", "offload_names")]
            choices.append(f"any_of<#remat.dots_with_no_batch_dims_saveable, #remat.save_only_names<{quoted}>>")
        return self.random.choice(choices)

    def region(self, depth):
        return self.wrapped(self.layers(depth))

    def wrapped(self, inner):
        """`inner` in a region."""
        policy, attributes = self.policy(inner.names), []
        if self.random.random() < 0.3:
            attributes.append("prevent_cse = array<i1: " + ", ".join(
                self.random.choice(["true", "false"]) for _ in inner.reads) + ">")
        if self.random.random() < 0.3:
            attributes.append(f'label = "{self.random.choice(["one", "other"])}"')
        attributes = f" attributes {{{', '.join(attributes)}}}" if attributes else ""

        def emit(p, env):
            if self.plain:
                inner.emit(p, env)
                return
            inside = {name: renamed(env[name], p.fresh("r")) for name in inner.reads}
            header, bound = len(p.lines), ", ".join(f"{v} = {env[n]} : {v.type}" for n, v in inside.items())
            p.depth += 1
            inner.emit(p, inside)
            yielded = [inside[n] for n in inner.writes]
            p.emit(f"remat.yield {typed(yielded)}")
            p.depth -= 1
            p.emit("}")
            env |= {n: renamed(v, p.fresh()) for n, v in zip(inner.writes, yielded)}
            results = [env[n] for n in inner.writes]
            p.lines.insert(header, "  " * p.depth + f"{', '.join(map(str, results))} = remat.region "
                           f"policy(#remat.{policy}) ({bound}) -> {', '.join(v.type for v in results)}{attributes} {{")
        return Layer(emit, inner.reads, inner.writes, inner.names)

    def loop(self, depth):
        inner, trips = self.layers(depth), self.random.randint(2, 3)

        def emit(p, env):
            low, high, one = (p.scalar(n, "index") for n in (0, trips, 1))
            inside = env | {n: renamed(env[n], p.fresh("l")) for n in inner.writes}
            carried = ", ".join(f"{inside[n]} = {env[n]}" for n in inner.writes)
            results = {n: renamed(env[n], p.fresh()) for n in inner.writes}
            types = ", ".join(v.type for v in results.values())
            p.emit(f"{', '.join(map(str, results.values()))} = scf.for %i = {low} to {high} step {one} "
                   f"iter_args({carried}) -> ({types}) {{".replace("%i ", p.fresh("i") + " "))
            p.depth += 1
            inner.emit(p, inside)
            p.emit(f"scf.yield {typed([inside[n] for n in inner.writes])}")
            p.depth -= 1
            p.emit("}")
            env |= results
        return Layer(emit, inner.reads, inner.writes, inner.names)

    def number(self, p, env, example, most):
        """An index from 0 to `most`, of the form 2^n - 1, that the data give."""
        at, mask = p.scalar(example, "index"), p.scalar(most, "i32")
        token, low, number = p.fresh(), p.fresh(), p.fresh()
        p.emit(f"{token} = tensor.extract {env['tokens']}[{at}] : {env['tokens'].type}")
        p.emit(f"{low} = arith.andi {token}, {mask} : i32")
        p.emit(f"{number} = arith.index_cast {low} : i32 to index")
        return number

    def branch(self, depth):
        """One of two lists of layers, as the data say."""
        layers = [self.layers(depth), self.layers(depth)]
        reads, writes = union([["tokens"]] + [l.reads for l in layers]), union(l.writes for l in layers)
        example = self.random.randrange(self.batch)

        def emit(p, env):
            number, zero, flag = self.number(p, env, example, 1), p.scalar(0, "index"), p.fresh()
            p.emit(f"{flag} = arith.cmpi eq, {number}, {zero} : index")
            results = {n: renamed(env[n], p.fresh()) for n in writes}
            types = ", ".join(v.type for v in results.values())
            for layer, opening in zip(layers, (f"{', '.join(map(str, results.values()))} = scf.if {flag} -> ({types}) {{",
                                               "} else {")):
                p.emit(opening)
                inside = dict(env)
                p.depth += 1
                layer.emit(p, inside)
                p.emit(f"scf.yield {typed([inside[n] for n in writes])}")
                p.depth -= 1
            p.emit("}")
            env |= results
        return Layer(emit, reads, writes, union(l.names for l in layers))

    def dynamic_loop(self, depth):
        """None to three iterations, as the data say; as an scf.for or an scf.while."""
        inner, example, as_while = self.layers(depth), self.random.randrange(self.batch), self.random.random() < 0.5
        self.is_dynamic = True

        def emit(p, env):
            low, high, one = p.scalar(0, "index"), self.number(p, env, example, 3), p.scalar(1, "index")
            results = {n: renamed(env[n], p.fresh()) for n in inner.writes}
            names, count = ", ".join(map(str, results.values())), p.fresh("i")
            types = [v.type for v in results.values()]
            first = {n: renamed(env[n], p.fresh("l")) for n in inner.writes}
            carried = ", ".join(f"{first[n]} = {env[n]}" for n in inner.writes)
            if as_while:
                more, following, all_types = p.fresh(), p.fresh(), ", ".join(types + ["index"])
                p.emit(f"{names}, {p.fresh()} = scf.while ({carried}, {count} = {low}) : ({all_types}) -> ({all_types}) {{")
                p.emit(f"  {more} = arith.cmpi ult, {count}, {high} : index")
                p.emit(f"  scf.condition({more}) {', '.join(map(str, first.values()))}, {count} : {all_types}")
                p.emit("} do {")
                first = {n: renamed(v, p.fresh("l")) for n, v in first.items()}
                p.emit(f"^bb0({', '.join(f'{v}: {v.type}' for v in first.values())}, {count}: index):")
            else:
                p.emit(f"{names} = scf.for {count} = {low} to {high} step {one} iter_args({carried}) -> ({', '.join(types)}) {{")
            inside = env | first
            p.depth += 1
            inner.emit(p, inside)
            yielded = typed([inside[n] for n in inner.writes])
            if as_while:
                p.emit(f"{following} = arith.addi {count}, {one} : index")
                values, kinds = yielded.split(" : ")
                yielded = f"{values}, {following} : {kinds}, index"
            p.emit(f"scf.yield {yielded}")
            p.depth -= 1
            p.emit("}")
            env |= results
        return Layer(emit, union([["tokens"], inner.reads]), inner.writes, inner.names)

    def call(self, depth):
        """A private function, called twice with the same parameters."""
        inner = self.layers(depth)
        name = f"layer{self.prefix[:-1]}_{self.random.getrandbits(24)}"
        written = []

        def emit(p, env):
            if not written:
                body = Printer()
                body.depth = 1
                inside = {n: renamed(env[n], body.fresh("p")) for n in inner.reads}
                arguments = ", ".join(f"{v}: {v.type}" for v in inside.values())
                inner.emit(body, inside)
                results = [inside[n] for n in inner.writes]
                types = ", ".join(v.type for v in results)
                self.functions.append(f"func.func private @{name}({arguments}) -> ({types}) {{\n" + "\n".join(body.lines) +
                                      f"\n  return {typed(results)}\n}}\n")
                written.append(name)
            for _ in range(2):
                results = {n: renamed(env[n], p.fresh()) for n in inner.writes}
                operands = [env[n] for n in inner.reads]
                p.emit(f"{', '.join(map(str, results.values()))} = func.call @{name}({', '.join(map(str, operands))}) : "
                       f"({', '.join(v.type for v in operands)}) -> ({', '.join(v.type for v in results.values())})")
                env |= results
        return Layer(emit, inner.reads, inner.writes)

    # The program -------------------------------------------------------------------------------------------------

    def dense_input(self, p, env):
        env["x"] = p.matmul(env["input"], env["first"])

    def embedding(self, p, env):
        shape, table = (self.batch, self.width), env["first"]
        env["x"] = p.generic([(env["tokens"], "d0"), (env["input"], "d0 d1")], shape, lambda t, e, _: ([
            f"%t = arith.index_cast {t} : i32 to index", "%j = linalg.index 1 : index",
            f"%r = tensor.extract {table}[%t, %j] : {table.type}", f"%s = arith.addf %r, {e} : f32"], "%s"))

    def tame(self, p, x):
        """`x` divided by its root mean square: what loops and calls have let grow gives no gradient that makes the
        next steps overflow."""
        share, tiny = p.scalar(repr(1 / (self.batch * self.width))), p.scalar("1.0e-05")
        square = p.generic([(x, "d0 d1")], (), scalar_body(f"mulf a0 a0\nmulf b0 {share}\naddf acc b1"), reduced=(0, 1))
        return p.generic([(x, "d0 d1"), (square, "")], x.shape, scalar_body(
            f"addf a1 {tiny}\nmath.rsqrt b0\nmulf a0 b1"))

    def head(self, p, env):
        """Logits of a vocabulary and their loss, which are tiles of rows of `loss_tile` bytes. Names stand, and borders of
        regions go, anywhere in it."""
        chance, rows, words = self.random.random, self.batch, self.vocabulary
        parts = ["begin_head", "logits", "capped", "top", "total", "norm", "squares", "picked", "losses"]
        names = {part: part for part in parts if chance() < 0.2}
        caps, squares_early, has_squares, weighted = chance() < 0.3, chance() < 0.5, chance() < 0.5, chance() < 0.5

        def set_part(p, env, part, value):
            env[part] = self.named(p, names[part], value) if part in names else value

        def begin(p, env):
            set_part(p, env, "begin_head", p.generic([(env["x"], "d0 d1")], env["x"].shape, scalar_body("math.tanh a0")))

        def logits(p, env):
            h, w = env["begin_head"], env["words"]
            columns = "d1 d2" if w.shape[0] == words else "d2 d1"
            set_part(p, env, "logits", p.contraction(h, "d0 d2", w, columns, (rows, words), "d0 d1", 3, (2,)))

        def capped(p, env):
            logits = env["logits"]
            set_part(p, env, "capped", p.generic([(logits, "d0 d1")], logits.shape, scalar_body("math.tanh a0"))
                     if caps else logits)

        def top(p, env):
            start = p.op(f"linalg.fill ins({p.scalar('0xFF800000')} : f32) outs({p.empty((rows,))} : {tensor((rows,))}) -> "
                         "{type}", (rows,))
            set_part(p, env, "top", p.generic([(env["capped"], "d0 d1")], (rows,), scalar_body("maximumf acc a0"),
                                              reduced=(1,), start=start))

        def total(p, env):
            set_part(p, env, "total", p.generic([(env["capped"], "d0 d1"), (env["top"], "d0")], (rows,), scalar_body(
                "subf a0 a1\nmath.exp b0\naddf acc b1"), reduced=(1,)))

        def norm(p, env):
            set_part(p, env, "norm", p.generic([(env["top"], "d0"), (env["total"], "d0")], (rows,), scalar_body(
                "math.log a1\naddf a0 b0")))

        def squares(p, env):
            set_part(p, env, "squares", p.generic([(env["norm"], "d0")], (), scalar_body(
                f"mulf a0 a0\nmulf b0 {p.scalar('0.01')}\naddf acc b1"), reduced=(0,)))

        def picked(p, env):
            zero = p.scalar("0.0")
            set_part(p, env, "picked", p.generic([(env["capped"], "d0 d1"), (env["labels"], "d0")], (rows,), lambda a, t, acc: ([
                "%j = linalg.index 1 : index", f"%t = arith.index_cast {t} : i32 to index",
                "%is = arith.cmpi eq, %j, %t : index", f"%l = arith.select %is, {a}, {zero} : f32",
                f"%s = arith.addf {acc}, %l : f32"], "%s"), reduced=(1,)))

        def losses(p, env):
            three, one = p.scalar(3, "i32"), p.scalar(1, "i32")
            weight = [f"%w = arith.remui %l, {three} : i32", f"%v = arith.addi %w, {one} : i32", "%u = arith.uitofp %v : i32 to f32"]
            set_part(p, env, "losses", p.generic(
                [(env["norm"], "d0"), (env["picked"], "d0"), (env["labels"], "d0")], (rows,), lambda n, c, t, _: (
                    [f"%d = arith.subf {n}, {c} : f32"] + [line.replace("%l", t) for line in weight] + [
                        "%r = arith.mulf %d, %u : f32"] if weighted else [f"%r = arith.subf {n}, {c} : f32"], "%r")))

        def layer(emit, reads):
            part = "begin_head" if emit == begin else emit.__name__
            return Layer(emit, reads, [part], [names[part]] if part in names else [])

        steps = [layer(begin, []), layer(logits, ["begin_head", "words"]), layer(capped, ["logits"]), layer(top, ["capped"]),
                 layer(total, ["capped", "top"]), layer(norm, ["top", "total"])]
        steps += [layer(squares, ["norm"])] if has_squares and squares_early else []
        steps += [layer(picked, ["capped", "labels"]), layer(losses, ["norm", "picked", "labels"])]
        steps += [layer(squares, ["norm"])] if has_squares and not squares_early else []
        sequence(self.in_regions(steps)).emit(p, env)
        share = p.scalar(repr(1 / rows))
        loss = p.generic([(env["losses"], "d0")], (), scalar_body(f"mulf a0 {share}\naddf acc b0"), reduced=(0,))
        return p.generic([(loss, ""), (env["squares"], "")], (), scalar_body("addf a0 a1")) if has_squares else loss

    def loss(self, p, env):
        x = env["x"] = p.matmul(self.tame(p, env["x"]), env["last"])
        if "words" in env:
            return self.head(p, env)
        share = p.scalar(repr(1 / (self.batch * self.width)))
        return p.generic([(x, "d0 d1"), (env["target"], "d0 d1")], (), scalar_body(
            f"subf a0 a1\nmulf b0 b0\nmulf b1 {share}\naddf acc b2"), reduced=(0, 1))

    def program(self, start, layers):
        self.random = random.Random(f"{self.seed}.end")
        square, tokens = (self.width, self.width), start == self.embedding
        # A head reads the embedding's table, another one, or there is none.
        has_head, is_tied = self.random.random() < 0.5, self.random.random() < 0.5 and tokens
        table = (self.vocabulary if is_tied and has_head else 11, self.width)
        self.argument("opt.param", "first", table if tokens else square, "normal(0.2)")
        self.argument("opt.param", "last", square, "normal(0.2)")
        reads = ["first", "last"] + (layers.reads if layers else [])
        if has_head and not is_tied:
            reads.append(self.argument("opt.param", "words", (self.width, self.vocabulary), "normal(0.2)"))
        derived = [name for name in self.derived if name in reads]
        reads += union(self.derived[name][0] for name in derived)
        written = [n for n in (layers.writes if layers else []) if n != "x"]
        p, declared = Printer(), []
        p.depth = 1
        env = {"input": Value("%input", (self.batch, self.width)), "target": Value("%target", (self.batch, self.width)),
               "tokens": Value("%tokens", (self.batch,), "i32"), "labels": Value("%labels", (self.batch,), "i32")}
        for name, value in env.items():
            declared.append(f'{value}: {value.type} {{remat.data = "{name}"}}')
        for name in dict.fromkeys(reads):
            if name in self.arguments:
                kind, shape, initial = self.arguments[name]
                env[name] = Value(f"%arg{len(env)}", shape)
                declared.append(f'{env[name]}: {env[name].type} {{{kind} = "{name}", opt.init = "{initial}"}}')
        if "rng" in reads:
            env["rng"] = RandomState("%rng")
            declared.append("%rng: !remat.rng")
        for name in derived:
            env[name] = self.derived[name][1](p, env)
        if has_head and is_tied:
            env["words"] = env["first"]
        start(p, env)
        env["begin"] = env["x"]
        if layers:
            layers.emit(p, env)
        loss = self.loss(p, env)
        results = [loss] + [env[n] for n in written]
        types = ["tensor<f32> {remat.loss}"] + [
            env[n].type + (f' {{remat.state = "{n}"}}' if n != "rng" else "") for n in written]
        body = "\n".join(p.lines)
        generator = "remat.generator @generator seed(3)\n" if "@generator" in body + "".join(self.functions) else ""
        optimizer = self.random.choice(OPTIMIZERS)
        rule = QUANTIZED.replace("BITS", self.random.choice("48")) if "@quantized" in optimizer else ""
        return (f"opt.optimizer @optimizer = {optimizer}\n"
                "remat.train_step @step for @loss optimizer(@optimizer) {eager}\n" + rule + generator + "".join(self.functions) +
                f"func.func @loss(\n    {', '.join(declared)})\n    -> ({', '.join(types)}) {{\n{body}\n"
                f"  return {typed(results)}\n}}\n")


if __name__ == "__main__":
    print(Model(int(sys.argv[1]), plain=sys.argv[2:] == ["plain"]).text, end="")
