# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example models in JAX, written from their definition rather than from the MLIR."""
import jax
import jax.numpy as jnp
from jax import lax


def layer_norm(x, gain):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain


def cross_entropy(scores, targets):
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), targets[..., None], -1).mean()


def chargpt_scores(params, tokens, drop=lambda h: h):
    batch, time = tokens.shape
    width, heads = params["tok"].shape[1], 4
    x = params["tok"][tokens] + params["pos"]
    for i in range(6):
        p = {name: params[f"block{i}.{name}"] for name in ("ln1", "qkv", "proj", "ln2", "up", "down")}
        qkv = (layer_norm(x, p["ln1"]) @ p["qkv"]).reshape(batch, time, 3, heads, width // heads)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / (width // heads) ** 0.5
        h = jax.nn.softmax(jnp.where(jnp.tri(time, dtype=bool), scores, -jnp.inf)) @ v
        x = x + drop(h.swapaxes(1, 2).reshape(batch, time, width) @ p["proj"])
        h = jax.nn.gelu(layer_norm(x, p["ln2"]) @ p["up"], approximate=False)
        x = x + drop(h @ p["down"])
    return layer_norm(x, params["ln"]) @ params["tok"].T


def chargpt_loss(params, data, drop=lambda h: h):
    """Returns the loss and the next state (none)."""
    windows = data["windows"]
    return cross_entropy(chargpt_scores(params, windows[:, :-1], drop), windows[:, 1:]), {}


def digits_loss(params, data, drop=lambda h: h):
    """Returns the loss and the batch's statistics (unbiased variance)."""
    x, statistics = data["images"], {}
    for i in 1, 2, 3:
        x = lax.conv_general_dilated(x, params[f"conv{i}.weight"], (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = (x - mean) * lax.rsqrt(variance + 1e-5) * params[f"bn{i}.gain"] + params[f"bn{i}.bias"]
        x = jax.nn.relu(x)
        count = x.size // x.shape[-1]
        statistics |= {f"bn{i}.mean": mean, f"bn{i}.variance": variance * count / (count - 1)}
        if i == 2:
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = drop(x.mean((1, 2)))
    return cross_entropy(x @ params["out.weight"] + params["out.bias"], data["labels"]), statistics


def adam(params, gradients, state, step, lr, weight_decay=0.0, b1=0.9, b2=0.999, eps=1e-8):
    """AdamW with weight_decay, Adam without. `step` counts from 0."""
    m = {k: b1 * state[0][k] + (1 - b1) * g for k, g in gradients.items()}
    v = {k: b2 * state[1][k] + (1 - b2) * g * g for k, g in gradients.items()}
    t = step + 1

    def update(k):
        change = m[k] / (1 - b1 ** t) / (jnp.sqrt(v[k] / (1 - b2 ** t)) + eps)
        return params[k] * (1 - lr * weight_decay) - lr * change
    return {k: update(k) for k in params}, (m, v)


def warmup_cosine(step, peak, warmup, total, floor):
    if step < warmup:
        return peak * step / warmup
    return floor + (peak - floor) * (1 + jnp.cos(jnp.pi * min(1, (step - warmup) / (total - warmup)))) / 2
