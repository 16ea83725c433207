"""Models that lie in files as `remat.export` writes them, with the Python model from the script that exported them.

`load("exports/mine.mlir", "export_models.py")`: the script has a table MODELS of functions `(folder, name)`, each of which ends in
a call of `export_torch(folder, name, module, inputs, ...)` or `export_jax(folder, name, loss, params, inputs, ...)`. That call
tells what the model is; nothing is exported again.
"""
import dataclasses
import importlib.util
import shutil
import sys
from pathlib import Path

import architectures


@dataclasses.dataclass
class Files:
    """What `architectures.Model.export` returns, of files that are there."""

    model: object  # remat.models.Recorded

    def save(self, folder, name):
        for suffix in (".mlir", ".json", ".npz"):
            shutil.copyfile(self.model.path.with_suffix(suffix), Path(folder, name + suffix))

    @property
    def arguments(self):
        from remat.export import Value
        return [Value(entry["name"], entry["role"], self.model.array(f"arg{i}"))
                for i, entry in enumerate(self.model.spec["arguments"])]


class RecordedModel(architectures.Model):
    files = None

    def export(self, check=True):
        return self.files


class Reached(Exception):
    """Ends the script's function; holds what it was about to export."""


def take_over(script):
    """The script as a module whose exports end in `Reached`."""
    script = Path(script).resolve()
    sys.path.insert(0, str(script.parent))
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def export_torch(folder, name, function, inputs, *, dims, **options):
        raise Reached(RecordedModel(function, inputs, dims))

    def export_jax(folder, name, loss, params, inputs, *, dims, **options):
        raise Reached(RecordedModel(loss, inputs, dims, params))

    module.export_torch, module.export_jax = export_torch, export_jax
    return module


def load(path, script):
    from remat import models
    recorded = models.Recorded(path)
    make = take_over(script).MODELS[recorded.path.stem]
    try:
        make(None, recorded.path.stem)
    except Reached as reached:
        model, = reached.args
        model.files = Files(recorded)
        return model
    raise models.Problem(f"{script} exports nothing as {recorded.path.stem}")
