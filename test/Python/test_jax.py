# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses written in JAX, trained by a step and by JAX itself."""
import functools
import re
from pathlib import Path

import numpy as np
import pytest

import remat

jax = pytest.importorskip("jax")
pytest.importorskip("iree.compiler")
jnp = jax.numpy
from jax.ad_checkpoint import checkpoint_name  # noqa: E402

RNG = np.random.default_rng(0)


def normal(*shape, scale=0.5):
    return (scale * RNG.standard_normal(shape)).astype("f4")


def train_in_jax(loss, params, batches, lr, has_aux=False):
    losses = []
    for batch in batches:
        value, gradient = jax.value_and_grad(loss, has_aux=has_aux)(params, *batch)
        params = jax.tree.map(lambda p, g: p - lr * g, params, gradient)
        losses.append(value)
    return losses, params


def assert_close(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=2e-6)


def check_steps(step, loss, params, batches, lr=0.1):
    """Losses of steps on these batches, and parameters after them, are those of JAX."""
    losses, expected = train_in_jax(loss, params, batches, lr)
    assert_close([step(*batch) for batch in batches], losses)
    assert_close(step.params, expected)


def mlp(params, x, y):
    h = x
    for layer in params["layers"]:
        h = jnp.tanh(h @ layer["kernel"] + layer["bias"])
    return jnp.mean((h @ params["out"] - y)**2)


def mlp_params():
    return {"layers": [{"kernel": normal(5, 5), "bias": normal(5)} for _ in range(3)], "out": normal(5, 2)}


def mlp_batches(count):
    return [(normal(6, 5), normal(6, 2)) for _ in range(count)]


def convolution(params, batch, key):
    image, labels = batch["image"], batch["label"]
    h = jax.lax.conv_general_dilated(image, params[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = jax.nn.relu(h)
    keep = jax.random.bernoulli(key, 0.5, h.shape)
    h = jnp.where(keep, 2 * h, 0).mean(axis=(1, 2)) @ params[1]
    picked = jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], axis=1)
    return -picked.mean(), {"hits": (h.argmax(1) == labels).sum(), "logits": h}


def embedding(table, tokens):
    h = table[tokens]
    return jnp.mean((h[:, 1:] - h[:, :-1])**2)


def test_a_net_of_layers():
    params, batches = mlp_params(), mlp_batches(5)
    step = remat.jax.train_step(mlp, params, *batches[0], optimizer=remat.SGD(0.1))
    assert list(step.parameters) == ["layers.0.bias", "layers.0.kernel", "layers.1.bias", "layers.1.kernel",
                                     "layers.2.bias", "layers.2.kernel", "out"]
    assert_close(step.params, params)
    check_steps(step, mlp, params, batches)


def test_convolution_dropout_and_auxiliary_results():
    params = [normal(3, 3, 2, 4), normal(4, 3)]
    batches = [({"image": normal(4, 6, 6, 2), "label": RNG.integers(0, 3, 4).astype("i4")}, jax.random.PRNGKey(i))
               for i in range(3)]
    step = remat.jax.train_step(convolution, params, *batches[0], optimizer=remat.SGD(0.1))
    for batch in batches:
        ((loss, auxiliary),), params = train_in_jax(convolution, params, [batch], 0.1, has_aux=True)
        found = step(*batch)
        assert_close(found[0], loss)
        assert found[1].keys() == auxiliary.keys() and found[1]["hits"] == auxiliary["hits"]
        assert_close(found[1]["logits"], auxiliary["logits"])
    assert_close(step.params, params)


def test_parameters_that_are_one_array():
    table, tokens = normal(7, 3), RNG.integers(0, 7, (2, 5)).astype("i4")
    step = remat.jax.train_step(embedding, table, tokens, optimizer=remat.SGD(0.5))
    check_steps(step, embedding, table, [(tokens,)] * 3, 0.5)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_products_and_convolutions_of_16_bits_are_added_in_float32(kind):
    """As by XLA: in 16 bits, ones add up to 256, or 2048."""
    def loss(params, x):
        h = (x.astype(kind) @ params["dot"].astype(kind)).astype("f4")
        image = x.astype(kind).reshape(1, 64, 64, -1)
        filters = params["filters"].astype(kind)
        h += jax.lax.conv_general_dilated(image, filters, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")).sum()
        return jnp.sum(h)
    params, x = {"dot": np.ones((4096, 2), "f4"), "filters": np.ones((64, 64, 1, 1), "f4")}, np.ones((1, 4096), "f4")
    assert loss(params, x) == 16384
    for target in ({}, {"target": "cuda", "options": "emulate"}):
        step = remat.jax.train_step(loss, params, x, optimizer=remat.SGD(0.1), **target)
        assert step(x) == 16384
        assert_close(step.params, jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, x)))


@pytest.mark.parametrize("kind, algorithm", [
    ("bfloat16", "BF16_BF16_F32"), ("float32", "BF16_BF16_F32"), ("float32", "BF16_BF16_F32_X3"), ("float32", "F32_F32_F32"),
    ("float16", "F16_F16_F32"), ("bfloat16", jax.lax.DotAlgorithm("bfloat16", "bfloat16", "float32"))])
def test_products_that_name_an_algorithm(kind, algorithm):
    """Not all of which JAX has on a CPU."""
    def loss(precision, w, x):
        kinds = {"preferred_element_type": "float32"}
        h = jax.vmap(lambda row, w: jnp.matmul(row.astype(kind), w.astype(kind), precision=precision, **kinds), (0, None))(x, w)
        return jnp.sin(h).sum()
    w, x = normal(8, 3), normal(2, 5, 8)
    is_exact = algorithm in ("BF16_BF16_F32_X3", "F32_F32_F32")
    step = remat.jax.train_step(functools.partial(loss, algorithm), w, x, optimizer=remat.SGD(1.0))
    expected, gradient = jax.value_and_grad(functools.partial(loss, None))(w, x)
    np.testing.assert_allclose(step(x), expected, 1e-5 if is_exact else 2e-2)
    np.testing.assert_allclose(w - step.params, gradient, atol=1e-5 if is_exact else 2e-2)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"local_window_size": (8, 0)}, {"kind": "bfloat16"}])
def test_attention_keeps_no_scores(options):
    """As JAX's exporter writes it on this day."""
    kind, options = options.get("kind", "float32"), {k: v for k, v in options.items() if k != "kind"}

    def loss(p):
        return jax.nn.dot_product_attention(*p.astype(kind), **options).astype("f4").sum()
    step = remat.jax.train_step(loss, normal(3, 2, 96, 4, 8), optimizer=remat.SGD(1.0))
    assert step.memory.residuals < 2 * 4 * 96 * 96 * 4 / 2


def test_attention_of_16_bits():
    """Whose products name an algorithm."""
    def loss(p):
        return jax.nn.dot_product_attention(*p.astype("bfloat16"), is_causal=True).astype("f4").sum()
    p = normal(3, 2, 6, 4, 8)
    step = remat.jax.train_step(loss, p, optimizer=remat.SGD(1.0))
    expected, gradient = jax.value_and_grad(loss)(p)
    np.testing.assert_allclose(step(), expected, 1e-2)
    np.testing.assert_allclose(p - step.params, gradient, atol=2e-2)


def heads(w, x):
    return (h.reshape(*x.shape[:-1], 4, 4) for h in jnp.split(x @ w, 3, -1))


def mean_of_attention(w, x, **options):
    return (jax.nn.dot_product_attention(*heads(w, x), **options) ** 2).mean()


def scanned_attention(w, x):
    def attend(carry, y):
        result = jax.nn.dot_product_attention(*heads(w, carry + y), is_causal=True).reshape(carry.shape)
        return result, (result ** 2).mean()
    return jax.lax.scan(attend, 0 * x[0], x)[1].sum()


@jax.custom_vjp
def attention_with_a_rule(q, k, v):
    return jax.nn.dot_product_attention(q, k, v)


attention_with_a_rule.defvjp(lambda *heads: (attention_with_a_rule(*heads), heads),
                             lambda heads, y: jax.vjp(jax.nn.dot_product_attention, *heads)[1](2 * y))
LENGTHS = jnp.array([9, 4], "int32")
MASKS = jnp.stack([jnp.tril(jnp.ones((1, 1, 9, 9), bool), k) for k in (0, 2, 8)])
# A loss; how many attentions its export has as one operation, and how many in parts.
WHOLE = {
    "plain": (lambda w, x: mean_of_attention(w, x[0]), 1, 0),
    "of one sequence": (lambda w, x: mean_of_attention(w, x[0, 0], is_causal=True), 1, 0),
    "hidden rows": (lambda w, x: mean_of_attention(w, x[0], mask=MASKS[0] & (jnp.arange(9) > 3)[:, None]), 1, 0),
    "all masks": (lambda w, x: mean_of_attention(w, x[0], mask=MASKS[2], is_causal=True, local_window_size=(5, 2),
                                                 query_seq_lengths=LENGTHS, key_value_seq_lengths=LENGTHS[::-1]), 1, 0),
    "biased": (lambda w, x: mean_of_attention(w, x[0], bias=(w[:9, :9] @ w[:9, 9:18])[None, None], scale=2), 1, 0),
    "vmap": (lambda w, x: jax.vmap(lambda y, mask: mean_of_attention(w, y, mask=mask))(x, MASKS).sum(), 1, 0),
    "vmap with common keys": (lambda w, x: jax.vmap(lambda q: jax.nn.dot_product_attention(q, *list(heads(w, x[0]))[1:]).sum())(
        next(heads(w, x))).sum(), 0, 1),
    "checkpoint": (lambda w, x: jax.checkpoint(mean_of_attention)(w, x[0]), 1, 0),
    "jit": (lambda w, x: jax.jit(lambda w, y: mean_of_attention(w, y))(w, x[1]), 1, 0),
    "scan": (scanned_attention, 1, 0),
    "gradient": (lambda w, x: (jax.grad(mean_of_attention, 1)(w, x[0]) ** 2).sum(), 0, 1),
    "rule": (lambda w, x: attention_with_a_rule(*heads(w, x[0])).sum(), 1, 1),
    "residual": (lambda w, x: jax.nn.dot_product_attention(*heads(w, x[0]), return_residual=True)[0].sum(), 0, 1),
    "scale that is computed": (lambda w, x: mean_of_attention(w, x[0], scale=w[0, 0] ** 2), 0, 1)}


@pytest.mark.parametrize("name", WHOLE)
def test_attention_is_exported_whole(name):
    loss, whole, parts = WHOLE[name]
    own, w, x = jax.nn.dot_product_attention, normal(16, 48), normal(3, 2, 9, 16)
    text = remat.export.from_jax(loss, w, {"x": x}, check=False).text
    assert (text.count('"remat.attention"'), "math.exp" in text) == (whole, parts > 0)
    step = remat.jax.train_step(loss, w, x, optimizer=remat.SGD(0.1))
    assert jax.nn.dot_product_attention is own
    expected, gradient = jax.value_and_grad(loss)(w, x)
    np.testing.assert_allclose(step(x), expected, 1e-4)
    np.testing.assert_allclose((w - step.params) / 0.1, gradient, 1e-4, 1e-4 * abs(gradient).max())


def test_attention_that_an_export_has_traced():
    """A function that JAX keeps is still one that JAX can compute, differentiate and batch."""
    w, x = normal(16, 48), normal(3, 2, 9, 16)
    kept = jax.jit(lambda w, x, mask: mean_of_attention(w, x, mask=mask, is_causal=True))
    text = remat.export.from_jax(lambda w, x: kept(w, x, MASKS[1]), w, {"x": x[0]}, check=False).text
    assert "remat.attention" in text and "dot_product_attention" in str(kept.trace(w, x[0], MASKS[1]).jaxpr)

    def plain(w, x, mask):
        return mean_of_attention(w, x, mask=mask, is_causal=True)
    arguments = (w, x[0], MASKS[1])
    assert_close(kept(*arguments), plain(*arguments))
    assert_close(jax.grad(kept)(*arguments), jax.grad(plain)(*arguments))
    for dims, more in (((None, 0, None), (w, x, MASKS[1])), ((None, 0, 0), (w, x, MASKS)), ((None, None, 0), (w, x[0], MASKS))):
        assert_close(jax.vmap(kept, dims)(*more), jax.vmap(plain, dims)(*more))
        assert_close(jax.vmap(jax.grad(kept), dims)(*more), jax.vmap(jax.grad(plain), dims)(*more))


def test_attention_in_float64():
    """Its softmax is one of float32, as in JAX."""
    def loss(w, x):
        return mean_of_attention(w, x, is_causal=True, bias=w[None, None, :9, :9])
    with jax.enable_x64(True):
        w, x = np.random.default_rng(1).normal(size=(16, 48)), np.random.default_rng(2).normal(size=(2, 9, 16))
        step = remat.jax.train_step(loss, w, x, optimizer=remat.SGD(1.0))
        expected, gradient = jax.value_and_grad(loss)(w, x)
        np.testing.assert_allclose(step(x), expected, 1e-6)
        np.testing.assert_allclose(w - step.params, gradient, 2e-6, 2e-6 * abs(gradient).max())


def test_integers_of_less_than_a_byte():
    def loss(w, batch):
        h = (w * batch["i"].astype("f4")).sum() + (w[:batch["u"].size] * batch["u"][::-1].astype("f4")).sum()
        return h, {"doubled": batch["u"] * 2, "same": batch["i"]}
    w, batch = normal(8), {"i": jnp.arange(8, dtype="int4") - 4, "u": jnp.arange(4, dtype="uint2")}
    step = remat.jax.train_step(loss, w, batch, optimizer=remat.SGD(0.1), dynamic=True)
    expected, extras = loss(w, batch)
    value, found = step(batch)
    assert_close(value, expected)
    for name, array in extras.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)
    smaller = {"i": np.asarray(batch["i"]), "u": batch["u"][:3]}
    expected, _ = loss(jnp.array(step.params), smaller)
    assert_close(step(smaller)[0], expected)


def test_types_that_no_step_has():
    narrow, wide = jnp.ones(3, "float8_e4m3fn"), np.ones(3, "f4")
    for params, x, where in ((wide, narrow, "'0' of the batch"), ({"w": [narrow]}, wide, "'w.0' of params"),
                             (wide, wide, "'y' of auxiliary results")):
        def loss(p, x):
            return sum((leaf.astype("f4") * x.astype("f4")).sum() for leaf in jax.tree.leaves(p)), {"y": x.astype("float8_e5m2")}
        with pytest.raises(TypeError, match=rf"a step has no arrays of float8_\w+, as {where} is; convert it to bfloat16 or float32"):
            remat.jax.train_step(loss, params, x, optimizer=remat.SGD(0.1))


def test_paths_that_look_the_same():
    """Those of parameters are names of a checkpoint; those of data are not."""
    tree = {"a": {"b": normal(3)}, "a.b": normal(3)}
    step = remat.jax.train_step(lambda p, x: (p * x["a"]["b"] * x["a.b"]).sum(), np.ones(3, "f4"), tree, optimizer=remat.SGD(0.1))
    assert_close(step(tree), (tree["a"]["b"] * tree["a.b"]).sum())
    message = r"two parameters would be called 'a.b': params\['a'\]\['b'\] and params\['a.b'\]; rename one of them"
    with pytest.raises(TypeError, match=message):
        remat.jax.train_step(lambda p, x: (p["a.b"] * x).sum(), tree, np.ones(3, "f4"), optimizer=remat.SGD(0.1))


def test_numpy_data_of_64_bits():
    """NumPy's own types, and Python's numbers, are what JAX makes of them."""
    def loss(params, x, labels, scale):
        logits = x @ params["w"] + params["b"]
        return -scale * jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()
    params = {"w": RNG.standard_normal((5, 3)), "b": np.zeros(3)}
    batch = RNG.standard_normal((8, 5)), RNG.integers(0, 3, 8), 2
    step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(0.1), eval_fn=loss, dynamic=True)
    assert_close(step.eval(*batch), loss(params, *batch))
    losses, expected = train_in_jax(loss, jax.tree.map(jnp.asarray, params), [batch] * 3, 0.1)
    assert_close([step(*batch), step(jnp.asarray(batch[0]), *batch[1:]), step(*batch)], losses)
    assert_close(step.params, expected)
    assert_close(step.eval(batch[0][:4], batch[1][:4], 2), loss(step.params, batch[0][:4], batch[1][:4], 2))
    with pytest.raises(TypeError, match=r"argument 1 \('batch.1'\) must be of int32\[8\], but got float32\[8\]"):
        step(batch[0], batch[1].astype("f4"), 2)


def is_positive(m):
    return (m > 0).astype(jnp.float32)


SIGNS = np.array([[1, -1, 1], [-1, 1, 1], [1, 1, -1]])
BYTES = np.array([[200, 3, 129], [255, 0, 7]], np.uint8)
# (a function, its batch): the front end forgets that these integers have no sign, if nothing is done about it.
UNSIGNED = {
    "identity": (lambda w: w @ jnp.eye(3),),
    "mask": (lambda w, m: is_positive(m) @ w, SIGNS),
    "booleans": (lambda w, m: jnp.dot(m, w), SIGNS > 0),
    "bytes": (lambda w, m: m.astype(jnp.float32) @ w, BYTES),
    "16 bits": (lambda w, m: jnp.einsum("ij,jk->ik", m.astype(jnp.float32), w), BYTES.astype(np.uint16) * 250),
    "integers": (lambda w, m: w * (m.astype(jnp.int32) @ m.T.astype(jnp.int32)).sum(), BYTES),
    "wider by the product": (lambda w, m: w * jax.lax.dot(m, m.T, preferred_element_type=jnp.uint32).sum(), BYTES),
    "convolution": (lambda w, m: jax.lax.conv_general_dilated(m[None, None].astype(jnp.float32), w[None, None], (1, 1), "SAME"), BYTES),
    "views": (lambda w, m: jnp.concatenate([is_positive(m).T.reshape(9)[:6].reshape(2, 3)] * 2) @ w, SIGNS),
    "complex": (lambda w, m: (jax.lax.complex(w, w) @ jax.lax.complex(jnp.eye(3), is_positive(m))).real, SIGNS),
    "loop": (lambda w, m: jax.lax.scan(lambda c, _, k=is_positive(m): (k @ c, None), w, None, length=2)[0], SIGNS),
    "outside of a loop": (lambda w, m: jax.lax.fori_loop(0, 3, lambda i, c, k=is_positive(m): k @ c, w), SIGNS),
    "branch": (lambda w, m: jax.lax.cond(m[0, 0] > 0, lambda k, c: k @ c, lambda k, c: c @ k, is_positive(m), w), SIGNS),
    "checkpoint": (lambda w, m: jax.checkpoint(lambda k, w: jnp.tanh(k @ w))(is_positive(m), w), SIGNS),
    "jit": (lambda w, m: jax.jit(lambda k, w: jnp.tanh(k.astype(jnp.float32) @ w))(m > 0, w), SIGNS),
    "vmap": (lambda w, m: jax.vmap(lambda row: jnp.tanh(is_positive(row) @ w))(m), SIGNS),
    "indices": (lambda w, m: jnp.take(jnp.tile(w.reshape(9), 30), m, mode="clip"), BYTES),
    "groups": (lambda w, m: jax.lax.ragged_dot(is_positive(m), jnp.stack([w, 2 * w]), jnp.array([1, 2])), SIGNS),
}


@pytest.mark.parametrize("case", UNSIGNED)
def test_integers_without_a_sign(case):
    multiply, *batch = UNSIGNED[case]
    loss = lambda w, *batch: (multiply(w, *batch) * jnp.arange(3)).sum()  # noqa: E731
    w = normal(3, 3)
    step = remat.jax.train_step(loss, w, *batch, optimizer=remat.SGD(1e-2))
    losses, expected = train_in_jax(loss, w, [batch], 1e-2)
    np.testing.assert_allclose(step(*batch), losses[0], 1e-5)
    np.testing.assert_allclose(step.params, expected, 1e-5, 1e-5)


RAGGED = {
    "one empty": (24, 3, [7, 0, 9], {}), "rows of no group": (40, 4, [1, 16, 5, 3], {}), "all empty": (5, 2, [0, 0], {}),
    "one row": (1, 2, [0, 1], {}), "no rows": (0, 2, [0, 0], {}), "many tiles": (300, 3, [33, 150, 117], {}),
    "bfloat16": (70, 2, [33, 37], {"preferred_element_type": "float32"}),
}


@pytest.mark.parametrize("case", RAGGED)
def test_products_of_groups_of_rows(case):
    rows, groups, sizes, options = RAGGED[case]
    kind = "bfloat16" if case == "bfloat16" else "float32"

    def loss(params, x, sizes):
        h = jax.lax.ragged_dot(x.astype(kind) * params["scale"].astype(kind), params["w"].astype(kind), sizes, **options)
        return (jnp.sin(h) ** 2).sum() / 50 + (params["w"] ** 2).sum()
    params = {"w": normal(groups, 6, 5), "scale": normal(6)}
    batch = normal(rows, 6), np.array(sizes, "i4")
    step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(0.1))
    losses, expected = train_in_jax(loss, params, [batch] * 2, 0.1)
    tolerance = {"rtol": 2e-2, "atol": 2e-3} if kind == "bfloat16" else {"rtol": 2e-5, "atol": 2e-6}
    np.testing.assert_allclose([step(*batch), step(*batch)], losses, **tolerance)
    for found, wanted in zip(jax.tree.leaves(step.params), jax.tree.leaves(expected)):
        np.testing.assert_allclose(found, wanted, **tolerance)


def test_products_of_groups_read_matrices_where_they_lie():
    """Under each policy memory holds neither a matrix for each tile nor bits of its own; gradients are those of float64."""
    groups, width, hidden, rows, rate = 8, 64, 128, 128, 0.5
    sizes = np.array([40, 0, 7, 16, 1, 33, 0, 31], "i4")
    params = {"up": normal(groups, width, hidden, scale=0.1), "down": normal(groups, hidden, width, scale=0.1)}
    x = normal(rows, width)

    def loss(params, x, sizes):
        h = jnp.tanh(jax.lax.ragged_dot(x, params["up"], sizes))
        return (jax.lax.ragged_dot(h, params["down"], sizes) ** 2).sum() / 100
    steps = [remat.jax.train_step(loss, params, x, sizes, optimizer=remat.SGD(rate), policy=policy)
             for policy in (None, remat.whole(), remat.whole(policy=remat.everything_saveable))]
    for step in steps:
        step(x, sizes)
        # The gradient of one kind of matrices at a time, one of its matrices, and rows.
        assert step.memory.arena < 4 * (groups + 2) * width * hidden + 6 * 4 * rows * hidden, step.memory
        for name in params:
            np.testing.assert_array_equal(step.params[name], steps[0].params[name])
    group = np.repeat(np.arange(groups), sizes)
    up, down, x = (np.asarray(a, "f8") for a in (params["up"], params["down"], x))
    h = np.tanh(np.einsum("rw,rwh->rh", x, up[group]))
    dy = np.einsum("rh,rhw->rw", h, down[group]) / 50
    du = np.einsum("rw,rhw->rh", dy, down[group]) * (1 - h * h)
    of_rows = {"up": np.einsum("rw,rh->rwh", x, du), "down": np.einsum("rh,rw->rhw", h, dy)}
    for name, gradients in of_rows.items():
        expected = np.stack([gradients[group == number].sum(0) for number in range(groups)])
        found = (np.asarray(params[name], "f8") - np.asarray(steps[0].params[name], "f8")) / rate
        np.testing.assert_allclose(found, expected, 1e-4, 1e-6, err_msg=name)


def test_products_of_groups_in_other_dimensions():
    """Contracted dimensions in any place, a batch of them, and their derivatives by JAX."""
    numbers = jax.lax.RaggedDotDimensionNumbers((((0,), (2,)), ((), ())), [1], [1])

    def loss(params, x, sizes):
        w, v = params["w"]
        h = jax.lax.ragged_dot_general(x, w.transpose(1, 0, 2), sizes[0], numbers)
        b = jax.vmap(jax.lax.ragged_dot)(jnp.stack([x.T, jnp.cos(x.T)]), jax.lax.stop_gradient(params["w"]), sizes)
        inner = jax.grad(lambda v: (jax.lax.ragged_dot(x.T, v, sizes[0]) ** 2).sum())(jax.lax.stop_gradient(v))
        return jnp.tanh(h).sum() + (b ** 2).sum() + jnp.sin(inner).sum()
    params, x = {"w": normal(2, 3, 6, 6, scale=0.3)}, normal(6, 20)
    batch = x, np.array([[4, 9, 7], [0, 20, 0]], "i4")
    step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(0.1))
    check_steps(step, loss, params, [batch] * 2)


def test_what_calls_python():
    """Callbacks that print are left out, with a warning; callbacks that compute are an error."""
    def loss(params, x):
        def layer(h, _):
            jax.debug.print("mean {}", h.mean())
            return jnp.tanh(h @ params), None
        jax.debug.callback(print, x)
        h = jax.lax.with_sharding_constraint(x, jax.sharding.SingleDeviceSharding(jax.devices()[0]))
        return jax.lax.scan(layer, h, length=2)[0].sum()

    def calling(params, x):
        return (jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) @ params).sum()
    params, x = normal(4, 4), normal(3, 4)
    with pytest.warns(UserWarning, match=r"test_jax.py:\d+:\d+ \(.*layer\): the step leaves out debug_print"):
        step = remat.jax.train_step(loss, params, x, optimizer=remat.SGD(0.1))
    check_steps(step, loss, params, [(x,)])
    with pytest.raises(remat.ExportError, match=r"test_jax.py:\d+:\d+ \(.*calling\): a compiled step cannot call Python"):
        remat.jax.train_step(calling, params, x, optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("loss, message", [
    (lambda p, x: [(p * x).sum()], r"must return a scalar or \(scalar, auxiliary\), but it returns PyTreeDef\(\[\*\]\)"),
    (lambda p, x: ((p * x).sum(), x, x), "but it returns a tuple of 3"),
])
def test_losses_that_return_something_else(loss, message):
    with pytest.raises(TypeError, match=message):
        remat.jax.train_step(loss, normal(3), normal(3), optimizer=remat.SGD(0.1))


def test_several_devices():
    """Sums over a dimension that `vmap` has named are not theirs."""
    def summed(params, x):
        return jax.vmap(lambda row: (jax.lax.psum(row, "rows") * params).sum(), axis_name="rows")(x).sum()

    def sharded(params, x):
        spec = jax.sharding.PartitionSpec("d")
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
        return jax.shard_map(lambda x: jax.lax.psum((x * params).sum(), "d"), mesh=mesh, in_specs=spec,
                             out_specs=jax.sharding.PartitionSpec())(x)
    params, x = normal(3), normal(2, 3)
    step = remat.jax.train_step(summed, params, x, optimizer=remat.SGD(0.1))
    check_steps(step, summed, params, [(x,)])
    with pytest.raises(remat.ExportError, match=r"test_jax.py:\d+:\d+ \(.*sharded.*\): a compiled step runs on one device"):
        remat.jax.train_step(sharded, params, x, optimizer=remat.SGD(0.1))


special = jax.scipy.special
GAMMAS = np.array([0.3, 0.8, 1, 2, 3.5], "f4")
# The derivative of each is a rule of JAX's, not that of the series or of the sampler that it lowers to.
RULED = {
    "gamma": (lambda p, key: jax.random.gamma(key, p).sum(), GAMMAS),
    "loggamma": (lambda p, key: jax.random.loggamma(key, p).sum(), GAMMAS),
    "dirichlet": (lambda p, key: (jax.random.dirichlet(key, p) * jnp.arange(5.0)).sum(), GAMMAS),
    "t": (lambda p, key: jax.random.t(key, p + 2).sum(), GAMMAS),
    "gammainc": (lambda p, key: special.gammainc(p, 1.5).sum(), GAMMAS),
    "gammaincc": (lambda p, key: special.gammaincc(p, p[::-1]).sum(), GAMMAS),
    "i0e and i1e": (lambda p, key: (special.i0e(p) + 2 * special.i1e(p)).sum(), np.array([0, 1e-30, 1e-10, -1e-4, 0.5, -9, 30], "f4")),
}


@pytest.mark.parametrize("case", RULED)
def test_functions_that_have_a_rule(case):
    loss, params = RULED[case]
    key = jax.random.key(3)
    step = remat.jax.train_step(loss, params, key, optimizer=remat.SGD(0.1))
    check_steps(step, loss, params, [(key,), (key,)])


@jax.custom_vjp
def noisy(x, key):
    return x * jax.random.uniform(key, x.shape)


noisy.defvjp(lambda x, key: (noisy(x, key), key), lambda key, g: (g * 2 * jax.random.uniform(key, g.shape), None))


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_keys_that_have_a_type(kind):
    """As data, auxiliary results, operands of functions with a derivative by hand, and what a loop goes over."""
    def loss(params, batch):
        key, own = jax.random.split(batch["key"])
        drawn = jax.random.normal(own, params.shape) * params
        drawn, _ = jax.lax.scan(lambda h, key: (h + noisy(params, key), None), drawn, batch["keys"])
        return (drawn * batch["x"]).sum(), {"next": key, "keys": batch["keys"]}
    params, keys = normal(4), jax.random.split(jax.random.key(1, impl=kind), 5)
    batches = [({"key": key, "keys": keys, "x": normal(4)},) for key in keys[:3]]
    step = remat.jax.train_step(loss, params, *batches[0], optimizer=remat.SGD(0.1), dynamic=True)
    results = [step(*batch) for batch in batches]
    losses, expected = train_in_jax(loss, params, batches, 0.1, has_aux=True)
    for (value, extras), (value_of_jax, extras_of_jax) in zip(results, losses):
        assert_close(value, value_of_jax)
        assert_close(*(jax.tree.map(jax.random.key_data, tree) for tree in (extras, extras_of_jax)))
        assert jax.random.key_impl(extras["next"]) == jax.random.key_impl(keys)
    assert_close(step.params, expected)
    shorter = {"key": keys[0], "keys": keys[:2], "x": normal(4)}
    value = loss(jax.tree.map(jnp.asarray, step.params), shorter)[0]
    assert_close(step(shorter)[0], value)
    with pytest.raises(TypeError, match="'key' is a random key; pass it with the batch"):
        remat.jax.train_step(lambda p, x: (p["w"] * x).sum(), {"w": params, "key": keys[0]}, params, optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("mode", ["clip", "fill", "fill 7", "promise_in_bounds"])
def test_indices_outside(mode):
    mode, *value = mode.split()
    indices = np.array([0, 2, -1, 6, 3] if mode == "promise_in_bounds" else [0, 9, -1, 6, -8, 200])
    arguments = {"mode": mode} | ({"fill_value": float(*value)} if value else {})

    def loss(table, small, wide):
        one = table[:, 0].at[small].get(**arguments)
        rows = table.at[wide].get(**arguments) * jnp.arange(1.0, 4)
        each = jax.vmap(lambda row, i: row.at[i].get(**arguments))(table, jnp.stack([wide[:3]] * 7) % 3 if mode[0] == "p" else jnp.stack([wide] * 7))
        counts = jnp.arange(7).at[wide].get(mode=mode) % 5
        return sum(jnp.nan_to_num(x).sum() for x in (one, rows, each)) + (counts * jnp.nan_to_num(one)).sum()
    table, batch = normal(7, 3), (indices.astype("u1" if mode[0] != "p" else "i1"), indices)
    step = remat.jax.train_step(loss, table, *batch, optimizer=remat.SGD(0.1))
    check_steps(step, loss, table, [batch, batch])


def places(*shape, size):
    """Some of them outside."""
    return np.random.default_rng(3).integers(-2, size + 2, shape).astype("i4")


# Where the result is read: what is added to, what is added, and the places.
ADDITIONS = {
    "rows": (lambda x, u, i: x.at[i].add(u), (7, 5), (20, 5), places(20, size=7)),
    "numbers": (lambda x, u, i: x.at[i].add(u), (7,), (20,), places(20, size=7)),
    "a row": (lambda x, u, i: x.at[i[0]].subtract(u), (7, 5), (5,), places(1, size=7)),
    "pairs": (lambda x, u, i: x.at[i[0], i[1]].add(u), (7, 5), (20,), places(2, 20, size=5)),
    "columns": (lambda x, u, i: x.at[:, i].add(u), (7, 5), (7, 20), places(20, size=5)),
    "parts of columns": (lambda x, u, i: x.at[:, i, 1:3].add(u), (3, 5, 4), (3, 20, 2), places(20, size=5)),
    "clipped": (lambda x, u, i: x.at[i].add(u, mode="clip"), (7, 5), (4, 6, 5), places(4, 6, size=7)),
    "in each": (lambda x, u, i: jax.vmap(lambda x, u, i: x.at[i].add(u))(x, u, i), (3, 7), (3, 20), places(3, 20, size=7)),
    "in all": (lambda x, u, i: jax.vmap(lambda x, u: x.at[i].add(u))(x, u), (3, 7, 2), (3, 20, 2), places(20, size=7)),
    "segments": (lambda x, u, i: x + jax.ops.segment_sum(u, i, 7), (7, 5), (20, 5), places(20, size=7)),
    "in a loop": (lambda x, u, i: jax.lax.scan(lambda c, i: (jnp.tanh(c.at[i].add(u)), 0), x, i)[0], (7, 5), (4, 5), places(3, 4, size=7)),
    "recomputed": (jax.checkpoint(lambda x, u, i: jnp.tanh(x.at[i].add(jnp.sin(u)))), (7, 5), (20, 5), places(20, size=7)),
    "put": (lambda x, u, i: x.at[i].set(u), (7, 5), (20, 5), places(20, size=7)),
    "of no place": (lambda x, u, i: x.at[i].add(u[:0]), (7, 5), (20, 5), places(0, size=7)),
}


@pytest.mark.parametrize("case", ADDITIONS)
def test_additions_at_places(case):
    compute, *shapes, indices = ADDITIONS[case]

    def loss(params, indices):
        return (jnp.sin(compute(*params, indices)) ** 2).sum()
    params = [normal(*shape) for shape in shapes]
    text = remat.export.from_jax(loss, params, {"indices": indices}).text
    assert text.count("call @remat.scatter_add") == (case not in ("put", "of no place"))
    check_steps(remat.jax.train_step(loss, params, indices, optimizer=remat.SGD(0.1)), loss, params, [(indices,)])


def test_labels_that_are_masked():
    def loss(params, x, labels):
        scores = jnp.take_along_axis(jax.nn.log_softmax(x @ params), labels[:, None], 1)[:, 0]
        return -jnp.where(labels >= 0, scores, 0).sum()
    params, batch = normal(4, 5), (normal(6, 4), np.array([0, 1, -100, 4, 2, -100]))
    step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(0.1))
    check_steps(step, loss, params, [batch])


def test_captured_masks():
    """Constants of booleans are of one byte each in IREE's MLIR, and eight of them in the compiler's."""
    masks = [np.tril(np.ones((12, 12), bool)), RNG.random((13, 9, 3)) < 0.5, RNG.random(200) < 0.5]

    @jax.custom_jvp
    def masked(x):
        return jnp.where(masks[0], x, 0)
    masked.defjvp(lambda x, t: (masked(*x), jnp.where(masks[0], t[0], -t[0])))

    def loss(params, x):
        return (masked(params[:12, None] * params[12:24]) * x).sum() + sum(jnp.where(mask, params[:mask.size].reshape(mask.shape), 0).sum()
                                                                           for mask in masks)
    params, x = normal(400), normal(12, 12)
    step = remat.jax.train_step(loss, params, x, optimizer=remat.SGD(0.1))
    check_steps(step, loss, params, [(x,), (x,)])


def test_reversed_integers_without_a_sign_and_approximate_maxima():
    def loss(params, images, wide):
        best, places = jax.lax.approx_max_k(params, 2)
        least, _ = jax.lax.approx_min_k(params, 2, reduction_dimension=0)
        return (params * (images[:, ::-1] / 255 + (wide[::-1] > np.uint32(2**31)))).sum() + (best * places).sum() + 3 * least.sum()
    params = normal(4, 5)
    batch = RNG.integers(0, 256, (4, 5)).astype("u1"), RNG.integers(0, 2**32, (4, 5)).astype("u4")
    step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(0.1))
    check_steps(step, loss, params, [batch, batch])
    with pytest.raises(remat.ExportError, match="leave out aggregate_to_topk=False"):
        remat.jax.train_step(lambda p: jax.lax.approx_max_k(p, 2, aggregate_to_topk=False)[0].sum(), params, optimizer=remat.SGD(0.1))


def test_names_of_any_characters():
    params = {"a b": normal(3), "{'\"}": normal(3), "ä\\u0041=x,y>": {"0": normal(3)}}
    step = remat.jax.train_step(lambda p, x: sum(jnp.sum(x * leaf**2) for leaf in jax.tree.leaves(p)), params, normal(3),
                                optimizer=remat.SGD(0.1))
    assert list(step.parameters) == ["a b", "{'\"}", "ä\\u0041=x,y>.0"]
    assert_close(step.params, params)


def checkpointed(params, x):
    def block(h, w):
        return checkpoint_name(jnp.tanh(h @ w), "activation") * 2
    for w in params:
        x = jax.checkpoint(block)(x, w)
    return jnp.sum(x * x)


def test_checkpoints_and_names_become_regions_and_policies():
    params, x = [normal(8, 8) for _ in range(4)], normal(16, 8)
    arguments = {"optimizer": remat.SGD(0.01)}
    saved = remat.jax.train_step(checkpointed, params, x, **arguments)
    again = remat.jax.train_step(checkpointed, params, x, policy=remat.checkpoints(), **arguments)
    named = remat.jax.train_step(checkpointed, params, x, policy=remat.checkpoints() | remat.save_names("activation"),
                                 **arguments)
    losses = [[step(x) for _ in range(3)] for step in (saved, again, named)]
    assert losses[0] == losses[1] == losses[2]
    assert again.memory.recomputed_ops > named.memory.recomputed_ops and again.memory.arena < saved.memory.arena
    assert "checkpoint" in again.explain() and '"activation"' in named.explain()


def test_a_resumed_run_has_the_same_bits(tmp_path):
    params, batches = mlp_params(), mlp_batches(4)
    step, other = (remat.jax.train_step(mlp, params, *batches[0], optimizer=remat.AdamW(0.01)) for _ in range(2))
    step(*batches[0])
    step.save(tmp_path / "run.safetensors")
    other.load(tmp_path / "run.safetensors")
    assert [step(*batch) for batch in batches] == [other(*batch) for batch in batches]


def line_of(text):
    """`test_jax.py:12`, of the first line of this file that has `text`."""
    before, _, _ = Path(__file__).read_text().partition(text)
    return f"{Path(__file__).name}:{before.count(chr(10)) + 1}"


def factor(h, x):
    return jnp.linalg.eigvals(h @ x).real.sum()


def narrowed(x):
    return jnp.exp(x.astype(jnp.float8_e4m3fn).astype(jnp.float32))


def test_lines_of_the_function():
    params, (batch,) = mlp_params(), mlp_batches(1)
    step = remat.jax.train_step(mlp, params, *batch, optimizer=remat.SGD(0.1))
    assert re.search(rf"save .* {line_of('h = jnp.tanh(h @ layer')} \(jit\(mlp\)/\w+\)", step.explain())
    with pytest.raises(remat.export.ExportError, match=rf"{line_of('return jnp.linalg.eigvals')}:\d+ \(.*factor\): .*\(eig\)"):
        remat.jax.train_step(factor, np.eye(2, dtype="f4"), np.eye(2, dtype="f4"), optimizer=remat.SGD(0.1))
    with pytest.raises(remat.CompileError) as caught:
        remat.jax.train_step(lambda h, x: jnp.sum(narrowed(h * x)), np.ones(4, "f4"), np.ones(4, "f4"), optimizer=remat.SGD(0.1))
    error = caught.value.diagnostics[0]
    assert (error.file, f"test_jax.py:{error.line}") == (__file__, line_of("return jnp.exp(x.astype"))
    assert "float32))\n                   ^\n" in str(caught.value) and "convert_element_type" in error.notes[-1].message


def test_wrong_models_and_batches():
    params, (batch,) = mlp_params(), mlp_batches(1)
    with pytest.raises(TypeError, match=r"the loss must be a floating-point scalar, but it is float32\[6, 2\]"):
        remat.jax.train_step(lambda p, x, y: x @ p["out"] - y, params, *batch, optimizer=remat.SGD(0.1))
    with pytest.raises(TypeError, match=r"parameters must be floating-point arrays, but 'count' is of int"):
        remat.jax.train_step(mlp, params | {"count": np.int32(3)}, *batch, optimizer=remat.SGD(0.1))
    with pytest.raises(TypeError, match="params has no array in it"):
        remat.jax.train_step(lambda p, x, y: jnp.sum(x), {}, *batch, optimizer=remat.SGD(0.1))
    with pytest.raises(remat.CompileError, match="depends on no parameter"):
        remat.jax.train_step(lambda p, x, y: jnp.sum(x), params, *batch, optimizer=remat.SGD(0.1))
    with pytest.raises(remat.CompileError, match="name an optimizer"):
        remat.jax.train_step(mlp, params, *batch)
    step = remat.jax.train_step(mlp, params, *batch, optimizer=remat.SGD(0.1))
    before = {name: array.copy() for name, array in step.state_dict().items()}
    with pytest.raises(TypeError, match="the batch must have the structure"):
        step({"x": batch[0], "y": batch[1]})
    with pytest.raises(ValueError, match=r"argument 1 \('batch.1'\) must be of float32\[6, 2\], but got float32\[3, 2\]"):
        step(batch[0], batch[1][:3])
    assert all(np.array_equal(array, before[name]) for name, array in step.state_dict().items())


def test_evaluation_by_a_function_of_its_own():
    params = [normal(3, 3, 2, 4), normal(4, 3)]
    draw = lambda count: {"image": normal(count, 6, 6, 2), "label": RNG.integers(0, 3, count).astype("i4")}  # noqa: E731

    def evaluate(params, batch):
        h = jax.lax.conv_general_dilated(batch["image"], params[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = jax.nn.relu(h).mean(axis=(1, 2)) @ params[1]
        picked = jnp.take_along_axis(jax.nn.log_softmax(h), batch["label"][:, None], axis=1)
        return -picked.mean(), {"hits": (h.argmax(1) == batch["label"]).sum()}

    batch, held_out = (draw(4), jax.random.PRNGKey(0)), draw(7)
    step = remat.jax.train_step(convolution, params, *batch, optimizer=remat.SGD(0.1), eval_fn=evaluate,
                                eval_batch=(held_out,))
    for _ in range(3):
        step(*batch)
        before = [p.copy() for p in step.params]
        loss, auxiliary = step.eval(held_out)
        expected = evaluate(step.params, held_out)
        np.testing.assert_allclose(loss, expected[0], 1e-5)
        assert auxiliary == {"hits": int(expected[1]["hits"])}
        assert all(np.array_equal(a, b) for a, b in zip(step.params, before))
    with pytest.raises(TypeError, match="the batch must have the structure"):
        step.eval(held_out, held_out)
    with pytest.raises(TypeError, match="eval_batch must be the tuple"):
        remat.jax.train_step(convolution, params, *batch, optimizer=remat.SGD(0.1), eval_fn=evaluate, eval_batch=held_out)
    with pytest.raises(TypeError, match="pass eval_fn= to remat.jax.train_step"):
        remat.jax.train_step(convolution, params, *batch, optimizer=remat.SGD(0.1)).eval(held_out)


# Sizes that are sorted in each of the ways: by comparisons, by a network, and the first ones one by one.
@pytest.mark.parametrize("wide, size", [(False, 9), (True, 9), (False, 200), (False, 2500)])
def test_sorts_have_nans_last(wide, size):
    with jax.enable_x64(wide):
        def loss(params, x, counts):
            values, places = jax.lax.top_k(x * params, 5)
            found = {"sorted": jnp.sort(x), "order": jnp.argsort(-x), "both": jnp.lexsort((x, jnp.round(jnp.nan_to_num(x) / 50))), "values": values, "places": places,
                     "counts": jnp.sort(counts), "most": counts.max()}
            return jnp.where(jnp.isfinite(values), values, 0).sum(), found

        x = np.array([3, np.nan, -0.0, 0, np.inf, -np.inf, np.nan, 1, 3], "f8" if wide else "f4")
        x = np.concatenate([x, np.random.default_rng(2).permutation(size - 9) % 700]).astype(x.dtype)
        batch = x, np.array([2, 255, 0, 2], "u1")
        params = np.ones((), x.dtype)
        step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(0.1))
        ((_, expected),), after = train_in_jax(loss, params, [batch], 0.1, has_aux=True)
        _, found = step(*batch)
        for key, value in expected.items():
            np.testing.assert_array_equal(np.asarray(found[key]), np.asarray(value), key)
        np.testing.assert_allclose(np.asarray(step.params), after, 1e-6)


@pytest.mark.parametrize("order", [jnp.sort, lambda x: jax.lax.top_k(x, 5)[0]])
def test_sorts_of_many_compare_no_pairs(order):
    exported = remat.export.from_jax(lambda x, factor: (order(x * factor) ** 2).sum(), normal(3000), {"factor": np.float32(2)})
    assert "3000x3000" not in exported.text


@pytest.mark.parametrize("outer", [[(0, 0, 1), (0, 0, 0)], [(-1, 2, 2), (1, -1, 1)], [(2, 0, 0), (0, -2, 3)]])
def test_padding_of_padding(outer):
    def loss(w, x):
        padded = jax.lax.pad(jax.lax.pad(w * x, 0.5, [(1, 0, 0), (0, 2, 1)]), -0.25, outer)
        return (padded * jnp.arange(float(padded.size)).reshape(padded.shape)).sum()

    params, x = normal(3, 4), normal(3, 4)
    step = remat.jax.train_step(loss, params, x, optimizer=remat.SGD(0.01))
    losses, expected = train_in_jax(loss, params, [(x,)], 0.01)
    np.testing.assert_allclose(step(x), losses[0], 1e-5)
    assert_close(step.params, expected)


@pytest.mark.parametrize("bits", [(8, 7), (5, 10), (8, 23)])
def test_reduced_precision_has_a_gradient(bits):
    loss = lambda w, x: (jax.lax.reduce_precision(w * x, *bits) ** 2).sum()  # noqa: E731
    params, x = normal(3, 4), np.concatenate([normal(2, 4), np.float32([[1e-7, -3e-5, np.pi, 0]])])
    step = remat.jax.train_step(loss, params, x, optimizer=remat.SGD(0.1))
    losses, expected = train_in_jax(loss, params, [(x,)], 0.1)
    np.testing.assert_allclose(step(x), losses[0], 1e-6)
    assert_close(step.params, expected)


def test_a_precision_that_no_type_has():
    with pytest.raises(remat.ExportError, match=r"test_jax.py:\d+.*: there is no type of 4 exponent and 3 mantissa bits"):
        remat.jax.train_step(lambda w: jax.lax.reduce_precision(w, 4, 3).sum(), normal(3), optimizer=remat.SGD(0.1))


def test_float64_where_jax_has_it():
    with jax.enable_x64(True):
        params = jax.tree.map(lambda p: jnp.asarray(p, jnp.float64), mlp_params())
        batches = [tuple(np.asarray(part, "f8") for part in batch) for batch in mlp_batches(3)]
        step = remat.jax.train_step(mlp, params, *batches[0], optimizer=remat.SGD(0.1))
        losses, expected = train_in_jax(mlp, params, batches, 0.1)
        np.testing.assert_allclose([step(*batch) for batch in batches], losses, 1e-12)
        assert step.parameters["out"].dtype == np.float64


def optax_cases(optax):
    warmup = optax.warmup_cosine_decay_schedule(0.0, 0.05, 2, 6)
    matrices = lambda tree: jax.tree.map(lambda leaf: leaf.ndim > 1, tree)  # noqa: E731
    return {
        "sgd": optax.sgd(0.1), "momentum": optax.sgd(0.05, momentum=0.9), "nesterov": optax.sgd(0.05, momentum=0.9, nesterov=True),
        "adam": optax.adam(0.01, b1=0.8, b2=0.95, eps=1e-6), "adamw": optax.adamw(warmup, weight_decay=0.1),
        "masked": optax.adamw(0.01, weight_decay=0.5, mask=matrices), "lion": optax.lion(0.003), "lamb": optax.lamb(0.01),
        "l2": optax.chain(optax.add_decayed_weights(0.1), optax.sgd(optax.exponential_decay(0.1, 2, 0.5), momentum=0.9)),
        "clipped": optax.chain(optax.clip_by_global_norm(0.1), optax.adam(0.01)),
        "each clipped": optax.chain(optax.clip(0.01), optax.sgd(0.5)),
    }


def assert_trains_like(optimizer, rel=2e-5, compares_params=True):
    """A step with `optimizer` does what optax does with it."""
    import optax
    params, batches = mlp_params(), mlp_batches(6)
    step = remat.jax.train_step(mlp, params, *batches[0], optimizer=optimizer)
    state = optimizer.init(params)
    for batch in batches:
        loss, gradient = jax.value_and_grad(mlp)(params, *batch)
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        assert step(*batch) == pytest.approx(float(loss), rel=rel)
    if compares_params:
        assert_close(step.params, params)


@pytest.mark.parametrize("name", ["sgd", "momentum", "nesterov", "adam", "adamw", "masked", "lion", "lamb", "l2", "clipped",
                                  "each clipped"])
def test_optimizers_of_optax(name):
    optax = pytest.importorskip("optax")
    assert_trains_like(optax_cases(optax)[name])


def small_cases(optax):
    return {
        "momentum": optax.sgd(0.05, momentum=0.9, nesterov=True), "l2": optax.chain(optax.add_decayed_weights(0.1), optax.sgd(0.1)),
        "adam": optax.adam(0.01, b1=0.8, b2=0.95, eps=1e-6), "adamw": optax.adamw(0.01, weight_decay=0.1, eps=1e-7),
        "lion": optax.lion(0.003, weight_decay=0.1), "lamb": optax.lamb(0.01, eps=1e-7, weight_decay=0.1),
        "clipped": optax.chain(optax.clip_by_global_norm(1e-7), optax.sgd(1e6)),
        "clipped to what they are": optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(1e6)),
        "clipped, then each": optax.chain(optax.clip_by_global_norm(1e-6), optax.clip(2e-7), optax.sgd(1e6)),
        "clipped, without a rule": optax.chain(optax.clip_by_global_norm(1e-7), optax.rmsprop(0.01)),
        "a decay that changes": optax.adamw(0.01, weight_decay=lambda count: 0.5 / (1 + count)),
        "by block": optax.chain(optax.clip_by_block_rms(1e-7), optax.sgd(1e6)), "adaptive": optax.chain(optax.adaptive_grad_clip(1e-7), optax.sgd(1e6))}


@pytest.mark.parametrize("name", ["momentum", "l2", "adam", "adamw", "lion", "lamb", "clipped", "clipped to what they are", "clipped, then each",
                                  "clipped, without a rule", "a decay that changes", "by block", "adaptive"])
def test_optimizers_of_optax_on_small_gradients(name):
    """As small as their epsilons, in float64."""
    optax = pytest.importorskip("optax")
    optimizer = small_cases(optax)[name]
    with jax.enable_x64(True):
        params = {"a": np.arange(1.0, 4.0), "b": np.linspace(-2.0, 2.0, 6).reshape(2, 3)}
        loss = lambda p, x: (jnp.sin(p["a"]) * x).sum() + (jnp.cos(p["b"]) * x).sum()  # noqa: E731
        batches = [np.array([1e-6, -2e-7, 3e-7]) * n for n in (1, 3, 2)]
        step = remat.jax.train_step(loss, params, batches[0], optimizer=optimizer)
        state = optimizer.init(params)
        for batch in batches:
            step(batch)
            updates, state = optimizer.update(jax.grad(loss)(params, batch), state, params)
            params = optax.apply_updates(params, updates)
        for key, value in params.items():
            np.testing.assert_allclose(step.params[key], value, 1e-12, 1e-12)


def traced_cases(optax):
    contrib = pytest.importorskip("optax.contrib")
    warmup = optax.warmup_cosine_decay_schedule(0.0, 0.05, 2, 6)
    each = lambda tree: jax.tree.map(lambda leaf: "matrix" if leaf.ndim > 1 else "rest", tree)  # noqa: E731
    return {
        "adafactor": optax.adafactor(0.01, min_dim_size_to_factor=4), "adagrad": optax.adagrad(0.1), "adan": optax.adan(0.01),
        "amsgrad": optax.amsgrad(0.01), "ema": optax.chain(optax.sgd(0.1), optax.ema(0.9)), "lars": optax.lars(0.1),
        "mu_dtype": optax.adam(0.01, mu_dtype="bfloat16"), "muon": contrib.muon(0.01), "nadamw": optax.nadamw(warmup),
        "noisy": optax.noisy_sgd(0.01, key=3), "rmsprop": optax.rmsprop(warmup, centered=True, momentum=0.9), "yogi": optax.yogi(0.01),
        "inject": optax.inject_hyperparams(optax.adam)(warmup), "schedule free": contrib.schedule_free_adamw(0.01),
        "clipped": optax.chain(optax.clip_by_global_norm(0.1), optax.rmsprop(0.01)),
        "multi": optax.multi_transform({"matrix": optax.yogi(0.01), "rest": optax.set_to_zero()}, each),
        "own": optax.GradientTransformation(lambda p: (), lambda g, s, p=None: (jax.tree.map(lambda x: -0.1 * jnp.sign(x), g), s)),
    }


@pytest.mark.parametrize("name", ["adafactor", "adagrad", "adan", "amsgrad", "ema", "lars", "mu_dtype", "muon", "nadamw", "noisy",
                                  "rmsprop", "yogi", "inject", "schedule free", "clipped", "multi", "own"])
def test_optimizers_of_optax_without_a_rule_of_ours(name):
    optax = pytest.importorskip("optax")
    if name == "mu_dtype":  # a last bit of bfloat16
        assert_trains_like(traced_cases(optax)[name], rel=1e-3, compares_params=False)
    else:
        assert_trains_like(traced_cases(optax)[name])


class SignSteps:
    """An optimizer like optax's, without optax."""

    def init(self, params):
        return {"count": jnp.zeros((), jnp.int32), "largest": jax.tree.map(jnp.ones_like, params)}

    def update(self, gradients, state, params=None):
        largest = jax.tree.map(lambda g, m: jnp.maximum(m, jnp.abs(g)), gradients, state["largest"])
        count = state["count"] + 1
        return jax.tree.map(lambda g, m: -0.1 * g / (m * count), gradients, largest), {"count": count, "largest": largest}


@pytest.mark.parametrize("arguments", [{}, {"eager": False}, {"target": "cuda", "options": "emulate"}])
def test_an_optimizer_of_functions(arguments, tmp_path):
    params, batches, optimizer = mlp_params(), mlp_batches(4), SignSteps()
    step = remat.jax.train_step(mlp, params, *batches[0], optimizer=optimizer, **arguments)
    name = next(iter(step.parameters))
    assert step.state_dict()[f"{name}.count"].dtype == np.int32
    assert (np.asarray(step.state_dict()[f"{name}.largest"]) == 1).all()  # not zero, where states start by themselves
    state = optimizer.init(params)
    for i, batch in enumerate(batches):
        if i == 2:  # where a run ends and another goes on
            step.save(tmp_path / "run.safetensors")
            step = remat.jax.train_step(mlp, mlp_params(), *batches[0], optimizer=optimizer, **arguments)
            step.load(tmp_path / "run.safetensors")
        updates, state = optimizer.update(jax.grad(mlp)(params, *batch), state)
        params = jax.tree.map(jnp.add, params, updates)
        step(*batch)
    assert_close(step.params, params)


def test_one_gradient_is_live_at_a_time():
    weights = [normal(256, 256) / 16 for _ in range(6)]

    def loss(weights, x):
        for w in weights:
            x = jax.nn.relu(x @ w)
        return (x**2).mean()

    step = remat.jax.train_step(loss, weights, normal(4, 256), optimizer=SignSteps())
    assert step.memory.gradients <= 256 * 256 * 4


@pytest.mark.parametrize("name", ["a*", "a?", "[a]", "a\\", "{a,b}"])
def test_names_are_no_patterns(name):
    def loss(params, x):
        return sum((w * x).sum() for w in params.values())

    params = {name: np.ones(3, "f4"), "aa": np.ones(3, "f4")}
    labels = {name: "ours", "aa": "other"}
    optax = pytest.importorskip("optax")
    optimizer = optax.multi_transform({"ours": optax.sgd(0.5), "other": optax.sgd(0.25)}, labels)
    step = remat.jax.train_step(loss, params, np.ones(3, "f4"), optimizer=optimizer)
    step(np.ones(3, "f4"))
    assert step.params[name][0] == 0.5 and step.params["aa"][0] == 0.75


@pytest.mark.parametrize("make, message", [
    (lambda optax: optax.MultiSteps(optax.sgd(0.1), 4).gradient_transformation(), "accumulate= of train_step"),
    (lambda optax: optax.apply_if_finite(optax.sgd(0.1), 3), "reads '.*' or its gradient, but parameters are updated one by one"),
    (lambda optax: optax.chain(optax.adam(0.1), optax.clip_by_global_norm(1.0)), "updated one by one"),
    (lambda optax: optax.chain(optax.clip(1.0), optax.clip_by_global_norm(1.0), optax.sgd(0.1)), "updated one by one"),
    (lambda optax: optax.contrib.dog(0.1), "updated one by one"),
    (lambda optax: optax.contrib.sophia(0.1), "must need no more than gradients, state and parameters, but: obj_fn"),
    (lambda optax: optax.polyak_sgd(), "must need no more than gradients, state and parameters"),
    (lambda optax: optax.set_to_zero(), "changes no parameter"),
    (lambda optax: optax.GradientTransformation(lambda p: 0.0, lambda g, s, p=None: (g, (s, s))), "another structure"),
])
def test_optimizers_of_optax_without_a_counterpart(make, message):
    optax = pytest.importorskip("optax")
    with pytest.raises(TypeError, match=message):
        remat.jax.train_step(mlp, mlp_params(), *mlp_batches(1)[0], optimizer=make(optax))


def test_what_is_no_optimizer():
    with pytest.raises(TypeError, match="the optimizer must be one of remat's, .* but got dict"):  # which has an update()
        remat.jax.train_step(mlp, mlp_params(), *mlp_batches(1)[0], optimizer={"lr": 0.1})


def test_clipping_twice():
    optax = pytest.importorskip("optax")
    with pytest.raises(TypeError, match="clip_global_norm is in the optimizer, too"):
        remat.jax.train_step(mlp, mlp_params(), *mlp_batches(1)[0], clip_global_norm=1.0,
                             optimizer=optax.chain(optax.clip_by_global_norm(0.1), optax.adam(0.01)))


def test_an_equation_that_is_solved_by_steps_of_its_own():
    """Loops inside of loops whose number of steps depends on data, forward and, as the rule by hand has it, backward."""
    from jax.experimental import ode

    def loss(params, start):
        times = jnp.linspace(0.0, 1.0, 4)
        return (ode.odeint(lambda y, t, w: jnp.sin(y * w) - t * y, start, times, params, rtol=1e-5, atol=1e-6)**2).sum()

    params, start = normal(6), normal(6)
    step = remat.jax.train_step(loss, params, start, optimizer=remat.SGD(0.1))
    losses, expected = train_in_jax(loss, params, [(start,), (start,)], 0.1)
    np.testing.assert_allclose([step(start), step(start)], losses, 1e-4)
    np.testing.assert_allclose(step.params, expected, 1e-3, 1e-4)
