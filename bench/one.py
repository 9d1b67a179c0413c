"""One measurement, printed as JSON: python -m bench.one SIDE NODES JOBS."""

import json
import sys
import time

from bench.workload import arrivals


def main(side: str, nodes: int, jobs: int) -> dict[str, float]:
    """Measure one side."""
    if side == "simpy":
        from bench.simpy_peer import mean_completion_s

        work = arrivals(nodes, jobs)
        began = time.process_time()
        mean = mean_completion_s(nodes, work)
        return {"seconds": time.process_time() - began, "mean": mean}
    from bench import podshift_side

    if side == "podshift":
        seconds, mean, events = podshift_side.processor_sharing(nodes, arrivals(nodes, jobs))
        return {"seconds": seconds, "mean": mean, "events": events}
    if side == "watched":
        seconds, peak, events, migrations = podshift_side.watched(nodes)
        return {"seconds": seconds, "peak": peak, "events": events, "migrations": migrations}
    if side == "seven":
        podshift_side.seven_jobs()  # the first one imports what it needs
        return {"seconds": podshift_side.seven_jobs()}
    raise SystemExit(f"no side is called {side}")


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
