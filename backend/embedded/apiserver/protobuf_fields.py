"""The fields of the kinds that kubectl makes by itself, by their numbers in Kubernetes' `generated.proto` files.

Not all of them: those that kubectl's `create` commands can fill.
"""

from collections.abc import Mapping
from typing import Any

Message = Mapping[int, tuple[Any, ...]]
"""Number of the field -> its name, what it is (a word, or the message in it), and MANY or ENTRY when repeated."""
MANY, ENTRY = "many", "entry"


def _texts(*names: str) -> dict[int, tuple[Any, ...]]:
    """Fields that are all text, numbered from 1."""
    return {number: (name, "text") for number, name in enumerate(names, 1)}


_METADATA: Message = {
    1: ("name", "text"),
    2: ("generateName", "text"),
    3: ("namespace", "text"),
    11: ("labels", "text", ENTRY),
    12: ("annotations", "text", ENTRY),
    14: ("finalizers", "text", MANY),
}
_SELECTOR: Message = {1: ("matchLabels", "text", ENTRY)}
_RESOURCES: Message = {1: ("limits", "quantity", ENTRY), 2: ("requests", "quantity", ENTRY)}
_CONTAINER: Message = {
    1: ("name", "text"),
    2: ("image", "text"),
    3: ("command", "text", MANY),
    4: ("args", "text", MANY),
    5: ("workingDir", "text"),
    6: ("ports", {1: ("name", "text"), 3: ("containerPort", "number"), 4: ("protocol", "text")}, MANY),
    7: ("env", _texts("name", "value"), MANY),
    8: ("resources", _RESOURCES),
    14: ("imagePullPolicy", "text"),
}
_POD_SPEC: Message = {
    2: ("containers", _CONTAINER, MANY),
    3: ("restartPolicy", "text"),
    4: ("terminationGracePeriodSeconds", "number"),
    5: ("activeDeadlineSeconds", "number"),
    6: ("dnsPolicy", "text"),
    7: ("nodeSelector", "text", ENTRY),
    8: ("serviceAccountName", "text"),
    10: ("nodeName", "text"),
    19: ("schedulerName", "text"),
}
_TEMPLATE: Message = {1: ("metadata", _METADATA), 2: ("spec", _POD_SPEC)}


def _object(spec: Message | None = None, **fields: Any) -> Message:
    """A kind with metadata, a specification perhaps, and fields of its own as `name=(number, ...)`."""
    message: dict[int, tuple[Any, ...]] = {1: ("metadata", _METADATA)}
    if spec is not None:
        message[2] = ("spec", spec)
    return message | {number: (name, *rest) for name, (number, *rest) in fields.items()}


_RULE: Message = {
    number: (name, "text", MANY)
    for number, name in enumerate(("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"), 1)
}
_ROLE = _object(rules=(2, _RULE, MANY))
_BINDING = _object(
    subjects=(2, _texts("kind", "apiGroup", "name", "namespace"), MANY),
    roleRef=(3, _texts("apiGroup", "kind", "name")),
)
_ACCESS: Message = {
    1: (
        "resourceAttributes",
        _texts("namespace", "verb", "group", "version", "resource", "subresource", "name"),
    ),
    2: ("nonResourceAttributes", _texts("path", "verb")),
}
_PORT: Message = {
    1: ("name", "text"),
    2: ("protocol", "text"),
    3: ("port", "number"),
    4: ("targetPort", "number or text"),
    5: ("nodePort", "number"),
}

KINDS: Mapping[str, Message] = {
    "ConfigMap": _object(data=(2, "text", ENTRY), binaryData=(3, "bytes", ENTRY), immutable=(4, "truth")),
    "Secret": _object(data=(2, "bytes", ENTRY), type=(3, "text"), stringData=(4, "text", ENTRY)),
    "Namespace": _object(),
    "ServiceAccount": _object(),
    "Pod": _object(_POD_SPEC),
    "Deployment": _object({1: ("replicas", "number"), 2: ("selector", _SELECTOR), 3: ("template", _TEMPLATE)}),
    "Job": _object(
        {
            1: ("parallelism", "number"),
            2: ("completions", "number"),
            6: ("template", _TEMPLATE),
            7: ("backoffLimit", "number"),
        }
    ),
    "Service": _object(
        {1: ("ports", _PORT, MANY), 2: ("selector", "text", ENTRY), 3: ("clusterIP", "text"), 4: ("type", "text"),
         10: ("externalName", "text")}
    ),
    "PodDisruptionBudget": _object(
        {1: ("minAvailable", "number or text"), 2: ("selector", _SELECTOR), 3: ("maxUnavailable", "number or text")}
    ),
    "PriorityClass": _object(
        value=(2, "number"), globalDefault=(3, "truth"), description=(4, "text"), preemptionPolicy=(5, "text")
    ),
    "Role": _ROLE,
    "ClusterRole": _ROLE,
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "SelfSubjectAccessReview": _object(_ACCESS),
    "SelfSubjectRulesReview": _object({1: ("namespace", "text")}),
    "SelfSubjectReview": _object(),
    "TokenRequest": _object({1: ("audiences", "text", MANY), 4: ("expirationSeconds", "number")}),
}  # fmt: skip
