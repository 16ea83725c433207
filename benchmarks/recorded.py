# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that lie in files as `remat.export` writes them, with the Python model from the script that exported them.

`load("exports/mine.mlir", "export_mine.py")` runs the script until it is about to save a model called `mine`: that call tells
what the model is, and nothing is exported again. The call is one of

- `export.from_torch(...).save(folder, "mine")` or `export.from_jax(...).save(folder, "mine")`, which the script makes as it is
  imported (not guarded by `if __name__ == "__main__"`), or in the function that its table MODELS has for `mine`, called with a
  folder and the name;
- in such a function, `export_torch(folder, name, module, inputs, dims=...)` or
  `export_jax(folder, name, loss, params, inputs, dims=...)`, whatever these do in the script.
"""
import dataclasses
import importlib.util
import shutil
import sys
from pathlib import Path
from unittest import mock

import architectures
from remat import export
from remat.testing import models


@dataclasses.dataclass
class Files:
    """An export, as `architectures.Model.export` returns it, from files that exist already."""

    model: models.Recorded

    def save(self, folder, name):
        files = {".mlir": self.model.path, ".json": self.model.spec_path, ".npz": self.model.arrays_path}
        for suffix, file in files.items():
            shutil.copyfile(file, Path(folder, name + suffix))

    @property
    def arguments(self):
        return [export.Value(entry["name"], entry["role"], self.model.array(f"arg{i}"))
                for i, entry in enumerate(self.model.spec["arguments"])]


class RecordedModel(architectures.Model):
    files = None

    def export(self, check=True):
        return self.files


class Reached(Exception):
    """Ends the script where it is about to save the model that it holds."""


@dataclasses.dataclass
class Unsaved:
    """Stands for an export that was not done."""

    model: RecordedModel
    wanted: str

    def save(self, folder, name):
        if name == self.wanted:
            raise Reached(self.model)


def run_to(name, script):
    """Runs the script until it saves `name`."""
    def from_torch(module, inputs, *, dims=None, **options):
        return Unsaved(RecordedModel(module, inputs, dims or {}), name)

    def from_jax(loss, params, inputs, *, dims=None, x64=False, **options):
        return Unsaved(RecordedModel(loss, inputs, dims or {}, params, wide=x64), name)

    def export_torch(folder, saved, module, inputs, *, dims=None, **options):
        from_torch(module, inputs, dims=dims).save(folder, saved)

    def export_jax(folder, saved, loss, params, inputs, *, dims=None, x64=False, **options):
        from_jax(loss, params, inputs, dims=dims, x64=x64).save(folder, saved)

    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple(export, from_torch=from_torch, from_jax=from_jax):
        spec.loader.exec_module(module)
        make = getattr(module, "MODELS", {}).get(name)
        if make:
            module.export_torch, module.export_jax = export_torch, export_jax
            make(None, name)


def load(path, script):
    recorded, script = models.Recorded(path), Path(script).resolve()
    name = recorded.spec_path.stem
    if script.suffix != ".py" or not script.is_file():
        raise models.Problem(f"{script} is no Python file")
    sys.path.insert(0, str(script.parent))  # also for what its functions import later
    try:
        run_to(name, script)
    except Reached as reached:
        model, = reached.args
        model.files = Files(recorded)
        return model
    raise models.Problem(f"{script} saves no '{name}' when it is imported, nor has its table MODELS such a function")
