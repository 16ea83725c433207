# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes of torchtune become arguments of a step, and what has no counterpart is named."""
import ast
import subprocess
import sys

import pytest

import remat
from remat.torchtune import translate

RECIPE = """
model: {_component_: torchtune.models.llama3_2.llama3_2_1b}
optimizer:
  _component_: torch.optim.AdamW
  lr: 2.0e-5
  betas: [0.9, 0.95]
  fused: True
loss: {_component_: torchtune.modules.loss.LinearCrossEntropyLoss}
seed: 7
batch_size: 2
gradient_accumulation_steps: 8
clip_grad_norm: 1.0
optimizer_in_bwd: False
compile: False
enable_activation_checkpointing: True
enable_activation_offloading: True
ac_mode: selective
ac_option: 2
dtype: bf16
output_dir: /tmp/run
"""


@pytest.mark.parametrize("recipe, policy", [
    ({}, None),
    ({"enable_activation_checkpointing": False}, None),
    ({"enable_activation_checkpointing": True}, remat.layers()),
    ({"ac_mode": "full"}, remat.layers()),
    ({"ac_mode": "selective", "ac_option": 2}, remat.layers(every=2)),
    ({"ac_mode": "selective", "ac_option": "3"}, remat.layers(every=3)),
    ({"ac_mode": "selective", "ac_option": 1}, remat.layers()),
    ({"ac_mode": "selective", "ac_option": "op"}, remat.layers() | remat.dots_saveable),
])
def test_checkpointing_becomes_a_policy(recipe, policy):
    assert translate(recipe).policy == policy


@pytest.mark.parametrize("recipe, arguments", [
    ({"optimizer_in_bwd": True}, {"eager": True}),
    ({"optimizer_in_bwd": False, "clip_grad_norm": None, "seed": None}, {}),
    ({"gradient_accumulation_steps": 1}, {}),
    ({"gradient_accumulation_steps": 4, "clip_grad_norm": 1, "seed": 0}, {"accumulate": 4, "clip_global_norm": 1.0, "seed": 0}),
])
def test_settings_become_arguments(recipe, arguments):
    assert translate(recipe).arguments == arguments


@pytest.mark.parametrize("recipe, message", [
    ({"ac_mode": "selectiv"}, "there is no ac_mode called 'selectiv'; the nearest is selective"),
    ({"ac_mode": "selective"}, "ac_option must be a number that is at least 1, or op, but it is None"),
    ({"ac_mode": "selective", "ac_option": 0}, "ac_option must be a number that is at least 1, or op, but it is 0"),
    ({"enable_activation_checkpointing": "yes please"}, "must be True or False, but it is 'yes please'"),
    ({"gradient_accumulation_steps": 1.5}, "gradient_accumulation_steps must be a whole number above 0, but it is 1.5"),
    ({"clip_grad_norm": -1.0}, "clip_grad_norm must be a number above 0, but it is -1.0"),
    ({"seed": "${other}"}, r"seed is \${other}, which another setting gives a value: write that value"),
    ({"optimizer": "adam"}, "optimizer must be a dictionary with _component_, but it is 'adam'"),
    ([], "a recipe must be a dictionary of settings, but it is list"),
])
def test_what_is_not_valid(recipe, message):
    with pytest.raises(ValueError, match=message):
        translate(recipe)


def test_what_is_left_is_said_with_a_reason():
    left = translate({"enable_activation_offloading": True, "dtype": "bf16", "output_dir": "x", "compile": False, "ac_option": 2,
                      "optimizer": {"_component_": "bitsandbytes.optim.PagedAdamW8bit", "lr": 1e-5}}).left
    assert set(left) == {"enable_activation_offloading", "dtype", "output_dir", "ac_option", "optimizer"}
    assert "nothing is moved to the host" in left["enable_activation_offloading"]
    assert left["optimizer"].startswith("bitsandbytes.optim.PagedAdamW8bit is none of torch.optim")


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "remat", "from-torchtune", *map(str, arguments)], capture_output=True, text=True,
                          check=False)


def test_the_command_prints_a_call(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    done = run(tmp_path / "recipe.yaml")
    assert done.returncode == 0, done.stderr
    call, = [node for node in ast.walk(ast.parse(done.stdout)) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("train_step")]
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    assert given.pop("optimizer") == "torch.optim.AdamW(model.parameters(), lr=2e-05, betas=(0.9, 0.95))"
    assert remat.as_policy(ast.literal_eval(given.pop("policy"))) == remat.layers(every=2)
    assert given == {"accumulate": "8", "clip_global_norm": "1.0", "seed": "7"}
    said = [line.split(": ")[1] for line in done.stdout.splitlines() if line.startswith("# left out")]
    assert said == ["optimizer_in_bwd", "model", "loss", "batch_size", "enable_activation_offloading", "dtype", "output_dir"]


def test_the_command_names_what_is_wrong(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "wrong.yaml").write_text("ac_mode: al\n")
    for path, message in ((tmp_path / "wrong.yaml", "there is no ac_mode called 'al'"), (tmp_path / "none.yaml", "No such file")):
        done = run(path)
        assert done.returncode == 1 and done.stderr.startswith(f"error: {path}: ") and message in done.stderr
