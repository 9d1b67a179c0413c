"""A thread of one's own that can be stopped at any time and is waited for."""

import threading


class Background:
    """Runs `_run` in a thread until `stop`, which sets `_stopping` and waits for it."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after what is under way."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        """What the thread does; looks at `_stopping` again and again."""
        raise NotImplementedError
