"""One Prometheus and its questions: every way in which it can fail becomes a SourceError.

Only `custom_query` and `custom_query_range` of prometheus-api-client are used, with a time-out and without its retries:
its own take 6 to 10 s when the server is down, and without a time-out it waits for ever.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests
from prometheus_api_client.exceptions import PrometheusApiClientException
from prometheus_api_client.prometheus_connect import PrometheusConnect
from requests.auth import AuthBase, HTTPBasicAuth
from urllib3.exceptions import NewConnectionError
from urllib3.exceptions import TimeoutError as WaitedTooLongError
from urllib3.util.retry import Retry

from backend.metrics.reading import SourceError, State, shorten

_REFUSED = re.compile(r"HTTP Status Code (\d+) \((b.*)\)", re.DOTALL)


class _Bearer(AuthBase):
    """A token; as an auth object, so that a .netrc of the machine cannot take its place."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@dataclass(frozen=True, slots=True)
class Access:
    """Where Prometheus is and how it is asked."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 2.0
    verify: bool | str = True
    """False: any certificate; a path: the authority to trust."""

    def __post_init__(self) -> None:
        """Take a name and password out of the address, and refuse what cannot work."""
        parts = urlsplit(self.url.strip())
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{shorten(self.address, 80)!r} is not an address such as http://prometheus:9090")
        if parts.username is not None and self.basic is None:
            object.__setattr__(self, "basic", (parts.username, parts.password or ""))
        named = any(name.lower() == "authorization" for name in self.headers)
        if sum((self.basic is not None, self.token is not None, named)) > 1:
            raise ValueError("one of name and password, token, or a header Authorization, not several")
        if not self.timeout_s > 0:
            raise ValueError("the time-out is more than 0 s")
        object.__setattr__(self, "url", self.address)

    @property
    def address(self) -> str:
        """The address without credentials and without a slash at its end."""
        parts = urlsplit(self.url.strip())
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not show in any message."""
        found = [self.token, self.basic[1] if self.basic else None, *self.headers.values()]
        return tuple(text for text in found if text and len(text) > 3)


class Connection:
    """Asks PromQL."""

    def __init__(self, access: Access) -> None:
        self._access = access
        session = requests.Session()
        session.verify = access.verify
        auth: AuthBase | None = None
        if access.token is not None:
            auth = _Bearer(access.token)
        elif access.basic is not None:
            auth = HTTPBasicAuth(*access.basic)
        options: dict[str, Any] = {  # its own annotations are narrower than what it takes
            "headers": dict(access.headers) or None,
            "retry": Retry(total=0),
            "auth": auth,
            "session": session,
            "timeout": access.timeout_s,
        }
        self._client = PrometheusConnect(url=access.url, **options)

    def close(self) -> None:
        """Give the sockets back."""
        self._client.close()

    def instant(self, query: str, at: datetime | None = None) -> list[Any]:
        """The result of a query now, or at a time. Raises SourceError."""
        params: dict[str, Any] = {"timeout": self._access.timeout_s}
        if at is not None:
            params["time"] = at.timestamp()
        return self._ask(query, lambda: self._client.custom_query(query, params=params))

    def between(self, query: str, start: datetime, end: datetime, step_s: int) -> list[Any]:
        """The result of a query at each step between two whole seconds, both ends included. Raises SourceError."""
        params = {"timeout": self._access.timeout_s}
        return self._ask(
            query,
            lambda: self._client.custom_query_range(
                query, start_time=start, end_time=end, step=str(step_s), params=params
            ),
        )

    def _ask(self, query: str, ask: Callable[[], Any]) -> list[Any]:
        try:
            result = ask()
        except PrometheusApiClientException as error:
            raise SourceError(*self._refused(query, str(error))) from None
        except requests.exceptions.JSONDecodeError as error:
            text = f"no JSON: {error.doc}" if error.doc else "an empty page instead of JSON"
            raise SourceError("down", query, self._clean(text)) from None
        except requests.RequestException as error:
            raise SourceError(*self._unreached(query, error)) from None
        except (LookupError, TypeError):
            raise SourceError("down", query, "JSON that is not an answer of Prometheus") from None
        except ValueError as error:  # a header or a name that cannot be sent
            raise SourceError("down", query, self._clean(f"could not be asked: {error}")) from None
        if not isinstance(result, list):
            raise SourceError("down", query, "JSON that is not an answer of Prometheus")
        return result

    def _refused(self, query: str, text: str) -> tuple[State, str, str]:
        match = _REFUSED.fullmatch(text)
        if match is None:
            return "down", query, self._clean(text)
        status, said, kind = int(match[1]), match[2], ""
        with suppress(ValueError, SyntaxError):
            said = ast.literal_eval(said).decode("utf-8", "replace")
        with suppress(ValueError, AttributeError):
            body = json.loads(said)
            kind = str(body.get("errorType", ""))
            said = f"{kind}: {body['error']}" if body.get("error") else said
        state: State = "slow" if kind == "timeout" or status in {408, 504} else "down"
        return state, query, self._clean(f"HTTP {status}: {said}" if said.strip() else f"HTTP {status}")

    def _unreached(self, query: str, error: requests.RequestException) -> tuple[State, str, str]:
        causes = list(_causes(error))
        # A refused connection is a time-out by its class, not by what it means.
        waited = [cause for cause in causes if isinstance(cause, requests.Timeout | WaitedTooLongError)]
        if any(not isinstance(cause, NewConnectionError) for cause in waited):
            return "slow", query, f"no answer within {self._access.timeout_s:g} s"
        for cause in causes:
            if isinstance(cause, OSError) and cause.strerror:
                return "down", query, self._clean(cause.strerror[:1].lower() + cause.strerror[1:])
        last = causes[-1]
        return "down", query, self._clean(f"{type(last).__name__}: {last}")

    def _clean(self, text: str) -> str:
        for secret in self._access.secrets:
            text = text.replace(secret, "***")
        return shorten(text)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it was made of, outermost first."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
        waiting += [each for each in inner if isinstance(each, BaseException)]
