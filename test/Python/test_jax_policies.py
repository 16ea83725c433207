# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies that a JAX model has in `jax.checkpoint(policy=...)`, with `policy=remat.as_written()`: what is saved is what JAX saves, or
less of it, as a kernel's inputs are enough for its backward. Bits are those of the model without a policy."""
import logging

import numpy as np
import pytest

import remat

jax = pytest.importorskip("jax")
pytest.importorskip("iree.compiler")

import jax.numpy as jnp  # noqa: E402
from jax.ad_checkpoint import checkpoint_name  # noqa: E402

P = jax.checkpoint_policies
RNG = np.random.default_rng(0)
BATCH = tuple(RNG.normal(size=(4, 8, 16)).astype("f4") for _ in range(2))
PARAMS = {"a": RNG.normal(size=(3, 16, 32)).astype("f4") * 0.2, "b": RNG.normal(size=(3, 32, 16)).astype("f4") * 0.2}
ATTENTION = PARAMS | {"qkv": RNG.normal(size=(3, 16, 48)).astype("f4") * 0.2}


def mlp(x, p):
    return x + jnp.sin(checkpoint_name(jnp.tanh(x @ p["a"]), "hidden") @ p["b"])


def attention(x, p):
    q, k, v = jnp.split(x @ p["qkv"], 3, -1)
    scores = checkpoint_name(jnp.einsum("...qd,...kd->...qk", q, k), "scores")
    return mlp(x + checkpoint_name(jax.nn.softmax(scores) @ v, "attention"), p)


def calling(x, p):
    """Equations in functions of their own, and a derivative by hand."""
    return jax.jit(mlp)(jax.nn.silu(x), p)


def unrolled(layer, *policies, checkpoint=jax.checkpoint):
    def loss(p, x, y):
        for i in range(3):
            one = {name: array[i] for name, array in p.items()}
            x = (checkpoint(layer, policy=policies[i % len(policies)]) if policies else layer)(x, one)
        return jnp.mean((x - y) ** 2)
    return loss


def scanned(layer, *policies):
    def loss(p, x, y):
        body = jax.checkpoint(layer, policy=policies[0]) if policies else layer
        x, _ = jax.lax.scan(lambda x, one: (body(x, one), None), x, p)
        return jnp.mean((x - y) ** 2)
    return loss


def nested(layer, *policies):
    """The outer checkpoint saves by the first policy, the inner ones by the second."""
    def outer(x, p):
        inner = jax.checkpoint(layer, policy=policies[1]) if policies else layer
        return jnp.cos(inner(jnp.sin(inner(x, p)), p))
    return unrolled(outer, *policies[:1])


def mapped(layer, *policies):
    return unrolled(lambda x, p: jax.vmap(layer, (0, None))(x, p), *policies)


def by_name(name):
    return lambda primitive, *avals, **parameters: primitive.name == name


def wide(primitive, *avals, **parameters):
    return primitive.name == "dot_general" and avals[1].shape[-1] == 32


OFFLOAD = P.save_and_offload_only_these_names(names_which_can_be_saved=["attention"], names_which_can_be_offloaded=["hidden"],
                                              offload_src="device", offload_dst="pinned_host")
CASES = {
    "mlp": (unrolled, mlp, [None]),
    "mlp, all": (unrolled, mlp, [P.everything_saveable]),
    "mlp, dots": (unrolled, mlp, [P.dots_saveable]),
    "attention, dots": (unrolled, attention, [P.checkpoint_dots]),
    "attention, dots without batch": (unrolled, attention, [P.dots_with_no_batch_dims_saveable]),
    "attention, names": (unrolled, attention, [P.save_only_these_names("attention", "hidden")]),
    "attention, any names but": (unrolled, attention, [P.save_any_names_but_these("scores")]),
    "attention, both": (unrolled, attention, [P.save_from_both_policies(P.dots_with_no_batch_dims_saveable,
                                                                       P.save_only_these_names("attention"))]),
    "attention, offloaded": (unrolled, attention, [OFFLOAD]),
    "a function": (unrolled, attention, [by_name("tanh")]),
    "a function of types": (unrolled, mlp, [wide]),
    "in jit": (unrolled, calling, [by_name("tanh")]),
    "another one for each layer": (unrolled, mlp, [P.nothing_saveable, P.dots_saveable, by_name("tanh")]),
    "nested": (nested, mlp, [P.dots_saveable, P.nothing_saveable]),
    "nested functions": (nested, mlp, [by_name("sin"), by_name("tanh")]),
    "scan": (scanned, mlp, [None]),
    "scan, names": (scanned, mlp, [P.save_only_these_names("hidden")]),
    "scan, a function": (scanned, attention, [by_name("tanh")]),
    "vmap": (mapped, attention, [by_name("tanh")]),
}


def train(loss, params, policy, **arguments):
    step = remat.jax.train_step(loss, params, *BATCH, optimizer=remat.SGD(0.1), policy=policy, **arguments)
    values = [step(*BATCH) for _ in range(2)]
    return step, (values, {name: array.tobytes() for name, array in step.parameters.items()})


def count_saved(loss, params):
    """Bytes that JAX saves between forward and backward, without arguments, which it has anyway."""
    from jax._src.ad_checkpoint import saved_residuals
    return sum(aval.size * aval.dtype.itemsize for aval, source in saved_residuals(loss, params, *BATCH) if "the argument" not in source)


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_is_what_jax_saves_or_less(name):
    make, layer, policies = CASES[name]
    params = ATTENTION if layer is attention else PARAMS
    step, found = train(make(layer, *policies), params, remat.as_written())
    plain, expected = train(make(layer), params, None)
    assert found == expected
    assert step.memory.residuals <= count_saved(make(layer, *policies), params)
    if policies != [P.everything_saveable]:
        assert step.memory.recomputed_ops > plain.memory.recomputed_ops
        assert step.memory.residuals < plain.memory.residuals


def pipeline_of(loss, params=PARAMS, policy=None):
    step, _ = train(loss, params, policy or remat.as_written())
    return ["remat-annotate" + one.rpartition(",")[0] for one in step.pipeline.split("remat-annotate")[1:]]


@pytest.mark.parametrize("name, annotations", [
    ("mlp", ["remat-annotate{checkpoints policy=nothing_saveable}"]),
    ("mlp, all", ["remat-annotate{checkpoints policy=everything_saveable}"]),
    ("mlp, dots", ["remat-annotate{checkpoints policy=dots_saveable}"]),
    ("attention, dots without batch", ["remat-annotate{checkpoints policy=dots_with_no_batch_dims_saveable}"]),
    ("attention, names", ['remat-annotate{checkpoints policy={save_only_names<"attention", "hidden">}}']),
    ("attention, any names but", ['remat-annotate{checkpoints policy={save_only_names<"attention", "hidden">}}']),
    ("attention, both", ['remat-annotate{checkpoints policy={any_of<#remat.dots_with_no_batch_dims_saveable, '
                         '#remat.save_only_names<"attention">>}}']),
    ("attention, offloaded", ['remat-annotate{checkpoints policy={any_of<#remat.save_only_names<"attention">, '
                              '#remat.offload_names<"hidden">>}}']),
    ("a function", ["remat-annotate{scope=as_written-0 name=as_written-0}",
                    'remat-annotate{checkpoints policy=save_only_names<"as_written-0">}']),
    ("another one for each layer", [
        "remat-annotate{scope=as_written-2 name=as_written-2}", "remat-annotate{scope=checkpoint#0 policy=nothing_saveable}",
        "remat-annotate{scope=checkpoint#1 policy=dots_saveable}",
        'remat-annotate{scope=checkpoint#2 policy=save_only_names<"as_written-2">}']),
    # Inner applications first. What both save has a name that both policies have.
    ("nested", ["remat-annotate{scope=checkpoint#1,checkpoint#2,checkpoint#4,checkpoint#5,checkpoint#7,checkpoint#8 policy=nothing_saveable}",
                "remat-annotate{scope=checkpoint#0,checkpoint#3,checkpoint#6 policy=dots_saveable}"]),
])
def test_policies_become_those_of_the_dialect(name, annotations):
    make, layer, policies = CASES[name]
    assert pipeline_of(make(layer, *policies), ATTENTION if layer is attention else PARAMS) == annotations


def test_a_policy_is_asked_as_jax_asks_it():
    asked = []

    def policy(primitive, *avals, **parameters):
        asked.append((primitive.name, tuple(aval.shape for aval in avals), "dimension_numbers" in parameters))
        return False

    train(unrolled(calling, policy), PARAMS, remat.as_written())
    assert ("dot_general", ((4, 8, 16), (16, 32)), True) in asked and ("tanh", ((4, 8, 32),), False) in asked
    assert not {"jit", "custom_jvp_call", "remat2"}.intersection(name for name, *_ in asked)
    asked.clear()
    train(unrolled(calling, policy), PARAMS, remat.checkpoints())
    assert not asked


def test_an_error_of_a_policy_comes_through():
    with pytest.raises(ZeroDivisionError):
        train(unrolled(mlp, lambda *_, **__: 1 // 0), PARAMS, remat.as_written())


def test_together_with_other_selections():
    listed = pipeline_of(unrolled(mlp, P.dots_saveable), policy=["as_written", "whole", "everything_saveable"])
    assert listed == ["remat-annotate{checkpoints policy=dots_saveable}", "remat-annotate{whole policy=everything_saveable}"]
    with pytest.raises(TypeError, match="says what becomes of it already"):
        remat.as_written() | remat.dots_saveable
    assert remat.as_policy("as_written") == remat.as_policy(["as_written"]) == remat.as_written()
    assert remat.as_written().to_yaml() == "- as_written"


def test_a_model_without_checkpoints_is_left_as_it_is(caplog):
    with caplog.at_level(logging.WARNING, "remat"):
        step, _ = train(unrolled(mlp), PARAMS, remat.as_written())
    assert step.memory.recomputed_ops == 0 and "the model applies no checkpoint" in caplog.text


def test_batches_of_other_sizes():
    step, _ = train(unrolled(mlp, by_name("tanh")), PARAMS, remat.as_written(), dynamic=True)
    plain, _ = train(unrolled(mlp), PARAMS, None, dynamic=True)
    batch = [array[:2] for array in BATCH]
    assert step(*batch) == plain(*batch)
    other, = step._others.values()
    assert 0 < other.memory.residuals < step.memory.residuals and other.memory.recomputed_ops == step.memory.recomputed_ops


def test_flax_remat():
    nn = pytest.importorskip("flax.linen")

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x + nn.Dense(16)(checkpoint_name(nn.gelu(nn.Dense(64)(x)), "hidden"))

    def make(wrap):
        class Model(nn.Module):
            @nn.compact
            def __call__(self, x):
                for i in range(3):
                    x = wrap(Block)(name=f"block_{i}")(x)
                return x
        return lambda p, x, y: jnp.mean((Model().apply(p, x) - y) ** 2), Model()

    def rematerialized(block):
        return nn.remat(block, policy=P.save_only_these_names("hidden"))

    (loss, model), (plain, _) = make(rematerialized), make(lambda block: block)
    params = model.init(jax.random.key(0), BATCH[0])
    assert pipeline_of(loss, params) == ['remat-annotate{checkpoints policy=save_only_names<"hidden">}']
    step, found = train(loss, params, remat.as_written())
    assert found == train(plain, params, None)[1]
    assert 0 < step.memory.residuals <= count_saved(loss, params)


def test_models_in_mlir_have_none():
    with pytest.raises(TypeError, match=r"as_written\(\) reads the policies of a model in PyTorch or JAX"):
        remat.mlir.train_step("module {}", policy="as_written")
