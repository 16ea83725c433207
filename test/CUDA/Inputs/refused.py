# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints Python's error for a step that cannot be made here, or that cannot run: refused.py MODEL.mlir"""
import sys
from pathlib import Path

import numpy as np

import remat

try:
    step = remat.mlir.train_step(Path(sys.argv[1]).read_text(), target="cuda", options="chips=sm_90", passes="inline")
    print("made")
    step(*(np.zeros(argument.shape, argument.dtype) for argument in step.data))
except (remat.CompileError, remat.StepError) as error:
    print(f"{type(error).__name__}: {error}")
