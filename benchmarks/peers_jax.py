# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads in JAX and their training step with donated parameters and state: the peer that is one XLA program."""
import re
import time

import jax
import jax.numpy as jnp
from jax import lax

import workloads


def remat(policy):
    if policy == "none":
        return lambda block: block
    saveable = {"full": jax.checkpoint_policies.nothing_saveable, "dots": jax.checkpoint_policies.dots_saveable}[policy]
    return lambda block, **options: jax.checkpoint(block, policy=saveable, **options)


def layer_norm(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias


def cross_entropy(logits, targets):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1).mean()


def gpt(params, batch, dims, policy):
    heads, d, T = dims["heads"], dims["d"], dims["T"]

    def block(p, x):
        B = x.shape[0]
        h = layer_norm(x, p["ln1_g"], p["ln1_b"])
        q, k, v = ((h @ p[f"{n}_w"] + p[f"{n}_b"]).reshape(B, T, heads, d // heads).swapaxes(1, 2) for n in "qkv")
        scores = (q * (d // heads) ** -0.5) @ k.swapaxes(-1, -2)
        h = jax.nn.softmax(jnp.where(jnp.tri(T, dtype=bool), scores, -jnp.inf)) @ v
        x = x + h.swapaxes(1, 2).reshape(B, T, d) @ p["proj_w"] + p["proj_b"]
        h = layer_norm(x, p["ln2_g"], p["ln2_b"]) @ p["up_w"] + p["up_b"]
        return x + jax.nn.gelu(h, approximate=False) @ p["down_w"] + p["down_b"]

    x = params["tok"][batch["tokens"]] + params["pos"]
    for i in range(dims["L"]):
        x = remat(policy)(block)(workloads.within(params, str(i)), x)
    return cross_entropy(layer_norm(x, params["ln_g"], params["ln_b"]) @ params["tok"].T, batch["targets"]), {}


def conv(x, w, stride=1):
    pad = w.shape[0] // 2
    return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x, gain, bias):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    n = x.size // x.shape[-1]
    y = (x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias
    return y, lax.stop_gradient((mean, variance * (n / (n - 1))))


def resnet18(params, batch, dims, policy):
    def conv_norm(p, i, x, stride=1):
        return batch_norm(conv(x, p[f"{i}.w"], stride), p[f"{i}.g"], p[f"{i}.b"])

    def stem(p, x):
        x, s = conv_norm(p, 1, x)
        return jax.nn.relu(x), [s]

    def block(p, x):
        stride = 2 if "3.w" in p else 1
        h, s1 = conv_norm(p, 1, x, stride)
        h, s2 = conv_norm(p, 2, jax.nn.relu(h))
        if stride == 1:
            return jax.nn.relu(h + x), [s1, s2]
        x, s3 = conv_norm(p, 3, x, stride)
        return jax.nn.relu(h + x), [s1, s2, s3]

    x, stats = remat(policy)(stem)(workloads.within(params, "stem"), batch["images"])
    for i in range(8):
        x, s = remat(policy)(block)(workloads.within(params, str(i)), x)
        stats = stats + s
    states = workloads.resnet18_named_states(stats, dims)
    return cross_entropy(x.mean((1, 2)) @ params["head_w"] + params["head_b"], batch["labels"]), states


def mlp(params, batch, dims, policy):
    hidden = remat(policy)(lambda w, b, x: jax.nn.relu(x @ w + b))
    x, last = batch["x"], dims["L"] - 1
    for i in range(last):
        x = hidden(params[f"{i}.w"], params[f"{i}.b"], x)
    return jnp.square(x @ params[f"{last}.w"] + params[f"{last}.b"] - batch["y"]).mean(), {}


def rnn(params, batch, dims, policy):
    def cell(p, carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    if policy != "none":
        cell = remat(policy)(cell, prevent_cse=False)  # forward and backward are separate loops
    start = jnp.zeros_like(batch["x"][0])
    _, hs = lax.scan(lambda carry, x: cell(params, carry, x), (start, start), batch["x"])
    return jnp.square(hs - batch["y"]).mean(), {}


def rms_norm(x, gain):
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * gain


def rotate(x, cos, sin):
    """`x` is (batch, position, head, channel)."""
    first, second = jnp.split(x, 2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def llama(params, batch, dims, policy):
    heads, shared, d, T = (dims[k] for k in ("heads", "shared", "d", "T"))
    head = d // heads
    cos, sin = (jnp.array(table) for table in workloads.rotations(dims))

    def block(p, x):
        B = x.shape[0]
        h = rms_norm(x, p["norm1"])
        q, k, v = ((h @ p[n]).reshape(B, T, -1, head) for n in "qkv")
        q, k = rotate(q, cos, sin) * head**-0.5, rotate(k, cos, sin)
        scores = jnp.einsum("btkgd,bskd->bkgts", q.reshape(B, T, -1, shared, head), k)
        weights = jax.nn.softmax(jnp.where(jnp.tri(T, dtype=bool), scores, -jnp.inf))
        h = jnp.einsum("bkgts,bskd->btkgd", weights, v).reshape(B, T, d)
        x = x + h @ p["o"]
        h = rms_norm(x, p["norm2"])
        return x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]

    x = params["tok"][batch["tokens"]]
    for i in range(dims["L"]):
        x = remat(policy)(block)(workloads.within(params, str(i)), x)
    return cross_entropy(rms_norm(x, params["norm"]) @ params["head"], batch["targets"]), {}


def convnext(params, batch, dims, policy):
    def patches(x, w, b):
        """A convolution whose windows do not overlap."""
        return lax.conv_general_dilated(x, w, w.shape[:2], "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b

    def block(p, x):
        h = lax.conv_general_dilated(x, p["depth_w"], (1, 1), [(3, 3)] * 2, feature_group_count=x.shape[-1],
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["depth_b"]
        h = layer_norm(h, p["norm_g"], p["norm_b"])
        h = jax.nn.gelu(h @ p["up_w"] + p["up_b"], approximate=False) @ p["down_w"] + p["down_b"]
        return x + p["scale"] * h

    x = batch["images"]
    for i, (*_, blocks) in enumerate(workloads.convnext_stages(dims)):
        p = workloads.within(params, str(i))
        norm = lambda x: layer_norm(x, p["norm_g"], p["norm_b"])
        x = norm(patches(x, p["down_w"], p["down_b"])) if i == 0 else patches(norm(x), p["down_w"], p["down_b"])
        for j in range(blocks):
            x = remat(policy)(block)(workloads.within(p, str(j)), x)
    x = layer_norm(x.mean((1, 2)), params["norm_g"], params["norm_b"])
    return cross_entropy(x @ params["head_w"] + params["head_b"], batch["labels"]), {}


def adamw(params, grads, state, lr, weight_decay, b1=0.9, b2=0.999, eps=1e-8):
    t = state["t"] + 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], grads)
    new = jax.tree.map(lambda p, m, v: p * (1 - lr * weight_decay) - lr / (1 - b1**t) * m / (
        jnp.sqrt(v / (1 - b2**t)) + eps), params, m, v)
    return new, {"t": t, "m": m, "v": v}


def sgd(params, grads, state, lr, momentum=0.0):
    if momentum:
        grads = jax.tree.map(lambda m, g: momentum * m + g, state["m"], grads)
        state = {"m": grads}
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), state


def initial_state(workload, params):
    kind, options = workloads.OPTIMIZERS[workload]
    zeros = lambda: {k: jnp.zeros_like(v) for k, v in params.items()}
    if kind == "adamw":
        return {"t": jnp.zeros(()), "m": zeros(), "v": zeros()}
    return {"m": zeros()} if options.get("momentum") else {}


def training_step(workload, dims, policy, precision="f32"):
    loss_of = compute_in_bf16(globals()[workload]) if precision == "bf16" else globals()[workload]
    kind, options = workloads.OPTIMIZERS[workload]
    optimizer = {"adamw": adamw, "sgd": sgd}[kind]

    def step(params, state, batch):
        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params, batch, dims, policy)
        params, optimizer_state = optimizer(params, grads, state["optimizer"], **options)
        running = {k: 0.9 * old + 0.1 * stats[k] for k, old in state["running"].items()}
        return params, {"optimizer": optimizer_state, "running": running}, loss

    return step


def compute_in_bf16(loss):
    """Parameters are f32, and the model takes them rounded."""
    return lambda params, *rest: loss({name: a.astype(jnp.bfloat16) for name, a in params.items()}, *rest)


def build(workload, dims, policy, eager=False, device="cpu", precision="f32"):
    """Returns a function that runs one step and returns the loss, and what is known before the first step."""
    if device == "cuda":
        if jax.default_backend() != "gpu":
            raise SystemExit(f"JAX runs on {jax.default_backend()} here: pip install jax[cuda13]")
        # Which rounds to TF32 unless told not to.
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if precision == "tf32" else "highest")
    to_jax = lambda arrays: {k: jnp.array(v) for k, v in arrays.items()}
    params, batch = to_jax(workloads.parameters(workload, dims)), to_jax(workloads.batch(workload, dims))
    running = to_jax(workloads.states(workload, dims))
    state = {"optimizer": initial_state(workload, params), "running": running}
    start = time.perf_counter()
    compiled = jax.jit(training_step(workload, dims, policy, precision), donate_argnums=(0, 1)).lower(params, state, batch).compile()
    facts = {"compile_s": time.perf_counter() - start,
             "bytes": compiled.memory_analysis().temp_size_in_bytes,
             "products": len(re.findall(r" (?:dot|convolution)\(|__onednn", compiled.as_text()))}
    values = [params, state]

    def step():
        *values[:], loss = compiled(*values, batch)
        jax.block_until_ready(values)
        return float(loss)

    return step, facts
