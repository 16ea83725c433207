# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States and parameters that are stored in fewer bytes."""
import ml_dtypes
import numpy as np
import pytest

import remat
from conftest import Program, assert_same_bits

ROWS, COLUMNS, STEPS = 64, 66, 4


def model(element="f32", header=""):
    wide = "%p = arith.extf %a : bf16 to f32" if element == "bf16" else "%p = arith.addf %a, %zero : f32"
    return f"""{header}
func.func @loss(%w: tensor<{ROWS}x{COLUMNS}x{element}> {{opt.param = "w", opt.init = "normal(1.0)"}},
                %b: tensor<{COLUMNS}x{element}> {{opt.param = "b", opt.init = "ones"}}, %x: tensor<2x{COLUMNS}xf32> {{remat.data = "x"}}) -> tensor<f32> {{
  %zero = arith.constant 0.0 : f32
  %sum = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, k)>,
      affine_map<(i, j, k) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}}
      ins(%w, %b, %x : tensor<{ROWS}x{COLUMNS}x{element}>, tensor<{COLUMNS}x{element}>, tensor<2x{COLUMNS}xf32>) outs(%sum : tensor<f32>) {{
  ^bb0(%a: {element}, %c: {element}, %d: f32, %s: f32):
    {wide}
    {wide.replace("%p", "%q").replace("%a", "%c")}
    %0 = arith.mulf %p, %q : f32
    %1 = arith.subf %0, %d : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  }} -> tensor<f32>
  return %loss : tensor<f32>
}}"""


def data():
    return np.random.default_rng(0).standard_normal((2 * STEPS, COLUMNS)).astype("f4")


BLOCKS8, BLOCKS4 = -(-ROWS * COLUMNS // 256), -(-ROWS * COLUMNS // 128)


@pytest.mark.parametrize("kind, shapes", [
    ("f32", {"w.m": ("f4", (ROWS, COLUMNS)), "w.v": ("f4", (ROWS, COLUMNS))}),
    ("bf16", {"w.m": (ml_dtypes.bfloat16, (ROWS, COLUMNS)), "w.v": (ml_dtypes.bfloat16, (ROWS, COLUMNS))}),
    ("int8", {"w.m": ("i1", (BLOCKS8, 256)), "w.m.scale": ("f4", (BLOCKS8,)), "w.v": ("i1", (BLOCKS8, 256)), "w.v.scale": ("f4", (BLOCKS8,))}),
    ("int4", {"w.m": ("i1", (BLOCKS4, 64)), "w.m.scale": ("f4", (BLOCKS4,)), "w.v": ("i1", (BLOCKS4, 64)), "w.v.scale": ("f4", (BLOCKS4,))})])
def test_states_have_names_and_the_bits_of_a_program(kind, shapes, tmp_path):
    step = remat.mlir.train_step(model(), optimizer=remat.AdamW(0.01, states=kind), seed=3)
    losses = [step(data()[2 * i:2 * i + 2]) for i in range(STEPS)]
    states = step.state_dict()
    assert {name: (array.dtype, array.shape) for name, array in states.items() if name.startswith("w.")} == {
        name: (np.dtype(dtype), shape) for name, (dtype, shape) in shapes.items()}
    small = np.dtype(ml_dtypes.bfloat16) if kind == "bf16" else np.dtype("f4")
    assert states["b.m"].dtype == small and states["b.m"].shape == (COLUMNS,)
    # The memory report counts them; there is no room for moments of f32 in the arena.
    size = {name: array.nbytes for name, array in states.items() if "." in name and not name.startswith("remat.")}
    assert f"{sum(size.values()):,}" in str(step.memory), str(step.memory)
    if kind != "f32":
        plain = remat.mlir.memory(model(), optimizer=remat.AdamW(0.01))
        assert step.memory.arena < plain.arena + ROWS * COLUMNS
    program = Program(model(header=f"opt.optimizer @o = #opt.adamw<lr = 0.01, states = {kind}>\n"
                                   "remat.train_step @step for @loss optimizer(@o) {eager, seed = 3}"), tmp_path, "")
    program_losses, saved, _ = program.train({"x": data()}, STEPS)
    assert_same_bits(step, losses, program_losses, saved)


@pytest.mark.parametrize("element, options", [
    ("f32", {"states": "int8"}), ("f32", {"states": "int4"}), ("f32", {"states": "bf16"}),
    ("bf16", {"states": "int8", "rounding": "stochastic"}), ("bf16", {"rounding": "kahan"})])
@pytest.mark.parametrize("arguments", [{"clip_global_norm": 0.5}, {"accumulate": 2}, {"accumulate": 2, "clip_global_norm": 0.5}])
def test_eager_forms_of_clipping_and_accumulation(element, options, arguments):
    steps = [remat.mlir.train_step(model(element), optimizer=remat.AdamW(0.01, **options), seed=3, eager=eager, **arguments)
             for eager in (True, False)]
    for i in range(STEPS // 2):
        first, second = (step(data()[4 * i:4 * i + 2 * arguments.get("accumulate", 1)]) for step in steps)
        assert first == second
    states = [step.state_dict() for step in steps]
    assert all(states[0][name].tobytes() == states[1][name].tobytes() for name in states[0])


@pytest.mark.parametrize("rounding", ["nearest", "stochastic", "kahan"])
def test_parameters_of_bf16(rounding, tmp_path):
    steps = [remat.mlir.train_step(model("bf16"), optimizer=remat.AdamW(0.001, states="int8", rounding=rounding), seed=3, eager=eager)
             for eager in (True, False)]
    losses = [[step(data()[2 * i:2 * i + 2]) for i in range(STEPS)] for step in steps]
    states = [step.state_dict() for step in steps]
    assert losses[0] == losses[1] and all(states[0][name].tobytes() == states[1][name].tobytes() for name in states[0])
    assert ("w.compensation" in states[0]) == (rounding == "kahan")
    # A run that goes on from a file is the one that was not interrupted.
    first, second = (remat.mlir.train_step(model("bf16"), optimizer=remat.AdamW(0.001, states="int8", rounding=rounding), seed=3)
                     for _ in range(2))
    for i in range(STEPS):
        if i == 2:
            first.save(tmp_path / "run.safetensors")
            second.load(tmp_path / "run.safetensors")
        (second if i >= 2 else first)(data()[2 * i:2 * i + 2])
    assert all(array.tobytes() == states[0][name].tobytes() for name, array in second.state_dict().items())


def test_another_seed_rounds_in_another_way():
    def run(seed):
        step = remat.mlir.train_step(model("bf16"), optimizer=remat.SGD(1e-5, rounding="stochastic"), seed=seed)
        step.load_state_dict({"w": np.full((ROWS, COLUMNS), 1.5, ml_dtypes.bfloat16)}, strict=False)
        step(data()[:2])
        return step.parameters["w"].tobytes()

    assert run(1) == run(1) != run(2)


def test_a_nan_stays_in_its_block():
    step = remat.mlir.train_step(model(), optimizer=remat.SGD(0.1, momentum=0.9, states="int8"))
    w = np.array(step.parameters["w"])
    w[0, 1] = np.nan
    step.load_state_dict({"w": w}, strict=False)
    step(data()[:2])
    scales = step.state_dict()["w.momentum.scale"]
    assert np.isnan(scales[0]) and np.isfinite(scales[1:]).all()


@pytest.mark.parametrize("kind, other", [("f32", "int8"), ("int8", "f32"), ("int4", "bf16"), ("bf16", "f32"), ("int8", "int4"), ("int4", "int4")])
def test_states_are_converted(kind, other, tmp_path, caplog):
    """From a file of a step, and from a state_dict."""
    def make(states):
        return remat.mlir.train_step(model(), optimizer=remat.AdamW(0.01, states=states), seed=3)

    first, second, third = make(kind), make(other), make(other)
    for i in range(2):
        first(data()[2 * i:2 * i + 2])
    first.save(tmp_path / "run.safetensors")
    second.load(tmp_path / "run.safetensors")
    third.load_state_dict(first.state_dict())
    converted = [record.message for record in caplog.records if "converted states" in record.message]
    names = {"f32": "float32", "bf16": "bfloat16"}
    small = {"f32": "float32", "bf16": "bfloat16", "int8": "float32", "int4": "float32"}
    told = {f"2 from {names.get(kind, kind)} to {names.get(other, other)}"} if kind != other else set()
    if small[kind] != small[other]:
        told |= {f"2 from {small[kind]} to {small[other]}"}
    if kind in names and other in names and kind != other:
        told = {f"4 from {names[kind]} to {names[other]}"}  # of both parameters
    assert all(set(line.split(": ")[1].split(", ")) == told for line in converted) and len(converted) == 2 * bool(told)
    assert all(array.tobytes() == third.state_dict()[name].tobytes() for name, array in second.state_dict().items())

    def numbers(step, name):
        state = step.state_dict()
        blocks = remat.stored.read(state).get(name)
        return (remat.stored.dequantize(state[name], state[f"{name}.scale"], blocks).reshape(ROWS, COLUMNS) if blocks else
                state[name].astype("f4"))

    for name in ("w.m", "w.v"):
        before, after = numbers(first, name), numbers(second, name)
        largest = np.abs(before).max()
        unit = {"f32": 0, "bf16": 2**-8, "int8": 0.02, "int4": 0.15}[other]
        assert np.abs(after - before).max() <= unit * largest if kind != other else np.array_equal(after, before)


def test_a_file_without_what_was_rounded_away(tmp_path):
    first = remat.mlir.train_step(model("bf16"), optimizer=remat.AdamW(0.01), seed=3)
    second = remat.mlir.train_step(model("bf16"), optimizer=remat.AdamW(0.01, rounding="kahan"), seed=3)
    first(data()[:2])
    first.save(tmp_path / "run.safetensors")
    second.load(tmp_path / "run.safetensors")
    assert not second.state_dict()["w.compensation"].astype("f4").any() and second.number == 1


def test_what_there_is_not():
    with pytest.raises(ValueError, match="expected one of f32, bf16, int8, int4, but got 'int2'"):
        remat.mlir.train_step(model(), optimizer=remat.AdamW(0.01, states="int2"))
    with pytest.raises(TypeError, match="states"):
        remat.Adafactor(states="int8")
    with pytest.raises(remat.CompileError, match="'states' of #opt.sgd is how its momentum is stored"):
        remat.mlir.train_step(model(), optimizer=remat.SGD(0.01, states="int8"))
    with pytest.raises(remat.CompileError, match="'states' of #opt.adamw must be one of f32, bf16, int8, int4, but got \"int2\""):
        remat.mlir.train_step(model(), optimizer=remat.AdamW(0.01, groups=[remat.Group("w", states="int2")]))
    group = remat.AdamW(0.01, states="int8", groups=[remat.Group("w", states="f32", rounding="kahan")])
    assert '#opt.group<"w", states = f32, rounding = kahan>' in str(group)
