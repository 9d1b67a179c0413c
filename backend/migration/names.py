"""Names of pods: train-3, train-3-migrated, train-3-migrated-2, train-3-restarted ... (specon-procon.md 4.11)."""

from backend.model.objects import Pod
from backend.model.state import ClusterState


class PodNames:
    """Gives each new pod of a job a name that no pod and no job had before; never a second suffix.

    The identity of a job is its name, not that of its pods; suffixes are for people.
    """

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        """Name without its number -> the last number given to it."""

    def migrated(self, job: str, state: ClusterState) -> str:
        """Name of the next pod that a migration of the job creates."""
        return self._next(f"{job}-migrated", state)

    def restarted(self, job: str, state: ClusterState) -> str:
        """Name of the next pod that replaces one which was lost."""
        return self._next(f"{job}-restarted", state)

    def recall(self, pod: Pod) -> None:
        """Take note of a pod that exists or existed (a log that is read again)."""
        for stem in (f"{pod.job}-migrated", f"{pod.job}-restarted"):
            number = pod.name.removeprefix(f"{stem}-")
            if pod.name == stem:
                self._used[stem] = max(self._used.get(stem, 0), 1)
            elif number != pod.name and number.isdecimal():
                self._used[stem] = max(self._used.get(stem, 0), int(number))

    def _next(self, stem: str, state: ClusterState) -> str:
        number = self._used.get(stem, 0) + 1
        # A job may be called like another one's pod, "train-3-migrated" for instance: then the next number.
        while (name := stem if number == 1 else f"{stem}-{number}") in state.pods or name in state.jobs:
            number += 1
        self._used[stem] = number
        return name
