"""Where the store is if nobody says otherwise."""

import os
from pathlib import Path

HOME_VARIABLE = "PODSHIFT_HOME"


def default_home() -> Path:
    """The folder that PODSHIFT_HOME names, or the user's data folder as the operating system has it."""
    import platformdirs

    return Path(os.environ.get(HOME_VARIABLE) or platformdirs.user_data_dir("podshift", appauthor=False))
