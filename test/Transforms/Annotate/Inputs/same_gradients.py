# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model's loss and gradients are the same bits however it is annotated, and its peak falls with what may be saved.

    same_gradients.py MODEL.mlir VARIANT ...

A variant is the options of one remat-annotate, or of several separated by `; `. The first one is to have the highest
peak and the last one the lowest, with the batch dimension 16 (of the torch model) or 12 (of the JAX model) enlarged.
"""
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from remat.testing.libraries import Library, run, tool

BACKWARD = ("remat-differentiate, remat-inline-custom-vjp, canonicalize, cse, remat-plan, remat-materialize, canonicalize, cse, "
            "remat-inline-regions, remat-lower-tapes, func.func(convert-elementwise-to-linalg)")
LARGER = {"16": "2048", "12": "192"}


def annotate(variant):
    return "".join(f"remat-annotate{{{options}}}, " for options in variant.split("; ") if options)


def gradients(text, variant, folder):
    library = Library(text, folder, passes=annotate(variant) + BACKWARD)
    signature = re.search(r"func.func @loss_grad\((.*?)\) -> ", library.text).group(1)
    shapes = [[int(n) for n in dims.split("x")[:-1]] for dims in re.findall(r"%arg\d+: tensor<((?:\d+x)*)f32>", signature)]
    rng = np.random.default_rng(3)
    arrays = [(0.3 * rng.standard_normal(shape)).astype(np.float32) for shape in shapes]
    results = [("f32", 0)] + [("f32", len(shapes[i])) for i in library.gradients_of("loss_grad")]
    return library.call("loss_grad", arrays, results)


def peak(text, variant, folder):
    for small, large in LARGER.items():
        text = re.sub(rf"(?<=[<x]){small}(?=x)", large, text)
        text = re.sub(rf"\[{small}, ", f"[{large}, ", text)
    source, report = Path(folder) / "large.mlir", Path(folder) / "report.json"
    source.write_text(text)
    run([tool("remat-opt", "REMAT_BIN"), source, f"--pass-pipeline=builtin.module({annotate(variant)}remat-train-to-tensors, "
         f"remat-bufferize{{report={report}}})", "-o", "/dev/null"])
    return max(function["arena"] for function in json.loads(report.read_text())["functions"])


def main(model, *variants):
    text, first, peaks = Path(model).read_text(), None, []
    with tempfile.TemporaryDirectory() as folder:
        for variant in variants:
            found = gradients(text, variant, folder)
            first = first or found
            assert len(found) == len(first) > 2 and all(np.isfinite(g).all() and g.any() for g in found)
            for i, (one, other) in enumerate(zip(found, first)):
                assert one.tobytes() == other.tobytes(), f"result {i} differs with {variant!r}"
            peaks.append(peak(text, variant, folder))
    print(f"{len(variants)} variants: the same bits; peaks {peaks}")
    assert peaks[0] == max(peaks) > 1.2 * peaks[-1] and peaks[-1] == min(peaks), "peaks do not fall"


main(*sys.argv[1:])
