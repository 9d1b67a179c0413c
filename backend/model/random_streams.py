"""Named streams of random numbers from one seed.

Each purpose (arrivals, curves, ties ...) has a stream of its own, so that two arms of one experiment see the same
arrivals and curves however often the one or the other breaks a tie.
"""

import hashlib
import random


def stream_seed(seed: int, name: str) -> int:
    """A 64-bit seed for the stream of that name; stable over versions of Python and of Podshift."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big")


def stream(seed: int, name: str) -> random.Random:
    """The stream of that name, at its beginning."""
    return random.Random(stream_seed(seed, name))
