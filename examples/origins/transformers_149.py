# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers.jl issue 149: download a model from Hugging Face and add checkpointing.

The folder stands for a downloaded model: it is made with random weights, so that nothing is downloaded here.
"""
import sys
from pathlib import Path

import numpy as np
import remat
import remat.torch
import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "model")


def make_folder():
    torch.manual_seed(0)
    config = GPT2Config(n_layer=6, n_embd=64, n_head=4, vocab_size=256, n_positions=64, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(FOLDER)


def make_step(model, policy):
    """The three lines: every block of the model is a region, from which the backward keeps nothing but its input."""
    tokens = torch.zeros(4, 64, dtype=torch.long)
    batch = {"input_ids": tokens, "labels": tokens}
    return remat.torch.train_step(model.train(), None, batch, optimizer=remat.AdamW(1e-3), policy=policy)


def train(step):
    """Ten steps on text of one repeated sentence."""
    text = np.frombuffer(b"the quick brown fox jumps over the lazy dog, " * 6, np.uint8)[:256].reshape(4, 64)
    tokens = torch.from_numpy(text.astype(np.int64))
    return [step(input_ids=tokens, labels=tokens) for _ in range(10)]


make_folder()
model = AutoModelForCausalLM.from_pretrained(FOLDER)
plain, checkpointed = (make_step(model, policy) for policy in ("none", remat.layers()))

# GPT-2 has dropout: what is computed a second time draws the numbers of the first.
losses, same = train(plain), train(checkpointed)
assert losses == same, "the losses differ"
for name, value in plain.state_dict().items():
    assert np.array_equal(value, checkpointed.state_dict()[name]), f"{name} differs"
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, the same bits with and without checkpointing")
for what, step in (("everything saved", plain), ("every block rematerialized", checkpointed)):
    print(f"{what:26} {step.memory.residuals / 2**20:6.2f} MiB of residuals, peak {step.memory.peak / 2**20:6.2f} MiB")

checkpointed.copy_to(model)
model.save_pretrained(FOLDER)
again = AutoModelForCausalLM.from_pretrained(FOLDER)
for name, value in again.state_dict().items():
    assert torch.equal(value, model.state_dict()[name]), f"{name} was not saved"
    if name in checkpointed.parameters:
        assert np.array_equal(value.numpy(), checkpointed.parameters[name])
print(f"saved to {FOLDER.name} and read again: equal")
