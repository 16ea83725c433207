# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model of bf16 parameters that are rounded in each way that there is, and checks what some steps made of them, to the bit.

    rounding.py write
    rounding.py check

The loss is the sum of the products of all parameters with arrays of the data file: these arrays are the gradients. Random bits are
those of Philox 4x32-10 (Salmon et al., 2011), computed in keys.py once more, for the element and the step as the counter, and the seed
and the parameter's name as the key."""

import sys

import numpy as np

from keys import key_of, philox

STEPS, SEED = 40, 5
F = np.float32


def nearest(x):
    bits = np.asarray(x, "f4").view("u4").astype("u8")
    return ((bits + 0x7fff + (bits >> 16 & 1)).astype("u4") & 0xffff0000).view("f4")


class Nearest:
    states = ()

    def __init__(self, name, w):
        self.w = w

    def set(self, x, t):
        self.w = nearest(x)

    def get(self):
        return self.w


class Stochastic(Nearest):
    def __init__(self, name, w):
        self.w, self.key = w, key_of(name, SEED)

    def set(self, x, t):
        element = np.arange(x.size).reshape(x.shape)
        random = philox((element, 0 * element, t + 0 * element, 0 * element), self.key) & 0xffff
        self.w = ((x.view("u4") + random) & 0xffff0000).view("f4")


class Kahan(Nearest):
    states = ("compensation",)

    def __init__(self, name, w):
        self.w, self.lost = w, np.zeros_like(w)

    def get(self):
        return self.w + self.lost

    def set(self, x, t):
        self.w = nearest(x)
        self.lost = nearest(x - self.w)


def sgd(w, g, t, s):
    return w - F(0.001) * g


def momentum(w, g, t, s):
    s["momentum"] = F(0.9) * s.get("momentum", F(0)) + g
    return w - F(0.001) * s["momentum"]


def lion(w, g, t, s):
    m = s.get("m", np.zeros_like(g))
    s["m"] = F(0.99) * m + F(1 - 0.99) * g
    return w - F(0.0005) * np.sign(F(0.9) * m + F(1 - 0.9) * g)


ROUNDINGS = {"nearest": Nearest, "stochastic": Stochastic, "kahan": Kahan}
RULES = {f"{name}_{rounding}_{len(shape)}": (f"#opt.{rule}, rounding = {rounding}>", formula, states, ROUNDINGS[rounding], shape)
         for rounding in ROUNDINGS for shape in ((), (1,), (37, 131))
         for name, rule, formula, states in (
             ("sgd", "sgd<lr = 0.001", sgd, ()), ("momentum", "sgd<lr = 0.001, momentum = 0.9", momentum, ("momentum",)),
             ("lion", "lion<lr = 0.0005", lion, ("m",)))}


def gradients():
    rng = np.random.default_rng(0)
    return {name: (1 + rng.normal(size=(STEPS, *rule[4])) / 2).astype("f4") for name, rule in RULES.items()}


def write():
    np.savez("data.npz", **gradients())
    groups, arguments, body, sums = [], [], [], "%start"
    for index, (name, (rule, *_, shape)) in enumerate(RULES.items()):
        dims, loops = "".join(f"{n}x" for n in shape), ", ".join(f"d{i}" for i in range(len(shape)))
        arguments += [f'%w{index}: tensor<{dims}bf16> {{opt.param = "{name}", opt.init = "constant(1.5)"}}',
                      f'%x{index}: tensor<1x{dims}f32> {{remat.data = "{name}"}}']
        collapse = [[0, 1]] + [[i] for i in range(2, len(shape) + 1)] if shape else []
        reductions = ", ".join(['"reduction"'] * len(shape))
        all_loops, none = f"affine_map<({loops}) -> ({loops})>", f"affine_map<({loops}) -> ()>"
        body += [
            f"%g{index} = tensor.collapse_shape %x{index} {collapse} : tensor<1x{dims}f32> into tensor<{dims}f32>",
            f"%s{index} = linalg.generic {{indexing_maps = [{all_loops}, {all_loops}, {none}], iterator_types = [{reductions}]}} "
            f"ins(%w{index}, %g{index} : tensor<{dims}bf16>, tensor<{dims}f32>) outs({sums} : tensor<f32>) {{",
            "^bb0(%w: bf16, %g: f32, %sum: f32):", "%wide = arith.extf %w : bf16 to f32", "%term = arith.mulf %wide, %g : f32",
            "%next = arith.addf %sum, %term : f32", "linalg.yield %next : f32", "} -> tensor<f32>"]
        sums = f"%s{index}"
        groups.append(f'#opt.group<"{name}", rule = {rule}>')
    with open("model.mlir", "w") as file:
        print(f"opt.optimizer @rules = #opt.sgd<lr = 0.1> {{groups = [{', '.join(groups)}]}}", file=file)
        print(f"remat.train_step @step for @loss optimizer(@rules) {{steps = {STEPS}, seed = {SEED}, shuffle = false, log_every = 0, "
              'data = "data.npz", checkpoint = "out.npz"}', file=file)
        print(f"func.func @loss({', '.join(arguments)}) -> tensor<f32> {{", "%start = arith.constant dense<0.0> : tensor<f32>",
              *body, f"return {sums} : tensor<f32>", "}", sep="\n", file=file)


def check():
    data, out = np.load("data.npz"), np.load("out.npz")
    ends = {}
    for name, (_, rule, states, rounding, shape) in RULES.items():
        parameter, s = rounding(name, np.full(shape, 1.5, "f4")), {}
        exact, own = np.full(shape, 1.5, "f4"), {}
        for t in range(STEPS):
            # The gradient of a product with a bf16 is rounded to one.
            g = nearest(data[name][t])
            parameter.set(np.asarray(rule(parameter.get(), g, t, s), "f4"), t)
            exact = rule(exact, g, t, own)
        found = (out[name].view("u2").astype("u4") << 16).view("f4")
        assert np.array_equal(found, parameter.w), (name, (found != parameter.w).sum())
        assert sorted(k for k in out.files if k.startswith(name + ".")) == sorted(f"{name}.{k}" for k in (*states, *rounding.states))
        if rounding is Kahan:
            lost = (out[f"{name}.compensation"].view("u2").astype("u4") << 16).view("f4")
            assert np.array_equal(lost, parameter.lost), name
        ends[name] = found.astype("f8"), np.asarray(exact, "f8")
    # Steps of a tenth of what a bf16 can tell apart are lost, but not by chance or with what was rounded away.
    moved = {name: (end.mean() - 1.5) / (exact.mean() - 1.5) for name, (end, exact) in ends.items() if name.endswith("_2")}
    assert moved["sgd_nearest_2"] == 0, moved
    for name in "sgd_stochastic_2", "lion_stochastic_2", "sgd_kahan_2", "lion_kahan_2":
        assert abs(moved[name] - 1) < (0.05 if "stochastic" in name else 0.2), moved
    print(len(RULES), "parameters match")


{"write": write, "check": check}[sys.argv[1]]()
