# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`step.memory.advise()`: changes that lower the peak, with the figures that they have when they are made."""
import copy
import pickle
import weakref

import pytest

import remat
from conftest import mlp
from test_budget import LAYERS, deep

ADAMW = remat.AdamW(0.01)
FAST = "plan-visits=3000000"


def plain():
    """The model of `test_budget` without a step of its own."""
    return "".join(line for line in deep().splitlines(keepends=True) if not line.startswith(("opt.", "remat.")))


def measure(text=None, **arguments):
    return remat.mlir.memory(plain() if text is None else text, **({"optimizer": ADAMW, "options": FAST} | arguments))


def find(advice, text):
    found = [change for change in advice.changes if change.text.startswith(text)]
    assert len(found) == 1, advice
    return found[0]


def test_figures_of_the_report():
    memory = measure(eager=False)
    advice = memory.advise()
    assert not advice.is_compiled and all(change.memory is None for change in advice.changes)
    assert [c.at_peak for c in advice.changes] == sorted((c.at_peak for c in advice.changes), reverse=True)
    assert find(advice, "eager=True").at_peak == memory.gradients > 0
    assert find(advice, "policy=remat.layers()").at_peak == memory.residuals
    assert find(advice, "accumulate=2, of half the batch").at_peak == memory.live - memory.gradients
    assert find(advice, "accumulate=2").note == "remat.fit(make_step, memory, batch=...) compiles it"
    text = repr(advice)
    assert text.startswith(f"the peak is {memory.peak:,} bytes, {memory.arena:,} of them in the arena\n")
    assert f"  {memory.gradients:,}  gradients: eager=True" in text


def test_what_is_live_without_a_tensor():
    memory = measure()
    for tensor, live in memory.advise().tensors:
        own = [b for b in memory.at_peak if (b.bytes, b.part, b.type, b.op, b.line) ==
               (tensor.bytes, tensor.part, tensor.type, tensor.what, tensor.line)]
        assert len(own) == tensor.count and sum(b.bytes for b in own) == tensor.total
        # At each position, by hand.
        assert live == max(sum(b.bytes for b in memory.buffers if b not in own and b.first <= at <= b.last)
                           for at, _ in memory.timeline) < memory.live


def test_compiled_changes_are_what_a_step_takes():
    memory = measure(eager=False)
    advice = memory.advise(compile=True)
    assert advice.is_compiled
    compiled = [change.memory.peak for change in advice.changes if change.memory]
    assert compiled == sorted(compiled) and len(compiled) >= 2
    eager = find(advice, "eager=True")
    assert eager.memory == measure() and eager.memory.peak <= memory.peak
    budget = memory.peak - int((1 - 0.9) * memory.arena)
    met = find(advice, f"budget={budget}").memory
    assert met.peak <= budget < memory.peak and met == measure(eager=False, budget=budget)
    assert find(advice, "slowdown=0.1").memory == measure(eager=False, slowdown=0.1)
    lines = repr(advice).splitlines()
    assert [f"{eager.memory.peak:,}", f"{memory.peak - eager.memory.peak:,}", f"{eager.memory.recomputed_ops:,}", "eager=True"] in \
        [line.split() for line in lines]
    assert any(line.startswith("  not compiled: accumulate=2, of half the batch: remat.fit") for line in lines)


def test_the_backward_may_run_twice():
    memory = measure(clip_global_norm=1.0)
    change = find(memory.advise(), "eager=True")
    assert change.at_peak == memory.gradients > 0 and change.note == "the backward runs twice" and change.same_bits
    assert find(memory.advise(compile=True), "eager=True").memory == measure(eager=True, clip_global_norm=1.0)
    assert find(measure(accumulate=2).advise(), "eager=True").note == "what the forward saves is kept for all micro-batches"


def test_a_change_that_does_not_compile():
    advice = measure(mlp(), policy="none").advise(compile=True)
    layers = find(advice, "policy=remat.layers()")
    assert layers.memory is None and layers.note
    assert f"  not compiled: policy=remat.layers(): {layers.note.splitlines()[0]}" in repr(advice)
    regions = find(advice, "policy=remat.nothing_saveable")
    assert regions.memory == measure(mlp(), policy="nothing_saveable")


def test_only_what_makes_sense():
    def texts(**arguments):
        return {change.text.partition("=")[0].partition(" ")[0] + "=" + change.text.partition("=")[2][:12]
                for change in measure(**arguments).advise().changes}

    assert not any("eager" in text for text in texts() | texts(eager=True, clip_global_norm=1.0) | texts(eager=True, accumulate=2))
    assert "accumulate=6, of half t" in texts(accumulate=3)
    assert not any("remat.layers" in text for text in texts(policy=remat.layers()))
    assert not any("nothing" in text for text in texts())  # There are no regions.
    assert not any(text.startswith(("budget", "slowdown")) for text in texts(options=f"{FAST} budget=1.0"))
    assert any(text.startswith("budget") for text in texts(slowdown=0.2))
    assert not any("loss-tile" in text for text in texts(options="loss-tile=0"))
    assert not any(text.startswith(("eager", "accumulate")) for text in texts(text=deep(), optimizer=None))


HEAD = """
func.func @loss(%x: tensor<64x16xf32> {remat.data = "x"}, %labels: tensor<64xi32> {remat.data = "labels"},
                %w: tensor<16x1024xf32> {opt.param = "w", opt.init = "normal(0.1)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.015625 : f32
  %logits_like = tensor.empty() : tensor<64x1024xf32>
  %rows_like = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%logits_like : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %z = linalg.matmul ins(%x, %w : tensor<64x16xf32>, tensor<16x1024xf32>) outs(%zeros : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %lowest = linalg.fill ins(%low : f32) outs(%rows_like : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.reduce { arith.maximumf } ins(%z : tensor<64x1024xf32>) outs(%lowest : tensor<64xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%m : tensor<64xf32>) outs(%logits_like : tensor<64x1024xf32>) dimensions = [1]
  %d = linalg.map { arith.subf } ins(%z, %b : tensor<64x1024xf32>, tensor<64x1024xf32>) outs(%logits_like : tensor<64x1024xf32>)
  %e = linalg.map { math.exp } ins(%d : tensor<64x1024xf32>) outs(%logits_like : tensor<64x1024xf32>)
  %rows_zero = linalg.fill ins(%zero : f32) outs(%rows_like : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.reduce { arith.addf } ins(%e : tensor<64x1024xf32>) outs(%rows_zero : tensor<64xf32>) dimensions = [1]
  %l = linalg.map { math.log } ins(%s : tensor<64xf32>) outs(%rows_like : tensor<64xf32>)
  %lse = linalg.map { arith.addf } ins(%l, %m : tensor<64xf32>, tensor<64xf32>) outs(%rows_like : tensor<64xf32>)
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%lse : tensor<64xf32>) outs(%start : tensor<f32>) dimensions = [0]
  return %sum : tensor<f32>
}
"""


def test_tiles_of_a_loss():
    memory = measure(HEAD)
    assert memory.at_peak[0].bytes == 64 * 1024 * 4
    advice = memory.advise(compile=True)
    tiles = find(advice, "options=")
    assert tiles.text == "options='loss-tile=65536'" and not tiles.same_bits
    assert tiles.memory == measure(HEAD, options=f"{FAST} loss-tile=65536") and tiles.memory.peak < memory.peak
    assert "options='loss-tile=65536' (other bits)" in repr(advice)
    # A model without a loss head has no such row.
    assert not any("loss-tile" in change.text for change in measure().advise(compile=True).changes)


def test_figures_without_a_model():
    memory = measure()
    for other in (pickle.loads(pickle.dumps(memory)), copy.deepcopy(memory)):
        assert other == memory and other.variants is None
        assert other.advise().changes == () and other.advise().tensors == memory.advise().tensors
        with pytest.raises(ValueError, match="these figures are not of a step of this process"):
            other.advise(compile=True)
    evaluated = remat.mlir.train_step(mlp(), optimizer=ADAMW, eval_function="loss", optimization_level=0).eval_memory
    assert evaluated.advise().changes == () and repr(evaluated.advise()).startswith("the peak is")


def test_a_step_has_the_advice_of_its_model():
    step = remat.mlir.train_step(plain(), optimizer=ADAMW, options=FAST, optimization_level=0)
    assert repr(step.memory.advise()) == repr(measure().advise())
    assert step.memory == measure() and LAYERS == len(step.parameters)


def test_half_of_a_batch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))

    def make(batch, **arguments):
        return remat.torch.train_step(model, torch.nn.functional.mse_loss, (torch.zeros(batch, 8), torch.zeros(batch, 1)),
                                      optimizer=remat.SGD(0.1), options=FAST, **arguments)

    for accumulate, parts in ((None, 2), (2, 4)):
        step = make(64, dynamic=True, accumulate=accumulate)
        halved = find(step.memory.advise(compile=True), f"accumulate={parts}, of half the batch")
        assert halved.memory == make(32, accumulate=parts).memory and halved.memory.data == step.memory.data
        assert halved.memory.peak < step.memory.peak and not halved.same_bits
    memory, alive = step.memory, weakref.ref(step)
    del step
    assert alive() is None and find(memory.advise(compile=True), "accumulate=4").memory == halved.memory
    odd = find(make(63, dynamic=True).memory.advise(compile=True), "accumulate=2")
    assert odd.memory is None and odd.note.startswith("there is no half of the data: batch.0: float32[63, 8]")
