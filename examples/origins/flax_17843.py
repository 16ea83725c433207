# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transformers PR 17843: gradient checkpointing for Flax models; which policy? "Try them all and see"."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import remat
import remat.jax
from flax import nnx

LAYERS, WIDTH, HEADS, VOCABULARY, BATCH, LENGTH = 4, 64, 4, 512, 8, 64


class LinenLayer(nn.Module):
    @nn.compact
    def __call__(self, x, deterministic):  # no nn.remat, no static_argnums
        x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(HEADS, dropout_rate=0.1, deterministic=deterministic)(x, x))
        return nn.LayerNorm()(x + nn.Dropout(0.1, deterministic=deterministic)(nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(x)))))


class LinenBert(nn.Module):
    @nn.compact
    def __call__(self, tokens, deterministic=False):
        x = nn.Embed(VOCABULARY, WIDTH)(tokens) + nn.Embed(LENGTH, WIDTH)(jnp.arange(LENGTH))
        for _ in range(LAYERS):
            x = LinenLayer()(x, deterministic)
        return nn.Dense(VOCABULARY)(x)


class NnxLayer(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs), nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)
        self.first, self.second = nnx.LayerNorm(WIDTH, rngs=rngs), nnx.LayerNorm(WIDTH, rngs=rngs)

    def __call__(self, x):
        x = self.first(x + self.attention(x))
        return self.second(x + self.down(nnx.gelu(self.up(x))))


tokens, key, rngs = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, LENGTH)).astype("i4"), jax.random.key(0), nnx.Rngs(0)
graph, nnx_params = nnx.split(nnx.Sequential(nnx.Embed(VOCABULARY, WIDTH, rngs=rngs), *[NnxLayer(rngs) for _ in range(LAYERS)],
                                             nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)))
MODELS = {"linen": (LinenBert().init(key, tokens, True), lambda params, tokens, key: LinenBert().apply(params, tokens, rngs={"dropout": key})),
          "nnx": (nnx_params, lambda params, tokens, key: nnx.merge(graph, params)(tokens))}
POLICIES = {"none": "none", "nothing saved": remat.layers(), "every second layer": remat.layers(every=2),
            "products": remat.layers() | remat.dots_saveable, "products without batch": remat.layers() | remat.dots_with_no_batch_dims_saveable}
for name, (params, apply) in MODELS.items():
    def loss(params, tokens, labels, key, apply=apply):
        return optax.softmax_cross_entropy_with_integer_labels(apply(params, tokens, key), labels).mean()

    def make(policy, loss=loss, params=params):
        return remat.jax.train_step(loss, params, tokens, tokens, key, optimizer=optax.adamw(1e-3), policy=policy)

    table = remat.compare(make, POLICIES, (tokens, tokens, key), steps=5, memory="10MiB")
    print(f"{name}\n{table}\nthe fastest that fits: {table.fastest.name}")
