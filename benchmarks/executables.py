# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables of programs for a machine without LLVM, which travel in a folder with the libraries that they load."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Roundings to bf16, which not every libgcc has, are here as well.
START = """
void remat_main(void);
int main(void) { remat_main(); return 0; }

__attribute__((weak)) __bf16 __truncsfbf2(float value) {
  union { float value; unsigned bits; } wide = {value};
  union { unsigned short bits; __bf16 value; } narrow;
  unsigned rounded = (wide.bits + 0x7fff + (wide.bits >> 16 & 1)) >> 16;
  narrow.bits = value != value ? wide.bits >> 16 | 0x40 : rounded;
  return narrow.value;
}
__attribute__((weak)) __bf16 __truncdfbf2(double value) { return __truncsfbf2(value); }
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


class Linker:
    """Compiles into `folder`. `chips` are those that get machine code, all of remat-train's by default."""

    def __init__(self, folder, emulated=False, chips=None):
        self.folder, self.emulated, self.chips = folder, emulated, chips
        self.build = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
        self.llvm = Path(os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-22"))
        self.libraries = folder / "lib"
        self.libraries.mkdir(parents=True, exist_ok=True)
        names = ["remat_runtime", "remat_cuda_runtime"]
        if emulated:
            names += ["remat_cuda_emulator", "remat_emulated_cublaslt", "remat_emulated_cudnn"]
        for name in names:
            shutil.copy(self.build / f"lib/lib{name}.so", self.libraries)
        self.copy_dependencies()

    def copy_dependencies(self):
        """Copies the system's libraries that the runtime needs and another machine may lack."""
        for library in list(self.libraries.glob("*.so")):
            for line in run("ldd", library).splitlines():
                found = re.match(r"\s*(lib(minizip|z|stdc\+\+|gcc_s)\S*) => (\S+)", line)
                if found and not (self.libraries / found[1]).exists():
                    shutil.copy(found[3], self.libraries / found[1])

    def compile_for_cuda(self, model, output, options=""):
        """Like `compile`, for the GPU or the emulated device."""
        target, runtime = "target=cuda", ["remat_cuda_runtime"]
        if self.chips:
            target += f" chips={self.chips}"
        if self.emulated:
            target, runtime = target + " emulate", [*runtime, "remat_cuda_emulator"]
        return self.compile(model, f"{target} {options}", output, runtime)

    def compile(self, model, pipeline, output, runtime=("remat_runtime",)):
        """Makes the executable `output` of the program in the file `model`; returns the arena that the compiler predicts for
        its step, in bytes."""
        with tempfile.TemporaryDirectory() as work:
            program, report, ir = Path(work, "p.mlir"), Path(work, "report.json"), Path(work, "p.ll")
            run(self.build / "bin/remat-opt", model, "--inline", f"--remat-train={pipeline} report={report}", "-o", program)
            run(self.llvm / "bin/mlir-translate", "--mlir-to-llvmir", program, "-o", ir)
            # The program's main returns nothing, which C's does.
            ir.write_text(re.sub(r"@main\(\)", "@remat_main()", ir.read_text()))
            start = Path(work, "main.c")
            start.write_text(START)
            run(self.llvm / "bin/clang", "-O2", "-w", ir, start, "-o", output, f"-L{self.libraries}",
                *(f"-l{name}" for name in runtime), "-lm",
                # Libraries find others only where the executable has loaded these.
                "-Wl,--no-as-needed", *(f"-l:{file.name}" for file in self.libraries.glob("lib*") if "remat" not in file.name),
                "-Wl,-rpath,$ORIGIN/lib", f"-Wl,-rpath-link,{self.libraries}")
            functions = json.loads(report.read_text())["functions"]
            return next(f["arena"] for f in functions if f["name"] == "step")
