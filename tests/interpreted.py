"""Tests that reach into what is compiled: they run on the sources, which tests/unit/test_compiled.py sees to."""

import pytest

from backend import compiled

interpreted_only = pytest.mark.skipif(
    bool(compiled.libraries()), reason="replaces parts of compiled modules; run on the sources by test_compiled.py"
)
