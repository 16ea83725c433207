# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that a step may take where its user leaves that to us: `policy="auto"`."""
from pathlib import Path

AUTO = "auto"
SHARE = 0.9  # of what is free, since it is not ours alone
MEMORY, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def count_free_bytes() -> int | None:
    """Returns how many bytes of this machine a process may still take, within its control group; None if the system does not say."""
    counts = []
    try:
        lines = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
        counts.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:
        counts.append(int((GROUP / "memory.max").read_text()) - int((GROUP / "memory.current").read_text()))
    except (OSError, ValueError):  # no limit is "max"
        pass
    return min(counts, default=None)


def choose_limit(target: str) -> int:
    """Returns the bytes that a step of `policy="auto"` may take. Raises a ValueError if nothing says how many there are."""
    free = count_free_bytes() if target == "cpu" else None
    if free is None:
        raise ValueError("policy='auto' needs budget=\"16GiB\" here: how much memory is free is known on Linux, for steps on the CPU")
    return max(int(SHARE * free), 1)
