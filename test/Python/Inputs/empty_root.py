# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs a wheel where there is nothing but Python and its C library, trains there, and removes the wheel.

    empty_root.py WHEEL ROOT

makes the folder ROOT, which is `/` for everything that runs in it. It has this interpreter, the standard library, the libraries of
Python and C++, and an environment with pip and what the wheel depends on.
"""
import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

wheel, root = (Path(argument).resolve() for argument in sys.argv[1:])
python = Path(sys._base_executable).resolve()


def libraries_of(path):
    """Paths of all shared libraries that a program or library needs."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}


def copy(path):
    to = root / path.relative_to("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)


def copy_distribution(name, to):
    """Copies the files of an installed package; pip finds it there."""
    for file in importlib.metadata.files(name):
        if ".." not in file.parts and "__pycache__" not in file.parts:
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), to / file)


def run(*command):
    """Runs a command in the root, with none of this process's settings."""
    inside = f'mount --rbind /proc "{root}/proc" && exec chroot "{root}" "$@"'
    done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", inside, "sh", *command],
                          capture_output=True, text=True,
                          env={"HOME": "/tmp", "OMP_NUM_THREADS": "2", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                               "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def files_of(folder):
    return {path for path in folder.rglob("*")}


# The C++ library is what NumPy expects of any system as well.
modules = [python, *Path(sysconfig.get_config_var("DESTSHARED")).glob("*.so"),
           *(file.locate() for file in importlib.metadata.files("numpy") if ".so" in file.name)]
for path in {path for module in modules for path in libraries_of(module) if "site-packages" not in path.parts}:
    copy(path)
copy(python)
library = Path(sysconfig.get_path("stdlib"))
shutil.copytree(library, root / library.relative_to("/"), dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__", "site-packages", "dist-packages", "test", "config-*"))
for folder in ("proc", "tmp"):
    (root / folder).mkdir()
shutil.copy(wheel, root / "tmp")
shutil.copy(Path(__file__).with_name("installed.py"), root / "tmp")

run(str(python), "-m", "venv", "--without-pip", "/venv")
packages = Path("venv", "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
for distribution in ("pip", "numpy", "ml_dtypes", "safetensors"):
    copy_distribution(distribution, root / packages)
before = files_of(root / "venv")
found = sorted(path.name for path in root.rglob("*") if re.match(r"lib(LLVM|MLIR|omp|z3|minizip|xml2)\b", path.name))
print("libraries of LLVM in the root:", ", ".join(found) or "none")
run("/venv/bin/python", "-m", "pip", "install", "--no-index", f"/tmp/{wheel.name}")
size = sum(path.stat().st_size for path in files_of(root / "venv") - before if path.is_file())
print(f"installed: {size / 2**20:.0f} MiB")
print(run("/venv/bin/python", "/tmp/installed.py", "/venv"), end="")
run("/venv/bin/python", "-m", "pip", "uninstall", "--yes", "remat")
print("left behind:", ", ".join(map(str, sorted(files_of(root / "venv") ^ before))) or "nothing")
