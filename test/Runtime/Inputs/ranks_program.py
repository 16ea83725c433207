# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear regression on a grid of ROWS x COLUMNS ranks, split by hand: four examples and four features, in parts of one
example and two features. How many ranks have these parts changes no bit."""

import re
import sys

EXAMPLES, FEATURES, FEATURES_OF_PART = 4, 4, 2


class Body:
    """Operations on tensors, one to a line."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.local_rows = EXAMPLES // rows
        self.local_parts = FEATURES // FEATURES_OF_PART // columns
        self.lines = []

    def add(self, operation):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {operation}")
        return name

    def elementwise(self, shape, body, *inputs):
        """`inputs` are pairs of a value and its shape, () for a number that all elements share."""
        dims = [f"d{i}" for i in range(len(shape))]
        loops = ", ".join(dims)
        maps = [f"affine_map<({loops}) -> ({loops if s else ''})>" for _, s in (*inputs, (None, shape))]
        tensor = tensor_of(shape)
        empty = self.add(f"tensor.empty() : {tensor}")
        kinds = ", ".join(['"parallel"'] * len(shape))
        values = ", ".join(v for v, _ in inputs)
        types = ", ".join(tensor_of(s) for _, s in inputs)
        arguments = ", ".join(f"%a{i}: f32" for i in range(len(inputs)))
        return self.add(f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} "
                        f"ins({values} : {types}) outs({empty} : {tensor}) {{\n  ^bb0({arguments}, %o: f32):\n"
                        f"    %r = {body}\n    linalg.yield %r : f32\n  }} -> {tensor}")

    def dot(self, a, b, size):
        zero = self.add("arith.constant 0.0 : f32")
        empty = self.add("tensor.empty() : tensor<f32>")
        start = self.add(f"linalg.fill ins({zero} : f32) outs({empty} : tensor<f32>) -> tensor<f32>")
        tensor = tensor_of((size,))
        return self.add(f"linalg.dot ins({a}, {b} : {tensor}, {tensor}) outs({start} : tensor<f32>) -> tensor<f32>")

    def all_reduce(self, parts, shape, size, stride):
        tensor = tensor_of(shape)
        empty = self.add(f"tensor.empty() : {tensor}")
        types = ", ".join([tensor] * len(parts))
        return self.add(f"remat.all_reduce sum {{size = {size}, stride = {stride}}} ins({', '.join(parts)} : {types}) "
                        f"outs({empty} : {tensor}) -> {tensor}")

    def over_rows(self, parts, shape):
        return self.all_reduce(parts, shape, self.rows, self.columns)

    def weights(self):
        """The part of `%w` for each part of the features that this rank has."""
        first = self.add(f"remat.rank {{size = {self.columns}, stride = 1}} : index")
        size = self.add(f"arith.constant {self.local_parts * FEATURES_OF_PART} : index")
        begin = self.add(f"arith.muli {first}, {size} : index")
        parts = []
        for part in range(self.local_parts):
            within = self.add(f"arith.constant {part * FEATURES_OF_PART} : index")
            at = self.add(f"arith.addi {begin}, {within} : index")
            parts.append(self.add(f"tensor.extract_slice %w[{at}] [{FEATURES_OF_PART}] [1] : tensor<{FEATURES}xf32> to "
                                  f"{tensor_of((FEATURES_OF_PART,))}"))
        return parts

    def features(self, row, part):
        return self.add(f"tensor.extract_slice %x[{row}, {part * FEATURES_OF_PART}] [1, {FEATURES_OF_PART}] [1, 1] : "
                        f"{self.data_type()} to {tensor_of((FEATURES_OF_PART,))}")

    def errors(self):
        """Of each example that this rank has."""
        weights, errors = self.weights(), []
        for row in range(self.local_rows):
            products = [self.dot(self.features(row, part), weight, FEATURES_OF_PART) for part, weight in enumerate(weights)]
            sum_ = self.all_reduce(products, (), self.columns, 1)
            target = self.add(f"tensor.extract_slice %y[{row}] [1] [1] : {tensor_of((self.local_rows,))} to tensor<f32>")
            errors.append(self.elementwise((), "arith.subf %a0, %a1 : f32", (sum_, ()), (target, ())))
        return errors

    def squares(self, errors):
        return self.over_rows([self.elementwise((), "arith.mulf %a0, %a0 : f32", (e, ())) for e in errors], ())

    def gradient(self, errors):
        parts = []
        for part in range(self.local_parts):
            terms = [self.elementwise((FEATURES_OF_PART,), "arith.mulf %a0, %a1 : f32", (e, ()),
                                      (self.features(row, part), (FEATURES_OF_PART,))) for row, e in enumerate(errors)]
            parts.append(self.over_rows(terms, (FEATURES_OF_PART,)))
        own = tensor_of((self.local_parts * FEATURES_OF_PART,))
        types = ", ".join([tensor_of((FEATURES_OF_PART,))] * len(parts))
        mine = parts[0]
        if len(parts) > 1:
            mine = self.add(f"tensor.concat dim(0) {', '.join(parts)} : ({types}) -> {own}")
        empty = self.add(f"tensor.empty() : tensor<{FEATURES}xf32>")
        return self.add(f"remat.all_gather dim(0) {{size = {self.columns}, stride = 1}} ins({mine} : {own}) "
                        f"outs({empty} : tensor<{FEATURES}xf32>) -> tensor<{FEATURES}xf32>")

    def data_type(self):
        return tensor_of((self.local_rows, self.local_parts * FEATURES_OF_PART))

    def data(self):
        return f'%x: {self.data_type()} {{remat.data = "x"}}, %y: {tensor_of((self.local_rows,))} {{remat.data = "y"}}'


def tensor_of(shape):
    return f"tensor<{'x'.join([*map(str, shape), 'f32'])}>"


def program(rows, columns):
    step = Body(rows, columns)
    errors = step.errors()
    loss = step.squares(errors)
    gradient = step.gradient(errors)
    evaluation = Body(rows, columns)
    metric = evaluation.squares(evaluation.errors())
    newline = "\n  "
    return f"""opt.optimizer @adamw = #opt.adamw<lr = 0.1>
remat.train_step @step for @loss optimizer(@adamw) eval(@error)
    {{eager, steps = 20, seed = 7, log_every = 5, data = "train.npz", checkpoint = "run.npz", checkpoint_every = 4}}
func.func @loss_grad(%w: tensor<{FEATURES}xf32> {{opt.param = "w", opt.init = "normal(0.5)"}}, {step.data()}, %rng: vector<2xi64>)
    -> (tensor<f32> {{remat.loss}}, vector<2xi64>, tensor<{FEATURES}xf32> {{remat.gradient_of = 0}}) {{
  {newline.join(step.lines)}
  %one = arith.constant dense<[0, 1]> : vector<2xi64>
  %next = arith.addi %rng, %one : vector<2xi64>
  return {loss}, %next, {gradient} : tensor<f32>, vector<2xi64>, tensor<{FEATURES}xf32>
}}
func.func @error({evaluation.data()}, %w: tensor<{FEATURES}xf32> {{opt.param = "w"}}) -> (tensor<f32> {{remat.metric = "error"}}) {{
  {newline.join(evaluation.lines)}
  return {metric} : tensor<f32>
}}
"""


def describe(text, rows, columns):
    """Adds to the program's description which parts of data this rank has."""
    def change(match):
        description = bytes.fromhex(match.group(2)).decode()
        lines = [f"ranks\t{rows * columns}"]
        arguments = [line.split("\t") for line in description.splitlines() if line.startswith("argument\t")]
        for number, argument in enumerate(arguments):
            if argument[1] in ("data", "eval_data"):
                lines.append(f"shard\t{number}\t0\t{rows}\t{columns}")
                if argument[4] == "x":
                    lines.append(f"shard\t{number}\t1\t{columns}\t1")
        changed = (description.rstrip("\n") + "\n" + "\n".join(lines) + "\n").encode()
        sizes[match.group(1)] = len(changed)
        return f'memref<{match.group(1)}xi8> = dense<"0x{changed.hex().upper()}">'

    sizes = {}
    text = re.sub(r'memref<(\d+)xi8> = dense<"0x([0-9A-F]*)">', change, text)
    for old, new in sizes.items():
        text = text.replace(f"memref<{old}xi8>", f"memref<{new}xi8>")
    assert sizes, "the program has no description"
    return text


if __name__ == "__main__":
    grid = int(sys.argv[2]), int(sys.argv[3])
    print(program(*grid) if sys.argv[1] == "program" else describe(sys.stdin.read(), *grid))
