# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small printer for the benchmark models: linalg on f32 tensors, one value a line. With bf16, what is elementwise is
stored in it, and computed in f32; products of bf16 are added up in f32 and rounded, as exporters print them; sums are f32."""


class Value:
    def __init__(self, name, shape, element="f32"):
        self.name, self.shape, self.element = name, tuple(shape), element

    @property
    def type(self):
        return tensor(self.shape, self.element)

    def __str__(self):
        return self.name


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def typed(values):
    return ", ".join(map(str, values)) + " : " + ", ".join(v.type for v in values)


def affine_map(dims, results):
    names = ", ".join(f"d{i}" for i in range(dims))
    return f"affine_map<({names}) -> ({', '.join(results)})>"


class Printer:
    """Collects the lines of one function body. Shapes are checked by whoever parses the text."""

    def __init__(self, element="f32"):
        self.element = element
        self.lines, self.count, self.depth = [], 0, 2

    def emit(self, text):
        self.lines.append("  " * self.depth + text)

    def fresh(self, stem="v"):
        self.count += 1
        return f"%{stem}{self.count}"

    def op(self, text, shape, element="f32"):
        """`text` holds {type} where the result type belongs."""
        value = Value(self.fresh(), shape, element)
        self.emit(f"{value} = {text.replace('{type}', value.type)}")
        return value

    def scalar(self, number, element="f32"):
        value = self.fresh("c")
        self.emit(f"{value} = arith.constant {number} : {element}")
        return value

    def empty(self, shape, element="f32"):
        return self.op("tensor.empty() : {type}", shape, element)

    def zeros(self, shape):
        start = self.empty(shape)
        return self.op(f"linalg.fill ins({self.scalar('0.0')} : f32) outs({typed([start])}) -> {{type}}", shape)

    def generic(self, inputs, shape, body, reduced=(), dims=None, index_results=None, start=None):
        """A linalg.generic. `inputs` is a list of (value, "d0 d1 ..."); the loops of the result are all loops but the
        `reduced` ones (sizes of which are implied by the inputs). `body` maps the names of the scalar inputs (and of
        the accumulator, last) to (lines, result); lines may use %b<i>."""
        loops = dims if dims is not None else len(shape) + len(reduced)
        out_dims = [f"d{i}" for i in range(loops) if i not in reduced]
        maps = [affine_map(loops, m.split()) for _, m in inputs] + [affine_map(loops, out_dims)]
        kinds = ", ".join('"reduction"' if i in reduced else '"parallel"' for i in range(loops))
        start = start or (self.zeros(shape) if reduced else self.empty(shape, self.element))
        scalars = [f"%a{i}" for i in range(len(inputs))]
        lines, result = body(*scalars, "%acc")
        value = Value(self.fresh(), shape, start.element)
        values = [v for v, _ in inputs]
        arguments = [f"%n{i}" if v.element == "bf16" else s for i, (v, s) in enumerate(zip(values, scalars))]
        lines = [f"{s} = arith.extf {a} : bf16 to f32" for s, a in zip(scalars, arguments) if a != s] + lines
        if start.element == "bf16":
            lines, result = lines + [f"%narrow = arith.truncf {result} : f32 to bf16"], "%narrow"
        ins = f" ins({typed(values)})" if values else ""
        self.emit(f"{value} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}{ins} "
                  f"outs({typed([start])}) {{")
        arguments = [f"{a}: {v.element}" for a, v in zip(arguments, values)] + [f"%acc: {start.element}"]
        self.emit(f"^bb0({', '.join(arguments)}):")
        for line in lines:
            self.emit("  " + line)
        self.emit(f"  linalg.yield {result} : {start.element}")
        self.emit(f"}} -> {value.type}")
        return value

    def narrow(self, a):
        """In the element type of products."""
        if a.element == self.element:
            return a
        dims = " ".join(f"d{i}" for i in range(len(a.shape)))
        return self.generic([(a, dims)], a.shape, lambda x, _: ([], x))

    def matmul(self, a, b, start=None, rounded=True):
        """`start` is f32, as the result is if it is not rounded."""
        a, b = self.narrow(a), self.narrow(b)
        shape = (a.shape[0], b.shape[1])
        start = start or self.zeros(shape)
        product = self.op(f"linalg.matmul ins({typed([a, b])}) outs({typed([start])}) -> {{type}}", shape)
        return self.narrow(product) if rounded else product

    def contraction(self, a, a_map, b, b_map, shape, out_map, loops, reduced):
        a, b = self.narrow(a), self.narrow(b)
        maps = ", ".join(affine_map(loops, m.split()) for m in (a_map, b_map, out_map))
        kinds = ", ".join('"reduction"' if i in reduced else '"parallel"' for i in range(loops))
        start = self.zeros(shape)
        value = Value(self.fresh(), shape)
        self.emit(f"{value} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                  f"ins({typed([a, b])}) outs({typed([start])}) {{")
        self.emit(f"^bb0(%a0: {a.element}, %a1: {b.element}, %acc: f32):")
        names = [f"%a{i}" for i in range(2)]
        if self.element == "bf16":
            names = [f"%w{i}" for i in range(2)]
            for i in range(2):
                self.emit(f"  %w{i} = arith.extf %a{i} : bf16 to f32")
        self.emit(f"  %b0 = arith.mulf {names[0]}, {names[1]} : f32")
        self.emit("  %b1 = arith.addf %acc, %b0 : f32")
        self.emit("  linalg.yield %b1 : f32")
        self.emit(f"}} -> {value.type}")
        return self.narrow(value)

    def expand(self, a, groups, shape):
        sizes = ", ".join(map(str, shape))
        return self.op(f"tensor.expand_shape {a} {groups} output_shape [{sizes}] : {a.type} into {{type}}", shape, a.element)

    def collapse(self, a, groups, shape):
        return self.op(f"tensor.collapse_shape {a} {groups} : {a.type} into {{type}}", shape, a.element)

    def slice(self, a, offsets, sizes, shape=None):
        strides = ", ".join("1" for _ in sizes)
        return self.op(f"tensor.extract_slice {a}[{', '.join(map(str, offsets))}] [{', '.join(map(str, sizes))}] "
                       f"[{strides}] : {a.type} to {{type}}", shape or sizes, a.element)

    def region(self, label, inputs, build):
        """A remat.region over `inputs`; `build` gets their block arguments and returns the outputs."""
        inner = [Value(self.fresh("r"), v.shape, v.element) for v in inputs]
        header = len(self.lines)
        self.depth += 1
        outputs = build(*inner)
        self.emit(f"remat.yield {typed(outputs)}")
        self.depth -= 1
        self.emit("}")
        results = [Value(self.fresh(), v.shape, v.element) for v in outputs]
        bound = ", ".join(f"{i} = {v} : {v.type}" for i, v in zip(inner, inputs))
        self.lines.insert(header, "  " * self.depth + f"{', '.join(map(str, results))} = remat.region ({bound}) -> "
                          f"{', '.join(v.type for v in results)} attributes {{label = \"{label}\"}} {{")
        return results


def scalar_body(text):
    """A body from lines such as `mulf a0 a1` (the last one is the result); %b<i> is line i, a<i> input i, acc the
    accumulator; other words are taken as they are."""
    def build(*scalars):
        names = {f"a{i}": s for i, s in enumerate(scalars[:-1])} | {"acc": scalars[-1]}
        lines = []
        for i, line in enumerate(l.strip() for l in text.strip().splitlines()):
            if " = " in line or line.startswith("%"):
                lines.append(line)
                continue
            op, *operands = line.split()
            op = op if "." in op else "arith." + op
            operands = ", ".join(names.get(o, "%" + o if o[0] == "b" and o[1:].isdigit() else o) for o in operands)
            lines.append(f"%b{i} = {op} {operands} : f32")
        return lines, f"%b{len(lines) - 1}"
    return build
