#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models straight from packages, with random weights, exported by `remat.export`.

    architectures.py FOLDER [NAME ...] [KEY=VALUE ...]

writes NAME.mlir, NAME.json and NAME.npz of each model (default: all) into FOLDER. KEY=VALUE changes a size, such as
`layers=6 width=256`. Needs transformers, torch and torch-mlir; jax, flax, equinox and iree-base-compiler for the last ones.
"""
import dataclasses
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

TEXT = dict(batch=2, length=12, vocabulary=64, width=32, heads=4, layers=2)
IMAGE = dict(batch=4, size=32, classes=10, width=32, heads=4, layers=2)


@dataclasses.dataclass
class Model:
    """A torch module, or a JAX function with its parameters. layers: path of the list of its equal layers. wide: it is
    in float64."""

    function: object
    inputs: dict
    dims: dict
    params: object = None
    layers: str = ""
    wide: bool = False

    def export(self, check=True):
        from remat import export
        if self.params is None:
            return export.from_torch(self.function, self.inputs, dims=self.dims, check=check)
        return export.from_jax(self.function, self.params, self.inputs, dims=self.dims, x64=self.wide,
                               check=check)


def perturb(module, seed=0):
    """No weight or statistic stays at a one or zero of its initialization, which would hide mistakes."""
    import torch
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.05 * torch.randn(p.shape, generator=generator).to(p.dtype))
        for b in module.buffers():
            if b.is_floating_point():
                b.add_(0.05 * torch.rand(b.shape, generator=generator).to(b.dtype))
    return module


class Loss:
    """Makes a torch module of a model of transformers that computes its loss from `labels`."""

    def __new__(cls, model, inputs):
        import torch

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *values):
                return self.model(**dict(zip(inputs, values)), return_dict=True).loss

        return Module()


def transformers_model(kind, inputs, **config):
    import torch
    import transformers
    torch.manual_seed(0)
    model_class = getattr(transformers, kind)
    config = model_class.config_class(**config)
    config._attn_implementation = "eager"
    return Loss(perturb(model_class(config)).train(), inputs)


def text(kind, d, layers, labels="tokens", **config):
    """labels: `next` (the text itself, which the model shifts), `tokens` (one class of the vocabulary each), or
    `classes`."""
    import torch
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, d["vocabulary"], (d["batch"], d["length"]), generator=generator)
    inputs = {"input_ids": tokens}
    if labels == "next":  # without a mask, decoders look for packed sequences by a cumulative sum
        inputs["attention_mask"] = torch.ones_like(tokens)
    inputs["labels"] = tokens if labels == "next" else torch.randint(
        0, d["vocabulary"] if labels == "tokens" else 2, tokens.shape, generator=generator)
    return Model(transformers_model(kind, list(inputs), vocab_size=d["vocabulary"], **config), inputs, d,
                 layers=layers)


def images(kind, d, layers, **config):
    import torch
    generator = torch.Generator().manual_seed(1)
    inputs = {"pixel_values": torch.randn(d["batch"], 3, d["size"], d["size"], generator=generator),
              "labels": torch.randint(0, d["classes"], (d["batch"],), generator=generator)}
    return Model(transformers_model(kind, list(inputs), num_labels=d["classes"], **config), inputs, d, layers=layers)


def decoder(d):
    """Returns the sizes by their names in the configurations of LLaMA and its relatives; two heads share a key-value head."""
    return dict(hidden_size=d["width"], num_hidden_layers=d["layers"], num_attention_heads=d["heads"],
                num_key_value_heads=max(1, d["heads"] // 2), intermediate_size=3 * d["width"],
                max_position_embeddings=d["length"], use_cache=False, tie_word_embeddings=False)


def encoder(d):
    """Returns the sizes by their names in the configurations of BERT and ViT."""
    return dict(hidden_size=d["width"], num_hidden_layers=d["layers"], num_attention_heads=d["heads"],
                intermediate_size=4 * d["width"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def gpt2(d):
    return text("GPT2LMHeadModel", d, "transformer.h", "next", n_embd=d["width"], n_layer=d["layers"], n_head=d["heads"],
                n_positions=d["length"], use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)


def gpt2_dropout(d):
    return text("GPT2LMHeadModel", d, "transformer.h", "next", n_embd=d["width"], n_layer=d["layers"], n_head=d["heads"],
                n_positions=d["length"], use_cache=False)


def opt(d):
    """Counts positions by a cumulative sum."""
    return text("OPTForCausalLM", d, "model.decoder.layers", "next", hidden_size=d["width"], word_embed_proj_dim=d["width"],
                num_hidden_layers=d["layers"], num_attention_heads=d["heads"], ffn_dim=4 * d["width"],
                max_position_embeddings=d["length"], use_cache=False, dropout=0.0)


def llama(d):
    return text("LlamaForCausalLM", d, "model.layers", "next", **decoder(d))


def mistral(d):
    return text("MistralForCausalLM", d, "model.layers", "next", **decoder(d), sliding_window=d["length"] // 2)


def qwen3(d):
    return text("Qwen3ForCausalLM", d, "model.layers", "next", **decoder(d), head_dim=d["width"] // d["heads"])


def gemma2(d):
    return text("Gemma2ForCausalLM", d, "model.layers", "next", **decoder(d), head_dim=d["width"] // d["heads"])


def bert(d):
    return text("BertForMaskedLM", d, "bert.encoder.layer", **encoder(d), max_position_embeddings=d["length"])


def t5_encoder(d):
    return text("T5ForTokenClassification", d, "transformer.encoder.block", "classes", d_model=d["width"],
                d_kv=d["width"] // d["heads"], d_ff=4 * d["width"], num_layers=d["layers"], num_heads=d["heads"],
                dropout_rate=0.0, classifier_dropout=0.0, num_labels=2)


def vit(d):
    return images("ViTForImageClassification", d, "vit.layers", **encoder(d), image_size=d["size"],
                  patch_size=d["size"] // 4)


def resnet(d):
    return images("ResNetForImageClassification", d, "resnet.encoder.stages", embedding_size=d["width"] // 4, depths=[2, 2],
                  hidden_sizes=[d["width"] // 2, d["width"]], layer_type="basic")


def convnext(d):
    return images("ConvNextForImageClassification", d, "convnext.encoder.stages.1.layers", depths=[1, d["layers"]],
                  num_stages=2, hidden_sizes=[d["width"] // 2, d["width"]], image_size=d["size"])


def mobilenet(d):
    return images("MobileNetV2ForImageClassification", d, "mobilenet_v2.layer", image_size=d["size"], depth_multiplier=0.25,
                  output_stride=8, classifier_dropout_prob=0.0)


# --- JAX ---------------------------------------------------------------------------------------


def perturbed(params, seed=0):
    import jax
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda p: np.asarray(p + 0.05 * random.standard_normal(p.shape), p.dtype), params)


def cross_entropy(logits, labels):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def flax_encoder(d):
    import flax.linen as nn
    import jax

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x + nn.MultiHeadDotProductAttention(d["heads"])(nn.LayerNorm()(x))
            return x + nn.Dense(d["width"])(nn.gelu(nn.Dense(4 * d["width"])(nn.LayerNorm()(x))))

    class Encoder(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(d["vocabulary"], d["width"])(tokens)
            x = x + self.param("positions", nn.initializers.normal(0.02), (d["length"], d["width"]))
            for i in range(d["layers"]):
                x = nn.remat(Layer)(name=f"layer_{i}")(x)
            return nn.Dense(d["vocabulary"])(nn.LayerNorm()(x))

    random = np.random.default_rng(1)
    tokens, labels = (random.integers(0, d["vocabulary"], (d["batch"], d["length"]), np.int32) for _ in range(2))
    model = Encoder()
    params = perturbed(model.init(jax.random.key(0), tokens)["params"])
    return Model(lambda p, tokens, labels: cross_entropy(model.apply({"params": p}, tokens), labels),
                 {"tokens": tokens, "labels": labels}, d, params)


def flax_resnet(d):
    import flax.linen as nn
    import jax

    class Block(nn.Module):
        features: int
        stride: int

        @nn.compact
        def __call__(self, x):
            y = nn.relu(nn.GroupNorm(4)(nn.Conv(self.features, (3, 3), self.stride, use_bias=False)(x)))
            y = nn.GroupNorm(4)(nn.Conv(self.features, (3, 3), use_bias=False)(y))
            if x.shape != y.shape:
                x = nn.GroupNorm(4)(nn.Conv(self.features, (1, 1), self.stride, use_bias=False)(x))
            return nn.relu(x + y)

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.max_pool(nn.relu(nn.Conv(d["width"] // 2, (3, 3))(x)), (2, 2), (2, 2))
            for i in range(d["layers"]):
                x = Block(d["width"] // 2 * 2**i, 1 + (i > 0))(x)
            return nn.Dense(d["classes"])(x.mean((1, 2)))

    random = np.random.default_rng(1)
    images = random.standard_normal((d["batch"], d["size"], d["size"], 3)).astype(np.float32)
    labels = random.integers(0, d["classes"], d["batch"], np.int32)
    model = ResNet()
    params = perturbed(model.init(jax.random.key(0), images)["params"])
    return Model(lambda p, x, labels: cross_entropy(model.apply({"params": p}, x), labels),
                 {"images": images, "labels": labels}, d, params)


def equinox_gru(d):
    import equinox as eqx
    import jax

    cell_key, mlp_key = jax.random.split(jax.random.key(0))
    model = {"cell": eqx.nn.GRUCell(8, d["width"], key=cell_key),
             "mlp": eqx.nn.MLP(d["width"], 5, 2 * d["width"], 2, activation=jax.nn.silu, key=mlp_key)}
    params, static = eqx.partition(model, eqx.is_inexact_array)

    def loss(params, sequences, labels):
        model = eqx.combine(params, static)

        def logits(sequence):
            h, _ = jax.lax.scan(lambda h, x: (model["cell"](x, h), None), jax.numpy.zeros(d["width"], sequence.dtype),
                                sequence)
            return model["mlp"](h)

        return cross_entropy(jax.vmap(logits)(sequences), labels)

    random = np.random.default_rng(1)
    inputs = {"sequences": random.standard_normal((d["batch"], d["length"], 8)).astype(np.float32),
              "labels": random.integers(0, 5, d["batch"], np.int32)}
    return Model(loss, inputs, d, perturbed(params))


MODELS = {
    "gpt2": (gpt2, TEXT), "gpt2_dropout": (gpt2_dropout, TEXT), "opt": (opt, TEXT), "llama": (llama, TEXT),
    "mistral": (mistral, TEXT), "qwen3": (qwen3, TEXT), "gemma2": (gemma2, TEXT), "bert": (bert, TEXT),
    "t5_encoder": (t5_encoder, TEXT), "vit": (vit, IMAGE), "resnet": (resnet, IMAGE), "convnext": (convnext, IMAGE),
    "mobilenet": (mobilenet, IMAGE), "flax_encoder": (flax_encoder, TEXT), "flax_resnet": (flax_resnet, IMAGE),
    "equinox_gru": (equinox_gru, TEXT),
}


def main():
    folder, *rest = sys.argv[1:] or sys.exit(__doc__)
    sizes = {k: int(v) for k, _, v in (r.partition("=") for r in rest if "=" in r)}
    failed = 0
    for name in [r for r in rest if "=" not in r] or MODELS:
        model, dims = MODELS[name]
        try:
            model(dims | sizes).export().save(folder, name)
            print("exported", name, flush=True)
        except Exception as problem:  # each front end raises types of its own
            failed += 1
            lines = [line for line in str(problem).splitlines() if line.strip()]
            reason = next((line for line in lines if "error:" in line), lines[0] if lines else "")
            print(f"FAILED   {name}: {type(problem).__name__}: {reason[:400]}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
