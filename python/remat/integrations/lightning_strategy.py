# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lightning with compiled steps: a strategy, as those for several devices are."""
import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from lightning.pytorch.core import LightningModule
from lightning.pytorch.strategies import SingleDeviceStrategy
from lightning.pytorch.utilities.model_helpers import is_overridden
from torch.utils import _pytree as pytree

from remat.integrations.shared import Batch, SharedStep

STATE = "remat"  # in a checkpoint, what has no place in Lightning's own entries
LOGGED = "log: "  # results of a step that `self.log` was called with


class _NoIndex:
    """The index of a batch: a step is compiled once, for all of them."""

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("training_step reads batch_idx, but is compiled once for all batches: do what depends on it in "
                        "on_train_batch_start or on_train_batch_end")

    __index__ = __int__ = __bool__ = __mod__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = _refuse
    __floordiv__ = __truediv__ = __format__ = __str__ = __hash__ = _refuse


class RematStrategy(SingleDeviceStrategy):
    """Trains a `LightningModule` by compiled steps of its `training_step`, on one device. Loops, schedules, logs, checkpoints,
    callbacks and evaluation are Lightning's own; its checkpoints may go on with or without this strategy.

    - `device`: "cpu", or "cuda".
    - `policy`, `budget`, and further arguments: those of `remat.torch.train_step`. An `optimizer` of remat's takes the place of
      the one of `configure_optimizers`, at its learning rate.

    What `training_step` gives to `self.log` are results of the step, and logged after it. `gradient_clip_val` limits the norm of
    all gradients. Gradients are in the step alone: hooks and callbacks find none. `training_step` is traced once, so what it reads
    of the loop (`self.global_step`, `self.current_epoch`) stays as it was then. `strategy.step` is the compiled step.
    """

    def __init__(self, device: Any = "cpu", *, accelerator: Any = None, checkpoint_io: Any = None, precision_plugin: Any = None,
                 **arguments: Any):
        super().__init__(device, accelerator, checkpoint_io, precision_plugin)
        self.arguments = arguments
        self._shared: SharedStep | None = None
        self._waiting: list[Batch] = []
        self._is_last = False  # micro-batch of a step
        self._structure: Any = None
        self._constants: dict[int, Any] = {}
        self._count, self._accumulate = 1, 1  # micro-batches of this step, and of all but the last of an epoch
        self._calls: list[tuple[str, dict[str, Any]]] = []
        self._own_state: Mapping[str, Any] | None = None

    @property
    def step(self) -> Any:
        return self._shared and self._shared.step

    def setup(self, trainer: Any) -> None:
        super().setup(trainer)
        if trainer.training:
            self._check_module(self.lightning_module)

    def _check_module(self, module: Any) -> None:
        """Raises an error for what a compiled step cannot do, or would do otherwise."""
        if not module.automatic_optimization or len(self.optimizers) != 1:
            raise ValueError("RematStrategy trains with one optimizer and automatic_optimization; use remat.torch.train_step, once for "
                             "each optimizer, for other loops")
        hooks = [name for name in ("backward", "configure_gradient_clipping", "on_before_backward", "on_after_backward")
                 if is_overridden(name, module, LightningModule)]
        if hooks:
            raise ValueError(f"{type(module).__name__} has {', '.join(hooks)}, but a compiled step has no backward of its own and shows "
                             "no gradients")
        if getattr(self.precision_plugin, "scaler", None) is not None:
            raise ValueError("losses are not scaled: use precision='bf16-mixed' instead of '16-mixed'")
        if module.trainer.gradient_clip_algorithm == "value":
            raise ValueError("gradient_clip_algorithm='value' is clip_value= of an optimizer of remat's: "
                             "RematStrategy(optimizer=remat.AdamW(3e-4, clip_value=0.5))")

    def _compile(self, module: Any, example: Batch) -> SharedStep:
        clip = module.trainer.gradient_clip_val or None
        arguments = {"clip_global_norm": clip, "target": self.root_device.type} | self.arguments
        shared = SharedStep(module, self.optimizers[0], self._compute_loss, example, self._count, **arguments)
        if self._own_state is not None:
            shared.load_own_state(self._own_state)
            self._own_state = None
        return shared

    @contextlib.contextmanager
    def _catch_logs(self, module: Any, results: dict[str, Any]) -> Iterator[None]:
        """Puts what `self.log` is called with in `results`, to be logged after the step that computes it."""
        signature = inspect.signature(type(module).log)
        self._calls = []

        def log(*args: Any, **kwargs: Any) -> None:
            call = signature.bind(module, *args, **kwargs).arguments
            del call["self"]
            name, value = call.pop("name"), call.pop("value")
            if not isinstance(value, (torch.Tensor, int, float)):
                raise TypeError(f"training_step logs {name!r}, which is {type(value).__name__}; log a tensor or a number, and update "
                                "metrics in on_train_batch_end")
            results[LOGGED + name] = torch.as_tensor(value).detach().float()
            self._calls.append((name, call | call.pop("kwargs", {})))

        module.__dict__["log"] = log  # before the method of the class
        try:
            yield
        finally:
            del module.__dict__["log"]

    def _compute_loss(self, module: Any, **tensors: Any) -> dict[str, Any]:
        """Returns what is compiled: `training_step`, with its results and logs as results."""
        leaves = self._constants | {int(name[1:]): tensor for name, tensor in tensors.items()}
        batch = pytree.tree_unflatten([leaves[i] for i in range(len(leaves))], self._structure)
        takes_index = len(inspect.signature(module.training_step).parameters) > 1
        results: dict[str, Any] = {}
        with self._catch_logs(module, results), self.precision_plugin.train_step_context():
            output = module.training_step(batch, *([_NoIndex()] if takes_index else []))
        if output is None:
            raise TypeError("training_step returned None; a compiled step has a loss for each batch")
        result = dict(output) if isinstance(output, Mapping) else {"loss": output}
        if self._count != self._accumulate:  # Lightning divides by the same number in each step
            result["loss"] = result["loss"] * (self._count / self._accumulate)
        return result | results

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a step with the last micro-batch of it, and returns its loss and results; NaN for those before, which wait."""
        module: Any = self.lightning_module
        leaves, structure = pytree.tree_flatten(args[0])
        self._waiting.append({f"b{i}": leaf for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)})
        constants = {i: leaf for i, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)}
        if not self._is_last:
            return torch.tensor(torch.nan, device=self.root_device)
        micro_batches, self._waiting = self._waiting, []
        self._count, accumulate = len(micro_batches), module.trainer.accumulate_grad_batches
        if self._shared is None:
            self._structure, self._constants, self._accumulate = structure, constants, accumulate
            self._shared = self._compile(module, micro_batches[0])
        elif accumulate != self._accumulate:
            raise ValueError(f"accumulate_grad_batches was {self._accumulate} when the step was compiled, and is {accumulate} now")
        elif structure != self._structure or constants != self._constants:
            raise ValueError("what is not a tensor must be the same in each batch, since training_step is compiled once")
        loss, results = self._shared.run(micro_batches)
        values = {name: torch.as_tensor(value, device=self.root_device) for name, value in results.items()}
        for name, options in self._calls:
            module.log(name, values.pop(LOGGED + name), **options)
        return {"loss": torch.tensor(loss, device=self.root_device)} | values

    def optimizer_step(self, optimizer: Any, closure: Any, model: Any = None, **kwargs: Any) -> Any:
        """Lightning asks for it with the last micro-batch. PyTorch's optimizer finds no gradients, and does nothing."""
        self._is_last = True
        try:
            return super().optimizer_step(optimizer, closure, model, **kwargs)
        finally:
            self._is_last = False

    def backward(self, closure_loss: Any, *args: Any, **kwargs: Any) -> Any:
        """The step has done it."""
        return closure_loss

    # Checkpoints: the optimizer's states as PyTorch has them, and what is the step's own.

    def optimizer_state(self, optimizer: Any) -> dict[str, Any]:
        if self._shared is not None:
            self._shared.publish()
        state: dict[str, Any] = super().optimizer_state(optimizer)
        return state

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        if self._shared is not None:
            checkpoint[STATE] = self._shared.own_state()
        super().save_checkpoint(checkpoint, filepath, storage_options)

    def load_checkpoint(self, checkpoint_path: Any, weights_only: Any = None) -> dict[str, Any]:
        checkpoint: dict[str, Any] = super().load_checkpoint(checkpoint_path, weights_only)
        self._own_state = checkpoint.get(STATE)
        return checkpoint

    def teardown(self) -> None:
        if self._shared is not None:
            self._shared.release()
        self._shared = None
        super().teardown()
