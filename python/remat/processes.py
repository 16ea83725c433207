# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fork: a thread that compiled in the parent is gone in the child, with whatever locks of the compiler it held."""
import contextlib
import os
from collections.abc import Iterator

_running: set[object] = set()
_lost: set[object] = set()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Around each compilation. Refuses one in a process that was forked during another one, where it might wait forever."""
    if _lost:
        raise RuntimeError("this process was forked while another thread compiled, so nothing can be compiled in it; compile "
                           "before or after the fork, or start processes by multiprocessing's 'spawn'")
    token = object()
    _running.add(token)
    try:
        yield
    finally:
        _running.discard(token)


os.register_at_fork(after_in_child=lambda: _lost.update(_running))
