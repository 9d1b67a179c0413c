"""What a foreign file can be wrong in."""


class TraceError(ValueError):
    """A file that cannot be read as what it should be. Names the file, the line if it is one, and what is wrong."""

    def __init__(self, name: str, line: int | None, problem: str) -> None:
        super().__init__(f"{name}, line {line}: {problem}" if line is not None else f"{name}: {problem}")
        self.line = line
