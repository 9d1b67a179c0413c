"""Who is asking (bearer tokens) and what they may do (RBAC)."""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from backend.embedded.apiserver.clock import Clock
from backend.embedded.apiserver.errors import ApiError, Object, unauthorized
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.store import Store

MASTERS, AUTHENTICATED, ANYBODY = "system:masters", "system:authenticated", "system:unauthenticated"
_RBAC = "rbac.authorization.k8s.io"
# What everybody may read: whether the server is up, and which version it is.
OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody by name, with the groups that they are in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    def info(self) -> Object:
        """The user as a review shows them."""
        info: Object = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            info["uid"] = self.uid
        return info


ANONYMOUS = User("system:anonymous", (ANYBODY,))
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a service account is."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody wants to do: a verb on a resource, or on a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @staticmethod
    def to(verb: str, resource: Resource, namespace: str, name: str, subresource: str) -> "Access":
        """The access to a resource that is served here."""
        return Access(verb, resource.group, resource.plural, subresource, namespace, name)


@dataclass(slots=True)
class _Token:
    user: User
    expires: datetime | None = None


@dataclass
class Tokens:
    """The tokens that the server knows."""

    clock: Clock
    _known: dict[str, _Token] = field(default_factory=dict)

    def add(self, token: str, user: User) -> None:
        """Take a token as that user's, for as long as the server lives."""
        self._known[token] = _Token(user)

    def issue(self, user: User, lifetime_s: float | None = None) -> tuple[str, datetime | None]:
        """A new token, with the moment that it ends."""
        now = self.clock()
        # Whoever asks for tokens every few minutes must not fill the memory with dead ones.
        for old in [t for t, known in self._known.items() if known.expires and known.expires <= now]:
            del self._known[old]
        token = f"podshift.{secrets.token_urlsafe(32)}"
        expires = now + timedelta(seconds=lifetime_s) if lifetime_s is not None else None
        self._known[token] = _Token(user, expires)
        return token, expires

    def user(self, authorization: str | None) -> User:
        """Whose request it is.

        Raises:
            ApiError: 401 for a token that nobody has.
        """
        if not authorization:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        known = self._known.get(token.strip()) if scheme.lower() == "bearer" else None
        if known is None or (known.expires is not None and known.expires <= self.clock()):
            raise unauthorized()
        return known.user

    def reviewed(self, token: str) -> User | None:
        """Whose token it is; None when nobody's."""
        try:
            return self.user(f"Bearer {token}")
        except ApiError:
            return None


class Rbac:
    """Says yes when a role that is bound to the user allows it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, user: User, access: Access) -> bool:
        """Whether the user may."""
        if MASTERS in user.groups or (access.path in OPEN_PATHS and access.verb == "get"):
            return True
        return any(_grants(rule, access) for rule in self.rules(user, access.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Mapping[str, Any]]:
        """The rules that hold for a user in a namespace ("" for the cluster)."""
        if MASTERS in user.groups:
            yield {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            yield {"verbs": ["*"], "nonResourceURLs": ["*"]}
        for binding in self._store.items(f"clusterrolebindings.{_RBAC}"):
            if _bound(binding.get("subjects") or (), user, ""):
                yield from self._role(binding["roleRef"], "")
        if namespace:
            for binding in self._store.items(f"rolebindings.{_RBAC}", namespace):
                if _bound(binding.get("subjects") or (), user, namespace):
                    yield from self._role(binding["roleRef"], namespace)

    def _role(self, reference: Mapping[str, str], namespace: str) -> Iterable[Mapping[str, Any]]:
        if reference["kind"] == "ClusterRole":
            role = self._store.get(f"clusterroles.{_RBAC}", "", reference["name"])
        else:
            role = self._store.get(f"roles.{_RBAC}", namespace, reference["name"])
        rules: Iterable[Mapping[str, Any]] = (role or {}).get("rules") or ()
        return rules


def _bound(subjects: Iterable[Mapping[str, str]], user: User, namespace: str) -> bool:
    for subject in subjects:
        if subject["kind"] == "User" and subject["name"] == user.name:
            return True
        if subject["kind"] == "Group" and subject["name"] in user.groups:
            return True
        if subject["kind"] == "ServiceAccount":
            home = subject.get("namespace") or namespace
            if user.name == f"system:serviceaccount:{home}:{subject['name']}":
                return True
    return False


def _in(wanted: str, allowed: Iterable[str]) -> bool:
    return any(one in ("*", wanted) for one in allowed)


def _grants(rule: Mapping[str, Any], access: Access) -> bool:
    if not _in(access.verb, rule.get("verbs") or ()):
        return False
    if access.path:
        paths = rule.get("nonResourceURLs") or ()
        return any(p == access.path or (p.endswith("*") and access.path.startswith(p[:-1])) for p in paths)
    whole = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    resources = rule.get("resources") or ()
    if not (_in(whole, resources) or (access.subresource and f"*/{access.subresource}" in resources)):
        return False
    names = rule.get("resourceNames") or ()
    return _in(access.group, rule.get("apiGroups") or ()) and (not names or access.name in names)


def refusal(user: User, access: Access) -> ApiError:
    """The 403 for it."""
    if access.path:
        message = f'forbidden: User "{user.name}" cannot {access.verb} path "{access.path}"'
        return ApiError(403, "Forbidden", message)
    resource = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    scope = f'in the namespace "{access.namespace}"' if access.namespace else "at the cluster scope"
    about: Object = {"name": access.name, "kind": access.resource} if access.name else {"kind": access.resource}
    if access.group:
        about["group"] = access.group
    qualified = f"{access.resource}.{access.group}" if access.group else access.resource
    subject = f'{qualified} "{access.name}"' if access.name else qualified
    message = (
        f'{subject} is forbidden: User "{user.name}" cannot {access.verb} resource "{resource}" '
        f'in API group "{access.group}" {scope}'
    )
    return ApiError(403, "Forbidden", message, about)
