"""`python -m backend.cli` is `podshift`."""

from backend.cli.main import main

main(prog_name="podshift")
