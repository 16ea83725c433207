# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How tools/check-model judges what a step computed."""
import ml_dtypes
import numpy as np
import pytest

from remat.testing import models

PARAMETER = np.array([1.0, -0.3, 3.0, 0.007])
GRADIENT = np.array([0.5, 2.0, -7.0, 1e-3], np.float32)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "bits of bfloat16"])
def test_updates_are_rounded_as_parameters_are(kind):
    """Gradients are of float32 where parameters are narrower."""
    dtype = np.dtype(ml_dtypes.bfloat16 if "bfloat16" in kind else kind)
    stored = np.uint16 if "bits" in kind else dtype
    gradient = GRADIENT.astype(np.promote_types(dtype, np.float32) if dtype.kind == "f" else np.float32)
    before = PARAMETER.astype(dtype)
    after = (before.astype(gradient.dtype) - gradient.dtype.type(models.RATE) * gradient).astype(dtype)
    found = {"gradients": {"w": gradient}, "initial": {"w": before.view(stored)}, "updated": {"w": after.view(stored)}}
    assert models.compare_updates(found) == []
    found["updated"] = {"w": before.view(stored)}
    assert models.compare_updates(found) == ["w"]
