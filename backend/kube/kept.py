"""Manifests in a folder: what jobs go on from when Podshift was stopped while they had no pod."""

import os
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from urllib.parse import quote, unquote


class ManifestFolder(MutableMapping[str, bytes]):
    """Job -> manifest, a file each: written whole or not at all, and on the disk once it is set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, job: str) -> Path:
        return self._folder / f"{quote(job, safe='')}.json"

    def __getitem__(self, job: str) -> bytes:
        try:
            return self._path(job).read_bytes()
        except FileNotFoundError:
            raise KeyError(job) from None

    def __setitem__(self, job: str, manifest: bytes) -> None:
        path = self._path(job)
        draft = path.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(manifest)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def __delitem__(self, job: str) -> None:
        try:
            self._path(job).unlink()
        except FileNotFoundError:
            raise KeyError(job) from None

    def __iter__(self) -> Iterator[str]:
        return (unquote(path.stem) for path in sorted(self._folder.glob("*.json")))

    def __len__(self) -> int:
        return sum(1 for _ in self)
