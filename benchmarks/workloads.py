"""The four workloads without any framework: dimensions, initial values, one batch, FLOPs, optimizer.

Weights of linear layers are (in, out); images are (batch, y, x, channel) and convolutions (kh, kw, in, out).
Parameters are a flat dictionary from name to array, in the order in which the models take them.
"""
import numpy as np

DIMS = {
    "gpt": dict(L=6, d=256, heads=8, T=256, B=8, V=512),
    "resnet18": dict(B=32, image=32, width=64, classes=10),
    "mlp": dict(L=16, d=1024, B=256),
    "rnn": dict(T=256, B=32, d=256),
}
ADAMW = dict(lr=3e-4, weight_decay=0.01)
OPTIMIZERS = {"gpt": ("adamw", ADAMW), "resnet18": ("sgd", dict(lr=0.01, momentum=0.9)),
              "mlp": ("sgd", dict(lr=0.01)), "rnn": ("adamw", ADAMW)}
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


def parameters(workload, dims, seed=0):
    """name -> float32 array"""
    return {name: array.astype(np.float32)
            for name, array in globals()[f"{workload}_parameters"](dims, np.random.default_rng(seed))}


def batch(workload, dims, seed=1):
    return globals()[f"{workload}_batch"](dims, np.random.default_rng(seed))


def within(params, prefix):
    """The parameters of one layer, by their names inside it."""
    return {name.removeprefix(prefix + "."): v for name, v in params.items() if name.startswith(prefix + ".")}


def gpt_parameters(dims, rng):
    d, std = dims["d"], 0.02
    residual_std = std / (2 * dims["L"]) ** 0.5
    yield "tok", std * rng.standard_normal((dims["V"], d))
    yield "pos", std * rng.standard_normal((dims["T"], d))
    for i in range(dims["L"]):
        yield f"{i}.ln1_g", np.ones(d)
        yield f"{i}.ln1_b", np.zeros(d)
        for name in "qkv":
            yield f"{i}.{name}_w", std * rng.standard_normal((d, d))
            yield f"{i}.{name}_b", np.zeros(d)
        yield f"{i}.proj_w", residual_std * rng.standard_normal((d, d))
        yield f"{i}.proj_b", np.zeros(d)
        yield f"{i}.ln2_g", np.ones(d)
        yield f"{i}.ln2_b", np.zeros(d)
        yield f"{i}.up_w", std * rng.standard_normal((d, 4 * d))
        yield f"{i}.up_b", np.zeros(4 * d)
        yield f"{i}.down_w", residual_std * rng.standard_normal((4 * d, d))
        yield f"{i}.down_b", np.zeros(d)
    yield "ln_g", np.ones(d)
    yield "ln_b", np.zeros(d)


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


def resnet18_parameters(dims, rng):
    width = dims["width"]
    for name, kernel, inputs, outputs in resnet18_convolutions(width):
        yield f"{name}.w", (2 / (kernel**2 * outputs)) ** 0.5 * rng.standard_normal((kernel, kernel, inputs, outputs))
        yield f"{name}.g", np.ones(outputs)
        yield f"{name}.b", np.zeros(outputs)
    yield "head_w", (8 * width) ** -0.5 * rng.standard_normal((8 * width, dims["classes"]))
    yield "head_b", np.zeros(dims["classes"])


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


def mlp_parameters(dims, rng):
    d = dims["d"]
    for i in range(dims["L"]):
        yield f"{i}.w", (2 / d) ** 0.5 * rng.standard_normal((d, d))
        yield f"{i}.b", np.zeros(d)


def mlp_batch(dims, rng):
    shape = dims["B"], dims["d"]
    return {name: rng.standard_normal(shape).astype(np.float32) for name in ("x", "y")}


def rnn_parameters(dims, rng):
    d = dims["d"]
    yield "wx", d**-0.5 * rng.standard_normal((d, 4 * d))
    yield "wh", d**-0.5 * rng.standard_normal((d, 4 * d))
    yield "b", np.zeros(4 * d)


def rnn_batch(dims, rng):
    shape = dims["T"], dims["B"], dims["d"]
    return {"x": rng.standard_normal(shape).astype(np.float32),
            "y": np.tanh(rng.standard_normal(shape)).astype(np.float32)}


def step_flops(workload, dims):
    """FLOPs of products and convolutions in a step that recomputes nothing (attention as full T x T)."""
    B = dims["B"]
    if workload == "gpt":
        L, d, T, V = (dims[k] for k in "L d T V".split())
        return 3 * (L * (24 * B * T * d * d + 4 * B * T * T * d) + 2 * B * T * d * V)
    if workload == "mlp":
        return (3 * dims["L"] - 1) * 2 * B * dims["d"] ** 2
    if workload == "rnn":
        return 5 * dims["T"] * 2 * B * 4 * dims["d"] ** 2
    side, width = dims["image"], dims["width"]
    total = 2 * 2 * B * side * side * 9 * 3 * width
    for inputs, outputs, stride in resnet18_blocks(width):
        side //= stride
        taps = 9 * inputs + 9 * outputs + (inputs if stride != 1 else 0)
        total += 3 * 2 * B * side * side * taps * outputs
    return total + 3 * 2 * B * 8 * width * dims["classes"]
