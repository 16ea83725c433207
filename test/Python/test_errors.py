# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that cannot be compiled, and requests that make no sense: exceptions that say where and what to do."""
import doctest
import importlib
import logging
import re
import subprocess
import sys

import pytest

import remat
from conftest import mlp

SGD = "#opt.sgd<lr = 0.1>"


@pytest.mark.parametrize("text, arguments, message", [
    ("", {"optimizer": SGD}, "the module has no public function, so there is no loss"),
    ("func.func @loss(", {"optimizer": SGD}, r"model.mlir:1:16: error: "),
    (b"\x00\x01\x02", {"optimizer": SGD}, r"model.mlir:1:2: error: unexpected character"),
    ("MLïR\ufb03", {"optimizer": SGD}, r"model.mlir:1:"),
    (mlp(), {}, "the module does not say how it is trained: name an optimizer, or add a remat.train_step"),
    (mlp(), {"optimizer": "#opt.sgd<lr = fast>"}, "train step:1:"),
    (mlp(), {"optimizer": "#opt.sgdd<lr = 0.1>"}, "train step:1:.*sgdd"),
    (mlp(), {"optimizer": SGD, "function": "lose"}, "the module has no public function @lose with a body"),
    (mlp(), {"optimizer": SGD, "policy": "dots"}, "dots"),
    (mlp(), {"optimizer": SGD, "policy": 'save_only_names<"h1">'}, "h1"),
    (mlp(), {"optimizer": SGD, "options": "tile=3"}, "options 'target=cpu tile=3' of remat-train: .*tile"),
    (mlp(), {"optimizer": SGD, "passes": "remat-anotate"}, "passes 'remat-anotate': .*remat-anotate"),
    (mlp(), {"optimizer": SGD, "policy": remat.scopes("layers.*")}, "layers"),
    (mlp(), {"optimizer": SGD, "optimization_level": 5}, "the optimization level must be 0, 1, 2 or 3, but got 5"),
    (mlp(), {"optimizer": SGD, "accumulate": 0}, "accumulate"),
    (mlp().replace("return", "func.call @elsewhere() : () -> ()\n  return") + "func.func private @elsewhere()",
     {"optimizer": SGD}, r"model.mlir:44:1: error: the step calls 'elsewhere', which has no body and is in no library"),
    (mlp().replace("tensor<6x5xf32> {remat.data", "tensor<?x5xf32> {remat.data")
     .replace("%x : tensor<6x5xf32>, %w ", "%cast : tensor<6x5xf32>, %w ")
     .replace("  %scale =", "  %cast = tensor.cast %x : tensor<?x5xf32> to tensor<6x5xf32>\n  %scale ="),
     {"optimizer": SGD}, r"model.mlir:6:17: error: argument 0 .'x'. needs a static shape"),
    (mlp("opt.optimizer @o = #opt.sgd<lr = 0.1>\nremat.train_step @step for @loss optimizer(@o) {eager}"),
     {"optimizer": SGD}, r"model.mlir:6:1: error: .*says already how the model is trained"),
    (mlp().replace("math.tanh %s : f32", "math.tanh %s : f64"), {"optimizer": SGD},
     r"model.mlir:22:22: error: use of value .%s. expects different type"),
    (mlp().replace("-> tensor<f32> {\n  %zero", "-> tensor<6x3xf32> {\n  %zero")
     .replace("return %loss : tensor<f32>", "return %q : tensor<6x3xf32>"), {"optimizer": SGD}, "scalar"),
    (mlp().replace("opt.param", "opt.parm"), {"optimizer": SGD}, "opt.parm|param"),
    (mlp() + mlp().replace("@loss", "@other").split("#scalar = affine_map<(i, j) -> ()>")[1], {"optimizer": SGD},
     "the module has 2 public functions; name the one that is the loss")])
def test_what_is_wrong_with_a_model_is_said_with_its_place(text, arguments, message):
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step(text, **arguments)
    assert re.search(message, str(caught.value), re.S), str(caught.value)
    assert any(d.severity == "error" for d in caught.value.diagnostics)


@pytest.mark.parametrize("arguments, message", [
    ({"options": "target=tpu"}, "target: unknown target 'tpu'; choose cpu or cuda"),
    ({"options": "threads=many"}, "threads: expects a number from 0 on, but got 'many'"),
    ({"options": "threads"}, "threads: expects a number from 0 on, but got ''"),
    ({"options": "loss-tile=1e3"}, "loss-tile: expects a number, but got '1e3'"),
    ({"options": "emulate=perhaps"}, "emulate: expects true or false, but got 'perhaps'"),
    ({"passes": "remat-train{target=tpu}"}, "target: unknown target 'tpu'; choose cpu or cuda")])
def test_a_value_that_is_refused_is_said_by_the_exception_alone(arguments, message, capfd):
    with pytest.raises(remat.CompileError, match=re.escape(message)):
        remat.mlir.train_step(mlp(), optimizer=SGD, **arguments)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("arguments, message", [
    ({"text": 3}, "the module must be text, or bytecode in bytes, but got int"),
    ({"optimizer": 3}, "the optimizer must be one of remat's.* but got int"),
    ({"policy": 3}, "policy must be a policy, such as remat.dots_saveable, a selection of what it is for.* but got int"),
    ({"policy": remat.save_if(bool)}, r"chooses among the operations of a selection: remat.whole\(\) \| save_if\(bool\)")])
def test_arguments_of_wrong_types(arguments, message):
    with pytest.raises(TypeError, match=message):
        remat.mlir.train_step(**({"text": mlp(), "optimizer": SGD} | arguments))


@pytest.mark.parametrize("optimizer", ["sgd", "opt.sgd<lr = 0.1>", ""])
def test_an_optimizer_that_is_no_attribute(optimizer):
    with pytest.raises(ValueError, match=r"the text of an attribute, such as '#opt.sgd<lr = 0.1>', but got"):
        remat.mlir.train_step("module {}", optimizer=optimizer)


def test_arguments_of_other_names():
    with pytest.raises(TypeError, match="train_step has no argument called optimiser; it has optimizer, policy"):
        remat.mlir.explain(mlp(), optimiser=SGD)
    with pytest.raises(TypeError, match="optimiser"):
        remat.mlir.train_step(mlp(), optimiser=SGD)


def test_small_numbers_are_written_as_attributes():
    step = remat.mlir.train_step(mlp(), optimizer=remat.SGD(1e-12, weight_decay=1e-300), clip_global_norm=1e-5)
    assert step.number == 0


def test_values_that_attributes_do_not_have():
    with pytest.raises(ValueError, match="a hyperparameter must be a finite number, but got nan"):
        str(remat.SGD(float("nan")))
    with pytest.raises(TypeError, match="a hyperparameter must be a number, but got None"):
        str(remat.SGD(None))
    with pytest.raises(ValueError, match="must begin with @"):
        str(remat.SGD("schedule"))
    with pytest.raises(ValueError, match="named, or it becomes regions"):
        remat.layers(policy="dots_saveable", name="h")
    with pytest.raises(ValueError, match="at least one pattern"):
        remat.scopes()
    with pytest.raises(AttributeError, match="module 'remat' has no attribute 'Adan'"):
        remat.Adan


def test_diagnostics_have_places_and_lines_of_the_source():
    with pytest.raises(remat.CompileError) as caught:
        remat.mlir.train_step(mlp().replace("math.tanh %s", "math.tanh %unknown"), optimizer=SGD, file_name="net.mlir")
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.severity, diagnostic.file, diagnostic.line) == ("error", "net.mlir", 22)
    assert diagnostic.column == 22 and diagnostic.message == "use of undeclared SSA value name"
    assert "%r = math.tanh %unknown : f32\n" in str(caught.value) and "^" in str(caught.value)


def test_warnings_are_kept_and_logged(caplog):
    text = mlp().replace("%w1: tensor<4x3xf32> {opt.param",
                         '%unused: tensor<2xf32> {opt.param = "unused", opt.init = "zeros"},\n'
                         "                %w1: tensor<4x3xf32> {opt.param")
    with caplog.at_level(logging.WARNING, "remat"):
        step = remat.mlir.train_step(text, optimizer=SGD)
    assert any("unused" in str(warning) for warning in step.warnings)
    assert "unused" in caplog.text


@pytest.mark.parametrize("name", ["optimizers", "policies", "stored"])
def test_examples_in_the_documentation(name):
    results = doctest.testmod(importlib.import_module(f"remat.{name}"))
    assert results.attempted > 0 and results.failed == 0


def test_importing_the_package_loads_nothing_else():
    code = ("import sys; import remat; loaded = set(sys.modules); "
            "print(sorted(m for m in loaded if m.split('.')[0] in ('numpy', 'jax', 'torch', 'ml_dtypes') or "
            "m.startswith('remat.')))")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
