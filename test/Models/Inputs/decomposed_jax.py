# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that StableHLO's lowering to linalg lacks: decomposed_jax.py FOLDER exports a loss of cumulative sums, sorts and scatters."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

from remat import export


def loss(params, x, places):
    h = x @ params["w"]
    sums = jnp.cumsum(h, axis=0) + jax.lax.cummax(h, axis=1, reverse=True) + jnp.cumprod(h, axis=1)
    best, chosen = jax.lax.top_k(jnp.cumsum(h[::-1], axis=1), 3)
    ordered = jnp.sort(h, axis=0) * jnp.arange(8.0)[:, None] + jnp.take_along_axis(h, jnp.argsort(-h, axis=1), axis=1)
    table = params["table"].at[places].add(sums).at[jnp.arange(8), 1:4].multiply(best, unique_indices=True).at[0].set(h[3])
    table = table + jax.vmap(lambda row, at: row.at[at].set(0.25))(params["table"], places % 5)
    segments = jax.ops.segment_sum(ordered, places, num_segments=4)  # one place is outside
    return (table ** 2).sum() + (segments ** 2).sum() + (best * chosen).sum()


rng = np.random.default_rng(0)
kind = "f8" if jax.config.jax_enable_x64 else "f4"
params = {"w": rng.normal(size=(4, 5)).astype(kind), "table": rng.normal(size=(8, 5)).astype(kind)}
inputs = {"x": rng.normal(size=(8, 4)).astype(kind), "places": np.array([1, 3, 1, 0, 9, 2, 2, 5], "i")}
export.from_jax(loss, params, inputs).save(sys.argv[1], "decomposed")
