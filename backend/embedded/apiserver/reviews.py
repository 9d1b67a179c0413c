"""Questions about rights and identities: what may I do, who am I, whose token is this."""

from collections.abc import Mapping
from typing import Any

from backend.embedded.apiserver.auth import Access, Rbac, Tokens, User
from backend.embedded.apiserver.errors import Object, bad_request
from backend.embedded.apiserver.resources import Resource


def _access(spec: Mapping[str, Any]) -> Access:
    if path := spec.get("nonResourceAttributes"):
        return Access(path.get("verb", ""), path=path.get("path", ""))
    wanted = spec.get("resourceAttributes")
    if not wanted:
        raise bad_request("a review needs resourceAttributes or nonResourceAttributes")
    return Access(
        wanted.get("verb", ""),
        wanted.get("group", ""),
        wanted.get("resource", ""),
        wanted.get("subresource", ""),
        wanted.get("namespace", ""),
        wanted.get("name", ""),
    )


class Reviews:
    """Answers the kinds that are never stored."""

    def __init__(self, rbac: Rbac, tokens: Tokens) -> None:
        self._rbac = rbac
        self._tokens = tokens

    def answer(self, resource: Resource, namespace: str, obj: Object, user: User) -> Object:
        """The review with its status."""
        spec = obj.get("spec") or {}
        if resource.kind == "SelfSubjectAccessReview":
            status = self._verdict(user, _access(spec))
        elif resource.kind in ("SubjectAccessReview", "LocalSubjectAccessReview"):
            asked = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
            status = self._verdict(asked, _access(spec))
        elif resource.kind == "SelfSubjectRulesReview":
            status = self._rules(user, spec.get("namespace", namespace))
        elif resource.kind == "SelfSubjectReview":
            status = {"userInfo": user.info()}
        else:
            known = self._tokens.reviewed(spec.get("token", ""))
            status = {"authenticated": True, "user": known.info()} if known else {"user": {}, "error": "unknown token"}
        return {
            "kind": resource.kind, "apiVersion": resource.api_version, "metadata": obj.get("metadata") or {},
            "spec": spec, "status": status,
        }  # fmt: skip

    def _verdict(self, user: User, access: Access) -> Object:
        allowed = self._rbac.allows(user, access)
        return {"allowed": allowed, "reason": "RBAC: allowed by a bound role" if allowed else ""}

    def _rules(self, user: User, namespace: str) -> Object:
        rules = list(self._rbac.rules(user, namespace))
        return {
            "resourceRules": [rule for rule in rules if "resources" in rule],
            "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
            "incomplete": False,
        }
