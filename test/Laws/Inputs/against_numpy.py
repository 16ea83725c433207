# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One model against NumPy in float64: dropout in two tied layers, running statistics, SGD with momentum; with
accumulation over micro-batches and with clipping of the global norm. LIBRARIES names what mlir-runner loads."""
import tempfile
from pathlib import Path

import numpy as np
from programs import Program
from random_models import Printer, Value, scalar_body, typed
from remat.testing import philox

STEPS, BATCH, WIDTH, SEED, RATE = 3, 4, 16, 7, 0.05
VARIANTS = {"plain": "eager", "clipped": "deferred, clip_global_norm = 0.2", "swept twice": "eager, clip_global_norm = 0.2",
            "accumulated": "deferred, accumulate = 4", "distributed": "eager, accumulate = 4",
            "distributed and swept twice": "eager, accumulate = 4, clip_global_norm = 0.2"}


def model(options):
    """Twice x = dropout(tanh(x w)), in one region each, and a state that follows the mean of x."""
    p = Printer()
    p.depth = 1
    shape = (BATCH, WIDTH)
    x, w, state = Value("%x", shape), Value("%w", (WIDTH, WIDTH)), [Value("%s0", (WIDTH,))]
    for i in range(2):
        def layer(x, w, *state):
            zero, two, keep, move, share = (p.scalar(n) for n in ("0.0", "2.0", "0.9", "0.1", repr(1 / BATCH)))
            mask = Value("%mask", shape, "i1")
            p.emit(f"%rng = remat.get_rng @dropout\n    {mask}, %next = remat.random_bernoulli %rng {{p = 0.5 : f64}} : "
                   f"{mask.type}\n    remat.set_rng @dropout, %next")
            y = p.generic([(p.matmul(x, w), "d0 d1"), (mask, "d0 d1")], shape, lambda a, m, _: ([
                f"%t = math.tanh {a} : f32", f"%g = arith.mulf %t, {two} : f32", f"%s = arith.select {m}, %g, {zero} : f32"],
                "%s"))
            if not state:
                return [y]
            mean = p.generic([(y, "d0 d1")], (WIDTH,), scalar_body(f"mulf a0 {share}\naddf acc b0"), reduced=(0,))
            return [y, p.generic([(*state, "d0"), (mean, "d0")], (WIDTH,), scalar_body(
                f"mulf a0 {keep}\nmulf a1 {move}\naddf b0 b1"))]
        x, *state = p.region(f"layer{i}", [x, w, *state], layer)
    mean = p.scalar(f"{1 / (BATCH * WIDTH)!r}")
    loss = p.generic([(x, "d0 d1"), (Value("%y", shape), "d0 d1")], (), scalar_body(
        f"subf a0 a1\nmulf b0 b0\nmulf b1 {mean}\naddf acc b2"), reduced=(0, 1))
    body, attribute = "\n".join(p.lines), '{remat.state = "s"}'
    argument = "".join(f", %s0: {s.type} {attribute}" for s in state)
    result = "".join(f", {s.type} {attribute}" for s in state)
    return f"""opt.optimizer @sgd = #opt.sgd<lr = {RATE}, momentum = 0.9>
remat.train_step @step for @loss optimizer(@sgd) {{{options}}}
remat.generator @dropout seed(0)
func.func @loss(%x: tensor<{BATCH}x{WIDTH}xf32> {{remat.data = "x"}}, %y: tensor<{BATCH}x{WIDTH}xf32> {{remat.data = "y"}},
    %w: tensor<{WIDTH}x{WIDTH}xf32> {{opt.param = "w"}}{argument})
    -> (tensor<f32> {{remat.loss}}{result}) {{
{body}
  return {typed([loss, *state])}
}}
"""


def micro_batch(x, y, w, state, masks):
    """Loss, gradient and next state."""
    inputs, tanhs = [], []
    for mask in masks:
        inputs.append(x)
        tanhs.append(np.tanh(x @ w))
        x = np.where(mask, 2 * tanhs[-1], 0)
        state = 0.9 * state + 0.1 * x.mean(0)
    loss, cotangent, gradient = np.square(x - y).mean(), 2 * (x - y) / x.size, np.zeros_like(w)
    for a, t, mask in list(zip(inputs, tanhs, masks))[::-1]:
        cotangent = np.where(mask, 2 * cotangent, 0) * (1 - t * t)
        gradient += a.T @ cotangent
        cotangent = cotangent @ w.T
    return loss, gradient, state


def expected(data, init, kind):
    w, state = (init[k].astype(np.float64) for k in ("w", "s"))
    rng, momentum, losses, seen = philox.init(SEED), 0, [], []
    count = 4 if "accumulate" in VARIANTS[kind] else 1
    for step in range(STEPS):
        loss, gradient = 0, 0
        for i in range(step * count, (step + 1) * count):
            masks = []
            for _ in range(2):
                mask, rng = philox.bernoulli(rng, (BATCH, WIDTH), 0.5)
                masks.append(mask)
            seen += masks
            x, y = (data[k][i * BATCH:(i + 1) * BATCH].astype(np.float64) for k in "xy")
            l, g, state = micro_batch(x, y, w, state, masks)
            loss, gradient = loss + l / count, gradient + g / count
        if "clip" in VARIANTS[kind]:
            norm = np.linalg.norm(gradient)
            assert norm > 0.2, norm
            gradient = gradient * 0.2 / (norm + 1e-6)
        momentum = gradient if step == 0 else 0.9 * momentum + gradient
        w = w - RATE * momentum
        losses.append(loss)
    assert len({m.tobytes() for m in seen}) == len(seen)  # the oracle's masks differ per layer and step
    return losses, w, state


def main():
    rng = np.random.default_rng(0)
    data = {k: rng.standard_normal((4 * STEPS * BATCH, WIDTH)).astype(np.float32) for k in "xy"}
    init = {"w": rng.standard_normal((WIDTH, WIDTH)).astype(np.float32), "s": np.zeros(WIDTH, np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/data.npz", **data)
        np.savez(f"{folder}/init.npz", **init)
        for kind, options in VARIANTS.items():
            losses, w, state = expected(data, init, kind)
            Path(folder, "model.mlir").write_text(model(options))
            bits = set()
            for policy in "none", "nothing_saveable", "everything_saveable":
                found, arrays, _ = Program(folder, f"{folder}/model.mlir", policy).train(
                    STEPS, init=f"{folder}/init.npz")
                np.testing.assert_allclose([float(l) for l in found], losses, rtol=1e-5)
                np.testing.assert_allclose(arrays["w"], w, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(arrays["s"], state, rtol=1e-4, atol=1e-5)
                bits.add(b"".join(arrays[k].tobytes() for k in sorted(arrays)))
            assert len(bits) == 1, "policies differ in bits"
            print(f"{kind}: as in NumPy", flush=True)


if __name__ == "__main__":
    main()
