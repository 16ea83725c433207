# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hugging Face's Trainer with compiled steps, beside the Trainer itself: the same losses, weights, states and files."""
import json

import numpy as np
import pytest
import torch
import transformers
from transformers import (BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, ResNetConfig,
                          ResNetForImageClassification, TrainerCallback, TrainingArguments)

import remat
from remat.integrations import RematTrainer

EXAMPLES, CLASSES = 22, 3


class Data(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def text_classifier(dropout=0.0):
    torch.manual_seed(0)
    config = BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                        max_position_embeddings=12, num_labels=CLASSES, hidden_dropout_prob=dropout, attention_probs_dropout_prob=0.0)
    return BertForSequenceClassification(config)


def texts(count=EXAMPLES):
    rng = np.random.default_rng(0)
    rows = [rng.integers(1, 40, 8) for _ in range(count)]
    return Data([{"input_ids": torch.tensor(row), "attention_mask": torch.ones(8, dtype=torch.long),
                  "labels": torch.tensor(int(row[0]) % CLASSES)} for row in rows])


def image_classifier():
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic", num_labels=CLASSES, num_channels=3)
    return ResNetForImageClassification(config)


def images(count=EXAMPLES):
    rng = np.random.default_rng(0)
    return Data([{"pixel_values": torch.tensor(rng.normal(size=(3, 16, 16)).astype("f4")), "labels": torch.tensor(i % CLASSES)}
                 for i in range(count)])


def language_model():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=16, n_head=2, vocab_size=40, n_positions=12, resid_pdrop=0.0, embd_pdrop=0.0,
                                      attn_pdrop=0.0, bos_token_id=0, eos_token_id=0))


def sentences(count=EXAMPLES):
    """Texts whose tokens are not all counted, so that micro-batches weigh differently."""
    rows = []
    for i, row in enumerate(texts(count).rows):
        labels = row["input_ids"].clone()
        labels[:i % 6] = -100
        rows.append({"input_ids": row["input_ids"], "labels": labels})
    return Data(rows)


def settings(folder, **changes):
    return TrainingArguments(output_dir=str(folder), **({
        "per_device_train_batch_size": 4, "num_train_epochs": 2, "learning_rate": 1e-2, "weight_decay": 0.1, "warmup_steps": 2,
        "adam_epsilon": 1e-3, "lr_scheduler_type": "cosine", "logging_steps": 1, "save_strategy": "no", "report_to": [], "use_cpu": True, "seed": 3,
        "disable_tqdm": True} | changes))


def train(kind, folder, model, data, resume=None, ours=None, **changes):
    trainer = kind(model=model, args=settings(folder, **changes), train_dataset=data, eval_dataset=data, **(ours or {}))
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def logs(trainer, key):
    return [entry[key] for entry in trainer.state.log_history if key in entry]


def assert_same_run(ours, theirs, tolerance=2e-4):
    for key in ("loss", "grad_norm", "learning_rate", "eval_loss"):
        assert len(logs(ours, key)) == len(logs(theirs, key))
        np.testing.assert_allclose(logs(ours, key), logs(theirs, key), rtol=tolerance, atol=tolerance, err_msg=key)
    expected = theirs.model.state_dict()
    assert ours.model.state_dict().keys() == expected.keys()
    for name, value in ours.model.state_dict().items():
        np.testing.assert_allclose(value.numpy(), expected[name].numpy(), rtol=tolerance, atol=tolerance, err_msg=name)


def test_a_text_classifier_trains_as_with_the_trainer(tmp_path):
    # 22 examples in batches of 4: the last one of an epoch is smaller.
    ours, theirs = (train(kind, tmp_path, text_classifier(), texts(), eval_strategy="epoch") for kind in (RematTrainer, transformers.Trainer))
    assert len(logs(ours, "loss")) == 12 and len(logs(ours, "eval_loss")) == 2
    assert logs(ours, "loss")[-1] < logs(ours, "loss")[0]
    assert_same_run(ours, theirs)


def test_an_image_classifier_keeps_its_statistics(tmp_path):
    ours, theirs = (train(kind, tmp_path, image_classifier(), images(), eval_strategy="epoch", max_grad_norm=0.0)
                    for kind in (RematTrainer, transformers.Trainer))
    assert any("num_batches_tracked" in name and value == 12 for name, value in ours.model.state_dict().items())
    assert_same_run(ours, theirs, 2e-3)


@pytest.mark.parametrize("make, data", [(language_model, sentences), (text_classifier, texts)])
def test_micro_batches_and_the_rest_of_an_epoch(tmp_path, make, data):
    # 20 examples: five micro-batches, so that a step of two, of two and of one. A language model divides by the tokens of all.
    ours, theirs = (train(kind, tmp_path, make(), data(20), gradient_accumulation_steps=2) for kind in (RematTrainer, transformers.Trainer))
    assert len(logs(ours, "loss")) == 6
    assert_same_run(ours, theirs)


def test_micro_batches_of_several_sizes_are_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"micro-batches of one step must have the same shapes.*input_ids: \[4, 8\].*\[2, 8\].*drop"):
        train(RematTrainer, tmp_path, text_classifier(), texts(), gradient_accumulation_steps=6)


def test_losses_of_ones_own_and_label_smoothing_are_the_trainers(tmp_path):
    ours, theirs = (train(kind, tmp_path, text_classifier(), texts(8), label_smoothing_factor=0.2) for kind in (RematTrainer, transformers.Trainer))
    assert_same_run(ours, theirs)

    def squares(outputs, labels, num_items_in_batch=None):
        return ((outputs.logits - torch.nn.functional.one_hot(labels, CLASSES))**2).sum() / num_items_in_batch

    ours, theirs = (train(kind, tmp_path, text_classifier(), texts(16), gradient_accumulation_steps=2, ours={"compute_loss_func": squares})
                    for kind in (RematTrainer, transformers.Trainer))
    assert_same_run(ours, theirs)


def test_policies_change_no_bit_and_switches_of_the_model_count(tmp_path):
    residuals = []

    class Look(TrainerCallback):
        def on_step_end(self, *_, **__):
            residuals.append(trainer.step.memory.residuals)

    runs = []
    for ours, changes in (({}, {}), ({"policy": remat.layers()}, {}), ({}, {"gradient_checkpointing": True})):
        trainer = RematTrainer(model=text_classifier(dropout=0.1), args=settings(tmp_path, max_steps=4, **changes), train_dataset=texts(),
                               callbacks=[Look()], **ours)
        trainer.train()
        runs.append((logs(trainer, "loss"), {name: value.numpy().tobytes() for name, value in trainer.model.state_dict().items()}))
    assert runs[0] == runs[1] == runs[2]
    none, layers, written = residuals[0], residuals[4], residuals[8]
    assert layers < none and written < none


@pytest.mark.parametrize("resumed_by", [RematTrainer, transformers.Trainer])
@pytest.mark.parametrize("saved_by", [RematTrainer, transformers.Trainer])
def test_checkpoints_go_on_in_either(tmp_path, saved_by, resumed_by):
    changes = {"save_strategy": "steps", "save_steps": 5, "num_train_epochs": 2}
    whole = train(transformers.Trainer, tmp_path / "whole", text_classifier(), texts(), **changes)
    train(saved_by, tmp_path / "part", text_classifier(), texts(), **changes)
    folder = tmp_path / "part" / "checkpoint-5"
    again = train(resumed_by, tmp_path / "part", text_classifier(), texts(), resume=str(folder), **changes)
    np.testing.assert_allclose(logs(again, "loss"), logs(whole, "loss"), rtol=2e-4, atol=2e-4)
    for name, value in again.model.state_dict().items():
        np.testing.assert_allclose(value.numpy(), whole.model.state_dict()[name].numpy(), rtol=5e-4, atol=5e-4, err_msg=name)


def test_a_run_that_is_resumed_has_the_bits_of_one_that_was_not(tmp_path):
    # Dropout: its generator is in the checkpoint, too.
    changes = {"save_strategy": "steps", "save_steps": 5}
    whole = train(RematTrainer, tmp_path, text_classifier(dropout=0.2), texts(), **changes)
    again = train(RematTrainer, tmp_path, text_classifier(dropout=0.2), texts(), resume=str(tmp_path / "checkpoint-5"), **changes)
    assert logs(again, "loss") == logs(whole, "loss")
    for name, value in again.model.state_dict().items():
        assert torch.equal(value, whole.model.state_dict()[name]), name


def test_callbacks_see_the_weights_of_each_step(tmp_path):
    seen = []

    class Look(TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **_):
            weight = model.classifier.weight
            seen.append((weight.detach().clone(), trainer.step.parameters["classifier.weight"].copy(),
                         weight.data_ptr() == trainer.step.parameters["classifier.weight"].__array_interface__["data"][0]))

    trainer = RematTrainer(model=text_classifier(), args=settings(tmp_path, max_steps=3), train_dataset=texts(), callbacks=[Look()])
    trainer.train()
    assert all(is_shared and np.array_equal(own.numpy(), step) for own, step, is_shared in seen)
    assert not torch.equal(seen[0][0], seen[1][0])
    assert trainer.step is None and torch.equal(trainer.model.classifier.weight, seen[2][0])
    # A second call goes on, with the optimizer's states.
    trainer.args.max_steps = 5
    trainer.train()
    assert all(value["step"] == 3 + 5 for value in trainer.optimizer.state.values())


def test_a_rule_of_fewer_bytes_at_the_trainers_rate(tmp_path):
    states = {}

    class Look(TrainerCallback):
        def on_step_end(self, *_, **__):
            states.update({a.name: a.type for a in trainer.step.arguments if a.role == "optimizer"})

    rule = remat.AdamW(1.0, weight_decay=0.0, states="bf16")
    trainer = RematTrainer(model=text_classifier(), args=settings(tmp_path, save_strategy="steps", save_steps=6), train_dataset=texts(),
                           callbacks=[Look()], step_arguments={"optimizer": rule})
    trainer.train()
    assert logs(trainer, "loss")[-1] < logs(trainer, "loss")[0] < 5  # at a rate of 1 it would be far away
    assert "bf16" in states.values() or set(states.values()) == {"f32"}  # small parameters have states of f32
    again = train(RematTrainer, tmp_path, text_classifier(), texts(), resume=str(tmp_path / "checkpoint-6"),
                  ours={"step_arguments": {"optimizer": rule}}, save_strategy="no")
    assert logs(again, "loss") == logs(trainer, "loss")


def test_the_best_model_is_loaded_at_the_end(tmp_path):
    trainer = train(RematTrainer, tmp_path, text_classifier(), texts(), eval_strategy="epoch", save_strategy="epoch",
                    load_best_model_at_end=True, num_train_epochs=3)
    best = min(logs(trainer, "eval_loss"))
    assert trainer.evaluate()["eval_loss"] == pytest.approx(best, rel=1e-5)
    state = json.loads((next(tmp_path.glob("checkpoint-*")) / "trainer_state.json").read_text())
    assert state["log_history"]


@pytest.mark.parametrize("changes, message", [({"torch_compile": True}, "torch_compile=True"), ({"fp16": True}, "fp16=True")])
def test_what_it_does_not_do_is_an_error(tmp_path, changes, message):
    trainer = RematTrainer(model=text_classifier(), args=settings(tmp_path), train_dataset=texts())
    for name, value in changes.items():
        setattr(trainer.args, name, value)
    with pytest.raises(ValueError, match=message):
        trainer.train()


def test_bf16_is_the_autocast_of_the_trainer(tmp_path):
    ours, theirs = (train(kind, tmp_path, text_classifier(), texts(8), bf16=True) for kind in (RematTrainer, transformers.Trainer))
    np.testing.assert_allclose(logs(ours, "loss"), logs(theirs, "loss"), rtol=3e-2)


