"""The command `podshift`: the same things that the dashboard does, without a browser.

Heavy libraries are imported inside the commands, so that `podshift --help` answers at once.
Exit codes: 0 done, 1 a run failed or something is not there, 2 bad input, 130 stopped by Ctrl-C.
"""

from backend.cli.main import main

__all__ = ["main"]
