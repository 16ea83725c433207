# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The step allocates nothing: counts calls of malloc and its kin in the steps of random models.

The arguments are the runtime and the folder of clang; LIBRARIES names what mlir-runner loads."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from random_models import Model

SEEDS = 2, 7, 13


def main():
    runtime, llvm = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        counter = f"{folder}/allocations.so"
        subprocess.run([f"{llvm}/clang", "-O1", "-shared", "-fPIC", Path(__file__).with_suffix(".c"), "-o", counter], check=True)
        for seed in SEEDS:
            model = Model(seed)
            Path(folder, "model.mlir").write_text(model.text)
            np.savez(f"{folder}/data.npz", **model.data())
            subprocess.run(["remat-opt", f"{folder}/model.mlir", "--inline", "--remat-train", "-o", f"{folder}/program.mlir"],
                           check=True)
            done = subprocess.run(
                ["mlir-runner", f"{folder}/program.mlir", "-O3", "-e", "main", "-entry-point-result=void",
                 "--shared-libs=" + os.environ["LIBRARIES"]], check=True, capture_output=True, text=True,
                env=os.environ | {"LD_PRELOAD": counter, "RUNTIME": runtime, "REMAT_STEPS": "4",
                                  "REMAT_DATA": f"{folder}/data.npz"})
            print(f"model {seed}: {done.stderr.strip()}", flush=True)


if __name__ == "__main__":
    main()
