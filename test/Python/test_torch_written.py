# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies that a PyTorch model has in `torch.utils.checkpoint(context_fn=...)`, with `policy=remat.as_written()`: what is saved is what
PyTorch's selective checkpointing stores, or less. Bits are those of the model without checkpoints."""
import functools
import logging

import pytest

import remat

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts  # noqa: E402

aten = torch.ops.aten


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        return x + torch.sin(self.second(torch.tanh(self.first(x))))


class Attention(Block):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return super().forward(x + torch.softmax(q @ k.transpose(1, 2) / 4, -1) @ v)


class Model(nn.Module):
    """Each layer under a checkpoint with the next one of the contexts; "none" is no checkpoint."""

    def __init__(self, kind, contexts):
        super().__init__()
        self.layers, self.contexts = nn.ModuleList(kind() for _ in range(3)), contexts

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            context = self.contexts[i % len(self.contexts)]
            if context == "none":
                x = layer(x)
            else:
                x = checkpoint(layer, x, use_reentrant=False, **({"context_fn": context} if context else {}))
        return x


def saving(*ops, answer=CheckpointPolicy.MUST_SAVE):
    def policy(context, op, *args, **kwargs):
        return answer if not ops or op in ops else CheckpointPolicy.PREFER_RECOMPUTE
    return functools.partial(create_selective_checkpoint_contexts, policy)


def saves_wide(context, op, *args, **kwargs):
    """By what an operator returns, as a bool."""
    return op == aten.addmm.default and context.op_output.shape[-1] == 64


LISTED = functools.partial(create_selective_checkpoint_contexts, [aten.addmm.default, aten.bmm.default])
CASES = {
    "no policy": (Block, [None]),
    "a list": (Block, [LISTED]),
    "a list, attention": (Attention, [LISTED]),
    "a function": (Attention, [saving(aten.tanh.default)]),
    "a function of results": (Attention, [functools.partial(create_selective_checkpoint_contexts, saves_wide)]),
    "the softmax": (Attention, [saving(aten._softmax.default)]),
    "offloaded": (Block, [saving(aten.tanh.default, answer=CheckpointPolicy.MUST_CPU_OFFLOAD)]),
    "another one for each layer": (Block, [None, saving(aten.tanh.default), saving(answer=CheckpointPolicy.PREFER_SAVE)]),
    "every second layer": (Attention, ["none", None]),
}


def make(kind, contexts):
    torch.manual_seed(0)
    return Model(kind, contexts), (torch.randn(4, 8, 16), torch.randn(4, 8, 16))


def train(kind, contexts, policy):
    model, batch = make(kind, contexts)
    step = remat.torch.train_step(model, nn.functional.mse_loss, batch, optimizer=remat.SGD(0.1), policy=policy)
    values = [step(*batch) for _ in range(2)]
    return step, (values, {name: array.tobytes() for name, array in step.parameters.items()})


def count_saved(kind, contexts):
    """Bytes that PyTorch keeps until the backward: outside of the checkpoints, for them (their arguments), and what their policies
    store. Weights are not counted, nor what is stored in the place of a tensor that is offloaded."""
    stored, saved = [], {}

    def watched(context_fn):
        def make_contexts():
            forward, backward = context_fn()
            stored.append(forward.storage)
            return forward, backward
        return make_contexts

    model, (x, y) = make(kind, [context if context in (None, "none") else watched(context) for context in contexts])
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()} | {x.untyped_storage().data_ptr(), y.untyped_storage().data_ptr()}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = nn.functional.mse_loss(model(x), y)
    for storage in stored:
        for entry in (entry for entries in storage.values() for entry in entries.values()):
            keep(entry.val) if hasattr(entry, "val") else None
    assert loss.requires_grad
    arguments = len(model.layers) * x.nbytes  # PyTorch holds these in closures, where no hook sees them
    return sum(tensor.untyped_storage().nbytes() for pointer, tensor in saved.items() if pointer not in own) + arguments


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_is_what_pytorch_saves_or_less(name):
    kind, contexts = CASES[name]
    step, found = train(kind, contexts, remat.as_written())
    plain, expected = train(kind, ["none"], None)
    assert found == expected
    assert step.memory.recomputed_ops > plain.memory.recomputed_ops
    assert step.memory.residuals < plain.memory.residuals
    if name != "offloaded":  # which no CPU does
        assert step.memory.residuals <= count_saved(kind, contexts)


@pytest.mark.parametrize("name, annotations", [
    ("no policy", ["{checkpoints policy=nothing_saveable}"]),
    ("a list", ["{scope=as_written-0 name=as_written-0}", '{checkpoints policy=save_only_names<"as_written-0">}']),
    ("offloaded", ["{scope=as_written-0o name=as_written-0o}", '{checkpoints policy=offload_names<"as_written-0o">}']),
    ("another one for each layer", [
        "{scope=as_written-1 name=as_written-1}", "{scope=checkpoint#0 policy=nothing_saveable}",
        '{scope=checkpoint#1 policy=save_only_names<"as_written-1">}', "{scope=checkpoint#2 policy=everything_saveable}"]),
])
def test_policies_become_those_of_the_dialect(name, annotations):
    step, _ = train(*CASES[name], remat.as_written())
    assert [one.rpartition(",")[0] for one in step.pipeline.split("remat-annotate")[1:]] == annotations


def test_a_policy_is_asked_about_what_the_dispatcher_calls():
    asked = set()

    def policy(context, op, *args, **kwargs):
        asked.add(op)
        assert not context.is_recompute and isinstance(context.op_output, torch.Tensor | tuple | list)
        return CheckpointPolicy.PREFER_RECOMPUTE

    contexts = [functools.partial(create_selective_checkpoint_contexts, policy)]
    train(Attention, contexts, remat.as_written())
    ours = set(asked)
    asked.clear()
    model, (x, _) = make(Attention, contexts)
    model(x.requires_grad_())
    assert {aten.addmm.default, aten.bmm.default, aten._softmax.default, aten.tanh.default} <= ours & asked
    asked.clear()
    train(Attention, contexts, remat.checkpoints())
    assert not asked


def test_a_context_of_another_kind_is_a_warning():
    import contextlib
    with pytest.warns(UserWarning, match="makes a nullcontext, which says nothing of what is saved"):
        step, _ = train(Block, [lambda: (contextlib.nullcontext(), contextlib.nullcontext())], remat.as_written())
    assert step.memory == train(Block, [None], remat.as_written())[0].memory


def test_a_model_without_checkpoints_is_left_as_it_is(caplog):
    with caplog.at_level(logging.WARNING, "remat"):
        step, _ = train(Block, ["none"], remat.as_written())
    assert step.memory.recomputed_ops == 0 and "the model applies no checkpoint" in caplog.text


@pytest.mark.filterwarnings("ignore")
def test_switches_of_transformers():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=2,
                                      num_key_value_heads=2, use_cache=False)
    ids = torch.randint(0, 64, (2, 16), generator=torch.Generator().manual_seed(0))

    def run(policy, **switches):
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(config).train()
        if switches:
            model.gradient_checkpointing_enable(**switches)
        step = remat.torch.train_step(model, None, {"input_ids": ids, "labels": ids}, optimizer=remat.SGD(0.1), policy=policy)
        return step, [step(input_ids=ids, labels=ids) for _ in range(2)]

    plain, expected = run(None)
    all_, second, selective, offloaded = (run(remat.as_written(), **switches) for switches in (
        {"gradient_checkpointing_kwargs": {"use_reentrant": False}}, {"every_n_layers": 2},
        {"gradient_checkpointing_kwargs": {"use_reentrant": False, "context_fn": functools.partial(
            create_selective_checkpoint_contexts, [aten.mm.default])}}, {"offload": True}))
    assert [losses for _, losses in (all_, second, selective, offloaded)] == [expected] * 4
    saved = [step.memory.residuals for step, _ in (all_, selective, second)]
    assert saved[0] < min(saved[1:]) and max(saved) < plain.memory.residuals
    assert offloaded[0].memory == all_[0].memory
    assert 0 < second[0].memory.recomputed_ops < all_[0].memory.recomputed_ops
