"""What holds for all tests."""

import pytest

from backend import compiled


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse to test machine code that is older than its source."""
    old = compiled.stale()
    if old:
        pytest.exit(f"{', '.join(old)} changed since it was compiled: run `make install`", returncode=2)
