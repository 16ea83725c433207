# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where compiled steps are kept on disk, which is safe to remove at any time.

`REMAT_CACHE_DIR` names another folder, or, if it is empty, none. `REMAT_CACHE_POLICY` says when files are removed, in LLVM's
notation: `prune_after=720h:cache_size_bytes=2g` removes what was not used for 30 days, and then what was not used for longest.
"""
import os
from pathlib import Path

PREFIX = "llvmcache-remat-"


def folder() -> Path | None:
    """Where compiled steps are kept; None if they are not."""
    chosen = os.environ.get("REMAT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return Path(base, "remat")


def files() -> list[Path]:
    """The compiled steps, and what processes that were killed left of some."""
    place = folder()
    return sorted(place.glob(PREFIX + "*")) if place else []


def clear() -> int:
    """Removes all of them, and returns how many there were."""
    found = files()
    for path in found:
        path.unlink(missing_ok=True)  # another process may remove it, too
    return len(found)


def describe() -> str:
    """Returns the line that `python -m remat cache` prints: folder, number of files and bytes."""
    place, sizes = folder(), []
    for path in files():
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            pass
    return f"{place}: {len(sizes)} compiled steps, {sum(sizes):,} bytes" if place else "compiled steps are not kept"
