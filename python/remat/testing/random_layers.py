# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A family of random programs with regions in f64: see `random_families`.

A chain of layers on one matrix, some of them in `remat.region`s, nested, with names and any policy. What a region reads is
its operand; each operand, a weight among them, may be read inside of several regions.
"""

from remat.testing.random_programs import Body, affine, tensor

POLICIES = ["nothing_saveable", "everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "offload_dots"]
NAMED_POLICIES = ["save_only_names", "save_any_names_but", "save_anything_except_names", "offload_names"]


class Scope:
    """The body of the function or of a region: what stands in it, and what it takes from around."""

    def __init__(self, layers, outer=None):
        self.layers, self.outer = layers, outer
        self.taken = {}  # value around -> (argument, type)
        self.values, self.names = [], []

    def take(self, value, kind):
        """A value of the function's body, here."""
        if not self.outer:
            return value
        value = self.outer.take(value, kind)
        if value not in self.taken:
            self.taken[value] = self.layers.p.fresh(), kind
        return self.taken[value][0]


class Layers:
    def __init__(self, program):
        self.p, self.rng = program, program.rng
        self.shape = [self.rng.randint(1, 3), self.rng.randint(1, 4)]
        self.type = tensor(self.shape)
        self.weights = []

    def weight(self, scope, shape):
        """A new parameter, or one that is read elsewhere too."""
        same = [value for value, kind in self.weights if kind == tensor(shape)]
        if not same or self.rng.random() < 0.7:
            same = [self.p.parameter(shape, -0.8, 0.8)]
            self.weights.append((same[0], tensor(shape)))
        return scope.take(self.rng.choice(same), tensor(shape))

    def pick(self, scope):
        return self.rng.choice(scope.values[-3:])

    # Layers: each makes one value of the matrix's type -------------------------------------------------------------

    def elementwise(self, scope):
        ins = [self.pick(scope) for _ in range(self.rng.randint(1, 2))]
        identity = affine(2, ["d0", "d1"])

        def body(x):
            b = Body(self.rng)
            return b.lines, [b.small(b.chain(x[:len(ins)], self.rng.randint(1, 3)), 1.1)]

        return self.p.generic(["parallel"] * 2, [(x, self.type, identity) for x in ins],
                              [(self.p.empty(self.shape), self.type, identity)], body)

    def product(self, scope):
        x, w = self.pick(scope), self.weight(scope, [self.shape[1]] * 2)
        y = self.p.filled(self.shape, 0.0)
        return self.p.emit(f"linalg.matmul ins({x}, {w} : {self.type}, {tensor([self.shape[1]] * 2)}) "
                           f"outs({y} : {self.type}) -> {self.type}")

    def bias(self, scope):
        b, kind = self.weight(scope, [self.shape[1]]), tensor([self.shape[1]])
        wide = self.p.emit(f"linalg.broadcast ins({b} : {kind}) outs({self.p.empty(self.shape)} : {self.type}) dimensions = [0]")
        return self.p.emit(f"linalg.add ins({self.pick(scope)}, {wide} : {self.type}, {self.type}) "
                           f"outs({self.p.empty(self.shape)} : {self.type}) -> {self.type}")

    def softmax(self, scope):
        return self.p.emit(f"linalg.softmax dimension(1) ins({self.pick(scope)} : {self.type}) "
                           f"outs({self.p.empty(self.shape)} : {self.type}) -> {self.type}")

    def center(self, scope):
        x, rows = self.pick(scope), [self.shape[0]]
        total = self.p.emit(f"linalg.reduce {{ arith.addf }} ins({x} : {self.type}) "
                            f"outs({self.p.filled(rows, 0.0)} : {tensor(rows)}) dimensions = [1]")
        identity, row = affine(2, ["d0", "d1"]), affine(2, ["d0"])
        return self.p.generic(["parallel"] * 2, [(x, self.type, identity), (total, tensor(rows), row)],
                              [(self.p.empty(self.shape), self.type, identity)],
                              lambda a: ([f"%q = arith.mulf {a[0]}, {a[1]} : f64", "%r = math.sin %q : f64"], ["%r"]))

    def name(self, scope):
        label = self.rng.choice("gh")
        scope.names.append(label)
        return self.p.emit(f'remat.name "{label}" {self.pick(scope)} : {self.type}')

    def region(self, scope):
        """Emitted once its body is known: then it is known what the body takes and which names it has."""
        outside, self.p.lines = self.p.lines, []
        inner = Scope(self, scope)
        for value in self.rng.sample(scope.values, min(len(scope.values), self.rng.randint(1, 2))):
            inner.taken.setdefault(value, (self.p.fresh(), self.type))
        inner.values = [argument for argument, _ in inner.taken.values()]
        self.fill(inner, self.rng.randint(1, 4), 1 + self.depth(scope))
        results = self.rng.sample(inner.values, self.rng.randint(1, min(2, len(inner.values))))
        body, self.p.lines = self.p.lines, outside
        scope.names += inner.names
        values = [self.p.fresh() for _ in results]
        types = ", ".join([self.type] * len(results))
        operands = ", ".join(f"{argument} = {value} : {kind}" for value, (argument, kind) in inner.taken.items())
        policy = self.policy(inner)
        self.p.lines.append(f"{', '.join(values)} = remat.region {policy}({operands}) -> {types} {{")
        self.p.lines += [f"  {line}" for line in body]
        self.p.lines += [f"  remat.yield {', '.join(results)} : {types}", "}"]
        scope.values += values[:-1]
        return values[-1]

    def policy(self, scope):
        names = sorted(set(scope.names))
        choices = [f"#remat.{policy}" for policy in POLICIES] + [f"#remat.every_k<{self.rng.randint(1, 3)}>"]
        choices += [f'#remat.{policy}<"{self.rng.choice(names)}">' for policy in NAMED_POLICIES] if names else []
        choices.append(f"#remat.any_of<{', '.join(self.rng.sample(choices, 2))}>")
        return f"policy({self.rng.choice(choices)}) " if self.rng.random() < 0.9 else ""

    def depth(self, scope):
        return 1 + self.depth(scope.outer) if scope.outer else 0

    def fill(self, scope, count, depth=0):
        kinds = [self.elementwise] * 3 + [self.product, self.bias, self.softmax, self.center, self.name]
        for _ in range(count):
            regions = [self.region] * (4 if depth < 3 else 0)
            scope.values.append(self.rng.choice(kinds + regions)(scope))


def layers(p):
    chain = Layers(p)
    scope = Scope(chain)
    scope.values.append(p.parameter(chain.shape))
    chain.fill(scope, p.rng.randint(2, 5))
    return p.weighted_sum(scope.values[-1], chain.shape)
