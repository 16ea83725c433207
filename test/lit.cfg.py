# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes.util
import glob
import os
import shutil

import lit.formats

config.name = "remat"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.remat_build, "test")

path = [os.path.join(config.remat_build, "bin"), config.llvm_bin, os.environ["PATH"]]
config.environment["PATH"] = os.path.pathsep.join(path)
config.environment["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "2")
config.environment["REMAT_LIB"] = os.path.join(config.remat_build, "lib")
config.environment["PYTHONPATH"] = os.path.join(config.remat_source, "python")
config.environment["REMAT_VERIFY_EACH"] = "1"
# Nothing of a user, and nothing of an earlier run, has a part in a test.
config.environment["REMAT_CACHE_DIR"] = ""

libraries = {
    "%runtime": "libremat_runtime.so",
    "%cuda_runtime": "libremat_cuda_runtime.so",
    "%mpi_runtime": "libremat_mpi.so",
    "%plugin": "libRematPlugin.so",
    "%counting_allocator": "libremat_counting_allocator.so",
    "%strip_phases": "libremat_strip_phases.so",
    "%check_preserved": "libremat_check_preserved.so",
    "%cuda_emulator": "libremat_cuda_emulator.so",
    "%emulator_launch": "libremat_emulator_launch.so",
}
for name, library in libraries.items():
    config.substitutions.append((name, os.path.join(config.remat_build, "lib", library)))
config.substitutions += [
    ("%mlir_runner_utils", os.path.join(config.llvm_lib, "libmlir_runner_utils.so")),
    ("%mlir_c_runner_utils", os.path.join(config.llvm_lib, "libmlir_c_runner_utils.so")),
    ("%llvm_lib", config.llvm_lib),
    ("%source", config.remat_source),
    ("%build", config.remat_build),
    ("%python", config.python),
    ("%cmake", config.cmake),
    ("%compilers", config.compilers),
    ("%cxx", config.cxx),
]


def importable(module):
    return os.system(f"'{config.python}' -c 'import {module}' > /dev/null 2>&1") == 0


# Tests that need these say `REQUIRES: jax`; lit lists them as unsupported where they are missing.
for module in ("numpy", "jax", "torch", "sklearn", "torch_mlir", "transformers", "accelerate", "lightning", "flax", "optax", "iree.compiler", "nbclient",
               "ipykernel", "auditwheel", "scikit_build_core", "mypy"):
    if importable(module):
        config.available_features.add(module.split(".")[0])

# Is there if Python's headers and nanobind were found.
if glob.glob(os.path.join(config.remat_build, "python", "remat", "_native*.so")):
    config.available_features.add("python-package")

# Steps can be exported: clang++ was there to compile the core of the runtime.
if glob.glob(os.path.join(config.remat_build, "lib", "remat_core-*.bc")):
    config.available_features.add("remat-core")

# Steps for other processors can be linked and run: Debian's gcc-aarch64-linux-gnu and so on, with qemu-user.
for kind, compiler in (("aarch64", "aarch64-linux-gnu-gcc"), ("arm", "arm-linux-gnueabihf-gcc"), ("riscv64", "riscv64-linux-gnu-gcc")):
    emulators = [name for name in (f"qemu-{kind}", f"qemu-{kind}-static") if shutil.which(name)]
    if shutil.which(compiler) and emulators:
        config.available_features.add(f"{kind}-programs")
        config.substitutions.append((f"%run_{kind}", emulators[0]))

# Products of this processor round once.
if os.system("grep -qw fma /proc/cpuinfo 2> /dev/null") == 0:
    config.available_features.add("fma")

# Folders can be made the root of a process.
if os.system("unshare --map-root-user --mount sh -c 'mount --rbind /proc /proc' > /dev/null 2>&1") == 0:
    config.available_features.add("unshare")

for tool in ("clang-format", "clang-tidy"):
    if shutil.which(os.path.join(config.llvm_bin, tool)) or shutil.which(tool + "-22"):
        config.available_features.add(tool)

# Programs of several ranks: more of them than cores, as root or not, and by shared memory without the permission to read
# that of other processes, which containers do not give.
if os.system("mpirun --version 2> /dev/null | grep -q 'Open MPI'") == 0:
    config.available_features.add("mpi")
    for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        config.environment[variable] = "1"
    config.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
    config.substitutions.append(("%mpirun", "mpirun --oversubscribe"))

if ctypes.util.find_library("cuda"):
    config.available_features.add("nvidia-driver")

# Where the compiler finds a CUDA toolkit: what tools/setup installed, else what the machine has. Tests of device code say
# `REQUIRES: cuda-toolkit`, those of declarations `cuda-headers`.
environment = os.path.dirname(os.path.dirname(config.python))
cuda_folders = glob.glob(os.path.join(environment, "lib", "python*", "site-packages", "nvidia", "cu13"))
if cuda_folders:
    config.environment["CUDA_ROOT"] = cuda_folders[0]
for variable in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"):
    if os.environ.get(variable):
        config.environment.setdefault(variable, os.environ[variable])
        cuda_folders.append(os.environ[variable])
cuda_folders.append("/usr/local/cuda")
if shutil.which("ptxas") or any(os.path.exists(os.path.join(folder, "bin", "ptxas")) for folder in cuda_folders):
    config.available_features.add("cuda-toolkit")
# NVIDIA's headers, to compare our declarations with: of a toolkit, or of the PyPI packages nvidia-cuda-runtime,
# nvidia-cuda-crt, nvidia-cublas and nvidia-cudnn-cu13, which has a folder of its own (REMAT_CUDNN_ROOT names another).
cudnn_folders = glob.glob(os.path.join(environment, "lib", "python*", "site-packages", "nvidia", "cudnn"))
if os.environ.get("REMAT_CUDNN_ROOT"):
    cudnn_folders.insert(0, os.environ["REMAT_CUDNN_ROOT"])
for feature, header in (("cuda-headers", "cuda.h"), ("cublas-headers", "cublasLt.h"), ("cudnn-headers", "cudnn.h")):
    folders = cudnn_folders + cuda_folders if feature == "cudnn-headers" else cuda_folders
    found = [f for f in folders if os.path.exists(os.path.join(f, "include", header))]
    if found:
        config.available_features.add(feature)
        config.substitutions.append(("%" + feature, os.path.join(found[0], "include")))
