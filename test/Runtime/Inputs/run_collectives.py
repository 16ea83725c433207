# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs of collectives.py on 1, 2, 3 and 4 ranks, each in a folder of its own: FOLDER MPIRUN LIBRARIES."""

import subprocess
import sys
from pathlib import Path

folder, mpirun, libraries = Path(sys.argv[1]), sys.argv[2].split(), sys.argv[3]
script = str(Path(__file__).with_name("collectives.py"))
# The rank's folder is named by the launcher's variable.
IN_FOLDER = 'mkdir -p rank${OMPI_COMM_WORLD_RANK:-0} && cd rank${OMPI_COMM_WORLD_RANK:-0} && exec "$@"'

for ranks in (1, 2, 3, 4):
    place = folder / str(ranks)
    place.mkdir(parents=True)
    subprocess.run([sys.executable, script, "data", place, str(ranks)], check=True)
    source = subprocess.run([sys.executable, script, "program", str(ranks)], check=True, capture_output=True).stdout
    program = place / "program.mlir"
    subprocess.run(["remat-opt", "-remat-lower-to-cpu", "-o", program], input=source, check=True)
    # One rank needs neither a launcher nor a library of MPI.
    launcher = [*mpirun, "-n", str(ranks)] if ranks > 1 else []
    loaded = libraries if ranks > 1 else libraries.split(",")[0]
    runner = ["mlir-runner", program, "-e", "main", "-entry-point-result=void", f"--shared-libs={loaded}"]
    subprocess.run([*launcher, "sh", "-c", IN_FOLDER, "sh", *runner], cwd=place, check=True)
    subprocess.run([sys.executable, script, "check", place, str(ranks)], check=True)
