# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows users the progress of long work: by messages of the logger `remat`, and, on a terminal and with tqdm, by a bar."""
import contextlib
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any

logger = logging.getLogger("remat")
QUIET = 2.0  # Seconds in which nothing is shown.
INTERVAL = 5.0  # Seconds between messages.


def _make_bar(what: str, unit: str = " passes", total: int | None = None) -> Any:
    """Returns a bar on a terminal; None elsewhere, or without tqdm."""
    if not sys.stderr or not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(desc=what, unit=unit, total=total, leave=False)


class Bar:
    """The items of a loop, with a bar that shows how many are done, on a terminal and with tqdm."""

    def __init__(self, what: str, items: Iterable[Any]):
        self._items, self._bar = items, _make_bar(what, " steps", len(items) if isinstance(items, Sized) else None)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            yield item
            if self._bar is not None:
                self._bar.update()

    def show(self, **values: float) -> None:
        if self._bar is not None:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in values.items()}, refresh=False)


class Progress:
    """Is called with the stage that a compilation of `what` is in, and how many there have been, several times a second."""

    def __init__(self, what: str):
        self.what = what
        self.bar: Any = None
        self.start = self.said = time.monotonic()

    def __call__(self, stage: str, count: int) -> None:
        now = time.monotonic()
        if now - self.start < QUIET:
            return
        if self.said == self.start:
            self.bar = _make_bar(f"compiling {self.what}")
        if self.bar is not None:
            self.bar.set_postfix_str(stage, refresh=False)
            self.bar.update(count - self.bar.n)
        if self.said == self.start or now - self.said >= INTERVAL:
            self.said = now
            if self.bar is None:
                logger.info("compiling %s for %.0f s: %s", self.what, now - self.start, stage)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Logs how long something took that has no progress of its own."""
    start = time.monotonic()
    yield
    logger.info("%s took %.1f s", what, time.monotonic() - start)
