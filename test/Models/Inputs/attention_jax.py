# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every form of attention that jax.nn.dot_product_attention has: attention_jax.py FOLDER exports a loss for each."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

from remat import export

B, T, S, H, K, D = 2, 13, 19, 4, 2, 8
dot = jax.nn.dot_product_attention


def plain(p, x):
    return dot(p["q"], p["k"], p["v"])


def windows(p, x):
    return dot(p["q"], p["k"], p["v"], is_causal=True, local_window_size=(5, 0))


def cross(p, x):
    return dot(p["q"], p["k2"], p["v2"], mask=x["mask"], scale=0.3)


def grouped(p, x):
    return dot(p["q"], p["kg"], p["vg"], is_causal=True)


def multi_query(p, x):
    return dot(p["q"], p["kg"][:, :, :1], p["vg"][:, :, :1], bias=p["bias"])


def biased(p, x):
    return dot(p["q"], p["k2"], p["v2"], bias=p["bias2"])


def lengths(p, x):
    return dot(p["q"], p["k2"], p["v2"], query_seq_lengths=x["q_lengths"], key_value_seq_lengths=x["kv_lengths"])


def capped(p, x):
    scores = jnp.einsum("bthd,bshd->bhts", p["q"], p["k"]) * D ** -0.5
    scores = 5.0 * jnp.tanh(scores / 5.0)
    scores = jnp.where(jnp.tril(jnp.ones((T, T), bool)), scores, -jnp.inf)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), p["v"])


def alibi(p, x):
    scores = jnp.einsum("bthd,bshd->bhts", p["q"], p["k"])
    distance = jnp.arange(T)[None, :] - jnp.arange(T)[:, None]
    scores = scores + p["slopes"][:, None, None] * distance
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), p["v"])


def dropped(p, x):
    """With a mask that is data, as a frame of a recorded draw."""
    scores = jnp.einsum("bthd,bshd->bhts", p["q"], p["k"]) / jnp.sqrt(D)
    weights = jax.nn.softmax(scores) * x["keep"] / 0.75
    return jnp.einsum("bhts,bshd->bthd", weights, p["v"])


def latent(p, x):
    """Learned queries without a batch, as in a perceiver; another head size for values."""
    scores = jnp.einsum("nhd,bshd->bhns", p["latents"], p["k2"])
    return jnp.einsum("bhns,bshe->bnhe", jax.nn.softmax(scores), p["wide"])


def shared(p, x):
    """Queries, keys and values are one tensor."""
    return dot(p["q"], p["q"], p["q"], is_causal=True)


def finite(p, x):
    """The lowest number masks some rows as a whole, whose keys all count alike."""
    scores = jnp.einsum("bthd,bshd->bhts", p["q"], p["k2"])
    scores = jnp.where(x["seen"], scores, jnp.finfo("float32").min)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), p["v2"])


def added(p, x):
    scores = jnp.einsum("bthd,bshd->bhts", p["q"], p["k2"]) + jnp.where(x["seen"], 0.0, -1e30)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), p["v2"])


def kept(p, x):
    """Something else reads the probabilities: it stays a softmax."""
    weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", p["q"], p["k"]))
    return jnp.einsum("bhts,bshd->bthd", weights, p["v"]) * (weights ** 2).sum()


FORMS = [plain, windows, cross, grouped, multi_query, biased, lengths, capped, alibi, dropped, latent, shared, finite, added, kept]
rng = np.random.default_rng(0)


def draw(*shape):
    return rng.normal(size=shape).astype("f")


PARAMETERS = {
    "q": draw(B, T, H, D), "k": draw(B, T, H, D), "v": draw(B, T, H, D), "k2": draw(B, S, H, D), "v2": draw(B, S, H, D),
    "kg": draw(B, T, K, D), "vg": draw(B, T, K, D), "bias": draw(1, H, T, T), "bias2": draw(B, 1, T, S),
    "slopes": draw(H), "latents": draw(5, H, D), "wide": draw(B, S, H, 12)}
DATA = {"mask": rng.random((B, 1, T, S)) < 0.7, "q_lengths": np.array([T, 9], "i"), "kv_lengths": np.array([11, S], "i"),
        "keep": (rng.random((B, H, T, T)) < 0.75).astype("f"),
        "seen": (np.arange(S) < 9) & (np.arange(T) > 2)[:, None] & np.ones((B, 1, 1, 1), bool)}
READS = {form.__name__: form for form in FORMS}
if __name__ == "__main__":
    import inspect
    for name, form in READS.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        text = inspect.getsource(form)
        params = {k: v for k, v in PARAMETERS.items() if f'"{k}"' in text}
        data = {k: v for k, v in DATA.items() if f'"{k}"' in text}
        data["target"] = draw(*jax.eval_shape(form, params, data).shape)
        names = list(data)

        def loss(p, *inputs, form=form, names=names):
            x = dict(zip(names, inputs))
            return ((form(p, x) - x["target"]) ** 2).mean()

        export.from_jax(loss, params, data).save(sys.argv[1], name)
