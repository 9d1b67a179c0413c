"""drive(): the one loop. Events go in, decisions and actions come out, everything that happened is in the log."""

from collections.abc import Callable

from backend.model.events import Event
from backend.model.seam import Cluster, Controller, EventLog


def drive(
    cluster: Cluster,
    controller: Controller,
    log: EventLog,
    *,
    should_stop: Callable[[Event], bool] | None = None,
) -> bool:
    """Move events from the cluster to the controller until the cluster has no more; True if it came to that.

    An outcome that is an event is logged before the actions behind it are executed, so that the log holds the intent
    of whatever was begun. `should_stop` is asked with each event once it has been handled; True ends the loop early.
    """
    append = log.append
    handle = controller.handle
    execute = cluster.execute
    for event in cluster.events():
        append(event)
        for outcome in handle(event):
            if isinstance(outcome, Event):
                append(outcome)
            else:
                execute(outcome)
        if should_stop is not None and should_stop(event):
            return False
    return True
