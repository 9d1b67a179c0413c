"""HTTP: from a request to the verbs of `rest`, and back to a body."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import yaml
from aiohttp import web

from backend.embedded.apiserver import (
    discovery,
    forms,
    listing,
    openapi,
    patches,
    protobuf,
    subresources,
    target,
    watch,
)
from backend.embedded.apiserver.auth import OPEN_PATHS, Access, Rbac, Tokens, User, refusal
from backend.embedded.apiserver.budgets import Budgets
from backend.embedded.apiserver.deletion import DeleteOptions, Deletion
from backend.embedded.apiserver.errors import ApiError, Object, bad_request, no_such_path, unsupported_media
from backend.embedded.apiserver.faults import Faults
from backend.embedded.apiserver.providers import Logs, Metrics
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.rest import Options, Rest
from backend.embedded.apiserver.reviews import Reviews
from backend.embedded.apiserver.tables import Shape
from backend.embedded.apiserver.target import Target

_LOG = logging.getLogger(__name__)
_JSON = "application/json"
_YAML = ("application/yaml", "application/x-yaml", "text/yaml")
_REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
Door = Callable[[str, list[str], Any], Object]
"""`door(method, rest of the path, body)`: an answer beside the Kubernetes API. Raises ApiError."""
# Kinds that a delete answers with, where the others get a Status.
_RETURNED = frozenset({"pods", "services", "serviceaccounts", "persistentvolumeclaims", "persistentvolumes"})


def _answer(body: Object, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), status=code, content_type=_JSON, headers=headers)


def _success(resource: Resource, obj: Object) -> Object:
    details: Object = {"name": obj["metadata"]["name"], "kind": resource.plural, "uid": obj["metadata"]["uid"]}
    if resource.group:
        details["group"] = resource.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _done(code: int) -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


class Api:
    """Answers every request."""

    def __init__(
        self,
        rest: Rest,
        deletion: Deletion,
        budgets: Budgets,
        rbac: Rbac,
        tokens: Tokens,
        faults: Faults,
        bell: watch.Bell,
        anonymous: User,
    ) -> None:
        self._rest = rest
        self._store = rest.store
        self._deletion = deletion
        self._budgets = budgets
        self._rbac = rbac
        self._tokens = tokens
        self._faults = faults
        self._bell = bell
        self.anonymous = anonymous
        self._reviews = Reviews(rbac, tokens)
        self.doors: dict[str, Door] = {}
        """First part of a path -> who answers requests for it."""
        self.logs = Logs(rest)
        self.metrics = Metrics(rest)
        self._verbs: Mapping[str, Callable[[web.BaseRequest, Target, User], Awaitable[web.StreamResponse]]] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_all,
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever comes of it."""
        try:
            verdict = self._faults.verdict()
            if self._faults.delay_s:
                await asyncio.sleep(self._faults.delay_s)
            if verdict == "drop":
                return self._dropped(request)
            response = await self._routed(request)
            return self._dropped(request) if verdict == "serve-then-drop" else response
        except ApiError as problem:
            headers = dict(problem.headers)
            if seconds := problem.details.get("retryAfterSeconds"):
                headers["Retry-After"] = str(seconds)
            return _answer(problem.status(), problem.code, headers)
        except ConnectionError:
            # The client went away in the middle of an answer; there is nobody to tell.
            return web.Response(status=499)
        except web.HTTPRequestEntityTooLarge as problem:
            message = f"Request entity too large: {problem.text}"
            return _answer(ApiError(413, "RequestEntityTooLarge", message).status(), 413)
        except Exception as problem:  # noqa: BLE001
            # A fault of ours must look to clients like a fault of any other API server.
            _LOG.exception("%s %s failed", request.method, request.path)
            return _answer(ApiError(500, "InternalError", f"Internal error occurred: {problem!r}").status(), 500)

    def _dropped(self, request: web.BaseRequest) -> web.Response:
        """Break the connection without a word."""
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=503)

    async def _routed(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self._user(request)
        path = request.path
        parts = path.strip("/").split("/")
        if (parts[0] == "api" and len(parts) > 2) or (parts[0] == "apis" and len(parts) > 3):
            return await self._resourceful(request, user)
        access = Access("get" if request.method == "HEAD" else request.method.lower(), path=path)
        if not self._rbac.allows(user, access):
            raise refusal(user, access)
        door = self.doors.get(parts[0])
        if door is not None:
            return _answer(door(request.method, parts[1:], await _body(request)))
        return self._described(request, parts)

    def _user(self, request: web.BaseRequest) -> User:
        authorization = request.headers.get("Authorization")
        user = self._tokens.user(authorization) if authorization else self.anonymous
        name = request.headers.get("Impersonate-User")
        if name:
            access = Access("impersonate", "", "users", name=name)
            if not self._rbac.allows(user, access):
                raise refusal(user, access)
            groups = tuple(request.headers.getall("Impersonate-Group", ()))
            user = User(name, (*groups, "system:authenticated"))
        return user

    def _described(self, request: web.BaseRequest, parts: list[str]) -> web.Response:
        """What the server says about itself."""
        path, registry = request.path, self._rest.registry
        if path.rstrip("/") == "/version":
            return _answer(discovery.version())
        if path in OPEN_PATHS or path.startswith(("/livez/", "/readyz/")):
            return web.Response(text="ok")
        if path == "/openapi/v2":
            if "protobuf" in request.headers.get("Accept", ""):
                return web.Response(body=openapi.protobuf(registry), content_type=openapi.PROTOBUF)
            return _answer(openapi.document(registry))
        body: Object | None = None
        if parts == ["api"]:
            body = discovery.core_versions(request.host)
        elif parts == ["apis"]:
            body = discovery.groups(registry)
        elif parts[0] == "api":
            body = discovery.kinds(registry, "", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            body = discovery.group(registry, parts[1])
        elif parts[0] == "apis":
            body = discovery.kinds(registry, parts[1], parts[2])
        if body is None:
            raise no_such_path()
        return _answer(body)

    async def _resourceful(self, request: web.BaseRequest, user: User) -> web.StreamResponse:
        what = target.of(request.method, request.path, request.query, self._rest.registry)
        access = Access.to(what.verb, what.resource, what.home, what.name, what.subresource)
        if not self._rbac.allows(user, access):
            raise refusal(user, access)
        return await self._verbs[what.verb](request, what, user)

    def _shown(self, request: web.BaseRequest, what: Target, obj: Object, code: int = 200) -> web.Response:
        """One object, in the shape that the client asked for."""
        shape = Shape.wanted(request.headers.get("Accept", ""), request.query)
        if shape.name:
            return _answer(shape.of_one(what.resource, obj, self._rest.clock()), code)
        return _answer(forms.outgoing(what.resource, obj), code)

    async def _get(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        if what.resource.group == "metrics.k8s.io":
            body = self.metrics.answer(what.resource, what.namespace, what.name, request.query, self._rest.clock())
            return _answer(body)
        if what.subresource == "log":
            return await self.logs.serve(request, what.resource, what.home, what.name, request.query)
        obj = self._rest.get(what.resource, what.home, what.name)
        if what.subresource == "scale":
            return _answer(subresources.scale_of(obj))
        return self._shown(request, what, obj)

    async def _list(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        query = request.query
        if what.resource.group == "metrics.k8s.io":
            return _answer(self.metrics.answer(what.resource, what.namespace, "", query, self._rest.clock()))
        page = listing.page(self._store, what.resource, what.namespace, query)
        shape = Shape.wanted(request.headers.get("Accept", ""), query)
        if shape.name:
            return _answer(shape.of_list(what.resource, page.items, page.metadata(), self._rest.clock()))
        return _answer(page.body(what.resource))

    async def _watch(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        shape = Shape.wanted(request.headers.get("Accept", ""), request.query)
        watcher = watch.Watch(
            self._store, what.resource, what.namespace, request.query, shape, self._rest.clock, what.name
        )
        return await watch.serve(request, watcher, self._bell, request.query)

    async def _create(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        resource, home, options = what.resource, what.home, _options(request)
        body = await _body(request)
        if not isinstance(body, dict):
            raise bad_request("the body is no object")
        if resource.group in _REVIEWS:
            return _answer(self._reviews.answer(resource, home, body, user), 201)
        if what.subresource == "binding" or resource.plural == "bindings":
            name = what.name or (body.get("metadata") or {}).get("name", "")
            pods = resource if what.name else self._rest.registry.named("pods")
            subresources.bind(self._rest, pods, home, name, body, options)
            return _answer(_done(201), 201)
        if what.subresource == "eviction":
            deleting = DeleteOptions.parsed(request.query, body.get("deleteOptions"))
            self._budgets.evict(resource, home, what.name, deleting)
            return _answer(_done(201), 201)
        if what.subresource == "token":
            return _answer(subresources.token(self._rest, self._tokens, resource, home, what.name, body), 201)
        if what.name:
            raise no_such_path()
        return self._shown(request, what, self._rest.create(resource, home, body, options), 201)

    async def _update(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        body, options = await _body(request), _options(request)
        if what.subresource == "scale":
            scale = subresources.rescale(self._rest, what.resource, what.home, what.name, body, options)
            return _answer(scale)
        obj = self._rest.update(what.resource, what.home, what.name, body, what.subresource, options)
        return self._shown(request, what, obj)

    async def _patch(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        body, options = await _body(request), _options(request)
        media_type = request.content_type
        resource, home, name = what.resource, what.home, what.name
        if what.subresource == "scale":
            with self._store.lock:
                current = subresources.scale_of(self._rest.get(resource, home, name))
                wanted = patches.patched(resource, current, media_type, body)
                return _answer(subresources.rescale(self._rest, resource, home, name, wanted, options))
        obj, new = self._rest.patch(resource, home, name, media_type, body, what.subresource, options)
        return self._shown(request, what, obj, 201 if new else 200)

    async def _delete(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        resource = what.resource
        options = DeleteOptions.parsed(request.query, await _body(request))
        obj, gone = self._deletion.delete(resource, what.home, what.name, options)
        if gone and resource.stored_as not in _RETURNED:
            return _answer(_success(resource, obj))
        return self._shown(request, what, obj)

    async def _delete_all(self, request: web.BaseRequest, what: Target, user: User) -> web.StreamResponse:
        options = DeleteOptions.parsed(request.query, await _body(request))
        chosen = listing.predicate(what.resource, request.query)
        deleted = self._deletion.delete_all(what.resource, what.namespace, chosen, options)
        return _answer(listing.Page(deleted, self._store.version).body(what.resource))


async def _body(request: web.BaseRequest) -> Any:
    """The body of a request, decoded; None when there is none."""
    raw = await request.read()
    if not raw:
        return None
    media_type = request.content_type
    if media_type == protobuf.MEDIA_TYPE:
        return protobuf.decode(raw)
    try:
        if media_type in (*_YAML, patches.APPLY):
            # JSON is YAML, but its own decoder is a hundred times faster.
            return msgspec.json.decode(raw) if raw[:1] == b"{" else yaml.safe_load(raw)
        if media_type not in ("application/octet-stream", "text/plain") and not media_type.endswith("json"):
            raise unsupported_media(media_type, [_JSON, _YAML[0]])
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as problem:
        raise bad_request(f"the body of the request cannot be decoded: {problem}") from None


def _options(request: web.BaseRequest) -> Options:
    query = request.query
    dry = query.getall("dryRun", [])
    if any(value != "All" for value in dry):
        raise bad_request(f"Invalid value: {dry}: dryRun must be All")
    agent = request.headers.get("User-Agent", "unknown").partition("/")[0]
    # Who applies has to say in whose name: fields that nobody owns could never be applied by anybody else.
    fallback = "" if request.content_type == patches.APPLY else agent
    return Options(bool(dry), query.get("fieldManager") or fallback, query.get("force") in ("true", "1"))
