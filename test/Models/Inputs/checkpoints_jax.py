# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints as JAX programs have them: checkpoints_jax.py FOLDER exports one of each."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from remat import export


def layer(h, w):
    return jnp.tanh(h @ w)


def scan(params, x):
    def body(h, w):
        h = jax.checkpoint(layer)(h, w)
        return jax.checkpoint(lambda h: layer(layer(h, w), w))(h), None
    return (jax.lax.scan(body, x, params["w"])[0] ** 2).sum()


def nested(params, x):
    inner = jax.checkpoint(lambda h, w: layer(h, w))
    outer = jax.checkpoint(lambda h: jax.lax.scan(lambda h, w: (inner(h, w), None), h, params["w"])[0])
    return (outer(outer(x)) ** 2).sum()


def called(params, x):
    block = jax.jit(lambda h, w: jax.checkpoint(lambda h: jnp.sin(layer(h, w)))(h))
    h = block(block(x, params["w"][0]), params["w"][1])
    return (jax.lax.cond(h.sum() > 0, lambda h: block(h, params["w"][2]), lambda h: h, h) ** 2).sum()


def named(params, x):
    @jax.checkpoint
    def block(h, w):
        product = checkpoint_name(h @ w, 'the "product"')
        first, second = jax.lax.optimization_barrier((jnp.tanh(product), jnp.sin(product)))
        return first * second
    for w in params["w"]:
        x = block(x, w)
    return (x ** 2).sum()


rng = np.random.default_rng(0)
arrays = {"w": 0.5 * rng.normal(size=(3, 4, 4)).astype("f")}
for loss in scan, nested, called, named:
    export.from_jax(loss, arrays, {"x": rng.normal(size=(2, 4)).astype("f")}).save(sys.argv[1], loss.__name__)
export.from_jax(lambda weight, x: (weight, x), np.float32(2), {"x": np.ones(3, "f")}, outputs=("loss", "x")).save(
    sys.argv[1], "parameter")


def dropout(params, x):
    """Draws are the same in the numbers in float64."""
    def body(carried, w):
        h, key = carried
        key, own = jax.random.split(key)
        keep = jax.checkpoint(lambda h: jax.random.bernoulli(own, 0.5, h.shape) * layer(h, w) + jax.random.uniform(own))
        return (keep(h), key), None
    return (jax.lax.scan(body, (x, jax.random.key(0)), params["w"])[0][0] ** 2).sum()


export.from_jax(dropout, arrays, {"x": np.ones((2, 4), "f")}).save(sys.argv[1], "dropout")
