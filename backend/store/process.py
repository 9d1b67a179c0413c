"""Whether a process is still the one that it was: a pid alone may have been given to another one meanwhile."""

import os
from pathlib import Path


def process_started(pid: int) -> str | None:
    """When the process of that id started, as the kernel counts ("alive" without /proc); None if there is none."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in ("Z", "X") else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "alive"
