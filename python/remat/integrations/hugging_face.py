# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hugging Face's Trainer with compiled steps: all that is between `compute_loss` and `optimizer.step` is one."""
import os
from collections.abc import Mapping
from typing import Any

import torch
import transformers

from remat import policies
from remat.integrations.shared import Batch, SharedStep

STATE = "remat_state.pt"  # in a checkpoint, what has no place in the Trainer's own files
ITEMS = "num_items_in_batch"


class RematTrainer(transformers.Trainer):
    """A `transformers.Trainer` that trains by compiled steps. Data, schedules, logs, checkpoints, callbacks and evaluation are the
    Trainer's own, and so is `compute_loss`, label smoothing and losses of one's own included; its checkpoints may go on
    in either.

    Beside the Trainer's arguments:

    - `policy`, `budget`: what is rematerialized, as in `remat.torch.train_step`. With `gradient_checkpointing=True` in the
      training arguments, the policy is `remat.as_written()` if none is given.
    - `step_arguments`: further arguments of `remat.torch.train_step`. An `optimizer` of remat's there, such as
      `remat.AdamW(3e-4, states="int8")`, takes the place of the Trainer's, at the Trainer's learning rate.

    `trainer.step` is the compiled step, while `train` runs. `max_grad_norm`, which is 1 by default, limits the norm of all gradients
    together, which therefore are there at once; `max_grad_norm=0` updates each parameter as soon as its gradient is final.
    Gradients are in the step alone: callbacks find none.
    """

    def __init__(self, *args: Any, policy: Any = None, budget: Any = None, step_arguments: Mapping[str, Any] | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.policy, self.budget, self.step_arguments = policy, budget, dict(step_arguments or {})
        self._shared: SharedStep | None = None
        self._waiting: list[Batch] = []
        self._constants: dict[str, Any] = {}
        self._count = 1
        self._own_state: dict[str, Any] | None = None

    @property
    def step(self) -> Any:
        return self._shared and self._shared.step

    def train(self, *args: Any, **kwargs: Any) -> Any:
        self._check_settings()
        try:
            return super().train(*args, **kwargs)
        finally:
            if self._shared is not None:
                self._shared.release()
            self._shared = None
            self._waiting.clear()

    def _check_settings(self) -> None:
        """Raises a ValueError for what a compiled step cannot do, or would do otherwise."""
        args = self.args
        wrong = {"several devices or processes": args.world_size > 1 or args.n_gpu > 1,
                 "deepspeed or fsdp": self.is_deepspeed_enabled or self.is_fsdp_enabled,
                 "fp16=True, whose losses are scaled (bf16=True works)": args.fp16,
                 "torch_compile=True": args.torch_compile,
                 f"the device {args.device} (use_cpu=True works)": args.device.type not in ("cpu", "cuda")}
        if found := [what for what, is_asked in wrong.items() if is_asked]:
            raise ValueError(f"RematTrainer does not train with {', '.join(found)}")

    def _compile(self, example: Batch) -> SharedStep:
        args = self.args
        policy = policies.as_written() if self.policy is None and args.gradient_checkpointing else self.policy
        arguments = {"policy": policy, "budget": self.budget, "seed": args.seed, "grad_norm": True, "target": args.device.type,
                     "clip_global_norm": args.max_grad_norm or None} | self.step_arguments
        optimizer = getattr(self.optimizer, "optimizer", self.optimizer)  # accelerate has another one around it
        return SharedStep(self.model, optimizer, self._compute_loss, example, self._count, **arguments)

    def _compute_loss(self, model: Any, **inputs: Any) -> Any:
        """Returns what is compiled: the loss of a micro-batch as the Trainer computes it, such that the mean over micro-batches is the
        loss of the step."""
        items = inputs.pop(ITEMS, None)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, self._constants | inputs, num_items_in_batch=items)
        is_scaled = getattr(self, "loss_is_scaled_for_ga", None)
        if is_scaled is None:
            is_scaled = (self.model_accepts_loss_kwargs and items is not None) or self.compute_loss_func is not None
        return loss * self._count if is_scaled else loss

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        """Runs a step with the last micro-batch of it, and returns its loss; 0 for those before, which wait."""
        model.train()
        inputs = self._prepare_inputs(inputs)
        batch = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
        constants = {name: value for name, value in inputs.items() if name not in batch}
        if num_items_in_batch is not None:
            batch[ITEMS] = torch.as_tensor(num_items_in_batch, device=self.args.device).reshape(1)
        self._waiting.append(batch)
        if len(self._waiting) < self.current_gradient_accumulation_steps:
            return torch.zeros((), device=self.args.device)
        micro_batches, self._waiting = self._waiting, []
        self._count = len(micro_batches)
        if self._shared is None:
            self._constants = constants
            self._shared = self._compile(micro_batches[0])
            self._take_own_state()
        elif constants != self._constants:
            raise ValueError(f"inputs that are not tensors must be the same in each batch, but {self._constants} became {constants}")
        loss, _ = self._shared.run(micro_batches)
        return torch.tensor(loss, device=self.args.device)

    # The norm of gradients, which are in the step alone; it is clipped there.

    def _clip_grad_norm(self, model: Any) -> Any:
        return self._get_grad_norm(model)

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        return torch.tensor(self.step.grad_norm) if self.step else None

    # Checkpoints: the optimizer's states as PyTorch has them, and what is the step's own beside the states of random numbers.

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if self._shared is not None:
            self._shared.publish()
        super()._save_optimizer_and_scheduler(output_dir)

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        if self._shared is not None:
            torch.save(self._shared.own_state(), os.path.join(output_dir, STATE))

    def _load_rng_state(self, checkpoint: str | None) -> None:
        super()._load_rng_state(checkpoint)
        path = os.path.join(checkpoint or "", STATE)
        if checkpoint and os.path.exists(path):
            self._own_state = torch.load(path, weights_only=True)
            self._take_own_state()

    def _take_own_state(self) -> None:
        if self._shared is not None and self._own_state is not None:
            self._shared.load_own_state(self._own_state)
            self._own_state = None
