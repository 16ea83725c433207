# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes of torchtune, as far as they say how memory is saved, as arguments of `remat.torch.train_step`."""
import dataclasses
import sys
from pathlib import Path
from typing import Any

from remat.policies import Annotation, Policy
from remat.policy_text import as_policy
from remat.policy_yaml import nearest

# Settings that have no counterpart -> what to do instead.
LEFT = {
    "enable_activation_offloading": "nothing is moved to the host yet; a budget bounds what a step takes: budget=\"16GiB\"",
    "fsdp_cpu_offload": "nothing is moved to the host yet",
    "compile": "a step is compiled in any case",
    "dtype": "the step has the types of the model's parameters: convert the model before",
    "device": "target=\"cuda\" runs the step on a GPU, wherever the model is",
    "lr_scheduler": "make it of the optimizer as before, and call scheduler.step() after each step",
    "loss": "pass it as loss_fn, or let the model return the loss",
    "model": "pass the model that it makes",
    "batch_size": "the example batch has it; with accumulate, the batch of a step is as many times larger",
}
KNOWN = ("enable_activation_checkpointing", "ac_mode", "ac_option", "optimizer_in_bwd", "gradient_accumulation_steps", "clip_grad_norm",
         "seed", "optimizer")


@dataclasses.dataclass(frozen=True)
class Translation:
    """`arguments` of `train_step` but for the optimizer, which is text of Python; `left` are settings, each with a reason."""

    policy: Annotation | Policy | None
    optimizer: str | None
    arguments: dict[str, Any]
    left: dict[str, str]

    def __str__(self) -> str:
        lines = ["step = remat.torch.train_step(", "    model, loss_fn, example_batch,"]
        if self.optimizer:
            lines.append(f"    optimizer={self.optimizer},")
        if self.policy is not None:
            lines += ['    policy="""', *(f"    {line}" for line in self.policy.to_yaml().splitlines()), '    """,']
        lines += [f"    {name}={value!r}," for name, value in self.arguments.items()]
        lines[-1] = lines[-1].removesuffix(",") + ")"
        return "\n".join([*lines, *(f"# left out: {name}: {reason}" for name, reason in self.left.items())])


def translate(recipe: Any) -> Translation:
    """Returns what the settings of a recipe become. Raises a ValueError for those that are not valid."""
    if not isinstance(recipe, dict):
        raise ValueError(f"a recipe must be a dictionary of settings, but it is {type(recipe).__name__}")
    for name, value in recipe.items():
        if name in KNOWN and isinstance(value, str) and "${" in value:
            raise ValueError(f"{name} is {value}, which another setting gives a value: write that value")
    left: dict[str, str] = {}
    policy = translate_checkpointing(recipe, left)
    arguments: dict[str, Any] = {}
    if read_flag(recipe, "optimizer_in_bwd"):
        arguments["eager"] = True
    elif "optimizer_in_bwd" in recipe:
        left["optimizer_in_bwd"] = "False is the default of torchtune; here updates are in the backward unless eager=False, with the same bits"
    for name, argument, kind in (("gradient_accumulation_steps", "accumulate", int), ("clip_grad_norm", "clip_global_norm", float),
                                 ("seed", "seed", int)):
        value = recipe.get(name)
        if value is None or (argument == "accumulate" and value == 1):
            continue
        if isinstance(value, bool) or not isinstance(value, (int, kind)) or (argument != "seed" and value <= 0):
            raise ValueError(f"{name} must be {'a number' if kind is float else 'a whole number'} above 0, but it is {value!r}")
        arguments[argument] = kind(value)
    optimizer = translate_optimizer(recipe.get("optimizer"), left)
    for name, value in recipe.items():
        if name not in KNOWN and value not in (None, False):
            left[name] = LEFT.get(name, "no argument of a step")
    return Translation(policy, optimizer, arguments, left)


def read_flag(recipe: dict[str, Any], name: str) -> bool:
    value = recipe.get(name, False)
    if value not in (None, True, False):
        raise ValueError(f"{name} must be True or False, but it is {value!r}")
    return bool(value)


def translate_checkpointing(recipe: dict[str, Any], left: dict[str, str]) -> Any:
    """With `ac_mode`, torchtune does not look at `enable_activation_checkpointing`."""
    is_enabled = read_flag(recipe, "enable_activation_checkpointing")
    mode, option = recipe.get("ac_mode"), recipe.get("ac_option")
    if mode is None:
        if option is not None:
            left["ac_option"] = "torchtune reads it with ac_mode: selective only"
        return as_policy(["layers"]) if is_enabled else None
    if mode not in ("full", "selective"):
        raise ValueError(f"there is no ac_mode called {mode!r}; {nearest(str(mode), ('full', 'selective'))}")
    if mode == "full":
        return as_policy(["layers"])
    if option == "op":
        left["ac_option"] = "op saves every second product in torchtune; dots_saveable permits all, and a budget chooses among them"
        return as_policy([{"layers": {"policy": "dots_saveable"}}])
    if isinstance(option, str) and option.isdigit():
        option = int(option)
    if isinstance(option, bool) or not isinstance(option, int) or option < 1:
        raise ValueError(f"ac_option must be a number that is at least 1, or op, but it is {option!r}")
    return as_policy([{"layers": {"every": option}} if option > 1 else "layers"])


def translate_optimizer(optimizer: Any, left: dict[str, str]) -> str | None:
    """Returns a call of a class of `torch.optim`; others are left."""
    if optimizer is None:
        return None
    if not isinstance(optimizer, dict) or not isinstance(optimizer.get("_component_"), str):
        raise ValueError(f"optimizer must be a dictionary with _component_, but it is {optimizer!r}")
    component = optimizer["_component_"]
    if not component.startswith("torch.optim."):
        left["optimizer"] = f"{component} is none of torch.optim; states of 8 bits are remat.AdamW(..., states=\"int8\")"
        return None
    settings = [f"{name}={tuple(value) if isinstance(value, list) else value!r}" for name, value in optimizer.items()
                if name not in ("_component_", "fused")]
    return f"{component}({', '.join(['model.parameters()', *settings])})"


def main(path: str) -> int:
    """Prints the call for the recipe in a file; returns 1 after an error."""
    try:
        import yaml
    except ImportError:
        print("error: recipes are in YAML, which needs PyYAML: pip install pyyaml", file=sys.stderr)
        return 1
    try:
        print(translate(yaml.safe_load(Path(path).read_text())))
    except (OSError, ValueError, yaml.YAMLError) as error:
        print(f"error: {path}: {error}", file=sys.stderr)
        return 1
    return 0
