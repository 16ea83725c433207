# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies from files of settings: what they are, that they are written back as equal ones, and what is said of wrong ones."""
import re
import subprocess
import sys

import pytest

import remat
from remat import as_policy
from conftest import ROOT, mlp
from remat.policy_text import KINDS

BLOCKS = ROOT / "test/Transforms/Annotate/Inputs/jax_blocks.mlir"
TRAIN = """
opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) {eager}
"""
MODEL = BLOCKS.read_text().replace("\n} loc(unknown)", TRAIN + "} loc(unknown)")


def is_dot(op):
    return "dot" in op.kinds


def make_policy():
    return remat.layers() | remat.dots_saveable


SETTINGS = remat.checkpoints() | remat.save_names("hidden")
HERE = __name__

CASES = [
    (True, remat.layers()),
    ("layers", remat.layers()),
    ([{"layers": {"every": 4}}], remat.layers(every=4)),
    ({"layers": {"every": 2, "pick": "0,-1"}, "dots_saveable": None}, remat.layers(every=2, pick="0,-1") | remat.dots_saveable),
    (["layers", "whole", "dots_saveable", {"save_names": ["a", "mlp out"]}],
     remat.layers() | remat.whole() | remat.dots_saveable | remat.save_names("a", "mlp out")),
    ([{"ops": ["dot", "softmax"]}], remat.ops("dot", "softmax")),
    ([{"ops": {"kinds": "math.*", "policy": "everything_saveable"}}, {"layers": None}],
     remat.ops("math.*") | remat.everything_saveable | remat.layers()),
    ([{"scopes": {"patterns": ["attn"], "name": "p"}}, "layers", {"save_names": "p"}],
     remat.scopes("attn", name="p") | remat.layers() | remat.save_names("p")),
    ([{"layers": {"recompute": ["norm", "elementwise"]}}], remat.layers(recompute=["norm", "elementwise"])),
    ([{"layers": {"policy": ["min_cut", {"budget": "10MiB"}]}}, {"budget": "16GiB"}],
     remat.layers() | remat.min_cut | remat.budget("10MiB") | remat.policies.for_step("16GiB", "")),
    ([{"whole": {"policy": {"snapshots": 3}}}], remat.whole() | remat.snapshots(3)),
    (["dots_saveable", {"every_k": 2}, '#remat.offload_names<"x">'],
     remat.dots_saveable | remat.every_k(2) | remat.Policy('#remat.offload_names<"x">')),
    ([{"calls": "layer*"}, {"save_all_but_names": ["x"]}, {"save_any_names_but": ["y"]}],
     remat.calls("layer*") | remat.save_all_but_names("x") | remat.save_any_names_but("y")),
    ([f"{HERE}.SETTINGS"], SETTINGS),
    (f"{HERE}.make_policy", remat.layers() | remat.dots_saveable),
    (["layers", f"{HERE}.is_dot"], remat.layers() | remat.save_if(is_dot)),
    (["layers", {"save_if": f"{HERE}.is_dot"}], remat.layers() | remat.save_if(is_dot)),
    ([remat.layers(), remat.dots_saveable], remat.layers() | remat.dots_saveable),
    (["layers", {"save_ops": ["attention", "math.exp"]}, "dots_saveable"],
     remat.layers() | remat.save_ops("attention", "math.exp") | remat.dots_saveable),
]


@pytest.mark.parametrize("value, policy", CASES)
def test_entries_are_joined(value, policy):
    assert as_policy(value) == policy
    assert hash(as_policy(value)) == hash(policy)
    assert as_policy(value).to_yaml() == policy.to_yaml()


@pytest.mark.parametrize("policy", [policy for _, policy in CASES])
def test_what_is_written_is_read_as_an_equal_policy(policy):
    yaml = pytest.importorskip("yaml")
    text = policy.to_yaml()
    assert as_policy(text) == policy == as_policy(yaml.safe_load(text))
    assert as_policy(text).to_yaml() == text


def test_the_text_is_short():
    assert as_policy([{"layers": {"every": 4}}, "dots_saveable"]).to_yaml() == "- layers: {every: 4, policy: dots_saveable}"
    assert as_policy(["layers", {"save_names": ["no", "mlp out", "a"]}, {"budget": "16GiB"}]).to_yaml() == \
        '- layers: {policy: {save_names: ["no", "mlp out", a]}}\n- budget: "16GiB"'


def test_policies_are_equal_by_what_they_mean():
    assert remat.layers() | remat.dots_saveable == remat.layers(policy=remat.dots_saveable)
    assert remat.layers() != remat.layers() | remat.dots_saveable
    assert remat.dots_saveable != remat.nothing_saveable and remat.dots_saveable != "dots_saveable"


@pytest.mark.parametrize("value, error, message", [
    ([{"layer": {"every": 4}}], ValueError, r"policy, entry 1: there is no policy or selection called 'layer'; the nearest is layers"),
    (["layers", "dots_savable"], ValueError, r"policy, entry 2: .*'dots_savable'; the nearest are dots_saveable"),
    (["layers", {"xyzzy": 1}], ValueError, r"policy, entry 2: .*'xyzzy'; choose as_written, budget, .*whole"),
    ([{"layers": {"evry": 4}}], ValueError, r"policy, entry 1 \(layers\) has no argument 'evry'; the nearest is every"),
    ([{"layers": {"every": "four"}}], TypeError, r"policy, entry 1 \(layers\), every must be a number that is at least 1, but it is 'four'"),
    ([{"layers": {"every": 0}}], TypeError, r"every must be a number that is at least 1"),
    ([{"layers": {"pick": "first"}}], ValueError, r"pick must be numbers of layers"),
    ([{"layers": 4}], TypeError, r"policy, entry 1 \(layers\) must be a dictionary of arguments, such as {every: 2}, but it is 4"),
    ([{"layers": {"policy": "checkpoints"}}], ValueError,
     r"entry 1 \(layers\), policy, entry 1: .*called 'checkpoints' \(a selection must be an entry of the list"),
    ([{"layers": {"policy": "dots_saveable", "recompute": ["norm"]}}], ValueError, r"entry 1 \(layers\): recompute= is a policy of its own"),
    (["layers", {"ops": ["dot", "sofmax"]}], ValueError, r"policy, entry 2 \(ops\): 'sofmax' is no kind of operations; the nearest is softmax"),
    ([{"ops": []}], TypeError, r"policy, entry 1 \(ops\) must be a list of kinds, but it is \[\]"),
    ([{"ops": {"policy": "min_cut"}}], ValueError, r"policy, entry 1 \(ops\) needs kinds"),
    (["layers", {"save_names": 3}], TypeError, r"policy, entry 2 \(save_names\) must be a list of names, but it is 3"),
    (["layers", {"dots_saveable": 3}], ValueError, r"policy, entry 2 \(dots_saveable\) has no arguments"),
    (["layers", {"every_k": "2"}], TypeError, r"policy, entry 2 \(every_k\) must be a number, but it is '2'"),
    (["dots_saveable", "layers"], ValueError, r"policy, entry 2: a policy stands behind what it is for"),
    ([{"budget": "1GiB"}, "dots_saveable"], ValueError, r"entry 2: .*nothing is selected for dots_saveable"),
    ([{"budget": "1GiB"}, {"budget": "2GiB"}], ValueError, r"entry 2: the step has two budgets, 1GiB and 2GiB"),
    ([{"budget": True}], TypeError, r"entry 1 \(budget\) must be text such as 500MiB"),
    ([3], TypeError, r"policy, entry 1 must be a name, or a name with its arguments, but it is 3"),
    ([{}], ValueError, r"policy, entry 1 is empty"),
    ([], ValueError, r"policy has no entries; write 'none' to save everything"),
    ([f"{HERE}.SETTING"], ValueError, rf"policy, entry 1: {HERE} has no SETTING; the nearest are SETTINGS"),
    (["my_repo_that_is_not.policy"], ValueError, r"entry 1: there is no module called my_repo_that_is_not, which my_repo"),
    ([f"{HERE}.HERE"], TypeError, r"entry 1 must name a policy, a selection, or a function, but it names str"),
    (["pathlib.Path"], TypeError, r"entry 1 must name a policy, a selection, or a function, but it names the class Path"),
    (["re.sub"], TypeError, r"entry 1: sub must be a function of a remat.Operation, or of nothing, but it has 3 arguments"),
    (lambda op: True, TypeError, r"a function chooses among the operations of a selection"),
])
def test_what_is_wrong_is_named_with_its_place(value, error, message):
    with pytest.raises(error, match=message):
        as_policy(value)


@pytest.mark.parametrize("text, message", [
    ("- layers: {every: 4", "policy is not valid YAML"),
    ("- layers: {every: 4}\n- save_name: [x]", "policy, entry 2: .*'save_name'; the nearest are .*save_names"),
])
def test_what_is_wrong_in_a_text(text, message):
    pytest.importorskip("yaml")
    with pytest.raises(ValueError, match=message):
        as_policy(text)


@pytest.mark.parametrize("function", [lambda op: True, None])
def test_a_function_that_has_no_name_cannot_be_written(function):
    def local(op):
        return True

    with pytest.raises(ValueError, match="cannot be written: only what a module defines"):
        (remat.layers() | remat.save_if(function or local)).to_yaml()


def test_the_kinds_are_those_of_the_compiler():
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step(MODEL, policy=remat.ops("sofmax"))
    assert re.search(r"choose (.*), or a name", str(caught.value))[1].split(", ") == list(KINDS)


def test_a_step_takes_a_list():
    listed = remat.mlir.train_step(MODEL, policy=[{"checkpoints": {}}, "dots_saveable"])
    value = remat.mlir.train_step(MODEL, policy=remat.checkpoints() | remat.dots_saveable)
    assert listed.pipeline == value.pipeline and listed.memory == value.memory
    everything = remat.mlir.train_step(MODEL, policy=False)
    assert everything.memory.recomputed_ops == 0 < listed.memory.recomputed_ops


def test_a_text_may_be_indented():
    pytest.importorskip("yaml")
    assert remat.as_policy("""
        - layers: {every: 2}
        - dots_saveable
        """) == remat.layers(every=2) | remat.dots_saveable


def test_a_step_takes_a_text():
    pytest.importorskip("yaml")
    listed = remat.mlir.train_step(MODEL, policy="- checkpoints: {}\n- dots_saveable\n")
    assert listed.pipeline == remat.mlir.train_step(MODEL, policy=remat.checkpoints() | remat.dots_saveable).pipeline


def test_an_entry_is_the_budget_of_the_step():
    """Unlike that of a region, which a selection has among its policies."""
    text = mlp(TRAIN)
    step = remat.mlir.train_step(text, policy=["whole", {"budget": "1MiB"}])
    assert step.pipeline == remat.mlir.train_step(text, policy=remat.whole(), budget="1MiB").pipeline
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step(text, policy=["whole", {"budget": 64}])
    assert caught.value.code == "budget-missed"
    with pytest.raises(ValueError, match="the policy has a budget of 1MiB, and budget= is 2MiB; leave one of them out"):
        remat.mlir.train_step(text, policy=["whole", {"budget": "1MiB"}], budget="2MiB")


def test_without_yaml_the_error_says_what_to_install():
    code = "import sys; sys.modules['yaml'] = None\nimport remat\nremat.as_policy('- layers')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: a policy in YAML needs PyYAML: pip install pyyaml" in done.stderr, done.stderr
