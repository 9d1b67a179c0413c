"""Seeds as a person writes them: a list, a number of them, a range."""

import re
from typing import Any

from backend.experiments.limits import MAX_SEED, MAX_SEEDS

_RANGE = re.compile(r"(\d{1,16})(?:\.\.(\d{1,16}))?")
_ALLOWED = "must be a list such as [1, 2, 3], a number of seeds, or a range such as '1..20'"


def read_seeds(value: Any) -> Any:
    """The list of seeds that a list, a number n (1 to n) or a text ("1..20", "1,5,10..12") stands for.

    Raises ValueError for a text that is none, a number out of range, and seeds named twice.
    """
    if isinstance(value, bool):
        raise ValueError(_ALLOWED)
    if isinstance(value, int):
        if not 1 <= value <= MAX_SEEDS:
            raise ValueError(f"must be from 1 to {MAX_SEEDS:,} seeds")
        return list(range(1, value + 1))
    if isinstance(value, str):
        value = _read_text(value)
    if isinstance(value, list | tuple):
        if len(value) > MAX_SEEDS:
            raise ValueError(f"must be at most {MAX_SEEDS:,} seeds, and there are {len(value):,}")
        hashable = [seed for seed in value if isinstance(seed, int) and not isinstance(seed, bool)]
        twice = (
            sorted({seed for seed in hashable if hashable.count(seed) > 1})
            if len(set(hashable)) < len(hashable)
            else []
        )
        if twice:
            raise ValueError(f"names the seed {twice[0]} twice")
        return value
    raise ValueError(_ALLOWED)


def _read_text(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text[:10_000].split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(_ALLOWED)
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first:
            raise ValueError(f"'{part.strip()}' ends before it begins")
        if last > MAX_SEED:
            raise ValueError(f"must not be more than {MAX_SEED}")
        if len(seeds) + last - first + 1 > MAX_SEEDS:
            raise ValueError(f"must be at most {MAX_SEEDS:,} seeds")
        seeds.extend(range(first, last + 1))
    return seeds
