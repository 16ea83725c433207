# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random changes of MLIR text: what `fuzz.py` feeds to remat-opt.

    mutate(rng, text, donors) -> text

Each change is one function of the table MUTATIONS. They know just enough of the syntax (lines, names, types that a
line prints) that a good part of their results still parses: only such a text reaches a pass.
"""

import re

VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
DEFINITION = re.compile(r"^\s*(%[\w$.-]+)(?::\d+)?(?:, %[\w$.-]+)* = ")
TYPE = re.compile(r"(?:tensor|memref|vector)<[^<>]*(?:<[^<>]*>)?[^<>]*>|\b[if]\d+\b|\bindex\b|\bbf16\b|!remat\.\w+")
SHAPED = re.compile(r"(?<=<)((?:(?:\d+|\?)x)+)(?=[a-z!])")
NUMBER = re.compile(r"(?<![\w%#@.])-?\d+(?:\.\d+(?:e[-+]?\d+)?)?(?![\w.])")
SIZES = ["0", "1", "2", "3", "5", "7", "16", "?", "4294967296", "4611686018427387904"]
NUMBERS = ["0", "1", "-1", "2", "3", "4", "63", "64", "1000000", "2147483648", "9223372036854775807",
           "-9223372036854775808", "0.0", "1.0", "-1.0", "0.5", "1.0e30"]
KINDS = ["f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "index", "complex<f32>", "f8E4M3FN", "si8"]
POLICIES = ["nothing_saveable", "everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable",
            'save_only_names<"h">', 'save_any_names_but<"h">', 'save_anything_except_names<"h">',
            'offload_names<"h">', "offload_dots", "every_k<2>", "min_cut", 'budget<"1KiB">', "budget<0>", "any_of<#remat.dots_saveable, #remat.every_k<1>>"]
KIN = [
    "arith.addf arith.subf arith.mulf arith.divf arith.maximumf arith.minimumf arith.maxnumf arith.minnumf arith.remf "
    "math.powf math.atan2 math.copysign",
    "math.exp math.log math.sin math.cos math.tanh math.sqrt math.rsqrt math.erf math.absf math.floor math.cbrt "
    "math.log1p math.expm1 arith.negf math.ceil math.round math.acosh",
    "arith.addi arith.subi arith.muli arith.divsi arith.remsi arith.andi arith.xori arith.shli arith.maxsi",
    "linalg.add linalg.sub linalg.mul linalg.div linalg.max linalg.min",
    "linalg.exp linalg.log linalg.tanh linalg.abs linalg.negf linalg.sqrt linalg.square linalg.copy",
    "linalg.matmul linalg.batch_matmul linalg.matvec linalg.vecmat linalg.dot linalg.add",
    "remat.random_bits remat.random_uniform remat.random_normal remat.random_bernoulli",
    "tensor.extract_slice tensor.insert_slice tensor.collapse_shape tensor.expand_shape tensor.cast",
    "scf.for scf.parallel scf.forall", "remat.region remat.backward", "residuals( cotangents( sums(",
    "func.return remat.yield scf.yield linalg.yield",
    "ogt olt oge ole ueq une", '"parallel" "reduction" "window"', "private public nested",
    "remat.phase remat.state remat.seed remat.loss remat.updates remat.gradient_of remat.step opt.param opt.state "
    "opt.state_of opt.init bufferization.writable",
    "sgd adam adamw lion", '"backward" "recompute" "update"',
]
KIN = [group.split() for group in KIN]
ATTRIBUTES = ['opt.param', 'opt.param = "w"', 'opt.param = "h"', 'remat.state = "s"', 'remat.loss', 'remat.seed = 3 : i64',
              'remat.updates = 0 : i64', 'remat.updates = 7 : i64', 'remat.gradient_of = 1 : i64', 'remat.step',
              'opt.state = "m", opt.state_of = 0 : i64', 'opt.init = "ones"', 'bufferization.writable = true',
              'remat.data = "x"', 'remat.metric = "loss"']
SNIPPETS = [
    '%n = remat.name "h" %x : T', "%n = remat.barrier %x : T", "%n = tensor.cast %x : T to tensor<*xf32>",
    "%n = scf.execute_region -> T {\n  scf.yield %x : T\n}",
    "%n = remat.region policy(#remat.POLICY) (%q = %x : T) -> T {\n  remat.yield %q : T\n}",
    "%n = remat.region (%q = %x : T) -> T {\n  %z = remat.region (%y = %q : T) -> T {\n"
    "    remat.yield %y : T\n  }\n  remat.yield %z : T\n}",
    "%n = remat.backward residuals(%q = %x : T) cotangents(%d = %x : T) sums(%s = %x : T) -> T {\n  remat.yield %s : T\n}",
    "%c = arith.constant true\n%n = scf.if %c -> T {\n  scf.yield %x : T\n} else {\n  scf.yield %x : T\n}",
    "%c = arith.constant 0 : index\n%d = arith.constant 3 : index\n%e = arith.constant 1 : index\n"
    "%n = scf.for %i = %c to %d step %e iter_args(%q = %x) -> T {\n  scf.yield %q : T\n}",
    "%c = arith.constant 0 : index\n%n = tensor.dim %x, %c : T", "%n = linalg.copy ins(%x : T) outs(%x : T) -> T",
    "%n = arith.addf %x, %x : T", "%n = math.tanh %x : T", "%n = arith.mulf %x, %x : T",
    "%n = func.call @self(%x) : (T) -> T", "%n = bufferization.alloc_tensor() copy(%x) : T",
    "%c = arith.constant true\ncf.assert %c, \"m\"", "%n = ub.poison : T",
    "%c = arith.constant true\n%n = arith.select %c, %x, %x : T", "%g = remat.get_rng : !remat.rng",
]


def lines_of(text, want=lambda line: line.strip()):
    lines = text.split("\n")
    return lines, [i for i, line in enumerate(lines) if want(line)]


def replace_one(rng, pattern, text, change):
    """`text` with one match of `pattern`, chosen at random, changed."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[:match.start()] + change(match) + text[match.end():]


def types_of_values(text):
    """Returns the types of values as the text tells them: the last type on the line of a definition, else the type after a colon."""
    types = {}
    for line in text.split("\n"):
        for name, kind in re.findall(rf"({VALUE.pattern}) ?: ({TYPE.pattern})", line):
            types.setdefault(name, kind)
        if match := DEFINITION.match(line):
            if found := TYPE.findall(line):
                types[match.group(1)] = found[-1]
    return types


def delete_line(rng, text, donors):
    lines, some = lines_of(text)
    if some:
        del lines[rng.choice(some)]
    return "\n".join(lines)


def delete_lines(rng, text, donors):
    lines, _ = lines_of(text)
    start = rng.randrange(len(lines))
    del lines[start:start + rng.randint(1, 6)]
    return "\n".join(lines)


def duplicate_line(rng, text, donors):
    lines, some = lines_of(text, DEFINITION.match)
    if not some:
        return text
    at = rng.choice(some)
    name = DEFINITION.match(lines[at]).group(1)
    new = f"%dup{rng.randrange(1000)}"
    lines.insert(at + 1, lines[at].replace(name, new, 1))
    rest = "\n".join(lines[at + 2:])
    if rng.random() < 0.7:
        rest = replace_one(rng, re.compile(re.escape(name) + r"(?![\w$.-])"), rest, lambda m: new)
    return "\n".join(lines[:at + 2]) + "\n" + rest


def swap_lines(rng, text, donors):
    lines, some = lines_of(text)
    if len(some) > 1:
        i = rng.randrange(len(some) - 1)
        j = i + 1 if rng.random() < 0.7 else rng.randrange(len(some))
        i, j = some[i], some[j]
        lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def swap_tokens(rng, text, donors):
    lines, some = lines_of(text)
    if some:
        at = rng.choice(some)
        tokens = re.findall(r"\s+|[\w%#@$.-]+|\W", lines[at])
        words = [i for i, t in enumerate(tokens) if t.strip()]
        i, j = rng.choice(words), rng.choice(words)
        tokens[i], tokens[j] = tokens[j], tokens[i]
        lines[at] = "".join(tokens)
    return "\n".join(lines)


def change_token(rng, text, donors):
    """Deletes, doubles or replaces one token."""
    pattern = re.compile(r"[\w%#@$.-]+|[^\w\s]")
    words = pattern.findall(rng.choice(donors))
    return replace_one(rng, pattern, text, lambda m: rng.choice(["", m.group() + " " + m.group()] + 2 * [rng.choice(words)]))


def replace_operand(rng, text, donors):
    types = types_of_values(text)

    def other(match):
        kind = types.get(match.group())
        same = [v for v, t in types.items() if t == kind]
        return rng.choice(same if same and rng.random() < 0.9 else list(types) or ["%x"])

    return replace_one(rng, VALUE, text, other)


def resize(rng, text, donors):
    """One size becomes another, everywhere or in one place."""
    sizes = sorted({n for dims in SHAPED.findall(text) for n in dims.split("x")[:-1]})
    if not sizes:
        return text
    old, new = rng.choice(sizes), rng.choice(SIZES)
    one = lambda dims: "".join(f"{new if n == old else n}x" for n in dims.split("x")[:-1])
    if rng.random() < 0.2:
        return replace_one(rng, SHAPED, text, lambda m: one(m.group(1)))
    return SHAPED.sub(lambda m: one(m.group(1)), text)


def rerank(rng, text, donors):
    """A dimension more or less in all shapes that are alike, or in one."""
    shapes = sorted(set(SHAPED.findall(text)))
    if not shapes:
        return text
    old = rng.choice(shapes)
    dims = old.split("x")[:-1]
    at = rng.randrange(len(dims))
    dims[at:at + 1] = [] if rng.random() < 0.5 else [dims[at], rng.choice(SIZES)]
    new = "".join(f"{n}x" for n in dims)
    if rng.random() < 0.3:
        return replace_one(rng, re.compile(f"(?<=<){re.escape(old)}(?=[a-z])"), text, lambda m: new)
    return text.replace(f"<{old}", f"<{new}")


def retype(rng, text, donors):
    kinds = sorted(set(re.findall(r"\b(?:f16|f32|f64|bf16|i1|i8|i32|i64|index)\b", text)))
    if not kinds:
        return text
    pattern = re.compile(rf"\b{rng.choice(kinds)}\b")
    new = rng.choice(KINDS)
    return replace_one(rng, pattern, text, lambda m: new) if rng.random() < 0.3 else pattern.sub(new, text)


def rename_kin(rng, text, donors):
    """A word becomes one that may stand in its place."""
    present = [(word, group) for group in KIN for word in group if word in text]
    if not present:
        return text
    word, group = rng.choice(present)
    return replace_one(rng, re.compile(re.escape(word) + r"(?!\w)"), text, lambda m: rng.choice(group))


def change_number(rng, text, donors):
    return replace_one(rng, NUMBER, text, lambda m: rng.choice(NUMBERS))


def change_map(rng, text, donors):
    def change(match):
        dims = re.findall(r"d\d+", match.group(1)) or ["0"]
        results = [r.strip() for r in match.group(2).split(",") if r.strip()]
        kind = rng.randrange(6)
        if kind == 0:
            rng.shuffle(results)
        elif kind == 1 and results:
            results.pop(rng.randrange(len(results)))
        elif kind == 2:
            results.insert(rng.randint(0, len(results)), rng.choice(dims + ["0"]))
        elif results:
            at = rng.randrange(len(results))
            d = rng.choice(dims)
            results[at] = rng.choice([d, "0", f"{d} + 1", f"{d} * 2", f"-{d} + 3", f"{d} floordiv 2", f"{d} mod 2",
                                      f"{results[at]} + {d}", f"{d} ceildiv 3"])
        return f"affine_map<({match.group(1)}) -> ({', '.join(results)})>"

    return replace_one(rng, re.compile(r"affine_map<\(([^)]*)\) -> \(([^)]*)\)>"), text, change)


def change_policy(rng, text, donors):
    return replace_one(rng, re.compile(r"#remat\.\w+(?:<(?:[^<>]|<[^<>]*>)*>)?"), text,
                       lambda m: f"#remat.{rng.choice(POLICIES)}")


def drop_attributes(rng, text, donors):
    return replace_one(rng, re.compile(r"(?:attributes )?\{[^{}\n]*\}(?!\s*:)"), text, lambda m: "")


def add_attribute(rng, text, donors):
    """On an argument or result of a function."""
    pattern = re.compile(rf"(?<=: )({TYPE.pattern})(?=[,)]| \{{)|(?<=-> )({TYPE.pattern})(?= \{{)")
    attribute = rng.choice(ATTRIBUTES)

    def add(match):
        if match.group(2):
            return f"({match.group()} {{{attribute}}})"
        return f"{match.group()} {{{attribute}}}"

    lines, some = lines_of(text, lambda line: "func" in line and "@" in line)
    if some:
        at = rng.choice(some)
        lines[at] = replace_one(rng, pattern, lines[at], add)
    return "\n".join(lines)


def move_attributes(rng, text, donors):
    """Exchanges two attribute dictionaries."""
    found = list(re.finditer(r"\{[^{}\n]*\}", text))
    if len(found) < 2:
        return text
    a, b = sorted(rng.sample(found, 2), key=lambda m: m.start())
    return text[:a.start()] + b.group() + text[a.end():b.start()] + a.group() + text[b.end():]


def change_string(rng, text, donors):
    strings = re.findall(r'"[^"\n]*"', text) + ['""', '"h"', '"w"', '"\\00"']
    return replace_one(rng, re.compile(r'"[^"\n]*"'), text, lambda m: rng.choice(strings))


def change_symbol(rng, text, donors):
    symbols = re.findall(r"@[\w$.]+", text)
    return replace_one(rng, re.compile(r"@[\w$.]+"), text, lambda m: rng.choice(symbols + ["@missing"]))


def insert_snippet(rng, text, donors):
    types = types_of_values(text)
    lines, some = lines_of(text, DEFINITION.match)
    if not some or not types:
        return text
    at = rng.choice(some)
    name = DEFINITION.match(lines[at]).group(1)
    functions = re.findall(r"func @([\w$.]+)", text) or ["missing"]
    snippet = rng.choice(SNIPPETS).replace("@self", f"@{rng.choice(functions)}")
    snippet = snippet.replace("POLICY", rng.choice(POLICIES))
    # An operation with a body ends where its brace closes.
    depth, end = 0, at
    while end < len(lines):
        depth += lines[end].count("{") - lines[end].count("}")
        end += 1
        if depth <= 0:
            break
    unique = rng.randrange(10000)
    new = f"%s{unique}n"
    for letter in "cdegiqyzn":
        snippet = re.sub(rf"%{letter}\b", f"%s{unique}{letter}", snippet)
    snippet = re.sub(r"\bT\b", types.get(name, "f32"), snippet).replace("%x", name)
    rest = "\n".join(lines[end:])
    if new in snippet and "tensor.dim" not in snippet and "tensor.cast" not in snippet:
        use = re.compile(re.escape(name) + r"(?![\w$.-])")
        rest = use.sub(new, rest) if rng.random() < 0.5 else replace_one(rng, use, rest, lambda m: new)
    return "\n".join(lines[:end] + [snippet]) + "\n" + rest


def hide_function(rng, text, donors):
    if rng.random() < 0.5:
        return replace_one(rng, re.compile(r"func\.func @"), text, lambda m: "func.func private @")
    return replace_one(rng, re.compile(r"func\.func private @"), text, lambda m: "func.func @")


def splice_line(rng, text, donors):
    lines, some = lines_of(text)
    donor, theirs = lines_of(rng.choice(donors))
    if some and theirs:
        lines.insert(rng.choice(some), donor[rng.choice(theirs)])
    return "\n".join(lines)


def splice_module(rng, text, donors):
    """Returns both modules, one after the other or nested in it."""
    donor = re.sub(r"@([\w$.]+)", r"@\1_b", rng.choice(donors))
    donor = re.sub(r"#(\w+)(?![\w.])", r"#\1b", donor)
    if rng.random() < 0.2:
        return f"{text}\nmodule {{\n{donor}\n}}"
    return f"{text}\n{donor}"


MUTATIONS = {
    delete_line: 3, delete_lines: 1, duplicate_line: 3, swap_lines: 3, swap_tokens: 1, change_token: 2,
    replace_operand: 10, resize: 8, rerank: 2, retype: 5, rename_kin: 8, change_number: 6, change_map: 5,
    change_policy: 3, drop_attributes: 4, add_attribute: 4, move_attributes: 2, change_string: 1, change_symbol: 2,
    insert_snippet: 10, hide_function: 2, splice_line: 1, splice_module: 2,
}


def mutate(rng, text, donors):
    """`text` with one to four changes."""
    changes = 1
    while changes < 4 and rng.random() < 0.45:
        changes += 1
    for mutation in rng.choices(list(MUTATIONS), list(MUTATIONS.values()), k=changes):
        text = mutation(rng, text, donors)
    return text.replace("// -----", "")
