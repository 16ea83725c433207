# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m remat doctor`: what is installed, and what is missing for which way of using remat; `python -m remat cache`: where
compiled steps are kept; `python -m remat memory`: holds models to the bytes that they take;
`python -m remat from-torchtune`: what a recipe of torchtune becomes."""
import argparse
import ctypes.util
import importlib.metadata
import importlib.util
import os
import platform
import runpy
import sys
from typing import Any

from remat import cache
from remat.errors import CompileError, ExportError
from remat.extras import EXTRAS


def version(package: str) -> str | None:
    """Of an installed distribution; None if it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_compiler() -> tuple[bool, str]:
    """(whether the compiled module loads, what is said of it)."""
    import remat
    if importlib.util.find_spec("remat._native") is None:
        return False, f"not built: run tools/setup, or pip install . (looked in {', '.join(remat.__path__)})"
    try:
        from remat import _native
    except ImportError as error:
        return False, f"cannot be loaded: {error}"
    return True, f"{remat.__version__}, {_native.__file__}"


def doctor() -> int:
    """Prints a line for each part; 0 if a model in MLIR can be trained, else 1."""
    def say(part: str, works: object, text: str) -> None:
        print(f"{'ok' if works else '--':3} {part:22} {text}")

    say("Python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} processors")
    loads, text = find_compiler()
    say("compiler", loads, text)
    compiles = loads
    for package in ("numpy", "ml_dtypes", "safetensors"):
        found = version(package)
        compiles &= found is not None
        say(package, found, found or f"missing: pip install {package}")
    for extra, packages in EXTRAS.items():
        versions = {package: version(package) for package in packages.values()}
        missing = [package for package, number in versions.items() if number is None]
        say(f"remat.{extra}", not missing, f"missing: pip install {' '.join(missing)}" if missing else
            ", ".join(f"{package} {number}" for package, number in versions.items()))
    if loads:
        from remat import _native
        say("target=cuda compiles", *_native.find_cuda_toolkit())
    driver = ctypes.util.find_library("cuda")
    say("target=cuda runs", driver, driver or "no libcuda.so of an NVIDIA driver; kernels run on the host with "
        'options="emulate"')
    return not compiles


def add_memory_commands(commands: Any) -> None:
    memory = commands.add_parser("memory", help="holds models to the bytes that they take").add_subparsers(
        dest="memory_command", required=True)
    lock = memory.add_parser("lock", help="writes the peak of models and its largest tensors to a file")
    lock.add_argument("models", nargs="+", metavar="MODEL", help="a module in MLIR, as text or bytecode")
    lock.add_argument("-o", dest="lock", metavar="LOCK", default="memory.lock", help="the file (default: memory.lock), whose "
                      "entries of other models stay")
    lock.add_argument("--optimizer", default="", help="for modules without a remat.train_step: '#opt.adamw<lr = 0.001>'")
    lock.add_argument("--passes", default="", help="a pipeline that runs first: 'remat-annotate{blocks}'")
    lock.add_argument("--options", default="", help="options of remat-train: 'policy=none budget=500MiB'")
    of = memory.add_parser("of", help="prints the memory of a step of a model in PyTorch, whose weights may be on the device meta")
    of.add_argument("model", metavar="FILE.py:FUNCTION", help="returns the arguments of remat.torch.train_step, as a dictionary")
    check = memory.add_parser("check", help="compiles the models of a lock anew, and fails where one needs more bytes")
    check.add_argument("lock", nargs="?", metavar="LOCK", default="memory.lock")
    check.add_argument("--tolerance", type=float, default=0.0, metavar="FRACTION", help="of the peak that a model may take "
                       "beyond it: 0.02 for 2 %%")


def print_memory(model: str) -> int:
    """Prints the table of what `FILE.py:FUNCTION` returns; 1 and a message if that is not what it must be."""
    path, _, name = model.rpartition(":")
    if not path.endswith(".py"):
        print(f"remat memory: error: the model must be FILE.py:FUNCTION, but got {model}", file=sys.stderr)
        return 1
    try:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        make = runpy.run_path(path).get(name)
        if make is None:
            raise ValueError(f"{path} has no function {name}")
        arguments = make()
        if not isinstance(arguments, dict):
            raise TypeError(f"{name} must return a dictionary of the arguments of remat.torch.train_step, but got {type(arguments).__name__}")
        from remat.torch import train_step
        print(train_step(**{"loss_fn": None, **arguments}, compile_only=True))
    except (OSError, TypeError, ValueError, CompileError, ExportError) as error:
        print(f"remat memory: error: {error}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m remat", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="what is installed, and what is missing")
    commands.add_parser("cache", help="where compiled steps are kept, and how many").add_argument(
        "--clear", action="store_true", help="remove them")
    add_memory_commands(commands)
    commands.add_parser("from-torchtune", help="prints the train_step for a recipe of torchtune").add_argument(
        "recipe", metavar="RECIPE", help="its configuration, a file in YAML")
    command = sys.argv[1:]
    if command[:1] == ["memory"] and ".py:" in "".join(command[1:2]):  # of a model is what is asked of most
        command.insert(1, "of")
    arguments = parser.parse_args(command)
    if arguments.command == "doctor":
        return doctor()
    if arguments.command == "from-torchtune":
        from remat import torchtune
        return torchtune.main(arguments.recipe)
    if arguments.command == "memory":
        if arguments.memory_command == "of":
            return print_memory(arguments.model)
        from remat import lock_models
        if arguments.memory_command == "lock":
            settings = {name: getattr(arguments, name) for name in ("optimizer", "passes", "options")}
            return lock_models.lock(arguments.models, arguments.lock, settings)
        return lock_models.check(arguments.lock, arguments.tolerance)
    if arguments.clear:
        cache.clear()
    print(cache.describe())
    return 0


if __name__ == "__main__":
    sys.exit(main())
