# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A family of random programs with structured control flow in f64: see `random_families`.

Statements are nested to a small depth: branches on data and on values, loops whose bounds, steps and trip counts are data
(zero among them), loops that end when their values say so, slices by induction variables, elements and stacks
that are carried along, and calls.
"""

from remat.testing.random_programs import tensor

SHAPE, ROWS = [3], 4
TYPE, STACK = tensor(SHAPE), tensor([ROWS] + SHAPE)


class Control:
    """Builds the statements; values in scope are lists of names, of vectors and of f64 scalars."""

    def __init__(self, program):
        self.p, self.rng = program, program.rng
        self.functions = []

    # Pieces ------------------------------------------------------------------------------------------------------

    def op(self, text):
        return self.p.emit(text)

    def map(self, name, *vectors):
        types = ", ".join([TYPE] * len(vectors))
        return self.op(f"linalg.map {{ {name} }} ins({', '.join(vectors)} : {types}) outs({self.p.empty(SHAPE)} : {TYPE})")

    def index(self, value):
        return self.op(f"arith.constant {value} : index")

    def data_index(self, values):
        """An index that is only known when the program runs."""
        array = self.p.data(self.rng.choice(values), "i64")
        return self.op(f"arith.index_cast {self.op(f'tensor.extract {array}[] : tensor<i64>')} : i64 to index")

    def data_flag(self):
        return self.op(f"tensor.extract {self.p.data(self.rng.random() < 0.5, 'i1')}[] : tensor<i1>")

    def element(self, vector):
        return self.op(f"tensor.extract {vector}[{self.index(self.rng.randrange(SHAPE[0]))}] : {TYPE}")

    def vector(self, scope):
        """One operation on vectors."""
        x, y = self.rng.choice(scope["vectors"][-4:]), self.rng.choice(scope["vectors"])
        kind = self.rng.choice(["sin", "tanh", "add", "mul", "mul", "scale", "matvec", "insert"])
        if kind in ("sin", "tanh"):
            return self.map(f"math.{kind}", x)
        if kind in ("add", "mul"):
            return self.map(f"arith.{kind}f", x, y)
        if kind == "scale":
            splat = self.op(f"tensor.splat {self.scalar(scope)} : {TYPE}")
            return self.map("arith.mulf", x, splat)
        if kind == "matvec":
            zero = self.p.filled(SHAPE, 0.0)
            return self.op(f"linalg.matvec ins({self.matrix}, {x} : {tensor(SHAPE * 2)}, {TYPE}) outs({zero} : {TYPE}) "
                           f"-> {TYPE}")
        at = self.index(self.rng.randrange(SHAPE[0]))
        return self.op(f"tensor.insert {self.scalar(scope)} into {x}[{at}] : {TYPE}")

    def scalar(self, scope):
        if scope["scalars"] and self.rng.random() < 0.6:
            x = self.rng.choice(scope["scalars"])
            return self.op(f"math.cos {x} : f64") if self.rng.random() < 0.5 else x
        return self.element(self.rng.choice(scope["vectors"]))

    def norm_below(self, vector, bound):
        zero = self.p.filled([], 0.0)
        norm = self.op(f"linalg.dot ins({vector}, {vector} : {TYPE}, {TYPE}) outs({zero} : tensor<f64>) -> tensor<f64>")
        limit = self.op(f"arith.constant {bound} : f64")
        return self.op(f"arith.cmpf olt, {self.op(f'tensor.extract {norm}[] : tensor<f64>')}, {limit} : f64")

    def block(self, build, *arguments):
        """Lines that `build` makes, indented; its result."""
        outside, self.p.lines = self.p.lines, []
        result = build(*arguments)
        lines, self.p.lines = self.p.lines, outside
        return "".join(f"  {line}\n" for line in "\n".join(lines).splitlines()), result

    def inner(self, scope, depth, results):
        """A block with some statements that yields `results`, a list of "vector" and "scalar"."""
        def build():
            scope_ = {k: list(v) for k, v in scope.items()}
            for _ in range(self.rng.randint(0 if depth else 1, 2)):
                self.statement(scope_, depth)
            pick = {"vector": lambda: self.rng.choice(scope_["vectors"][-3:]), "scalar": lambda: self.scalar(scope_)}
            values = [pick[r]() for r in results]
            types = [TYPE if r == "vector" else "f64" for r in results]
            self.p.lines.append(f"scf.yield {', '.join(values)} : {', '.join(types)}")
        return self.block(build)[0]

    def emit_many(self, text, types):
        value = self.p.fresh()
        self.p.lines.append(f"{value}:{len(types)} = {text}" if len(types) > 1 else f"{value} = {text}")
        return [f"{value}#{i}" for i in range(len(types))] if len(types) > 1 else [value]

    def add(self, scope, results, values):
        for kind, value in zip(results, values):
            scope["vectors" if kind == "vector" else "scalars"].append(value)

    # Statements --------------------------------------------------------------------------------------------------

    def statement(self, scope, depth):
        kinds = [self.plain]
        if depth:
            kinds += [self.branch, self.switch, self.execute, self.loop, self.loop, self.while_loop, self.stacking, self.call]
        self.rng.choice(kinds)(scope, depth - 1)

    def plain(self, scope, depth):
        scope["vectors"].append(self.vector(scope))

    def branch(self, scope, depth):
        results = self.rng.choice([["vector"], ["vector", "scalar"], ["scalar"], ["vector", "vector"]])
        types = [TYPE if r == "vector" else "f64" for r in results]
        if self.rng.random() < 0.6:
            condition = self.data_flag()
        else:
            condition = self.norm_below(self.rng.choice(scope["vectors"]), self.rng.choice([0.4, 1.1]))
        then, other = self.inner(scope, depth, results), self.inner(scope, depth, results)
        self.add(scope, results, self.emit_many(
            f"scf.if {condition} -> ({', '.join(types)}) {{\n{then}}} else {{\n{other}}}", types))

    def switch(self, scope, depth):
        results = self.rng.choice([["vector"], ["scalar", "vector"]])
        types = [TYPE if r == "vector" else "f64" for r in results]
        chosen = self.data_index([0, 1, 2, 5])
        cases = "".join(f"case {i} {{\n{self.inner(scope, depth, results)}}}\n" for i in (1, 2))
        default = self.inner(scope, depth, results)
        self.add(scope, results, self.emit_many(
            f"scf.index_switch {chosen} -> {', '.join(types)}\n{cases}default {{\n{default}}}", types))

    def execute(self, scope, depth):
        body = self.inner(scope, depth, ["vector"])
        self.add(scope, ["vector"], [self.op(f"scf.execute_region -> {TYPE} {{\n{body}}}")])

    def loop(self, scope, depth):
        """Over any range, with a vector, a scalar and maybe an integer carried."""
        results = self.rng.choice([["vector"], ["vector", "scalar"], ["vector", "vector"]])
        types = [TYPE if r == "vector" else "f64" for r in results]
        inits = [self.rng.choice(scope["vectors"]) if r == "vector" else self.scalar(scope) for r in results]
        low, high, step = self.data_index([0, 1, 3]), self.data_index([0, 1, 4, 6]), self.data_index([1, 2, 3])
        if self.rng.random() < 0.3:
            low, high, step = (self.index(i) for i in self.rng.choice([(0, 3, 1), (1, 6, 2), (2, 2, 1), (3, 1, 1)]))
        names, iv, number = [self.p.fresh() for _ in results], self.p.fresh(), self.p.fresh()
        one = self.index(1)

        def build():
            inner = {k: list(v) for k, v in scope.items()}
            self.add(inner, results, names)
            last = self.index(ROWS - 1)
            row = self.op(f"arith.minui {iv}, {last} : index")
            inner["vectors"].append(self.op(
                f"tensor.extract_slice {self.stack}[{row}, 0] [1, {SHAPE[0]}] [1, 1] : {STACK} to {TYPE}"))
            if self.rng.random() < 0.5:
                integer = self.op(f"arith.index_cast {number} : index to i64")
                inner["scalars"].append(self.op(f"arith.sitofp {integer} : i64 to f64"))
            for _ in range(self.rng.randint(1, 2)):
                self.statement(inner, depth)
            following = self.op(f"arith.addi {number}, {one} : index")
            values = [self.map("math.tanh", self.rng.choice(inner["vectors"][-3:])) if r == "vector"
                      else self.scalar(inner) for r in results]
            self.p.lines.append(f"scf.yield {', '.join(values + [following])} : {', '.join(types + ['index'])}")

        body = self.block(build)[0]
        carried = ", ".join(f"{n} = {i}" for n, i in zip(names + [number], inits + [one]))
        values = self.emit_many(f"scf.for {iv} = {low} to {high} step {step} iter_args({carried}) -> "
                                f"({', '.join(types + ['index'])}) {{\n{body}}}", types + ["index"])
        self.add(scope, results, values)

    def while_loop(self, scope, depth):
        """Ends by a counter, a norm, or both; the first region may compute what the second one gets."""
        init, bound = self.rng.choice(scope["vectors"]), self.data_index([0, 1, 3])
        zero, one = self.index(0), self.index(1)
        x, count, y, counted = (self.p.fresh() for _ in range(4))
        by_norm, computes = self.rng.random() < 0.4, self.rng.random() < 0.4

        def before():
            value = self.map("math.sin", x) if computes else x
            more = self.op(f"arith.cmpi ult, {count}, {bound} : index")
            if by_norm:
                more = self.op(f"arith.andi {more}, {self.norm_below(x, 2.3)} : i1")
            self.p.lines.append(f"scf.condition({more}) {value}, {count} : {TYPE}, index")

        def after():
            inner = {k: list(v) for k, v in scope.items()}
            inner["vectors"].append(y)
            for _ in range(self.rng.randint(1, 2)):
                self.statement(inner, depth)
            following = self.op(f"arith.addi {counted}, {one} : index")
            value = self.map("math.tanh", inner["vectors"][-1])
            self.p.lines.append(f"scf.yield {value}, {following} : {TYPE}, index")

        first, second = self.block(before)[0], self.block(after)[0]
        values = self.emit_many(
            f"scf.while ({x} = {init}, {count} = {zero}) : ({TYPE}, index) -> ({TYPE}, index) {{\n{first}}} do {{\n"
            f"^bb0({y}: {TYPE}, {counted}: index):\n{second}}}", [TYPE, "index"])
        scope["vectors"].append(values[0])

    def stacking(self, scope, depth):
        """A loop that writes rows of a carried stack, which is read afterwards, as JAX's scan does."""
        init, high = self.rng.choice(scope["vectors"]), self.data_index([0, 2, ROWS])
        zero, one = self.index(0), self.index(1)
        x, rows, iv = (self.p.fresh() for _ in range(3))

        def build():
            inner = {k: list(v) for k, v in scope.items()}
            inner["vectors"].append(x)
            self.statement(inner, depth)
            value = self.map("math.sin", inner["vectors"][-1])
            filled = self.op(f"tensor.insert_slice {value} into {rows}[{iv}, 0] [1, {SHAPE[0]}] [1, 1] : {TYPE} into {STACK}")
            self.p.lines.append(f"scf.yield {value}, {filled} : {TYPE}, {STACK}")

        body = self.block(build)[0]
        values = self.emit_many(
            f"scf.for {iv} = {zero} to {high} step {one} iter_args({x} = {init}, {rows} = {self.stack}) -> "
            f"({TYPE}, {STACK}) {{\n{body}}}", [TYPE, STACK])
        row = self.index(self.rng.randrange(ROWS))
        scope["vectors"] += [values[0], self.op(
            f"tensor.extract_slice {values[1]}[{row}, 0] [1, {SHAPE[0]}] [1, 1] : {STACK} to {TYPE}")]

    def call(self, scope, depth):
        """A function of two vectors and a scalar, called twice."""
        name = f"{self.p.name}_f{len(self.functions)}"
        self.functions.append(None)
        position = len(self.functions) - 1
        passed = [self.p.fresh() for _ in range(4)]
        kept = self.matrix, self.stack

        def build():
            inner = {"vectors": passed[:2], "scalars": [passed[2]]}
            self.matrix = passed[3]
            arguments_before = len(self.p.arguments)
            for _ in range(self.rng.randint(1, 2)):
                self.closed(inner)
            assert len(self.p.arguments) == arguments_before
            # Results that share a buffer confuse upstream's bufferization of calls.
            return [self.map(f"math.{name}", self.rng.choice(inner["vectors"])) for name in ("sin", "tanh")]

        body, (first, second) = self.block(build)
        self.matrix, self.stack = kept
        types = [TYPE, TYPE, "f64", tensor(SHAPE * 2)]
        self.functions[position] = (
            f"func.func private @{name}({', '.join(f'{n}: {t}' for n, t in zip(passed, types))}) -> ({TYPE}, {TYPE}) {{\n{body}"
            f"  return {first}, {second} : {TYPE}, {TYPE}\n}}\n")
        for _ in range(2):
            values = [self.rng.choice(scope["vectors"]), self.rng.choice(scope["vectors"]), self.scalar(scope), self.matrix]
            scope["vectors"] += self.emit_many(
                f"func.call @{name}({', '.join(values)}) : ({', '.join(types)}) -> ({TYPE}, {TYPE})", [TYPE, TYPE])

    def closed(self, scope):
        """A statement that needs no data: the body of a function."""
        if self.rng.random() < 0.5:
            return self.plain(scope, 0)
        condition = self.norm_below(self.rng.choice(scope["vectors"]), 1.1)
        then, other = self.inner(scope, 0, ["vector"]), self.inner(scope, 0, ["vector"])
        scope["vectors"].append(self.op(f"scf.if {condition} -> ({TYPE}) {{\n{then}}} else {{\n{other}}}"))


def control(p):
    builder = Control(p)
    builder.matrix, builder.stack = p.parameter(SHAPE * 2), p.parameter([ROWS] + SHAPE)
    scope = {"vectors": [p.parameter(SHAPE), p.parameter(SHAPE)], "scalars": []}
    for _ in range(p.rng.randint(2, 3)):
        builder.statement(scope, 2)
    total = None
    for value in scope["vectors"][-3:] + scope["vectors"][:2]:
        total = p.weighted_sum(value, SHAPE, total)
    total = p.weighted_sum(builder.matrix, SHAPE * 2, p.weighted_sum(builder.stack, [ROWS] + SHAPE, total))
    p.functions = "".join(builder.functions)
    return total
