# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that appear complete or not at all, as the runtime writes its checkpoints."""
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from remat import _native

Array = np.ndarray[Any, Any]
SAFETENSORS = {"bool": "BOOL", "bfloat16": "BF16"} | {f"{kind}{8 * size}": f"{letter}{8 * size}" for size in (1, 2, 4, 8)
                                                      for kind, letter in (("uint", "U"), ("int", "I"), ("float", "F"))}


def replace(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Replaces the contents of the file `path` by what `write` writes to the file whose name it gets. A symbolic link stays one.
    Raises an OSError if the file cannot be written or `path` is not a regular file, which is left as it is."""
    if "\0" in os.fspath(path):
        raise ValueError("the name of a file must have no null character")
    problem = _native.replace_file(os.fspath(path), write)
    if problem is not None:
        raise OSError(problem)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text file as a whole or not at all."""
    replace(path, lambda temporary: Path(temporary).write_text(text, encoding="utf-8"))


def write_safetensors(path: str, arrays: dict[str, Array], metadata: dict[str, str]) -> None:
    """Writes to the file itself, array by array: safetensors' own `save_file` puts another file in its place, by way of a
    temporary one that stays if the process is killed."""
    header: dict[str, Any] = {"__metadata__": metadata}
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # so that elements are aligned
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        header[name] = {"dtype": SAFETENSORS[arrays[name].dtype.name], "shape": arrays[name].shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
