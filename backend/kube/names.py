"""Names of pods and jobs as our log has them, and where in the cluster they are.

A name without a dot is in the default namespace. Any other is the namespace, a dot and the name, also for what is in
the default namespace and has a dot in its name: a namespace has no dot, so that each name is read in one way only.
"""

import re

DEFAULT_NAMESPACE = "default"

JOB = "podshift.io/job"
"""Label, or annotation where it is too long for a label: the job a pod belongs to."""
RUN = "podshift.io/run"
"""Label: the run that created the pod, and may delete it."""
INCARNATION = "podshift.io/incarnation"
"""Label: how many pods the job had before."""
MIGRATION = "podshift.io/migration"
"""Label: number of the migration that created the pod."""
WORKLOAD = "podshift.io/workload"
"""Label: the kind of work, such as "lenet"."""
MIGRATABLE = "podshift.io/migratable"
"""Annotation or label: "false" keeps a pod where it is, "true" allows what would be taken to be bound to its node."""
ITERATIONS = "podshift.io/iterations"
"""Annotation: iterations that the job has in all."""
METRIC = "podshift.io/metric"
"""Annotation: name of the evaluation value."""
PROGRESS = "podshift.io/progress"
"""Annotation: the last progress line, written by the job itself."""
MOVE_TO = "podshift.io/migrate-to"
"""Annotation, for people: the node that the pod's job is to move to; "any" is wherever it fits best."""
TRAINING = "podshift.io/training"
"""Annotation, read by the embedded cluster only: the training model that a pod runs, as a specification has it."""
RUN_SECONDS = "podshift.io/run-seconds"
"""Annotation, read by the embedded cluster only: how long a pod that trains nothing runs; for ever without it."""

LONGEST_LABEL = 63

_POD_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")


def qualified(namespace: str, name: str) -> str:
    """The name in our log."""
    if namespace == DEFAULT_NAMESPACE and "." not in name:
        return name
    return f"{namespace}.{name}"


def located(name: str) -> tuple[str, str]:
    """Namespace and name of what our log calls `name`."""
    namespace, dot, rest = name.partition(".")
    return (namespace, rest) if dot else (DEFAULT_NAMESPACE, name)


def is_pod_name(name: str) -> bool:
    """Whether a pod may be called so (a DNS subdomain)."""
    return len(name) <= 253 and _POD_NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether a label may have this value."""
    return len(text) <= LONGEST_LABEL and _LABEL_VALUE.fullmatch(text) is not None


def pods_path(namespace: str | None = None) -> str:
    """Path of a namespace's pods; None: of all."""
    return f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"


def pod_path(name: str) -> str:
    """Path of a pod by its name in our log."""
    namespace, own = located(name)
    return f"{pods_path(namespace)}/{own}"
