"""A server as a child process: it inherits a listening socket, is waited for, watched, and ended by its id.

The socket is opened here, before the child starts: a busy port is known at once, the address is known although the port
was 0, and a child that is started again finds the connections that came in between.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException

LOOPBACK = "127.0.0.1"
"""The only address that servers listen on: there is no sign-in yet, so nobody else may reach them."""
_ANSWER_S = 2.0
"""How long a health check may take before it counts as unanswered."""
_GRACE_S = 10.0
"""From SIGTERM to SIGKILL; a running request or the last chunk of a log is done well before."""
_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a child gets when its parent is gone."""


def listen(port: int) -> socket.socket:
    """A listening socket on the loopback address; port 0 takes a free one. Raises OSError if the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def port_of(listener: socket.socket) -> int:
    """The port a socket listens on."""
    return int(listener.getsockname()[1])


class Server:
    """One server process on a socket that outlives it."""

    def __init__(
        self, name: str, command: Sequence[str], listener: socket.socket, environment: Mapping[str, str], health: str
    ) -> None:
        self.name = name
        self.listener = listener
        self._command = list(command)
        self._environment = dict(environment)
        """Beyond the environment of this process at the time of the start."""
        self._health = health
        self._process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0

    @property
    def pid(self) -> int | None:
        """The process id while there is a process."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process. It has a session of its own: Ctrl-C reaches us only, and we end it in order."""
        self.started_at = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603 (our own command)
            self._command,
            env={**os.environ, **self._environment},
            pass_fds=[self.listener.fileno()],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 (we have one thread)
        )

    def exit_code(self) -> int | None:
        """The exit code once the process ended (negative: the signal that ended it), None while it runs."""
        return self._process.poll() if self._process is not None else None

    def healthy(self) -> bool:
        """Whether the server answers its health check with 200."""
        connection = HTTPConnection(LOOPBACK, port_of(self.listener), timeout=_ANSWER_S)
        try:
            connection.request("GET", self._health)
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def end(self) -> None:
        """SIGTERM, and SIGKILL if that did not end it within the grace time."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _end_with_parent() -> None:
    # Between fork and exec. A `podshift up` that is killed outright must not leave its servers behind.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:  # the parent went before the line above took effect
        os._exit(1)
