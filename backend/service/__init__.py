"""The HTTP API over the store and the runner, in a process of its own: never in the one that serves browsers."""
