# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies as values: what they become, and that they save what they say."""
import dataclasses
import re
import subprocess

import numpy as np
import pytest

import remat
from conftest import ROOT, mlp

BLOCKS = ROOT / "test/Transforms/Annotate/Inputs/jax_blocks.mlir"
TRAIN = """
opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) {eager}
"""


@pytest.mark.parametrize("policy, text", [
    (remat.layers(), "remat-annotate{blocks}"),
    (remat.layers() | remat.dots_saveable, "remat-annotate{blocks policy=dots_saveable}"),
    (remat.checkpoints() | remat.save_names("a", "mlp out"),
     'remat-annotate{checkpoints policy={save_only_names<"a", "mlp out">}}'),
    # A policy is for the selections before it that have none; the next one joins it.
    (remat.layers() | remat.whole() | remat.dots_saveable | remat.every_k(2),
     ",".join(f"remat-annotate{{{what} policy={{any_of<#remat.dots_saveable, #remat.every_k<2>>}}}}"
              for what in ("blocks", "whole"))),
    (remat.layers(pick="0") | remat.everything_saveable | remat.layers(pick="1") | remat.whole() | remat.offload_dots,
     "remat-annotate{blocks pick=0 policy=everything_saveable},remat-annotate{blocks pick=1 policy=offload_dots},"
     "remat-annotate{whole policy=offload_dots}"),
    (remat.ops("softmax", name="p") | remat.layers() | (remat.save_names("p") | remat.dots_saveable),
     'remat-annotate{ops=softmax name=p},remat-annotate{blocks policy={any_of<#remat.save_only_names<"p">, '
     "#remat.dots_saveable>}}"),
    (remat.scopes("layers.*", policy="#remat.offload_names<\"x\">") | remat.whole(recompute=["norm"]),
     'remat-annotate{scope=layers.* policy=#remat.offload_names<"x">},remat-annotate{whole recompute=norm}'),
    (remat.layers() | remat.budget("10MiB"), 'remat-annotate{blocks policy=budget<"10MiB">}'),
    (remat.whole() | remat.budget(4096), "remat-annotate{whole policy=budget<4096>}"),
    (remat.ops("scf.for") | remat.snapshots(10), "remat-annotate{ops=scf.for policy=snapshots<10>}"),
    (remat.whole() | remat.snapshots("1MiB"), 'remat-annotate{whole policy=snapshots<"1MiB">}'),
    (remat.layers(every=2) | remat.min_cut, "remat-annotate{blocks every=2 policy=min_cut}"),
    (remat.layers() | remat.save_all_but_names("p") | remat.save_if(bool),
     'remat-annotate{blocks policy=save_anything_except_names<"p"> save=<bool>}'),
    (remat.layers() | remat.save_ops("attention", "math.exp") | remat.dots_saveable,
     "remat-annotate{blocks policy=dots_saveable save=attention,math.exp}"),
])
def test_what_a_policy_becomes(policy, text):
    assert str(policy) == text


@pytest.mark.parametrize("make, message", [
    (lambda: remat.dots_saveable | remat.layers(), "a policy stands behind what it is for"),
    (lambda: remat.whole(name="p") | remat.dots_saveable, "says what becomes of it already"),
    (lambda: remat.layers() | "dots_saveable", "unsupported operand"),
    (lambda: remat.save_if("dots"), "takes a function of a remat.Operation, but got str"),
    (lambda: remat.snapshots(1.5), "states must be a number or text such as '10MiB', but got float"),
    (lambda: remat.budget(0.5), "the size must be a number of bytes or text such as '10MiB', but got float"),
    (lambda: remat.save_names(), "at least one name"),
    (lambda: remat.save_ops(), "at least one kind"),
    (lambda: remat.save_ops(len), "save_ops takes kinds of operations, such as \"attention\", but got <built-in"),
    (lambda: remat.ops(), "at least one pattern"),
    (lambda: remat.layers(recompute=["norm"], policy=remat.dots_saveable), "recompute= is a policy of its own"),
])
def test_what_makes_no_sense(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


MODEL = BLOCKS.read_text().replace("\n} loc(unknown)", TRAIN + "} loc(unknown)")


def blocks(**arguments):
    return remat.mlir.train_step(MODEL, **arguments)


def run(step):
    rng = np.random.default_rng(0)
    for argument in step.arguments:
        if argument.role == "parameter":
            step.load_state_dict({argument.name: rng.normal(size=argument.shape).astype("f4") * 0.3}, strict=False)
    batch = [rng.normal(size=a.shape).astype("f4") for a in step.data]
    return [step(*batch) for _ in range(3)], {name: array.tobytes() for name, array in step.parameters.items()}


def test_a_function_chooses_what_is_saved():
    asked = []

    def is_dot_of_attention(op):
        asked.append(op)
        return "dot" in op.kinds and "attention" in (op.scope or "")

    chosen = blocks(policy=remat.checkpoints() | remat.save_if(is_dot_of_attention))
    dots = blocks(policy=remat.checkpoints() | remat.dots_saveable)
    nothing = blocks(policy=remat.checkpoints())
    assert len({op.number for op in asked}) == len(asked) > 20
    assert all(op.bytes > 0 and op.cost > 0 and op.function == "loss" and op.types for op in asked)
    # The plan has lines of their own for values that are saved since the policy names them.
    assert chosen.explain().count("named by the policy") > 0 == nothing.explain().count("named by the policy")
    assert dots.memory.recomputed_ops < chosen.memory.recomputed_ops < nothing.memory.recomputed_ops
    assert run(chosen) == run(dots) == run(nothing)


def test_saving_attention_recomputes_the_rest():
    """The result and a number for each row, so that nothing of it is computed twice."""
    saved, nothing = blocks(policy=remat.checkpoints() | remat.save_ops("attention")), blocks(policy=remat.checkpoints())
    both = blocks(policy=remat.checkpoints() | remat.save_ops("attention") | remat.save_if(lambda op: op.op == "math.tanh"))

    def count_again(step):
        return sum("remat.attention" in line and " recompute " in line for line in step.explain().splitlines())

    assert count_again(saved) == count_again(both) == 0 < count_again(nothing)
    assert saved.memory.recomputed_ops < nothing.memory.recomputed_ops
    assert run(saved) == run(nothing)


def test_a_function_and_a_policy_together():
    both = blocks(policy=remat.checkpoints() | remat.dots_saveable | remat.save_if(lambda op: op.op == "math.tanh"))
    assert "any_of<#remat.dots_saveable, #remat.save_only_names" not in both.pipeline
    assert re.search(r"policy=dots_saveable save=#\d+|policy=dots_saveable\}", both.pipeline)


def test_a_function_that_chooses_nothing_or_all():
    none, all_ = (blocks(policy=remat.checkpoints() | remat.save_if(lambda op, answer=answer: answer))
                  for answer in (False, True))
    nothing = blocks(policy=remat.checkpoints() | remat.nothing_saveable)
    assert none.memory == nothing.memory and none.explain() == nothing.explain()
    assert all_.memory.recomputed_ops < none.memory.recomputed_ops and all_.memory.residuals > none.memory.residuals
    assert run(none) == run(all_)


def test_what_a_function_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        blocks(policy=remat.whole() | remat.save_if(lambda op: 1 // 0))


def test_the_pipeline_is_one_for_the_tool(tmp_path):
    """Numbers included: the tool finds the same operations, and the same memory."""
    step = blocks(policy=remat.checkpoints() | remat.save_if(lambda op: "dot" in op.kinds) | remat.every_k(2))
    model, report = tmp_path / "model.mlir", tmp_path / "report.json"
    model.write_text(MODEL)
    assert re.search(r"save=#\d+,#\d+", step.pipeline)
    pipeline = step.pipeline.replace("remat-train{", f"remat-train{{report={report} ")
    subprocess.run(["remat-opt", model, f"--pass-pipeline={pipeline}", "-o", tmp_path / "program.mlir"], check=True)
    assert remat.Memory.from_report(report.read_text(), "step") == step.memory


def test_the_package_has_all_policies_of_the_dialect():
    """Those with other parameters than names are written by hand; `|` makes an `any_of`."""
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step(mlp(), optimizer=remat.SGD(0.1), policy="dots")
    listed = re.search(r"choose .*?(nothing_saveable, .*)", str(caught.value))[1].split("\n")[0].split(", ")
    assert len(listed) > 8
    for name in listed:
        mnemonic = name.removesuffix("<...>")
        if mnemonic != "any_of":
            assert mnemonic in dir(remat) and mnemonic in remat.__all__
        if mnemonic not in ("every_k", "budget", "snapshots", "any_of"):
            policy = getattr(remat, mnemonic)
            assert str(policy("a", "b") if name != mnemonic else policy) == name.replace("...", '"a", "b"')


def test_the_package_has_all_rules_of_the_dialect():
    """With their defaults: the compiler prints hyperparameters that differ from these. `Custom` is written by hand."""
    def compiled(rule):
        return subprocess.run(["remat-opt", "-"], input=f"opt.optimizer @o = {rule}", capture_output=True, text=True)

    listed = re.search(r"expects an update rule, .*; rules are (.*)", compiled("1 : i32").stderr)[1].split(", ")
    assert len(listed) > 5
    classes = {str(kind): kind for kind in map(remat.optimizers.__getattr__, remat.optimizers.derived())}
    rules = {kind._mnemonic: kind for kind in classes.values() if issubclass(kind, remat.optimizers.Optimizer)}
    assert {f"#opt.{name}<...>" for name in rules} | {"#opt.custom<...>"} == set(listed)
    for kind in classes.values():
        required = [field.name for field in dataclasses.fields(kind)
                    if field.default is dataclasses.MISSING and field.name not in ("groups", "clip_value", "clip_norm")]
        value = kind(**{name: 2 for name in required})
        rule = value if kind in rules.values() else remat.SGD(value)
        printed = compiled(rule).stdout
        mnemonic = f"#opt.{kind._mnemonic}<"
        assert mnemonic in printed and kind.__name__ in dir(remat), printed
        inside = printed.split(mnemonic)[1].split(">")[0]
        assert [part.split(" = ")[0] for part in inside.split(", ") if part] == required


def test_a_policy_alone_is_for_the_regions_of_the_model():
    text = mlp(TRAIN)
    for policy, attribute in ((remat.dots_saveable, "#remat.dots_saveable"),
                              (remat.dots_saveable | remat.every_k(2),
                               "#remat.any_of<#remat.dots_saveable, #remat.every_k<2>>")):
        assert f"policy {attribute}, " in remat.mlir.train_step(text, policy=policy).explain()
