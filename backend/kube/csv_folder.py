"""Progress from CSV files in a folder: one file a pod or job, a row an iteration, as ProCon's jobs write them.

Columns: cpu, total_iteration, num_iteration, epoch_time and one with the metric, in any order.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

from backend.kube.names import located
from backend.kube.progress import Mark, RunningPod, Sample, Trackers, mark_of

LONGEST_READ = 1 << 20
"""Bytes read of a file at a time; what is left is read the next time."""


class _File:
    """How far a file was read."""

    __slots__ = ("columns", "inode", "offset")

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.inode = 0
        self.offset = 0


class CsvFolder:
    """Reads what was appended since the last look. A last line without its line feed is half-written, and left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, _File] = {}
        self._trackers = Trackers()
        self.errors: dict[str, str] = {}
        """File -> why it could not be read the last time."""

    def poll(self, running: Mapping[str, RunningPod], now: float) -> list[Sample]:
        """What is new."""
        self._trackers.keep(running)
        found = []
        for pod, about in running.items():
            path = self._path(pod, about.job)
            marks = self._read(path) if path is not None else []
            sample = self._trackers.of(pod, about).take([(mark, None) for mark in marks]) if marks else None
            if sample is not None:
                found.append(sample)
        return found

    def _path(self, pod: str, job: str) -> Path | None:
        """The pod's file, else its job's."""
        for name in (pod, located(pod)[1], job, located(job)[1]):
            path = self._folder / f"{name}.csv"
            if "/" not in name and path.is_file():
                return path
        return None

    def _read(self, path: Path) -> list[Mark]:
        file = self._files.setdefault(path, _File())
        try:
            about = path.stat()
            if about.st_ino != file.inode or about.st_size < file.offset:
                file = self._files[path] = _File()
                file.inode = about.st_ino
            if about.st_size == file.offset:
                return []
            with path.open("rb") as source:
                source.seek(file.offset)
                data = source.read(LONGEST_READ)
        except OSError as error:
            self.errors[path.name] = str(error)
            return []
        whole = data[: data.rfind(b"\n") + 1]
        file.offset += len(whole)
        rows = list(csv.reader(whole.decode(errors="replace").splitlines()))
        if not file.columns and rows:
            file.columns = [name.strip() for name in rows.pop(0)]
            if "num_iteration" not in file.columns:
                self.errors[path.name] = f"its first line, {','.join(file.columns)[:200]}, names no num_iteration"
        marks = (mark_of(dict(zip(file.columns, (text.strip() for text in row), strict=False))) for row in rows)
        return [mark for mark in marks if mark is not None]
