# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads in PyTorch (NCHW images), eager or with the loss under torch.compile, optionally with the optimizer in
the backward pass."""
import time
from functools import cache, partial

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import workloads

aten = torch.ops.aten
DOTS = [aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default, aten.convolution.default]


def remat(policy):
    if policy == "none":
        return lambda block: block
    options = {"full": {}, "dots": {"context_fn": partial(create_selective_checkpoint_contexts, DOTS)}}[policy]
    return lambda block: partial(checkpoint, block, use_reentrant=False, preserve_rng_state=False, **options)


def loss_head(x, weight, targets, pieces):
    """Cross entropy of a projection to the vocabulary; in `pieces` of rows by PyTorch's own operator, which computes gradients in
    the forward."""
    if pieces:
        return F.linear_cross_entropy(x.flatten(0, 1), weight, targets.flatten(), options=torch.nn.LinearCrossEntropyOptions())
    return F.cross_entropy(F.linear(x, weight).flatten(0, 1), targets.flatten())


def gpt(params, batch, dims, policy, flash=False, pieces=False):
    heads, d, T = dims["heads"], dims["d"], dims["T"]
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)

    def attention(q, k, v):
        if flash:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q * (d // heads) ** -0.5) @ k.transpose(-1, -2)
        return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v

    def block(p, x):
        B = x.shape[0]
        h = F.layer_norm(x, (d,), p["ln1_g"], p["ln1_b"])
        q, k, v = (F.linear(h, p[f"{n}_w"].t(), p[f"{n}_b"]).view(B, T, heads, d // heads).transpose(1, 2) for n in "qkv")
        h = attention(q, k, v)
        x = x + F.linear(h.transpose(1, 2).reshape(B, T, d), p["proj_w"].t(), p["proj_b"])
        h = F.linear(F.layer_norm(x, (d,), p["ln2_g"], p["ln2_b"]), p["up_w"].t(), p["up_b"])
        return x + F.linear(F.gelu(h), p["down_w"].t(), p["down_b"])

    block = remat(policy)(block)
    x = F.embedding(batch["tokens"], params["tok"]) + params["pos"]
    for i in range(dims["L"]):
        x = block(workloads.within(params, str(i)), x)
    return loss_head(F.layer_norm(x, (d,), params["ln_g"], params["ln_b"]), params["tok"], batch["targets"], pieces), {}


def batch_norm(x, gain, bias):
    y, mean, inverse = torch.native_batch_norm(x, gain, bias, None, None, True, 0.1, 1e-5)
    n = x.numel() // x.shape[1]
    return y, (mean.detach(), (inverse.detach() ** -2 - 1e-5) * (n / (n - 1)))


def resnet18(params, batch, dims, policy):
    def conv_norm(p, i, x, stride=1):
        w = p[f"{i}.w"]
        return batch_norm(F.conv2d(x, w, stride=stride, padding=w.shape[-1] // 2), p[f"{i}.g"], p[f"{i}.b"])

    def stem(p, x):
        x, s = conv_norm(p, 1, x)
        return F.relu(x), [s]

    def block(p, x):
        stride = 2 if "3.w" in p else 1
        h, s1 = conv_norm(p, 1, x, stride)
        h, s2 = conv_norm(p, 2, F.relu(h))
        if stride == 1:
            return F.relu(h + x), [s1, s2]
        x, s3 = conv_norm(p, 3, x, stride)
        return F.relu(h + x), [s1, s2, s3]

    x, stats = remat(policy)(stem)(workloads.within(params, "stem"), batch["images"])
    for i in range(8):
        x, s = remat(policy)(block)(workloads.within(params, str(i)), x)
        stats = stats + s
    states = workloads.resnet18_named_states(stats, dims)
    logits = F.linear(x.mean((2, 3)), params["head_w"].t(), params["head_b"])
    return F.cross_entropy(logits, batch["labels"]), states


def mlp(params, batch, dims, policy):
    hidden = remat(policy)(lambda w, b, x: F.relu(F.linear(x, w.t(), b)))
    x, last = batch["x"], dims["L"] - 1
    for i in range(last):
        x = hidden(params[f"{i}.w"], params[f"{i}.b"], x)
    return F.mse_loss(F.linear(x, params[f"{last}.w"].t(), params[f"{last}.b"]), batch["y"]), {}


def lstm_cell(p, h, c, x):
    i, f, g, o = torch.addmm(torch.addmm(p["b"], x, p["wx"]), h, p["wh"]).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@cache
def compiled_cell(policy):
    return torch.compile(remat(policy)(lstm_cell), fullgraph=True, dynamic=False)


def rnn(params, batch, dims, policy, compiled=False):
    cell = compiled_cell(policy) if compiled else remat(policy)(lstm_cell)
    h = c = torch.zeros_like(batch["x"][0])
    hs = []
    for x in batch["x"]:
        h, c = cell(params, h, c, x)
        hs.append(h)
    return F.mse_loss(torch.stack(hs), batch["y"]), {}


def rotate(x, cos, sin):
    """`x` is (batch, head, position, channel)."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def llama(params, batch, dims, policy, flash=False, pieces=False):
    heads, shared, d, T = (dims[k] for k in ("heads", "shared", "d", "T"))
    head = d // heads
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    # Like workloads.rotations, of which torch.compile can make nothing on a GPU.
    exponents = torch.arange(head // 2, dtype=torch.float64) / (head // 2)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * 10000.0**-exponents
    cos, sin = angles.cos().to(params["norm"].dtype), angles.sin().to(params["norm"].dtype)

    def attention(q, k, v):
        k, v = (t.repeat_interleave(shared, 1) for t in (k, v))
        if flash:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q * head**-0.5) @ k.transpose(-1, -2)
        return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v

    def block(p, x):
        B = x.shape[0]
        h = F.rms_norm(x, (d,), p["norm1"], 1e-5)
        q, k, v = ((h @ p[n]).view(B, T, -1, head).transpose(1, 2) for n in "qkv")
        h = attention(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = x + h.transpose(1, 2).reshape(B, T, d) @ p["o"]
        h = F.rms_norm(x, (d,), p["norm2"], 1e-5)
        return x + (F.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]

    block = remat(policy)(block)
    x = F.embedding(batch["tokens"], params["tok"])
    for i in range(dims["L"]):
        x = block(workloads.within(params, str(i)), x)
    return loss_head(F.rms_norm(x, (d,), params["norm"], 1e-5), params["head"].t(), batch["targets"], pieces), {}


def convnext(params, batch, dims, policy):
    """As in `torchvision`: norms and products on channels last."""
    def norm(p, x):
        return F.layer_norm(x, x.shape[-1:], p["norm_g"], p["norm_b"])

    def patches(p, x):
        w = p["down_w"]
        return F.conv2d(x, w, p["down_b"], stride=w.shape[-1])

    def block(p, x):
        h = F.conv2d(x, p["depth_w"], p["depth_b"], padding=3, groups=x.shape[1])
        h = F.gelu(F.linear(norm(p, h.permute(0, 2, 3, 1)), p["up_w"].t(), p["up_b"]))
        h = p["scale"] * F.linear(h, p["down_w"].t(), p["down_b"])
        return x + h.permute(0, 3, 1, 2)

    block = remat(policy)(block)
    channels_first = lambda x: x.permute(0, 3, 1, 2)
    x = batch["images"]
    for i, (*_, blocks) in enumerate(workloads.convnext_stages(dims)):
        p = workloads.within(params, str(i))
        if i == 0:
            x = channels_first(norm(p, patches(p, x).permute(0, 2, 3, 1)))
        else:
            x = patches(p, channels_first(norm(p, x.permute(0, 2, 3, 1))))
        for j in range(blocks):
            x = block(workloads.within(p, str(j)), x)
    logits = F.linear(norm(params, x.mean((2, 3))), params["head_w"].t(), params["head_b"])
    return F.cross_entropy(logits, batch["labels"]), {}


def optimizer_for(workload, params):
    """The fused CPU optimizer, its state allocated now instead of in the first step."""
    kind, options = workloads.OPTIMIZERS[workload]
    optimizer = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[kind](params, **options, fused=True)
    for p in params:
        p.grad = torch.zeros_like(p)
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    optimizer.param_groups[0]["lr"] = options["lr"]
    optimizer.zero_grad()
    for state in optimizer.state.values():
        for value in state.values():
            if torch.is_tensor(value):
                value.zero_()
    return optimizer


def to_torch(array, images):
    array = array.transpose(3, 2, 0, 1) if images == "weight" else array.transpose(0, 3, 1, 2) if images else array
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor if tensor.is_floating_point() else tensor.long()


def compute_in_bf16(loss):
    """Parameters are f32, and the model takes them rounded."""
    return lambda params, *rest, **options: loss({k: v.bfloat16() for k, v in params.items()}, *rest, **options)


def build(workload, dims, policy, eager=False, compiled=False, flash=False, pieces=False, device="cpu", precision="f32"):
    """Returns a function that runs one step and returns the loss, and what is known before the first step."""
    torch.set_default_device(device)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    params = {k: to_torch(v, "weight" if v.ndim == 4 else None).to(device).requires_grad_()
              for k, v in workloads.draw_parameters(workload, dims)}
    batch = {k: to_torch(v, v.ndim == 4).to(device) for k, v in workloads.batch(workload, dims).items()}
    running = {k: torch.from_numpy(v).to(device) for k, v in workloads.states(workload, dims).items()}
    loss_of = globals()[workload]
    if precision == "bf16":
        loss_of = compute_in_bf16(loss_of)
    if flash or pieces:
        loss_of = partial(loss_of, flash=flash, pieces=pieces)
    if compiled:
        # The whole loop of the rnn as one graph takes minutes to compile.
        loss_of = partial(rnn, compiled=True) if workload == "rnn" else torch.compile(loss_of, fullgraph=True, dynamic=False)
    if eager:
        optimizers = {p: optimizer_for(workload, [p]) for p in params.values()}

        def update(p):
            optimizers[p].step()
            p.grad = None

        for p in params.values():
            p.register_post_accumulate_grad_hook(update)
    else:
        optimizer = optimizer_for(workload, list(params.values()))

    def step():
        loss, stats = loss_of(params, batch, dims, policy)
        loss.backward()
        if not eager:
            optimizer.step()
            optimizer.zero_grad()
        for name, old in running.items():
            old.lerp_(stats[name], 0.1)
        return loss.item()

    facts = {}
    if compiled:
        start = time.perf_counter()
        facts["first_loss"] = step()
        facts["compile_s"] = time.perf_counter() - start
    return step, facts


def peak_bytes(step, device="cpu"):
    """Runs one step, on the CPU under the profiler: the peak of its allocated bytes above the start."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        return torch.cuda.max_memory_allocated() - before
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    level = peak = 0
    for event in sorted(profile.profiler.kineto_results.events(), key=lambda e: e.start_ns()):
        if event.name() == "[memory]":
            level += event.nbytes()
            peak = max(peak, level)
    return peak
