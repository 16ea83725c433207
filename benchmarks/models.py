# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a workload as an annotated forward function and its training step.

usage: models.py WORKLOAD [K=V ...]

The loss is `@loss`; parameters come first, then model state, then the batch. Each block is a `remat.region`; which policy
it has is an option of the pipeline (`remat-train="policy=..."`).
"""
import math
import sys

import workloads
from mlir_text import Printer, Value, scalar_body, typed

EPSILON = "1.0e-05"


def layer_norm(p, x, gain, bias, epsilon=EPSILON):
    rows, d = x.shape
    total = p.generic([(x, "d0 d1")], (rows,), scalar_body("addf acc a0"), reduced=(1,))
    n, eps = p.scalar(f"{d}.0"), p.scalar(epsilon)
    squares = p.generic([(x, "d0 d1"), (total, "d0")], (rows,), scalar_body(f"""
        divf a1 {n}
        subf a0 b0
        mulf b1 b1
        addf acc b2"""), reduced=(1,))
    return p.generic([(x, "d0 d1"), (total, "d0"), (squares, "d0"), (gain, "d1"), (bias, "d1")], x.shape,
                     scalar_body(f"""
        divf a1 {n}
        subf a0 b0
        divf a2 {n}
        addf b2 {eps}
        math.rsqrt b3
        mulf b1 b4
        mulf b5 a3
        addf b6 a4"""))


def linear(p, x, w, b, residual=None):
    inputs = [(p.matmul(x, w), "d0 d1"), (b, "d1")]
    if residual is None:
        return p.generic(inputs, (x.shape[0], w.shape[1]), scalar_body("addf a0 a1"))
    return p.generic(inputs + [(residual, "d0 d1")], residual.shape, scalar_body("addf a0 a1\naddf b0 a2"))


def scaled_linear(p, x, w, b, scale):
    c = p.scalar(f"{scale!r}")
    return p.generic([(p.matmul(x, w), "d0 d1"), (b, "d1")], (x.shape[0], w.shape[1]),
                     scalar_body(f"addf a0 a1\nmulf b0 {c}"))


def causal(p, scores):
    hidden = p.scalar("0xFF800000")
    return p.generic([(scores, "d0 d1 d2 d3")], scores.shape, lambda a, _: ([
        "%i = linalg.index 2 : index", "%j = linalg.index 3 : index", "%seen = arith.cmpi ule, %j, %i : index",
        f"%s = arith.select %seen, {a}, {hidden} : f32"], "%s"))


def softmax(p, x, dimension):
    start = p.empty(x.shape, x.element)
    return p.op(f"linalg.softmax dimension({dimension}) ins({x} : {x.type}) outs({start} : {start.type}) -> {{type}}",
                x.shape, x.element)


def gelu(p, x):
    half, one, root = p.scalar("0.5"), p.scalar("1.0"), p.scalar("0.707106769")
    return p.generic([(x, "d0 d1")], x.shape, scalar_body(f"""
        mulf a0 {root}
        math.erf b0
        addf b1 {one}
        mulf a0 {half}
        mulf b3 b2"""))


def cross_entropy(p, logits, targets):
    """Mean over the rows of log(sum exp) minus the target's logit."""
    rows, _ = logits.shape
    low = p.scalar("0xFF800000")
    start = p.op(f"linalg.fill ins({low} : f32) outs({p.empty((rows,))} : tensor<{rows}xf32>) -> {{type}}", (rows,))
    top = p.generic([(logits, "d0 d1")], (rows,), scalar_body("maximumf acc a0"), reduced=(1,), start=start)
    total = p.generic([(logits, "d0 d1"), (top, "d0")], (rows,), scalar_body("subf a0 a1\nmath.exp b0\naddf acc b1"),
                      reduced=(1,))
    zero = p.scalar("0.0")
    chosen = p.generic([(logits, "d0 d1"), (targets, "d0")], (rows,), lambda a, t, acc: ([
        "%j = linalg.index 1 : index", f"%t = arith.index_cast {t} : i32 to index", "%is = arith.cmpi eq, %j, %t : index",
        f"%l = arith.select %is, {a}, {zero} : f32", f"%s = arith.addf {acc}, %l : f32"], "%s"), reduced=(1,))
    n = p.scalar(f"{rows}.0")
    return p.generic([(top, "d0"), (total, "d0"), (chosen, "d0")], (), scalar_body(f"""
        math.log a1
        addf a0 b0
        subf b1 a2
        divf b2 {n}
        addf acc b3"""), reduced=(0,))


def gpt(p, dims, w, tokens, targets):
    B, T, d, heads = (dims[k] for k in "B T d heads".split())
    head = d // heads

    def block(x, g1, b1, qw, qb, kw, kb, vw, vb, pw, pb, g2, b2, uw, ub, dw, db):
        h = layer_norm(p, x, g1, b1)
        q, k, v = scaled_linear(p, h, qw, qb, head**-0.5), linear(p, h, kw, kb), linear(p, h, vw, vb)
        q, k, v = (p.expand(t, "[[0, 1], [2, 3]]", (B, T, heads, head)) for t in (q, k, v))
        scores = p.contraction(q, "d0 d2 d1 d4", k, "d0 d3 d1 d4", (B, heads, T, T), "d0 d1 d2 d3", 5, (4,))
        weights = softmax(p, causal(p, scores), 3)
        h = p.contraction(weights, "d0 d1 d2 d4", v, "d0 d4 d1 d3", (B, T, heads, head), "d0 d2 d1 d3", 5, (4,))
        h = p.collapse(h, "[[0, 1], [2, 3]]", (B * T, d))
        x = linear(p, h, pw, pb, residual=x)
        h = gelu(p, linear(p, layer_norm(p, x, g2, b2), uw, ub))
        return [linear(p, h, dw, db, residual=x)]

    def embed(ids, tok, pos):
        widened = [f"%w = arith.extf %t : {tok.element} to f32"] if tok.element != "f32" else []
        return [p.generic([(ids, "d0 d1"), (pos, "d1 d2")], (B, T, d), lambda i, e, _: ([
            f"%i = arith.index_cast {i} : i32 to index", "%j = linalg.index 2 : index",
            f"%t = tensor.extract {tok}[%i, %j] : {tok.type}", *widened,
            f"%s = arith.addf {'%w' if widened else '%t'}, {e} : f32"], "%s"))]

    x = p.collapse(embed(tokens, w["tok"], w["pos"])[0], "[[0, 1], [2]]", (B * T, d))
    for i in range(dims["L"]):
        x, = p.region(f"block{i}", [x] + [v for name, v in w.items() if name.startswith(f"{i}.")], block)
    x = layer_norm(p, x, w["ln_g"], w["ln_b"])
    logits = p.contraction(x, "d0 d2", w["tok"], "d1 d2", (B * T, dims["V"]), "d0 d1", 3, (2,))
    return cross_entropy(p, logits, p.collapse_ids(targets)), []


def pad(p, x, width):
    zero = p.scalar("0.0")
    B, H, W, C = x.shape
    padded = Value(p.fresh(), (B, H + 2 * width, W + 2 * width, C))
    p.emit(f"{padded} = tensor.pad {x} low[0, {width}, {width}, 0] high[0, {width}, {width}, 0] {{")
    p.emit("^bb0(%i0: index, %i1: index, %i2: index, %i3: index):")
    p.emit(f"  tensor.yield {zero} : f32")
    p.emit(f"}} : {x.type} to {padded.type}")
    return padded


def conv(p, x, w, stride):
    B, H, W, C = x.shape
    if w.shape[0] > 1:
        x = pad(p, x, w.shape[0] // 2)
    start = p.zeros((B, H // stride, W // stride, w.shape[3]))
    return p.op(f"linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : "
                f"tensor<2xi64>}} ins({x}, {w} : {x.type}, {w.type}) outs({start} : {start.type}) -> {{type}}",
                start.shape)


def batch_norm(p, x, gain, bias, then_relu, residual=None, epsilon=EPSILON):
    """Returns the result and the batch's mean and unbiased variance."""
    channels = (x.shape[3],)
    count = x.shape[0] * x.shape[1] * x.shape[2]
    n, unbiased, eps, zero = (p.scalar(t) for t in (f"{count}.0", f"{count - 1}.0", epsilon, "0.0"))
    total = p.generic([(x, "d0 d1 d2 d3")], channels, scalar_body("addf acc a0"), reduced=(0, 1, 2))
    mean = p.generic([(total, "d0")], channels, scalar_body(f"divf a0 {n}"))
    squares = p.generic([(x, "d0 d1 d2 d3"), (mean, "d3")], channels,
                        scalar_body("subf a0 a1\nmulf b0 b0\naddf acc b1"), reduced=(0, 1, 2))
    variance = p.generic([(squares, "d0")], channels, scalar_body(f"divf a0 {unbiased}"))
    inputs = [(x, "d0 d1 d2 d3"), (mean, "d3"), (squares, "d3"), (gain, "d3"), (bias, "d3")]
    lines = f"subf a0 a1\ndivf a2 {n}\naddf b1 {eps}\nmath.rsqrt b2\nmulf b0 b3\nmulf b4 a3\naddf b5 a4"
    if residual is not None:
        inputs.append((residual, "d0 d1 d2 d3"))
        lines += "\naddf b6 a5"
    if then_relu:
        lines += f"\nmaximumf b{len(lines.splitlines()) - 1} {zero}"
    return p.generic(inputs, x.shape, scalar_body(lines)), [mean, variance]


def resnet18(p, dims, w, images, labels):
    def stem(x, w1, g1, b1):
        y, s = batch_norm(p, conv(p, x, w1, 1), g1, b1, True)
        return [y, *s]

    def block(stride):
        def build(x, w1, g1, b1, w2, g2, b2, *shortcut):
            h, s1 = batch_norm(p, conv(p, x, w1, stride), g1, b1, True)
            s3 = []
            if shortcut:
                w3, g3, b3 = shortcut
                x, s3 = batch_norm(p, conv(p, x, w3, stride), g3, b3, False)
            y, s2 = batch_norm(p, conv(p, h, w2, 1), g2, b2, True, residual=x)
            return [y, *s1, *s2, *s3]
        return build

    def of(prefix):
        return [v for name, v in w.items() if name.startswith(prefix + ".")]

    x, *stats = p.region("stem", [images] + of("stem"), stem)
    for i, (_, _, stride) in enumerate(workloads.resnet18_blocks(dims["width"])):
        x, *more = p.region(f"block{i}", [x] + of(str(i)), block(stride))
        stats += more
    B, H, W, C = x.shape
    n = p.scalar(f"{H * W}.0")
    pooled = p.generic([(x, "d0 d1 d2 d3")], (B, C), scalar_body(f"divf a0 {n}\naddf acc b0"), reduced=(1, 2))
    return cross_entropy(p, linear(p, pooled, w["head_w"], w["head_b"]), labels), stats


def mlp(p, dims, w, x, y):
    def hidden(x, w, b):
        zero = p.scalar("0.0")
        return [p.generic([(p.matmul(x, w), "d0 d1"), (b, "d1")], (x.shape[0], w.shape[1]),
                          scalar_body(f"addf a0 a1\nmaximumf b0 {zero}"))]

    for i in range(dims["L"] - 1):
        x, = p.region(f"layer{i}", [x, w[f"{i}.w"], w[f"{i}.b"]], hidden)
    last = dims["L"] - 1
    n = p.scalar(f"{dims['B'] * dims['d']}.0")
    return p.generic([(linear(p, x, w[f"{last}.w"], w[f"{last}.b"]), "d0 d1"), (y, "d0 d1")], (), scalar_body(f"""
        subf a0 a1
        mulf b0 b0
        divf b1 {n}
        addf acc b2"""), reduced=(0, 1)), []


def rnn(p, dims, w, xs, ys):
    T, B, d = xs.shape

    def cell(x, h, c, wx, wh, b):
        one = p.scalar("1.0")
        z = p.matmul(h, wh, start=p.matmul(x, wx, rounded=False))
        gates = [p.slice(z, (0, i * d), (B, d)) for i in range(4)]
        biases = [p.slice(b, (i * d,), (d,)) for i in range(4)]

        inputs = [(g, "d0 d1") for g in gates] + [(v, "d1") for v in biases]
        c = p.generic(inputs[:3] + inputs[4:7] + [(c, "d0 d1")], (B, d), scalar_body(f"""
            addf a1 a4
            negf b0
            math.exp b1
            addf b2 {one}
            divf {one} b3
            mulf b4 a6
            addf a0 a3
            negf b6
            math.exp b7
            addf b8 {one}
            divf {one} b9
            addf a2 a5
            math.tanh b11
            mulf b10 b12
            addf b5 b13"""))
        h = p.generic([inputs[3], inputs[7], (c, "d0 d1")], (B, d), scalar_body(f"""
            addf a0 a1
            negf b0
            math.exp b1
            addf b2 {one}
            divf {one} b3
            math.tanh a2
            mulf b4 b5"""))
        return [h, c]

    start, stack = p.zeros((B, d)), p.empty((T, B, d))
    low, high, step = (p.scalar(i, "index") for i in (0, T, 1))
    t, h, c, out = p.fresh("t"), Value(p.fresh("h"), (B, d)), Value(p.fresh("c"), (B, d)), Value(p.fresh("o"), (T, B, d))
    loop = p.fresh("loop")
    types = f"{h.type}, {c.type}, {out.type}"
    p.emit(f"{loop}:3 = scf.for {t} = {low} to {high} step {step} iter_args({h} = {start}, {c} = {start}, {out} = {stack}) "
           f"-> ({types}) {{")
    p.depth += 1
    x = p.slice(xs, (t, 0, 0), (1, B, d), (B, d))
    h1, c1 = p.region("cell", [x, h, c, w["wx"], w["wh"], w["b"]], cell)
    out1 = p.op(f"tensor.insert_slice {h1} into {out}[{t}, 0, 0] [1, {B}, {d}] [1, 1, 1] : {h1.type} into {{type}}",
                (T, B, d))
    p.emit(f"scf.yield {h1}, {c1}, {out1} : {types}")
    p.depth -= 1
    p.emit("}")
    n = p.scalar(f"{T * B * d}.0")
    return p.generic([(Value(f"{loop}#2", (T, B, d)), "d0 d1 d2"), (ys, "d0 d1 d2")], (), scalar_body(f"""
        subf a0 a1
        mulf b0 b0
        divf b1 {n}
        addf acc b2"""), reduced=(0, 1, 2)), []


def rms_norm(p, x, gain):
    rows, d = x.shape
    squares = p.generic([(x, "d0 d1")], (rows,), scalar_body("mulf a0 a0\naddf acc b0"), reduced=(1,))
    n, eps = p.scalar(f"{d}.0"), p.scalar(EPSILON)
    return p.generic([(x, "d0 d1"), (squares, "d0"), (gain, "d1")], x.shape, scalar_body(f"""
        divf a1 {n}
        addf b0 {eps}
        math.rsqrt b1
        mulf a0 b2
        mulf b3 a2"""))


def rotate(p, x, cos, sin):
    """Turns pairs of channels, the two halves of a head, by angles that grow with the position. `x` is (batch, position,
    head, channel)."""
    B, T, heads, head = x.shape
    first, second = (p.slice(x, (0, 0, 0, i), (B, T, heads, head // 2)) for i in (0, head // 2))
    inputs = [(first, "d0 d1 d2 d3"), (second, "d0 d1 d2 d3"), (cos, "d1 d3"), (sin, "d1 d3")]
    turned = [p.generic(inputs, first.shape, scalar_body(body)) for body in
              ("mulf a0 a2\nmulf a1 a3\nsubf b0 b1", "mulf a1 a2\nmulf a0 a3\naddf b0 b1")]
    return p.op(f"tensor.concat dim(3) {', '.join(map(str, turned))} : ({turned[0].type}, {turned[1].type}) -> {{type}}",
                x.shape, x.element)


def llama(p, dims, w, tokens, targets):
    B, T, d, heads, shared = (dims[k] for k in ("B", "T", "d", "heads", "shared"))
    head, own = d // heads, heads // shared

    def table(function):
        base = p.scalar(f"{2 * math.log(10000) / head!r}")
        return p.generic([], (T, head // 2), lambda _: ([
            "%t = linalg.index 0 : index", "%i = linalg.index 1 : index", "%ti = arith.index_cast %t : index to i32",
            "%ii = arith.index_cast %i : index to i32", "%tf = arith.sitofp %ti : i32 to f32",
            "%if = arith.sitofp %ii : i32 to f32", f"%p = arith.mulf %if, {base} : f32", "%n = arith.negf %p : f32",
            "%e = math.exp %n : f32", "%a = arith.mulf %tf, %e : f32", f"%s = math.{function} %a : f32"], "%s"))

    def block(x, cos, sin, g1, qw, kw, vw, ow, g2, gate, up, down):
        h = rms_norm(p, x, g1)
        q, k, v = (p.expand(p.matmul(h, m), "[[0, 1], [2, 3]]", (B, T, m.shape[1] // head, head)) for m in (qw, kw, vw))
        q, k = rotate(p, q, cos, sin), rotate(p, k, cos, sin)
        q = p.expand(q, "[[0], [1], [2, 3], [4]]", (B, T, own, shared, head))
        scores = p.contraction(q, "d0 d3 d1 d2 d5", k, "d0 d4 d1 d5", (B, own, shared, T, T), "d0 d1 d2 d3 d4", 6, (5,))
        scale, hidden = p.scalar(f"{head**-0.5!r}"), p.scalar("0xFF800000")
        scores = p.generic([(scores, "d0 d1 d2 d3 d4")], scores.shape, lambda a, _: ([
            "%i = linalg.index 3 : index", "%j = linalg.index 4 : index", "%seen = arith.cmpi ule, %j, %i : index",
            f"%scaled = arith.mulf {a}, {scale} : f32",
            f"%s = arith.select %seen, %scaled, {hidden} : f32"], "%s"))
        h = p.contraction(softmax(p, scores, 4), "d0 d2 d3 d1 d5", v, "d0 d5 d2 d4", (B, T, own, shared, head),
                          "d0 d1 d2 d3 d4", 6, (5,))
        x = add(p, x, p.matmul(p.collapse(h, "[[0, 1], [2, 3, 4]]", (B * T, d)), ow))
        h = rms_norm(p, x, g2)
        one = p.scalar("1.0")
        h = p.generic([(p.matmul(h, gate), "d0 d1"), (p.matmul(h, up), "d0 d1")], (B * T, dims["ffn"]), scalar_body(f"""
            negf a0
            math.exp b0
            addf b1 {one}
            divf a0 b2
            mulf b3 a1"""))
        return [add(p, x, p.matmul(h, down))]

    x = p.collapse(p.generic([(tokens, "d0 d1")], (B, T, d), lambda i, _: ([
        f"%i = arith.index_cast {i} : i32 to index", "%j = linalg.index 2 : index",
        f"%t = tensor.extract {w['tok']}[%i, %j] : {w['tok'].type}",
        *(["%s = arith.extf %t : bf16 to f32"] if w["tok"].element == "bf16" else [])],
        "%s" if w["tok"].element == "bf16" else "%t"), dims=3), "[[0, 1], [2]]", (B * T, d))
    cos, sin = table("cos"), table("sin")
    for i in range(dims["L"]):
        own_weights = [v for name, v in w.items() if name.startswith(f"{i}.")]
        x, = p.region(f"block{i}", [x, cos, sin] + own_weights, block)
    logits = p.matmul(rms_norm(p, x, w["norm"]), w["head"])
    return cross_entropy(p, logits, p.collapse_ids(targets)), []


def add(p, x, y):
    return p.generic([(x, "d0 d1"), (y, "d0 d1")], x.shape, scalar_body("addf a0 a1"))


def convnext(p, dims, w, images, labels):
    def patches(x, kernel, bias):
        """A convolution whose windows do not overlap."""
        size, _, _, outputs = kernel.shape
        B, H, W, _ = x.shape
        start = p.zeros((B, H // size, W // size, outputs))
        y = p.op(f"linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>, strides = dense<{size}> : "
                 f"tensor<2xi64>}} ins({typed([x, kernel])}) outs({typed([start])}) -> {{type}}", start.shape)
        return p.generic([(y, "d0 d1 d2 d3"), (bias, "d3")], y.shape, scalar_body("addf a0 a1"))

    def norm(x, gain, bias):
        B, H, W, C = x.shape
        y = layer_norm(p, p.collapse(x, "[[0, 1, 2], [3]]", (B * H * W, C)), gain, bias)
        return p.expand(y, "[[0, 1, 2], [3]]", x.shape)

    def block(x, depth_w, depth_b, gain, bias, up_w, up_b, down_w, down_b, scale):
        B, H, W, C = x.shape
        kernel = p.collapse(depth_w, "[[0], [1], [2, 3]]", (7, 7, C))
        start = p.zeros(x.shape)
        h = p.op(f"linalg.depthwise_conv_2d_nhwc_hwc {{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : "
                 f"tensor<2xi64>}} ins({typed([pad(p, x, 3), kernel])}) outs({typed([start])}) -> {{type}}", x.shape)
        h = p.generic([(h, "d0 d1 d2 d3"), (depth_b, "d3")], x.shape, scalar_body("addf a0 a1"))
        h = p.collapse(norm(h, gain, bias), "[[0, 1, 2], [3]]", (B * H * W, C))
        h = p.matmul(gelu(p, linear(p, h, up_w, up_b)), down_w)
        h = p.expand(h, "[[0, 1, 2], [3]]", x.shape)
        inputs = [(x, "d0 d1 d2 d3"), (h, "d0 d1 d2 d3"), (down_b, "d3"), (scale, "d3")]
        return [p.generic(inputs, x.shape, scalar_body("addf a1 a2\nmulf a3 b0\naddf a0 b1"))]

    x = images
    for i, (*_, blocks) in enumerate(workloads.convnext_stages(dims)):
        down = w[f"{i}.down_w"], w[f"{i}.down_b"]
        gains = w[f"{i}.norm_g"], w[f"{i}.norm_b"]
        x = norm(patches(x, *down), *gains) if i == 0 else patches(norm(x, *gains), *down)
        for j in range(blocks):
            own = [v for name, v in w.items() if name.startswith(f"{i}.{j}.")]
            x, = p.region(f"block{i}.{j}", [x] + own, block)
    B, H, W, C = x.shape
    n = p.scalar(f"{H * W}.0")
    pooled = p.generic([(x, "d0 d1 d2 d3")], (B, C), scalar_body(f"divf a0 {n}\naddf acc b0"), reduced=(1, 2))
    pooled = layer_norm(p, pooled, w["norm_g"], w["norm_b"])
    return cross_entropy(p, linear(p, pooled, w["head_w"], w["head_b"]), labels), []


def running(p, old, new):
    """0.9 * old + 0.1 * new"""
    keep, take = p.scalar("0.9"), p.scalar("0.1")
    return p.generic([(old, "d0"), (new, "d0")], old.shape,
                     scalar_body(f"mulf a0 {keep}\nmulf a1 {take}\naddf b0 b1"))


def mlir(workload, dims, precision="f32", parameters="f32", rule=None, settings=""):
    """With bf16, the model takes `parameters` of f32 rounded, or as they are if they are of bf16. `rule` is an update rule in the
    place of the workload's, and `settings` are the attributes of its training."""
    p = Printer(precision)
    p.collapse_ids = lambda v: p.op(f"tensor.collapse_shape {v} [[0, 1]] : {v.type} into {{type}}",
                                    (v.shape[0] * v.shape[1],), "i32")
    states = workloads.states(workload, dims)
    batch = workloads.batch(workload, dims)
    arguments, weights, olds, data = [], {}, {}, []
    for name, initial in workloads.initials(workload, dims).items():
        weights[name] = Value(f"%p{len(weights)}", initial.shape, parameters)
        start = f"normal({initial.deviation})" if initial.deviation else f"constant({initial.mean})"
        arguments.append(f"{weights[name]}: {weights[name].type} {{opt.param = \"{name}\", opt.init = \"{start}\"}}")
    weights = {name: p.narrow(value) for name, value in weights.items()}
    for name, array in states.items():
        olds[name] = Value(f"%s{len(olds)}", array.shape)
        arguments.append(f"{olds[name]}: {olds[name].type} {{remat.state = \"{name}\"}}")
    for name, array in batch.items():
        data.append(Value(f"%{name}", array.shape, {"int32": "i32", "float32": "f32"}[str(array.dtype)]))
        arguments.append(f"{data[-1]}: {data[-1].type} {{remat.data = \"{name}\"}}")
    loss, stats = globals()[workload](p, dims, weights, *data)
    news = [running(p, old, new) for old, new in zip(olds.values(), stats, strict=True)]
    results = [f"{loss.type} {{remat.loss}}"] + [f"{v.type} {{remat.state = \"{name}\"}}" for name, v in zip(olds, news)]
    p.emit(f"return {typed([loss, *news])}")
    if rule is None:
        name, options = workloads.OPTIMIZERS[workload]
        texts = {key: f"{value:e}" if isinstance(value, float) else value for key, value in options.items()}
        rule = f"#opt.{name}<{', '.join(f'{key} = {text}' for key, text in texts.items())}>"
    return "\n".join([
        f"opt.optimizer @optimizer = {rule}", "",
        "func.func @loss(" + ",\n    ".join(arguments) + ")", f"    -> ({', '.join(results)}) {{", *p.lines, "}", "",
        f"remat.train_step @step for @loss optimizer(@optimizer) {settings}".rstrip()]) + "\n"


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in workloads.DIMS:
        raise SystemExit(__doc__)
    print(mlir(sys.argv[1], workloads.dims_of(sys.argv[1], sys.argv[2:])), end="")


if __name__ == "__main__":
    main()
