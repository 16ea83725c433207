# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model with one parameter for each rule that works on whole tensors, and checks what five steps made of them.

    tensor_rules.py write|check [NORM]      NORM: clip_norm of the optimizer

The loss is the sum of the products of all parameters with arrays of the data file: these arrays are the gradients."""

import sys

import numpy as np

from keys import key_of, philox

STEPS, SEED = 5, 3
NORM = float(sys.argv[2]) if len(sys.argv) > 2 else np.inf

# ---------------------------------------------------------------------------------------------------------------
# Formulas: rule(w, g, t, states) -> w, with t from 0. Sources: torch.optim.Adafactor; optax.lamb; K. Jordan's Muon and
# torch.optim.Muon; apollo_torch.APOLLOAdamW, whose projection is normal; the reference of Adam-mini.
# ---------------------------------------------------------------------------------------------------------------


def rms(x):
    return np.sqrt(np.mean(x * x))


def adafactor(lr=0.01, beta2_decay=-0.8, eps1=2.0**-23, eps2=1e-3, d=1.0, weight_decay=0.0):
    def rule(w, g, t, s):
        b = (t + 1.0) ** beta2_decay
        alpha = max(eps2, rms(w)) * min(lr, (t + 1) ** -0.5)

        def average(name, new):
            s[name] = s.get(name, 0) + b * (new - s.get(name, 0))
            return s[name]

        if w.ndim > 1:
            row, col = average("row", np.mean(g * g, -1)), average("col", np.mean(g * g, -2))
            mean = np.maximum(row.mean(-1), eps1)
            v = row[..., :, None] * col[..., None, :] / mean[..., None, None]
        else:
            v = average("v", g * g)
        u = g / np.sqrt(np.maximum(v, eps1**2))
        return w * (1 - lr * weight_decay) - alpha / max(1, rms(u) / d) * u

    return rule


def lamb(lr, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.0):
    def rule(w, g, t, s):
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
        u = s["m"] / (1 - b1 ** (t + 1)) / (np.sqrt(s["v"] / (1 - b2 ** (t + 1))) + eps) + weight_decay * w
        norms = np.linalg.norm(w), np.linalg.norm(u)
        return w - lr * (norms[0] / norms[1] if all(norms) else 1) * u

    return rule


def muon(w, g, t, s, lr=0.05):
    s["momentum"] = 0.9 * s.get("momentum", 0) + g
    x = g + 0.9 * s["momentum"]
    x = x / (np.linalg.norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return w - lr * x


def signs(name, rank, size, epoch):
    """APOLLO's projection: the sign bits of Philox, with another key than rounding has."""
    low, high = key_of(name, SEED)
    i, j = np.meshgrid(np.arange(rank), np.arange(size), indexing="ij")
    words = philox((i, j, 0 * i + epoch, 0 * i), (low ^ 0x7369676E, high))
    return np.where(words >> 31, -1.0, 1.0) / np.sqrt(rank)


def apollo(name, lr, rank=256, scale=1.0, scaling="channel", refresh=200, growth=1.01, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.0):
    def rule(w, g, t, s):
        r, right = g, g.ndim == 2 and g.shape[0] >= g.shape[1]
        if g.ndim == 2 and rank < min(g.shape):
            p = signs(name, rank, min(g.shape), t // refresh)
            r = g @ p.T if right else p @ g
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * r
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * r * r
        u = s["m"] / (np.sqrt(s["v"]) + eps)
        rate = lr * np.sqrt(1 - b2 ** (t + 1)) / (1 - b1 ** (t + 1))
        if g.ndim == 2:
            axis = None if scaling == "tensor" else (1 if right else 0)
            norms = [np.linalg.norm(x, axis=axis, keepdims=axis is not None) for x in (u, r)]
            u = g * norms[0] / (norms[1] + 1e-8)
            norm = np.linalg.norm(u)
            limit = max(norm / (s["norm"] + 1e-8), growth) / growth if "norm" in s else 1
            s["norm"] = norm / limit
            u = u / limit * np.sqrt(scale)
        return (w - rate * u) * (1 - lr * weight_decay)

    return rule


def torch_muon(lr, momentum=0.95, nesterov=True, steps=5, adjust="original", weight_decay=0.1):
    def rule(w, g, t, s):
        s["momentum"] = momentum * s.get("momentum", 0) + (1 - momentum) * g
        x = (1 - momentum) * g + momentum * s["momentum"] if nesterov else s["momentum"]
        x = x / np.linalg.norm(x)
        rows, columns = x.shape
        x = x.T if rows > columns else x
        for _ in range(steps):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if rows > columns else x
        ratio = max(1, rows / columns) ** 0.5 if adjust == "original" else 0.2 * max(rows, columns) ** 0.5
        return w * (1 - lr * weight_decay) - lr * ratio * x

    return rule


def adam_mini(lr, dim=0, blocks=0, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.0):
    def rule(w, g, t, s):
        square = g * g
        if g.ndim > 1:
            square = np.moveaxis(square, dim, 0)
            square = square.reshape(blocks or len(square), -1).mean(-1)
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * square
        v = s["v"]
        if g.ndim > 1:
            v = np.repeat(v, g.shape[dim] // len(v)).reshape([-1 if i == dim % g.ndim else 1 for i in range(g.ndim)])
        u = s["m"] / (1 - b1 ** (t + 1)) / (np.sqrt(v / (1 - b2 ** (t + 1))) + eps)
        return w * (1 - lr * weight_decay) - lr * u

    return rule


def normalized(w, g, t, s):
    # A state of no dimensions that starts at 4: the running mean of squares.
    s["square"] = 0.5 * s.get("square", 4.0) + 0.5 * np.mean(g * g)
    return w - 0.1 / np.sqrt(s["square"]) * g


def halved(w, g, t, s):
    return w - 0.5 * g


# name: (optimizer, formula, states, shape, element type)
RULES = {
    "ada": ("#opt.adafactor<>", adafactor(), ["row", "col"], (6, 4), "f64"),
    "ada_decay": ("#opt.adafactor<lr = 0.5, beta2_decay = -0.5, eps1 = 0.3, eps2 = 0.5, d = 0.7, weight_decay = 0.1>",
                  adafactor(0.5, -0.5, 0.3, 0.5, 0.7, 0.1), ["row", "col"], (4, 6), "f64"),
    "ada_vector": ("#opt.adafactor<lr = 0.3>", adafactor(0.3), ["v"], (7,), "f64"),
    "ada_batch": ("#opt.adafactor<lr = 0.3>", adafactor(0.3), ["row", "col"], (2, 3, 4), "f64"),
    "ada_f32": ("#opt.adafactor<lr = 0.3>", adafactor(0.3), ["row", "col"], (5, 9), "f32"),
    "lamb": ("#opt.lamb<lr = 0.1, weight_decay = 0.2>", lamb(0.1, weight_decay=0.2), ["m", "v"], (6, 4), "f64"),
    "lamb_f32": ("#opt.lamb<lr = 0.1, b1 = 0.8>", lamb(0.1, 0.8), ["m", "v"], (3, 3), "f32"),
    "lamb_zero": ("#opt.lamb<lr = 0.1>", lamb(0.1), ["m", "v"], (3,), "f64"),
    "lamb_bf16": ("#opt.lamb<lr = 0.1>", lamb(0.1), ["m", "v"], (6, 4), "bf16"),
    "apollo_wide": ("#opt.apollo<lr = 0.1, rank = 2, weight_decay = 0.1>", apollo("apollo_wide", 0.1, 2, weight_decay=0.1),
                    ["m", "v", "norm"], (5, 9), "f64"),
    "apollo_tall": ("#opt.apollo<lr = 0.1, rank = 3, refresh = 2, scale = 4, growth = 1.5>",
                    apollo("apollo_tall", 0.1, 3, 4.0, refresh=2, growth=1.5), ["m", "v", "norm"], (8, 6), "f64"),
    "apollo_square": ("#opt.apollo<lr = 0.1, rank = 4>", apollo("apollo_square", 0.1, 4), ["m", "v", "norm"], (6, 6), "f32"),
    "apollo_mini": ("#opt.apollo<lr = 0.1, rank = 1, scale = 128, scaling = tensor>",
                    apollo("apollo_mini", 0.1, 1, 128.0, "tensor"), ["m", "v", "norm"], (5, 9), "f64"),
    "apollo_full": ("#opt.apollo<lr = 0.1, rank = 6>", apollo("apollo_full", 0.1, 6), ["m", "v", "norm"], (8, 6), "f64"),
    "apollo_vector": ("#opt.apollo<lr = 0.1, weight_decay = 0.1>", apollo("apollo_vector", 0.1, weight_decay=0.1), ["m", "v"], (7,), "f64"),
    "apollo_bf16": ("#opt.apollo<lr = 0.1, rank = 2, rounding = kahan>", apollo("apollo_bf16", 0.1, 2),
                    ["m", "v", "norm", "compensation"], (6, 4), "bf16"),
    "muon_wide": ("#opt.muon<lr = 0.05>", torch_muon(0.05), ["momentum"], (4, 6), "f64"),
    "muon_tall": ("#opt.muon<lr = 0.05, momentum = 0.8, nesterov = false, steps = 3, weight_decay = 0>",
                  torch_muon(0.05, 0.8, False, 3, weight_decay=0), ["momentum"], (7, 4), "f64"),
    "muon_rms": ("#opt.muon<lr = 0.05, adjust = match_rms_adamw>", torch_muon(0.05, adjust="match_rms_adamw"), ["momentum"],
                 (5, 5), "f32"),
    "mini": ("#opt.adam_mini<lr = 0.1>", adam_mini(0.1), ["m", "v"], (6, 4), "f64"),
    "mini_heads": ("#opt.adam_mini<lr = 0.1, blocks = 3, weight_decay = 0.1>", adam_mini(0.1, blocks=3, weight_decay=0.1), ["m", "v"],
                   (6, 4), "f64"),
    "mini_jax": ("#opt.adam_mini<lr = 0.1, dim = -1, blocks = 2, b1 = 0.8>", adam_mini(0.1, -1, 2, 0.8), ["m", "v"], (2, 3, 4), "f64"),
    "mini_vector": ("#opt.adam_mini<lr = 0.1>", adam_mini(0.1), ["m", "v"], (7,), "f32"),
    "muon": ("#opt.custom<@muon, states = 1, lr = 0.05>", muon, ["momentum"], (4, 6), "f64"),
    "normalized": ("#opt.custom<@normalized, states = 1, lr = 0.1>", normalized, ["square"], (3, 5), "f32"),
    "halved": ("#opt.custom<@halved, lr = 0.5>", halved, [], (4, 3), "f64"),
}

FUNCTIONS = """
#ij = affine_map<(i, j) -> (i, j)>
#all = affine_map<(i, j) -> ()>
#ik = affine_map<(i, j, k) -> (i, k)>
#jk = affine_map<(i, j, k) -> (j, k)>
#ij_k = affine_map<(i, j, k) -> (i, j)>
func.func private @muon(%w: tensor<4x6xf64>, %g: tensor<4x6xf64>, %m: tensor<4x6xf64> {opt.state = "momentum"},
                        %t: i64, %lr: f64) -> (tensor<4x6xf64>, tensor<4x6xf64>) {
  %zero = arith.constant 0.0 : f64
  %decay = arith.constant 0.9 : f64
  %m1 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<4x6xf64>) outs(%m : tensor<4x6xf64>) {
  ^bb0(%new: f64, %old: f64):
    %0 = arith.mulf %decay, %old : f64
    %1 = arith.addf %0, %new : f64
    linalg.yield %1 : f64
  } -> tensor<4x6xf64>
  %e46 = tensor.empty() : tensor<4x6xf64>
  %n = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%g, %m1 : tensor<4x6xf64>, tensor<4x6xf64>) outs(%e46 : tensor<4x6xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %0 = arith.mulf %decay, %b : f64
    %1 = arith.addf %a, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<4x6xf64>
  %es = tensor.empty() : tensor<f64>
  %s0 = linalg.fill ins(%zero : f64) outs(%es : tensor<f64>) -> tensor<f64>
  %squares = linalg.generic {indexing_maps = [#ij, #all], iterator_types = ["reduction", "reduction"]}
      ins(%n : tensor<4x6xf64>) outs(%s0 : tensor<f64>) {
  ^bb0(%a: f64, %sum: f64):
    %0 = arith.mulf %a, %a : f64
    %1 = arith.addf %sum, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<f64>
  %x0 = linalg.generic {indexing_maps = [#ij, #all, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%n, %squares : tensor<4x6xf64>, tensor<f64>) outs(%e46 : tensor<4x6xf64>) {
  ^bb0(%a: f64, %square: f64, %o: f64):
    %eps = arith.constant 1.0e-7 : f64
    %0 = math.sqrt %square : f64
    %1 = arith.addf %0, %eps : f64
    %2 = arith.divf %a, %1 : f64
    linalg.yield %2 : f64
  } -> tensor<4x6xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %x5 = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %x0) -> (tensor<4x6xf64>) {
    %e44 = tensor.empty() : tensor<4x4xf64>
    %z44 = linalg.fill ins(%zero : f64) outs(%e44 : tensor<4x4xf64>) -> tensor<4x4xf64>
    %a = linalg.generic {indexing_maps = [#ik, #jk, #ij_k], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %x : tensor<4x6xf64>, tensor<4x6xf64>) outs(%z44 : tensor<4x4xf64>) {
    ^bb0(%p: f64, %q: f64, %sum: f64):
      %0 = arith.mulf %p, %q : f64
      %1 = arith.addf %sum, %0 : f64
      linalg.yield %1 : f64
    } -> tensor<4x4xf64>
    %aa = linalg.matmul ins(%a, %a : tensor<4x4xf64>, tensor<4x4xf64>) outs(%z44 : tensor<4x4xf64>) -> tensor<4x4xf64>
    %b = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
        ins(%a, %aa : tensor<4x4xf64>, tensor<4x4xf64>) outs(%e44 : tensor<4x4xf64>) {
    ^bb0(%p: f64, %q: f64, %o: f64):
      %cb = arith.constant -4.7750 : f64
      %cc = arith.constant 2.0315 : f64
      %0 = arith.mulf %cb, %p : f64
      %1 = arith.mulf %cc, %q : f64
      %2 = arith.addf %0, %1 : f64
      linalg.yield %2 : f64
    } -> tensor<4x4xf64>
    %z46 = linalg.fill ins(%zero : f64) outs(%e46 : tensor<4x6xf64>) -> tensor<4x6xf64>
    %bx = linalg.matmul ins(%b, %x : tensor<4x4xf64>, tensor<4x6xf64>) outs(%z46 : tensor<4x6xf64>) -> tensor<4x6xf64>
    %next = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
        ins(%x, %bx : tensor<4x6xf64>, tensor<4x6xf64>) outs(%e46 : tensor<4x6xf64>) {
    ^bb0(%p: f64, %q: f64, %o: f64):
      %ca = arith.constant 3.4445 : f64
      %0 = arith.mulf %ca, %p : f64
      %1 = arith.addf %0, %q : f64
      linalg.yield %1 : f64
    } -> tensor<4x6xf64>
    scf.yield %next : tensor<4x6xf64>
  }
  %w1 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x5 : tensor<4x6xf64>) outs(%w : tensor<4x6xf64>) {
  ^bb0(%x: f64, %old: f64):
    %0 = arith.mulf %lr, %x : f64
    %1 = arith.subf %old, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<4x6xf64>
  return %w1, %m1 : tensor<4x6xf64>, tensor<4x6xf64>
}

// A state of another shape, which starts at 4; sizes are those of the parameter.
func.func private @normalized(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>,
                              %s: tensor<f32> {opt.state = "square", opt.init = "constant(4)"}, %t: i64, %lr: f32)
    -> (tensor<?x?xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %w, %c0 : tensor<?x?xf32>
  %cols = tensor.dim %w, %c1 : tensor<?x?xf32>
  %count = arith.muli %rows, %cols : index
  %0 = arith.index_cast %count : index to i64
  %size = arith.sitofp %0 : i64 to f32
  %half = arith.constant 0.5 : f32
  %old = tensor.extract %s[] : tensor<f32>
  %start = arith.mulf %half, %old : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%start : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s1 = linalg.generic {indexing_maps = [#ij, #all], iterator_types = ["reduction", "reduction"]}
      ins(%g : tensor<?x?xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.divf %1, %size : f32
    %3 = arith.mulf %half, %2 : f32
    %4 = arith.addf %sum, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<f32>
  %ew = tensor.empty(%rows, %cols) : tensor<?x?xf32>
  %w1 = linalg.generic {indexing_maps = [#ij, #ij, #all, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%w, %g, %s1 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<f32>) outs(%ew : tensor<?x?xf32>) {
  ^bb0(%p: f32, %a: f32, %square: f32, %o: f32):
    %1 = math.sqrt %square : f32
    %2 = arith.divf %lr, %1 : f32
    %3 = arith.mulf %2, %a : f32
    %4 = arith.subf %p, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x?xf32>
  return %w1, %s1 : tensor<?x?xf32>, tensor<f32>
}

// Whole tensors in arith, as a front end writes it.
func.func private @halved(%w: tensor<4x3xf64>, %g: tensor<4x3xf64>, %t: i64, %lr: f64) -> tensor<4x3xf64> {
  %rate = tensor.splat %lr : tensor<4x3xf64>
  %d = arith.mulf %rate, %g : tensor<4x3xf64>
  %w1 = arith.subf %w, %d : tensor<4x3xf64>
  return %w1 : tensor<4x3xf64>
}
"""


def initial(name):
    shape, element = RULES[name][3:]
    if name == "lamb_zero":
        return np.zeros(shape)
    if element == "bf16":
        return np.full(shape, 1.25)
    return np.random.default_rng(len(name)).normal(size=shape).astype({"f32": "f4", "f64": "f8"}[element])


def write():
    rng = np.random.default_rng(0)
    np.savez("data.npz", **{name: rng.normal(size=(STEPS, *rule[3])).astype("f4") for name, rule in RULES.items()})
    np.savez("init.npz", **{name: initial(name) for name, rule in RULES.items() if rule[4] != "bf16"})
    groups, arguments, body = [], [], []
    sums = "%start"
    for index, (name, (rule, _, _, shape, element)) in enumerate(RULES.items()):
        dims = "x".join(map(str, shape))
        loops = ", ".join(f"d{i}" for i in range(len(shape)))
        init = ', opt.init = "constant(1.25)"' if element == "bf16" else ""
        arguments += [f'%w{index}: tensor<{dims}x{element}> {{opt.param = "{name}"{init}}}',
                      f'%x{index}: tensor<1x{dims}xf32> {{remat.data = "{name}"}}']
        collapse = [[0, 1]] + [[i] for i in range(2, len(shape) + 1)]
        reductions = ", ".join(['"reduction"'] * len(shape))
        wide = "%w" if element == "f64" else "%wide"
        body += [
            f"%g{index} = tensor.collapse_shape %x{index} {collapse} : tensor<1x{dims}xf32> into tensor<{dims}xf32>",
            f"%s{index} = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, "
            f"affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ()>], iterator_types = "
            f"[{reductions}]}} "
            f"ins(%w{index}, %g{index} : tensor<{dims}x{element}>, tensor<{dims}xf32>) outs({sums} : tensor<f64>) {{",
            f"^bb0(%w: {element}, %g: f32, %sum: f64):",
            f"%wide = arith.extf %w : {element} to f64" if element != "f64" else "",
            "%gwide = arith.extf %g : f32 to f64",
            f"%term = arith.mulf {wide}, %gwide : f64",
            "%next = arith.addf %sum, %term : f64",
            "linalg.yield %next : f64",
            "} -> tensor<f64>",
        ]
        sums = f"%s{index}"
        groups.append(f'#opt.group<"{name}", rule = {rule}>')
    clip = f", clip_norm = {NORM}" if NORM != np.inf else ""
    with open("model.mlir", "w") as file:
        print(FUNCTIONS, file=file)
        print(f"opt.optimizer @rules = #opt.sgd<lr = 0.1> {{groups = [{', '.join(groups)}]{clip}}}", file=file)
        print(f"remat.train_step @step for @loss optimizer(@rules) {{steps = {STEPS}, seed = {SEED}, shuffle = false, log_every = 0, "
              'data = "data.npz", init = "init.npz", checkpoint = "out.npz"}', file=file)
        print(f"func.func @loss({', '.join(arguments)}) -> tensor<f64> {{", file=file)
        print("%start = arith.constant dense<0.0> : tensor<f64>", *body, f"return {sums} : tensor<f64>", "}", sep="\n",
              file=file)


def check():
    gradients, out = np.load("data.npz"), np.load("out.npz")
    for name, (_, rule, states, shape, element) in RULES.items():
        rtol = {"f64": 1e-12, "f32": 1e-5, "bf16": 3e-2}[element]
        w, s = initial(name).astype("f8"), {}
        for t in range(STEPS):
            g = gradients[name][t].astype("f8")
            w = rule(w, g * min(1, NORM / (np.linalg.norm(g) + 1e-6)), t, s)
        found = out[name]
        if element == "bf16":
            found = (found.view("u2").astype("u4") << 16).view("f4")
        np.testing.assert_allclose(found, w, rtol, rtol, err_msg=name)
        assert sorted(k for k in out.files if k.startswith(name + ".")) == sorted(f"{name}.{k}" for k in states), name
        for key in states:
            if key != "compensation":
                np.testing.assert_allclose(out[f"{name}.{key}"], s[key], rtol, rtol, err_msg=f"{name}.{key}")
    print(len(RULES), "rules match")


{"write": write, "check": check}[sys.argv[1]]()
