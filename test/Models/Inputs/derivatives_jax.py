# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives that JAX's lowering loses: derivatives_jax.py FOLDER exports a loss of stopped gradients and functions with a
derivative by hand, once and in each other, in loops, under vmap and checkpoint, and JAX's own."""
import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from remat import export


@jax.custom_vjp
def clip(x, bound):
    return jnp.clip(x, -bound, bound)


clip.defvjp(lambda x, bound: (clip(x, bound), bound), lambda bound, c: (2 * c, jnp.zeros_like(bound)))


@jax.custom_jvp
def rounded(x):
    return jnp.round(4 * x) / 4


rounded.defjvp(lambda x, t: (rounded(*x), *t))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x, n):
    return n * rounded(x), jnp.arange(3) + n


scaled.defvjp(lambda x, n: (scaled(x, n), None), lambda n, _, c: (5 * c[0],))


def loss(params, x, mask):
    h = clip(jnp.tanh(x @ params["w"]), params["bound"]) + rounded(x @ params["w"])
    y, numbers = scaled(h, 3)

    def step(carry, row):
        return rounded(carry + jax.lax.stop_gradient(carry * row)), clip(carry, row).sum()

    last, sums = jax.lax.scan(step, h[0], params["rows"])
    named = jax.vmap(lambda row: checkpoint_name(jax.lax.stop_gradient(row) * row, "named"))(h)
    rows = named * jax.vmap(rounded)(h) * numbers.sum() + jax.nn.softmax(h) + jax.nn.log_softmax(h, axis=0)
    safe = jax.scipy.special.xlogy(jax.nn.relu(h), jnp.abs(h) + 0.1) + jnp.sinc(h) + jax.nn.relu6(4 * h) + jax.nn.softplus(h)
    again = jax.checkpoint(lambda h: jnp.sin(rounded(h)) * jax.lax.stop_gradient(h))(h)
    chosen = jnp.where(mask[:, None], rounded(h), 0.0) * jax.nn.logsumexp(h, axis=1, keepdims=True)
    return (h * (y + rows + safe + again + chosen)).sum() + (last * last).sum() + sums.sum()


rng = np.random.default_rng(0)
params = {"w": rng.normal(size=(5, 7)).astype("f"), "bound": np.full(7, 0.3, "f"), "rows": rng.normal(size=(4, 7)).astype("f")}
inputs = {"x": rng.normal(size=(6, 5)).astype("f"), "mask": np.arange(6) % 3 > 0}
export.from_jax(loss, params, inputs).save(sys.argv[1], "derivatives")


def closed_over(params, x):
    scale = x.sum()

    @jax.custom_vjp
    def scaled(w):
        return w * scale

    scaled.defvjp(lambda w: (scaled(w), None), lambda _, c: (c * 5,))
    return scaled(params).sum()


try:
    export.from_jax(closed_over, params["w"], {"x": inputs["x"]})
except export.ExportError as error:
    print(error)
