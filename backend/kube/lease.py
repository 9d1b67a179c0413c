"""Leader election by a Lease, so that of two Podshifts only one acts.

Our own and not the client's LeaderElection: that one sleeps where it cannot be stopped, makes calls without timeouts,
writes local times without a zone into the lease, measures by a clock that may be set back, and never gives a lease up.
"""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime

from backend.kube.background import Background
from backend.kube.client import Api, ApiError, Json

DURATION_S = 15.0
"""How long the others wait after the last renewal: client-go's default, as are the two below."""
RENEW_WITHIN_S = 10.0
"""After so long without a renewal the leader stops acting; less than DURATION_S by more than clocks drift."""
RETRY_S = 2.0


class Lease(Background):
    """One candidate for one lease. `stop` gives it up, so that the next one need not wait for it to run out.

    Times in the lease are for people: whether somebody else's lease has run out is told by our own clock, from when we
    saw its last renewal.
    """

    def __init__(
        self,
        api: Api,
        name: str,
        identity: str,
        *,
        namespace: str = "default",
        duration_s: float = DURATION_S,
        renew_within_s: float = RENEW_WITHIN_S,
        retry_s: float = RETRY_S,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        changed: Callable[[bool], None] | None = None,
    ) -> None:
        """`changed` is called in the lease's thread with whether we lead, when that changes."""
        if not 0 < retry_s < renew_within_s < duration_s:
            raise ValueError(
                f"a lease of {duration_s:g} s that is to be renewed within {renew_within_s:g} s and is tried every "
                f"{retry_s:g} s: each must be less than the one before"
            )
        super().__init__(f"lease {name}")
        self._api = api
        self._name = name
        self.identity = identity
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._duration_s = duration_s
        self._renew_within_s = renew_within_s
        self._retry_s = retry_s
        self._clock = clock
        self._wall = wall
        self._changed = changed
        self._leads_until = float("-inf")
        self._led = False
        self._observed: tuple[str, str] | None = None
        """Holder and time of the last renewal that was seen."""
        self._observed_at = 0.0
        self.holder = ""
        """Who leads, as far as we know."""
        self.error = ""
        """Why the last attempt came to nothing."""

    @property
    def leads(self) -> bool:
        """Whether we may act now."""
        return self._clock() < self._leads_until

    def attempt(self) -> bool:
        """Take the lease or renew it, if it can be had; whether we lead now."""
        began = self._clock()
        try:
            won = self._attempt()
        except ApiError as error:
            self.error = str(error)
        else:
            self.error = ""
            # Counted from before the call: the others may have seen the renewal as early as that.
            self._leads_until = began + self._renew_within_s if won else float("-inf")
        self._tell()
        return self.leads

    def release(self) -> None:
        """Give the lease up."""
        was, self._leads_until = self.leads, float("-inf")
        self._tell()
        if not was:
            return
        try:
            lease = self._api.get(f"{self._folder}/{self._name}")
            if _holder(lease) == self.identity:
                self._api.put(f"{self._folder}/{self._name}", self._renewed(lease, holder=""))
        except ApiError as error:
            self.error = str(error)

    def _attempt(self) -> bool:
        path = f"{self._folder}/{self._name}"
        try:
            lease = self._api.get(path)
        except ApiError as error:
            if error.status != 404:
                raise
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self._name},
                "spec": {},
            }
            return self._write(lambda: self._api.post(self._folder, self._renewed(lease)))
        holder = _holder(lease)
        seen = (holder, str(lease["spec"].get("renewTime")))
        if seen != self._observed:
            self._observed, self._observed_at = seen, self._clock()
        self.holder = holder
        promised_s = float(lease["spec"].get("leaseDurationSeconds") or self._duration_s)
        if holder not in ("", self.identity) and self._clock() < self._observed_at + promised_s:
            return False
        return self._write(lambda: self._api.put(path, self._renewed(lease)))

    def _write(self, write: Callable[[], Json]) -> bool:
        """The lease's version makes sure that of two who write at a time one gets a 409."""
        try:
            write()
        except ApiError as error:
            if error.status != 409:
                raise
            return False
        self.holder = self.identity
        return True

    def _renewed(self, lease: Json, holder: str | None = None) -> Json:
        spec = dict(lease.get("spec") or {})
        now = datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if spec.get("holderIdentity") != self.identity:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + ("holderIdentity" in spec)
        spec |= {
            "holderIdentity": self.identity if holder is None else holder,
            "leaseDurationSeconds": max(1, round(self._duration_s)),
            "renewTime": now,
        }
        return {**lease, "spec": spec}

    def _tell(self) -> None:
        leads = self.leads
        if leads != self._led:
            self._led = leads
            if self._changed is not None:
                self._changed(leads)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.attempt()
            # A fifth more or less, so that candidates do not march in step.
            self._stopping.wait(self._retry_s * random.uniform(0.8, 1.2))
        self.release()


def _holder(lease: Json) -> str:
    lease["spec"] = lease.get("spec") or {}
    return str(lease["spec"].get("holderIdentity") or "")
