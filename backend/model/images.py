"""Container images: canonical names, and what is known of their sizes on each architecture."""

from collections.abc import Mapping
from functools import lru_cache


@lru_cache(maxsize=65_536)
def normalise_image(name: str) -> str:
    """The name with its tag: ":latest" is added where the last colon is not behind the last slash (a registry's port
    is no tag). Skippy specification, section 1.
    """
    return name if name.rfind(":") > name.rfind("/") or not name else f"{name}:latest"


class ImageCatalogue:
    """Size in bytes of each known image on each architecture, under canonical names."""

    def __init__(self) -> None:
        self._sizes: dict[str, dict[str, int]] = {}

    def add(self, name: str, sizes: Mapping[str, int]) -> None:
        """Know an image from now on, or know it better. Raises ValueError for a negative size."""
        for architecture, size in sizes.items():
            if size < 0:
                raise ValueError(f"image '{name}' is {size} bytes on {architecture or 'any architecture'}")
        self._sizes.setdefault(normalise_image(name), {}).update(sizes)

    def __contains__(self, name: str) -> bool:
        return normalise_image(name) in self._sizes

    def sizes(self, name: str) -> Mapping[str, int]:
        """Architecture -> bytes, in the order in which they became known; empty for an unknown image."""
        return self._sizes.get(normalise_image(name), {})

    def names(self) -> list[str]:
        """Canonical names, in the order in which they became known."""
        return list(self._sizes)
