# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a step with one parameter for each rule, and checks what five steps made of them.

The gradients of the five steps are the rows of the data file; all parameters get the same."""

import sys

import numpy as np

STEPS, SIZE = 5, 8

# ---------------------------------------------------------------------------------------------------------------
# Formulas: rule(w, g, t, states) -> w, with t from 0. Sources: torch.optim.SGD, Adam, AdamW, lr_scheduler.StepLR,
# nn.utils.clip_grad_value_, clip_grad_norm_; optax.lion, warmup_cosine_decay_schedule.
# ---------------------------------------------------------------------------------------------------------------


def sgd(lr, momentum=0.0, dampening=0.0, nesterov=False, weight_decay=0.0):
    def rule(w, g, t, s):
        g = g + weight_decay * w
        if momentum:
            s["momentum"] = g if t == 0 else momentum * s["momentum"] + (1 - dampening) * g
            g = g + momentum * s["momentum"] if nesterov else s["momentum"]
        return w - (lr(t) if callable(lr) else lr) * g

    return rule


def adam(lr, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.0, decoupled=False):
    def rule(w, g, t, s):
        rate = lr(t) if callable(lr) else lr
        if decoupled:
            w = w * (1 - rate * weight_decay)
        else:
            g = g + weight_decay * w
        s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
        m_hat, v_hat = s["m"] / (1 - b1 ** (t + 1)), s["v"] / (1 - b2 ** (t + 1))
        return w - rate * m_hat / (np.sqrt(v_hat) + eps)

    return rule


def adamw(lr, weight_decay=0.01, **options):
    return adam(lr, weight_decay=weight_decay, decoupled=True, **options)


def lion(lr, b1=0.9, b2=0.99, weight_decay=0.0):
    def rule(w, g, t, s):
        m = s.get("m", 0)
        s["m"] = b2 * m + (1 - b2) * g
        return w - lr * (np.sign(b1 * m + (1 - b1) * g) + weight_decay * w)

    return rule


def clipped(rule, value=np.inf, norm=np.inf):
    def clip(w, g, t, s):
        g = np.clip(g, -value, value)
        return rule(w, g * min(1, norm / (np.linalg.norm(g) + 1e-6)), t, s)

    return clip


def cosine(peak, warmup, total, floor=0.0):
    def rate(t):
        if t < warmup:
            return peak * t / warmup
        past = min((t - warmup) / (total - warmup), 1)
        return floor + (peak - floor) * 0.5 * (1 + np.cos(np.pi * past))

    return rate


def signum(w, g, t, s):
    s["s0"] = 0.5 * s.get("s0", 0) + g
    return w - 0.05 * np.copysign(1 + t, s["s0"])


# name: (optimizer, formula, states[, element type])
RULES = {
    "sgd": ("#opt.sgd<lr = 0.1>", sgd(0.1), []),
    "sgd_decay": ("#opt.sgd<lr = 0.1, weight_decay = 0.3>", sgd(0.1, weight_decay=0.3), []),
    "momentum": ("#opt.sgd<lr = 0.1, momentum = 0.9>", sgd(0.1, 0.9), ["momentum"]),
    "dampened": ("#opt.sgd<lr = 0.1, momentum = 0.9, dampening = 0.4>", sgd(0.1, 0.9, 0.4), ["momentum"]),
    "nesterov": ("#opt.sgd<lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.1>",
                 sgd(0.1, 0.9, 0.0, True, 0.1), ["momentum"]),
    "adam": ("#opt.adam<lr = 0.1>", adam(0.1), ["m", "v"]),
    "adam_l2": ("#opt.adam<lr = 0.1, b1 = 0.8, b2 = 0.9, eps = 0.01, weight_decay = 0.2>",
                adam(0.1, 0.8, 0.9, 0.01, 0.2), ["m", "v"]),
    "adamw": ("#opt.adamw<lr = 0.1>", adamw(0.1), ["m", "v"]),
    "adamw_f64": ("#opt.adamw<lr = 0.1, weight_decay = 0.1>", adamw(0.1, 0.1), ["m", "v"], "f64"),
    "adamw_bf16": ("#opt.adamw<lr = 0.1>", adamw(0.1), ["m", "v"], "bf16"),
    "adamw_f16": ("#opt.adamw<lr = 0.1>", adamw(0.1), ["m", "v"], "f16"),
    "lion": ("#opt.lion<lr = 0.1, weight_decay = 0.2>", lion(0.1, weight_decay=0.2), ["m"]),
    "warmup": ("#opt.adam<lr = #opt.linear_warmup_cosine<peak = 0.5, warmup = 2, total = 4, floor = 0.1>>",
               adam(cosine(0.5, 2, 4, 0.1)), ["m", "v"]),
    "no_warmup": ("#opt.sgd<lr = #opt.linear_warmup_cosine<peak = 0.5, warmup = 0, total = 10>>",
                  sgd(cosine(0.5, 0, 10)), []),
    "decay": ("#opt.sgd<lr = #opt.step_decay<initial = 0.2, factor = 0.5, every = 2>>",
              sgd(lambda t: 0.2 * 0.5 ** (t // 2)), []),
    "function": ("#opt.sgd<lr = @rate>", sgd(lambda t: 0.125 * t), []),
    "clip_value": ("#opt.sgd<lr = 0.1> {clip_value = 0.5}", clipped(sgd(0.1), value=0.5), []),
    "clip_both": ("#opt.adam<lr = 0.1> {clip_value = 1.0, clip_norm = 1.5}", clipped(adam(0.1), 1.0, 1.5), ["m", "v"]),
    "group.bias": ("#opt.adamw<lr = 0.1> {groups = [#opt.group<\"*.bias\", weight_decay = 0.0, lr = 0.3>]}",
                   adam(0.3), ["m", "v"]),
    "custom": ("#opt.custom<@signum, states = 1, lr = 0.05>", signum, ["s0"]),
}

FUNCTIONS = """
func.func private @rate(%t: i64) -> f32 {
  %c = arith.constant 0.125 : f32
  %f = arith.sitofp %t : i64 to f32
  %r = arith.mulf %c, %f : f32
  return %r : f32
}
func.func private @signum(%w: f32, %g: f32, %s: f32, %t: i64, %lr: f32) -> (f32, f32) {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %old = arith.mulf %half, %s : f32
  %new = arith.addf %old, %g : f32
  %f = arith.sitofp %t : i64 to f32
  %size = arith.addf %f, %one : f32
  %sign = math.copysign %size, %new : f32
  %d = arith.mulf %lr, %sign : f32
  %w1 = arith.subf %w, %d : f32
  return %w1, %s1 : f32, f32
}
""".replace("%s1 :", "%new :")


def initial(name):
    return np.random.default_rng(len(name)).normal(size=SIZE)


def write():
    rng = np.random.default_rng(0)
    np.savez("data.npz", g=rng.normal(size=(STEPS, SIZE)).astype("f4"))
    np.savez("init.npz", **{name: initial(name).astype("f4") for name, entry in RULES.items() if len(entry) == 3},
             adamw_f64=initial("adamw_f64"), adamw_f16=initial("adamw_f16").astype("f2"))
    module, arguments, results, body, returned = [FUNCTIONS], [], [], [], []
    for index, (name, (rule, _, states, *element)) in enumerate(RULES.items()):
        element = element[0] if element else "f32"
        tensor = f"tensor<{SIZE}x{element}>"
        state = f"tensor<{SIZE}x{'f64' if element == 'f64' else 'f32'}>"
        module.append(f"opt.optimizer @o{index} = {rule}")
        owner = len(arguments)
        init = ', opt.init = "constant(1.25)"' if element == "bf16" else ""
        arguments.append(f'%w{index}: {tensor} {{bufferization.writable = true, opt.param = "{name}"{init}}}')
        results.append(f"{tensor} {{remat.updates = {owner}}}")
        returned.append(f"%n{index}#0" if states else f"%n{index}")
        for i, key in enumerate(states):
            results.append(f"{state} {{remat.updates = {len(arguments)}}}")
            returned.append(f"%n{index}#{i + 1}")
            arguments.append(f'%s{index}_{i}: {state} {{bufferization.writable = true, opt.state = "{key}", '
                             f"opt.state_of = {owner}}}")
        operands = "".join(f", %s{index}_{i}" for i in range(len(states)))
        count = f":{len(states) + 1}" if states else ""
        body.append(f"%n{index}{count} = opt.eager_step @o{index}(%w{index}, %g{operands}) step %t "
                    f'{{parameter = "{name}"}} : {tensor}, tensor<{SIZE}xf32>' + f", {state}" * len(states))
    arguments += [f'%x: tensor<1x{SIZE}xf32> {{remat.data = "g"}}', "%t: i64 {remat.step}"]
    types = ", ".join(result.split(" {")[0] for result in results)
    module += [
        "remat.train_step @step for @loss optimizer(@o0) {steps = 5, shuffle = false, log_every = 0, "
        'data = "data.npz", init = "init.npz", checkpoint = "out.npz"}',
        f"func.func @step({', '.join(arguments)}) -> (f32, {', '.join(results)}) {{",
        "%loss = arith.constant 0.0 : f32",
        f"%g = tensor.collapse_shape %x [[0, 1]] : tensor<1x{SIZE}xf32> into tensor<{SIZE}xf32>",
        *body,
        f"return %loss, {', '.join(returned)} : f32, {types}",
        "}",
    ]
    with open("rules.mlir", "w") as file:
        print("\n".join(module), file=file)


def check():
    gradients, out = np.load("data.npz")["g"].astype("f8"), np.load("out.npz")
    for name, (_, rule, states, *element) in RULES.items():
        element = element[0] if element else "f32"
        rtol = {"f64": 1e-13, "f32": 3e-6, "bf16": 3e-2, "f16": 4e-3}[element]
        w, s = initial(name), {}
        w = {"f32": w.astype("f4"), "f16": w.astype("f2"), "f64": w, "bf16": np.full(SIZE, 1.25)}[element].astype("f8")
        for t in range(STEPS):
            w = rule(w, gradients[t], t, s)
        found = out[name]
        if element == "bf16":
            found = (found.view("u2").astype("u4") << 16).view("f4")
        np.testing.assert_allclose(found, w, rtol, rtol, err_msg=name)
        # States of 16-bit parameters are f32: exact to f32 where the parameter's rounding does not reach them.
        for key in states:
            np.testing.assert_allclose(out[name + "." + key], s[key], 3e-6, 1e-7, err_msg=f"{name}.{key}")
    print(len(RULES), "rules match")


{"write": write, "check": check}[sys.argv[1]]()
