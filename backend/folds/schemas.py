"""The tables that a log folds into: names, columns, types. Times are seconds since the run began.

A column without a value in a row holds null: a job that has not started has no started_s.
"""

import pyarrow as pa

TEXT = pa.string()
REAL = pa.float64()
WHOLE = pa.int64()
FLAG = pa.bool_()


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


SCHEMAS: dict[str, pa.Schema] = {
    "jobs": _schema(
        job=TEXT,
        workload=TEXT,
        submitted_s=REAL,
        started_s=REAL,
        ended_s=REAL,
        outcome=TEXT,  # finished, failed or unfinished
        completion_s=REAL,  # submission to end, finished jobs only
        waiting_s=REAL,  # submission to first start
        downtime_s=REAL,
        migrations=WHOLE,
        pods=WHOLE,
        core_s=REAL,
        lost_core_s=REAL,
        first_node=TEXT,
        last_node=TEXT,
        reason=TEXT,  # why it failed, else empty
    ),
    "segments": _schema(
        job=TEXT,
        pod=TEXT,
        node=TEXT,
        incarnation=WHOLE,
        bound_s=REAL,
        started_s=REAL,
        end_s=REAL,
        end=TEXT,  # finished, failed, migrated, node-lost, deleted or open
        migration=WHOLE,  # the migration that created the pod
    ),
    "migrations": _schema(
        migration=WHOLE,
        job=TEXT,
        from_pod=TEXT,
        to_pod=TEXT,
        source=TEXT,
        target=TEXT,
        cause=TEXT,
        reason=TEXT,
        started_s=REAL,
        ended_s=REAL,
        outcome=TEXT,  # finished, rolled-back or under-way
        downtime_s=REAL,  # finished migrations only
        lost_core_s=REAL,
        outcome_reason=TEXT,
    ),
    "considerations": _schema(
        seq=WHOLE,
        time_s=REAL,
        round=WHOLE,
        job=TEXT,
        pod=TEXT,
        source=TEXT,
        target=TEXT,
        verdict=TEXT,
        cause=TEXT,
        reason=TEXT,
        gain=REAL,
        margin=REAL,
        candidates=TEXT,  # JSON: node -> terms
    ),
    "decisions": _schema(
        seq=WHOLE,
        time_s=REAL,
        pod=TEXT,
        job=TEXT,
        node=TEXT,
        policy=TEXT,
        reason=TEXT,
        feasible=WHOLE,
        permanent=FLAG,
        refused_counts=TEXT,  # JSON: filter -> nodes
        detail=TEXT,  # JSON: nodes, totals, scores, refused, needed_images
    ),
    "categories": _schema(
        seq=WHOLE,
        time_s=REAL,
        job=TEXT,
        pod=TEXT,
        node=TEXT,
        before=TEXT,
        after=TEXT,
        score=REAL,
        previous_score=REAL,
        threshold=REAL,
        reason=TEXT,
    ),
    "progress": _schema(
        time_s=REAL,
        job=TEXT,
        pod=TEXT,
        node=TEXT,
        iteration=REAL,
        value=REAL,
        cpu_millis=REAL,
        iteration_s=REAL,
    ),
    "usage": _schema(time_s=REAL, node=TEXT, cpu_millis=REAL, memory_bytes=REAL, capacity_millis=WHOLE),
    # A row for each stay of a node, and for each capacity that it had during one.
    "nodes": _schema(node=TEXT, cpu_millis=WHOLE, memory_bytes=WHOLE, joined_s=REAL, left_s=REAL),
    "images": _schema(time_s=REAL, node=TEXT, image=TEXT, size_bytes=WHOLE, duration_s=REAL),
}

LOG: pa.Schema = _schema(seq=WHOLE, time_s=REAL, kind=TEXT, event=TEXT)  # event: canonical JSON
"""The log itself as a table. No fold makes it, and no run keeps it a second time: the store reads it from the log."""
