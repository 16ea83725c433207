# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model whose parameters and states are stored in fewer bytes, in each way that there is, and checks what some steps made
of them.

    stored_states.py write
    stored_states.py check
    stored_states.py same FILE FILE        two checkpoints are equal

The loss is the sum of the products of all parameters with arrays of the data file: these arrays are the gradients. The check
computes in f32, as the kernels do, but looks numbers up in the tables of bitsandbytes and torchao, as these make them. Where a
number is half-way between two entries the last bit of f32 decides, and everything after it differs: so some codes of a state may
be off by one, and the state by as much."""

import sys

import numpy as np

STEPS = 4

# ---------------------------------------------------------------------------------------------------------------
# Quantization by tables: create_dynamic_map of bitsandbytes.functional and of torchao's low-bit optimizers.
# ---------------------------------------------------------------------------------------------------------------


def dynamic_map(signed, max_exponent_bits, total_bits):
    data = []
    for i in range(max_exponent_bits):
        count = 2 ** (i + total_bits - 1 - max_exponent_bits + (0 if signed else 1))
        boundaries = np.linspace(0.1, 1, count + 1)
        means = (boundaries[:-1] + boundaries[1:]) / 2 * 10.0 ** (i - (max_exponent_bits - 1))
        data += [*means, *(-means if signed else [])]
    return np.array(sorted([*data, 0, 1.0]))


TABLES = {("int8", True): dynamic_map(True, 7, 8), ("int8", False): dynamic_map(False, 7, 8),
          ("int4", True): dynamic_map(True, 3, 4), ("int4", False): np.linspace(0, 1, 17)[1:]}


def split(x, block):
    """Rows of blocks, the last of which is filled up with zeros."""
    flat = np.zeros(-(-x.size // block) * block, x.dtype)
    flat[:x.size] = x.reshape(-1)
    return flat.reshape(-1, block)


def quantize(x, kind, signed, block):
    blocks, table = split(x.astype("f4"), block), TABLES[kind, signed]
    scales = np.abs(blocks).max(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(blocks / scales[:, None], nan=0).astype("f8")
    middles = (table[:-1] + table[1:]) / 2
    return np.searchsorted(middles, ratios), scales


def dequantize(codes, scales, kind, signed, like):
    return (TABLES[kind, signed].astype("f4")[codes] * scales[:, None]).reshape(-1)[:like.size].reshape(like.shape)


def unpack(codes, kind):
    """The codes of each block, in order, of an array of a checkpoint."""
    codes = codes.view("u1").astype(int)
    return codes if kind == "int8" else np.concatenate([codes & 15, codes >> 4], 1)


def bf16(x):
    """To nearest, ties to even; in f32."""
    bits = np.asarray(x, "f4").view("u4").astype("u8")
    return ((bits + 0x7fff + (bits >> 16 & 1)).astype("u4") & 0xffff0000).view("f4")


class State:
    """One that is stored in some way; it starts from zeros."""

    def __init__(self, kind, signed, block, like):
        self.kind, self.signed, self.block, self.like = kind, signed, block, like
        self.value = np.zeros_like(like)
        if kind.startswith("int"):
            self.codes, self.scales = None, np.zeros(-(-like.size // block), "f4")

    def set(self, x):
        if self.kind == "bf16":
            self.value = bf16(x)
        elif self.kind == "f32":
            self.value = x
        else:
            self.codes, self.scales = quantize(x, self.kind, self.signed, self.block)
            self.value = dequantize(self.codes, self.scales, self.kind, self.signed, self.like)

    def check(self, out, name):
        if self.kind == "f32":
            np.testing.assert_allclose(out[name], self.value, 1e-5, 1e-7, err_msg=name)
        elif self.kind == "bf16":
            found = (out[name].view("u2").astype("u4") << 16).view("f4")
            np.testing.assert_allclose(found, self.value, 2**-7, 1e-7, err_msg=name)
        else:
            found, width = out[name], self.block if self.kind == "int8" else self.block // 2
            assert found.dtype == "i1" and found.shape == (len(self.scales), width), (name, found.shape)
            np.testing.assert_allclose(out[f"{name}.scale"], self.scales, 2e-2, err_msg=name)
            codes = unpack(found, self.kind).reshape(-1)
            off = np.abs(codes - self.codes.reshape(-1))[:self.like.size]
            assert off.max() <= 2 and (off > 0).mean() <= 0.02, (name, off.max(), (off > 0).mean())
            assert not codes[self.like.size:].any(), name  # nothing is there


# ---------------------------------------------------------------------------------------------------------------
# Rules, in f32: rule(w, g, t, states) -> w, and which states are signed.
# ---------------------------------------------------------------------------------------------------------------

F = np.float32


def momentum(w, g, t, s):
    m = F(0.9) * s["momentum"].value + g
    s["momentum"].set(m)
    return w - F(0.1) * m


def adam(lr, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.0, decoupled=False):
    def rule(w, g, t, s):
        w = w * F(1 - lr * weight_decay) if decoupled else w
        g = g if decoupled or not weight_decay else g + F(weight_decay) * w
        m = s["m"].value + F(1 - b1) * (g - s["m"].value)
        v = F(b2) * s["v"].value + F(1 - b2) * g * g
        s["m"].set(m), s["v"].set(v)
        size = F(lr / (1 - b1 ** (t + 1)))
        return w - size * (m / (np.sqrt(v) / F(np.sqrt(1 - b2 ** (t + 1))) + F(eps)))

    return rule


def lion(lr, b1=0.9, b2=0.99, weight_decay=0.1):
    def rule(w, g, t, s):
        m = s["m"].value
        u = np.sign(F(b1) * m + F(1 - b1) * g) + F(weight_decay) * w
        s["m"].set(F(b2) * m + F(1 - b2) * g)
        return w - F(lr) * u

    return rule


def lamb(lr, b1=0.9, b2=0.999, eps=1e-2):
    def rule(w, g, t, s):
        s["m"].set(s["m"].value + F(1 - b1) * (g - s["m"].value))
        s["v"].set(F(b2) * s["v"].value + F(1 - b2) * g * g)
        u = s["m"].value / F(1 - b1 ** (t + 1)) / (np.sqrt(s["v"].value / F(1 - b2 ** (t + 1))) + F(eps))
        norms = np.linalg.norm(w.astype("f8")), np.linalg.norm(u.astype("f8"))
        return w - F(lr) * F(norms[0] / norms[1]) * u

    return rule


M, MV = {"m": True}, {"m": True, "v": False}
LARGE, ODD = (64, 64), (37, 131)  # whole blocks; not a multiple of 128, nor of 256

# name: (optimizer, formula, states and whether they are signed, how they are stored, elements of a block, shape of the parameter)
RULES = {}
for kind, block in (("bf16", 0), ("int8", 256), ("int4", 128)):
    for place, shape in (("even", LARGE), ("odd", ODD)):
        RULES |= {
            f"momentum_{kind}_{place}": (f"#opt.sgd<lr = 0.1, momentum = 0.9, states = {kind}>", momentum, {"momentum": True}, kind, block, shape),
            f"adam_{kind}_{place}": (f"#opt.adam<lr = 0.01, eps = 0.01, weight_decay = 0.1, states = {kind}>",
                                     adam(0.01, eps=0.01, weight_decay=0.1), MV, kind, block, shape),
            f"adamw_{kind}_{place}": (f"#opt.adamw<lr = 0.01, eps = 0.01, weight_decay = 0.1, states = {kind}>",
                                      adam(0.01, eps=0.01, weight_decay=0.1, decoupled=True), MV, kind, block, shape),
            f"lion_{kind}_{place}": (f"#opt.lion<lr = 0.01, weight_decay = 0.1, states = {kind}>", lion(0.01), M, kind, block, shape),
            f"lamb_{kind}_{place}": (f"#opt.lamb<lr = 0.01, eps = 0.01, states = {kind}>", lamb(0.01), MV, kind, block, shape),
        }
# Small ones are not quantized, large ones of one dimension are.
RULES |= {
    "small": ("#opt.adamw<lr = 0.01, eps = 0.01, weight_decay = 0.1, states = int8>",
              adam(0.01, eps=0.01, weight_decay=0.1, decoupled=True), MV, "f32", 0, (4095,)),
    "vector": ("#opt.adamw<lr = 0.01, eps = 0.01, weight_decay = 0.1, states = int8>",
               adam(0.01, eps=0.01, weight_decay=0.1, decoupled=True), MV, "int8", 256, (4097,)),
    "three": ("#opt.lion<lr = 0.01, weight_decay = 0.1, states = int4>", lion(0.01), M, "int4", 128, (3, 1, 1999)),
}
# A function of the module says how its states are stored, whatever their size is: less than a block, a whole one, part of a byte's
# two codes.
for name, size in (("none", ()), ("one", (1,)), ("some", (5,)), ("many", (16,)), ("more", (3, 17))):
    RULES[f"custom8_{name}"] = ("#opt.custom<@momentum8, states = 1, lr = 0.1>", momentum, {"momentum": True}, "int8", 16, size)
    RULES[f"custom4_{name}"] = ("#opt.custom<@momentum4, states = 1, lr = 0.1>", momentum, {"momentum": True}, "int4", 6, size)

MOMENTUM = """
func.func private @momentum%s(%%w: f32, %%g: f32, %%m: f32 {opt.state = "momentum", opt.stored = !opt.blockwise<%s>}, %%t: i64, %%lr: f32)
    -> (f32, f32) {
  %%decay = arith.constant 0.9 : f32
  %%kept = arith.mulf %%decay, %%m : f32
  %%next = arith.addf %%kept, %%g : f32
  %%d = arith.mulf %%lr, %%next : f32
  %%w1 = arith.subf %%w, %%d : f32
  return %%w1, %%next : f32, f32
}"""


def initial(name):
    return np.random.default_rng(len(name)).normal(size=RULES[name][5]).astype("f4")


def gradients():
    """Of every size: blocks have elements of a millionth of the others, and blocks of zeros only."""
    rng = np.random.default_rng(0)
    arrays = {}
    for name, rule in RULES.items():
        arrays[name] = (rng.normal(size=(STEPS, *rule[5])) * 10.0 ** rng.integers(-6, 2, size=(STEPS, *rule[5]))).astype("f4")
        arrays[name].reshape(STEPS, -1)[:, 300:1000] = 0
    return arrays


def write():
    np.savez("data.npz", **gradients())
    np.savez("init.npz", **{name: initial(name) for name in RULES})
    groups, arguments, body, sums = [], [], [], "%start"
    for index, (name, (rule, *_, shape)) in enumerate(RULES.items()):
        dims, loops = "".join(f"{n}x" for n in shape), ", ".join(f"d{i}" for i in range(len(shape)))
        arguments += [f'%w{index}: tensor<{dims}f32> {{opt.param = "{name}"}}',
                      f'%x{index}: tensor<1x{dims}f32> {{remat.data = "{name}"}}']
        collapse = [[0, 1]] + [[i] for i in range(2, len(shape) + 1)] if shape else []
        reductions = ", ".join(['"reduction"'] * len(shape))
        all_loops, none = f"affine_map<({loops}) -> ({loops})>", f"affine_map<({loops}) -> ()>"
        body += [
            f"%g{index} = tensor.collapse_shape %x{index} {collapse} : tensor<1x{dims}f32> into tensor<{dims}f32>",
            f"%s{index} = linalg.generic {{indexing_maps = [{all_loops}, {all_loops}, {none}], iterator_types = "
            f"[{reductions}]}} "
            f"ins(%w{index}, %g{index} : tensor<{dims}f32>, tensor<{dims}f32>) outs({sums} : tensor<f32>) {{",
            "^bb0(%w: f32, %g: f32, %sum: f32):", "%term = arith.mulf %w, %g : f32", "%next = arith.addf %sum, %term : f32",
            "linalg.yield %next : f32", "} -> tensor<f32>"]
        sums = f"%s{index}"
        groups.append(f'#opt.group<"{name}", rule = {rule}>')
    with open("model.mlir", "w") as file:
        print(MOMENTUM % (8, "int8, 16"), MOMENTUM % (4, "int4, 6"), file=file)
        print(f"opt.optimizer @rules = #opt.sgd<lr = 0.1> {{groups = [{', '.join(groups)}]}}", file=file)
        print(f"remat.train_step @step for @loss optimizer(@rules) {{steps = {STEPS}, shuffle = false, log_every = 0, "
              'data = "data.npz", init = "init.npz", checkpoint = "out.npz"}', file=file)
        print(f"func.func @loss({', '.join(arguments)}) -> tensor<f32> {{", "%start = arith.constant dense<0.0> : tensor<f32>",
              *body, f"return {sums} : tensor<f32>", "}", sep="\n", file=file)


def check():
    data, out = np.load("data.npz"), np.load("out.npz")
    for name, (_, rule, signs, kind, block, shape) in RULES.items():
        w = initial(name)
        states = {state: State(kind, signed, block, w) for state, signed in signs.items()}
        for t in range(STEPS):
            w = rule(w, data[name][t], t, states)
        rough = kind.startswith("int")
        np.testing.assert_allclose(out[name], w, *(2e-3, 2e-3) if rough else (1e-2, 1e-5), err_msg=name)
        stored = [f"{name}.{s}{end}" for s in states for end in ("", ".scale")[:1 + rough]]
        assert sorted(k for k in out.files if k.startswith(name + ".")) == sorted(stored), name
        for key, state in states.items():
            state.check(out, f"{name}.{key}")
    print(len(RULES), "rules match")


def same(a, b):
    a, b = np.load(a), np.load(b)
    differing = [k for k in a.files if a[k].tobytes() != b[k].tobytes()]
    assert a.files == b.files and not differing, differing
    print("same bits")


{"write": write, "check": check, "same": same}[sys.argv[1]](*sys.argv[2:])
