"""Progress from the logs of pods: one small request a pod and look, a few at a time."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from backend.kube.client import Api, ApiError
from backend.kube.names import pod_path
from backend.kube.progress import LineParser, Mark, RunningPod, Sample, Trackers

THREADS = 4
TAIL_LINES = 200
LONGEST_LOG = 64 * 1024
"""Bytes of a log that one look takes."""


class PodLogs:
    """Reads the end of each log. Lines that were seen are known by their time and step."""

    def __init__(self, api: Api, parser: LineParser | None = None, *, threads: int = THREADS) -> None:
        self._api = api
        self._parser = parser or LineParser()
        self._trackers = Trackers()
        self._since: dict[str, str] = {}
        """Pod -> the time of its last line, as the server wrote it."""
        self._pool = ThreadPoolExecutor(threads, "pod-logs")
        self.errors: dict[str, str] = {}
        """Pod -> why its log could not be read the last time."""

    def poll(self, running: Mapping[str, RunningPod], now: float) -> list[Sample]:
        """What is new. Returns when all logs were read or failed to be."""
        self._trackers.keep(running)
        for gone in self._since.keys() - running.keys():
            del self._since[gone]
        self.errors = {}
        found = []
        for pod, marks in zip(running, self._pool.map(self._read, running.items()), strict=True):
            sample = self._trackers.of(pod, running[pod]).take(marks) if marks else None
            if sample is not None:
                found.append(sample)
        return found

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _read(self, entry: tuple[str, RunningPod]) -> list[tuple[Mark, float | None]]:
        pod, about = entry
        since = self._since.get(pod)
        query = {
            "container": about.container or None,
            "timestamps": True,
            "tailLines": TAIL_LINES,
            "limitBytes": LONGEST_LOG,
            "sinceTime": f"{since[:19]}Z" if since else None,  # whole seconds: the server reads no finer
        }
        try:
            text = self._api.text(f"{pod_path(pod)}/log", query)
        except ApiError as error:
            self.errors[pod] = str(error)
            return []
        marks: list[tuple[Mark, float | None]] = []
        for line in text.splitlines():
            at, _, said = line.partition(" ")
            mark = self._parser.parse(said)
            seconds = _seconds(at)
            if mark is not None:
                marks.append((mark, seconds))
            if seconds is not None:
                self._since[pod] = at
        return marks


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
