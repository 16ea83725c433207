# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled step in the place of forward, backward and update, for loops that keep a model and an optimizer of PyTorch.

The loop's own evaluation, checkpoints and callbacks read that model and that optimizer. So their tensors become the memory of
the step: nothing is there twice, nothing has to be copied after a step, and what a loop loads into them is what the next step reads.
"""
import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from remat.step import STEP_KEY
from remat.torch.optimizers import RULES, Rate
from remat.torch.step import TorchStep, train_step

# The names of states: ours, and those of PyTorch. Optimizers without a rule here are exported, with PyTorch's names.
_ADAM = {"m": "exp_avg", "v": "exp_avg_sq"}
STATES = {"Adam": _ADAM, "AdamW": _ADAM, "SGD": {"momentum": "momentum_buffer"},
          "Adafactor": {"row": "row_var", "col": "col_var", "v": "variance"}}
COUNT = "step"  # the state in which PyTorch counts, all but SGD

Batch = dict[str, torch.Tensor]


class SharedStep:
    """The step of a model and an optimizer, which share its memory until `release`."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, forward: Callable[..., Any], example: Batch, count: int,
                 /, **arguments: Any):
        """Compiles the step of `forward(model, **batch)` for `count` micro-batches like the example. The optimizer may have made
        steps already, whose states the step goes on from. The `arguments` are those of `remat.torch.train_step`."""
        self.model, self.optimizer = model, optimizer
        states = dict(optimizer.state)
        optimizer.state.clear()
        rule: Any = arguments.pop("optimizer", None)
        # States of other rules than the optimizer's are no states of the optimizer.
        self._is_own_rule = rule is None
        if rule is not None:  # at the rate of the loop's schedule
            rule = dataclasses.replace(rule, lr=Rate(optimizer, optimizer.param_groups[0]))
        self.step: TorchStep = train_step(model, None, example, optimizer=rule or optimizer, forward=forward, dynamic=True,
                                          accumulate=count if count > 1 else None, **arguments)
        self._shared = self._share_model()
        self._take_states(states)

    def run(self, micro_batches: Sequence[Batch]) -> tuple[float, dict[str, Any]]:
        """Runs one step, and returns the loss, and the further results of `forward` by name."""
        first, count = micro_batches[0], len(micro_batches)
        if any({k: v.shape for k, v in batch.items()} != {k: v.shape for k, v in first.items()} for batch in micro_batches):
            shapes = "; ".join(", ".join(f"{k}: {list(v.shape)}" for k, v in batch.items()) for batch in micro_batches)
            raise ValueError(f"micro-batches of one step must have the same shapes, but got {shapes}; drop the last batch of an epoch "
                             "(drop_last), and pad to a fixed length")
        batch = {key: torch.cat([batch[key] for batch in micro_batches]) for key in first} if count > 1 else first
        result = self.step.run_micro_batches(count, batch)
        return result if isinstance(result, tuple) else (result, {})

    def _names(self) -> dict[int, str]:
        """Returns the step's name of each tensor of the model that it has, by the tensor's id."""
        own = {a.name for a in self.step.arguments if a.role in ("parameter", "state")}
        return {id(tensor): name for name, tensor in self._tensors() if name in own}

    def _tensors(self) -> Any:
        return itertools.chain(self.model.named_parameters(remove_duplicate=False), self.model.named_buffers(remove_duplicate=False))

    def _memory(self, name: str, like: torch.Tensor | None = None) -> torch.Tensor:
        memory: torch.Tensor = torch.from_dlpack(self.step.device_arrays()[name])
        if like is None:
            return memory
        return torch.view_as_complex(memory) if like.is_complex() else memory.view(like.dtype)

    def _share_model(self) -> set[str]:
        names = self._names()
        for tensor in {id(tensor): tensor for _, tensor in self._tensors() if id(tensor) in names}.values():
            tensor.data = self._memory(names[id(tensor)], tensor)
        return set(names.values())

    def _states(self) -> dict[torch.Tensor, dict[str, str]]:
        """Returns the step's names of each parameter's states, by the names that the optimizer has for them."""
        if not self._is_own_rule:
            return {}
        names = self._names()
        kind = type(self.optimizer).__name__
        known = STATES.get(kind, {}) if kind in RULES else {}
        states: dict[str, dict[str, str]] = {}
        for argument in self.step.arguments:
            if argument.role == "optimizer":
                owner, _, state = argument.name.rpartition(".")
                states.setdefault(owner, {})[known.get(state, state)] = argument.name
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        return {p: states[names[id(p)]] for p in parameters if names.get(id(p)) in states}

    def _take_states(self, states: Mapping[torch.Tensor, dict[str, Any]]) -> None:
        """Goes on from what the optimizer had."""
        values: dict[str, torch.Tensor] = {}
        counts: set[int] = set()
        for parameter, names in self._states().items():
            own = states.get(parameter, {})
            values |= {ours: own[theirs] for theirs, ours in names.items() if isinstance(own.get(theirs), torch.Tensor)}
            counts |= {int(own[COUNT])} if COUNT in own else set()
        like = {a.name: a for a in self.step.arguments}
        values = {name: value.to(torch.float64) if like[name].type == "f64" else value for name, value in values.items()}
        self.step.load_state_dict(values | ({STEP_KEY: max(counts)} if counts else {}), strict=False)

    def publish(self, copy: bool = False) -> None:
        """Gives the optimizer the states that it would have in PyTorch, for its `state_dict()`: the step's memory, or copies."""
        for parameter, names in self._states().items():
            states = {theirs: self._memory(ours) for theirs, ours in names.items()}
            states = {name: value.float() if value.dtype == torch.float64 and not value.ndim else value.clone() if copy else value
                      for name, value in states.items()}
            if type(self.optimizer).__name__ != "SGD":
                states.setdefault(COUNT, torch.tensor(float(self.step.number)))
            self.optimizer.state[parameter] = states

    def own_state(self) -> dict[str, torch.Tensor]:
        """Returns what neither the model nor the optimizer has: states of random numbers, and of other rules."""
        elsewhere = self._shared.union(*(names.values() for names in self._states().values()))
        names = [a.name for a in self.step.arguments if a.role in ("optimizer", "state", "random") and a.name not in elsewhere]
        return {name: self._memory(name).cpu().clone() for name in names} | {STEP_KEY: torch.tensor(self.step.number)}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        self.step.load_state_dict(state, strict=False)

    def release(self) -> None:
        """Gives the model and the optimizer memory of their own, so that the step's can go."""
        self.publish(copy=True)
        names = self._names()
        for tensor in {id(tensor): tensor for _, tensor in self._tensors() if id(tensor) in names}.values():
            tensor.data = tensor.data.clone()
