# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses over a vocabulary as they are written in JAX: loss_heads_jax.py FOLDER exports one of each."""
import inspect
import sys

import jax
import jax.numpy as jnp
import numpy as np

from remat import export

B, T, D, V = 3, 14, 8, 50
log_softmax = jax.nn.log_softmax


def hidden(p, x):
    return jnp.tanh(x["x"] @ p["w"])


def pick(rows, labels):
    return jnp.take_along_axis(rows, labels[..., None], axis=-1)[..., 0]


def picked(p, x):
    return -pick(log_softmax(hidden(p, x) @ p["u"]), x["labels"]).mean()


def flattened(p, x):
    """Rows in one dimension, logits and what is picked of them apart (as optax has it), z-loss."""
    logits = hidden(p, x).reshape(B * T, D) @ p["u"]
    norms = jax.nn.logsumexp(logits, axis=-1)
    losses = norms - pick(logits, x["labels"].reshape(-1))
    return losses.mean() + 1e-2 * (norms**2).mean()


def ignored(p, x):
    """Some rows have no label; weights for the others; a bias."""
    labels = x["labels"] - 5
    losses = pick(log_softmax(hidden(p, x) @ p["u"] + p["bias"]), jnp.maximum(labels, 0))
    return -jnp.where(labels >= 0, losses * x["weights"], 0).sum() / (labels >= 0).sum()


def tied(p, x):
    """The weights are an embedding, too."""
    h = jnp.tanh(p["e"][x["labels"]] @ p["w"])
    return -pick(log_softmax(jnp.einsum("btd,vd->btv", h, p["e"])), x["labels"]).mean()


def one_hot(p, x):
    labels = jax.nn.one_hot(x["labels"], V)
    return -(labels * log_softmax(hidden(p, x) @ p["u"])).sum(axis=-1).mean()


def smoothed(p, x):
    """Sums over rows and columns at once."""
    labels = 0.9 * jax.nn.one_hot(x["labels"], V) + 0.1 / V
    return -(labels * log_softmax(hidden(p, x) @ p["u"])).sum() / B


def soft(p, x):
    """Labels are as large as the logits."""
    return -(x["soft"] * log_softmax(hidden(p, x) @ p["u"])).sum(axis=-1).mean()


def capped(p, x):
    logits = 5 * jnp.tanh(hidden(p, x) @ p["u"] / 5) / 0.7
    return -pick(log_softmax(logits), x["labels"]).mean()


def transposed(p, x):
    """Rows in another order than that of the activations, positions as part of the loss."""
    logits = jnp.einsum("btd,dv->tbv", hidden(p, x), p["u"])
    losses = -pick(log_softmax(logits), x["labels"].T)
    return (losses * (1 + jnp.arange(T))[:, None]).mean()


def distilled(p, x):
    """The teacher's logits are as large."""
    teacher = jax.nn.softmax(x["x"] @ x["teacher"] / 2)
    return -(teacher * log_softmax(hidden(p, x) @ p["u"] / 2)).sum(axis=-1).mean()


def margins(p, x):
    """Argmax and maximum, without a softmax."""
    logits = hidden(p, x) @ p["u"]
    others = jnp.where(jax.nn.one_hot(x["labels"], V, dtype=bool), -jnp.inf, logits).max(axis=-1)
    wrong = jnp.argmax(logits, axis=-1) != x["labels"]
    return (jax.nn.relu(1 + others - pick(logits, x["labels"])) * (1 + wrong)).mean()


def squared(p, x):
    """No classes at all."""
    return ((hidden(p, x) @ p["u"] - x["soft"])**2).mean()


def repeated(p, x):
    """Something else reads the logits: they stay."""
    logits = hidden(p, x) @ p["u"]
    return -pick(log_softmax(logits), x["labels"]).mean() + (logits.mean(axis=(0, 1))**2).sum()


FORMS = [picked, flattened, ignored, tied, one_hot, smoothed, soft, capped, transposed, distilled, margins, squared, repeated]
rng = np.random.default_rng(0)


def draw(*shape):
    return rng.normal(size=shape).astype("f")


PARAMETERS = {"w": draw(D, D), "u": draw(D, V), "bias": draw(V), "e": draw(V, D)}
DATA = {"x": draw(B, T, D), "labels": rng.integers(0, V, (B, T)).astype("i"), "weights": rng.random((B, T)).astype("f"),
        "soft": rng.dirichlet(np.ones(V), (B, T)).astype("f"), "teacher": draw(D, V)}
if __name__ == "__main__":
    for form in FORMS:
        if sys.argv[2:] and form.__name__ not in sys.argv[2:]:
            continue
        text = inspect.getsource(form)
        if "hidden(" in text:
            text += inspect.getsource(hidden)
        params = {k: v for k, v in PARAMETERS.items() if f'p["{k}"]' in text}
        data = {k: v for k, v in DATA.items() if f'x["{k}"]' in text}
        names = list(data)

        def loss(p, *inputs, form=form, names=names):
            return form(p, dict(zip(names, inputs)))

        export.from_jax(loss, params, data).save(sys.argv[1], form.__name__)
