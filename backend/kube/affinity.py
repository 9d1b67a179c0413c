"""What keeps a pod to some of the nodes, put as a node selector, as far as that can be.

Our scheduler knows labels, taints and requests. A pod that asks for more must not be placed by it as if it had not:
it is left alone, with the reason.
"""

from typing import Any

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"


class InexpressibleError(ValueError):
    """Something that our scheduler does not know how to keep to."""


def node_selector(spec: Json) -> dict[str, str]:
    """Node selector and required node affinity of a pod as one node selector. Raises InexpressibleError."""
    selector = {str(key): str(value) for key, value in (spec.get("nodeSelector") or {}).items()}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return selector
    terms = [term for term in required.get("nodeSelectorTerms") or () if _matches_something(term)]
    if len(terms) != 1:
        count = "no term that a node could match" if not terms else f"{len(terms)} terms of which one is enough"
        raise InexpressibleError(f"its required node affinity has {count}")
    for expression in terms[0].get("matchExpressions") or ():
        _add(selector, str(expression.get("key")), expression)
    for expression in terms[0].get("matchFields") or ():
        if expression.get("key") != "metadata.name":
            raise InexpressibleError(f"its required node affinity asks for the field {expression.get('key')}")
        # The label that kubelets set to the node's name; convert.node_of sets it where it is missing.
        _add(selector, HOSTNAME, expression)
    return selector


def refusal(spec: Json) -> str:
    """Why our scheduler must not place such a pod; empty where it may."""
    gates = [str(gate.get("name")) for gate in spec.get("schedulingGates") or ()]
    if gates:
        return f"its scheduling gates are closed: {', '.join(gates)}"
    try:
        node_selector(spec)
    except InexpressibleError as error:
        return str(error)
    affinity = spec.get("affinity") or {}
    for key, name in (("podAffinity", "pod affinity"), ("podAntiAffinity", "pod anti-affinity")):
        if (affinity.get(key) or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            return f"it has required {name}"
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            return f"it must be spread over {constraint.get('topologyKey')}"
    if spec.get("resourceClaims"):
        return "it claims devices"
    for container in spec.get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                return f"it needs port {port['hostPort']} of its node"
    return ""


def _matches_something(term: Json) -> bool:
    """A term without expressions matches no node (Kubernetes API, NodeSelectorTerm)."""
    return bool(term.get("matchExpressions") or term.get("matchFields"))


def _add(selector: dict[str, str], key: str, expression: Json) -> None:
    operator = expression.get("operator")
    values = {str(value) for value in expression.get("values") or ()}
    if operator != "In" or len(values) != 1:
        several = f"one of {len(values)} values" if operator == "In" else str(operator)
        raise InexpressibleError(f"its required node affinity says {key} {several}, which is no node selector")
    value = values.pop()
    if selector.setdefault(key, value) != value:
        raise InexpressibleError(f"it asks for both {key}={selector[key]} and {key}={value}")
