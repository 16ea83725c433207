# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and gradients of a random model against the same model in float64 on the CPU.

The optimizer is replaced by SGD with momentum, whose state is the gradient after the first step, to the bit. Both start from
the same parameters; draws do not depend on the type.
"""
import re
import zlib
from pathlib import Path

import numpy as np
from programs import Failure, Program

MOMENTUM = "#opt.sgd<lr = 0.01, momentum = 0.9>"
# A gradient of f32 is off by its rounding, times what the model makes of that.
TOLERANCE = 1e-3


def gradient_model(text):
    return re.sub(r"opt\.optimizer @optimizer = .*", f"opt.optimizer @optimizer = {MOMENTUM}", text)


def widened(text):
    return text.replace("f32", "f64").replace("0xFF800000", "0xFFF0000000000000")


def initial(text):
    """Parameters and states to start from, as the model says it."""
    arrays = {}
    for dims, name, start in re.findall(
            r'tensor<([\dx]*)xf32> \{(?:opt\.param|remat\.state) = "([^"]+)", opt\.init = "([^"]+)"', text):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        drawn = rng.standard_normal([int(n) for n in dims.split("x")])
        deviation = re.fullmatch(r"normal\((.*)\)", start)
        arrays[name] = (float(deviation[1]) * drawn if deviation else
                        (start == "ones") + 0.1 * np.abs(drawn)).astype(np.float32)
    return arrays


def first_step(folder, stem, text, target="", is_wide=False, **options):
    """Loss and gradients of the first step, from init.npz and data.npz in the types of `text`."""
    path = Path(folder) / f"{stem}.mlir"
    path.write_text(text)
    files = {}
    for kind in "init", "data":
        files[kind] = path.with_suffix(f".{kind}.npz")
        with np.load(Path(folder) / f"{kind}.npz") as arrays:
            np.savez(files[kind], **{name: array.astype(np.float64) if array.dtype == np.float32 and is_wide else array
                                     for name, array in arrays.items()})
    losses, arrays, _ = Program(folder, path, target=target).train(1, level=0, **files, **options)
    parameters = re.findall(r'opt\.param = "([^"]+)"', text)
    states = {p: [k for k in arrays if k.startswith(p + ".") and k not in parameters] for p in parameters}
    return float(losses[0]), {p: arrays[k[0]] for p, k in states.items() if k}


def errors(found, expected):
    (loss, gradients), (wide_loss, wide) = found, expected
    if gradients.keys() != wide.keys():
        raise Failure(f"gradients of other parameters: {sorted(gradients.keys() ^ wide.keys())}")
    # One that is zero but for rounding is measured by the largest one.
    floor = 1e-3 * max((np.linalg.norm(g) for g in wide.values()), default=0)
    result = {name: np.linalg.norm(gradients[name].astype(np.float64) - g) / max(np.linalg.norm(g), floor, 1e-30)
              for name, g in wide.items()}
    return result | {"the loss": abs(loss - wide_loss) / max(abs(wide_loss), 1e-3)}


def check_gradients(folder, text, target, reference=None, **options):
    """Raises Failure if a gradient is further from that in float64 than rounding explains. A model that amplifies rounding does
    so on every target: where one is far off, it is compared with the CPU in f32, and with what rounding the parameters does in
    float64. `reference`: the same model written in another way, which is computed in float64."""
    text, reference = gradient_model(text), gradient_model(reference or text)
    arrays = initial(text)

    def wide_step(stem, arrays):
        np.savez(Path(folder) / "init.npz", **arrays)
        return first_step(folder, stem, widened(reference), is_wide=True)

    expected = wide_step("wide", arrays)
    np.savez(Path(folder) / "init.npz", **arrays)
    found = errors(first_step(folder, "gradients", text, target, **options), expected)
    far = {name: error for name, error in found.items() if not error <= TOLERANCE}
    if far:
        samples = [errors(first_step(folder, "gradients", text), expected)]
        rng = np.random.default_rng(0)
        for _ in range(3):
            rounded = {name: array * (1 + 2.0**-24 * rng.standard_normal(array.shape)) for name, array in arrays.items()}
            samples.append(errors(wide_step("rounded", rounded), expected))
        explained = {name: max(sample[name] for sample in samples) for name in far}
        far = {name: error for name, error in far.items() if not error <= 10 * explained[name]}
    if far:
        worst = max(far, key=lambda name: far[name] if far[name] == far[name] else np.inf)
        raise Failure(f"gradients are not those of float64: {worst} is off by {far[worst]:.1e}, "
                      f"by rounding alone {explained[worst]:.1e}")
