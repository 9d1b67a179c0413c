"""A backend that is killed, a worker that is killed, an orderly end: no run stays "running", nothing recorded is lost.

Here the service is a real process, started as `podshift serve` starts it.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.conditions import PATIENCE_S, specification, wait_until

SLOW = 30.0
"""Simulated seconds a second: seven jobs take twenty seconds."""


class Backend:
    """`podshift serve` as a process."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-m", "backend.cli", "serve", "--port", "0", "--jobs", "2", "--home", str(home)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip().removesuffix("/openapi.json")
        self.client = httpx.Client(base_url=address + "/", timeout=PATIENCE_S)

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def launch(self, name: str, speed: float | None = None) -> str:
        answer = self.client.post("experiments", json={"yaml": specification(name, speed=speed)})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def statuses(self, experiment: str) -> list[str]:
        return [run["status"] for run in self.get(f"experiments/{experiment}")["runs"]]

    def recording(self, run: str) -> int:
        """Waits until the run has recorded something; how many segments."""
        return int(wait_until(lambda: self.get(f"runs/{run}/tables/segments")["total"]))

    def workers(self) -> list[int]:
        """Ids of its child processes."""
        return [
            int(child)
            for task in Path(f"/proc/{self.process.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]

    def kill(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)

    def close(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def backend(home: Path) -> Iterator[Backend]:
    started = Backend(home)
    try:
        yield started
    finally:
        started.close()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("workers_too", [True, False], ids=["and its workers", "alone"])
def test_a_killed_backend_leaves_interrupted_runs(tmp_path: Path, workers_too: bool) -> None:
    with backend(tmp_path) as first:
        early = first.launch("early")
        wait_until(lambda: set(first.statuses(early)) == {"finished"})
        before = first.get(f"runs/{early}.migrated.s1")
        jobs = first.get(f"runs/{early}.migrated.s1/tables/jobs")["columns"]
        late = first.launch("late", SLOW)
        seen = first.recording(f"{late}.default.s1")
        workers = first.workers()
        first.kill(signal.SIGKILL)
        if workers_too:
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(gone(pid) for pid in workers))
    with backend(tmp_path) as second:
        assert second.statuses(late) == ["interrupted", "interrupted"]
        run = second.get(f"runs/{late}.default.s1")
        assert "ended before the run did" in run["error"]
        assert second.get(f"runs/{late}.default.s1/tables/segments")["total"] >= seen
        assert run["summary"]["unfinished"] > 0
        after = second.get(f"runs/{early}.migrated.s1")
        assert {**after, "rev": 0} == {**before, "rev": 0}
        assert second.get(f"runs/{early}.migrated.s1/tables/jobs")["columns"] == jobs
        again = second.launch("again")
        wait_until(lambda: set(second.statuses(again)) == {"finished"})
        assert second.get(f"runs/{again}.migrated.s1")["status"] == "finished"


def test_a_killed_worker_fails_its_run_only(tmp_path: Path) -> None:
    with backend(tmp_path) as service:
        doomed = service.launch("doomed", SLOW)
        seen = service.recording(f"{doomed}.default.s1")
        for pid in service.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: service.statuses(doomed) == ["failed", "failed"])
        run = service.get(f"runs/{doomed}.default.s1")
        assert "killed by signal 9" in run["error"]
        assert service.get(f"runs/{doomed}.default.s1/tables/segments")["total"] >= seen
        assert "placement" in service.get(f"runs/{doomed}.migrated.s1")["error"]
        next_one = service.launch("next")
        wait_until(lambda: service.statuses(next_one) == ["finished", "finished"])


def test_an_orderly_end_interrupts_what_runs(tmp_path: Path) -> None:
    with backend(tmp_path) as first:
        late = first.launch("late", SLOW)
        seen = first.recording(f"{late}.default.s1")
        first.kill(signal.SIGTERM)
    with backend(tmp_path) as second:
        assert second.statuses(late) == ["interrupted", "interrupted"]
        assert second.get(f"runs/{late}.default.s1/tables/segments")["total"] >= seen
        text = second.client.get(f"runs/{late}.default.s1/log").text
        assert text.splitlines()[-1].startswith('{"kind":"run_stopped"')


def test_a_killed_command_does_not_leave_a_running_run(tmp_path: Path) -> None:
    file = tmp_path / "slow.yaml"
    file.write_text(specification("slow", speed=SLOW))
    with backend(tmp_path) as service:
        command = [sys.executable, "-m", "backend.cli", "run", str(file), "--paced", "--home", str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            (item,) = wait_until(lambda: service.get("experiments")["items"])
            service.recording(f"{item['id']}.default.s1")
            assert service.statuses(item["id"]) == ["running", "queued"]
            process.kill()
            process.wait()
        wait_until(lambda: service.statuses(item["id"]) == ["interrupted", "interrupted"])
