"""Whether a process is still the one that it was: a pid alone may have been given to another one meanwhile."""

import os
from functools import cache
from pathlib import Path


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return ""


@cache
def this_process(pid: int) -> str:
    """The process of that id, which is this one, as a text that no other process ever has; see `lives`."""
    return f"{pid}-{process_started(pid)}"


def lives(process: str) -> bool:
    """Whether the process that `this_process` gave that text still lives."""
    pid, _, started = process.partition("-")
    return pid.isdecimal() and process_started(int(pid)) == started


def process_started(pid: int) -> str | None:
    """When the process of that id started, as the kernel counts from its boot ("alive" without /proc); None if there
    is none."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        # The first processes of a machine start at the same tick after every boot, and with the same ids.
        return None if fields[0] in ("Z", "X") else f"{fields[19]}-{_boot()}"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "alive"
