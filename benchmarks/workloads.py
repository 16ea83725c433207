# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads without any framework: dimensions, initial values, one batch, optimizer.

Weights of linear layers are (in, out); images are (batch, y, x, channel) and convolutions (kh, kw, in, out).
Parameters are a flat dictionary from name to array, in the order in which the models take them.
"""
import dataclasses

import numpy as np

DIMS = {
    "gpt": dict(L=6, d=256, heads=8, T=256, B=8, V=512),
    "resnet18": dict(B=32, image=32, width=64, classes=10),
    "mlp": dict(L=16, d=1024, B=256),
    "rnn": dict(T=256, B=32, d=256),
    "llama": dict(L=4, d=512, heads=8, shared=4, ffn=1408, T=256, B=4, V=32000),
    "convnext": dict(B=16, image=128, width=48, classes=100),
}
RULES = {"sgd": ("sgd", dict(lr=0.01)), "adamw": ("adamw", dict(lr=3e-4, weight_decay=0.01)),
         "momentum": ("sgd", dict(lr=0.01, momentum=0.9)),
         # Of fewer bytes, which peers do not have in themselves.
         "adamw-int8": ("adamw", dict(lr=3e-4, weight_decay=0.01, states="int8")),
         "apollo": ("apollo", dict(lr=0.01, rank=64)),
         "apollo-mini": ("apollo", dict(lr=0.01, rank=1, scale=128.0, scaling="tensor"))}
OPTIMIZERS = {"gpt": RULES["adamw"], "resnet18": RULES["momentum"], "mlp": RULES["sgd"], "rnn": RULES["adamw"],
              "llama": RULES["adamw"], "convnext": RULES["adamw"]}
POLICIES = ("none", "full", "dots")


def dims_of(workload, overrides=()):
    dims = dict(DIMS[workload])
    for key, _, value in (item.partition("=") for item in overrides):
        if key not in dims:
            raise SystemExit(f"{workload} has no dimension {key}; it has {', '.join(dims)}")
        if not value.isdecimal() or int(value) == 0:
            raise SystemExit(f"{key}={value}: expected a size, such as {key}={dims[key]}")
        dims[key] = int(value)
    return dims


@dataclasses.dataclass(frozen=True)
class Initial:
    """A parameter before the first step: normally distributed around `mean`."""

    shape: tuple
    mean: float
    deviation: float

    def draw(self, rng):
        if not self.deviation:
            return np.full(self.shape, self.mean, np.float32)
        return (self.mean + self.deviation * rng.standard_normal(self.shape)).astype(np.float32)


def normal(deviation, *shape):
    return Initial(shape, 0.0, deviation)


def constant(value, *shape):
    return Initial(shape, value, 0.0)


def initials(workload, dims):
    """name -> Initial, of the parameters in the order in which the models take them"""
    return dict(globals()[f"{workload}_parameters"](dims))


def draw_parameters(workload, dims, seed=0):
    """Yields names and float32 arrays, one after the other: all of them may take half of a machine's memory."""
    rng = np.random.default_rng(seed)
    for name, initial in initials(workload, dims).items():
        yield name, initial.draw(rng)


def parameters(workload, dims):
    """name -> float32 array"""
    return dict(draw_parameters(workload, dims))


def batch(workload, dims, seed=1):
    return globals()[f"{workload}_batch"](dims, np.random.default_rng(seed))


def states(workload, dims):
    """name -> float32 array, of what a step updates besides parameters and the optimizer's state"""
    return globals().get(f"{workload}_states", lambda dims: {})(dims)


def within(params, prefix):
    """The parameters of one layer, by their names inside it."""
    return {name.removeprefix(prefix + "."): v for name, v in params.items() if name.startswith(prefix + ".")}


def gpt_parameters(dims):
    d, std = dims["d"], 0.02
    residual_std = std / (2 * dims["L"]) ** 0.5
    yield "tok", normal(std, dims["V"], d)
    yield "pos", normal(std, dims["T"], d)
    for i in range(dims["L"]):
        yield f"{i}.ln1_g", constant(1.0, d)
        yield f"{i}.ln1_b", constant(0.0, d)
        for name in "qkv":
            yield f"{i}.{name}_w", normal(std, d, d)
            yield f"{i}.{name}_b", constant(0.0, d)
        yield f"{i}.proj_w", normal(residual_std, d, d)
        yield f"{i}.proj_b", constant(0.0, d)
        yield f"{i}.ln2_g", constant(1.0, d)
        yield f"{i}.ln2_b", constant(0.0, d)
        yield f"{i}.up_w", normal(std, d, 4 * d)
        yield f"{i}.up_b", constant(0.0, 4 * d)
        yield f"{i}.down_w", normal(residual_std, 4 * d, d)
        yield f"{i}.down_b", constant(0.0, d)
    yield "ln_g", constant(1.0, d)
    yield "ln_b", constant(0.0, d)


def gpt_batch(dims, rng):
    text = rng.integers(0, dims["V"], (dims["B"], dims["T"] + 1)).astype(np.int32)
    return {"tokens": text[:, :-1].copy(), "targets": text[:, 1:].copy()}


def resnet18_blocks(width):
    """(input channels, output channels, stride) of the eight basic blocks."""
    widths = [width] * 3 + [2 * width] * 2 + [4 * width] * 2 + [8 * width] * 2
    return [(i, o, 1 if i == o else 2) for i, o in zip(widths, widths[1:])]


def resnet18_convolutions(width):
    """(name, kernel size, input channels, output channels) in the order in which they run."""
    yield "stem.1", 3, 3, width
    for i, (inputs, outputs, stride) in enumerate(resnet18_blocks(width)):
        yield f"{i}.1", 3, inputs, outputs
        yield f"{i}.2", 3, outputs, outputs
        if stride != 1:
            yield f"{i}.3", 1, inputs, outputs


def resnet18_parameters(dims):
    width = dims["width"]
    for name, kernel, inputs, outputs in resnet18_convolutions(width):
        yield f"{name}.w", normal((2 / (kernel**2 * outputs)) ** 0.5, kernel, kernel, inputs, outputs)
        yield f"{name}.g", constant(1.0, outputs)
        yield f"{name}.b", constant(0.0, outputs)
    yield "head_w", normal((8 * width) ** -0.5, 8 * width, dims["classes"])
    yield "head_b", constant(0.0, dims["classes"])


def resnet18_states(dims):
    """Running mean and variance of every batch norm."""
    states = {}
    for name, _, _, outputs in resnet18_convolutions(dims["width"]):
        states[f"{name}.mean"] = np.zeros(outputs, np.float32)
        states[f"{name}.var"] = np.ones(outputs, np.float32)
    return states


def resnet18_named_states(stats, dims):
    """Names for the (mean, variance) pairs of the batch norms in the order in which they ran."""
    names = [name for name, *_ in resnet18_convolutions(dims["width"])]
    return {f"{n}.{k}": v for n, s in zip(names, stats, strict=True) for k, v in zip(("mean", "var"), s)}


def resnet18_batch(dims, rng):
    B, image = dims["B"], dims["image"]
    return {"images": rng.standard_normal((B, image, image, 3)).astype(np.float32),
            "labels": rng.integers(0, dims["classes"], B).astype(np.int32)}


def mlp_parameters(dims):
    d = dims["d"]
    for i in range(dims["L"]):
        yield f"{i}.w", normal((2 / d) ** 0.5, d, d)
        yield f"{i}.b", constant(0.0, d)


def mlp_batch(dims, rng):
    shape = dims["B"], dims["d"]
    return {name: rng.standard_normal(shape).astype(np.float32) for name in ("x", "y")}


def rnn_parameters(dims):
    d = dims["d"]
    yield "wx", normal(d**-0.5, d, 4 * d)
    yield "wh", normal(d**-0.5, d, 4 * d)
    yield "b", constant(0.0, 4 * d)


def rnn_batch(dims, rng):
    shape = dims["T"], dims["B"], dims["d"]
    return {"x": rng.standard_normal(shape).astype(np.float32),
            "y": np.tanh(rng.standard_normal(shape)).astype(np.float32)}


def llama_parameters(dims):
    """Of keys and values there are as many heads as `shared` heads of queries share."""
    d, ffn, std = dims["d"], dims["ffn"], 0.02
    keys = d // dims["shared"]
    residual_std = std / (2 * dims["L"]) ** 0.5
    yield "tok", normal(std, dims["V"], d)
    for i in range(dims["L"]):
        yield f"{i}.norm1", constant(1.0, d)
        for name, outputs in (("q", d), ("k", keys), ("v", keys)):
            yield f"{i}.{name}", normal(std, d, outputs)
        yield f"{i}.o", normal(residual_std, d, d)
        yield f"{i}.norm2", constant(1.0, d)
        for name in ("gate", "up"):
            yield f"{i}.{name}", normal(std, d, ffn)
        yield f"{i}.down", normal(residual_std, ffn, d)
    yield "norm", constant(1.0, d)
    yield "head", normal(std, d, dims["V"])


llama_batch = gpt_batch


def rotations(dims):
    """cos and sin of rotary position embeddings, both (T, half a head)."""
    half = dims["d"] // dims["heads"] // 2
    angles = np.arange(dims["T"])[:, None] * 10000.0 ** (-np.arange(half) / half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


CONVNEXT_BLOCKS = (2, 2, 6, 2)


def convnext_stages(dims):
    """(input channels, output channels, kernel size and stride of the convolution before it, blocks) of each stage."""
    width = dims["width"]
    return [(3 if i == 0 else width << i - 1, width << i, 4 if i == 0 else 2, blocks)
            for i, blocks in enumerate(CONVNEXT_BLOCKS)]


def convnext_parameters(dims):
    for i, (inputs, outputs, kernel, blocks) in enumerate(convnext_stages(dims)):
        if i:
            yield f"{i}.norm_g", constant(1.0, inputs)
            yield f"{i}.norm_b", constant(0.0, inputs)
        yield f"{i}.down_w", normal((kernel**2 * inputs) ** -0.5, kernel, kernel, inputs, outputs)
        yield f"{i}.down_b", constant(0.0, outputs)
        if not i:
            yield f"{i}.norm_g", constant(1.0, outputs)
            yield f"{i}.norm_b", constant(0.0, outputs)
        for j in range(blocks):
            yield f"{i}.{j}.depth_w", normal(1 / 7, 7, 7, 1, outputs)
            yield f"{i}.{j}.depth_b", constant(0.0, outputs)
            yield f"{i}.{j}.norm_g", constant(1.0, outputs)
            yield f"{i}.{j}.norm_b", constant(0.0, outputs)
            yield f"{i}.{j}.up_w", normal(0.02, outputs, 4 * outputs)
            yield f"{i}.{j}.up_b", constant(0.0, 4 * outputs)
            yield f"{i}.{j}.down_w", normal(0.02, 4 * outputs, outputs)
            yield f"{i}.{j}.down_b", constant(0.0, outputs)
            yield f"{i}.{j}.scale", constant(0.1, outputs)
    yield "norm_g", constant(1.0, outputs)
    yield "norm_b", constant(0.0, outputs)
    yield "head_w", normal(0.02, outputs, dims["classes"])
    yield "head_b", constant(0.0, dims["classes"])


convnext_batch = resnet18_batch
