# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lightning with compiled steps, beside Lightning itself: the same losses, logs, weights and checkpoints."""
import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

import remat
from remat.integrations import RematStrategy

CLASSES, EXAMPLES = 3, 22


def classify(logits, labels):
    return torch.nn.functional.cross_entropy(logits, labels), (logits.argmax(-1) == labels).float().mean()


class ImageClassifier(lightning.LightningModule):
    def __init__(self, dropout=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, stride=2),
            torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Dropout(dropout),
            torch.nn.Linear(8, CLASSES))

    def training_step(self, batch, batch_idx):
        loss, accuracy = classify(self.layers(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        self.log_dict({"accuracy": accuracy, "one": 1.0}, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", classify(self.layers(batch[0]), batch[1])[0])

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5), "interval": "step"}}


class TextClassifier(lightning.LightningModule):
    """Takes dictionaries, returns a dictionary, and its training_step has no index."""

    def __init__(self, dropout=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(40, 16)
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(16, 2, 24, dropout, batch_first=True) for _ in range(2))
        self.head = torch.nn.Linear(16, CLASSES)

    def compute(self, tokens):
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden.mean(1))

    def training_step(self, batch):
        loss, accuracy = classify(self.compute(batch["text"]["tokens"]), batch["label"])
        self.log("loss", loss)
        return {"loss": loss, "accuracy": accuracy}

    def validation_step(self, batch):
        self.log("val_loss", classify(self.compute(batch["text"]["tokens"]), batch["label"])[0])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2, eps=1e-3)  # a bias of keys has gradients that are rounding errors


def images(count=EXAMPLES):
    rng = np.random.default_rng(0)
    return [(torch.tensor(rng.normal(size=(3, 10, 10)).astype("f4")), torch.tensor(i % CLASSES)) for i in range(count)]


def texts(count=EXAMPLES):
    rows = [np.random.default_rng(i).integers(1, 40, 6) for i in range(count)]
    return [{"text": {"tokens": torch.tensor(row)}, "label": torch.tensor(int(row[0]) % CLASSES)} for row in rows]


class Record(Callback):
    def __init__(self):
        self.metrics, self.outputs, self.seen = [], [], []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.metrics.append({name: float(value) for name, value in trainer.callback_metrics.items() if "val" not in name})
        self.outputs.append({name: float(value) for name, value in outputs.items()})
        step = getattr(trainer.strategy, "step", None)
        if step is not None:
            self.seen.append((step.memory.residuals, all(np.array_equal(module.get_parameter(name).detach().numpy(), value)
                                                         for name, value in step.parameters.items())))


def fit(module, data, folder, strategy=None, resume=None, callbacks=(), **changes):
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    record = Record()
    trainer = lightning.Trainer(**({"default_root_dir": folder, "max_epochs": 2, "logger": False, "enable_progress_bar": False,
                                    "enable_model_summary": False, "accelerator": "cpu", "devices": 1, "log_every_n_steps": 1,
                                    "enable_checkpointing": bool(callbacks), "strategy": strategy or "auto",
                                    "callbacks": [record, *callbacks]} | changes))
    trainer.fit(module, loader, loader, ckpt_path=resume)
    return trainer, record


def assert_same(ours, theirs, tolerance=1e-3):
    (trainer, record), (expected, expected_record) = ours, theirs
    assert len(record.metrics) == len(expected_record.metrics) and trainer.global_step == expected.global_step
    for own, other in zip(record.metrics, expected_record.metrics):
        assert own.keys() == other.keys()
        for name in own:
            assert own[name] == pytest.approx(other[name], rel=tolerance, abs=tolerance), name
    assert float(trainer.callback_metrics["val_loss"]) == pytest.approx(float(expected.callback_metrics["val_loss"]), rel=tolerance)
    state = expected.lightning_module.state_dict()
    for name, value in trainer.lightning_module.state_dict().items():
        np.testing.assert_allclose(value.numpy(), state[name].numpy(), rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("make, data", [(ImageClassifier, images), (TextClassifier, texts)])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_classifiers_train_as_with_lightning(tmp_path, make, data, clip):
    # 22 examples in batches of 4: the last one of an epoch is smaller.
    ours, theirs = (fit(make(), data(), tmp_path, strategy, gradient_clip_val=clip) for strategy in (RematStrategy(), None))
    assert len(ours[1].metrics) == 12 and ours[1].metrics[-1]["loss"] < ours[1].metrics[0]["loss"]
    assert all(own.keys() == other.keys() for own, other in zip(ours[1].outputs, theirs[1].outputs))
    assert all(is_same for _, is_same in ours[1].seen) and len(ours[1].seen) == 12
    assert_same(ours, theirs)


def test_micro_batches_and_the_rest_of_an_epoch(tmp_path):
    # Five micro-batches: steps of two, of two and of one. What they log is known with the last one of a step.
    ours, theirs = (fit(TextClassifier(), texts(20), tmp_path, strategy, accumulate_grad_batches=2) for strategy in (RematStrategy(), None))
    assert ours[0].global_step == theirs[0].global_step == 6
    for name, value in ours[0].lightning_module.state_dict().items():
        np.testing.assert_allclose(value.numpy(), theirs[0].lightning_module.state_dict()[name].numpy(), rtol=1e-3, atol=1e-3, err_msg=name)
    # Lightning divides by two in the last step, too.
    assert [np.isnan(output["loss"]) for output in ours[1].outputs[:5]] == [True, False, True, False, False]


def test_policies_change_no_bit(tmp_path):
    runs = [fit(TextClassifier(dropout=0.1), texts(), tmp_path, RematStrategy(policy=policy)) for policy in (None, remat.layers())]
    (trainer, record), (layers, layers_record) = runs
    assert record.metrics == layers_record.metrics and layers_record.seen[0][0] < record.seen[0][0]
    for name, value in trainer.lightning_module.state_dict().items():
        assert torch.equal(value, layers.lightning_module.state_dict()[name]), name


@pytest.mark.parametrize("resumed", [True, False])
@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("make, data", [(ImageClassifier, images), (TextClassifier, texts)])
def test_checkpoints_go_on_with_and_without(tmp_path, make, data, saved, resumed):
    checkpoint = ModelCheckpoint(tmp_path, filename="first", every_n_epochs=1, save_top_k=-1)
    fit(make(), data(), tmp_path, RematStrategy() if saved else None, callbacks=[checkpoint], max_epochs=1)
    whole = fit(make(), data(), tmp_path)
    again = fit(make(), data(), tmp_path, RematStrategy() if resumed else None, resume=tmp_path / "first.ckpt")
    assert len(again[1].metrics) == 6
    # Means over the first epoch are only in the run that was not interrupted.
    whole[1].metrics[:] = [{name: metrics[name] for name in own} for own, metrics in zip(again[1].metrics, whole[1].metrics[6:])]
    assert_same(again, whole, 5e-3)


def test_a_run_that_is_resumed_has_the_bits_of_one_that_was_not(tmp_path):
    checkpoint = ModelCheckpoint(tmp_path, filename="first", every_n_epochs=1, save_top_k=-1)
    fit(ImageClassifier(0.3), images(), tmp_path, RematStrategy(), callbacks=[checkpoint], max_epochs=1)
    whole = fit(ImageClassifier(0.3), images(), tmp_path, RematStrategy())
    again = fit(ImageClassifier(0.3), images(), tmp_path, RematStrategy(), resume=tmp_path / "first.ckpt")
    assert [m["loss"] for m in again[1].metrics] == [m["loss"] for m in whole[1].metrics[6:]]
    for name, value in again[0].lightning_module.state_dict().items():
        assert torch.equal(value, whole[0].lightning_module.state_dict()[name]), name


def test_a_rule_of_remat_at_the_modules_rate(tmp_path):
    trainer, record = fit(TextClassifier(), texts(), tmp_path, RematStrategy(optimizer=remat.Lion(1.0, weight_decay=0.0)), max_epochs=1)
    assert record.metrics[-1]["loss"] < 3  # at a rate of 1 it would be far away


def test_another_number_of_micro_batches_in_a_later_epoch_is_an_error(tmp_path):
    schedule = lightning.pytorch.callbacks.GradientAccumulationScheduler({0: 1, 1: 2})
    with pytest.raises(ValueError, match="accumulate_grad_batches was 1 when the step was compiled, and is 2 now"):
        fit(TextClassifier(), texts(8), tmp_path, RematStrategy(), callbacks=[schedule], enable_checkpointing=False)


class ReadsIndex(TextClassifier):
    def training_step(self, batch, batch_idx):
        return super().training_step(batch) if batch_idx % 2 else None


class LogsMetrics(TextClassifier):
    def training_step(self, batch):
        self.log("name", "text")
        return super().training_step(batch)


class ClipsGradients(TextClassifier):
    def configure_gradient_clipping(self, *args, **kwargs):
        pass


class IsManual(TextClassifier):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False


@pytest.mark.parametrize("make, error, message, changes", [
    (ReadsIndex, remat.ExportError, "training_step reads batch_idx, but is compiled once", {}),
    (LogsMetrics, remat.ExportError, "training_step logs 'name', which is str", {}),
    (ClipsGradients, ValueError, "ClipsGradients has configure_gradient_clipping", {}),
    (IsManual, ValueError, "automatic_optimization", {}),
    (TextClassifier, ValueError, "clip_value=", {"gradient_clip_val": 1.0, "gradient_clip_algorithm": "value"})])
def test_what_it_does_not_do_is_an_error(tmp_path, make, error, message, changes):
    with pytest.raises(error, match=message):
        fit(make(), texts(), tmp_path, RematStrategy(), **changes)
